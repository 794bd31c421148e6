// SPDX-License-Identifier: Apache-2.0
// The step lane by lane: a lane is what one IPU does (or what streams beside it) from the start of the step to its
// end. Repeats are never unrolled: what happens at a time is found by binary search on starts, sums over any stretch
// are exact and cost a few searches.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/timeline/step_trace.h"
#include "traces/timeline/work.h"

namespace superstep::trace {

struct LaneNode {
  enum class Kind : std::uint8_t { leaf, box, sequence, repeat } kind = Kind::leaf;  // box: of one pass, or one work
  Work work = Work::idle;   // leaf; box: forward, backward (recompute included) or the work of all in it
  std::int64_t cycles = 0;  // of all iterations
  std::int64_t lag = -1;    // leaf, box: behind the repeat's iteration; -1: of no micro-batch
  std::int64_t count = 1;   // repeat
  std::int64_t first = 0;   // number of its first iteration
  std::int64_t micro_batches = 1;
  int function = -1;                            // leaf: a call of it
  const report::ProgramNode* source = nullptr;  // null: a gap
  std::vector<int> children = {};               // repeat: one
  std::vector<std::int64_t> starts = {};        // of the children, then the end
  // Cycles of one pass over the node by lag of what is in it.
  std::vector<std::pair<std::int64_t, WorkCycles>> sums = {};
};

// A stretch of a lane.
struct Slice {
  std::int64_t from = 0, to = 0;  // cycles from the start of the step
  Work work = Work::idle;
  std::int64_t micro_batch = -1;
  std::int64_t iteration = -1;  // of the innermost repeat
  int node = -1;                // -1: several nodes too short to tell apart
  std::int64_t step = -1;       // row of the steps; -1: not in a call, or several
};

struct Lane {
  int ipu_class = -1;
  std::string name;  // empty: the IPU's own; else what streams beside it
  std::vector<LaneNode> nodes;
  int root = -1;
  const StepTrace* steps = nullptr;  // null: calls are of one work

  std::int64_t cycles() const { return root < 0 ? 0 : nodes[static_cast<std::size_t>(root)].cycles; }
  WorkCycles sums(std::int64_t from, std::int64_t to) const;
  enum class Depth { boxes, leaves, steps };
  // Slices in order that meet [from, to), those shorter than `least` cycles joined. Whole slices, also beyond the ends.
  void visit(std::int64_t from, std::int64_t to, std::int64_t least, Depth depth,
             const std::function<void(const Slice&)>& take) const;
  Slice at(std::int64_t cycle, Depth depth) const;  // node -1 outside
  const LaneNode& node(int i) const { return nodes[static_cast<std::size_t>(i)]; }
};

// A part of the step: the loads ahead, the pipeline's ramps and its full cycles, a phase, the update.
struct Section {
  std::string name;
  std::int64_t from = 0, to = 0;
  std::int64_t cycle = 0;  // cycles of one iteration; 0: no repeat
  std::int64_t first = 0;  // number of its first iteration
  std::int64_t count = 0;  // of iterations
  bool equal = false;      // all iterations are alike: what is folded
  // The innermost repeat in it, for sums over whole rounds where one is too short to be seen; 0: none.
  std::int64_t beat = 0, beat_from = 0, beats = 0;
};

struct Timeline {
  std::shared_ptr<const ReportFile> report;
  std::shared_ptr<const StepTrace> steps;  // null: sums are by work, calls are not looked into
  std::vector<Lane> lanes;                 // IPUs in order, each followed by its streams
  std::vector<Section> sections;
  std::int64_t cycles = 0;
  double clock_hz = 0;
  bool phased = false;
  bool dated = false;  // an older report does not say which micro-batch is worked on: its ramps look full
  // Waiting in whole cycles beyond one per micro-batch, as the waterfall counts it.
  std::int64_t bubble_cycles = 0;
  std::int64_t bubble_iterations = 0, iterations = 0;  // of the pipeline's repeat

  bool empty() const { return lanes.empty(); }
  double seconds(std::int64_t n) const { return clock_hz > 0 ? static_cast<double>(n) / clock_hz : 0; }
  int lane_of(int ipu_class) const;                     // -1: none
  const Section* section_at(std::int64_t cycle) const;  // null: outside
  // The round of the innermost repeat that `cycle` is in, or the section where there is none.
  std::pair<std::int64_t, std::int64_t> round_at(std::int64_t cycle) const;
  // A round in the middle of the longest section, where pipelines are full: what to look at first.
  std::int64_t typical_time() const;
  // [from, to) widened to whole rounds of the repeat it is in, if one is shorter than `least`.
  std::pair<std::int64_t, std::int64_t> whole_rounds(std::int64_t from, std::int64_t to, std::int64_t least) const;
};

// Without a program an empty one. Keeps the report alive. Throws Error when the program contradicts itself.
Timeline make_timeline(const std::shared_ptr<const ReportFile>& report,
                       std::shared_ptr<const StepTrace> steps = nullptr);

// Of a slice of Depth::steps whose step is known: equal units share a function, so the call's own name is in it.
std::string name_of_step(const Timeline& timeline, const Lane& lane, const Slice& slice);

}  // namespace superstep::trace
