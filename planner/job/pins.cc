// SPDX-License-Identifier: Apache-2.0
#include "planner/job/pins.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/job/plan_fields.h"
#include "planner/job/read_proportions.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr const char* kProportion = "available_memory_proportion";

bool has_members(const std::string& field) {
  const PlanField* known = find_plan_field(field);
  return known != nullptr && known->has_members();
}

// True if a pin (a value, a list or a range) allows the value `has` of a plan.
bool allows(const std::string& field, const json& pin, const json& has) {
  if (pin == has) return true;
  const PlanField* known = find_plan_field(field);
  const bool of_cuts = known != nullptr && known->search == PlanField::Search::cut;
  const auto any = [&] {
    return std::any_of(pin.begin(), pin.end(), [&](const json& v) { return allows(field, v, has); });
  };
  if (of_cuts && is_list_of_cuts(pin)) return any();
  // `phases` pins numbers of phases, unless the list begins with 0: then the pin is the cuts themselves.
  if (field == "phases" && has.is_array())
    return !(pin.is_array() && !pin.empty() && pin[0] == 0) && allows(field, pin, has.size());
  if (field == "activation_sharding" && pin.is_boolean()) return has == (pin.get<bool>() ? "stored" : "none");
  if (field == "tensor_parallel" && pin.is_array() && pin.size() == 2 && !pin[0].is_array())
    return pin[1] == 1 && pin[0] == has;  // the mesh [8, 1] is written as 8
  if (field == kProportion && is_by_stage(has) && !is_by_stage(pin))
    return std::ranges::all_of(has["stages"], [&](const json& one) { return allows(field, pin, one); });
  if (pin.is_object() && pin.contains("live")) {
    const bool plain = !has.is_object() || !has.contains("live");
    if (pin["live"] != (plain ? json(name_of(Live::none)) : has["live"])) return false;
    return !pin.contains("proportion") || allows(field, pin["proportion"], plain ? has : has["proportion"]);
  }
  if (pin.is_object()) {
    return has.is_number() && (!pin.contains("min") || has >= pin["min"]) &&
           (!pin.contains("max") || has <= pin["max"]);
  }
  const bool alternatives = !of_cuts || (field == "phases" && has.is_number());
  return alternatives && pin.is_array() && any();
}

// True if the field has no effect in the plan. Phases run in one direction, so no schedule applies. Loads exist with
// phases only, and code is loaded only if code does not stay on its tiles.
bool is_idle(const std::string& field, const Plan& plan) {
  if (field == "schedule") return plan.phased();
  if (field == "load/code") return !plan.phased() || plan.location.code == Location::in_processor;
  return field == "load/weights" && !plan.phased();
}

// Returns load schedules by kind. A pin without kinds applies to all kinds.
json by_kind(const json& load) { return load.is_object() ? load : json{{"weights", load}, {"code", load}}; }

}  // namespace

json with_pins(json job, const json& pins) {
  json& plan = job["plan"];
  if (!plan.is_object()) plan = json::object();
  const bool cuts = pins.contains("stages") || pins.contains("layers_per_stage");
  if (cuts) {
    for (const char* key : {"stages", "layers_per_stage", "stage_ipu"}) plan.erase(key);
    if (is_by_stage(plan.value(kProportion, json()))) plan.erase(kProportion);  // bounds of the replaced stages
  }
  for (const auto& [key, value] : pins.items()) {
    if (key == "load" && plan.contains(key)) plan[key] = by_kind(plan[key]);
    if (has_members(key) && plan.contains(key) && plan[key].is_object() && value.is_object())
      plan[key].update(value);
    else
      plan[key] = value;
  }
  return job;
}

std::vector<std::string> unsatisfied_pins(const Plan& plan, const json& pins) {
  json has = to_json(plan);
  has["load"] = by_kind(has["load"]);
  std::vector<std::string> missing;
  for (const auto& [key, pin] : pins.items()) {
    if (has_members(key) && (pin.is_object() || key == "load")) {
      const json members = key == "load" ? by_kind(pin) : pin;
      for (const auto& [member, value] : members.items()) {
        const bool unset = (key == "serialisation" && value == 0) || is_idle(key + "/" + member, plan);
        if (!unset && !allows(member, value, has[key].value(member, json())))
          missing.push_back("/" + key + "/" + member);
      }
    } else if (!is_idle(key, plan) && (!has.contains(key) || !allows(key, pin, has[key]))) {
      missing.push_back("/" + key);
    }
  }
  return missing;
}

}  // namespace superstep
