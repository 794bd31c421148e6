// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/phase_rest.h"

#include <gtest/gtest.h>

#include "tests/planner/world.h"

namespace superstep {
namespace {

using Unit = PhaseNumbers::Unit;
using test::Draw;
constexpr std::int64_t kNever = PhaseRest::kNever;

PhaseNumbers draw_numbers(Draw& draw) {
  const auto number = [&] { return draw.below(51); };
  const bool loads_matter = draw.chance(50);
  std::vector<Unit> kinds(static_cast<std::size_t>(1 + draw.below(3)));
  for (Unit& u : kinds) {
    u.fits = draw.chance(97);
    for (std::int64_t Unit::*n :
         {&Unit::resident, &Unit::forward, &Unit::backward, &Unit::enter_forward, &Unit::enter_backward,
          &Unit::leave_forward, &Unit::leave_backward, &Unit::update, &Unit::load})
      u.*n = number();
    if (loads_matter) u.load *= 100;
  }
  PhaseNumbers m;
  const auto units = static_cast<std::size_t>(1 + draw.below(24));
  const bool in_turn = draw.chance(80);  // as layers are
  for (std::size_t u = 0; u < units; ++u)
    m.units.push_back(kinds[in_turn ? u % kinds.size() : static_cast<std::size_t>(draw.below(std::ssize(kinds)))]);
  m.depth = 1 + draw.below(5), m.g = 1 + draw.below(4), m.repeats = 1 + draw.below(3);
  m.held = 20 + draw.below(381), m.pass_fixed = number(), m.update_fixed = number();
  m.moves_overlap = draw.chance(50), m.loads_overlap = draw.chance(50), m.training = draw.chance(50);
  return m;
}

// Of one phase, unit by unit; kNever: it does not fit.
std::int64_t cycles_of(const PhaseNumbers& m, std::size_t begin, std::size_t end) {
  Unit sum;
  for (std::size_t u = begin; u < end; ++u) {
    const Unit& x = m.units[u];
    if (!x.fits) return kNever;
    sum.resident += x.resident, sum.forward += x.forward, sum.backward += x.backward, sum.update += x.update,
        sum.load += x.load;
  }
  if (sum.resident > m.held) return kNever;
  const bool last = end == m.units.size();
  const Unit &in = m.units[begin], out = last ? Unit{} : m.units[end];
  const std::int64_t forward = (begin > 0 ? in.enter_forward : 0) + out.leave_forward;
  const std::int64_t backward = m.training ? in.enter_backward + out.leave_backward : 0;
  const std::int64_t work = m.moves_overlap ? std::max(sum.forward, forward) + std::max(sum.backward, backward)
                                            : sum.forward + sum.backward + forward + backward;
  const std::int64_t passes = m.training ? 2 : 1, loads = m.training && !last ? 2 : 1;
  const std::int64_t run = (m.g + m.depth - 1) * work / m.depth + m.g * passes * m.pass_fixed;
  return m.repeats * (run + (m.loads_overlap ? 0 : loads * (sum.load / m.depth))) +
         (m.training ? sum.update / m.depth + m.update_fixed : 0);
}

// But for the largest first phase's, and in training the largest last one's, once: they stay.
std::int64_t least_loads(const PhaseNumbers& m) {
  const std::size_t n = m.units.size();
  const auto load = [&](std::size_t begin, std::size_t end) {
    std::int64_t sum = 0;
    for (std::size_t u = begin; u < end; ++u) sum += m.units[u].load;
    return sum;
  };
  std::int64_t first = 0, last = 0;
  for (std::size_t u = 0; u < n; ++u) {
    if (cycles_of(m, 0, u + 1) < kNever) first = std::max(first, load(0, u + 1));
    if (cycles_of(m, u, n) < kNever) last = std::max(last, load(u, n));
  }
  return m.repeats * (((m.training ? 2 * load(0, n) - last : load(0, n)) - first) / m.depth);
}

TEST(PhaseRest, IsTheLeastOfAllPhases) {
  Draw draw(41);
  int fit = 0;
  for (int k = 0; k < 2000; ++k) {
    const PhaseNumbers m = draw_numbers(draw);
    const std::size_t n = m.units.size();
    const EqualRuns runs = equal_runs(m.units);
    const PhaseRest rest(m, runs);
    std::vector<std::int64_t> from(n + 1, kNever);
    from[n] = 0;
    for (std::size_t u = n; u-- > 0;) {
      std::vector<std::int64_t> whole(n - u + 1, kNever), behind = whole;  // of phases just so long
      for (std::size_t v = u + 1; v <= n; ++v) {
        const std::int64_t cycles = cycles_of(m, u, v);
        if (cycles == kNever || from[v] == kNever) continue;
        whole[v - u] = cycles + from[v], behind[v - u] = from[v];
        if (u > 0 || v < n) from[u] = std::min(from[u], whole[v - u]);
      }
      ASSERT_EQ(rest.from(static_cast<std::int64_t>(u)), from[u]) << k << ": " << u;
      const PhaseRest::Within within = rest.within(static_cast<std::int64_t>(u));
      ASSERT_EQ(within.whole.size(), within.behind.size());
      for (std::size_t length = n - u + 1; length-- > 0;) {
        if (length < n - u) {
          whole[length] = std::min(whole[length], whole[length + 1]);
          behind[length] = std::min(behind[length], behind[length + 1]);
        }
        const bool listed = length < within.whole.size();
        ASSERT_EQ(listed ? within.whole[length] : kNever, whole[length]) << k << ": " << u << " and " << length;
        ASSERT_EQ(listed ? within.behind[length] : kNever, behind[length]) << k << ": " << u << " and " << length;
      }
    }
    fit += from[0] < kNever ? 1 : 0;
    ASSERT_EQ(rest.least(), from[0] < kNever && m.loads_overlap ? std::max(from[0], least_loads(m)) : from[0]) << k;
  }
  EXPECT_GT(fit, 500);
  EXPECT_LT(fit, 1900);
}

}  // namespace
}  // namespace superstep
