// SPDX-License-Identifier: Apache-2.0
#include "planner/job/tell_apart.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/job/plan_fields.h"

namespace superstep {
namespace {

using nlohmann::json;

// True if both values are objects with the same keys. Some fields are either a value or an object, and keys may vary.
bool same_members(const json& a, const json& b) {
  if (!a.is_object() || !b.is_object() || a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key)) return false;
  }
  return true;
}

void compare(const json& a, const json& b, const std::string& prefix, std::vector<DifferentField>& out) {
  for (const auto& [key, value] : a.items()) {
    if (same_members(value, b.at(key)))
      compare(value, b.at(key), prefix + key + ".", out);
    else if (value != b.at(key))
      out.push_back({prefix + key, value, b.at(key)});
  }
}

// Returns the rank of a difference in labels: differences that change the kind of plan come first, cuts last.
int weight_of(const DifferentField& f) {
  const PlanField* field = find_plan_field(f.field.substr(0, f.field.find('.')));
  return f.second.is_array() || field == nullptr ? 3 : field->rank;
}

std::string words_of(const DifferentField& f) {
  std::string name = f.field.substr(f.field.rfind('.') + 1);  // member names are unique across fields
  if (name == "optimizer_state") name = "state";
  if (f.field.starts_with("replicated_tensor_sharding.")) return name + " over " + f.second.dump();
  if (f.second.is_array()) return "other " + name;
  if (f.second.is_object()) {
    for (const auto& [member, value] : f.second.items())
      name += " " + member + " " + (value.is_string() ? value.get<std::string>() : value.dump());
    return name;
  }
  return name + " " + (f.second.is_string() ? f.second.get<std::string>() : f.second.dump());
}

std::string what_differs(const Plan& first, const Plan& second) {
  std::vector<DifferentField> fields = different_fields(first, second);
  std::stable_sort(fields.begin(), fields.end(),
                   [](const DifferentField& a, const DifferentField& b) { return weight_of(a) < weight_of(b); });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, fields.size()); ++i) text += ", " + words_of(fields[i]);
  return text;
}

}  // namespace

std::vector<DifferentField> different_fields(const Plan& first, const Plan& second) {
  std::vector<DifferentField> out;
  compare(to_json(first), to_json(second), "", out);
  return out;
}

std::vector<std::string> distinct_labels(const std::vector<const Plan*>& plans) {
  std::vector<std::string> out;
  for (const Plan* plan : plans) {
    const auto same = std::find_if(plans.begin(), plans.begin() + std::ssize(out),
                                   [&](const Plan* other) { return label(*other) == label(*plan); });
    const bool again = same != plans.begin() + std::ssize(out);
    out.push_back(label(*plan) + (again ? what_differs(**same, *plan) : ""));
  }
  return out;
}

}  // namespace superstep
