// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/run_networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/json_reader.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;

// First units of stages from shares of the units, each stage with one unit at least.
json stages_of(const json& cuts, std::int64_t units) {
  json stages = {0};
  for (const json& share : cuts) {
    const auto later = static_cast<std::int64_t>(cuts.size() + 1 - stages.size());
    const std::int64_t at = std::llround(share.get<double>() * static_cast<double>(units));
    stages.push_back(std::clamp(at, stages.back().get<std::int64_t>() + 1, units - later));
  }
  return stages;
}

std::int64_t ipus_of(const json& plan) {
  const json& t = plan["tensor_parallel"];
  const std::int64_t shards =
      t.is_array() ? t[0].get<std::int64_t>() * t[1].get<std::int64_t>() : t.get<std::int64_t>();
  return shards * plan["pipeline_stages"].get<std::int64_t>() * plan["replicas"].get<std::int64_t>();
}

json job_of(json job, const json& entry, const NetworkCase& as, const std::string& folder) {
  for (const char* key : {"optimizer", "plan", "run"})
    if (entry.contains(key)) job[key].merge_patch(entry[key]);
  job["run"]["chunk"] = as.chunk;
  job["plan"]["micro_batch"] = job["plan"]["micro_batch"].get<std::int64_t>() * as.micro_batch_times;
  const json plan = job["plan"];
  job["model"] = {{"onnx", folder + "/train.onnx"}};
  job["machine"]["partition"] = ipus_of(plan);
  job["batch"] = {{"global", plan["replicas"].get<std::int64_t>() * plan["micro_batch"].get<std::int64_t>() *
                                 plan["gradient_accumulation"].get<std::int64_t>()}};
  job["run"]["data"] = folder + "/test_data_set_0";
  if (entry.contains("cuts")) {
    World world(job);
    const auto units = world.tables.facts(plan["micro_batch"]).graph.units.size();
    job["plan"]["stages"] = stages_of(entry["cuts"], static_cast<std::int64_t>(units));
  }
  return job;
}

NetworkRun run_one(const json& job) {
  World world(job);
  const SearchResult found = search(
      world.tables, {.top = 1, .pareto = false, .find_fix = false, .explain = explain_infeasible, .defaults = true});
  if (found.best.empty() && !found.closest) throw Error("", "the plan is not legal");
  const Plan plan = found.best.empty() ? found.closest.value() : found.best[0].plan;
  NetworkRun run{.name = {}, .optimizer = job["optimizer"]["kind"], .label = label(plan), .outcome = {}};
  run.fp32 = plan.precision.weights == DType::fp32;
  run.outcome = run_job(world.tables, plan, evaluate_in_full(world.tables, plan).program, {});
  run.nodes = std::all_of(run.outcome.cuts.begin(), run.outcome.cuts.end(), [](const auto& c) { return c.nodes; });
  return run;
}

}  // namespace

std::vector<NetworkRun> run_network(const NetworkCase& as, const std::string& folder) {
  const json file = parse_json_file(SUPERSTEP_TESTS "/planner/run_networks.json");
  std::vector<NetworkRun> runs;
  for (const json& entry : file.at(as.list)) {
    const std::string name = entry["name"];
    try {
      runs.push_back(run_one(job_of(file["base"], entry, as, folder)));
    } catch (const Error& e) {
      throw Error(folder + ", " + name, e.what());
    }
    runs.back().name = name;
  }
  return runs;
}

void expect_plain(const std::string& network, const std::vector<NetworkRun>& runs, std::size_t nodes) {
  std::size_t found = 0;
  for (const NetworkRun& r : runs) {
    SCOPED_TRACE(network + ", " + r.name);
    EXPECT_FALSE(r.outcome.failure);
    if (r.nodes) {
      ++found;
      EXPECT_TRUE(r.outcome.difference.identical);
    } else if (r.fp32) {
      EXPECT_LE(r.outcome.steps.at(0).difference.max_abs, 1e-5) << r.outcome.steps[0].difference.worst;
    }
  }
  EXPECT_GE(found, nodes) << network;
}

}  // namespace superstep::test
