// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "planner/cuts/cuts.h"
#include "planner/cuts/phase_rest.h"

namespace superstep {
namespace {

// False only if no cut of a pipeline fits. Each unit must fit on a tile beside the least code. The residents of all
// units must fit on all IPU groups together, beside the least code and the least peak of a unit.
bool may_fit(const Setting& s, const CutLimits& limits) {
  const std::int64_t code = s.code(0);
  std::int64_t held = 0, least = INT64_MAX;
  for (std::int64_t u = 0; u < s.units(); ++u) {
    held += s.resident(u);
    least = std::min(least, s.least_memory(u) - s.resident(u));
    if (s.least_memory(u) + code > limits.tile) return false;
  }
  return held <= s.plan().pipeline_stages * (limits.tile - least - code);
}

}  // namespace

// Spreads the work of one micro-batch evenly over the stages of a pipeline, and counts the cycles in which the pipeline
// fills and drains.
std::int64_t least_cycles(const Setting& s, const CutLimits& limits) {
  const Plan& plan = s.plan();
  if (plan.phased()) return PhaseRest(s, limits).least();
  if (plan.pipeline_stages > s.units() || !may_fit(s, limits)) return INT64_MAX;
  const std::int64_t work = s.work(0, s.units());
  const std::int64_t update = s.table().training() ? s.update_fixed() : 0;
  if (plan.pipeline_stages == 1 || plan.schedule == Schedule::sequential)
    return plan.gradient_accumulation * (work + s.micro_batch_fixed()) + update;
  const std::int64_t ramp = plan.pipeline_stages - 1;
  const std::int64_t cycles = plan.gradient_accumulation + (s.table().training() ? 2 : 1) * ramp;
  return cycles * (work / plan.pipeline_stages + s.micro_batch_fixed() + s.cycle_fixed()) + update;
}

}  // namespace superstep
