// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/import.h"
#include "planner/job/job.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/json_reader.h"
#include "model/lower/serialise.h"
#include "model/machine/load_machine.h"
#include "model/software/rules.h"
#include "model/xla/import_file.h"
#include "planner/job/pinned_stages.h"
#include "planner/job/plan_fields.h"
#include "planner/job/read_question.h"
#include "planner/job/read_values.h"

namespace superstep {
namespace {

const Names<RunMode> kRunModes = {{"exact", RunMode::exact}, {"device", RunMode::device}};
const Names<Rounding> kRoundings = {{"nearest", Rounding::nearest}, {"stochastic", Rounding::stochastic}};
const Names<numerics::Overflow> kOverflows = {
    {"infinity", numerics::Overflow::infinity}, {"clip", numerics::Overflow::clip}, {"nan", numerics::Overflow::nan}};

// Returns the path of a file that a job names. The file is looked for in the current folder first, then beside the job.
std::string found_path(const std::string& text, const std::string& job_file) {
  const std::filesystem::path path = text;
  if (path.is_absolute() || std::filesystem::exists(path)) return text;
  return (std::filesystem::path(job_file).parent_path() / path).string();
}

// Returns a list of texts.
std::vector<std::string> read_texts(JsonReader& r, const std::string& key) {
  const nlohmann::json& list = r.raw(key);
  const auto is_text = [](const nlohmann::json& value) {
    return value.is_string() && !value.get<std::string>().empty();
  };
  if (!list.is_array() || !std::ranges::all_of(list, is_text))
    throw Error(r.at(key), "found " + describe(list) + ", expected a list of texts");
  return list.get<std::vector<std::string>>();
}

// Reads a network from a file: the key "onnx" names an ONNX file, "hlo" an XLA program.
void read_network(JsonReader& r, const std::string& key, const std::string& job_file, ModelChoice& m) {
  m.onnx = found_path(r.text(key), job_file);
  m.batch_dimension = static_cast<int>(r.integer_or("batch_dimension", 0, 15, m.batch_dimension));
  m.statistics_group = r.integer_or("statistics_group", 1, kMostInteger, m.statistics_group);
  if (key == "onnx" && r.has("dimensions")) {
    JsonReader dimensions = r.object("dimensions");
    for (const auto& [name, value] : dimensions.value().items())
      m.dimensions[name] = dimensions.integer(name, 1, kMostInteger);
    dimensions.finish();
  }
  if (r.has("frozen")) m.frozen = read_texts(r, "frozen");
  if (key == "hlo" && r.has("weights")) m.weights = read_texts(r, "weights");
  const std::string found = "found " + describe(r.raw(key));
  if (!std::filesystem::exists(m.onnx)) throw Error(r.at(key), found + ", but there is no such file");
  if (is_xla_program(m.onnx) != (key == "hlo"))
    throw Error(r.at(key), found + (key == "hlo" ? ", which is no XLA program (HloProto); expected one, or \"onnx\""
                                                 : ", which is an XLA program; expected an ONNX file, or \"hlo\""));
}

ModelChoice read_model(JsonReader r, const std::string& job_file) {
  ModelChoice m;
  const std::vector<std::string> sources = {"zoo", "onnx", "hlo"};
  const auto given = std::ranges::count_if(sources, [&](const std::string& key) { return r.has(key); });
  if (given != 1) {
    const std::string meant = given > 0 ? "" : r.misspelt(sources);
    throw Error(r.here(), "found " + describe(r.value()) + ", expected exactly one of zoo, onnx and hlo" + meant);
  }
  if (r.has("zoo")) {
    const std::string name = r.name("zoo", zoo_names());
    m.zoo = zoo_spec(name);
    override_numbers(r, *m.zoo);
    const auto* transformer = std::get_if<TransformerSpec>(&*m.zoo);
    m.packed = transformer && transformer->packed;
    m.sequences_per_pack = m.packed ? transformer->sequences_per_pack : 0;
  } else {
    read_network(r, r.has("hlo") ? "hlo" : "onnx", job_file, m);
  }
  r.finish();
  return m;
}

// Throws Error if the job gives a constant that the optimiser kind does not use.
void check_constants(JsonReader& r, const std::string& kind) {
  struct Constants {
    std::vector<const char*> names;
    std::vector<std::string> kinds;  // optimiser kinds that use the constants
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
  run.checkpoint_every = r.integer_or("checkpoint_every", 1, kMostInteger, 0);
  if (run.checkpoint_every > 0 && run.checkpoint.empty())
    throw Error(r.at("checkpoint_every"), "found no checkpoint beside it, expected the file to write");
  if (r.has("resume")) run.resume = found_path(r.text("resume"), job_file);
}

RunChoice read_run(JsonReader r, const std::string& job_file) {
  constexpr std::int64_t kLargestSeed = std::int64_t{1} << 53;  // 2^53: JSON readers disagree on larger integers
  RunChoice run;
  run.data = r.text_or("data", run.data);
  if (run.data.empty()) throw Error(r.at("data"), "found an empty text, expected \"random\" or a folder");
  if (run.data != "random") run.data = found_path(run.data, job_file);
  run.samples = r.integer_or("samples", 1, kMostInteger, 0);
  if (run.samples > 0 && run.data != "random")
    throw Error(r.at("samples"), "found beside a folder of samples, expected data \"random\"");
  run.instances = r.integer_or("instances", 1, kMostInteger, run.instances);
  const std::vector<std::string> sources = {"stored", "random"};
  run.random_weights = r.name_or("weights", sources, "stored") == "random";
  run.steps = r.integer_or("steps", 1, kMostInteger, run.steps);
  run.seed = r.integer_or("seed", 0, kLargestSeed, run.seed);
  if (const nlohmann::json* v = r.raw_or_null("mode")) run.mode = read_name(*v, r.at("mode"), kRunModes);
  const std::vector<std::string> engines = {"own", "openblas"};
  run.openblas = r.name_or("engine", engines, "own") == "openblas";
  if (run.openblas && run.mode == RunMode::exact)
    throw Error(r.at("engine"),
                "found \"openblas\" in exact mode, whose order of summation OpenBLAS does not keep; expected "
                "\"own\", or mode \"device\"");
  run.chunk = r.integer_or("chunk", 1, kMostInteger, run.chunk);
  if (const nlohmann::json* v = r.raw_or_null("rounding")) run.rounding = read_name(*v, r.at("rounding"), kRoundings);
  if (const nlohmann::json* v = r.raw_or_null("overflow")) run.overflow = read_name(*v, r.at("overflow"), kOverflows);
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

// Returns the names of a text or a list, each once.
std::vector<std::string> read_software_names(JsonReader& r) {
  const std::vector<std::string> known = framework_names();
  std::vector<std::string> out;
  const nlohmann::json& given = r.raw("software");
  for (const nlohmann::json& name : given.is_array() ? given : nlohmann::json::array({given})) {
    if (!name.is_string() || std::ranges::find(known, name.get<std::string>()) == known.end()) {
      const std::string hint = name.is_string() ? name_hint(name.get<std::string>(), known) : "";
      throw Error(r.at("software"),
                  "found " + describe(name) + ", expected the name of software, or a list of names" + hint);
    }
    if (std::ranges::find(out, name.get<std::string>()) == out.end()) out.push_back(name);
  }
  if (out.empty()) throw Error(r.at("software"), "found an empty list, expected a name at least");
  return out;
}

// Notes are for people.
void read_notes(JsonReader& r) {
  const nlohmann::json* notes = r.raw_or_null("notes");
  const auto is_text = [](const nlohmann::json& note) { return note.is_string(); };
  if (notes != nullptr && (!notes->is_array() || !std::ranges::all_of(*notes, is_text)))
    throw Error(r.at("notes"), "found " + describe(*notes) + ", expected a list of texts");
}

// Pins the micro-batch of a model that works with one number of samples alone.
void take_fixed_batch(Job& job) {
  const std::int64_t samples = job.model.fixed_batch = fixed_batch(job);
  if (samples == 0) return;
  if (!allows(job.pins.micro_batch, samples))
    throw Error(job.source + "#/plan/micro_batch",
                "found another number than " + std::to_string(samples) + ", but " + job.model.name() +
                    " was exported for that many samples and works with no other number; expected " +
                    std::to_string(samples) + ", or a model that was exported with an open batch (dynamic_axes)");
  job.pins.micro_batch = IntegerPin{{samples}};
}

namespace {

// `before`: a model whose file is taken over if it is the job's, too; null: none.
Job read_job_after(const nlohmann::json& given, const std::string& name, const ModelChoice* before) {
  if (!given.is_object()) throw Error(name, "found " + describe(given) + ", expected an object");
  Job job;
  job.source = name;
  job.given = std::make_shared<const nlohmann::json>(given);
  JsonReader r(given, name);
  r.text_or("description", "");
  r.text_or("$schema", "");
  read_notes(r);
  job.model = read_model(r.object("model"), name);
  job.machine = load_machine(r.raw("machine"), r.at("machine"));
  if (!job.machine.plannable)
    throw Error(r.at("machine"),
                "found " + job.machine.name + ", which serves comparisons only; expected an IPU system");
  const std::vector<std::string> tasks = {"training", "inference"};
  job.task = r.name_or("task", tasks, "training") == "training" ? Task::training : Task::inference;
  if (r.has("plan")) job.pins = read_pins(r.object("plan").value(), name, "/plan");
  read_question(r, job);
  if (r.has("optimizer")) {
    if (job.task == Task::inference) throw Error(r.at("optimizer"), "found an optimizer, but the task is inference");
    job.optimizer = read_optimizer(r.object("optimizer"), job.pins.precision);
  } else {
    job.optimizer.kind = "sgd";
  }
  if (r.has("batch")) {
    JsonReader b = r.object("batch");
    job.global_batch = b.integer("global", 1, kMostInteger);
    b.finish();
  }
  if (r.has("run")) job.run = read_run(r.object("run"), name);
  if (r.has("calibration")) {
    const std::string calibration = r.text("calibration");
    job.machine.calibration = calibration.ends_with(".json") ? found_path(calibration, name) : calibration;
    load_calibration(job.machine.calibration);
  }
  if (r.has("software")) job.software = read_software_names(r);
  r.finish();
  if (before && before->onnx == job.model.onnx)
    job.model.file = before->file;
  else if (!job.model.zoo && !is_xla_program(job.model.onnx))
    job.model.file = std::make_shared<const OnnxFile>(job.model.onnx);
  take_fixed_batch(job);
  resolve_stage_bounds(job);
  return job;
}

}  // namespace

Job read_job(const nlohmann::json& given, const std::string& name) { return read_job_after(given, name, nullptr); }

Job read_again(const Job& job, const nlohmann::json& given) {
  Job out = read_job_after(given, job.source, &job.model);
  out.software = job.software;
  out.measured_alone = job.measured_alone;
  return out;
}

Job load_job(const std::string& path) { return load_job(path, {}); }

namespace {

// Sharding annotations of an XLA program as pins of the plan, where the job pins nothing of the kind.
void pin_sharding(nlohmann::json& job, const std::string& path) {
  if (!job.is_object() || !job.value("/model/hlo"_json_pointer, nlohmann::json()).is_string()) return;
  const ModelChoice model = read_model(JsonReader(job["model"], path, "/model"), path);
  const ProgramFacts facts =
      program_facts(model.onnx, {.batch_dimension = model.batch_dimension, .weights = model.weights});
  nlohmann::json& plan = job["plan"];
  if (!plan.is_null() && !plan.is_object()) return;  // read_job says what is wrong
  if (facts.tensor_parallel > 1 && !plan.contains("tensor_parallel")) plan["tensor_parallel"] = facts.tensor_parallel;
  if (facts.replicas > 1 && !plan.contains("replicas")) plan["replicas"] = facts.replicas;
  if (plan.is_null()) job.erase("plan");
}

}  // namespace

Job load_job(const std::string& path, const std::map<std::string, std::int64_t>& dimensions) {
  nlohmann::json job = parse_json_file(path);
  if (!dimensions.empty() && job.is_object() && job.contains("model") && job["model"].is_object()) {
    for (const auto& [name, value] : dimensions) job["model"]["dimensions"][name] = value;
  }
  pin_sharding(job, path);
  return read_job(job, path);
}

void check_batch(const Job& job) {
  if (job.task != Task::training || job.global_batch > 0 || job.pins.gradient_accumulation) return;
  throw Error(job.source,
              "found neither batch.global nor plan.gradient_accumulation, expected one of them for training");
}

}  // namespace superstep
