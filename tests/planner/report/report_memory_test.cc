// SPDX-License-Identifier: Apache-2.0
// What a report says of memory over time sums to what it says of memory: to the byte, whatever the plan.
#include <gtest/gtest.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

#include "planner/report/evaluated.h"
#include "planner/report/make_report.h"
#include "tests/planner/world.h"
#include "traces/report_io.h"

namespace superstep {
namespace {

using test::World;
using Integers = std::vector<std::int64_t>;

// The columns that the sums are about.
struct Columns {
  explicit Columns(const ReportFile& file)
      : index(file.index()),
        phase_name(file.column_texts("heat.phase")),
        category(file.column_texts("variable.category")),
        ddr_category(file.column_texts("ddr.category")) {
    for (const char* name : {"heat.phase_ipu_class",
                             "heat.phase_function",
                             "heat.phase_keeps",
                             "heat.phase_resident",
                             "heat.phase_kept",
                             "tile.phase",
                             "tile.first",
                             "tile.memory_bytes",
                             "step.live_bytes",
                             "step.temporary_bytes",
                             "step.keeping_bytes",
                             "variable.ipu_class",
                             "variable.bytes_per_tile",
                             "variable.first_phase",
                             "variable.last_phase",
                             "result.function",
                             "result.bytes_per_tile",
                             "result.first_step",
                             "result.last_step",
                             "result.stays",
                             "stream.ipu_class",
                             "stream.begin",
                             "stream.cycles",
                             "stream.load_bytes",
                             "stream.store_bytes",
                             "stream.load_cycles",
                             "stream.store_cycles",
                             "stream.repeats",
                             "ddr.ipu_class",
                             "ddr.bytes",
                             "ddr.first",
                             "ddr.last"})
      of[name] = file.column_integers(name);
  }
  const Integers& operator[](const char* name) const { return of.at(name); }
  std::int64_t at(const char* name, std::size_t row) const { return of.at(name).at(row); }

  report::Index index;
  TextColumn phase_name, category, ddr_category;
  std::map<std::string, Integers> of;
};

// Bytes on the fullest tile at a step of a function, without its temporary.
std::int64_t results_at(const Columns& c, std::int64_t function, std::int64_t step, bool keeps) {
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < c["result.function"].size(); ++r) {
    if (c.at("result.function", r) != function || step < c.at("result.first_step", r)) continue;
    if (step <= c.at("result.last_step", r) || (keeps && c.at("result.stays", r) == 1))
      sum += c.at("result.bytes_per_tile", r);
  }
  return sum;
}

void expect_results_are_what_is_live(const Columns& c) {
  for (int f = 0; f < c.index.functions_size(); ++f) {
    const report::Function& function = c.index.functions(f);
    for (std::int64_t s = 0; s < function.steps(); ++s) {
      const auto row = static_cast<std::size_t>(function.first_step() + s);
      const std::int64_t live = c.at("step.live_bytes", row) - c.at("step.temporary_bytes", row);
      ASSERT_EQ(results_at(c, f, s, false), live) << function.name() << " step " << s;
      ASSERT_EQ(results_at(c, f, s, true), live + c.at("step.keeping_bytes", row)) << function.name() << " step " << s;
    }
  }
}

void expect_variables_are_what_stands(const Columns& c) {
  std::vector<std::int64_t> peak(static_cast<std::size_t>(c.index.ipu_classes_size()), 0);
  for (std::size_t p = 0; p < c.phase_name.size(); ++p) {
    const std::int64_t ipu = c.at("heat.phase_ipu_class", p), at = static_cast<std::int64_t>(p);
    std::map<std::string, std::int64_t> by_category;
    for (std::size_t v = 0; v < c.category.size(); ++v) {
      if (c.at("variable.ipu_class", v) == ipu && c.at("variable.first_phase", v) <= at &&
          at <= c.at("variable.last_phase", v))
        by_category[c.category[v]] += c.at("variable.bytes_per_tile", v);
    }
    const std::int64_t kept = by_category["activations"];
    std::int64_t stands = 0;
    for (const auto& [category, bytes] : by_category) stands += bytes;
    ASSERT_EQ(kept, c.at("heat.phase_kept", p)) << c.phase_name[p];
    ASSERT_EQ(stands - kept, c.at("heat.phase_resident", p)) << c.phase_name[p];

    const report::Function& function = c.index.functions(static_cast<int>(c.at("heat.phase_function", p)));
    std::int64_t most = 0;
    for (std::int64_t s = function.first_step(); s < function.first_step() + function.steps(); ++s) {
      const auto row = static_cast<std::size_t>(s);
      const std::int64_t keeping = c.at("heat.phase_keeps", p) ? c.at("step.keeping_bytes", row) : 0;
      most = std::max(most, c.at("step.live_bytes", row) + keeping);
      const report::IpuClass& of = c.index.ipu_classes(static_cast<int>(ipu));
      if (of.peak_phase() != at || of.peak_step() != s) continue;
      EXPECT_EQ(stands + c.at("step.live_bytes", row) + keeping, of.tile_peak_bytes());
      for (const report::MemoryCategory& m : of.memory()) {
        if (m.always_live()) {
          EXPECT_EQ(by_category[m.name()], m.bytes_per_tile()) << m.name();
        }
        if (m.name() == "temporaries") {
          EXPECT_EQ(c.at("step.temporary_bytes", row), m.bytes_per_tile());
        }
      }
    }
    auto& highest = peak[static_cast<std::size_t>(ipu)];
    highest = std::max(highest, stands + most);
    for (std::size_t t = 0; t < c["tile.phase"].size(); ++t) {
      if (c.at("tile.phase", t) != at || c.at("tile.first", t) != 0) continue;
      ASSERT_EQ(c.at("tile.memory_bytes", t), stands + most) << c.phase_name[p];
    }
  }
  for (int i = 0; i < c.index.ipu_classes_size(); ++i) {
    const report::IpuClass& of = c.index.ipu_classes(i);
    EXPECT_EQ(peak[static_cast<std::size_t>(i)], of.tile_peak_bytes()) << of.name();
    ASSERT_GE(of.peak_phase(), 0);
    EXPECT_GE(of.peak_step(), 0);
  }
}

void expect_streams_hold_what_is_held(const Columns& c, bool training, bool phased) {
  const auto ipus = static_cast<std::size_t>(c.index.ipu_classes_size());
  const std::int64_t stretches = std::ssize(c["stream.ipu_class"]) / std::ssize(c.index.ipu_classes());
  std::int64_t most_of_all = 0, total = 0;
  for (std::size_t i = 0; i < ipus; ++i) total += c.index.ipu_classes(static_cast<int>(i)).ddr_bytes();
  std::int64_t end = c.at("stream.begin", 0);
  for (std::int64_t s = 0; s < stretches; ++s) {
    const auto row = static_cast<std::size_t>(s) * ipus;
    EXPECT_EQ(c.at("stream.begin", row), end) << "one after another";
    end += c.at("stream.cycles", row);
    std::int64_t of_all = 0;
    for (std::size_t i = 0; i < ipus; ++i) {
      ASSERT_EQ(c.at("stream.ipu_class", row + i), static_cast<std::int64_t>(i));
      std::int64_t held = 0;
      for (std::size_t d = 0; d < c.ddr_category.size(); ++d) {
        if (c.at("ddr.ipu_class", d) == static_cast<std::int64_t>(i) && c.at("ddr.first", d) <= s &&
            s <= c.at("ddr.last", d))
          held += c.at("ddr.bytes", d);
      }
      EXPECT_LE(held, c.index.ipu_classes(static_cast<int>(i)).ddr_bytes()) << "stretch " << s;
      of_all += held;
    }
    most_of_all = std::max(most_of_all, of_all);
  }
  if (c.at("stream.repeats", 0) == 1) {
    EXPECT_LE(end, c.index.program().cycles());
  }
  // Inference passes on: what one phase leaves is gone when the one after next leaves its own.
  if (training || !phased) {
    EXPECT_EQ(most_of_all, total);
  }
  double roof = c.index.streaming_bytes_per_s() / c.index.clock_hz();
  for (std::size_t row = 0; row < c["stream.load_bytes"].size(); ++row) {
    EXPECT_LE(static_cast<double>(c.at("stream.load_bytes", row)),
              static_cast<double>(c.at("stream.load_cycles", row)) * roof + 1);
    EXPECT_LE(static_cast<double>(c.at("stream.store_bytes", row)),
              static_cast<double>(c.at("stream.store_cycles", row)) * roof + 1);
  }
}

void expect_memory_adds_up(World& world, const Plan& plan) {
  const Evaluated e = evaluate_in_full(world.tables, plan);
  ReportParts parts;
  parts.shown = &e;
  // Tests run side by side.
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path = testing::TempDir() + "memory_" + test + std::to_string(getpid()) + ".ssr";
  write_report(world.tables, parts, path);
  {
    SCOPED_TRACE(to_json(plan).dump());
    const Columns columns(ReportFile::open(path));
    expect_results_are_what_is_live(columns);
    expect_variables_are_what_stands(columns);
    expect_streams_hold_what_is_held(columns, world.tables.training(), plan.phased());
  }
  std::filesystem::remove(path);
}

nlohmann::json small_gpt2(const char* task) {
  nlohmann::json job = test::small_job(
      "gpt2-small", {{"layers", 3}, {"hidden", 128}, {"heads", 4}, {"vocabulary", 2000}, {"sequence_length", 64}},
      "ipu-pod4");
  job["batch"] = {{"global", 16}};
  job["task"] = task;
  if (job["task"] == "inference") job.erase("optimizer");
  return job;
}

TEST(ReportMemory, OfPipelinesAddsUp) {
  World world(small_gpt2("training"));
  test::Draw draw(5);
  for (int i = 0; i < 12; ++i) expect_memory_adds_up(world, test::draw_pipeline(world, draw));
}

TEST(ReportMemory, OfPhasesAddsUp) {
  World world(small_gpt2("training"));
  test::Draw draw(6);
  for (int i = 0; i < 12; ++i) expect_memory_adds_up(world, test::draw_phases(world, draw));
}

TEST(ReportMemory, OfInferenceAddsUp) {
  World world(small_gpt2("inference"));
  test::Draw draw(7);
  for (int i = 0; i < 3; ++i) {
    expect_memory_adds_up(world, test::draw_pipeline(world, draw));
    expect_memory_adds_up(world, test::draw_phases(world, draw));
  }
}

}  // namespace
}  // namespace superstep
