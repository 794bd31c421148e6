// SPDX-License-Identifier: Apache-2.0
#include "planner/space/space_fields.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <tuple>
#include <utility>

#include "planner/job/partitions.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

using nlohmann::json;

json to_value(std::int64_t v) { return v; }
json to_value(const TensorParallel& t) { return t.t2 > 1 ? json{t.t1, t.t2} : json(t.t1); }
template <class Enum>
json to_value(Enum v) {
  return name_of(v);
}

template <class T>
json to_list(const std::set<T>& values) {
  json out = json::array();
  for (const T& v : values) out.push_back(to_value(v));
  return out;
}

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

// The values that fields of settings have.
class Values {
 public:
  void add(const Job& job, std::int64_t statistics_group) {
    std::set<std::tuple<TensorParallel, std::int64_t, std::int64_t, Placement>> seen;
    for (const Cell& c : uncounted_cells(job, statistics_group)) {
      meshes_.insert(c.mesh);
      stages_.insert(c.stages), replicas_.insert(c.replicas);
      micro_batches_.insert(c.micro_batch), accumulations_.insert(c.accumulation);
      placements_.insert(c.placement);
      groups_.insert(c.groups);
      // Settings are the same whatever the batch is.
      if (!seen.insert({c.mesh, c.stages, c.replicas, c.placement}).second) continue;
      const SettingSpace* before = nullptr;
      const std::vector<SettingSpace> spaces = setting_spaces(job, c, false);
      for (const SettingSpace& space : spaces) add(space, std::exchange(before, &space));
    }
  }

  std::vector<SpaceField> of_cells() const {
    return {{"tensor_parallel", to_list(meshes_)},    {"pipeline_stages", to_list(stages_)},
            {"replicas", to_list(replicas_)},         {"placement", to_list(placements_)},
            {"micro_batch", to_list(micro_batches_)}, {"gradient_accumulation", to_list(accumulations_)}};
  }

  std::vector<SpaceField> of_settings() const {
    std::vector<SpaceField> out = {{"schedule", to_list(schedules_)}};
    if (phased_) {
      out.push_back({"phase_order", to_list(orders_)});
      out.push_back({"phase_groups", to_list(phase_groups_)});
    }
    out.push_back({"replicated_tensor_sharding.weights", to_list(weight_degrees_)});
    if (training_) {
      out.push_back({"replicated_tensor_sharding.gradients", to_list(gradient_degrees_)});
      out.push_back({"replicated_tensor_sharding.optimizer_state", to_list(state_degrees_)});
    }
    out.push_back({"replicated_tensor_sharding.groups", to_list(groups_)});
    out.push_back({"activation_sharding", to_list(shardings_)});
    out.push_back({"location.weights", to_list(weights_)});
    if (training_) {
      out.push_back({"location.gradients", to_list(gradients_)});
      out.push_back({"location.optimizer_state", to_list(states_)});
    }
    out.push_back({"location.activations", to_list(activations_)});
    out.push_back({"location.code", to_list(codes_)});
    out.push_back({"io_tiles", to_list(io_tiles_)});
    out.push_back({"load.weights", to_list(weight_loads_)});
    out.push_back({"load.code", to_list(code_loads_)});
    out.push_back({"prefetch_depth", to_list(prefetch_depths_)});
    return out;
  }

  bool phased() const { return phased_; }
  bool pipelined() const { return pipelined_; }

 private:
  std::set<TensorParallel> meshes_;
  std::set<std::int64_t> stages_, replicas_, micro_batches_, accumulations_, phase_groups_, io_tiles_, prefetch_depths_;
  std::set<std::int64_t> weight_degrees_, gradient_degrees_, state_degrees_;
  std::set<Placement> placements_;
  std::set<ShardGroups> groups_;
  std::set<Schedule> schedules_;
  std::set<PhaseOrder> orders_;
  std::set<ActivationSharding> shardings_;
  std::set<Location> weights_, gradients_, states_, activations_, codes_;
  std::set<LoadSchedule> weight_loads_, code_loads_;
  bool phased_ = false, pipelined_ = false, training_ = false;

  // `before`: added before it; null: none. Most lists are the same.
  void add(const SettingSpace& space, const SettingSpace* before) {
    const auto for_new = [&](auto list, auto f) {
      if (before == nullptr || before->*list != space.*list) std::ranges::for_each(space.*list, f);
    };
    const Plan& p = space.common;
    (space.phased ? phased_ : pipelined_) = true;
    training_ = space.training;
    schedules_.insert(p.schedule);
    if (space.phased) orders_.insert(p.phase_order), phase_groups_.insert(p.phase_groups);
    io_tiles_.insert(p.io_tiles);
    for_new(&SettingSpace::stashes, [&](const Stash& s) { activations_.insert(s.at), shardings_.insert(s.sharding); });
    for_new(&SettingSpace::weights, [&](const Storage& s) { weights_.insert(s.at), weight_degrees_.insert(s.degree); });
    for_new(&SettingSpace::gradients,
            [&](const Storage& s) { gradients_.insert(s.at), gradient_degrees_.insert(s.degree); });
    for_new(&SettingSpace::states, [&](const Storage& s) { states_.insert(s.at), state_degrees_.insert(s.degree); });
    for (const LoadSchedules& l : space.loads) weight_loads_.insert(l.weights), code_loads_.insert(l.code);
    codes_.insert(space.codes.begin(), space.codes.end());
    prefetch_depths_.insert(space.prefetch_depths.begin(), space.prefetch_depths.end());
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
           (job.json.at("plan").at("phases").contains("max") ? " to " + std::to_string(count.high) : " or more");
  std::string numbers;
  for (const std::int64_t n : count.values) {
    if (n > 1) numbers += (numbers.empty() ? "" : ", ") + std::to_string(n);
  }
  return out + "every contiguous cut into " + numbers;
}

// What bounds of a kind are on.
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

// Values of a field in which parts differ, each once.
json values_of(const std::vector<Job>& parts, const json::json_pointer& field) {
  json values = json::array();
  for (const Job& part : parts) {
    if (std::ranges::find(values, part.json.at(field)) == values.end()) values.push_back(part.json.at(field));
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
  const Pins& pins = parts[0].pins;
  std::vector<SpaceField> out = values.of_cells();
  if (statistics_group > 0) out.push_back({"statistics_group", micro_batches_of_groups(parts[0], statistics_group)});
  out.push_back({"stages", pins.has_stages()
                               ? "as pinned"
                               : "every contiguous cut at op boundaries; the last stage may return to IPU 0"});
  out.push_back({"recompute", recompute_values(pins)});
  out.push_back({"phases", phase_values(parts[0], values)});
  std::ranges::move(values.of_settings(), std::back_inserter(out));
  out.push_back({"available_memory_proportion", proportion_values(parts[0])});
  if (sizes.size() > 1) {
    json list = json::array();
    for (const std::int64_t n : sizes) list.push_back(n);
    out.push_back({"ipus", list});
  }
  for (const json::json_pointer& at : lists_of(job.json)) {
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
