// SPDX-License-Identifier: Apache-2.0
#include "planner/job/job.h"

#include <algorithm>
#include <filesystem>

#include "model/error.h"
#include "model/json_reader.h"
#include "model/lower/serialise.h"
#include "model/machine/load_machine.h"
#include "planner/job/read_proportions.h"
#include "planner/job/read_question.h"

namespace superstep {
namespace {

constexpr std::int64_t kMost = 1'000'000'000;

template <class E>
E parse_name(const nlohmann::json& v, const std::string& where, const std::vector<std::pair<std::string, E>>& names) {
  std::vector<std::string> valid;
  for (const auto& [name, value] : names) valid.push_back(name);
  if (!v.is_string()) throw Error(where, "found " + describe(v) + ", expected a name" + name_hint("", valid));
  for (const auto& [name, value] : names) {
    if (name == v.get<std::string>()) return value;
  }
  throw Error(where, "found " + describe(v) + name_hint(v.get<std::string>(), valid));
}

const std::vector<std::pair<std::string, Schedule>> kSchedules = {
    {"sequential", Schedule::sequential}, {"interleaved", Schedule::interleaved}, {"grouped", Schedule::grouped}};
const std::vector<std::pair<std::string, Recompute>> kRecomputes = {
    {"none", Recompute::none}, {"layer", Recompute::layer}, {"stage", Recompute::stage}};
const std::vector<std::pair<std::string, Location>> kLocations = {{"in_processor", Location::in_processor},
                                                                  {"streaming", Location::streaming},
                                                                  {"remote_machine", Location::remote_machine},
                                                                  {"remote_ipu", Location::remote_ipu}};
const std::vector<std::pair<std::string, PhaseOrder>> kOrders = {{"phase_outer", PhaseOrder::phase_outer},
                                                                 {"micro_batch_outer", PhaseOrder::micro_batch_outer}};
const std::vector<std::pair<std::string, Placement>> kPlacementNames = {
    {"t-p-r", Placement::t_p_r}, {"p-t-r", Placement::p_t_r}, {"t-r-p", Placement::t_r_p},
    {"p-r-t", Placement::p_r_t}, {"r-t-p", Placement::r_t_p}, {"r-p-t", Placement::r_p_t}};
const std::vector<std::pair<std::string, ShardGroups>> kShardGroups = {{"consecutive", ShardGroups::consecutive},
                                                                       {"orthogonal", ShardGroups::orthogonal}};
const std::vector<std::pair<std::string, ActivationSharding>> kActivationShardings = {
    {"none", ActivationSharding::none},
    {"stored", ActivationSharding::stored},
    {"throughout", ActivationSharding::throughout}};
const std::vector<std::pair<std::string, LoadSchedule>> kLoads = {{"preload", LoadSchedule::preload},
                                                                  {"on_demand", LoadSchedule::on_demand}};
const std::vector<std::pair<std::string, RunMode>> kRunModes = {{"exact", RunMode::exact}, {"device", RunMode::device}};
const std::vector<std::pair<std::string, Rounding>> kRoundings = {{"nearest", Rounding::nearest},
                                                                  {"stochastic", Rounding::stochastic}};
const std::vector<std::pair<std::string, numerics::Overflow>> kOverflows = {
    {"infinity", numerics::Overflow::infinity}, {"clip", numerics::Overflow::clip}, {"nan", numerics::Overflow::nan}};
const std::vector<std::pair<std::string, DType>> kTypes = {{"fp16", DType::fp16}, {"fp32", DType::fp32}};

std::int64_t whole(const nlohmann::json& v, const std::string& where, std::int64_t low, std::int64_t high) {
  const nlohmann::json holder = {{"v", v}};
  JsonReader r(holder, "");
  try {
    return r.integer("v", low, high);
  } catch (const Error& e) {
    const std::string text = e.what();
    throw Error(where, text.substr(text.find(": ") == std::string::npos ? 0 : text.find(": ") + 2));
  }
}

IntegerPin integer_pin(JsonReader& r, const char* key, std::int64_t low = 1, std::int64_t most = kMost) {
  const nlohmann::json& v = r.raw(key);
  IntegerPin pin;
  if (v.is_object()) {
    JsonReader range = r.object(key);
    pin.low = range.integer_or("min", low, most, low);
    pin.high = range.integer_or("max", low, most, most);
    range.finish();
    if (pin.low > pin.high)
      throw Error(r.at(key), "min " + std::to_string(pin.low) + " is above max " + std::to_string(pin.high));
    return pin;
  }
  if (v.is_array()) {
    if (v.empty()) throw Error(r.at(key), "found an empty list, expected at least one value");
    for (std::size_t i = 0; i < v.size(); ++i)
      pin.values.push_back(whole(v[i], r.at(key) + "/" + std::to_string(i), low, most));
  } else {
    pin.values.push_back(whole(v, r.at(key), low, most));
  }
  return pin;
}

template <class E>
std::vector<E> name_pin(JsonReader& r, const char* key, const std::vector<std::pair<std::string, E>>& names) {
  const nlohmann::json& v = r.raw(key);
  std::vector<E> out;
  if (!v.is_array()) return {parse_name(v, r.at(key), names)};
  if (v.empty()) throw Error(r.at(key), "found an empty list, expected at least one value");
  for (std::size_t i = 0; i < v.size(); ++i)
    out.push_back(parse_name(v[i], r.at(key) + "/" + std::to_string(i), names));
  return out;
}

// A cut, or the first of several, which are searched one by one (job_parts.h). `read` has its place for messages.
template <class Read>
auto cut_or_first(JsonReader& r, const char* key, const Read& read) {
  const nlohmann::json& v = r.raw(key);
  if (!is_list_of_cuts(v)) return read(v, r.at(key));
  auto first = read(v[0], r.at(key) + "/0");
  for (std::size_t i = 1; i < v.size(); ++i) read(v[i], r.at(key) + "/" + std::to_string(i));
  return first;
}

std::vector<std::int64_t> numbers(const nlohmann::json& v, const std::string& where, const std::string& expected) {
  if (!v.is_array() || v.empty()) throw Error(where, "found " + describe(v) + ", expected " + expected);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < v.size(); ++i) out.push_back(whole(v[i], where + "/" + std::to_string(i), 0, kMost));
  return out;
}

std::vector<std::int64_t> ascending(const nlohmann::json& v, const std::string& where) {
  const std::vector<std::int64_t> out = numbers(v, where, "a list of first units, ascending from 0");
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i] <= out[i - 1])
      throw Error(where + "/" + std::to_string(i), "found " + std::to_string(out[i]) + " after " +
                                                       std::to_string(out[i - 1]) + ", expected ascending values");
  }
  if (out[0] != 0)
    throw Error(where + "/0",
                "found " + std::to_string(out[0]) + ", expected 0: the first one begins with the first unit");
  return out;
}

std::vector<TensorParallel> tensor_pin(JsonReader& r) {
  const nlohmann::json& v = r.raw("tensor_parallel");
  const std::string where = r.at("tensor_parallel");
  auto one = [&](const nlohmann::json& x, const std::string& place) {
    if (!x.is_array()) return TensorParallel{whole(x, place, 1, kMost), 1};
    if (x.size() != 2) throw Error(place, "found a list of " + std::to_string(x.size()) + ", expected [t1, t2]");
    return TensorParallel{whole(x[0], place + "/0", 1, kMost), whole(x[1], place + "/1", 1, kMost)};
  };
  if (v.is_array() && v.empty()) throw Error(where, "found an empty list, expected at least one value");
  // A list with lists, or of more than two numbers, is several alternatives; [8, 8] is one mesh.
  const auto is_list = [](const nlohmann::json& x) { return x.is_array(); };
  if (v.is_array() && (v.size() > 2 || std::any_of(v.begin(), v.end(), is_list))) {
    std::vector<TensorParallel> all;
    for (std::size_t i = 0; i < v.size(); ++i) all.push_back(one(v[i], where + "/" + std::to_string(i)));
    return all;
  }
  if (v.is_object()) {
    const IntegerPin range = integer_pin(r, "tensor_parallel");
    std::vector<TensorParallel> all;
    for (std::int64_t t = range.low; t <= std::min<std::int64_t>(range.high, 4096); ++t) all.push_back({t, 1});
    return all;
  }
  return {one(v, where)};
}

std::vector<Recompute> recompute_modes(const nlohmann::json& v, const std::string& where) {
  if (v.is_string()) return {parse_name(v, where, kRecomputes)};
  if (!v.is_array() || v.empty())
    throw Error(where, "found " + describe(v) + ", expected a mode or one mode per stage");
  std::vector<Recompute> per_stage;
  for (std::size_t i = 0; i < v.size(); ++i)
    per_stage.push_back(parse_name(v[i], where + "/" + std::to_string(i), kRecomputes));
  return per_stage;
}

// Cuts begin with the first stage.
void read_phases(JsonReader& r, Pins& pins) {
  const nlohmann::json& v = r.raw("phases");
  if (is_list_of_cuts(v) || (v.is_array() && !v.empty() && v[0] == 0))
    pins.phases = cut_or_first(r, "phases", ascending);
  else
    pins.phase_count = integer_pin(r, "phases");
}

// A value, or the first of a list, whose values are searched one by one (job_parts.h). `read` has its place for
// messages.
template <class Read>
auto value_or_first(const nlohmann::json& v, const std::string& where, const Read& read) {
  if (!v.is_array()) return read(v, where);
  if (v.empty()) throw Error(where, "found an empty list, expected at least one value");
  auto first = read(v[0], where + "/0");
  for (std::size_t i = 1; i < v.size(); ++i) read(v[i], where + "/" + std::to_string(i));
  return first;
}

Precision read_precision(JsonReader r) {
  Precision p;
  bool lists = false;
  auto type = [&](const char* key, DType& field) {
    const nlohmann::json* v = r.raw_or_null(key);
    if (!v) return;
    lists = lists || v->is_array();
    field = value_or_first(*v, r.at(key), [](const auto& x, const auto& at) { return parse_name(x, at, kTypes); });
  };
  type("weights", p.weights);
  p.activations = p.weights;
  type("activations", p.activations);
  type("partials", p.partials);
  type("accumulators", p.accumulators);
  type("first_moment", p.first_moment);
  type("second_moment", p.second_moment);
  if (const nlohmann::json* v = r.raw_or_null("master")) {
    p.master = value_or_first(*v, r.at("master"), [](const nlohmann::json& x, const std::string& at) {
      if (!x.is_boolean()) throw Error(at, "found " + describe(x) + ", expected true or false");
      return x.get<bool>();
    });
  }
  r.finish();
  if (p.weights != p.activations && !lists)
    throw Error(r.at("activations"), "found types that differ from weights; matrix products need operands of one type");
  return p;
}

Serialisation read_serialisation(JsonReader r) {
  const auto factor = [&](const char* key) -> std::int64_t {
    const nlohmann::json* v = r.raw_or_null(key);
    if (!v) return 0;
    if (v->is_object()) return integer_pin(r, key, 1, kMostParts).low;
    return value_or_first(*v, r.at(key), [](const auto& x, const auto& at) { return whole(x, at, 0, kMostParts); });
  };
  const Serialisation out{factor("embedding"), factor("head"), factor("attention"), factor("feed_forward")};
  r.finish();
  return out;
}

void read_locations(JsonReader r, Pins& pins) {
  auto place = [&](const char* key, std::vector<Location>& field) {
    if (r.has(key)) field = name_pin(r, key, kLocations);
  };
  place("weights", pins.weights);
  place("gradients", pins.gradients);
  place("optimizer_state", pins.optimizer_state);
  place("activations", pins.activations);
  place("code", pins.code);
  r.finish();
}

// Of all that comes with a phase, or of each kind.
void read_load(JsonReader& r, Pins& pins) {
  if (!r.raw("load").is_object()) {
    pins.load_weights = pins.load_code = name_pin(r, "load", kLoads);
    return;
  }
  JsonReader of = r.object("load");
  if (of.has("weights")) pins.load_weights = name_pin(of, "weights", kLoads);
  if (of.has("code")) pins.load_code = name_pin(of, "code", kLoads);
  of.finish();
}

void read_sharding(JsonReader r, Pins& pins) {
  if (r.has("weights")) pins.rts_weights = integer_pin(r, "weights");
  if (r.has("gradients")) pins.rts_gradients = integer_pin(r, "gradients");
  if (r.has("optimizer_state")) pins.rts_optimizer_state = integer_pin(r, "optimizer_state");
  if (r.has("groups")) pins.rts_groups = name_pin(r, "groups", kShardGroups);
  r.finish();
}

Pins read_pins(JsonReader r) {
  Pins pins;
  if (r.has("tensor_parallel")) pins.tensor_parallel = tensor_pin(r);
  if (r.has("pipeline_stages")) pins.pipeline_stages = integer_pin(r, "pipeline_stages");
  if (r.has("replicas")) pins.replicas = integer_pin(r, "replicas");
  if (r.has("placement")) pins.placement = name_pin(r, "placement", kPlacementNames);
  if (r.has("micro_batch")) pins.micro_batch = integer_pin(r, "micro_batch");
  if (r.has("gradient_accumulation")) pins.gradient_accumulation = integer_pin(r, "gradient_accumulation");
  const auto counts = [](const char* expected) {
    return [=](const nlohmann::json& v, const std::string& where) { return numbers(v, where, expected); };
  };
  if (r.has("stages")) pins.stages = cut_or_first(r, "stages", ascending);
  if (r.has("layers_per_stage")) {
    pins.layers_per_stage = cut_or_first(r, "layers_per_stage", counts("a list of layer counts, one per stage"));
    if (pins.stages) throw Error(r.at("layers_per_stage"), "found beside stages, expected one of the two");
  }
  if (r.has("stage_ipu")) pins.stage_ipu = cut_or_first(r, "stage_ipu", counts("one IPU group per stage"));
  if (r.has("phases")) read_phases(r, pins);
  if (r.has("schedule")) pins.schedule = name_pin(r, "schedule", kSchedules);
  if (r.has("recompute")) pins.recompute = cut_or_first(r, "recompute", recompute_modes);
  if (r.has("phase_order")) pins.phase_order = name_pin(r, "phase_order", kOrders);
  if (r.has("phase_groups")) pins.phase_groups = integer_pin(r, "phase_groups");
  if (r.has("replicated_tensor_sharding")) read_sharding(r.object("replicated_tensor_sharding"), pins);
  if (r.has("activation_sharding")) {
    const nlohmann::json& v = r.raw("activation_sharding");
    if (v.is_boolean())
      pins.activation_sharding = {v.get<bool>() ? ActivationSharding::stored : ActivationSharding::none};
    else
      pins.activation_sharding = name_pin(r, "activation_sharding", kActivationShardings);
  }
  if (r.has("location")) read_locations(r.object("location"), pins);
  if (r.has("io_tiles")) pins.io_tiles = integer_pin(r, "io_tiles", 0);
  if (r.has("load")) read_load(r, pins);
  if (r.has("prefetch_depth")) pins.prefetch_depth = integer_pin(r, "prefetch_depth");
  if (r.has("precision")) pins.precision = read_precision(r.object("precision"));
  if (r.has("available_memory_proportion")) read_proportions(r, pins);
  if (r.has("serialisation")) pins.serialisation = read_serialisation(r.object("serialisation"));
  r.finish();
  return pins;
}

// A path that a job gives: from where the program runs, or from where the job lies.
std::string found_path(const std::string& text, const std::string& job_file) {
  const std::filesystem::path path = text;
  if (path.is_absolute() || std::filesystem::exists(path)) return text;
  return (std::filesystem::path(job_file).parent_path() / path).string();
}

ModelChoice read_model(JsonReader r, const std::string& job_file) {
  ModelChoice m;
  if (r.has("zoo") == r.has("onnx")) {
    const std::vector<std::string> either = {"zoo", "onnx"};
    const std::string meant = r.has("zoo") ? "" : r.misspelt(either);
    throw Error(r.here(), "found " + describe(r.value()) + ", expected exactly one of zoo and onnx" + meant);
  }
  if (r.has("zoo")) {
    const std::string name = r.name("zoo", zoo_names());
    m.zoo = zoo_spec(name);
    override_numbers(r, *m.zoo);
    const auto* transformer = std::get_if<TransformerSpec>(&*m.zoo);
    m.packed = transformer && transformer->packed;
  } else {
    m.onnx = found_path(r.text("onnx"), job_file);
    m.batch_dimension = static_cast<int>(r.integer_or("batch_dimension", 0, 15, m.batch_dimension));
    m.statistics_group = r.integer_or("statistics_group", 1, kMost, m.statistics_group);
    if (!std::filesystem::exists(m.onnx))
      throw Error(r.at("onnx"), "found " + describe(r.raw("onnx")) + ", but there is no such file");
  }
  r.finish();
  return m;
}

// Throws Error where there is one that the kind does not use.
void check_constants(JsonReader& r, const std::string& kind) {
  struct Constants {
    std::vector<const char*> names;
    std::vector<std::string> kinds;  // that use them
  };
  static const std::vector<Constants> all = {
      {{"momentum"}, {"sgd_momentum", "lars"}},
      {{"beta1", "beta2", "epsilon", "bias_correction"}, {"adam", "adamw", "lamb"}},
      {{"trust_coefficient"}, {"lars"}}};
  for (const Constants& c : all) {
    if (std::ranges::find(c.kinds, kind) != c.kinds.end()) continue;
    for (const char* name : c.names) {
      if (r.has(name))
        throw Error(r.at(name), "found a constant of optimizers such as " + c.kinds[0] + ", but the kind is " + kind);
    }
  }
}

OptimizerSpec read_optimizer(JsonReader r, const Precision& precision) {
  OptimizerSpec o;
  o.kind = r.name("kind", optimizer_kinds());
  check_constants(r, o.kind);
  o.learning_rate = r.number_or("learning_rate", 0, 1e6, o.learning_rate);
  o.momentum = r.number_or("momentum", 0, 1, o.momentum);
  o.weight_decay = r.number_or("weight_decay", 0, 1e3, o.kind == "adamw" || o.kind == "lamb" ? 0.01 : o.weight_decay);
  o.beta1 = r.number_or("beta1", 0, 1, o.beta1);
  o.beta2 = r.number_or("beta2", 0, 1, o.beta2);
  o.epsilon = r.number_or("epsilon", 0, 1, o.kind == "lamb" ? 1e-6 : o.epsilon);
  o.bias_correction = r.boolean_or("bias_correction", o.bias_correction);
  o.trust_coefficient = r.number_or("trust_coefficient", 0, 1e3, o.trust_coefficient);
  o.clip_norm = r.number_or("clip_norm", 0, 1e30, o.clip_norm);
  o.first_moment = precision.first_moment;
  o.second_moment = precision.second_moment;
  o.master_weights = precision.master;
  r.finish();
  return o;
}

void read_loss_scale(JsonReader& r, RunChoice& run) {
  const nlohmann::json* v = r.raw_or_null("loss_scale");
  if (v && v->is_string()) {
    run.automatic_loss_scale = *v == "auto";
    if (!run.automatic_loss_scale)
      throw Error(r.at("loss_scale"), "found " + describe(*v) + ", expected a factor above 0, or \"auto\"");
    return;
  }
  run.loss_scale = r.number_or("loss_scale", 0, 1e30, run.loss_scale);
  if (run.loss_scale == 0) throw Error(r.at("loss_scale"), "found 0, expected a factor above 0, or \"auto\"");
}

void read_checkpoints(JsonReader& r, const std::string& job_file, RunChoice& run) {
  run.checkpoint = r.text_or("checkpoint", "");
  run.checkpoint_every = r.integer_or("checkpoint_every", 1, kMost, 0);
  if (run.checkpoint_every > 0 && run.checkpoint.empty())
    throw Error(r.at("checkpoint_every"), "found no checkpoint beside it, expected the file to write");
  if (r.has("resume")) run.resume = found_path(r.text("resume"), job_file);
}

RunChoice read_run(JsonReader r, const std::string& job_file) {
  constexpr std::int64_t kLargestSeed = std::int64_t{1} << 53;  // beyond, JSON readers disagree on integers
  RunChoice run;
  run.data = r.text_or("data", run.data);
  if (run.data.empty()) throw Error(r.at("data"), "found an empty text, expected \"random\" or a folder");
  if (run.data != "random") run.data = found_path(run.data, job_file);
  run.samples = r.integer_or("samples", 1, kMost, 0);
  if (run.samples > 0 && run.data != "random")
    throw Error(r.at("samples"), "found beside a folder of samples, expected data \"random\"");
  run.instances = r.integer_or("instances", 1, kMost, run.instances);
  const std::vector<std::string> sources = {"stored", "random"};
  run.random_weights = r.name_or("weights", sources, "stored") == "random";
  run.steps = r.integer_or("steps", 1, kMost, run.steps);
  run.seed = r.integer_or("seed", 0, kLargestSeed, run.seed);
  if (const nlohmann::json* v = r.raw_or_null("mode")) run.mode = parse_name(*v, r.at("mode"), kRunModes);
  const std::vector<std::string> engines = {"own", "openblas"};
  run.openblas = r.name_or("engine", engines, "own") == "openblas";
  if (run.openblas && run.mode == RunMode::exact)
    throw Error(r.at("engine"),
                "found \"openblas\" in exact mode, whose order of summation OpenBLAS does not keep; expected "
                "\"own\", or mode \"device\"");
  run.chunk = r.integer_or("chunk", 1, kMost, run.chunk);
  if (const nlohmann::json* v = r.raw_or_null("rounding")) run.rounding = parse_name(*v, r.at("rounding"), kRoundings);
  if (const nlohmann::json* v = r.raw_or_null("overflow")) run.overflow = parse_name(*v, r.at("overflow"), kOverflows);
  read_loss_scale(r, run);
  read_checkpoints(r, job_file, run);
  r.finish();
  return run;
}

}  // namespace

bool may_be_phased(const Job& job) {
  const Pins& pins = job.pins;
  const auto stays = [](Location l) { return l == Location::in_processor; };
  const bool weights_stay = !pins.weights.empty() && std::ranges::all_of(pins.weights, stays);
  return job.machine.has_streaming() && !pins.one_phase() && !weights_stay &&
         (!pins.has_stage_modes() || pins.has_stages());
}

bool has_members(const nlohmann::json& pin) {
  return pin.is_object() && !pin.contains("min") && !pin.contains("max") && !pin.contains("live");
}

bool is_list_of_cuts(const nlohmann::json& pin) {
  return pin.is_array() && std::ranges::any_of(pin, [](const nlohmann::json& v) { return v.is_array(); });
}

std::int64_t Pins::stage_count() const {
  if (stages) return std::ssize(*stages);
  if (layers_per_stage) return std::ssize(*layers_per_stage);
  return has_stage_modes() ? std::ssize(recompute) : 0;
}

bool IntegerPin::allows(std::int64_t v) const {
  if (values.empty()) return v >= low && v <= high;
  return std::find(values.begin(), values.end(), v) != values.end();
}

std::string ModelChoice::name() const { return zoo ? name_of(*zoo) : std::filesystem::path(onnx).filename().string(); }

Job read_job(const nlohmann::json& json, const std::string& name) {
  if (!json.is_object()) throw Error(name, "found " + describe(json) + ", expected an object");
  Job job;
  job.source = name;
  job.json = json;
  JsonReader r(json, name);
  r.text_or("description", "");
  r.text_or("$schema", "");
  job.model = read_model(r.object("model"), name);
  job.machine = load_machine(r.raw("machine"), r.at("machine"));
  if (!job.machine.plannable)
    throw Error(r.at("machine"),
                "found " + job.machine.name + ", which serves comparisons only; expected an IPU system");
  const std::vector<std::string> tasks = {"training", "inference"};
  job.task = r.name_or("task", tasks, "training") == "training" ? Task::training : Task::inference;
  if (r.has("plan")) job.pins = read_pins(r.object("plan"));
  read_question(r, job);
  if (r.has("optimizer")) {
    if (job.task == Task::inference) throw Error(r.at("optimizer"), "found an optimizer, but the task is inference");
    job.optimizer = read_optimizer(r.object("optimizer"), job.pins.precision);
  } else {
    job.optimizer.kind = "sgd";
  }
  if (r.has("batch")) {
    JsonReader b = r.object("batch");
    job.global_batch = b.integer("global", 1, kMost);
    b.finish();
  }
  if (r.has("run")) job.run = read_run(r.object("run"), name);
  r.finish();
  return job;
}

Pins read_pins(const nlohmann::json& plan, const std::string& name, const std::string& pointer) {
  return read_pins(JsonReader(plan, name, pointer));
}

Job load_job(const std::string& path) { return read_job(parse_json_file(path), path); }

void check_batch(const Job& job) {
  if (job.task != Task::training || job.global_batch > 0 || job.pins.gradient_accumulation) return;
  throw Error(job.source,
              "found neither batch.global nor plan.gradient_accumulation, expected one of them for training");
}

}  // namespace superstep
