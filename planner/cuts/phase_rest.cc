// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_rest.h"

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
  std::int64_t least = INT64_MAX, least_memory = INT64_MAX;
  for (const std::size_t c : s.table().first_of_class()) {
    const auto u = static_cast<std::int64_t>(c);
    if (u == s.units()) continue;
    least = std::min(least, s.least_memory(u) - s.resident(u));
    least_memory = std::min(least_memory, s.least_memory(u));
  }
  // What each IPU group has on others' tiles, and they on its own, as these hold no more of it than room is there
  // beside their smallest unit; and the same of as many groups as a phase has.
  const std::int64_t lent = s.lent() / s.tiles();
  const auto least_lent = [&](std::int64_t groups) {
    return std::max<std::int64_t>(
        0, lent - (plan.pipeline_stages - groups) * std::max<std::int64_t>(0, room - least_memory));
  };
  const std::int64_t most = room - least_lent(1);
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
  m.held = m.depth * (room - least) - least_lent(m.depth);
  m.groups = plan.phase_groups;
  m.taken = s.least_stored() / s.tiles();
  return m;
}

PhaseRest::PhaseRest(const Setting& setting, const CutLimits& limits)
    : PhaseRest(phase_numbers(setting, limits), setting.table().runs()) {}

PhaseRest::PhaseRest(PhaseNumbers numbers, const EqualRuns& runs)
    : m_(std::move(numbers)), runs_(runs), n_(std::ssize(m_.units)) {
  if (const auto depth = static_cast<std::uint64_t>(m_.depth); std::has_single_bit(depth))
    shift_ = std::countr_zero(depth);
  add_up();
  find_ends();
  for (const std::int64_t all = m_.held;;) {
    const std::int64_t left = all - m_.taken * ((fewest_phases() - 1) / m_.groups);
    if (left >= m_.held) break;
    m_.held = left;
    find_ends();
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

void PhaseRest::find_ends() {
  std::int64_t end = 0;
  ends_.clear();
  ends_.reserve(at(n_));
  for (std::int64_t u = 0; u < n_; ++u) {
    end = std::max(end, u);
    while (end < n_ && m_.units[at(end)].fits && sum(&PhaseNumbers::Unit::resident, u, end + 1) <= m_.held) ++end;
    ends_.push_back(end);
  }
}

// 1 where nothing fits.
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
    // Shorter ones are equal to some from an earlier unit, which reach as far.
    for (std::int64_t v = u + runs_.shared(u) + 1; v <= ends_[at(u)]; ++v) cycles_[runs_.number(u, v)] = cycles(u, v);
  }
}

void PhaseRest::find_rest() {
  // So that sums with it are still numbers, more than any other.
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

// Loads of both passes, but for the last phase's, which stays for its backward; the first one's stays for the next
// step. Those are the longest, so that most is left out.
void PhaseRest::find_loads() {
  const auto load = [&](std::int64_t begin, std::int64_t end) { return sum(&PhaseNumbers::Unit::load, begin, end); };
  const std::int64_t last = std::ranges::find(ends_, n_) - ends_.begin();
  const std::int64_t all = m_.training ? 2 * load(0, n_) - load(last, n_) : load(0, n_);
  loads_ = std::max<std::int64_t>(0, m_.repeats * share(all - load(0, ends_[0])));
}

// The slowest stage takes no less than the mean of all, i of them no less than `depth`; the longest to load and to
// update likewise. What moves at the phase's two ends is part of two stages' time, or goes on beside it.
std::int64_t PhaseRest::cycles(std::int64_t begin, std::int64_t end) const {
  const auto of_run = [&](std::int64_t PhaseNumbers::Unit::*number) { return sum(number, begin, end); };
  std::int64_t forward = 0, backward = 0;  // of moves
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
      m_.repeats * (share((m_.g + m_.depth - 1) * work) + m_.g * (m_.training ? 2 : 1) * m_.micro_batch_fixed);
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
  const std::int64_t longest = ends_[at(begin)] - begin;
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
