// SPDX-License-Identifier: Apache-2.0
#include "planner/phase_rest.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace superstep {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

PhaseNumbers phase_numbers(const Setting& s, const CutLimits& limits) {
  const Plan& plan = s.plan();
  const bool outer = plan.phase_order == PhaseOrder::phase_outer;
  PhaseNumbers m;
  m.depth = plan.pipeline_stages / plan.phase_groups;
  m.g = outer ? plan.gradient_accumulation : 1;
  m.repeats = outer ? 1 : plan.gradient_accumulation;
  m.micro_batch_fixed = s.micro_batch_fixed();
  m.moves_overlap = s.moves_overlap();
  m.loads_overlap = s.weights_come_ahead();
  m.training = s.table().training();
  if (m.training) m.update_fixed = s.update_fixed();
  const std::int64_t room = limits.tile - s.code(0);
  std::int64_t least = INT64_MAX;
  for (std::int64_t u = 0; u < s.units(); ++u) {
    PhaseNumbers::Unit unit = s.phase_unit(u);
    unit.fits = s.least_memory(u) <= room;
    least = std::min(least, s.least_memory(u) - s.resident(u));
    m.units.push_back(unit);
  }
  m.held = m.depth * (room - least);
  return m;
}

PhaseRest::PhaseRest(const Setting& setting, const CutLimits& limits) : PhaseRest(phase_numbers(setting, limits)) {}

PhaseRest::PhaseRest(PhaseNumbers numbers) : m_(std::move(numbers)), n_(static_cast<std::int64_t>(m_.units.size())) {
  if (const auto depth = static_cast<std::uint64_t>(m_.depth); std::has_single_bit(depth))
    shift_ = std::countr_zero(depth);
  from_.assign(at(n_) + 1, kNever);
  from_[at(n_)] = 0;
  std::int64_t first = 0, last = 0;  // the most that the first and a last phase load
  for (std::int64_t u = n_; u-- > 0;) {
    loads_ += m_.units[at(u)].load;
    for_phases(u, [&](const PhaseNumbers::Unit& sum, std::int64_t v) {
      if (u == 0) first = std::max(first, sum.load);
      if (v == n_) last = std::max(last, sum.load);
      if (from(v) == kNever || (u == 0 && v == n_)) return;  // one phase alone is a pipeline
      from_[at(u)] = std::min(from_[at(u)], cycles(sum, u, v) + from(v));
    });
  }
  // For both passes, but for the last phase's, which stays for its backward; the first one's stays for the next step.
  loads_ = std::max<std::int64_t>(0, m_.repeats * share((m_.training ? 2 * loads_ - last : loads_) - first));
}

// Calls f(sum, end) for the phases from `begin`.
template <class F>
void PhaseRest::for_phases(std::int64_t begin, F f) const {
  PhaseNumbers::Unit sum;
  for (std::int64_t v = begin; v < n_ && m_.units[at(v)].fits; ++v) {
    const PhaseNumbers::Unit& unit = m_.units[at(v)];
    sum.resident += unit.resident;
    if (sum.resident > m_.held) return;
    sum.forward += unit.forward;
    sum.backward += unit.backward;
    sum.update += unit.update;
    sum.load += unit.load;
    f(sum, v + 1);
  }
}

// The slowest stage takes no less than the mean of all, i of them no less than `depth`; the longest to load and to
// update likewise. What moves at the phase's two ends is part of two stages' time, or goes on beside it.
std::int64_t PhaseRest::cycles(const PhaseNumbers::Unit& sum, std::int64_t begin, std::int64_t end) const {
  std::int64_t forward = 0, backward = 0;  // of moves
  if (begin > 0) forward += m_.units[at(begin)].enter_forward;
  if (m_.training) backward += m_.units[at(begin)].enter_backward;
  if (end < n_) {
    forward += m_.units[at(end)].leave_forward;
    if (m_.training) backward += m_.units[at(end)].leave_backward;
  }
  const std::int64_t work = m_.moves_overlap ? std::max(sum.forward, forward) + std::max(sum.backward, backward)
                                             : sum.forward + forward + sum.backward + backward;
  std::int64_t cycles =
      m_.repeats * (share((m_.g + m_.depth - 1) * work) + m_.g * (m_.training ? 2 : 1) * m_.micro_batch_fixed);
  if (!m_.loads_overlap) cycles += m_.repeats * share(sum.load) * (m_.training && end < n_ ? 2 : 1);
  if (m_.training) cycles += share(sum.update) + m_.update_fixed;
  return cycles;
}

std::int64_t PhaseRest::least() const {
  if (from(0) == kNever || !m_.loads_overlap) return from(0);
  return std::max(from(0), loads_);
}

PhaseRest::Within PhaseRest::within(std::int64_t begin) const {
  Within out;
  out.whole = out.behind = {kNever};
  for_phases(begin, [&](const PhaseNumbers::Unit& sum, std::int64_t v) {
    out.whole.push_back(from(v) == kNever ? kNever : cycles(sum, begin, v) + from(v));
    out.behind.push_back(from(v));
  });
  for (std::size_t i = out.whole.size() - 1; i-- > 0;) {
    out.whole[i] = std::min(out.whole[i], out.whole[i + 1]);
    out.behind[i] = std::min(out.behind[i], out.behind[i + 1]);
  }
  return out;
}

}  // namespace superstep
