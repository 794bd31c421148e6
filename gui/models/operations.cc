// SPDX-License-Identifier: Apache-2.0
#include "gui/models/operations.h"

#include <algorithm>
#include <map>
#include "gui/models/meanings.h"
#include "gui/models/steps.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {
namespace {

void collect_calls(const report::ProgramNode& node, std::map<std::string, int>& functions) {
  if (node.kind() == "call" && node.function() >= 0) functions.emplace(node.name(), static_cast<int>(node.function()));
  for (const auto& child : node.children()) collect_calls(child, functions);
}

// "matmul" of "layer0/ffn_down/matmul.0_grad/matmul.1".
std::string kind_of_op(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  return last.substr(0, last.find('.'));
}

void add(OperationRow& row, const Steps& steps, std::size_t step, std::int64_t calls) {
  row.cycles += steps.cycles[step] * calls;
  row.compute_cycles += steps.compute_cycles[step] * calls;
  row.exchange_cycles += steps.exchange_cycles[step] * calls;
  row.sync_cycles += steps.sync_cycles[step] * calls;
  row.bytes += steps.bytes[step] * calls;
  row.live_bytes = std::max(row.live_bytes, steps.live_bytes[step]);
}

const report::EfficiencyRow* efficiency_of(const report::Index& index, const std::string& unit, const std::string& op) {
  for (const auto& row : index.efficiency()) {
    if (!row.op().empty() && row.unit() == unit && row.op() == op) return &row;
  }
  return nullptr;
}

// Rows by name, in order of first appearance.
class Collected {
 public:
  OperationRow& row(const std::string& key, const std::string& name) {
    const auto [at, is_new] = places_.emplace(key, rows_.size());
    if (is_new) rows_.emplace_back().name = name;
    return rows_[at->second];
  }
  std::vector<OperationRow> take() { return std::move(rows_); }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<OperationRow> rows_;
};

std::vector<OperationRow> layer_rows(const report::Index& index, const Steps& steps, const HeatData& heat,
                                     int ipu_class) {
  const std::vector<int> functions = phase_functions(index, heat);
  Collected out;
  for (const int p : heat.phases_of(ipu_class)) {
    const HeatPhase& phase = heat.phases[static_cast<std::size_t>(p)];
    const int f = functions[static_cast<std::size_t>(p)];
    OperationRow& row = out.row(phase.name, phase.name);
    row.calls += phase.repeats;
    row.function = f;
    if (f < 0) {  // no supersteps are listed: the whole is known all the same
      row.cycles += phase.cycles * phase.repeats;
      continue;
    }
    row.unit = index.functions(f).name();
    const auto [first, end] = steps_of(index.functions(f), steps);
    for (std::int64_t s = first; s < end; ++s) add(row, steps, static_cast<std::size_t>(s), phase.repeats);
  }
  return out.take();
}

}  // namespace

std::vector<int> phase_functions(const report::Index& index, const HeatData& heat) {
  std::map<std::string, int> functions;
  collect_calls(index.program(), functions);
  // Functions are named after the first call; a report without a tree has at least those.
  for (int f = 0; f < index.functions_size(); ++f) functions.emplace(index.functions(f).name(), f);
  std::vector<int> out;
  for (const HeatPhase& phase : heat.phases) {
    const auto at = functions.find(phase.name);
    if (phase.function >= 0) {
      out.push_back(phase.function);
      continue;
    }
    out.push_back(at == functions.end() || at->second >= index.functions_size() ? -1 : at->second);
  }
  return out;
}

std::vector<std::int64_t> function_calls(const report::Index& index, const HeatData& heat, int ipu_class) {
  const std::vector<int> functions = phase_functions(index, heat);
  std::vector<std::int64_t> calls(static_cast<std::size_t>(index.functions_size()));
  for (const int p : heat.phases_of(ipu_class)) {
    const int f = functions[static_cast<std::size_t>(p)];
    if (f >= 0) calls[static_cast<std::size_t>(f)] += heat.phases[static_cast<std::size_t>(p)].repeats;
  }
  return calls;
}

std::vector<OperationRow> operation_rows(const report::Index& index, const Steps& steps, const HeatData& heat,
                                         int ipu_class, OperationGroup group) {
  if (group == OperationGroup::layer) return layer_rows(index, steps, heat, ipu_class);
  const std::vector<std::int64_t> calls = function_calls(index, heat, ipu_class);
  Collected out;
  for (int f = 0; f < index.functions_size(); ++f) {
    const report::Function& function = index.functions(f);
    const std::int64_t times = calls[static_cast<std::size_t>(f)];
    if (times == 0) continue;  // not on this IPU
    const auto [first, end] = steps_of(function, steps);
    std::string counted;  // the op whose calls are counted already, since its steps follow one another
    for (auto s = static_cast<std::size_t>(first); s < static_cast<std::size_t>(end); ++s) {
      const std::string& op = steps.name[s];
      const bool by_kind = group == OperationGroup::kind;
      const std::string kind = kind_of_op(op);
      OperationRow& row = out.row(by_kind ? kind : std::to_string(f) + ' ' + op, by_kind ? kind : op);
      if (op != counted) row.calls += times;
      counted = op;
      add(row, steps, s, times);
      if (by_kind) continue;
      row.function = f;
      row.unit = function.name();
      if (!row.efficiency) row.efficiency = efficiency_of(index, row.unit, op);
    }
  }
  return out.take();
}

int busiest_class(const report::Index& index) {
  int best = -1;
  for (int i = 0; i < index.ipu_classes_size(); ++i) {
    if (best < 0 || index.ipu_classes(i).busy_s() > index.ipu_classes(best).busy_s()) best = i;
  }
  return best;
}

TableContents operations_table(const ReportPointer& report, std::shared_ptr<const std::vector<OperationRow>> rows,
                               Units units) {
  using Row = OperationRow;
  const double clock = report->index().clock_hz();
  const double step = report->index().plan().step_time_s();
  const auto at = [rows](int row) -> const Row& { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto number = [=](const ColumnTitle& title, std::int64_t Row::*field) {
    return TableColumn{title, true, [=](int row) { return grouped(at(row).*field); },
                       [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(at(row).*field)); }};
  };
  const auto real = [](const ColumnTitle& title, int decimals, std::function<std::optional<double>(int)> value) {
    return TableColumn{title, true,
                       [=](int row) {
                         const auto v = value(row);
                         return v ? fixed_decimals(*v, decimals) : QString();
                       },
                       [=](int row) {
                         const auto v = value(row);
                         return v ? QVariant(*v) : QVariant(QString());
                       }};
  };
  const auto seconds = [=](int row) { return static_cast<double>(at(row).cycles) / clock; };
  const auto of_peak = [=](int row) -> std::optional<double> {
    const auto* e = at(row).efficiency;
    if (!e || !(e->seconds() > 0)) return std::nullopt;
    return e->useful_seconds() / e->seconds() * 100;
  };
  TableColumn live{{"Live, " + unit_name(units), means::kOpLive},
                   true,
                   [=](int row) { return tile_bytes(at(row).live_bytes, units); },
                   [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(at(row).live_bytes)); }};
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {
      {{"Operation", means::kOperation}, false, [=, keep = report](int row) { return text(at(row).name); }},
      {{"In", means::kFunction}, false, [=](int row) { return text(at(row).unit); }},
      number({"Calls", means::kCalls}, &Row::calls),
      number({"Cycles", means::kOpCycles}, &Row::cycles),
      real({"ms", means::kOpMs}, 2,
           [=](int row) { return clock > 0 ? std::optional(seconds(row) * 1e3) : std::nullopt; }),
      real({"% of step", means::kOpShare}, 2,
           [=](int row) { return clock > 0 && step > 0 ? std::optional(seconds(row) / step * 100) : std::nullopt; }),
      real({"% of peak", means::kOfPeak}, 1, of_peak),
      real({"AMP %", means::kAmp}, 1,
           [=](int row) {
             const auto* e = at(row).efficiency;
             return e ? std::optional(e->amp_efficiency() * 100) : std::nullopt;
           }),
      {{"Product", means::kProduct},
       false,
       [=](int row) { return at(row).efficiency ? text(at(row).efficiency->product()) : QString(); }},
      number({"Compute", means::kOpCompute}, &Row::compute_cycles),
      number({"Exchange", means::kOpExchange}, &Row::exchange_cycles),
      number({"Sync", means::kOpSync}, &Row::sync_cycles),
      number({"Bytes moved", means::kOpBytes}, &Row::bytes),
      live,
  };
  out.tip = [=](int row) {
    const Row& r = at(row);
    QString tip = text(r.name) + (r.unit.empty() ? QString() : "\nin " + text(r.unit));
    if (r.calls > 0) tip += QString("\n%1 cycles a call").arg(grouped(r.cycles / r.calls));
    if (r.efficiency)
      tip += QString("\n%1, of one tile %2").arg(text(r.efficiency->product()), text(r.efficiency->share()));
    return tip;
  };
  return out;
}

TableContents operation_steps_table(const ReportPointer& report, std::shared_ptr<const Steps> steps, int function,
                                    const std::string& op) {
  auto rows = std::make_shared<std::vector<std::size_t>>();
  if (function >= 0 && function < report->index().functions_size()) {
    const auto [first, end] = steps_of(report->index().functions(function), *steps);
    for (auto s = static_cast<std::size_t>(first); s < static_cast<std::size_t>(end); ++s) {
      if (op.empty() || steps->name[s] == op) rows->push_back(s);
    }
  }
  const auto at = [rows](int row) { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto number = [=](const ColumnTitle& title, PackedIntegers Steps::*field) {
    return TableColumn{
        title, true, [=](int row) { return grouped(((*steps).*field)[at(row)]); },
        [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(((*steps).*field)[at(row)])); }};
  };
  const auto kind = [=](int row) { return text(steps->kind[at(row)]); };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {
      {{"Superstep", means::kStepName}, false, [=, keep = report](int row) { return text(steps->name[at(row)]); }},
      {.title = {"Kind", means::kStepKind}, .text = kind, .kind = kind},
      {{"Counts to", means::kCountsTo}, false, [=](int row) { return text(steps->term[at(row)]); }},
      number({"Cycles", means::kStepCycles}, &Steps::cycles),
      number({"Compute", means::kStepCompute}, &Steps::compute_cycles),
      number({"Exchange", means::kStepExchange}, &Steps::exchange_cycles),
      number({"Sync", means::kStepSync}, &Steps::sync_cycles),
      number({"Bytes moved", means::kStepBytes}, &Steps::bytes),
      number({"Live bytes", means::kStepLive}, &Steps::live_bytes)};
  out.source = [=](int row) { return static_cast<int>(at(row)); };
  return out;
}

}  // namespace superstep::gui
