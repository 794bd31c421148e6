// SPDX-License-Identifier: Apache-2.0
// No field of a job is taken without effect: another value gives another plan, another program or an error.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/job/plan_fields.h"
#include "planner/report/idle_numbers.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;
using Pointer = json::json_pointer;

// What of a job is for people, or takes effect where no plan is made.
const std::map<std::string, const char*> kElsewhere = {
    {"/$schema", "for editors"},
    {"/description", "for people"},
    {"/notes", "for people"},
    {"/run", "superstep run alone (tests/planner/run)"},
    {"/objective", "what a search looks for (Search.*)"},
    {"/pareto", "axes of a search's front"},
    {"/limits/ipus", "partitions that a search tries (JobParts.*)"},
    {"/train_for", "what time_to_train scores"},
    {"/software", "rules of a search (SoftwareSpace.*)"},
    {"/calibration", "a name of data/calibration: there is one"},
    {"/optimizer/learning_rate", "numbers of superstep run"},
    {"/optimizer/weight_decay", "numbers of superstep run"},
    {"/optimizer/beta1", "numbers of superstep run"},
    {"/optimizer/beta2", "numbers of superstep run"},
    {"/optimizer/epsilon", "numbers of superstep run"},
    {"/optimizer/bias_correction", "numbers of superstep run"},
    {"/optimizer/clip_norm", "numbers of superstep run; a known gap in time"},
    {"/model/dropout", "numbers of superstep run, but for none at all"},
    {"/model/attention_dropout", "numbers of superstep run, but for none at all"},
    {"/model/sequences_per_pack", "what sequences/s are counted by"},
    {"/model/positions", "rows of a table that no pass reads whole"},
    {"/machine/override/streaming/ipu_rate/source", "for people"},
    {"/limits/ddr_bytes_per_ipu", "a limit that the plan keeps"},
    {"/plan/phases/0", "a list with one number is a number of phases, and this is one phase"},
    {"/plan/replicated_tensor_sharding/groups", "two replicas have the same groups either way"},
};

bool is_elsewhere(const std::string& pointer) {
  for (const auto& [prefix, why] : kElsewhere) {
    if (pointer == prefix || pointer.starts_with(prefix + "/")) return true;
  }
  return false;
}

// Returns what comes of a job: its plan and its costs, or the message that refuses it.
std::string outcome(const json& job) {
  try {
    World world(job);
    const Evaluated e = evaluate_pinned(world.tables, 1);
    std::string idle;  // numbers of the machine that are said to have no effect
    for (const std::string& pointer : idle_numbers(world.tables, e)) idle += " " + pointer;
    if (!idle.empty()) idle += " " + job.at("machine").dump();
    return to_json(e.plan).dump() + " " + std::to_string(e.timeline.step.total().value) + " " +
           std::to_string(e.tile_peak) + " " + std::to_string(e.ddr_per_ipu) + " " +
           std::to_string(e.overflows.size()) + idle;
  } catch (const Error& e) {
    return std::string("refused: ") + e.what();
  }
}

// Returns other values that a field might have.
std::vector<json> others(const json& value, const std::vector<json>& names) {
  std::vector<json> out;
  if (value.is_boolean()) return {!value.get<bool>()};
  if (value.is_number_integer()) {
    const std::int64_t n = value;
    for (const std::int64_t v : {2 * n, n + 1, n / 2}) {
      if (v != n) out.push_back(v);
    }
  } else if (value.is_number()) {
    out = {value.get<double>() / 2, std::min(1.0, value.get<double>() * 1.5)};
  } else if (value.is_string()) {
    for (const json& name : names) {
      if (name != value) out.push_back(name);
    }
  }
  return out;
}

// Returns the names that a field of the plan may have, of all members together.
std::vector<json> names_of(const Pointer& at) {
  std::string field = at.back();
  for (Pointer p = at; !p.empty(); p.pop_back()) {
    const PlanField* row = find_plan_field(p.back());
    if (row == nullptr) continue;
    if (row->name == "precision") return {"fp16", "fp32"};
    std::vector<json> out;
    for (const std::string_view name : row->choices) out.emplace_back(name);
    return out;
  }
  static const std::map<std::string, std::vector<json>> others = {
      {"task", {"inference", "training"}},
      {"zoo", {"gpt2-small"}},
      {"head", {"classification", "question_answering", "none"}},
      {"kind", {"adamw", "sgd", "lars"}},
      {"base", {"toy"}},
      {"clock", {"1 GHz"}},
      {"value", {"1 GB/s"}}};
  const auto it = others.find(field);
  return it == others.end() ? std::vector<json>() : it->second;
}

void leaves_of(const json& value, const Pointer& at, std::vector<Pointer>& out) {
  if (!value.is_structured()) {
    out.push_back(at);
    return;
  }
  for (const auto& [key, inner] : value.items()) {
    if (value.is_array())
      leaves_of(inner, at / static_cast<std::size_t>(std::stoul(key)), out);
    else
      leaves_of(inner, at / key, out);
  }
}

// Changes every value of a job, one at a time, but for those that are `without` effect.
void expect_effects(const json& job, const std::set<std::string>& without = {}) {
  const std::string before = outcome(job);
  ASSERT_FALSE(before.starts_with("refused")) << before;
  std::vector<Pointer> leaves;
  leaves_of(job, Pointer(), leaves);
  EXPECT_GE(leaves.size(), 20U);
  for (const Pointer& at : leaves) {
    if (is_elsewhere(at.to_string()) || without.count(at.to_string()) > 0) continue;
    const std::vector<json> values = others(job.at(at), names_of(at));
    EXPECT_FALSE(values.empty()) << at.to_string() << " has no other value to try";
    for (const json& value : values) {
      json changed = job;
      changed[at] = value;
      EXPECT_NE(outcome(changed), before) << at.to_string() << " = " << value << " instead of " << job.at(at);
    }
  }
}

TEST(FieldsHaveEffect, InAPipeline) {
  json job = parse_json_file(data_folder() + "/jobs/every-field.json");
  job["run"].erase("resume");
  expect_effects(job);
}

TEST(FieldsHaveEffect, InPhases) {
  json job = parse_json_file(data_folder() + "/jobs/every-field.json");
  job["run"].erase("resume");
  job["plan"].update({{"phases", {0, 4}},
                      {"stages", {0, 4, 7, 10, 13, 16, 18, 19}},
                      {"stage_ipu", {0, 1, 2, 3, 0, 1, 2, 3}},
                      {"recompute", "stage"}});
  job["plan"]["location"].update({{"weights", "streaming"}, {"activations", "streaming"}, {"code", "streaming"}});
  job["plan"]["replicated_tensor_sharding"]["weights"] = 2;
  job["plan"]["load"] = {{"weights", "preload"}, {"code", "on_demand"}};
  job["plan"]["activation_sharding"] = "stored";
  expect_effects(job);
}

TEST(FieldsHaveEffect, InInference) {
  json job = parse_json_file(data_folder() + "/jobs/every-field.json");
  for (const char* key : {"optimizer", "train_for", "run"}) job.erase(key);
  job["task"] = "inference";
  job["plan"].erase("replicated_tensor_sharding");
  job["plan"]["location"] = {{"weights", "in_processor"}, {"activations", "in_processor"}};
  job["plan"]["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"partials", "fp16"}};
  job["plan"]["recompute"] = "layer";
  expect_effects(job, {"/plan/recompute"});  // there is no backward pass; a plan in full has a mode all the same
}

}  // namespace
}  // namespace superstep
