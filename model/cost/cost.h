// SPDX-License-Identifier: Apache-2.0
// Times and memory of a program. All times are integer cycles of the chip's clock, so that sums do not depend on their
// order. Every time is a sum of named terms.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "model/cost/calibration.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"
#include "model/program/program.h"

namespace superstep {

// Cycles by waterfall term.
struct TermCycles {
  std::array<std::int64_t, kTerms> by{};

  std::int64_t& operator[](Term t) { return by[static_cast<std::size_t>(t)]; }
  std::int64_t operator[](Term t) const { return by[static_cast<std::size_t>(t)]; }
  Cycles total() const;
  TermCycles& operator+=(const TermCycles& o);
  friend TermCycles operator*(TermCycles a, std::int64_t n);
  friend bool operator==(const TermCycles&, const TermCycles&) = default;
  // Returns the total under one term. (A forward pass that runs again counts as recompute, whatever its terms.)
  TermCycles as(Term term) const;
  // Returns terms that sum to `cycles`, from 0 to total(), in the proportions of these terms but for rounding.
  TermCycles part(std::int64_t cycles) const;
};

// A machine with its calibration and routes, and the cost functions that depend on these. Safe to share between
// threads.
class CostModel {
 public:
  CostModel(const Machine& machine, Calibration calibration);
  ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  // Returns a model with another machine and calibration that shares the routes of this model. The machine must have
  // the same links and link rates.
  CostModel with(Machine machine, Calibration calibration) const;

  const Machine& machine() const { return machine_; }
  const Calibration& calibration() const { return calibration_; }

  // Returns the cycles of a collective; 0 for a group of one IPU or no bytes. `bytes`: size on one IPU of the tensor at
  // its larger end (operand of an all-reduce or a reduce-scatter, result of an all-gather). `along`: the bytes travel
  // with another collective, whose hops and sync serve both.
  Cycles collective(CollectiveKind kind, GroupShape group, Bytes bytes, bool along = false) const;
  // Returns the cycles of a collective over the group of `path`. For callers that look the path up once.
  Cycles collective(CollectiveKind kind, const CollectivePath& path, Bytes bytes, bool along = false) const;
  CollectivePath path(GroupShape group) const;
  // True if no collective over `a` takes less time than the same collective over `b`. Both groups have equally many
  // members.
  bool is_no_faster(GroupShape a, GroupShape b) const;
  // True if no copy over a stride of `a` IPUs takes less time than over a stride of `b` IPUs, with equal holders.
  bool is_no_faster(std::int64_t a, std::int64_t b) const;
  // Returns the cycles of a pipeline boundary: every IPU sends `bytes` to the IPU `stride` further on, in both
  // directions at once. `holders` are the IPUs that hold the same bytes, and so may each send a slice.
  Cycles copy(Bytes bytes, std::int64_t stride, GroupShape holders) const;
  // Returns the cycles in which one IPU moves `bytes` to or from a memory other than in_processor, in one direction.
  // Remote memory is `stride` IPUs further on (lender_stride()). All IPUs stream at the same time.
  Cycles streaming(Bytes bytes, Location from, std::int64_t stride) const;
  BytesPerSecond streaming_rate(Location from, std::int64_t stride) const;
  // Returns the cycles of one IPU's host input or output of `bytes`. Input comes from Streaming Memory, where the
  // network has put it ahead of time; output goes there. On a machine without Streaming Memory both are with the host.
  Cycles host(Bytes bytes) const;
  // Returns the cycles in which the network moves the inputs and results of a step, a lower bound on the step time.
  // `bytes`: sum over the `groups` IPU groups of a replica, one IPU each. The other IPUs of the machine do so too.
  Cycles network(Bytes bytes, std::int64_t groups) const;
  // Returns the cycles in which host programs copy the inputs and results of a step beside it; 0 if no programs copy.
  // `bytes`: sum over the `groups` IPU groups of a replica, one IPU each.
  Cycles host_copies(Bytes bytes, std::int64_t groups) const;
  Cycles cycles(Seconds s) const { return cycles_in(s, machine_.chip.clock); }
  Seconds seconds(Cycles c) const { return at_clock(c, machine_.chip.clock); }

  // Returns the cycles of all runs (Step::times) of a step.
  TermCycles step(const Step& step) const;
  // Returns the fields of a step that step() reads. Steps with equal fields take equal time.
  static auto inputs_of_step(const Step& s) {
    return std::tie(s.kind, s.term, s.times, s.rows, s.padding, s.amp_fixed, s.vector, s.tile_bytes, s.paired_bytes,
                    s.pieces, s.collective, s.along, s.group, s.holders, s.location, s.beside);
  }
  TermCycles function(const Function& function) const;

 private:
  Machine machine_;
  Calibration calibration_;
  std::shared_ptr<const LinkGraph> links_;
  CostModel(Machine machine, Calibration calibration, std::shared_ptr<const LinkGraph> links);
};

// Bytes to and from the host, summed over the IPU groups of a replica, one IPU each.
struct Hosted {
  std::int64_t moved = 0;   // all of them
  std::int64_t beside = 0;  // those that IO tiles move beside the step's other work

  static Hosted of(const Step& step);
  void add(const Hosted& o, std::int64_t times) { moved += o.moved * times, beside += o.beside * times; }
  // Returns the cycles that an optimiser step of a replica with `groups` IPU groups waits for these bytes beyond its
  // own `step` cycles.
  Cycles wait(Cycles step, std::int64_t groups, const CostModel& model) const;
};

// Bytes per tile of one IPU group that are held only for a part of the optimiser step, at the moment of the peak.
struct Transient {
  Bytes activations;       // results held for later ops
  Bytes temporaries;       // temporary memory of the superstep at the peak
  FunctionId function;     // function that runs at the peak
  std::int64_t step = -1;  // superstep at the peak: position in the function
  std::int64_t call = -1;  // call at the peak: position among all calls on IPU groups, in program order
  Bytes total() const { return activations + temporaries; }
};

// Times and memory of a whole program.
struct Timeline {
  TermCycles step;  // one optimiser step, by term, along the critical path
  // The part of `step` in ops outside the core, which are costed as all bytes moved and one vector slot per element.
  Cycles generic;
  std::vector<Cycles> busy;  // by IPU group: cycles per step in which the group does not wait
  // By IPU group, at its fullest moment. Both belong to the same phase, since phases take turns on the tiles.
  std::vector<Residents> residents;
  std::vector<Transient> transient;
  struct Traffic {
    std::int64_t count = 0;  // per IPU and step
    Bytes bytes;             // per IPU and step: sum of the tensors at their larger end
  };
  std::map<std::pair<CollectiveKind, Term>, Traffic> collectives;  // along the critical path
  Bytes tile_peak(std::size_t ipu) const { return residents[ipu].total() + transient[ipu].total(); }
};
Timeline cost(const Program& program, const CostModel& model);

// Returns the cycles of one subtree on its critical path, all iterations included. The program tree view and the report
// read times through this function.
TermCycles cost_of(const Node& node, const Program& program, const CostModel& model);

}  // namespace superstep
