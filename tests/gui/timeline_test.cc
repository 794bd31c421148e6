// SPDX-License-Identifier: Apache-2.0
#include "gui/models/timeline.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "gui/models/report_tables.h"
#include "gui/paint/pipeline_layout.h"
#include "model/error.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

class Lanes : public ::testing::TestWithParam<Example> {
 protected:
  void SetUp() override {
    report_ = std::make_shared<const ReportFile>(ReportFile::open(write_example(GetParam(), folder_.path)));
    timeline_ = make_timeline(report_);
  }
  TemporaryFolder folder_;
  ReportPointer report_;
  Timeline timeline_;
};

TEST_P(Lanes, EachLastsTheStepAndItsSumsAreAllOfIt) {
  EXPECT_EQ(timeline_.empty(), report_->index().ipu_classes_size() == 0);
  for (const Lane& lane : timeline_.lanes) {
    EXPECT_EQ(lane.cycles(), timeline_.cycles);
    EXPECT_EQ(lane.sums(0, timeline_.cycles).total(), timeline_.cycles);
  }
  EXPECT_NEAR(timeline_.seconds(timeline_.cycles), report_->index().plan().step_time_s(), 1e-9);
}

// The sums of any stretch, by searches, are those of its slices, one by one.
TEST_P(Lanes, SumsOfAStretchAreThoseOfItsSlices) {
  std::mt19937_64 dice(5);
  for (const Lane& lane : timeline_.lanes) {
    for (int i = 0; i < 20; ++i) {
      const auto from = static_cast<std::int64_t>(dice() % static_cast<std::uint64_t>(timeline_.cycles));
      const std::int64_t to = std::min(timeline_.cycles, from + static_cast<std::int64_t>(dice() % 90'000'000));
      WorkCycles sum;
      std::int64_t last = -1;
      lane.visit(from, to, 1, Lane::Depth::leaves, [&](const Slice& s) {
        EXPECT_LT(s.from, s.to);
        EXPECT_TRUE(last < 0 || s.from == last) << "slices follow one another";
        last = s.to;
        sum[s.work] += std::min(to, s.to) - std::max(from, s.from);
      });
      EXPECT_EQ(lane.sums(from, to), sum);
    }
  }
}

TEST_P(Lanes, ShortSlicesAreJoinedAndNothingIsLeftOut) {
  for (const Lane& lane : timeline_.lanes) {
    for (const std::int64_t least : {1'000'000L, 100'000'000L, 10'000'000'000L}) {
      std::int64_t last = 0, slices = 0;
      lane.visit(0, timeline_.cycles, least, Lane::Depth::boxes, [&](const Slice& s) {
        EXPECT_EQ(s.from, last);
        EXPECT_TRUE(s.node < 0 || s.to - s.from >= least);
        last = s.to;
        ++slices;
      });
      EXPECT_EQ(last, timeline_.cycles);
      EXPECT_LE(slices, 2 * timeline_.cycles / least + 1);
    }
  }
}

TEST_P(Lanes, SectionsCoverTheStep) {
  std::int64_t last = 0;
  for (const Section& section : timeline_.sections) {
    EXPECT_EQ(section.from, last);
    EXPECT_TRUE(section.cycle == 0 || section.count * section.cycle == section.to - section.from);
    last = section.to;
  }
  EXPECT_EQ(last, timeline_.cycles);
}

INSTANTIATE_TEST_SUITE_P(Examples, Lanes,
                         ::testing::Values(Example::tight, Example::does_not_fit, Example::deeper, Example::infeasible,
                                           Example::empty));

// p=4: the forward of stage s works on micro-batch i - s, its backward on i - (6 - s).
TEST(Pipeline, MicroBatchesMoveFromIpuToIpuAndBack) {
  TemporaryFolder folder;
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(write_example(Example::tight, folder.path)));
  const Timeline timeline = make_timeline(report);
  ASSERT_EQ(timeline.lanes.size(), 4u);
  const Section& up = timeline.sections[0];
  EXPECT_EQ(up.name, "ramp-up");
  EXPECT_EQ(up.count, 6);
  EXPECT_EQ(timeline.bubble_cycles, 6 * up.cycle);
  for (int ipu = 0; ipu < 4; ++ipu) {
    std::vector<std::pair<Work, std::int64_t>> boxes;
    timeline.lanes[static_cast<std::size_t>(ipu)].visit(8 * up.cycle, 9 * up.cycle, 1, Lane::Depth::boxes,
                                                        [&](const Slice& s) {
                                                          if (s.micro_batch >= 0)
                                                            boxes.emplace_back(s.work, s.micro_batch);
                                                        });
    EXPECT_EQ(boxes, (std::vector<std::pair<Work, std::int64_t>>{{Work::forward, 8 - ipu}, {Work::backward, 2 + ipu}}));
  }
  const WorkCycles ramp = timeline.lanes[3].sums(0, up.to);
  EXPECT_GT(ramp[Work::ramp_up], 0);
  EXPECT_EQ(ramp[Work::ramp_down], 0);
  EXPECT_EQ(timeline.lanes[3].at(1000, Lane::Depth::leaves).work, Work::ramp_up);
}

// The slowest IPU of each cycle, and through copies and update, in which nobody waits long.
TEST(Pipeline, TheCriticalPathIsOfTheIpuThatDoesNotWait) {
  TemporaryFolder folder;
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(write_example(Example::tight, folder.path)));
  const Timeline timeline = make_timeline(report);
  std::int64_t last = 0;
  for (const CriticalRun& run : critical_path(timeline, 0, timeline.sections[1].from, 1)) {
    EXPECT_EQ(run.from, last);
    ASSERT_GE(run.lane, 0);
    const WorkCycles sums = timeline.lanes[static_cast<std::size_t>(run.lane)].sums(run.from, run.to);
    EXPECT_EQ(sums[Work::imbalance] + sums[Work::no_part], 0);
    last = run.to;
  }
  EXPECT_EQ(last, timeline.sections[1].from);
}

// By hand: two stages, four micro-batches. IPU 0 takes 3 cycles forward and 5 back, IPU 1 4 and 6; each cycle of fill
// and drain takes as long as what works in it.
TEST(Pipeline, RampsByThemselvesHaveTheirOwnLengths) {
  ExampleReport example = example_report(Example::empty);
  auto& index = example.index;
  for (const char* name : {"IPU 0", "IPU 1"}) index.add_ipu_classes()->set_name(name);
  index.set_clock_hz(1e9);
  report::ProgramNode& root = *index.mutable_program();
  root.set_kind("sequence"), root.set_cycles(3 + 10 + 2 * 10 + 10 + 5), root.set_count(1), root.set_ipu_class(-1);
  struct Call {
    int ipu;
    const char* work;
    std::int64_t cycles, lag;
  };
  const auto add = [&](std::int64_t first, std::int64_t count, std::int64_t cycles, const std::vector<Call>& calls) {
    report::ProgramNode& loop = *root.add_children();
    loop.set_kind("repeat"), loop.set_name("cycles"), loop.set_cycles(cycles), loop.set_ipu_class(-1);
    loop.set_first(first), loop.set_count(count), loop.set_micro_batches(4), loop.set_ramp(count == 1);
    report::ProgramNode& side = *loop.add_children();
    side.set_kind("parallel"), side.set_cycles(cycles), side.set_count(1), side.set_ipu_class(-1);
    for (int ipu : {0, 1}) {
      report::ProgramNode& branch = *side.add_children();
      branch.set_kind("sequence"), branch.set_count(1), branch.set_ipu_class(ipu);
      for (const Call& c : calls) {
        if (c.ipu != ipu) continue;
        report::ProgramNode& call = *branch.add_children();
        call.set_kind("call"), call.set_name(c.work), call.set_work(c.work), call.set_cycles(c.cycles);
        call.set_count(1), call.set_lag(c.lag), call.set_function(-1), call.set_ipu_class(-1);
        branch.set_cycles(branch.cycles() + c.cycles);
      }
    }
  };
  const Call f0{0, "forward", 3, 0}, b0{0, "backward", 5, 2}, f1{1, "forward", 4, 1}, b1{1, "backward", 6, 1};
  add(0, 1, 3, {f0});
  add(1, 1, 10, {f0, f1, b1});
  add(2, 2, 10, {f0, b0, f1, b1});
  add(4, 1, 10, {b0, f1, b1});
  add(5, 1, 5, {b0});
  TemporaryFolder folder;
  example.columns.finish(index, folder.path / "a.ssr");
  const Timeline timeline = make_timeline(std::make_shared<const ReportFile>(ReportFile::open(folder.path / "a.ssr")));
  WorkCycles first, second;
  first[Work::forward] = 4 * 3, first[Work::backward] = 4 * 5;
  first[Work::ramp_up] = 7, first[Work::imbalance] = 2 * 2, first[Work::ramp_down] = 5;
  second[Work::forward] = 4 * 4, second[Work::backward] = 4 * 6, second[Work::ramp_up] = 3, second[Work::ramp_down] = 5;
  EXPECT_EQ(timeline.lanes[0].sums(0, 48), first);
  EXPECT_EQ(timeline.lanes[1].sums(0, 48), second);
  EXPECT_EQ(timeline.lanes[0].sums(3, 13)[Work::ramp_up], 7);
  EXPECT_EQ(timeline.lanes[0].at(0, Lane::Depth::leaves).micro_batch, 0);
  EXPECT_EQ(timeline.lanes[0].at(25, Lane::Depth::leaves).micro_batch, 3);  // forward in iteration 3
  EXPECT_EQ(timeline.lanes[0].at(27, Lane::Depth::leaves).micro_batch, 1);  // backward there
  EXPECT_EQ(timeline.lanes[1].at(34, Lane::Depth::leaves).micro_batch, 3);
  EXPECT_EQ(timeline.lanes[0].at(44, Lane::Depth::leaves).micro_batch, 3);
  EXPECT_EQ(timeline.bubble_cycles, 48 - 4 * 10);
  EXPECT_EQ(timeline.bubble_iterations, 2);
  EXPECT_EQ(timeline.iterations, 6);
  std::vector<std::pair<std::string, std::int64_t>> sections;
  for (const Section& s : timeline.sections) sections.emplace_back(s.name, s.first);
  EXPECT_EQ(sections, (std::vector<std::pair<std::string, std::int64_t>>{
                          {"ramp-up", 0}, {"ramp-up", 1}, {"full cycles", 2}, {"ramp-down", 4}, {"ramp-down", 5}}));
}

// By hand: one IPU that computes 100 cycles beside a load of 130, four times.
TEST(Pipeline, StreamsHaveALaneBesideTheirIpu) {
  ExampleReport example = example_report(Example::empty);
  auto& index = example.index;
  index.add_ipu_classes()->set_name("IPU 0");
  index.set_clock_hz(1e9);
  const auto add = [](report::ProgramNode& to, const char* kind, const char* name, std::int64_t cycles,
                      std::int64_t ipu) -> report::ProgramNode& {
    report::ProgramNode& n = *to.add_children();
    n.set_kind(kind), n.set_name(name), n.set_cycles(cycles), n.set_ipu_class(ipu), n.set_count(1);
    return n;
  };
  report::ProgramNode& root = *index.mutable_program();
  root.set_kind("sequence"), root.set_cycles(520), root.set_count(1), root.set_ipu_class(-1);
  auto& loop = add(root, "repeat", "micro-batches", 130, -1);
  loop.set_count(4), loop.set_micro_batches(4);
  auto& cycle = add(loop, "parallel", "pipeline cycle", 130, -1);
  auto& both = add(add(cycle, "sequence", "IPU 0", 130, 0), "parallel", "compute and stream", 130, 0);
  add(add(both, "sequence", "compute", 100, 0), "call", "layer0 forward", 100, -1).set_work("forward");
  add(add(both, "sequence", "activations", 130, 0), "step", "load boundary", 130, -1).set_work("load");
  TemporaryFolder folder;
  example.columns.finish(index, folder.path / "a.ssr");
  const Timeline timeline = make_timeline(std::make_shared<const ReportFile>(ReportFile::open(folder.path / "a.ssr")));
  ASSERT_EQ(timeline.lanes.size(), 2u);
  WorkCycles own, beside;
  own[Work::forward] = 400, own[Work::memory] = 120;
  beside[Work::load] = 520;
  EXPECT_EQ(timeline.lanes[0].sums(0, 520), own);
  EXPECT_EQ(timeline.lanes[1].sums(0, 520), beside);
  EXPECT_EQ(timeline.lanes[1].name, "activations");
  root.set_cycles(500);
  example.columns.finish(index, folder.path / "b.ssr");
  EXPECT_THROW(make_timeline(std::make_shared<const ReportFile>(ReportFile::open(folder.path / "b.ssr"))), Error);
}

}  // namespace
}  // namespace superstep::gui
