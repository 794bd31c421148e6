// SPDX-License-Identifier: Apache-2.0
// Labels of the dynamic programme over phases (PhaseProgramme): partial phases, whole phases and partial cuts. Also the
// tests by which a label dominates another label.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/cuts/phase_stages.h"

namespace superstep::phase_labels {

// What a label takes, in the order of PhaseProgramme::state_. An element is the bytes per IPU of a tracked account, or
// says if a shared weight is held (1) or not (0). Few accounts are tracked, hence the small vector.
using Sizes = boost::container::small_vector<std::int64_t, 4>;

// True if no element of `a` is larger than the element of `b` at the same position.
inline bool no_more_than(const Sizes& a, const Sizes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}
// Sum of the cycles so far and `rest`, a lower bound on the cycles of what follows. INT64_MAX if `rest` is INT64_MAX:
// nothing feasible follows.
inline std::int64_t plus_bound(std::int64_t cycles, std::int64_t rest) {
  return rest == INT64_MAX ? INT64_MAX : cycles + rest;
}
// Cycles by which `a` exceeds `b`; 0 if `a` does not.
inline std::int64_t excess(std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); }

// Load of one IPU group in a partial cut.
struct HeldLoad {
  GroupLoad kept;          // held through all phases
  std::int64_t needs = 0;  // most bytes per tile that any stage of the IPU group needs beside `kept`
};
// Loads of the IPU groups in PhaseProgramme::held_state_, in the same order. These are the IPU groups where an earlier
// run of the programme found cuts that hold too much.
using HeldLoads = std::vector<HeldLoad>;

// True if each IPU group of `a` holds no code row, shared weight or byte that `b` does not hold, and needs no more.
// Seldom called; kept out of line so that the inlined comparisons of labels stay short.
[[gnu::noinline]] inline bool no_more_than(const HeldLoads& a, const HeldLoads& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const GroupLoad &less = a[i].kept, &more = b[i].kept;
    if ((less.rows & ~more.rows) != 0 || (less.shared & ~more.shared) != 0 || less.remote_tile > more.remote_tile ||
        a[i].needs > b[i].needs)
      return false;
  }
  return true;
}
// As above. True for null, where labels of the run have no holdings.
inline bool no_more_than(const HeldLoads* a, const HeldLoads* b) { return a == nullptr || no_more_than(*a, *b); }
// Joint holdings of two partial cuts, by IPU group: the sum of the loads and the larger of the needs.
inline HeldLoads combined(const HeldLoads& a, const HeldLoads& b) {
  HeldLoads out;
  for (std::size_t i = 0; i < a.size(); ++i)
    out.push_back({combined(a[i].kept, b[i].kept), std::max(a[i].needs, b[i].needs)});
  return out;
}

// Label of a partial phase: its first stages, up to some unit. Also holds a single stage, before it is joined to a
// partial phase.
struct StageLabel {
  // Maxima over the stages. Cycles per micro-batch: forward, backward, copy. Cycles per load of the phase: load (ahead
  // of the phase), load_at_once (when the phase begins). Cycles per step: update. Bytes on one IPU: weights.
  std::int64_t forward = 0, backward = 0, load = 0, load_at_once = 0, update = 0, copy = 0, weights = 0;
  // Cycles per step for tied weights whose owner is in another stage. With PhaseProgramme::pricing_ also the price.
  std::int64_t fixed = 0;
  std::int64_t price = 0;  // cycles: price of the bytes kept outside of the tiles. 0 where `fixed` includes the price
  Sizes taken;
  const HeldLoads* held = nullptr;  // in PhaseProgramme::holdings_; null: labels of the run have no holdings
  // First unit of the last stage, and position of the label without that stage in the list that ends there. -1: no
  // stage.
  std::int32_t from = -1, previous = -1;
  Recompute mode = Recompute::layer;  // of the last stage
  // True if this label dominates `o`, or is equal to `o`.
  bool no_worse(const StageLabel& o) const {
    return forward <= o.forward && backward <= o.backward && load <= o.load && load_at_once <= o.load_at_once &&
           update <= o.update && copy <= o.copy && weights <= o.weights && fixed <= o.fixed &&
           no_more_than(taken, o.taken) && no_more_than(held, o.held);
  }
};

// Label of one whole phase. Where loads hide behind neighbouring phases, forward, backward and load stay apart until
// the neighbours are known. Elsewhere `fixed` includes forward and backward, which are 0.
struct PhaseLabel {
  // Cycles per step. forward and backward may hide the load of a neighbouring phase, and a neighbouring phase may hide
  // `load`. `fixed` neither hides a load nor is hidden.
  std::int64_t fixed = 0, forward = 0, backward = 0, load = 0;
  std::int64_t price = 0;  // as in StageLabel
  Sizes taken;
  const HeldLoads* held = nullptr;    // in PhaseProgramme::holdings_; null: labels of the run have no holdings
  std::int64_t stages = 0, last = 0;  // number of stages, and first unit of the last stage
  std::int64_t cuts = -1;             // position of the first stage in PhaseProgramme::kept_cuts_; -1: not stored yet
  std::int32_t previous = 0;          // position of the label without the last stage in the list that ends at `last`
  Recompute mode = Recompute::layer;  // of the last stage
  // True if this label dominates `o`, or is equal to `o`, whatever the neighbouring phases are. The excess of the load
  // counts twice. A load is compared with the forward of the phase before and with the backward of the phase after.
  bool no_worse(const PhaseLabel& o) const {
    return fixed + excess(forward, o.forward) + excess(backward, o.backward) + 2 * excess(load, o.load) <= o.fixed &&
           no_more_than(taken, o.taken) && no_more_than(held, o.held);
  }
};

// One stage of a phase that is part of a cut label.
struct StageCut {
  std::int64_t begin = 0;  // first unit, counted from the first unit of its phase
  Recompute mode = Recompute::layer;
};

// Label of a partial cut: phases of the first units of the model.
struct CutLabel {
  std::int64_t cycles = 0;             // per step, without the last phase's forward, which may hide the next load
  std::int64_t forward = 0, load = 0;  // cycles per step of the last phase
  // Cycles: price of the phases so far, as in StageLabel; lower bound on all cuts that begin with these phases.
  std::int64_t price = 0, bound = 0;
  Sizes taken;
  const HeldLoads* held = nullptr;  // in PhaseProgramme::holdings_; null: labels of the run have no holdings
  std::int64_t from = -1;           // first unit of the last phase; -1: no phase yet
  // Row (PhaseProgramme::RowsOfPhases) of the label without the last phase, and its position in the list that ends at
  // `from`.
  std::size_t count = 0, previous = 0;
  std::int64_t stages = 0, cuts = 0;  // of the last phase, as in PhaseLabel
  // True if this label dominates `o`, or is equal to `o`, whatever phases follow.
  bool no_worse(const CutLabel& o) const {
    return cycles + excess(forward, o.forward) + excess(load, o.load) <= o.cycles && no_more_than(taken, o.taken) &&
           no_more_than(held, o.held);
  }
};

// Lists of labels that begin with the same unit, by the unit where the labels end. Few of the lists hold any label. The
// memory of the lists stays allocated when the first unit changes.
template <class Label>
class ByEnd {
 public:
  // Clears all lists. From now on labels begin at unit `begin`.
  void begin_at(std::int64_t begin) {
    for (std::size_t i = first_; i < last_; ++i) lists_[i].clear();
    begin_ = begin;
    first_ = SIZE_MAX, last_ = 0;
  }
  // List of the labels that end at unit `end`. The const version is for lists that the other version has made.
  std::vector<Label>& operator[](std::int64_t end) {
    const std::size_t i = place(end);
    first_ = std::min(first_, i);
    last_ = std::max(last_, i + 1);
    if (i >= lists_.size()) lists_.resize(i + 1);
    return lists_[i];
  }
  const std::vector<Label>& operator[](std::int64_t end) const { return lists_[place(end)]; }
  // Calls f(end, labels) for each list that is not empty, by growing end.
  template <class F>
  void for_each(F f) {
    for (std::size_t i = first_; i < last_; ++i) {
      if (!lists_[i].empty()) f(begin_ + static_cast<std::int64_t>(i), lists_[i]);
    }
  }

 private:
  std::int64_t begin_ = 0;
  std::vector<std::vector<Label>> lists_;
  std::size_t first_ = SIZE_MAX, last_ = 0;  // [first_, last_): positions of the lists asked for since begin_at()

  std::size_t place(std::int64_t end) const { return static_cast<std::size_t>(end - begin_); }
};

// Adds `label` to `labels` unless a label in the list is no worse, and removes the labels that `label` dominates.
// Returns true if `label` was added.
template <class Label>
bool offer(std::vector<Label>& labels, Label&& label) {
  for (const Label& l : labels) {
    if (l.no_worse(label)) return false;
  }
  std::erase_if(labels, [&](const Label& l) { return label.no_worse(l); });
  labels.push_back(std::move(label));
  return true;
}

}  // namespace superstep::phase_labels
