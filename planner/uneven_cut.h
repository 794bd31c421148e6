// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "planner/cuts.h"

namespace superstep {

// As cut_pipeline() where fill and drain are uneven (Setting::uneven_fill) and there are several stages. `start`: cuts
// that fit.
std::optional<Cuts> cut_unevenly(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                                 const Cuts& start);

}  // namespace superstep
