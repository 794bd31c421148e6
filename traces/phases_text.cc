// SPDX-License-Identifier: Apache-2.0
#include "traces/phases_text.h"

#include <algorithm>

namespace superstep {
namespace {

// Sums of one kind of work below a node. IPU groups run side by side: the busiest counts.
struct Work {
  std::int64_t compute = 0, load = 0, store = 0;
};

// Runs beside the computing, or ahead of it: also joining what was loaded in shards.
bool streams(const report::ProgramNode& n) { return n.name().starts_with("load phase") || n.name() == "activations"; }

Work work_of(const report::ProgramNode& n, bool streaming = false) {
  streaming = streaming || streams(n);
  Work sum;
  const std::int64_t cycles = n.cycles();
  if (n.kind() == "call") sum.compute = cycles;
  if (n.kind() == "step") {
    const std::string& kind = n.work().empty() ? n.name() : n.work();  // old reports have but the name
    const bool stores = kind.starts_with("store");
    const bool loads = kind.starts_with("load") || kind.starts_with("host") || streaming;
    const bool is_fixed = kind.starts_with("fixed");  // stands for what is no work of the phase's tiles
    if (!is_fixed) (stores ? sum.store : loads ? sum.load : sum.compute) = cycles;
  }
  Work widest;
  for (const report::ProgramNode& child : n.children()) {
    const Work each = work_of(child, streaming);
    Work& into = child.ipu_class() >= 0 && n.kind() == "parallel" && child.kind() == "sequence" ? widest : sum;
    if (&into == &widest) {
      widest.compute = std::max(widest.compute, each.compute);
      widest.load = std::max(widest.load, each.load), widest.store = std::max(widest.store, each.store);
    } else {
      sum.compute += each.compute, sum.load += each.load, sum.store += each.store;
    }
  }
  const std::int64_t times = n.kind() == "repeat" ? n.count() : 1;
  return {(sum.compute + widest.compute) * times, (sum.load + widest.load) * times, (sum.store + widest.store) * times};
}

void collect_calls(const report::ProgramNode& n, std::vector<std::string>& names) {
  if (n.kind() == "call") {
    const std::string name = n.name().substr(0, n.name().rfind(' '));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  for (const report::ProgramNode& child : n.children()) collect_calls(child, names);
}

std::string contents_of(const report::ProgramNode& phase) {
  std::vector<std::string> names;
  collect_calls(phase, names);
  if (names.empty()) return "";
  return names.size() == 1 ? names[0] : names.front() + " to " + names.back();
}

void collect(const report::ProgramNode& n, std::vector<PhaseRow>& rows) {
  if (n.kind() == "sequence" && n.name().starts_with("phase ")) {
    const Work work = work_of(n);
    rows.push_back({n.name(), contents_of(n), n.cycles(), work.compute, work.load, work.store});
    return;
  }
  for (const report::ProgramNode& child : n.children()) collect(child, rows);
}

}  // namespace

std::vector<PhaseRow> phase_rows(const report::ProgramNode& program) {
  std::vector<PhaseRow> rows;
  collect(program, rows);
  return rows;
}

std::string phases_text(const report::Index& index, const TextStyle& style) {
  const std::vector<PhaseRow> rows = phase_rows(index.program());
  if (rows.empty()) return "The plan has one phase.\n";
  const auto ms = [&](std::int64_t cycles) { return figure(static_cast<double>(cycles) / index.clock_hz() * 1e3); };
  TextTable table;
  table.headings = {"ms in a step", "runs", "takes", "computing", "loading", "storing", "bound by"};
  table.left_columns = {1, 6};
  for (const PhaseRow& row : rows) {
    const std::int64_t stream = row.load_cycles + row.store_cycles;
    table.add({row.name, row.contents, ms(row.cycles), ms(row.compute_cycles), ms(row.load_cycles),
               ms(row.store_cycles), stream > row.compute_cycles ? "Streaming Memory" : "computing"},
              ink_of(stream > row.compute_cycles ? TermKind::ddr : TermKind::compute));
  }
  return table.to_string(style);
}

}  // namespace superstep
