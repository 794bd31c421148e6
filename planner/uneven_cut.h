// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "planner/cuts.h"

namespace superstep {

// As cut_pipeline() where fill and drain are uneven (Setting::uneven_fill) and there are several stages, of which some
// limits are kept. `best`: cycles that cuts must beat; `start`: cuts that fit.
std::optional<Cuts> cut_unevenly(PipelineStages& stages, std::int64_t best, const Cuts& start);

}  // namespace superstep
