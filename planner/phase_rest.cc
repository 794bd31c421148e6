// SPDX-License-Identifier: Apache-2.0
#include "planner/phase_rest.h"

#include <algorithm>

namespace superstep {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

PhaseRest::PhaseRest(const Setting& setting, const CutLimits& limits)
    : s_(setting),
      n_(setting.units()),
      depth_(setting.plan().pipeline_stages / setting.plan().phase_groups),
      g_(setting.plan().phase_order == PhaseOrder::phase_outer ? setting.plan().gradient_accumulation : 1),
      repeats_(setting.plan().phase_order == PhaseOrder::phase_outer ? 1 : setting.plan().gradient_accumulation),
      training_(setting.table().training()) {
  const std::int64_t room = limits.tile - s_.code(0);
  std::int64_t least = INT64_MAX;
  for (std::int64_t u = 0; u < n_; ++u) {
    fits_.push_back(s_.least_memory(u) <= room);
    least = std::min(least, s_.least_memory(u) - s_.resident(u));
  }
  held_limit_ = depth_ * (room - least);
  from_.assign(at(n_) + 1, kNever);
  from_[at(n_)] = 0;
  for (std::int64_t u = n_; u-- > 0;) {
    for_phases(u, [&](std::int64_t v, std::int64_t phase) {
      if (from(v) == kNever || (u == 0 && v == n_)) return;  // one phase alone is a pipeline
      from_[at(u)] = std::min(from_[at(u)], phase + from(v));
    });
  }
}

// Calls f(end, least cycles) for the phases from `begin`.
template <class F>
void PhaseRest::for_phases(std::int64_t begin, F f) const {
  Setting::Least sum;
  for (std::int64_t v = begin; v < n_ && fits_[at(v)]; ++v) {
    s_.add_least(sum, v);
    if (sum.resident > held_limit_) return;
    f(v + 1, cycles(sum, begin, v + 1));
  }
}

// The slowest stage takes no less than the mean of all, i of them no less than depth_; the fullest, largest and longest
// to load likewise. What moves at the phase's two ends is part of two stages' time unless IO tiles hide it.
std::int64_t PhaseRest::cycles(const Setting::Least& sum, std::int64_t begin, std::int64_t end) const {
  Setting::Least ends;
  if (!s_.moves_overlap()) s_.add_ends(ends, begin, end);
  const std::int64_t work = sum.forward + sum.backward + ends.move_forward + ends.move_backward;
  std::int64_t cycles =
      repeats_ * ((g_ + depth_ - 1) * work / depth_ + g_ * (training_ ? 2 : 1) * s_.micro_batch_fixed());
  if (!s_.overlapped()) cycles += repeats_ * (sum.load / depth_) * (training_ && end < n_ ? 2 : 1);
  if (training_) cycles += sum.update / depth_ + s_.update_fixed();
  return cycles;
}

PhaseRest::Within PhaseRest::within(std::int64_t begin) const {
  Within out;
  out.whole = out.behind = {kNever};
  for_phases(begin, [&](std::int64_t v, std::int64_t phase) {
    out.whole.push_back(from(v) == kNever ? kNever : phase + from(v));
    out.behind.push_back(from(v));
  });
  for (std::size_t i = out.whole.size() - 1; i-- > 0;) {
    out.whole[i] = std::min(out.whole[i], out.whole[i + 1]);
    out.behind[i] = std::min(out.behind[i], out.behind[i + 1]);
  }
  return out;
}

}  // namespace superstep
