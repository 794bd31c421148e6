// SPDX-License-Identifier: Apache-2.0
// The count of the declared space against rules written independently, its listing, and what a search accounts for.
#include "planner/space/space_count.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "planner/cuts/pinned_cuts.h"
#include "planner/search/search.h"
#include "planner/space/job_parts.h"
#include "planner/space/space.h"
#include "planner/space/space_fields.h"
#include "tests/planner/all_cuts.h"
#include "tests/planner/space_oracle.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;

struct Case {
  std::string name;
  json job;
};

json transformer(const json& numbers, const json& machine, std::int64_t batch, const json& plan) {
  json job = test::small_job("gpt2-small", {{"layers", 1}, {"hidden", 64}, {"heads", 4}, {"vocabulary", 500}}, machine);
  job["model"]["sequence_length"] = 32;
  if (!numbers.is_null()) job["model"].update(numbers);
  job["batch"] = {{"global", batch}};
  job["plan"] = plan;
  return job;
}

json partition(const std::string& base, std::int64_t ipus) { return {{"base", base}, {"partition", ipus}}; }

// A machine of so many IPUs, which nobody sells.
json with_ipus(std::int64_t ipus, std::int64_t per_machine) {
  json machine = {{"base", "ipu-pod64"}};
  machine["override"] = {{"ipus", {{"value", ipus}, {"source", "invented"}}},
                         {"ipus_per_machine", {{"value", per_machine}, {"source", "invented"}}}};
  return machine;
}

json without(json job, const std::string& key) {
  job.erase(key);
  return job;
}

json for_inference(json job) {
  job["task"] = "inference";
  return without(std::move(job), "optimizer");
}

// Pins leave values out, and add none.
TEST(SpaceCount, RangesOfMicroBatchesHaveNoneThatAFreeOneHasNot) {
  json job = without(transformer({}, "ipu-pod4", 16, json::object()), "batch");
  const auto of = [&](const json& pin) {
    if (!pin.is_null()) job["plan"]["micro_batch"] = pin;
    std::set<std::int64_t> all;
    for (const Cell& cell : cells(read_job(job, "test"))) all.insert(cell.micro_batch);
    return all;
  };
  const std::set<std::int64_t> free = of(nullptr);
  EXPECT_EQ(free.size(), 11);
  EXPECT_EQ(*free.rbegin(), kMostMicroBatch);
  EXPECT_EQ(of({{"min", 1}}), free);
  EXPECT_EQ(of({{"min", 3}, {"max", 9}}), (std::set<std::int64_t>{4, 8}));
  EXPECT_EQ(of({{"min", 5}, {"max", 7}}), std::set<std::int64_t>{5});
}

std::map<std::string, json> fields_of(const json& plan) {
  json given = transformer({}, "ipu-pod4", 16, plan);
  test::let_fill_tiles(given);
  const Job job = read_job(given, "test");
  std::map<std::string, json> out;
  for (const SpaceField& f : space_fields(job, job_parts(job), 0)) out[f.name] = f.values;
  return out;
}

TEST(SpaceFields, HaveWhatPinsLeave) {
  const auto pinned = fields_of({{"schedule", {"grouped", "sequential"}},
                                 {"location", {{"code", "streaming"}}},
                                 {"replicas", {{"min", 2}}},
                                 {"io_tiles", {{"min", 40}}},
                                 {"replicated_tensor_sharding", {{"weights", {{"max", 2}}}}},
                                 {"prefetch_depth", 2},
                                 {"recompute", "layer"},
                                 {"phases", {{"min", 3}}},
                                 {"available_memory_proportion", {{"min", 0.1}, {"max", 0.3}}}});
  EXPECT_EQ(pinned.at("schedule"), json({"grouped"}));  // that of phases, all of one direction
  EXPECT_EQ(pinned.at("location.code"), json({"streaming"}));
  EXPECT_EQ(pinned.at("location.weights"), json({"streaming", "remote_ipu"}));
  EXPECT_EQ(pinned.at("replicas"), json({2, 4}));
  EXPECT_EQ(pinned.at("io_tiles"), json({64, 128}));
  EXPECT_EQ(pinned.at("replicated_tensor_sharding.weights"), json({1, 2}));
  EXPECT_EQ(pinned.at("prefetch_depth"), json({2}));
  EXPECT_EQ(pinned.at("recompute"), json({"layer"}));
  EXPECT_EQ(pinned.at("phases"), "every contiguous cut into 3 or more");
  EXPECT_EQ(pinned.at("available_memory_proportion").get<std::string>().find("0.1 to 0.3 of a tile for temporary"), 0);
}

TEST(SpaceFields, AreListsWhereTheyAreFree) {
  const auto free = fields_of(json::object());
  EXPECT_EQ(free.at("schedule"), json({"sequential", "interleaved", "grouped"}));
  EXPECT_EQ(free.at("location.weights"), json({"in_processor", "streaming", "remote_ipu"}));
  EXPECT_EQ(free.at("replicated_tensor_sharding.optimizer_state"), json({1, 2, 4}));
  EXPECT_EQ(free.at("phase_order"), json({"phase_outer", "micro_batch_outer"}));
  EXPECT_EQ(free.at("phases"), "none, or every contiguous cut");
  EXPECT_EQ(free.at("recompute"), "none, layer, stage, each stage its own");
  EXPECT_EQ(fields_of({{"phases", 1}}).count("phase_order"), 0U);
  EXPECT_EQ(fields_of({{"phases", {1, 4, 6}}}).at("phases"), "none, or every contiguous cut into 4, 6");
  EXPECT_EQ(fields_of({{"phases", {{"min", 3}, {"max", 5}}}}).at("phases"), "every contiguous cut into 3 to 5");
  EXPECT_EQ(fields_of({{"available_memory_proportion", {0.1, 0.25}}}).at("available_memory_proportion"),
            json({0.1, 0.25}));
  EXPECT_EQ(fields_of({{"stages", {{0, 3}, {0, 5}}}}).at("stages"), json({{0, 3}, {0, 5}}));
}

json normalised_images(const json& machine, std::int64_t batch, const json& plan) {
  return {{"model", {{"onnx", std::string(SUPERSTEP_REFERENCES) + "/images_w8/train.onnx"}}},
          {"machine", machine},
          {"optimizer", {{"kind", "sgd"}, {"learning_rate", 0.1}}},
          {"batch", {{"global", batch}}},
          {"plan", plan}};
}

// Jobs that differ in which rules decide: pins of all forms, phases, inference, statistics groups, and counts that are
// no powers of two.
std::vector<Case> cases() {
  return {
      {"free", transformer({}, "ipu-pod4", 16, json::object())},
      {"one_ipu", transformer({}, partition("ipu-pod4", 1), 8, json::object())},
      {"pinned",
       transformer({}, "ipu-pod4", 16,
                   {{"tensor_parallel", 2}, {"pipeline_stages", 2}, {"micro_batch", 2}, {"schedule", "grouped"}})},
      {"listed", transformer({}, partition("ipu-pod16", 8), 32,
                             {{"pipeline_stages", {1, 2, 8}},
                              {"micro_batch", {1, 4}},
                              {"schedule", {"sequential", "grouped"}},
                              {"activation_sharding", {"none", "stored"}},
                              {"location", {{"optimizer_state", {"in_processor", "streaming"}}}},
                              {"io_tiles", {0, 64}},
                              {"available_memory_proportion", {0.1, 0.25}}})},
      {"ranged", transformer({}, partition("ipu-pod16", 8), 48,
                             {{"replicas", {{"min", 2}}},
                              {"micro_batch", {{"min", 2}, {"max", 6}}},
                              {"io_tiles", {{"min", 32}, {"max", 64}}},
                              {"replicated_tensor_sharding", {{"optimizer_state", {{"min", 2}}}}},
                              {"available_memory_proportion", 0.25}})},
      {"gathered_weights", transformer({}, partition("ipu-pod16", 8), 48,
                                       {{"replicas", {4, 8}},
                                        {"replicated_tensor_sharding", {{"weights", {{"min", 2}}}}},
                                        {"available_memory_proportion", 0.25}})},
      {"no_batch", without(transformer({}, "ipu-pod4", 1,
                                       {{"micro_batch", {{"min", 1}, {"max", 6}}},
                                        {"gradient_accumulation", {12, 16}},
                                        {"available_memory_proportion", 0.25}}),
                           "batch")},
      {"placed", transformer({}, partition("ipu-pod16", 8), 16,
                             {{"placement", {"p-t-r", "r-p-t", "r-t-p"}}, {"available_memory_proportion", 0.25}})},
      {"shard_groups", transformer({}, partition("ipu-pod16", 8), 16,
                                   {{"replicas", {2, 4, 8}},
                                    {"replicated_tensor_sharding", {{"groups", {"orthogonal", "consecutive"}}}},
                                    {"available_memory_proportion", 0.25}})},
      {"orthogonal", transformer({}, partition("ipu-pod16", 8), 16,
                                 {{"replicated_tensor_sharding", {{"groups", "orthogonal"}, {"weights", {1, 2}}}},
                                  {"available_memory_proportion", 0.25}})},
      {"beyond_a_program",
       transformer({}, "ipu-pod128", 128, {{"tensor_parallel", {1, 2, 4}}, {"available_memory_proportion", 0.25}})},
      {"phases", transformer({{"layers", 2}}, "ipu-pod4", 16, {{"phases", 3}})},
      {"phases_listed", transformer({{"layers", 2}}, "ipu-pod4", 16, {{"phases", {1, 2, 4}}})},
      {"phases_ranged", transformer({{"layers", 2}}, "ipu-pod4", 16, {{"phases", {{"min", 2}, {"max", 3}}}})},
      {"modes_by_stage", transformer({{"layers", 2}}, "ipu-pod4", 16, {{"recompute", {"layer", "stage", "layer"}}})},
      {"one_phase", transformer({}, "ipu-pod4", 16, {{"phases", 1}, {"location", {{"weights", "streaming"}}}})},
      {"weights_outside", transformer({}, "ipu-pod4", 16, {{"location", {{"weights", "streaming"}}}})},
      {"groups_and_order", transformer({}, "ipu-pod4", 8,
                                       {{"phase_groups", {1, 2}},
                                        {"phase_order", {"phase_outer", "micro_batch_outer"}},
                                        {"load", {{"weights", {"preload", "on_demand"}}, {"code", "on_demand"}}},
                                        {"replicated_tensor_sharding", {{"weights", {1, 2}}, {"gradients", {1, 2}}}},
                                        {"available_memory_proportion", 0.25}})},
      {"places_that_are_not_there", transformer({}, "ipu-pod4", 16,
                                                {{"location",
                                                  {{"weights", {"in_processor", "streaming", "remote_ipu"}},
                                                   {"gradients", {"remote_machine", "in_processor"}},
                                                   {"optimizer_state", {"in_processor", "remote_machine"}},
                                                   {"activations", {"remote_ipu", "streaming"}},
                                                   {"code", {"in_processor", "remote_machine"}}}},
                                                 {"available_memory_proportion", 0.25}})},
      {"inference", for_inference(transformer({}, "ipu-pod4", 8, json::object()))},
      {"inference_no_batch", for_inference(without(transformer({}, "ipu-pod4", 1, json::object()), "batch"))},
      {"statistics_groups", normalised_images("ipu-pod4", 16, json::object())},
      {"24_ipus_96_heads", transformer({{"hidden", 192}, {"heads", 96}}, with_ipus(24, 4), 24,
                                       {{"tensor_parallel", 3}, {"available_memory_proportion", {0.1, 0.25}}})},
      {"24_ipus_free",
       transformer({{"hidden", 192}, {"heads", 96}}, with_ipus(24, 4), 24, {{"available_memory_proportion", 0.25}})},
      {"30_layers_7_stages", transformer({{"layers", 30}}, with_ipus(7, 1), 14,
                                         {{"pipeline_stages", 7}, {"available_memory_proportion", 0.25}})},
  };
}

SpaceCount count_of(Tables& tables) {
  const std::int64_t group = tables.statistics_group();
  const std::int64_t m = cells(tables.job(), group).front().micro_batch;
  return count_space(tables.job(), tables.facts(m).graph, group);
}

// One by one.
std::int64_t list_settings(const Job& job, std::int64_t group) {
  std::int64_t listed = 0;
  for (const Cell& cell : cells(job, group)) {
    for (const SettingSpace& space : setting_spaces(job, cell, false)) space.for_each([&](const auto&) { ++listed; });
  }
  return listed;
}

TEST(SpaceCount, IsThatOfTheListing) {
  for (const Case& c : cases()) {
    World world(c.job);
    const std::int64_t listed = list_settings(world.job, world.tables.statistics_group());
    const SpaceCount count = count_of(world.tables);
    EXPECT_EQ(count.points, listed) << c.name;
    EXPECT_GT(count.points, 0) << c.name;
  }
}

void expect_by_rules(const Job& job, const std::string& name) {
  const std::int64_t group = statistics_group(job);
  const Graph graph = build_graph(job, cells(job, group).front().micro_batch);
  const SpaceCount count = count_space(job, graph, group), rules = test::count_by_rules(job, graph, group);
  EXPECT_EQ(count.points, rules.points) << name;
  if (std::isfinite(rules.log10_with_cuts))
    EXPECT_NEAR(count.log10_with_cuts, rules.log10_with_cuts, 1e-9) << name;
  else
    EXPECT_EQ(count.log10_with_cuts, rules.log10_with_cuts) << name;
}

TEST(SpaceCount, IsThatOfRulesWrittenIndependently) {
  for (const Case& c : cases()) expect_by_rules(World(c.job).job, c.name);
}

TEST(SpaceCount, IsThatOfRulesForAllExampleJobs) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(SUPERSTEP_SOURCE "/data/jobs")) {
    const std::string file = entry.path().string();
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json") files.push_back(file);
  }
  ASSERT_GE(files.size(), 30u);
  for (const std::string& file : files) {
    expect_by_rules(load_job(file), file);
  }
}

// What a search explored and what it left out by its bounds, to the last point.
void expect_all_accounted(Tables& tables, const std::string& name) {
  const SearchResult r = search(tables, {.pareto = false, .find_fix = false});
  EXPECT_EQ(r.stats.explored + r.stats.pruned, static_cast<double>(count_of(tables).points)) << name;
  EXPECT_TRUE(r.stats.optimal) << name;
}

TEST(SpaceCount, IsWhatASearchAccountsFor) {
  for (const Case& c : cases()) {
    World world(c.job);
    expect_all_accounted(world.tables, c.name);
  }
}

TEST(SpaceCount, IsWhatASearchAccountsForInExampleJobs) {
  for (const char* name : {"bert-l2-h128-pod4", "bert-large-pod16-p4-unsharded", "deepvoice3-m2000", "every-field",
                           "m2000-bert-large-inference", "m2000-resnext101", "mcmc-hmc-m2000",
                           "pretrain-bert-large-128-pod64", "run-gpt-pod8", "run-toy-phases", "scaling-resnet50",
                           "toy-free", "toy-inference", "toy-phases", "toy-replicas"}) {
    const Job job = load_job(std::string(SUPERSTEP_SOURCE "/data/jobs/") + name + ".json");
    const CostModel model(job.machine, load_calibration());
    Tables tables(job, model);
    expect_all_accounted(tables, name);
  }
}

// The placements of one IPU, its groups of shards, and its schedules, are one; the rest is by the lists: m of 8 samples
// 1, 2, 4, 8; depths of prefetch 3; stash, gradients and optimizer's state of pipelines in two places
// each; two orders of phases with 4 numbers of IO tiles and two ways to load each of weights and code, but no preload
// without IO tiles, nor of code in one of its two places.
TEST(SpaceCount, OfOneIpuByHand) {
  World world(transformer({}, partition("ipu-pod4", 1), 8, json::object()));
  const SpaceCount count = count_of(world.tables);
  EXPECT_EQ(count.points, 4 * 3 * (2 * 2 * 2 + 2 * (3 * (2 + 4) + 1 + 1)));
}

// Of units 1 to n: stages by binomial coefficients, three modes each. A phase of one IPU is one stage of two modes,
// whose code stays or is loaded.
TEST(SpaceCount, OfCutsByHand) {
  World world(transformer(
      {{"layers", 2}}, partition("ipu-pod4", 1), 8,
      {{"micro_batch", 1},
       {"available_memory_proportion", 0.25},
       {"io_tiles", 0},
       {"prefetch_depth", 1},
       {"phase_order", "phase_outer"},
       {"location", {{"activations", "streaming"}, {"gradients", "streaming"}, {"optimizer_state", "streaming"}}}}));
  const auto n = static_cast<double>(world.tables.facts(1).graph.units.size());
  const SpaceCount count = count_of(world.tables);
  EXPECT_EQ(count.points, 3);
  // Each boundary begins a phase or does not, with two modes per phase; less those of one phase alone.
  EXPECT_NEAR(count.log10_with_cuts, std::log10(3 + 2 * (2 * std::pow(3, n - 1) - 2)), 1e-12);
}

TEST(SpaceCount, HoldsLargeModels) {
  const Job job = load_job(SUPERSTEP_SOURCE "/data/jobs/gpt-1t-64000.json");
  const SpaceCount count = count_space(job, build_graph(job, 1));
  EXPECT_GT(count.log10_with_cuts, 100);
  EXPECT_TRUE(std::isfinite(count.log10_with_cuts));
}

// Every plan there is, listed: settings by cuts by modes, as far as check_plan() accepts them.
TEST(SpaceCount, WithCutsIsThatOfAllLegalPlans) {
  const json few = {{"available_memory_proportion", 0.25},
                    {"io_tiles", 32},
                    {"micro_batch", 2},
                    {"prefetch_depth", 1},
                    {"load", "on_demand"}};
  const std::vector<json> pins = {
      json::object(),
      {{"recompute", "layer"}},
      {{"recompute", "none"}},
      {{"phases", 2}},
      {{"phases", 1}},
      {{"phases", {1, 3}}},
      {{"phases", {2, 4, 99}}},
      {{"phases", {{"min", 2}, {"max", 3}}}},
      {{"phases", {{"max", 1}}}, {"location", {{"weights", "streaming"}}}},
      {{"phases", {{"min", 3}}}, {"phase_groups", 2}},
      {{"pipeline_stages", 2}, {"stages", {0, 2}}},
      {{"stages", {0, 2}}},
      {{"stages", {0, 2}}, {"recompute", {"layer", "stage"}}, {"phases", {1, 2}}},
      {{"recompute", {"layer", "stage", "none"}}},
      {{"serialisation", {{"head", 3}}}},
      {{"serialisation", {{"feed_forward", 32}}}},
      {{"pipeline_stages", 2}, {"stages", {0, 2, 3}}, {"recompute", {"layer", "stage", "none"}}},
      {{"pipeline_stages", 2}, {"stages", {0, 2, 3}}, {"phases", {0, 2}}},
      {{"pipeline_stages", 4}, {"phase_groups", 2}, {"phases", 3}},
      {{"pipeline_stages", 4}, {"recompute", {"layer", "stage", "none", "none"}}},
      {{"replicas", 2}, {"replicated_tensor_sharding", {{"gradients", {1, 2}}, {"weights", {1, 2}}}}},
      {{"location", {{"weights", "streaming"}}}},
      {{"schedule", "grouped"}, {"location", {{"optimizer_state", {"in_processor", "streaming"}}}}},
  };
  for (const bool training : {true, false}) {
    for (const json& more : pins) {
      json job = transformer({}, "ipu-pod4", 16, few);
      job["plan"].update(more);
      if (!training && more.contains("recompute") && more["recompute"].is_array()) continue;
      World world(training ? job : for_inference(job));
      std::int64_t legal = 0;
      PinnedCuts cuts(world.tables, false);
      for (const Cell& cell : cells(world.job)) {
        for (const Plan& p : settings(world.job, cell, false)) {
          cuts.prepare(p);
          const Setting setting(world.table(p), p, world.job.optimizer, cuts.searches_phases(p));
          test::for_each_cut(setting, cuts, [&](const Cuts& c) {
            legal += check_plan(with_cuts(p, c), setting.table().facts(), world.job.machine, training).empty() ? 1 : 0;
          });
        }
      }
      const double expected = legal > 0 ? std::log10(static_cast<double>(legal)) : -INFINITY;
      const double counted = count_of(world.tables).log10_with_cuts;
      if (legal > 0)
        EXPECT_NEAR(counted, expected, 1e-12)
            << more << " training " << training << ": " << legal << " against " << std::pow(10, counted);
      else
        EXPECT_EQ(counted, expected) << more << " training " << training;
    }
  }
}

TEST(SpaceCount, OfTwoSpacesAddsUp) {
  const SpaceCount none{0, -std::numeric_limits<double>::infinity()}, a{3, 2}, b{4, 1};
  const SpaceCount sum = a + b;
  EXPECT_EQ(sum.points, 7);
  EXPECT_NEAR(sum.log10_with_cuts, std::log10(110), 1e-12);
  EXPECT_EQ((a + none).log10_with_cuts, 2);
  EXPECT_EQ((none + none).log10_with_cuts, none.log10_with_cuts);
}

}  // namespace
}  // namespace superstep
