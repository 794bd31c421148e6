// SPDX-License-Identifier: Apache-2.0
#include "planner/space/software_space.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/software/evidence.h"
#include "planner/job/plan_json.h"

namespace superstep {
namespace {

using List = SettingSpace::Axis;

// The facts that each list of a space decides.
const std::vector<std::string>& facts_of_list(List axis) {
  static const std::array<std::vector<std::string>, SettingSpace::kAxes> all = [] {
    std::array<std::vector<std::string>, SettingSpace::kAxes> out;
    out[SettingSpace::load_axis] = {"load"};
    out[SettingSpace::stash_axis] = {"location.activations", "activation_sharding"};
    out[SettingSpace::weight_axis] = {"location.weights", "replicated_tensor_sharding.weights"};
    out[SettingSpace::gradient_axis] = {"location.gradients", "replicated_tensor_sharding.gradients"};
    out[SettingSpace::state_axis] = {"location.optimizer_state", "replicated_tensor_sharding.optimizer_state"};
    out[SettingSpace::prefetch_depth_axis] = {"prefetch_depth"};
    out[SettingSpace::code_axis] = {"location.code"};
    return out;
  }();
  return all[axis];
}

// Facts of several lists at once.
constexpr std::array kOfSeveralLists = {"shard_degree", "is_partly_sharded", "streams"};

// True for facts that shapes of cuts are accepted by: those of the job, and of the plan the degrees of a pipeline.
// Settings that agree in these share their shapes. All other facts are looked at by accepts().
bool decides_shapes(const std::string& fact) {
  static const std::vector<std::string> known = {"task",         "model",           "model_family",
                                                 "is_phased",    "schedule",        "micro_batch",
                                                 "phase_groups", "pipeline_stages", "gradient_accumulation"};
  return std::ranges::find(known, fact) != known.end() || fact.starts_with("optimizer.") || fact.starts_with("run.");
}

// Adds what a shape says of cuts with so many stages. Modes of recompute: facts of all stages alike, if there is one
// mode, or of stages that are all computed again but the last, or all kept but the last.
void add_shape(const CutShape& shape, std::int64_t stages, bool phased, bool ties, PlanFacts& facts) {
  const bool training = facts.at("task") == "training", sequential = facts.at("schedule") == "sequential";
  facts["is_phase_per_layer"] = shape.phase_per_layer;
  const bool one_mode = shape.modes.size() == 1 && shape.last_modes.empty();
  facts["recompute"] = one_mode ? std::string(name_of(shape.modes[0])) : "mixed";
  if (phased) {
    facts["is_pipelined"] = false;
    facts["stages_per_phase"] = shape.phase_per_layer ? 1 : stages / facts.at("phase_groups").get<std::int64_t>();
    return;
  }
  facts["phases"] = 1;
  facts["stages"] = stages;
  facts["stages_per_phase"] = stages;
  facts["is_pipelined"] = stages > 1 && !sequential;
  facts["pipeline_depth"] = facts["pipeline_depth_from_ipu_0"] = training ? 2 * stages - 1 : stages;
  facts["stage_passes"] = stages * (training ? 2 : 1);
  facts["stage_passes_beside_io"] = stages * (training ? 2 : 1) + 2;
  facts["tied_ipus"] = ties && stages > 1 && !shape.ties_together ? 2 : 1;
  const auto only = [](const std::vector<Recompute>& modes, std::initializer_list<Recompute> of) {
    return !modes.empty() &&
           std::ranges::all_of(modes, [&](Recompute m) { return std::ranges::find(of, m) != of.end(); });
  };
  const std::vector<Recompute>& last = shape.last_modes.empty() ? shape.modes : shape.last_modes;
  std::string type = "mixed";
  if (!training)
    type = "NoRecompute";
  else if (stages == 1 && one_mode)
    type = shape.modes[0] == Recompute::layer ? "RecomputeAll" : "NoRecompute";
  else if (stages > 1 && only(shape.modes, {Recompute::none}) && only(last, {Recompute::none, Recompute::stage}))
    type = "NoRecompute";
  else if (stages > 1 && only(shape.modes, {Recompute::layer, Recompute::stage}) && !sequential)
    type = "Pipeline";
  facts["recomputation"] = type;
}

// The choices of modes that rules can tell apart, the widest first: any, all again but the last stage, all kept but the
// last stage, and one mode for all. A choice within an accepted one need not be asked for.
struct Modes {
  std::vector<Recompute> modes, last;
  std::vector<std::size_t> within;  // indices of wider choices
};
const std::vector<Modes>& mode_choices() {
  using enum Recompute;
  static const std::vector<Modes> all = {{{}, {}, {}},
                                         {{layer, stage}, {none, layer, stage}, {0}},
                                         {{none}, {none, stage}, {0}},
                                         {{none}, {}, {0, 2}},
                                         {{layer}, {}, {0, 1}},
                                         {{stage}, {}, {0, 1}}};
  return all;
}

}  // namespace

SoftwareSpace::SoftwareSpace(const Job& job) : job_(&job.json()) {
  if (job.is_restricted()) software_.push_back(&software(job.software[0]));
  if (job.measured_alone) software_.push_back(&measured_alone());
  for (const Software* s : software_) {
    for (const SoftwareRule& rule : s->rules) {
      for (std::size_t axis = 0; axis < SettingSpace::kAxes; ++axis) {
        const auto& names = facts_of_list(static_cast<List>(axis));
        if (std::ranges::any_of(names, [&](const std::string& fact) { return asks_for(rule, fact); }))
          rules_of_[axis].push_back(&rule);
      }
    }
  }
}

bool SoftwareSpace::accepts(const PlanFacts& facts) const {
  return std::ranges::none_of(software_, [&](const Software* s) { return certainly_broken(*s, facts) != nullptr; });
}

PlanFacts SoftwareSpace::facts_of(const Plan& cell) const {
  PlanFacts out = setting_facts(to_json(cell), *job_, false);
  for (const char* of_space : {"is_phased", "schedule", "phase_order", "phase_groups", "io_tiles"}) out.erase(of_space);
  for (std::size_t axis = 0; axis < SettingSpace::kAxes; ++axis) {
    for (const std::string& fact : facts_of_list(static_cast<List>(axis))) out.erase(fact);
  }
  for (const char* fact : kOfSeveralLists) out.erase(fact);
  return out;
}

bool SoftwareSpace::restrict(SettingSpace& space, const PlanFacts& of_cell) const {
  const auto has_none = [](std::size_t length) { return length == 0; };
  if (std::ranges::any_of(space.lengths(), has_none)) return false;
  PlanFacts facts = of_cell;
  facts["is_phased"] = space.phased;
  facts["schedule"] = name_of(space.common.schedule);
  facts["phase_order"] = name_of(space.common.phase_order);
  facts["phase_groups"] = space.common.phase_groups;
  facts["io_tiles"] = space.common.io_tiles;
  if (space.groups_matter) facts["shard_degree"] = 2, facts["is_partly_sharded"] = true;  // or more shards
  if (!accepts(facts)) return false;
  // Removes values of a list. values(entry): the entry's facts, in the order of facts_of_list().
  const auto keep = [&](List axis, auto& list, const auto& values) {
    const std::vector<std::string>& names = facts_of_list(axis);
    std::erase_if(list, [&](const auto& entry) {
      const std::vector<nlohmann::json> found = values(entry);
      for (std::size_t i = 0; i < names.size(); ++i) facts[names[i]] = found[i];
      return std::ranges::any_of(rules_of_[axis], [&](const auto* r) { return is_certainly_broken(*r, facts); });
    });
    for (const std::string& name : names) facts.erase(name);
  };
  using Values = std::vector<nlohmann::json>;
  const auto stored = [](const Storage& s) { return Values{name_of(s.at), s.degree}; };
  keep(SettingSpace::load_axis, space.loads, [](const LoadSchedules& l) { return Values{name_of(l.weights)}; });
  keep(SettingSpace::stash_axis, space.stashes, [](const Stash& s) {
    return Values{name_of(s.at), name_of(s.sharding)};
  });
  keep(SettingSpace::weight_axis, space.weights, stored);
  keep(SettingSpace::gradient_axis, space.gradients, stored);
  keep(SettingSpace::state_axis, space.states, stored);
  keep(SettingSpace::prefetch_depth_axis, space.prefetch_depths, [](std::int64_t depth) { return Values{depth}; });
  keep(SettingSpace::code_axis, space.codes, [](Location at) { return Values{name_of(at)}; });
  return std::ranges::none_of(space.lengths(), has_none);
}

bool SoftwareSpace::accepts(const Plan& setting, bool phased) const {
  return !has_rules() || accepts(setting_facts(to_json(setting), *job_, phased));
}

std::vector<CutShape> SoftwareSpace::shapes(const Plan& setting, bool phased, bool ties) const {
  PlanFacts facts = has_rules() ? setting_facts(to_json(setting), *job_, phased) : PlanFacts();
  std::erase_if(facts, [](const auto& fact) { return !decides_shapes(fact.first); });
  const auto is_accepted = [&](const CutShape& shape, std::int64_t stages) {
    if (!has_rules()) return true;
    PlanFacts all = facts;
    add_shape(shape, stages, phased, ties, all);
    return accepts(all);
  };
  std::vector<CutShape> out;
  // Adds the widest accepted choices of modes, and returns whether there are any.
  const auto add = [&](CutShape shape, std::int64_t stages) {
    std::vector<std::size_t> accepted;
    for (std::size_t i = 0; i < mode_choices().size(); ++i) {
      const Modes& choice = mode_choices()[i];
      const auto has = [&](std::size_t wider) { return std::ranges::find(accepted, wider) != accepted.end(); };
      if (std::ranges::any_of(choice.within, has)) continue;
      if (phased && choice.modes == std::vector{Recompute::none}) continue;  // phases keep nothing whole
      shape.modes = choice.modes, shape.last_modes = choice.last;
      if (!is_accepted(shape, stages)) continue;
      accepted.push_back(i);
      out.push_back(shape);
    }
    return !accepted.empty();
  };
  const std::int64_t p = setting.pipeline_stages;
  if (phased) {
    if (!add({}, p)) add({.phase_per_layer = true}, p);
    return out;
  }
  for (const bool wrap : {false, true}) {
    if (wrap && p == 1) continue;
    const std::int64_t stages = p + (wrap ? 1 : 0);
    if (!add({.wrap = wrap}, stages) && ties) add({.wrap = wrap, .ties_together = true}, stages);
  }
  return out;
}

}  // namespace superstep
