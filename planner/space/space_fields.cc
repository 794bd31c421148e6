// SPDX-License-Identifier: Apache-2.0
#include "planner/space/space_fields.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "planner/job/partitions.h"
#include "planner/job/plan_fields.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

using nlohmann::json;

std::string value_text(const json& v) {
  if (v.is_string()) return v.get<std::string>();
  std::string text = v.dump(-1, ' ', false, json::error_handler_t::replace);
  std::erase(text, '"');
  return text;
}

std::string number(double v) {
  std::ostringstream s;
  s << v;
  return s.str();
}

// Collects the values that fields, or their members, have in the space, by names as "location.weights".
class Values {
 public:
  void add(const Job& job, std::int64_t statistics_group) {
    std::set<std::tuple<TensorParallel, std::int64_t, std::int64_t, Placement, ShardGroups>> seen;
    for (const Cell& c : uncounted_cells(job, statistics_group)) {
      add(c.plan(), PlanField::Search::cell);
      // Settings do not depend on m and g.
      if (!seen.insert({c.mesh, c.stages, c.replicas, c.placement, c.groups}).second) continue;
      for (const SettingSpace& space : setting_spaces(job, c, false)) add(space);
    }
  }

  // Appends the values of a field, or of each of its members. Leaves out fields and members that no plan of the space
  // uses.
  void list(const PlanField& field, std::vector<SpaceField>& out) const {
    if (field.is_of_phases_alone && !phased_) return;
    for (const PlanValue& v : field.values) {
      const bool of_training = v.member == "gradients" || v.member == "optimizer_state";
      if (of_training && !training_) continue;
      const std::string name = name_of(field, v);
      const auto known = values_.find(name);
      std::vector<json> values;
      if (known != values_.end()) values.assign(known->second.begin(), known->second.end());
      std::ranges::stable_sort(values, {}, [&](const json& value) { return place(field, value); });
      out.push_back({name, json(std::move(values))});
    }
  }

  bool phased() const { return phased_; }
  bool pipelined() const { return pipelined_; }

 private:
  std::map<std::string, std::set<json>> values_;
  bool phased_ = false, pipelined_ = false, training_ = false;

  static std::string name_of(const PlanField& field, const PlanValue& v) {
    return std::string(field.name) + (v.member.empty() ? "" : ".") + std::string(v.member);
  }

  // Returns the place of a value in a list: names by their order in the field's row, meshes and degrees by their
  // numbers.
  static std::pair<std::int64_t, std::int64_t> place(const PlanField& field, const json& value) {
    if (value.is_string())
      return {std::ranges::find(field.choices, value.get<std::string>()) - field.choices.begin(), 0};
    return value.is_array() ? std::pair(value[0].get<std::int64_t>(), value[1].get<std::int64_t>())
                            : std::pair(value.get<std::int64_t>(), std::int64_t{1});
  }

  void add(const Plan& plan, PlanField::Search search) {
    for (const PlanField& field : plan_fields()) {
      if (field.search != search) continue;
      for (const PlanValue& v : field.values) values_[name_of(field, v)].insert(v.get(plan));
    }
  }

  // Spaces added so far, with the fields of their cells reset, by some fields of their plans. Most spaces recur in many
  // cells.
  using Key = std::tuple<Schedule, PhaseOrder, std::int64_t, std::int64_t, ActivationSharding, bool>;
  std::map<Key, std::vector<SettingSpace>> added_;

  // True if the same space was added before, but for the fields of its cell. Otherwise notes the space as added.
  bool was_added(SettingSpace space) {
    Plan& p = space.common;
    p.tensor_parallel = {}, p.placement = {};
    p.pipeline_stages = p.replicas = p.micro_batch = p.gradient_accumulation = 1;
    std::vector<SettingSpace>& alike =
        added_[{p.schedule, p.phase_order, p.phase_groups, p.io_tiles, p.activation_sharding, space.phased}];
    const auto same = [&](const SettingSpace& s) { return s.common == p && s.has_lists_of(space); };
    if (std::ranges::any_of(alike, same)) return true;
    alike.push_back(std::move(space));
    return false;
  }

  void add(const SettingSpace& space) {
    (space.phased ? phased_ : pipelined_) = true;
    training_ = space.training;
    if (was_added(space)) return;
    const auto lengths = space.lengths();
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
      for (std::size_t v = 0; v < lengths[axis]; ++v) {
        std::array<std::size_t, SettingSpace::kAxes> values{};
        values[axis] = v;
        add(space.plan(values), PlanField::Search::setting);
      }
    }
  }
};

json recompute_values(const Pins& pins) {
  if (pins.has_stage_modes()) return "as pinned, stage by stage";
  if (!pins.recompute.empty()) return json::array({name_of(pins.recompute[0])});
  return "none, layer, stage, each stage its own";
}

json phase_values(const Job& job, const Values& values) {
  const Pins& pins = job.pins;
  if (pins.phases) return "as pinned";
  if (!values.phased()) return "none";
  std::string out = values.pipelined() ? "none, or " : "";
  if (!pins.phase_count) return out + "every contiguous cut";
  const IntegerPin& count = *pins.phase_count;
  if (count.values.empty())
    return out + "every contiguous cut into " + std::to_string(std::max<std::int64_t>(2, count.low)) +
           (job.json().at("plan").at("phases").contains("max") ? " to " + std::to_string(count.high) : " or more");
  std::string numbers;
  for (const std::int64_t n : count.values) {
    if (n > 1) numbers += (numbers.empty() ? "" : ", ") + std::to_string(n);
  }
  return out + "every contiguous cut into " + numbers;
}

// Returns in words what a bound of this kind counts.
std::string_view counted_by(Live live) {
  switch (live) {
    case Live::none:
      return "temporary memory";
    case Live::unit:
      return "it and what is live in the unit";
    case Live::layer:
      return "it and what is live in the layer";
    case Live::weights:
      return "it, what is live in the unit and its weights and gradients";
  }
  return "";
}

json proportion_values(const Job& job) {
  if (!job.pins.stage_proportions.empty()) return "as pinned, stage by stage";
  if (!frees_caps(job, false)) {
    json out = json::array();
    for (const Proportion& p : job.pins.available_memory_proportion) out.push_back(to_json(p));
    return out;
  }
  const ProportionRange free = free_proportions(job);
  const std::string bounds = free.low == free.high ? number(free.low) : number(free.low) + " to " + number(free.high);
  std::string kinds;
  const Caps caps = free_caps(job);
  for (const Live live : kLives) {
    if (caps.may_count(live)) kinds.append(kinds.empty() ? "" : ", or for ").append(counted_by(live));
  }
  return bounds + " of a tile for " + kinds + ", wherever an op's tile plan changes (chosen like cuts, not counted)";
}

// Returns in words what a field without a list draws from; null: the field is not printed.
json in_words(const PlanField& field, const Job& job, const Values& values) {
  if (field.name == "stages")
    return job.pins.has_stages() ? "as pinned"
                                 : "every contiguous cut at op boundaries; the last stage may return to IPU 0";
  if (field.name == "recompute") return recompute_values(job.pins);
  if (field.name == "phases") return phase_values(job, values);
  return field.search == PlanField::Search::bound ? proportion_values(job) : json();
}

// Returns the values that a field has in the parts, each once.
json values_of(const std::vector<Job>& parts, const json::json_pointer& field) {
  json values = json::array();
  for (const Job& part : parts) {
    if (std::ranges::find(values, part.json().at(field)) == values.end()) values.push_back(part.json().at(field));
  }
  return values;
}

}  // namespace

std::string SpaceField::text() const {
  if (!values.is_array()) return value_text(values);
  std::string all;
  for (const json& v : values) all.append(all.empty() ? "" : ", ").append(value_text(v));
  return all;
}

std::vector<SpaceField> space_fields(const Job& job, const std::vector<Job>& parts, std::int64_t statistics_group) {
  Values values;
  std::set<std::int64_t, std::greater<>> sizes;
  for (const Job& part : parts) values.add(part, statistics_group), sizes.insert(part.machine.ipus);
  std::vector<SpaceField> out;
  for (const PlanField& field : plan_fields()) {
    if (field.search == PlanField::Search::cell || field.search == PlanField::Search::setting)
      values.list(field, out);
    else if (const json said = in_words(field, parts[0], values); !said.is_null())
      out.push_back({std::string(field.name), said});
    if (field.name == "gradient_accumulation" && statistics_group > 0)
      out.push_back({"statistics_group", micro_batches_of_groups(parts[0], statistics_group)});
  }
  if (sizes.size() > 1) {
    json list = json::array();
    for (const std::int64_t n : sizes) list.push_back(n);
    out.push_back({"ipus", list});
  }
  for (const json::json_pointer& at : lists_of(job.json())) {
    const std::string group = at.parent_pointer().back();
    const SpaceField field{group == "plan" ? at.back() : group + "." + at.back(), values_of(parts, at)};
    const auto known = std::ranges::find(out, field.name, &SpaceField::name);
    if (known == out.end())
      out.push_back(field);
    else
      known->values = field.values;
  }
  return out;
}

}  // namespace superstep
