// SPDX-License-Identifier: Apache-2.0
#include "planner/report/memory_columns.h"

#include <map>
#include <tuple>

#include "model/lower/variables.h"

namespace superstep {
namespace {

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

// Rows of variables. Variables of equal name, category and size that follow one another on an IPU group become one row.
class VariableRows {
 public:
  void add(const std::string& name, std::string_view category, std::int64_t ipu, Bytes bytes, std::int64_t first,
           std::int64_t last, std::int64_t before_first) {
    const auto [it, fresh] = latest_.try_emplace({ipu, name, category, bytes.value}, names_.size());
    if (!fresh && last_[it->second] == before_first) {
      last_[it->second] = last;
      return;
    }
    it->second = names_.size();
    names_.push_back(name), categories_.push_back(std::string(category)), ipus_.push_back(ipu);
    bytes_.push_back(bytes.value), first_.push_back(first), last_.push_back(last);
  }
  void write(ReportWriter& writer) const {
    writer.add_texts("variable.name", names_);
    writer.add_integers("variable.ipu_class", "index", ipus_);
    writer.add_texts("variable.category", categories_);
    writer.add_integers("variable.bytes_per_tile", "bytes", bytes_);
    writer.add_integers("variable.first_phase", "index", first_);
    writer.add_integers("variable.last_phase", "index", last_);
  }

 private:
  Texts names_, categories_;
  Integers ipus_, bytes_, first_, last_;
  std::map<std::tuple<std::int64_t, std::string, std::string_view, std::int64_t>, std::size_t> latest_;
};

// Consecutive calls of an IPU group in one phase, from row `first` to row `last`. `before` is the row of the group's
// previous call; -1: none.
struct Run {
  std::int64_t phase, first, last, before;
};

std::vector<Run> runs_of(const CallList& calls, std::int64_t ipu) {
  std::vector<Run> runs;
  for (std::int64_t row = 0; row < std::ssize(calls.calls()); ++row) {
    const Call& call = calls.calls()[static_cast<std::size_t>(row)];
    if (call.ipu != ipu) continue;
    if (runs.empty() || runs.back().phase != call.phase)
      runs.push_back({call.phase, row, row, runs.empty() ? -1 : runs.back().last});
    runs.back().last = row;
  }
  return runs;
}

void add_variables(ReportWriter& writer, const Evaluated& e, const Holdings& holdings, const CallList& calls) {
  VariableRows rows;
  for (std::int64_t ipu = 0; ipu < std::ssize(e.program.residents); ++ipu) {
    const auto& residents = e.program.residents[static_cast<std::size_t>(ipu)];
    std::vector<std::vector<Variable>> of_phase(residents.size());
    for (const Run& run : runs_of(calls, ipu)) {
      const auto phase = static_cast<std::size_t>(run.phase);
      if (of_phase[phase].empty()) of_phase[phase] = resident_variables(holdings, ipu, run.phase, residents[phase]);
      for (const Variable& v : of_phase[phase])
        rows.add(v.name, v.category, ipu, v.bytes, run.first, run.last, run.before);
    }
  }
  for (const CallStash& k : calls.kept()) {
    if (k.bytes.value > 0) rows.add(k.name + " kept for backward", "activations", k.ipu, k.bytes, k.first, k.last, -2);
  }
  rows.write(writer);
}

// Returns a tensor's name within its unit: "attention/query/matmul" for "layer0/attention/query/matmul" in unit
// "layer0".
std::string name_in(const std::string& unit, const std::string& tensor) {
  return tensor.starts_with(unit + "/") ? tensor.substr(unit.size() + 1) : tensor;
}

void add_results(ReportWriter& writer, const Program& program, const Graph& g) {
  Texts names;
  Integers function, bytes, first, last, stays;
  std::int64_t number = 0;
  for (const Function& f : program.functions) {
    for (const LiveRange& range : f.live) {
      const std::string name = range.tensor.valid() ? name_in(g.units[f.unit].name, g.tensors[range.tensor].name) : "";
      names.push_back(range.gathered ? "gathered for " + name : name);
      function.push_back(number);
      bytes.push_back(range.bytes.value);
      first.push_back(range.first), last.push_back(range.last);
      stays.push_back(range.stays);
    }
    ++number;
  }
  writer.add_texts("result.name", names);
  writer.add_integers("result.function", "index", function);
  writer.add_integers("result.bytes_per_tile", "bytes", bytes);
  writer.add_integers("result.first_step", "index", first);
  writer.add_integers("result.last_step", "index", last);
  writer.add_integers("result.stays", "index", stays);
}

}  // namespace

void add_memory_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table,
                        const OptimizerSpec& optimizer, const CallList& calls) {
  add_variables(writer, e, Holdings(table, e.plan, optimizer), calls);
  add_results(writer, e.program, table.facts().graph);
}

}  // namespace superstep
