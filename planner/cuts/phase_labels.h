// SPDX-License-Identifier: Apache-2.0
// For phase_cut.cc: partial cuts into phases, and which of them are no worse than others.
#pragma once

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cuts/cuts.h"
#include "planner/cuts/phase_stages.h"

namespace superstep::phase_labels {

// What accounts hold whose limits have been seen to bind: seldom more than these.
using Sizes = boost::container::small_vector<std::int64_t, 4>;

inline bool covers(const Sizes& a, const Sizes& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}
// Cycles with a bound on what follows them; INT64_MAX: nothing does.
inline std::int64_t later(std::int64_t cycles, std::int64_t rest) {
  return rest == INT64_MAX ? INT64_MAX : cycles + rest;
}
inline std::int64_t above(std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); }

// What an IPU group holds for all its phases, and the most that one of its stages needs beside that; of IPU groups
// where it has been seen to be too much.
struct Held {
  GroupLoad kept;
  std::int64_t needs = 0;  // bytes per tile
};
using Holdings = std::vector<Held>;

// Seldom called, and not to be where the other comparisons are.
[[gnu::noinline]] inline bool covers(const Holdings& a, const Holdings& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const GroupLoad &less = a[i].kept, &more = b[i].kept;
    if ((less.rows & ~more.rows) != 0 || (less.shared & ~more.shared) != 0 || less.lent > more.lent ||
        a[i].needs > b[i].needs)
      return false;
  }
  return true;
}
inline bool covers(const Holdings* a, const Holdings* b) { return a == nullptr || covers(*a, *b); }
inline Holdings with(const Holdings& a, const Holdings& b) {
  Holdings out;
  for (std::size_t i = 0; i < a.size(); ++i)
    out.push_back({with(a[i].kept, b[i].kept), std::max(a[i].needs, b[i].needs)});
  return out;
}

// The first stages of one phase, up to some unit: the slowest and largest so far.
struct Part {
  std::int64_t forward = 0, backward = 0, load = 0, load_at_once = 0, update = 0, copy = 0, weights = 0;
  std::int64_t fixed = 0;  // cycles of tied weights whose owner is in an earlier phase
  std::int64_t price = 0;  // of what it keeps outside of its tiles, in cycles
  Sizes taken;
  const Holdings* held = nullptr;     // in PhaseProgramme::holdings_; null: they do not count
  std::int32_t from = -1, part = -1;  // where the last stage begins, and the part before it
  Recompute mode = Recompute::layer;
  bool no_worse(const Part& o) const {
    return forward <= o.forward && backward <= o.backward && load <= o.load && load_at_once <= o.load_at_once &&
           update <= o.update && copy <= o.copy && weights <= o.weights && fixed <= o.fixed && covers(taken, o.taken) &&
           covers(held, o.held);
  }
};

// One phase. Where loads hide behind the neighbouring phases its times stay apart until they are known.
struct Phase {
  std::int64_t fixed = 0, forward = 0, backward = 0, load = 0;
  std::int64_t price = 0;
  Sizes taken;
  const Holdings* held = nullptr;     // in PhaseProgramme::holdings_; null: they do not count
  std::int64_t stages = 0, last = 0;  // how many, and where the last one begins
  std::int64_t cuts = -1;             // where they are kept in PhaseProgramme::kept_cuts_; -1: nowhere yet
  std::int32_t part = 0;              // the stages before it
  Recompute mode = Recompute::layer;
  // Its load is compared twice, with the phase before and the phase behind.
  bool no_worse(const Phase& o) const {
    return fixed + above(forward, o.forward) + above(backward, o.backward) + 2 * above(load, o.load) <= o.fixed &&
           covers(taken, o.taken) && covers(held, o.held);
  }
};

struct StageCut {
  std::int64_t begin = 0;  // behind that of its phase
  Recompute mode = Recompute::layer;
};

// The phases of the first units of the model.
struct Head {
  std::int64_t cycles = 0;             // but for the last phase's forward, which may hide the next load
  std::int64_t forward = 0, load = 0;  // of the last phase
  std::int64_t price = 0, bound = 0;   // of that so far; on the cycles of all cuts that begin so
  Sizes taken;
  const Holdings* held = nullptr;     // in PhaseProgramme::holdings_; null: they do not count
  std::int64_t from = -1;             // where the last phase begins
  std::size_t count = 0, head = 0;    // the phases before it
  std::int64_t stages = 0, cuts = 0;  // of the last phase
  bool no_worse(const Head& o) const {
    return cycles + above(forward, o.forward) + above(load, o.load) <= o.cycles && covers(taken, o.taken) &&
           covers(held, o.held);
  }
};

// Lists by the unit where they end, of what begins with the same unit: few have any. Visited in order, and kept for the
// next one.
template <class Label>
class ByEnd {
 public:
  void begin_at(std::int64_t begin) {
    for (std::size_t i = first_; i < last_; ++i) lists_[i].clear();
    begin_ = begin;
    first_ = SIZE_MAX, last_ = 0;
  }
  std::vector<Label>& operator[](std::int64_t end) {
    const std::size_t i = place(end);
    first_ = std::min(first_, i);
    last_ = std::max(last_, i + 1);
    if (i >= lists_.size()) lists_.resize(i + 1);
    return lists_[i];
  }
  const std::vector<Label>& operator[](std::int64_t end) const { return lists_[place(end)]; }
  template <class F>
  void for_each(F f) {
    for (std::size_t i = first_; i < last_; ++i) {
      if (!lists_[i].empty()) f(begin_ + static_cast<std::int64_t>(i), lists_[i]);
    }
  }

 private:
  std::int64_t begin_ = 0;
  std::vector<std::vector<Label>> lists_;
  std::size_t first_ = SIZE_MAX, last_ = 0;  // those that were asked for since

  std::size_t place(std::int64_t end) const { return static_cast<std::size_t>(end - begin_); }
};

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
