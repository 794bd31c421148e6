// SPDX-License-Identifier: Apache-2.0
#include "model/software/plan_facts.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace superstep {
namespace {

using nlohmann::json;
using Integers = std::vector<std::int64_t>;

constexpr std::int64_t kDomain = 64;  // IPUs of an IPU-Link domain: V-IPU User Guide, partitions

// Adds the scalars of an object under `prefix`, those of objects in it as "name.member".
void add_scalars(const json& object, const std::string& prefix, PlanFacts& out) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object())
      add_scalars(value, prefix + key + ".", out);
    else if (value.is_primitive())
      out[prefix + key] = value;
  }
}

// Stages of a plan and the units in them.
struct Stages {
  Integers begins, ipus, phases;  // first unit and IPU by stage; first stage by phase

  explicit Stages(const json& plan) : begins(plan.at("stages")), ipus(plan.at("stage_ipu")), phases(plan.at("phases")) {
    if (begins.empty() || phases.empty() || ipus.size() != begins.size()) throw std::out_of_range("stages");
  }
  std::size_t of(std::int64_t unit) const {
    const auto after = std::upper_bound(begins.begin(), begins.end(), unit);
    if (after == begins.begin()) throw std::out_of_range("stages");
    return static_cast<std::size_t>(after - begins.begin() - 1);
  }
  std::int64_t most_per_phase() const {
    std::int64_t most = 0;
    for (std::size_t p = 0; p < phases.size(); ++p) {
      const auto end = p + 1 < phases.size() ? phases[p + 1] : static_cast<std::int64_t>(begins.size());
      most = std::max(most, end - phases[p]);
    }
    return most;
  }
  // Returns the number of stages, where stages that follow each other on one IPU count once.
  std::int64_t steps() const {
    Integers changes = ipus;
    return std::unique(changes.begin(), changes.end()) - changes.begin();
  }
};

std::int64_t tied_ipus(const Stages& stages, const UnitFacts& units) {
  std::map<std::int64_t, std::set<std::int64_t>> users;  // IPUs by owner
  for (const UnitFacts::Tie& tie : units.ties) {
    for (const std::int64_t unit : {tie.owner, tie.borrower}) users[tie.owner].insert(stages.ipus[stages.of(unit)]);
  }
  std::size_t most = 1;
  for (const auto& [owner, ipus] : users) most = std::max(most, ipus.size());
  return static_cast<std::int64_t>(most);
}

bool is_phase_per_layer(const Stages& stages, const Integers& layers) {
  if (stages.phases.size() < 2 || stages.most_per_phase() != 1) return false;
  for (std::size_t unit = 1; unit < layers.size(); ++unit) {
    const bool begins = stages.of(static_cast<std::int64_t>(unit)) != stages.of(static_cast<std::int64_t>(unit) - 1);
    if (begins != (layers[unit] != layers[unit - 1])) return false;
  }
  return true;
}

// Adds how PopRun and V-IPU count the plan's IPUs.
void add_launch(PlanFacts& out) {
  const auto integer = [&](const char* name) { return out.at(name).get<std::int64_t>(); };
  const std::int64_t t = integer("tensor_parallel"), p = integer("pipeline_stages"), r = integer("replicas");
  const bool mesh = t > 1 && p > 1, whole = mesh && out.at("placement") == "t-p-r";
  out["is_mesh_of_pipelines"] = mesh;
  out["launch.replicas"] = whole ? r : t * r;
  out["launch.ipus_per_replica"] = whole ? t * p : p;
  out["link_domains"] = (t * p * r + kDomain - 1) / kDomain;
  out["compilation_domains"] = std::max(integer("link_domains"), integer("run.instances"));
}

// Returns PopART's RecomputationType. "NoRecompute": all tensors are kept. "Pipeline": inputs of stages and checkpoints
// are kept. "RecomputeAll": checkpoints are kept, without a pipeline. "mixed": stages differ in a way that PopART
// cannot express.
std::string recomputation(const json& plan, const Stages& stages, bool is_training) {
  if (!is_training) return "NoRecompute";
  const json& field = plan.at("recompute");
  std::vector<std::string> modes(stages.begins.size());
  for (std::size_t s = 0; s < modes.size(); ++s) modes[s] = field.is_string() ? field : field.at(s);
  if (modes.size() == 1) return modes[0] == "layer" ? "RecomputeAll" : "NoRecompute";
  // The last stage goes backward at once: what follows its last checkpoint is never computed again.
  const auto last = modes.end() - 1;
  const auto keeps = std::count(modes.begin(), last, "none");
  if (keeps == last - modes.begin()) return *last == "layer" ? "mixed" : "NoRecompute";
  return keeps > 0 || plan.at("schedule") == "sequential" ? "mixed" : "Pipeline";
}

void add_job(const json& job, PlanFacts& out) {
  out["task"] = job.value("task", "training");
  const std::string model = job.at("model").value("zoo", "onnx");
  out["model"] = model;
  out["model_family"] = model.substr(0, model.find('-'));
  out.insert({{"optimizer.kind", out["task"] == "training" ? "sgd" : "none"},
              {"optimizer.clip_norm", 0},
              {"optimizer.bias_correction", true},
              {"run.rounding", "nearest"},
              {"run.loss_scale", 1}});
  if (job.contains("optimizer")) add_scalars(job.at("optimizer"), "optimizer.", out);
  if (job.contains("run")) add_scalars(job.at("run"), "run.", out);
}

// Adds the fields of a plan that say nothing about its cuts.
void add_setting(json plan, PlanFacts& out) {
  for (const char* cut : {"stages", "stage_ipu", "phases", "recompute"}) plan.erase(cut);
  add_scalars(plan, "", out);
  const json& t = plan.at("tensor_parallel");
  const std::int64_t t1 = t.is_array() ? t.at(0) : t, t2 = t.is_array() ? t.at(1).get<std::int64_t>() : 1;
  out["tensor_parallel"] = t1 * t2;
  out["tensor_parallel_2"] = t2;
  const json& load = plan.at("load");
  out["load"] = load.is_object() ? load.at("weights") : load;
  std::int64_t most = 1;
  bool is_partial = false;
  for (const auto& [what, value] : plan.at("replicated_tensor_sharding").items()) {
    if (!value.is_number()) continue;
    const std::int64_t degree = value;
    most = std::max(most, degree);
    is_partial = is_partial || (degree > 1 && degree < plan.at("replicas").get<std::int64_t>());
  }
  out["shard_degree"] = most;
  out["is_partly_sharded"] = is_partial;
  const json& location = plan.at("location");
  out["streams"] = std::any_of(location.begin(), location.end(), [](const json& l) { return l == "streaming"; });
}

// Adds the mode of recompute of all stages.
void add_recompute(const json& recompute, PlanFacts& out) {
  const bool one = recompute.is_string();
  const bool equal =
      one || std::all_of(recompute.begin(), recompute.end(), [&](const json& r) { return r == recompute[0]; });
  out["recompute"] = one ? recompute : equal ? recompute.at(0) : json("mixed");
}

}  // namespace

PlanFacts setting_facts(const json& plan, const json& job, bool is_phased) {
  PlanFacts out;
  add_job(job, out);
  add_setting(plan, out);
  const auto integer = [&](const char* name) { return out.at(name).get<std::int64_t>(); };
  out["ipus_per_replica"] = integer("tensor_parallel") * integer("pipeline_stages");
  out["ipus"] = integer("ipus_per_replica") * integer("replicas");
  // A process for each IPU-Link domain, unless the job says how many there are.
  const std::int64_t domains = (integer("ipus") + kDomain - 1) / kDomain;
  if (!out.contains("run.instances")) out["run.instances"] = integer("replicas") % domains == 0 ? domains : 1;
  const std::int64_t instances = std::max<std::int64_t>(1, integer("run.instances"));
  out["local_replicas"] = integer("replicas") / instances;
  out["ipus_per_instance"] = (integer("ipus") + instances - 1) / instances;
  out["is_phased"] = is_phased;
  add_launch(out);
  return out;
}

PlanFacts plan_facts(const json& plan, const json& job, const UnitFacts& units) {
  const Stages stages(plan);
  PlanFacts out = setting_facts(plan, job, stages.phases.size() > 1);
  const bool training = out.at("task") == "training";
  out["stages"] = stages.begins.size();
  out["phases"] = stages.phases.size();
  out["is_pipelined"] = stages.phases.size() == 1 && stages.begins.size() > 1 && plan.at("schedule") != "sequential";
  const auto depth = [&](std::int64_t forward) { return training ? 2 * forward - 1 : forward; };
  out["pipeline_depth"] = depth(stages.steps());
  out["pipeline_depth_from_ipu_0"] = depth(stages.steps() + (stages.ipus.front() == 0 ? 0 : 1));
  out["stage_passes"] = std::ssize(stages.begins) * (training ? 2 : 1);
  out["stage_passes_beside_io"] = std::ssize(stages.begins) * (training ? 2 : 1) + 2;
  out["stages_per_phase"] = stages.most_per_phase();
  out["tied_ipus"] = tied_ipus(stages, units);
  out["is_phase_per_layer"] = is_phase_per_layer(stages, units.layers);
  add_recompute(plan.at("recompute"), out);
  out["recomputation"] = recomputation(plan, stages, training);
  return out;
}

}  // namespace superstep
