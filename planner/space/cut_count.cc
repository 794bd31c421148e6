// SPDX-License-Identifier: Apache-2.0
#include "planner/space/cut_count.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "planner/job/pinned_stages.h"
#include "planner/space/space.h"

namespace superstep {

CutCounter::CutCounter(const Job& job, const Graph& graph)
    : pins_(job.pins),
      training_(job.task == Task::training),
      stages_(pinned_stages(job, graph)),
      n_(static_cast<std::int64_t>(graph.units.size())),
      modes_(std::ssize(pins_.recompute)) {}

// Returns the index of the pinned stage that begins at a unit; -1: no pinned stage does.
std::int64_t CutCounter::pinned_index(std::int64_t unit) const {
  const auto at = std::lower_bound(stages_.begin(), stages_.end(), unit);
  return at != stages_.end() && *at == unit ? at - stages_.begin() : -1;
}

// Returns the number of modes of recompute that stage `index` may have; 0 behind the last pinned mode. Recompute::none
// is not for phases: whatever a phase's forward keeps in the processor is gone before its backward.
std::int64_t CutCounter::modes(std::int64_t index, bool phased) const {
  std::set<Recompute> left = {Recompute::layer};
  if (training_) left = {Recompute::none, Recompute::layer, Recompute::stage};
  if (modes_ == 1 && training_) left = {pins_.recompute[0]};
  if (modes_ > 1) {
    const bool is_pinned = index < modes_;
    std::erase_if(left,
                  [&](Recompute m) { return !is_pinned || m != pins_.recompute[static_cast<std::size_t>(index)]; });
  }
  if (phased && training_) left.erase(Recompute::none);
  return std::ssize(left);
}

bool CutCounter::begins_pinned_phase(std::int64_t index) const {
  return pins_.phases && std::binary_search(pins_.phases->begin(), pins_.phases->end(), index);
}

// Counts cuts by a dynamic programme over units. The state at unit u is (c, k), counted from 1: stage k of phase c is
// the last stage of the units before u. Phase `most_phases` is itself alone (`exactly`), or stands for all later phases
// too. With a single phase, k is also the index of the stage that begins next. Returns the number of cuts whose last
// state satisfies is_end(c, k).
template <class IsEnd>
long double CutCounter::count_cuts(std::int64_t most_stages, std::int64_t most_phases, bool exactly,
                                   IsEnd is_end) const {
  const bool phased = most_phases > 1;
  const auto index = [&](std::int64_t c, std::int64_t k) {
    return static_cast<std::size_t>((c - 1) * most_stages + k - 1);
  };
  std::vector<long double> now(static_cast<std::size_t>(most_phases * most_stages), 0);
  now[0] = static_cast<long double>(modes(0, phased));
  for (std::int64_t u = 1; u < n_; ++u) {
    const std::int64_t at = stages_.empty() ? -1 : pinned_index(u);
    if (!stages_.empty() && at < 0) continue;  // no stage begins here
    const bool may_stay = stages_.empty();
    const bool may_begin = phased && (stages_.empty() || !pins_.phases || begins_pinned_phase(at));
    const bool may_go_on = stages_.empty() || !pins_.phases || !phased || !begins_pinned_phase(at);
    std::vector<long double> next(now.size(), 0);
    for (std::int64_t c = 1; c <= most_phases; ++c) {
      for (std::int64_t k = 1; k <= most_stages; ++k) {
        const long double w = now[index(c, k)];
        if (w == 0) continue;
        const auto m = static_cast<long double>(modes(phased ? at : k, phased));
        if (may_stay) next[index(c, k)] += w;
        if (may_go_on && k < most_stages) next[index(c, k + 1)] += w * m;
        if (may_begin && (c < most_phases || !exactly)) next[index(std::min(c + 1, most_phases), 1)] += w * m;
      }
    }
    now = std::move(next);
  }
  long double sum = 0;
  for (std::int64_t c = 1; c <= most_phases; ++c) {
    for (std::int64_t k = 1; k <= most_stages; ++k) sum += is_end(c, k) ? now[index(c, k)] : 0;
  }
  return sum;
}

long double CutCounter::pipelines(std::int64_t stages) const {
  if (stages > n_ || (modes_ > 1 && modes_ != stages)) return 0;
  return count_cuts(stages, 1, true, [&](std::int64_t, std::int64_t k) { return k == stages; });
}

long double CutCounter::phases(std::int64_t depth) const {
  const IntegerPin pin = pins_.phase_count.value_or(IntegerPin{});
  const bool open = pin.values.empty() && pin.high >= n_;
  const std::int64_t most = std::clamp<std::int64_t>(open ? pin.low : pin.most(), 2, n_ + 1);
  return count_cuts(std::min(depth, n_), most, !open,
                    [&](std::int64_t c, std::int64_t) { return c > 1 && (open ? c == most : pin.allows(c)); });
}

}  // namespace superstep
