// SPDX-License-Identifier: Apache-2.0
// Every cut there is, for tests that compare with all of them.
#pragma once

#include <functional>

#include "planner/cuts/cuts.h"
#include "planner/cuts/pinned_cuts.h"

namespace superstep::test {

// Calls f with every cut into stages, or into phases, and every choice of modes that the rules leave to the setting,
// legal or not.
void for_each_cut(const Setting& setting, const CutRules& rules, bool phased,
                  const std::function<void(const Cuts&)>& f);

// The same by all rules of its pins. PinnedCuts::prepare() has to come first.
void for_each_cut(const Setting& setting, const PinnedCuts& cuts, const std::function<void(const Cuts&)>& f);

}  // namespace superstep::test
