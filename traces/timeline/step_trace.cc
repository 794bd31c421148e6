// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline/step_trace.h"

#include <algorithm>

#include "model/units.h"
#include "traces/damaged.h"

namespace superstep::trace {
std::int64_t StepTrace::cycles(int function) const {
  if (function < 0 || function >= static_cast<int>(functions.size())) return -1;
  return functions[at(function)].cycles;
}

WorkCycles StepTrace::between(std::int64_t first, std::int64_t last) const {
  WorkCycles sums;
  const std::int64_t all = start.before(last) - start.before(first);
  sums[Work::compute] = compute.before(last) - compute.before(first);
  sums[Work::exchange] = exchange.before(last) - exchange.before(first);
  if (!collective.empty()) sums[Work::collective] = collective.before(last) - collective.before(first);
  sums[Work::sync] = all - sums.total();
  return sums;
}

WorkCycles StepTrace::step_sums(std::int64_t row) const {
  WorkCycles sums;
  sums[Work::compute] = compute.value(row);
  sums[Work::exchange] = exchange.value(row);
  if (!collective.empty()) sums[Work::collective] = collective.value(row);
  sums[Work::sync] = start.value(row) - sums[Work::compute] - sums[Work::exchange] - sums[Work::collective];
  return sums;
}

std::int64_t StepTrace::row_at(const Function& f, std::int64_t cycle) const {
  return std::max(f.first, start.first_above(f.first, f.first + f.steps, f.begin + cycle) - 1);
}

WorkCycles StepTrace::sums(int function, std::int64_t from, std::int64_t to) const {
  const Function& f = functions[at(function)];
  from = std::max<std::int64_t>(from, 0);
  to = std::min(to, f.cycles);
  if (from >= to) return {};
  // Whole steps, and the parts ahead of the ends of those that these cut.
  const std::int64_t first = row_at(f, from), last = row_at(f, to);
  WorkCycles sums = between(first, last);
  const auto add_cut = [&](std::int64_t row, std::int64_t time, std::int64_t sign) {
    std::int64_t rest = time - (start.before(row) - f.begin);
    const WorkCycles cut = step_sums(row);
    for (const Work work : {Work::exchange, Work::collective, Work::compute, Work::sync}) {
      const std::int64_t part = std::min(rest, cut[work]);
      sums[work] += sign * part;
      rest -= part;
    }
  };
  add_cut(last, to, 1);
  add_cut(first, from, -1);
  return sums;
}

void StepTrace::visit(int function, std::int64_t from, std::int64_t to, std::int64_t least,
                      const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& take) const {
  const Function& f = functions[at(function)];
  const std::int64_t zero = f.begin, end = f.first + f.steps;
  std::int64_t row = row_at(f, std::max<std::int64_t>(from, 0));
  std::int64_t begin = start.before(row);
  while (row < end && begin - zero < to) {
    std::int64_t next = row + 1, after = begin + start.value(row);
    if (after - begin >= least) {
      take(row, begin - zero, after - zero);
    } else {
      // As many short ones as make `least`, found by search: ten million cost no more than a screen full.
      const Sums::Found found = start.find_from(row + 1, end, begin + least);
      next = found.row, after = found.before;
      const std::int64_t last = start.value(next - 1);
      if (last >= least && next - 1 > row) {  // the last one can be seen by itself
        --next;
        after -= last;
      }
      take(-1, begin - zero, after - zero);
    }
    row = next;
    begin = after;
  }
}

StepTrace load_step_trace(const ReportFile& report, const Steps* known) {
  StepTrace out;
  if (!report.has_column("step.cycles")) return out;
  if (known && known->name.size() == 0) known = nullptr;  // it could not be read
  const auto texts = [&](const PackedTexts Steps::*member, const char* column) {
    return known ? known->*member : read_texts(report, column);
  };
  const auto integers = [&](const PackedIntegers Steps::*member, const char* column) {
    return known ? known->*member : read_integers(report, column);
  };
  out.name = texts(&Steps::name, "step.name");
  out.kind = texts(&Steps::kind, "step.kind");
  out.term = texts(&Steps::term, "step.term");
  if (report.has_column("step.tiles")) out.tiles = integers(&Steps::tiles, "step.tiles");
  const std::size_t n = report.rows("step.cycles");
  const PackedIntegers cycles = integers(&Steps::cycles, "step.cycles");
  const PackedIntegers compute = integers(&Steps::compute_cycles, "step.compute_cycles");
  const PackedIntegers exchange = integers(&Steps::exchange_cycles, "step.exchange_cycles");
  check_rows(report, "step.*", n, out.name, out.kind, out.term, cycles, compute, exchange);
  if (!out.tiles.empty()) check_rows(report, "step.*", n, out.tiles);
  // What is moved between IPUs is no exchange of tiles.
  std::vector<bool> between(out.kind.texts.size());
  for (std::size_t k = 0; k < between.size(); ++k) {
    const std::string& kind = out.kind.texts[k];
    between[k] = kind != "compute" && kind != "exchange" && kind != "sync";
  }
  bool has_links = false;
  const auto links = [&](std::size_t row) { return between[at(out.kind.rows[row])] && exchange[row] > 0; };
  for (std::size_t row = 0; row < n; ++row) {
    if (cycles[row] < 0 || compute[row] < 0 || exchange[row] < 0 || compute[row] + exchange[row] > cycles[row]) {
      damaged(report, "the times of step " + std::to_string(row) + " do not add up");
    }
    has_links = has_links || links(row);
  }
  out.start = Sums(cycles);
  out.compute = Sums(compute);
  if (!has_links) {
    out.exchange = Sums(exchange);
  } else {
    for (Sums* sums : {&out.exchange, &out.collective}) sums->reserve(n);
    for (std::size_t row = 0; row < n; ++row) {
      out.exchange.push_back(links(row) ? 0 : exchange[row]);
      out.collective.push_back(links(row) ? exchange[row] : 0);
    }
  }
  for (const auto& f : report.index().functions()) {
    if (f.first_step() < 0 || f.steps() < 0 || f.first_step() > static_cast<std::int64_t>(n) - f.steps()) {
      damaged(report, "function \"" + f.name() + "\" has steps that do not exist");
    }
    const std::int64_t begin = out.start.before(f.first_step());
    out.functions.push_back({f.first_step(), f.steps(), begin, out.start.before(f.first_step() + f.steps()) - begin});
  }
  return out;
}

}  // namespace superstep::trace
