// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/all_cuts.h"

namespace superstep::test {
namespace {

// Calls f with the cuts and every choice of one mode per stage.
void with_all_modes(Cuts cuts, const CutRules& rules, const std::function<void(const Cuts&)>& f) {
  const std::size_t stages = cuts.stages.size();
  if (rules.stage_modes && rules.stage_modes->size() != stages) return;
  std::vector<std::size_t> at(stages, 0);
  for (;;) {
    cuts.recompute.clear();
    bool pinned_otherwise = false;
    for (std::size_t s = 0; s < stages; ++s) {
      cuts.recompute.push_back(rules.modes[at[s]]);
      if (rules.stage_modes) pinned_otherwise = pinned_otherwise || (*rules.stage_modes)[s] != cuts.recompute[s];
    }
    if (!pinned_otherwise) f(cuts);
    std::size_t k = 0;
    while (k < stages && ++at[k] == rules.modes.size()) at[k++] = 0;
    if (k == stages) return;
  }
}

void for_each_pipeline(const Setting& setting, const CutRules& rules, const std::function<void(const Cuts&)>& f) {
  const std::int64_t p = setting.plan().pipeline_stages, stages = p + (rules.wrap ? 1 : 0), n = setting.units();
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << (n - 1); ++bits) {
    Cuts cuts;
    cuts.stages = {0};
    for (std::int64_t u = 1; u < n; ++u) {
      if (bits >> (u - 1) & 1) cuts.stages.push_back(u);
    }
    if (static_cast<std::int64_t>(cuts.stages.size()) != stages || (rules.stages && cuts.stages != *rules.stages))
      continue;
    for (std::int64_t s = 0; s < stages; ++s) cuts.stage_ipu.push_back(s % p);
    cuts.phases = {0};
    with_all_modes(cuts, rules, f);
  }
}

bool honours(const CutRules& rules, const Cuts& cuts) {
  const auto phases = static_cast<std::int64_t>(cuts.phases.size());
  return phases > 1 && (!rules.phase_count || rules.phase_count->allows(phases)) &&
         (!rules.stages || cuts.stages == *rules.stages) && (!rules.phases || cuts.phases == *rules.phases);
}

// Every way to begin a phase (2), a stage (1) or neither (0) at each unit, with at most `depth` stages per phase.
void for_each_phases(const Setting& setting, const CutRules& rules, const std::function<void(const Cuts&)>& f) {
  const std::int64_t groups = setting.plan().phase_groups;
  const std::int64_t depth = setting.plan().pipeline_stages / groups, n = setting.units();
  std::int64_t codes = 1;
  for (std::int64_t u = 1; u < n; ++u) codes *= 3;
  for (std::int64_t code = 0; code < codes; ++code) {
    Cuts cuts;
    cuts.stages = {0}, cuts.stage_ipu = {0}, cuts.phases = {0};
    bool legal = true;
    for (std::int64_t u = 1, rest = code; u < n; ++u, rest /= 3) {
      if (rest % 3 == 0) continue;
      if (rest % 3 == 2) cuts.phases.push_back(static_cast<std::int64_t>(cuts.stages.size()));
      const std::int64_t position = static_cast<std::int64_t>(cuts.stages.size()) - cuts.phases.back();
      cuts.stages.push_back(u);
      cuts.stage_ipu.push_back((groups == 2 && cuts.phases.size() % 2 == 0 ? depth : 0) + position);
      legal = legal && position < depth;
    }
    if (legal && honours(rules, cuts)) with_all_modes(cuts, rules, f);
  }
}

}  // namespace

void for_each_cut(const Setting& setting, const CutRules& rules, bool phased,
                  const std::function<void(const Cuts&)>& f) {
  if (phased)
    for_each_phases(setting, rules, f);
  else
    for_each_pipeline(setting, rules, f);
}

void for_each_cut(const Setting& setting, const PinnedCuts& cuts, const std::function<void(const Cuts&)>& f) {
  for (const CutRules& rules : cuts.rules_for(setting.plan()))
    for_each_cut(setting, rules, cuts.searches_phases(setting.plan()), f);
}

}  // namespace superstep::test
