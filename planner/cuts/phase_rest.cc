// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_rest.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace superstep {
PhaseNumbers phase_numbers(const Setting& s, const CutLimits& limits) {
  const Plan& plan = s.plan();
  const bool outer = plan.phase_order == PhaseOrder::phase_outer;
  PhaseNumbers m;
  m.depth = plan.pipeline_stages / plan.phase_groups;
  m.g = outer ? plan.gradient_accumulation : 1;
  m.repeats = outer ? 1 : plan.gradient_accumulation;
  m.pass_fixed = s.pass_fixed();
  m.moves_overlap = s.moves_overlap();
  m.loads_overlap = s.weights_come_ahead();
  m.training = s.table().training();
  if (m.training) m.update_fixed = s.update_fixed();
  const std::int64_t room = limits.tile - s.code(0);
  std::int64_t least = INT64_MAX, least_memory = INT64_MAX;
  for (const std::size_t c : s.table().first_of_class()) {
    const auto u = static_cast<std::int64_t>(c);
    if (u == s.units()) continue;
    least = std::min(least, s.least_memory(u) - s.resident(u));
    least_memory = std::min(least_memory, s.least_memory(u));
  }
  // Bytes per tile that all units keep on remote tiles. An IPU group holds as much for others as it keeps there.
  const std::int64_t remote_tile = s.remote_tile() / s.tiles();
  // Returns the least bytes per tile that `groups` IPU groups hold for others together. Each of the remaining IPU
  // groups holds no more than its room beside the smallest unit.
  const auto least_remote_tile = [&](std::int64_t groups) {
    return std::max<std::int64_t>(
        0, remote_tile - (plan.pipeline_stages - groups) * std::max<std::int64_t>(0, room - least_memory));
  };
  const std::int64_t most = room - least_remote_tile(1);
  const auto of = [&](std::int64_t u, bool first) {
    PhaseNumbers::Unit unit = s.phase_unit(u, first);
    unit.fits = s.least_memory(u) <= most;
    return unit;
  };
  std::vector<PhaseNumbers::Unit> of_class;
  for (const std::size_t u : s.table().first_of_class()) {
    if (u < s.table().units()) of_class.push_back(of(static_cast<std::int64_t>(u), false));
  }
  m.units.reserve(at(s.units()));
  m.units.push_back(of(0, true));
  for (std::int64_t u = 1; u < s.units(); ++u) m.units.push_back(of_class[at(s.class_of(u))]);
  m.held = m.depth * (room - least) - least_remote_tile(m.depth);
  m.groups = plan.phase_groups;
  m.taken = s.least_stored_boundary() / s.tiles();
  return m;
}

PhaseRest::PhaseRest(const Setting& setting, const CutLimits& limits)
    : PhaseRest(phase_numbers(setting, limits), setting.table().runs()) {}

PhaseRest::PhaseRest(PhaseNumbers numbers, const EqualRuns& runs)
    : m_(std::move(numbers)), runs_(runs), n_(std::ssize(m_.units)) {
  if (const auto depth = static_cast<std::uint64_t>(m_.depth); std::has_single_bit(depth))
    shift_ = std::countr_zero(depth);
  add_up();
  find_end_range();
  // Stored boundaries leave less room, and less room may make more phases necessary. Repeats until nothing changes.
  for (const std::int64_t all = m_.held;;) {
    const std::int64_t left = all - m_.taken * ((fewest_phases() - 1) / m_.groups);
    if (left >= m_.held) break;
    m_.held = left;
    find_end_range();
  }
  find_cycles();
  find_rest();
  find_loads();
}

void PhaseRest::add_up() {
  PhaseNumbers::Unit sum;
  sums_.reserve(at(n_) + 1);
  sums_.push_back(sum);
  for (const PhaseNumbers::Unit& unit : m_.units) {
    sum.resident += unit.resident;
    sum.forward += unit.forward;
    sum.backward += unit.backward;
    sum.update += unit.update;
    sum.load += unit.load;
    sums_.push_back(sum);
  }
}

void PhaseRest::find_end_range() {
  std::int64_t end = 0;
  end_ranges_.clear();
  end_ranges_.reserve(at(n_));
  for (std::int64_t u = 0; u < n_; ++u) {
    end = std::max(end, u);
    while (end < n_ && m_.units[at(end)].fits && sum(&PhaseNumbers::Unit::resident, u, end + 1) <= m_.held) ++end;
    end_ranges_.push_back(end);
  }
}

// Returns a lower bound on the number of phases, where each phase is as long as possible. 1: nothing fits.
std::int64_t PhaseRest::fewest_phases() const {
  std::int64_t phases = 0;
  for (std::int64_t u = 0; u < n_; ++phases) {
    const std::int64_t end = longest(u);
    if (end == u) return 1;
    u = end;
  }
  return phases;
}

void PhaseRest::find_cycles() {
  cycles_.resize(runs_.count());
  for (std::int64_t u = 0; u < n_; ++u) {
    // Shorter runs equal runs from an earlier unit, whose phases reach as far.
    for (std::int64_t v = u + runs_.shared(u) + 1; v <= end_ranges_[at(u)]; ++v)
      cycles_[runs_.number(u, v)] = cycles(u, v);
  }
}

void PhaseRest::find_rest() {
  // Stands for kNever in sums: greater than any other number, yet small enough that no sum overflows.
  constexpr std::int64_t kMuch = kNever / 2;
  from_.assign(at(n_) + 1, kMuch);
  from_[at(n_)] = 0;
  for (std::int64_t u = n_; u-- > 0;) {
    const std::int64_t last = longest(u);
    std::int64_t least = kMuch;
    const std::int64_t* behind = from_.data() + u;
    runs_.for_numbers(u, last - u, [&](std::int64_t shortest, std::int64_t longest, std::int64_t base) {
      const std::int64_t* cycles = cycles_.data() + base;
      for (std::int64_t k = shortest; k <= longest; ++k) least = std::min(least, cycles[k] + behind[k]);
    });
    from_[at(u)] = least;
  }
  for (std::int64_t& cycles : from_) {
    if (cycles >= kMuch) cycles = kNever;
  }
}

// Sums the loads of both passes. The last phase is loaded once, since it stays for its backward pass. The first phase
// is not counted, since it stays for the next step. Both are taken as long as they may be, so that the sum is a lower
// bound.
void PhaseRest::find_loads() {
  const auto load = [&](std::int64_t begin, std::int64_t end) { return sum(&PhaseNumbers::Unit::load, begin, end); };
  const std::int64_t last = std::ranges::find(end_ranges_, n_) - end_ranges_.begin();
  const std::int64_t all = m_.training ? 2 * load(0, n_) - load(last, n_) : load(0, n_);
  loads_ = std::max<std::int64_t>(0, m_.repeats * share(all - load(0, end_ranges_[0])));
}

// Returns a lower bound on the cycles of a phase of units [begin, end). The slowest stage takes no less than the mean
// of all stages; so do the longest load and the longest update. A phase with fewer stages than m_.depth takes no less.
// The boundary moves at both ends of the phase are part of two stages' time, or overlap with that time.
std::int64_t PhaseRest::cycles(std::int64_t begin, std::int64_t end) const {
  const auto of_run = [&](std::int64_t PhaseNumbers::Unit::*number) { return sum(number, begin, end); };
  std::int64_t forward = 0, backward = 0;  // cycles of boundary moves per micro-batch
  if (begin > 0) forward += m_.units[at(begin)].enter_forward;
  if (m_.training) backward += m_.units[at(begin)].enter_backward;
  if (end < n_) {
    forward += m_.units[at(end)].leave_forward;
    if (m_.training) backward += m_.units[at(end)].leave_backward;
  }
  const std::int64_t of_forward = of_run(&PhaseNumbers::Unit::forward);
  const std::int64_t of_backward = of_run(&PhaseNumbers::Unit::backward);
  const std::int64_t work = m_.moves_overlap ? std::max(of_forward, forward) + std::max(of_backward, backward)
                                             : of_forward + forward + of_backward + backward;
  std::int64_t cycles =
      m_.repeats * (share((m_.g + m_.depth - 1) * work) + m_.g * (m_.training ? 2 : 1) * m_.pass_fixed);
  if (!m_.loads_overlap)
    cycles += m_.repeats * share(of_run(&PhaseNumbers::Unit::load)) * (m_.training && end < n_ ? 2 : 1);
  if (m_.training) cycles += share(of_run(&PhaseNumbers::Unit::update)) + m_.update_fixed;
  return cycles;
}

std::int64_t PhaseRest::least() const {
  if (from(0) == kNever || !m_.loads_overlap) return from(0);
  return std::max(from(0), loads_);
}

PhaseRest::Within PhaseRest::within(std::int64_t begin) const {
  Within out;
  const std::int64_t longest = end_ranges_[at(begin)] - begin;
  out.whole.assign(at(longest) + 1, kNever);
  out.behind = out.whole;
  for (std::int64_t length = longest; length > 0; --length) {
    const std::int64_t end = begin + length;
    out.whole[at(length)] = whole(begin, end), out.behind[at(length)] = from(end);
    if (length < longest) {
      out.whole[at(length)] = std::min(out.whole[at(length)], out.whole[at(length) + 1]);
      out.behind[at(length)] = std::min(out.behind[at(length)], out.behind[at(length) + 1]);
    }
  }
  if (longest > 0) out.whole[0] = out.whole[1], out.behind[0] = out.behind[1];
  return out;
}

}  // namespace superstep
