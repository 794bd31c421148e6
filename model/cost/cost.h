// SPDX-License-Identifier: Apache-2.0
// The program read with the clock. All times are integer cycles of the chip's clock, so that sums do
// not depend on their order; every number is a sum of named terms.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "model/cost/calibration.h"
#include "model/lower/program.h"
#include "model/machine/links.h"
#include "model/machine/machine.h"

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
  // Everything under one term: a forward pass run again is recompute, whatever it consists of.
  TermCycles as(Term term) const;
  // So many of them, 0 up to all, in the same proportions but for rounding.
  TermCycles part(std::int64_t cycles) const;
};

// A machine with its calibration and routes; what every cost function needs. Safe to share between threads.
class CostModel {
 public:
  CostModel(const Machine& machine, Calibration calibration);
  ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  // Other numbers on the same routes: the machine has the same links and link rates.
  CostModel with(Machine machine, Calibration calibration) const;

  const Machine& machine() const { return machine_; }
  const Calibration& calibration() const { return calibration_; }

  // `bytes` is the tensor at its larger end, as one IPU holds it: all of an all-reduce's operand, the
  // operand of a reduce-scatter, the result of an all-gather.
  // `along`: it travels with another one, whose hops and sync serve both.
  Cycles collective(CollectiveKind kind, GroupShape group, Bytes bytes, bool along = false) const;
  // For many over one group, whose path is looked up once.
  Cycles collective(CollectiveKind kind, const CollectivePath& path, Bytes bytes, bool along = false) const;
  CollectivePath path(GroupShape group) const;
  // Whether no collective over `a` takes less than the same over `b`, which has as many members.
  bool is_no_faster(GroupShape a, GroupShape b) const;
  // Whether no copy does from neighbours `a` apart than from those `b` apart, where the holders are the same.
  bool is_no_faster(std::int64_t a, std::int64_t b) const;
  // Pipeline boundary: every IPU sends `bytes` to the IPU `stride` further, both directions at once; `holders` are the
  // IPUs that hold the same.
  Cycles copy(Bytes bytes, std::int64_t stride, GroupShape holders) const;
  // One IPU, one direction; not in_processor. Remote memory is `stride` IPUs further (lender_stride), for all IPUs at
  // once.
  Cycles streaming(Bytes bytes, Location from, std::int64_t stride) const;
  BytesPerSecond streaming_rate(Location from, std::int64_t stride) const;
  // One IPU's host stream. The machine's Streaming Memory has it already: it is read ahead over the network. A machine
  // without has it from the host.
  Cycles host(Bytes bytes) const;
  // What reading ahead takes, which a step cannot be faster than: `bytes` of one IPU of each of the `groups` of a
  // replica, while the other IPUs of the machine read theirs.
  Cycles network(Bytes bytes, std::int64_t groups) const;
  // Ahead of a step, where host programs copy its inputs first: `bytes` of one IPU of each of the `groups` of a
  // replica.
  Cycles host_copies(Bytes bytes, std::int64_t groups) const;
  Cycles cycles(Seconds s) const { return cycles_in(s, machine_.chip.clock); }
  Seconds seconds(Cycles c) const { return at_clock(c, machine_.chip.clock); }

  TermCycles step(const Step& step) const;
  // What step() looks at: steps equal in it take the same.
  static auto inputs_of_step(const Step& s) {
    return std::tie(s.kind, s.term, s.times, s.rows, s.padding, s.amp_fixed, s.vector, s.tile_bytes, s.paired_bytes,
                    s.pieces, s.collective, s.along, s.group, s.holders, s.location);
  }
  TermCycles function(const Function& function) const;

 private:
  Machine machine_;
  Calibration calibration_;
  std::shared_ptr<const LinkGraph> links_;
  CostModel(Machine machine, Calibration calibration, std::shared_ptr<const LinkGraph> links);
};

// What lives on a tile of one IPU group only for a while, at the worst moment of the step.
struct Transient {
  Bytes activations;       // results held for later ops
  Bytes temporaries;       // of the step at the peak
  FunctionId function;     // where the peak is
  std::int64_t step = -1;  // in that function
  std::int64_t call = -1;  // of all calls on IPU groups, in program order
  Bytes total() const { return activations + temporaries; }
};

// What a walk over the program's tree finds.
struct Timeline {
  TermCycles step;  // one optimiser step, by term, along the critical path
  Cycles generic;   // of it, in ops outside the core, costed as all bytes moved and one vector slot per element
  std::vector<Cycles> busy;  // by IPU group: cycles per step in which it does not wait
  // By IPU group, at its fullest moment: phases take turns on the tiles, so both belong to the same phase.
  std::vector<Residents> residents;
  std::vector<Transient> transient;
  struct Traffic {
    std::int64_t count = 0;  // per IPU and step
    Bytes bytes;             // sum of the operands, larger end
  };
  std::map<std::pair<CollectiveKind, Term>, Traffic> collectives;  // along the critical path
  Bytes tile_peak(std::size_t ipu) const { return residents[ipu].total() + transient[ipu].total(); }
};
Timeline cost(const Program& program, const CostModel& model);
// What a step of so many cycles, of whose IPU groups each reads `fed` bytes, waits for the host beside them.
Cycles host_wait(Bytes fed, Cycles step, const Program& program, const CostModel& model);

// Cycles of one subtree on its critical path, all iterations included; the program tree view and the
// report read times through this.
TermCycles cost_of(const Node& node, const Program& program, const CostModel& model);

}  // namespace superstep
