// SPDX-License-Identifier: Apache-2.0
#include "planner/job/plan_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "model/lower/serialise.h"
#include "planner/job/read_proportions.h"
#include "planner/job/read_values.h"

namespace superstep {
namespace {

using nlohmann::json;

// ---- enumerations: values are 0 to kCount - 1

template <class E>
constexpr int kCount = 0;
template <>
constexpr int kCount<Schedule> = 3;
template <>
constexpr int kCount<Recompute> = 3;
template <>
constexpr int kCount<Location> = 4;
template <>
constexpr int kCount<PhaseOrder> = 2;
template <>
constexpr int kCount<Placement> = 6;
template <>
constexpr int kCount<ShardGroups> = 2;
template <>
constexpr int kCount<ActivationSharding> = 3;
template <>
constexpr int kCount<LoadSchedule> = 2;

template <class E>
const Names<E>& names_of() {
  static const Names<E> names = [] {
    Names<E> out;
    for (int i = 0; i < kCount<E>; ++i) out.emplace_back(name_of(static_cast<E>(i)), static_cast<E>(i));
    return out;
  }();
  return names;
}

template <class E>
std::vector<std::string_view> choices_of() {
  std::vector<std::string_view> out;
  for (const auto& [name, value] : names_of<E>()) out.push_back(name);
  return out;
}

// ---- the only value that a pin leaves; any other pin throws Error

template <class T>
const T& only(const std::vector<T>& values, const std::string& where) {
  if (values.size() != 1) not_one_value(where, values.empty() ? "none" : "several");
  return values[0];
}

std::int64_t only(const std::optional<IntegerPin>& pin, const std::string& where) {
  if (!pin) not_one_value(where, "none");
  if (pin->values.empty()) not_one_value(where, "a range");
  return only(pin->values, where);
}

std::vector<std::int64_t> only(const std::optional<std::vector<std::int64_t>>& list, const std::string& where) {
  if (!list) not_one_value(where, "no list");
  return *list;
}

// ---- values of common kinds; `kPath` is a chain of member pointers that starts at Plan

template <auto kFirst, auto... kRest, class Struct>
auto& follow(Struct& from) {
  if constexpr (sizeof...(kRest) == 0)
    return from.*kFirst;
  else
    return follow<kRest...>(from.*kFirst);
}

template <auto kPin, auto... kPath>
PlanValue number(std::string_view member = "") {
  return {
      member, [](const Plan& plan) -> json { return follow<kPath...>(plan); },
      [](JsonReader& r, const char* key, Pins& pins) { pins.*kPin = read_integer_pin(r, key); },
      [](const Pins& pins, const std::string& where, Plan& plan) { follow<kPath...>(plan) = only(pins.*kPin, where); }};
}

template <auto kPin, auto... kPath>
PlanValue name(std::string_view member = "") {
  using E = std::remove_reference_t<decltype(follow<kPath...>(std::declval<Plan&>()))>;
  return {
      member, [](const Plan& plan) -> json { return name_of(follow<kPath...>(plan)); },
      [](JsonReader& r, const char* key, Pins& pins) { pins.*kPin = read_names(r, key, names_of<E>()); },
      [](const Pins& pins, const std::string& where, Plan& plan) { follow<kPath...>(plan) = only(pins.*kPin, where); }};
}

// Like name(), for a field that a plan in full may leave out.
template <auto kPin, auto... kPath>
PlanValue name_or_default(std::string_view member = "") {
  PlanValue out = name<kPin, kPath...>(member);
  out.set = [](const Pins& pins, const std::string& where, Plan& plan) {
    if (!(pins.*kPin).empty()) follow<kPath...>(plan) = only(pins.*kPin, where);
  };
  return out;
}

template <auto kPin, auto kField, auto kRead>
PlanValue list() {
  return {"", [](const Plan& plan) -> json { return plan.*kField; },
          [](JsonReader& r, const char* key, Pins& pins) { pins.*kPin = read_first_cut(r.raw(key), r.at(key), kRead); },
          [](const Pins& pins, const std::string& where, Plan& plan) { plan.*kField = only(pins.*kPin, where); }};
}

// ---- fields with their own JSON form

json mesh_value(const Plan& plan) {
  const TensorParallel& t = plan.tensor_parallel;
  return t.t2 > 1 ? json{t.t1, t.t2} : json(t.t1);
}

// Reads a degree, a mesh [t1, t2], a list of degrees and meshes, or a range of degrees.
std::vector<TensorParallel> read_meshes(JsonReader& r, const char* key) {
  const json& v = r.raw(key);
  const std::string where = r.at(key);
  auto one = [&](const json& x, const std::string& place) {
    if (!x.is_array()) return TensorParallel{read_whole(x, place, 1, kMostInteger), 1};
    if (x.size() != 2) throw Error(place, "found a list of " + std::to_string(x.size()) + ", expected [t1, t2]");
    return TensorParallel{read_whole(x[0], place + "/0", 1, kMostInteger),
                          read_whole(x[1], place + "/1", 1, kMostInteger)};
  };
  if (v.is_array() && v.empty()) throw Error(where, "found an empty list, expected at least one value");
  // A list that contains lists, or more than two numbers, gives alternatives; [8, 8] is one mesh.
  const auto is_list = [](const json& x) { return x.is_array(); };
  if (v.is_array() && (v.size() > 2 || std::any_of(v.begin(), v.end(), is_list))) {
    std::vector<TensorParallel> all;
    for (std::size_t i = 0; i < v.size(); ++i) all.push_back(one(v[i], where + "/" + std::to_string(i)));
    return all;
  }
  if (v.is_object()) {
    const IntegerPin range = read_integer_pin(r, key);
    std::vector<TensorParallel> all;
    for (std::int64_t t = range.low; t <= std::min<std::int64_t>(range.high, 4096); ++t) all.push_back({t, 1});
    return all;
  }
  return {one(v, where)};
}

std::vector<Recompute> read_modes(const json& v, const std::string& where) {
  if (v.is_string()) return {read_name(v, where, names_of<Recompute>())};
  if (!v.is_array() || v.empty())
    throw Error(where, "found " + describe(v) + ", expected a mode or one mode per stage");
  std::vector<Recompute> per_stage;
  for (std::size_t i = 0; i < v.size(); ++i)
    per_stage.push_back(read_name(v[i], where + "/" + std::to_string(i), names_of<Recompute>()));
  return per_stage;
}

json recompute_value(const Plan& plan) {
  json modes = json::array();
  for (const Recompute mode : plan.recompute) modes.push_back(name_of(mode));
  const bool same = std::ranges::adjacent_find(plan.recompute, std::ranges::not_equal_to()) == plan.recompute.end();
  return same ? modes.front() : modes;
}

void set_recompute(const Pins& pins, const std::string& where, Plan& plan) {
  if (pins.recompute.empty()) not_one_value(where, "none");
  plan.recompute = pins.recompute;
}

void read_layers_per_stage(JsonReader& r, const char* key, Pins& pins) {
  const auto read = [](const json& v, const std::string& where) {
    std::vector<std::int64_t> counts = read_counts(v, where, "a list of layer counts, one per stage", kRestOfLayers);
    if (std::ranges::count(counts, kRestOfLayers) > 1)
      throw Error(where, "found -1 more than once, expected one stage that has the rest of the layers");
    return counts;
  };
  pins.layers_per_stage = read_first_cut(r.raw(key), r.at(key), read);
  if (pins.stages) throw Error(r.at(key), "found beside stages, expected one of the two");
}

std::vector<std::int64_t> read_ipu_groups(const json& v, const std::string& where) {
  return read_counts(v, where, "one IPU group per stage");
}

// Reads numbers of phases, or the first stage of each phase. A list that begins with 0 gives first stages.
void read_phases(JsonReader& r, const char* key, Pins& pins) {
  const json& v = r.raw(key);
  if (is_list_of_cuts(v) || (v.is_array() && !v.empty() && v[0] == 0))
    pins.phases = read_first_cut(v, r.at(key), read_ascending);
  else
    pins.phase_count = read_integer_pin(r, key);
}

void read_activation_sharding(JsonReader& r, const char* key, Pins& pins) {
  const json& v = r.raw(key);
  if (v.is_boolean())
    pins.activation_sharding = {v.get<bool>() ? ActivationSharding::stored : ActivationSharding::none};
  else
    pins.activation_sharding = read_names(r, key, names_of<ActivationSharding>());
}

// Reads one load schedule for all kinds of data that a phase loads.
void read_load(JsonReader& r, Pins& pins) {
  pins.load_weights = pins.load_code = read_names(r, "load", names_of<LoadSchedule>());
}

json proportion_value(const Plan& plan) {
  if (plan.stage_proportions.empty()) return to_json(plan.available_memory_proportion);
  json each = json::array();
  for (const Proportion& of_stage : plan.stage_proportions) each.push_back(to_json(of_stage));
  return {{"stages", each}};
}

void set_proportion(const Pins& pins, const std::string& where, Plan& plan) {
  plan.available_memory_proportion = only(pins.available_memory_proportion, where);
  plan.stage_proportions = pins.stage_proportions;
}

const Names<DType> kFormats = {{"fp16", DType::fp16}, {"fp32", DType::fp32}};

template <auto kFormat>
PlanValue format(std::string_view member) {
  return {member, [](const Plan& plan) -> json { return name_of(plan.precision.*kFormat); },
          [](JsonReader& r, const char* key, Pins& pins) {
            pins.precision.*kFormat = read_first(
                r.raw(key), r.at(key), [](const json& v, const std::string& at) { return read_name(v, at, kFormats); });
          },
          [](const Pins& pins, const std::string&, Plan& plan) { plan.precision.*kFormat = pins.precision.*kFormat; }};
}

void read_master(JsonReader& r, const char* key, Pins& pins) {
  pins.precision.master = read_first(r.raw(key), r.at(key), [](const json& v, const std::string& at) {
    if (!v.is_boolean()) throw Error(at, "found " + describe(v) + ", expected true or false");
    return v.get<bool>();
  });
}

// Gives activations the type of the weights unless pinned, and checks the two types. Matrix products need operands of
// one type.
void check_formats(JsonReader& r, Pins& pins) {
  const bool given = r.has("activations");
  if (!given) pins.precision.activations = pins.precision.weights;
  const bool lists = std::ranges::any_of(r.value(), [](const json& v) { return v.is_array(); });
  if (pins.precision.weights != pins.precision.activations && !lists)
    throw Error(r.at("activations"), "found types that differ from weights; matrix products need operands of one type");
}

template <auto kFactor>
PlanValue factor(std::string_view member) {
  return {member, [](const Plan& plan) -> json { return plan.serialisation.*kFactor; },
          [](JsonReader& r, const char* key, Pins& pins) {
            const json& v = r.raw(key);
            const auto read = [](const json& x, const std::string& at) { return read_whole(x, at, 0, kMostParts); };
            pins.serialisation.*kFactor =
                v.is_object() ? read_integer_pin(r, key, 1, kMostParts).low : read_first(v, r.at(key), read);
          },
          [](const Pins& pins, const std::string&, Plan& plan) {
            plan.serialisation.*kFactor = pins.serialisation.*kFactor;
          }};
}

std::vector<PlanField> make_fields() {
  using enum PlanField::Search;
  return {
      {.name = "tensor_parallel",
       .meaning = "IPUs that share each layer's tensors",
       .search = cell,
       .values = {{"", mesh_value,
                   [](JsonReader& r, const char* key, Pins& pins) { pins.tensor_parallel = read_meshes(r, key); },
                   [](const Pins& pins, const std::string& where, Plan& plan) {
                     plan.tensor_parallel = only(pins.tensor_parallel, where);
                   }}}},
      {.name = "pipeline_stages",
       .meaning = "IPU groups that hold consecutive parts of the model",
       .search = cell,
       .values = {number<&Pins::pipeline_stages, &Plan::pipeline_stages>()}},
      {.name = "replicas",
       .meaning = "copies of the model on different data",
       .search = cell,
       .values = {number<&Pins::replicas, &Plan::replicas>()}},
      {.name = "placement",
       .meaning = "order in which t, p and r count the IPUs, innermost first",
       .search = cell,
       .choices = choices_of<Placement>(),
       .values = {name_or_default<&Pins::placement, &Plan::placement>()}},
      {.name = "micro_batch",
       .meaning = "samples that pass through the model at once",
       .search = cell,
       .values = {number<&Pins::micro_batch, &Plan::micro_batch>()}},
      {.name = "gradient_accumulation",
       .meaning = "micro-batches of a replica per step",
       .search = cell,
       .values = {number<&Pins::gradient_accumulation, &Plan::gradient_accumulation>()}},
      {.name = "stages",
       .meaning = "first unit of each stage, ascending from 0",
       .search = cut,
       .values = {list<&Pins::stages, &Plan::stages, read_ascending>()}},
      {.name = "layers_per_stage",
       .meaning = "short form of stages: layers of each stage",
       .search = cut,
       .values = {{"", nullptr, read_layers_per_stage, nullptr}},
       .is_short_form = true},
      {.name = "stage_ipu",
       .meaning = "IPU group that runs each stage",
       .search = cut,
       .values = {list<&Pins::stage_ipu, &Plan::stage_ipu, read_ipu_groups>()}},
      {.name = "recompute",
       .meaning = "what is stored between a forward pass and its backward pass, by stage: everything (none), a "
                  "checkpoint per layer, or the stage's inputs",
       .search = cut,
       .choices = choices_of<Recompute>(),
       .values = {{"", recompute_value,
                   [](JsonReader& r, const char* key, Pins& pins) {
                     pins.recompute = read_first_cut(r.raw(key), r.at(key), read_modes);
                   },
                   set_recompute}}},
      {.name = "phases",
       .meaning = "phased execution: how many phases",
       .search = cut,
       .values = {{"", [](const Plan& plan) -> json { return plan.phases; }, read_phases,
                   [](const Pins& pins, const std::string& where, Plan& plan) {
                     plan.phases = only(pins.phases, where);
                   }}}},
      {.name = "schedule",
       .meaning = "how the stages of a pipeline take turns",
       .rank = 0,
       .choices = choices_of<Schedule>(),
       .values = {name<&Pins::schedule, &Plan::schedule>()}},
      {.name = "phase_order",
       .meaning = "which loop is outermost: phases, whose weights are then loaded once per pass, or micro-batches",
       .rank = 0,
       .choices = choices_of<PhaseOrder>(),
       .values = {name<&Pins::phase_order, &Plan::phase_order>()},
       .is_of_phases_alone = true},
      {.name = "phase_groups",
       .meaning = "groups of IPUs the phases take turns on: 1, or 2",
       .values = {number<&Pins::phase_groups, &Plan::phase_groups>()},
       .is_of_phases_alone = true},
      {.name = "replicated_tensor_sharding",
       .meaning = "degrees in which equal copies are kept as shards",
       .rank = 1,
       .choices = choices_of<ShardGroups>(),
       .values = {number<&Pins::rts_weights, &Plan::replicated_tensor_sharding, &ReplicatedTensorSharding::weights>(
                      "weights"),
                  number<&Pins::rts_gradients, &Plan::replicated_tensor_sharding, &ReplicatedTensorSharding::gradients>(
                      "gradients"),
                  number<&Pins::rts_optimizer_state, &Plan::replicated_tensor_sharding,
                         &ReplicatedTensorSharding::optimizer_state>("optimizer_state"),
                  name_or_default<&Pins::rts_groups, &Plan::replicated_tensor_sharding,
                                  &ReplicatedTensorSharding::groups>("groups")}},
      {.name = "activation_sharding",
       .meaning = "what tensor_parallel shares of activations",
       .choices = choices_of<ActivationSharding>(),
       .values = {{"", [](const Plan& plan) -> json { return name_of(plan.activation_sharding); },
                   read_activation_sharding,
                   [](const Pins& pins, const std::string& where, Plan& plan) {
                     plan.activation_sharding = only(pins.activation_sharding, where);
                   }}}},
      {.name = "location",
       .meaning = "where tensors and code are between uses",
       .rank = 0,
       .choices = choices_of<Location>(),
       .values = {name<&Pins::weights, &Plan::location, &Locations::weights>("weights"),
                  name<&Pins::gradients, &Plan::location, &Locations::gradients>("gradients"),
                  name<&Pins::optimizer_state, &Plan::location, &Locations::optimizer_state>("optimizer_state"),
                  name<&Pins::activations, &Plan::location, &Locations::activations>("activations"),
                  name<&Pins::code, &Plan::location, &Locations::code>("code")}},
      {.name = "io_tiles",
       .meaning = "tiles of each IPU that transfer instead of computing",
       .values = {{"", [](const Plan& plan) -> json { return plan.io_tiles; },
                   [](JsonReader& r, const char* key, Pins& pins) { pins.io_tiles = read_integer_pin(r, key, 0); },
                   [](const Pins& pins, const std::string& where, Plan& plan) {
                     plan.io_tiles = only(pins.io_tiles, where);
                   }}}},
      {.name = "load",
       .meaning = "when what a phase needs comes in: beside the phase before it, or when the phase begins",
       .choices = choices_of<LoadSchedule>(),
       .values = {name<&Pins::load_weights, &Plan::load, &LoadSchedules::weights>("weights"),
                  name<&Pins::load_code, &Plan::load, &LoadSchedules::code>("code")},
       .read_whole = read_load,
       .is_one_if_equal = true},
      {.name = "prefetch_depth",
       .meaning = "micro-batches of host data staged ahead",
       .values = {number<&Pins::prefetch_depth, &Plan::prefetch_depth>()}},
      {.name = "precision",
       .meaning = "number formats",
       .search = part,
       .values = {format<&Precision::weights>("weights"),
                  format<&Precision::activations>("activations"),
                  format<&Precision::partials>("partials"),
                  format<&Precision::accumulators>("accumulators"),
                  format<&Precision::first_moment>("first_moment"),
                  format<&Precision::second_moment>("second_moment"),
                  {"master", [](const Plan& plan) -> json { return plan.precision.master; }, read_master,
                   [](const Pins& pins, const std::string&, Plan& plan) {
                     plan.precision.master = pins.precision.master;
                   }}},
       .check = check_formats},
      {.name = "available_memory_proportion",
       .meaning = "share of a tile's memory that one product may use for temporaries",
       .search = bound,
       .values = {{"", proportion_value, [](JsonReader& r, const char*, Pins& pins) { read_proportions(r, pins); },
                   set_proportion}}},
      {.name = "serialisation",
       .meaning = "factors by which large ops run in parts; 0: the tile planner decides",
       .search = part,
       .values = {factor<&Serialisation::embedding>("embedding"), factor<&Serialisation::head>("head"),
                  factor<&Serialisation::attention>("attention"),
                  factor<&Serialisation::feed_forward>("feed_forward")}},
  };
}

void read_members(const PlanField& field, JsonReader& plan, Pins& pins) {
  const std::string key(field.name);
  if (field.read_whole != nullptr && !plan.raw(key).is_object()) return field.read_whole(plan, pins);
  JsonReader members = plan.object(key);
  for (const PlanValue& v : field.values) {
    if (const std::string member(v.member); members.has(member)) v.read(members, member.c_str(), pins);
  }
  members.finish();
  if (field.check != nullptr) field.check(members, pins);
}

}  // namespace

void not_one_value(const std::string& where, const char* found) {
  throw Error(where,
              std::string("found ") + found + ", expected one value: a plan in full, as superstep plan --json has it");
}

const std::vector<PlanField>& plan_fields() {
  static const std::vector<PlanField> fields = make_fields();
  return fields;
}

const PlanField* find_plan_field(std::string_view name) {
  const auto it = std::ranges::find(plan_fields(), name, &PlanField::name);
  return it == plan_fields().end() ? nullptr : &*it;
}

Pins read_pins(const json& plan, const std::string& name, const std::string& pointer) {
  JsonReader r(plan, name, pointer);
  Pins pins;
  for (const PlanField& field : plan_fields()) {
    const std::string key(field.name);
    if (!r.has(key)) continue;
    if (field.has_members())
      read_members(field, r, pins);
    else
      field.values[0].read(r, key.c_str(), pins);
  }
  r.finish();
  return pins;
}

Plan plan_of(const Pins& pins, const std::string& where) {
  Plan plan;
  for (const PlanField& field : plan_fields()) {
    for (const PlanValue& v : field.values) {
      if (v.set == nullptr) continue;
      std::string place = where + "#/plan/" + std::string(field.name);
      if (!v.member.empty()) place += "/" + std::string(v.member);
      v.set(pins, place, plan);
    }
  }
  return plan;
}

json value_of(const PlanField& field, const Plan& plan) {
  if (!field.has_members()) return field.values[0].get(plan);
  json members = json::object();
  for (const PlanValue& v : field.values) members[std::string(v.member)] = v.get(plan);
  return members;
}

json to_json(const Proportion& proportion) {
  if (proportion.live == Live::none) return proportion.share;
  return {{"live", name_of(proportion.live)}, {"proportion", proportion.share}};
}

json to_json(const Plan& plan) {
  json out;
  for (const PlanField& field : plan_fields()) {
    if (field.is_short_form) continue;
    json value = value_of(field, plan);
    const bool equal = std::ranges::all_of(value, [&](const json& v) { return v == *value.begin(); });
    out[std::string(field.name)] = field.is_one_if_equal && equal ? json(*value.begin()) : std::move(value);
  }
  return out;
}

}  // namespace superstep
