// SPDX-License-Identifier: Apache-2.0
// The timeline of an optimiser step. A lane is the work of one IPU class, or the transfers beside that work, from the
// start of the step to its end. Repeats are never unrolled. The work at a time is found by binary search on starts.
// Sums over any range are exact and take a few searches.
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

// A node of a lane's tree. A box is neighbouring leaves of one pass of a micro-batch, or of one other kind of work.
struct LaneNode {
  enum class Kind : std::uint8_t { leaf, box, sequence, repeat } kind = Kind::leaf;
  Work work = Work::idle;   // leaf: its work; box: forward, backward (with recompute), or the work of all its leaves
  std::int64_t cycles = 0;  // all iterations together
  std::int64_t lag = -1;    // leaf, box: iteration of the repeat less micro-batch; -1: of no micro-batch
  std::int64_t count = 1;   // repeat: iterations
  std::int64_t first = 0;   // repeat: number of the first iteration
  std::int64_t micro_batches = 1;               // repeat: micro-batches
  int function = -1;                            // leaf that is a call: the function; else -1
  const report::ProgramNode* source = nullptr;  // node of the report; null: a gap
  std::vector<int> children = {};               // indices into Lane::nodes; repeat: one child
  std::vector<std::int64_t> starts = {};        // starts of the children from the start of the node, then the end
  // Cycles of one pass over the node, by lag of the leaves.
  std::vector<std::pair<std::int64_t, WorkCycles>> sums = {};
};

// An interval of a lane with one kind of work.
struct Slice {
  std::int64_t from = 0, to = 0;  // cycles from the start of the step
  Work work = Work::idle;
  std::int64_t micro_batch = -1;  // -1: none
  std::int64_t iteration = -1;    // of the innermost repeat; -1: in no repeat
  int node = -1;                  // index into Lane::nodes; -1: several short nodes, joined
  std::int64_t step = -1;         // row of the step columns; -1: not in a call, or several steps
};

struct Lane {
  int ipu_class = -1;
  std::string name;  // empty: work of the IPU; else "activations" or "weights": transfers beside the work
  std::vector<LaneNode> nodes;
  int root = -1;
  const StepTrace* steps = nullptr;  // null: the steps in calls are not known

  std::int64_t cycles() const { return root < 0 ? 0 : nodes[static_cast<std::size_t>(root)].cycles; }
  // Returns the cycles by kind of work in [from, to).
  WorkCycles sums(std::int64_t from, std::int64_t to) const;
  enum class Depth { boxes, leaves, steps };
  // Calls `take` for the slices that overlap [from, to), in order. Slices are whole, also beyond the ends. Slices
  // shorter than `least` cycles are joined.
  void visit(std::int64_t from, std::int64_t to, std::int64_t least, Depth depth,
             const std::function<void(const Slice&)>& take) const;
  Slice at(std::int64_t cycle, Depth depth) const;  // the slice at a time; node -1: outside of the step
  const LaneNode& node(int i) const { return nodes[static_cast<std::size_t>(i)]; }
};

// A part of the step: the loads ahead, the pipeline's ramps and its full cycles, a phase, the update.
struct Section {
  std::string name;
  std::int64_t from = 0, to = 0;
  std::int64_t cycle = 0;  // cycles of one iteration; 0: the section is no repeat
  std::int64_t first = 0;  // number of the first iteration
  std::int64_t count = 0;  // number of iterations
  bool equal = false;      // true: all iterations are alike, so the section can be folded
  // Rounds of the first repeat in the section: cycles of a round, start of the first round, and number of rounds. A
  // view in which a round is too short to be seen shows sums over whole rounds. All are 0 without a repeat.
  std::int64_t beat = 0, beat_from = 0, beats = 0;
};

struct Timeline {
  std::shared_ptr<const ReportFile> report;
  std::shared_ptr<const StepTrace> steps;  // null: the steps in calls are not known
  std::vector<Lane> lanes;                 // IPU classes in order, each followed by the lanes of its transfers
  std::vector<Section> sections;
  std::int64_t cycles = 0;
  double clock_hz = 0;
  bool phased = false;
  bool dated = false;  // true: an older report, which lacks the micro-batches of pipelines, so ramps look full
  // Cycles of the iterations beyond one per micro-batch, as the waterfall counts the bubble.
  std::int64_t bubble_cycles = 0;
  std::int64_t bubble_iterations = 0, iterations = 0;  // of the pipeline's repeat

  bool empty() const { return lanes.empty(); }
  double seconds(std::int64_t n) const { return clock_hz > 0 ? static_cast<double>(n) / clock_hz : 0; }
  int lane_of(int ipu_class) const;                     // index of the lane of the IPU's work; -1: none
  const Section* section_at(std::int64_t cycle) const;  // null: outside of the step
  // Returns [from, to) of the round that includes `cycle`. Outside of all rounds, returns the part of the section
  // before or after its rounds, or the whole section if there are none. {0, 0}: outside of the step.
  std::pair<std::int64_t, std::int64_t> round_at(std::int64_t cycle) const;
  // Returns the time of a typical round, which views show first. The round is in the longest section whose iterations
  // are alike (full pipelines). Without such a section, the round is in the middle of the longest section.
  std::int64_t typical_time() const;
  // Returns [from, to) widened to whole rounds if a round is shorter than `least`; else unchanged.
  std::pair<std::int64_t, std::int64_t> whole_rounds(std::int64_t from, std::int64_t to, std::int64_t least) const;
};

// Makes the timeline of a report, which the timeline keeps alive; empty if the report has no program. Throws Error if
// the program contradicts itself.
Timeline make_timeline(const std::shared_ptr<const ReportFile>& report,
                       std::shared_ptr<const StepTrace> steps = nullptr);

// Returns the name of the step of a slice, which must be of Depth::steps and have a step. Equal units share a function,
// so the function's unit name is replaced by the name of the unit that is called.
std::string name_of_step(const Timeline& timeline, const Lane& lane, const Slice& slice);

}  // namespace superstep::trace
