// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/walk/derived.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

namespace superstep::gui {
namespace {

using Titles = std::set<std::string>;

struct Asked {
  const SeenTable& t;
  const ReportFile& report;
  const report::Index& index;
  const nlohmann::json& printed;
};

double ms(const Asked& a, double cycles) { return cycles / a.index.clock_hz() * 1e3; }

// One column is another in ms or microseconds.
void times(const Asked& a, const char* time, const char* cycles, double unit = 1e3) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_DOUBLE_EQ(a.t.value(r, time), a.t.value(r, cycles) / a.index.clock_hz() * unit) << time << ", row " << r;
  }
}

// Each begins where the one before it ends.
void follow(const Asked& a, const char* begins, const char* takes) {
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r + 1, begins), a.t.whole(r, begins) + a.t.whole(r, takes)) << begins << ", row " << r;
  }
}

Titles spare(const Asked& a, const char* title, const char* peak, const char* limit) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, title), a.t.whole(r, limit) - a.t.whole(r, peak)) << title << ", row " << r;
  }
  return {title};
}

Titles plans(const Asked& a) {
  const auto& best = a.index.plan();
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto& plan = r == 0 ? best : a.index.runners_up(r - 1);
    EXPECT_EQ(a.t.whole(r, "spare"), plan.tile_limit_bytes() - plan.tile_peak_bytes());
    EXPECT_EQ(a.t.value(r, "samples/s"), plan.samples_per_second());
    EXPECT_EQ(a.t.value(r, "step s"), plan.step_time_s());
    EXPECT_DOUBLE_EQ(a.t.value(r, "±%"), (plan.samples_per_second() / best.samples_per_second() - 1) * 100);
    const auto& printed = a.printed.contains("best") ? a.printed : a.printed.at("closest");
    const auto& one = r > 0                        ? a.printed.at("runners_up").at(static_cast<std::size_t>(r - 1))
                      : a.printed.contains("best") ? printed.at("best")
                                                   : printed;
    EXPECT_EQ(a.t.text(r, "Plan"), one.at("label").get<std::string>());
    EXPECT_EQ(a.t.value(r, "samples/s"), one.at("samples_per_second").get<double>()) << "as --json says";
    EXPECT_EQ(a.t.value(r, "step s"), one.at("step_time_s").get<double>()) << "as --json says";
  }
  return {"spare", "±%"};
}

// In the order of the plan, then the search, then the facts.
Titles key_numbers(const Asked& a) {
  const auto& plan = a.index.plan();
  const auto& search = a.index.search();
  const std::map<std::string, double> values{
      {"Throughput", plan.samples_per_second()},
      {"Step time", plan.step_time_s()},
      {"Model FLOP utilisation", plan.flop_utilisation() * 100},
      {"Fullest tile", static_cast<double>(plan.tile_peak_bytes())},
      {"To spare", static_cast<double>(plan.tile_limit_bytes() - plan.tile_peak_bytes())},
      {"Streaming Memory per IPU", static_cast<double>(plan.ddr_bytes_per_ipu())},
      {"Settings of the space", search.explored() + search.pruned()},
      {"Gap", search.gap() * 100}};
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto known = values.find(a.t.text(r, "Figure"));
    if (known == values.end()) continue;
    EXPECT_EQ(a.t.value(r, "Value"), known->second) << known->first;
  }
  return {"Value"};
}

Titles changes(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.value(r, "step s"), a.index.helpful_changes(r).step_time_s());
    EXPECT_DOUBLE_EQ(a.t.value(r, "+%"), (a.index.plan().step_time_s() / a.t.value(r, "step s") - 1) * 100);
  }
  return {"+%"};
}

// Row by row what --json says.
Titles waterfall(const Asked& a) {
  const auto& best = a.printed.contains("best") ? a.printed.at("best") : a.printed.at("closest");
  const auto& rows = best.at("waterfall");
  EXPECT_EQ(a.t.rows(), std::ssize(rows) + 1);
  double sum = 0;
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.text(r, "Term"), rows.at(static_cast<std::size_t>(r)).at("name").get<std::string>());
    EXPECT_EQ(a.t.value(r, "Seconds"), rows.at(static_cast<std::size_t>(r)).at("seconds").get<double>());
    sum += a.t.value(r, "Seconds");
  }
  EXPECT_EQ(a.t.value(a.t.rows() - 1, "Seconds"), sum);
  EXPECT_NEAR(sum, best.at("step_time_s").get<double>(), sum * 1e-12);
  return {};
}

std::string json_name(std::string category) {
  for (char& c : category) c = c == ' ' ? '_' : static_cast<char>(std::tolower(c));
  return category;
}

// Categories as --json says, and their sums.
Titles memory(const Asked& a) {
  const auto& best = a.printed.contains("best") ? a.printed.at("best") : a.printed.at("closest");
  std::map<std::string, std::int64_t> sums;
  std::int64_t ipu = -1;
  std::string last, part;
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::string name = a.t.text(r, "Category");
    if (a.t.text(r, "IPU") != last) ++ipu, sums.clear(), last = a.t.text(r, "IPU");
    const auto& printed = best.at("memory").at("ipus").at(static_cast<std::size_t>(ipu));
    const std::int64_t bytes = a.t.whole(r, "Bytes");
    EXPECT_EQ(bytes, a.t.whole(r, "KiB"));
    EXPECT_DOUBLE_EQ(a.t.value(r, "% of limit"),
                     static_cast<double>(bytes) / best.at("memory").at("tile_limit_bytes").get<double>() * 100);
    if (name == "Always live" || name == "Not always live") {
      part = json_name(name);
      std::int64_t sum = 0;
      for (const auto& each : printed.at(part)) sum += each.get<std::int64_t>();
      EXPECT_EQ(bytes, sum) << name << " of IPU " << ipu;
    } else if (name == "Fullest tile at its peak") {
      EXPECT_EQ(bytes, printed.at("tile_peak_bytes").get<std::int64_t>());
    } else if (name != "Not in a category") {
      EXPECT_EQ(bytes, printed.at(part).at(json_name(name)).get<std::int64_t>()) << name << " of IPU " << ipu;
    }
  }
  return {"KiB", "Bytes", "% of limit"};
}

Titles liveness(const Asked& a) {
  std::int64_t most = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Program step"), r);
    EXPECT_EQ(a.t.whole(r, "Total, KiB"), a.t.whole(r, "Resident, KiB") + a.t.whole(r, "Live in the step, KiB"));
    most = std::max(most, a.t.whole(r, "Total, KiB"));
  }
  if (a.t.rows() > 0) {
    const bool known = std::any_of(a.index.ipu_classes().begin(), a.index.ipu_classes().end(),
                                   [&](const auto& ipu) { return ipu.tile_peak_bytes() == most; });
    EXPECT_TRUE(known) << "the peak of all steps is that of an IPU: " << most;
  }
  // What a step has live, and beside it what a call keeps for its backward.
  std::set<std::int64_t> live;
  const std::vector<std::int64_t> bytes = a.report.column_integers("step.live_bytes");
  const std::vector<std::int64_t> keeping = a.report.column_integers("step.keeping_bytes");
  for (std::size_t i = 0; i < bytes.size(); ++i) live.insert(bytes[i]), live.insert(bytes[i] + keeping[i]);
  for (int r = 0; r < a.t.rows(); ++r) EXPECT_TRUE(live.contains(a.t.whole(r, "Live in the step, KiB"))) << "row " << r;
  return {"Program step", "Resident, KiB", "Live in the step, KiB", "Total, KiB"};
}

// Those that are live at the peak are the fullest tile.
Titles variables(const Asked& a) {
  std::int64_t sum = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    sum += a.t.whole(r, "Bytes");
    EXPECT_LE(a.t.whole(r, "First step"), a.t.whole(r, "Last step"));
    EXPECT_EQ(a.t.whole(r, "Lifetime, steps"), a.t.whole(r, "Last step") - a.t.whole(r, "First step") + 1);
  }
  EXPECT_TRUE(std::any_of(a.index.ipu_classes().begin(), a.index.ipu_classes().end(),
                          [&](const auto& ipu) { return ipu.tile_peak_bytes() == sum; }))
      << "no IPU's fullest tile has " << sum << " bytes";
  return {"First step", "Last step", "Lifetime, steps"};
}

Titles streaming_memory(const Asked& a) {
  std::int64_t most = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    most = std::max(most, a.t.whole(r, "Held, bytes"));
    const double bytes = a.t.value(r, "Loaded, bytes") + a.t.value(r, "Stored, bytes");
    const double takes = a.t.value(r, "Takes, ms") / 1e3;
    if (takes == 0) continue;
    EXPECT_NEAR(a.t.value(r, "Mean, GB/s"), bytes / takes / 1e9, 1e-9 * bytes / takes / 1e9);
    EXPECT_NEAR(a.t.value(r, "% of roof"), bytes / takes / a.index.streaming_bytes_per_s() * 100, 1e-6);
  }
  EXPECT_LE(most, a.index.plan().ddr_bytes_per_ipu());
  return {"Held, bytes", "Mean, GB/s", "% of roof"};
}

// The supersteps of one function, those of an op together.
Titles ops_of_call(const Asked& a) {
  times(a, "µs", "Cycles", 1e6);
  const TextColumn names = a.report.column_texts("step.name"), kinds = a.report.column_texts("step.kind");
  const std::vector<std::int64_t> cycles = a.report.column_integers("step.cycles");
  const std::vector<std::int64_t> bytes = a.report.column_integers("step.bytes");
  using Op = std::array<std::int64_t, 3>;  // supersteps, cycles, bytes
  std::vector<Op> shown;
  for (int r = 0; r < a.t.rows(); ++r)
    shown.push_back({a.t.whole(r, "Supersteps"), a.t.whole(r, "Cycles"), a.t.whole(r, "Bytes moved")});
  const auto ops_of = [&](const report::Function& f) {
    std::vector<Op> ops;
    for (auto i = static_cast<std::size_t>(f.first_step()), end = i + static_cast<std::size_t>(f.steps()); i < end;
         ++i) {
      if (ops.empty() || names[i] != names[i - 1]) ops.push_back({});
      ops.back()[0] += 1, ops.back()[1] += cycles[i];
      if (kinds[i] != "compute") ops.back()[2] += bytes[i];
    }
    return ops;
  };
  EXPECT_TRUE(std::any_of(a.index.functions().begin(), a.index.functions().end(), [&](const auto& f) {
    return ops_of(f) == shown;
  })) << "no function has these ops";
  return {"µs", "Cycles", "Bytes moved"};
}

// Of each report's own clock; what neither works nor waits is idle.
Titles compared_pipelines(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    const double ms_per_cycle = a.t.value(r, "Step, ms") / a.t.value(r, "Step, cycles");
    EXPECT_LE(a.t.whole(r, "Works, cycles") + a.t.whole(r, "Waits, cycles"), a.t.whole(r, "Step, cycles"));
    EXPECT_NEAR(a.t.value(r, "Works, ms"), a.t.value(r, "Works, cycles") * ms_per_cycle, 1e-6);
    EXPECT_NEAR(a.t.value(r, "Waits, ms"), a.t.value(r, "Waits, cycles") * ms_per_cycle, 1e-6);
  }
  return {"Works, cycles", "Waits, cycles", "Works, ms", "Waits, ms"};
}

// A phase computes, loads and stores for no longer than it takes; its times in ms are those in cycles.
Titles streams(const Asked& a) {
  Titles out;
  for (const char* what : {"Computing", "Loading", "Storing"}) {
    const std::string in_ms = std::string(what) + ", ms", in_cycles = std::string(what) + ", cycles";
    times(a, in_ms.c_str(), in_cycles.c_str());
    for (int r = 0; r < a.t.rows(); ++r) EXPECT_LE(a.t.whole(r, in_cycles.c_str()), a.t.whole(r, "Takes, cycles"));
    out.insert({in_ms, in_cycles});
  }
  return out;
}

Titles phases(const Asked& a) {
  Titles out = streams(a);
  times(a, "Begins, ms", "Begins, cycles");
  times(a, "Takes, ms", "Takes, cycles");
  if (a.t.rows() > 0) {
    EXPECT_EQ(a.t.whole(0, "Begins, cycles"), 0);
  }
  out.insert({"Begins, ms", "Begins, cycles"});
  return out;
}

// Calls of a function by the program, times what its steps say.
Titles operations(const Asked& a) {
  const Reckoned reckoned(a.index);
  const TextColumn names = a.report.column_texts("step.name");
  std::map<std::string, std::vector<std::int64_t>> columns;
  for (const char* c : {"cycles", "compute_cycles", "exchange_cycles", "sync_cycles", "bytes"}) {
    columns[c] = a.report.column_integers(std::string("step.") + c);
  }
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto function = std::find_if(a.index.functions().begin(), a.index.functions().end(),
                                       [&](const auto& f) { return f.name() == a.t.text(r, "In"); });
    if (function == a.index.functions().end()) continue;  // a step outside of functions
    const std::int64_t calls = a.t.whole(r, "Calls");
    const auto number = static_cast<std::int64_t>(function - a.index.functions().begin());
    EXPECT_TRUE(std::any_of(reckoned.calls.begin(), reckoned.calls.end(),
                            [&](const auto& each) { return each.first.second == number && each.second == calls; }))
        << "no IPU calls " << function->name() << " " << calls << " times";
    const std::pair<const char*, const char*> sums[] = {{"Cycles", "cycles"},
                                                        {"Compute", "compute_cycles"},
                                                        {"Exchange", "exchange_cycles"},
                                                        {"Sync", "sync_cycles"},
                                                        {"Bytes moved", "bytes"}};
    for (const auto& [title, column] : sums) {
      std::int64_t sum = 0;
      for (auto i = function->first_step(); i < function->first_step() + function->steps(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        if (names[row] == a.t.text(r, "Operation")) sum += columns[column][row];
      }
      EXPECT_EQ(a.t.whole(r, title), sum * calls) << title << " of " << a.t.text(r, "Operation");
    }
  }
  times(a, "ms", "Cycles");
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_NEAR(a.t.value(r, "% of step"), a.t.value(r, "ms") / a.index.plan().step_time_s() / 10, 1e-9);
    EXPECT_LE(a.t.value(r, "% of peak"), 100);
  }
  return {"Cycles", "Compute", "Exchange", "Sync", "Bytes moved", "ms", "% of step", "% of peak"};
}

Titles program(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Cycles in total"),
              a.t.whole(r, "Cycles of one") * a.t.whole(r, "Times") * a.t.whole(r, "Iterations"));
  }
  return {"Cycles in total"};
}

Titles steps_of_ipus(const Asked& a, const char* sum_row, int from, int to) {
  Titles out;
  for (std::int64_t ipu = 0; ipu < a.index.ipu_classes_size() && a.t.rows() > 0; ++ipu) {
    const std::string title = a.index.ipu_classes(static_cast<int>(ipu)).name();
    if (a.t.column(title.c_str()) < 0) continue;
    std::int64_t sum = 0;
    for (int r = from; r < to; ++r) sum += a.t.whole(r, title.c_str());
    EXPECT_EQ(sum, a.index.program().cycles()) << sum_row << " of " << title;
    out.insert(title);
  }
  return out;
}

// What IPUs work by the program's calls; with waiting it is the step.
Titles work(const Asked& a) {
  const Reckoned reckoned(a.index);
  Titles out = steps_of_ipus(a, "all work", 0, a.t.rows() - 1);
  const double clock_cycles = static_cast<double>(a.index.program().cycles()) * a.index.ipu_classes_size();
  for (int r = 0; r < a.t.rows(); ++r) {
    const std::string name = a.t.text(r, "Work");
    std::int64_t all = 0;
    for (std::int64_t ipu = 0; ipu < a.index.ipu_classes_size(); ++ipu) {
      const std::int64_t cycles = a.t.whole(r, a.index.ipu_classes(static_cast<int>(ipu)).name().c_str());
      all += cycles;
      const auto called = reckoned.cycles.find({ipu, name});
      if (called != reckoned.cycles.end()) {
        EXPECT_EQ(cycles, called->second) << name << " of IPU " << ipu;
      }
    }
    EXPECT_EQ(a.t.whole(r, "Cycles of all"), all);
    EXPECT_DOUBLE_EQ(a.t.value(r, "%"), static_cast<double>(all) / clock_cycles * 100);
  }
  times(a, "ms of all", "Cycles of all");
  out.insert({"Cycles of all", "ms of all", "%"});
  return out;
}

Titles parts(const Asked& a) {
  follow(a, "From, cycles", "Cycles");
  times(a, "From, ms", "From, cycles");
  times(a, "ms", "Cycles");
  std::int64_t end = 0;
  for (int r = 0; r < a.t.rows(); ++r) {
    end = a.t.whole(r, "From, cycles") + a.t.whole(r, "Cycles");
    if (a.t.whole(r, "Iterations") > 0) {
      EXPECT_EQ(a.t.whole(r, "Cycles"), a.t.whole(r, "Iterations") * a.t.whole(r, "Cycles of one"));
    }
  }
  if (a.t.rows() > 0) {
    EXPECT_EQ(end, a.index.program().cycles());
  }
  return {"From, cycles", "From, ms", "ms", "Cycles", "Iterations"};
}

// In a lane boxes follow one another.
Titles boxes(const Asked& a) {
  times(a, "ms", "Cycles");
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_LE(a.t.whole(r, "of which recompute"), a.t.whole(r, "Cycles"));
    if (a.t.text(r, "Lane") != a.t.text(r + 1, "Lane")) continue;
    EXPECT_NEAR(a.t.value(r + 1, "From, ms"), a.t.value(r, "From, ms") + a.t.value(r, "ms"),
                a.t.value(r, "From, ms") * 1e-12);
  }
  return {"Cycles", "ms", "From, ms", "of which recompute"};
}

// Of each phase the tiles that compute.
Titles heat_tiles(const Asked& a) {
  std::map<std::pair<std::string, std::string>, std::int64_t> active;
  const auto phase = [&](int r) { return std::pair(a.t.text(r, "IPU"), a.t.text(r, "Phase")); };
  std::map<std::pair<std::string, std::string>, std::int64_t> said;
  bool unique = true;  // phases of one name follow each other
  for (int r = 0; r < a.t.rows(); ++r) {
    if (a.t.whole(r, "Compute cycles") > 0) active[phase(r)] += a.t.whole(r, "Tiles");
    unique = unique && (!said.contains(phase(r)) || said[phase(r)] == a.t.whole(r, "Active tiles"));
    said[phase(r)] = a.t.whole(r, "Active tiles");
    EXPECT_LE(a.t.whole(r, "Active tiles"), a.index.tiles_per_ipu());
  }
  if (unique) {
    for (const auto& [name, tiles] : active) EXPECT_EQ(tiles % said[name], 0) << name.second;
  }
  return {"Active tiles"};
}

// The copy of so many cycles, below `node`; null: none.
const report::ProgramNode* copy_step(const report::ProgramNode& node, std::int64_t cycles) {
  if (node.work() == "copy" && node.cycles() == cycles) return &node;
  for (const auto& child : node.children()) {
    if (const auto* found = copy_step(child, cycles)) return found;
  }
  return nullptr;
}

// Neighbours send: each micro-batch goes from one IPU to another, in one step for all.
Titles copies(const Asked& a) {
  times(a, "ms", "Cycles");
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_NE(a.t.text(r, "Lane"), a.t.text(r, "To"));
    const auto* step = copy_step(a.index.program(), a.t.whole(r, "Cycles"));
    if (!step) {
      ADD_FAILURE() << "no such copy in the program, row " << r;
      continue;
    }
    EXPECT_EQ(a.t.whole(r, "Bytes"), step->bytes());
    EXPECT_GE(a.t.whole(r, "Micro-batch"), 0);
    EXPECT_GE(a.t.value(r, "From, ms"), 0);
  }
  return {"ms", "Cycles", "Bytes", "Micro-batch", "From, ms"};
}

// Boxes and copies in order, none of which overlap.
Titles path(const Asked& a) {
  times(a, "ms", "Cycles");
  for (int r = 0; r + 1 < a.t.rows(); ++r) {
    EXPECT_LE(a.t.value(r, "From, ms") + a.t.value(r, "ms"), a.t.value(r + 1, "From, ms") * (1 + 1e-12));
  }
  return {"ms", "Cycles", "From, ms", "Bytes"};
}

Titles critical_path_runs(const Asked& a) {
  follow(a, "From, cycles", "Cycles");
  times(a, "ms", "Cycles");
  times(a, "From, ms", "From, cycles");
  return {"ms", "Cycles", "From, ms", "From, cycles"};
}

Titles trace_steps(const Asked& a) {
  times(a, "µs", "Cycles", 1e6);
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_LE(a.t.whole(r, "Compute") + a.t.whole(r, "Exchange") + a.t.whole(r, "Sync"), a.t.whole(r, "Cycles"));
    if (r + 1 == a.t.rows()) continue;
    EXPECT_NEAR(a.t.value(r + 1, "From, ms"), a.t.value(r, "From, ms") + ms(a, a.t.value(r, "Cycles")),
                a.t.value(r, "From, ms") * 1e-12);
  }
  return {"µs", "Cycles", "Compute", "Exchange", "Sync", "From, ms"};
}

// Seven parts in %, seven figures, the seven parts in cycles: they make the step.
Titles trace_summary(const Asked& a) {
  Titles out = steps_of_ipus(a, "all parts", 14, a.t.rows());
  for (const std::string& ipu : out) {
    EXPECT_EQ(a.t.whole(7, ipu.c_str()), a.index.program().cycles());
    for (int part = 0; part < 7; ++part) {
      EXPECT_DOUBLE_EQ(a.t.value(part, ipu.c_str()),
                       a.t.value(14 + part, ipu.c_str()) / static_cast<double>(a.index.program().cycles()) * 100);
    }
  }
  return out;
}

Titles compared_terms(const Asked& a) {
  const auto& rows = a.printed.contains("labels") ? a.printed.at("waterfall") : nlohmann::json::array();
  for (int r = 0; r < a.t.rows() && !rows.empty(); ++r) {
    const double source = a.t.value(r, "Source, s"), target = a.t.value(r, "Target, s");
    if (r < std::ssize(rows)) {
      const auto& printed = rows.at(static_cast<std::size_t>(r)).at("seconds");
      EXPECT_EQ(source, printed.at(0).get<double>()) << "as compare --json says";
      EXPECT_EQ(target, printed.at(1).get<double>()) << "as compare --json says";
    }
    EXPECT_NEAR(a.t.value(r, "Diff, ms"), (target - source) * 1e3, 1e-9);
    if (source > 0) {
      EXPECT_NEAR(a.t.value(r, "Diff, %"), (target / source - 1) * 100, 1e-9);
    }
  }
  return {"Diff, ms", "Diff, %"};
}

Titles compared_memory(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Diff, KiB"), a.t.whole(r, "Target, KiB") - a.t.whole(r, "Source, KiB"));
  }
  return {"Diff, KiB"};
}

// Those of the source that are its program's calls by name, times how often they run.
Titles compared_phases(const Asked& a) {
  std::map<std::string, std::int64_t> cycles;
  const std::function<void(const report::ProgramNode&, std::int64_t)> walk = [&](const auto& n, std::int64_t times) {
    if (n.kind() == "repeat") times *= n.micro_batches() > 0 ? n.micro_batches() : n.count();
    if (n.kind() == "call") cycles[n.name()] += times * n.cycles();
    for (const auto& child : n.children()) walk(child, times);
  };
  walk(a.index.program(), 1);
  times(a, "Source, ms", "Source, cycles");
  times(a, "Target, ms", "Target, cycles");
  for (int r = 0; r < a.t.rows(); ++r) {
    const auto known = cycles.find(a.t.text(r, "Layer and phase"));
    if (known != cycles.end()) {
      EXPECT_EQ(a.t.whole(r, "Source, cycles"), known->second) << known->first;
    }
    EXPECT_DOUBLE_EQ(a.t.value(r, "Diff, ms"), a.t.value(r, "Target, ms") - a.t.value(r, "Source, ms"));
  }
  return {"Source, ms", "Target, ms", "Diff, ms", "Source, cycles", "Target, cycles"};
}

Titles found_plans(const Asked& a) {
  for (int r = 0; r < a.t.rows(); ++r) {
    EXPECT_EQ(a.t.whole(r, "Spare, KiB"), a.index.plan().tile_limit_bytes() - a.t.whole(r, "Tile, KiB"));
  }
  return {"Spare, KiB"};
}

const std::map<std::string, Titles (*)(const Asked&)>& rules() {
  static const std::map<std::string, Titles (*)(const Asked&)> all{
      {"summary/Key numbers", key_numbers},
      {"summary/Waterfall", waterfall},
      {"summary/Fit", [](const Asked& a) { return spare(a, "Spare, KiB", "Fullest tile, KiB", "Limit, KiB"); }},
      {"summary/Plans", plans},
      {"summary/Changes", changes},
      {"graph/Phases", phases},
      {"graph/Ops of a call", ops_of_call},
      {"heatmap/Tiles", heat_tiles},
      {"memory/Memory", memory},
      {"memory/Liveness", liveness},
      {"memory/Variables", variables},
      {"memory/Streaming", streams},
      {"memory/Streaming Memory", streaming_memory},
      {"pipeline/Work", work},
      {"pipeline/Parts", parts},
      {"pipeline/Boxes", boxes},
      {"pipeline/Copies", copies},
      {"pipeline/Path", path},
      {"pipeline/Critical path", critical_path_runs},
      {"trace/Steps shown", trace_steps},
      {"trace/Summary of one step", trace_summary},
      {"operations/Operations", operations},
      {"program/Program", program},
      {"compare/Waterfalls", compared_terms},
      {"compare/Memory", compared_memory},
      {"compare/Pipelines", compared_pipelines},
      {"compare/Layers and phases", compared_phases},
      {"landscape/Plans", found_plans},
      {"landscape/Changes", changes},
  };
  return all;
}

}  // namespace

Titles check_derived(const SeenTable& table, Session& session, const std::string& printed_json) {
  const auto rule = rules().find(table.id);
  if (rule == rules().end() || table.rows() == 0) return {};
  const nlohmann::json printed = printed_json.empty() ? nlohmann::json() : nlohmann::json::parse(printed_json);
  SCOPED_TRACE(table.id);
  return rule->second({table, *session.report(), session.report()->index(), printed});
}

}  // namespace superstep::gui
