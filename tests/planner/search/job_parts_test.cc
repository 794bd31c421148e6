// SPDX-License-Identifier: Apache-2.0
// A job as several: partitions, and what is searched value by value.
#include "planner/space/job_parts.h"
#include "planner/job/partitions.h"
#include "planner/search/part_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "model/error.h"
#include "planner/job/pins.h"
#include "planner/search/best_first.h"
#include "planner/search/front.h"
#include "planner/space/setting_space.h"
#include "planner/space/space_fields.h"
#include "planner/sweep/plan_job.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// A job's partitions, each with tables of its own.
struct PartWorlds {
  std::deque<World> worlds;
  std::vector<Tables*> tables;
  explicit PartWorlds(const Job& whole) {
    for (const Job& part : job_parts(whole)) tables.push_back(&worlds.emplace_back(part.json()).tables);
  }
};

SearchResult found_by(PartSearch& search, Tables& tables) {
  SearchResult out;
  search.search({&tables});
  search.finish([&](std::size_t, SearchResult found) { out = std::move(found); });
  return out;
}

TEST(Partitions, AreThoseThatLimitsAndPinsAllow) {
  const auto sizes = [](const json& job) {
    std::vector<std::int64_t> out;
    for (const Job& part : job_parts(World(job).job)) out.push_back(part.machine.ipus);
    return out;
  };
  json job = test::small_gpt({});
  job["machine"] = "ipu-pod16";
  EXPECT_THAT(sizes(job), ElementsAre(16, 8, 4, 2, 1));
  job["limits"] = {{"ipus", 9}};
  EXPECT_THAT(sizes(job), ElementsAre(8, 4, 2, 1));
  job["plan"]["pipeline_stages"] = 4;
  EXPECT_THAT(sizes(job), ElementsAre(8, 4));
  job["limits"]["ipus"] = {{"min", 5}};
  EXPECT_THAT(sizes(job), ElementsAre(16, 8));
  job["limits"]["ipus"] = {{"min", 5}, {"max", 7}};
  EXPECT_THROW(sizes(job), Error);
}

// A part of a job is the job that names the partition.
TEST(Partitions, AreAsAJobNamesThem) {
  for (const json& machine : {json("ipu-pod256"), json({{"base", "bow-pod16"}, {"override", {{"ipus", 64}}}}),
                              json({{"base", "ipu-pod128"}, {"partition", 64}})}) {
    json job = test::small_gpt({});
    job["machine"] = machine;
    job["limits"] = {{"ddr_bytes_per_ipu", 1000000}};
    const Job whole = World(job).job;
    for (const std::int64_t ipus : partition_sizes(whole)) {
      if (ipus == whole.machine.ipus) continue;
      if (machine.is_string()) job["machine"] = {{"base", machine}};
      job["machine"]["partition"] = ipus;
      const Job part = on_partition(whole, ipus), named = World(job).job;
      EXPECT_EQ(part.machine, named.machine) << ipus;
      EXPECT_EQ(part.json(), named.json()) << ipus;
    }
  }
}

// Five samples on four IPUs leave one replica; on one IPU too, without links.
TEST(Partitions, FewerIpusMayBeFaster) {
  json job = test::small_gpt({});
  job["machine"] = "ipu-m2000";
  job["batch"]["global"] = 5;
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", {1, 2, 4}}};
  const SearchOptions options;
  const PlannedJob fewer = plan_job(World(job).job, options);
  job["limits"]["ipus"] = {{"min", 4}};
  const PlannedJob all = plan_job(World(job).job, options);
  ASSERT_EQ(fewer.status, PlanStatus::planned);
  EXPECT_GE(fewer.samples_per_second, all.samples_per_second);
  EXPECT_EQ(fewer.plan.ipus(), 1);
}

// The best few kinds of plan among all parts: those of each part searched alone, put together.
TEST(Parts, AreSearchedToTheSameBestPlansAsAlone) {
  std::vector<json> jobs;
  for (const std::int64_t batch : {5, 12, 48}) {
    jobs.push_back(test::small_gpt({}));
    jobs.back()["machine"] = "ipu-pod16";
    jobs.back()["batch"]["global"] = batch;
  }
  jobs.push_back(test::small_inference());
  jobs.back().update({{"objective", "latency"}, {"machine", "ipu-pod16"}});
  jobs.push_back(jobs[2]);
  jobs.back()["plan"]["precision"] = {{"partials", {"fp16", "fp32"}}};
  jobs.back()["machine"] = "ipu-pod4";
  for (const json& asked : jobs) {
    const Job job = World(asked).job;
    const std::vector<Job> parts = job_parts(job);
    ASSERT_GT(parts.size(), 2U);
    SearchOptions options;
    options.pareto = false;
    options.top = 6;
    PartSearch search(job, parts.size(), options);
    std::map<std::string, double> alone, together;  // by kind
    const auto add = [&](std::map<std::string, double>& all, const SearchResult& found) {
      for (const Candidate& c : found.best) {
        double& best = all[kind_of(c.plan)];
        best = std::max(best, score(job, c));
      }
    };
    for (const Job& part : parts) {
      World world(part.json());
      add(alone, superstep::search(world.tables, options));
      add(together, found_by(search, world.tables));
    }
    std::vector<double> found, expected;
    for (auto [list, all] : {std::pair(&found, &together), std::pair(&expected, &alone)}) {
      for (const auto& [kind, best] : *all) list->push_back(best);
      std::ranges::sort(*list, std::greater());
      if (list->size() > 6) list->resize(6);
    }
    std::erase_if(expected, [&](double s) { return s <= expected[0] / 2; });
    std::erase_if(found, [&](double s) { return s <= found[0] / 2; });
    EXPECT_EQ(found, expected) << asked.dump();
  }
}

// Fronts of parts are traced side by side, each with what those before it found.
TEST(Parts, HaveTheSameFrontsForAnyNumberOfThreads) {
  const json free = test::small_inference();
  std::atomic<std::size_t> points = 0;
  for (const auto& [job, front] :
       {std::pair(test::small_gpt({}), json({"throughput", "memory"})),
        std::pair(test::small_gpt({}), json({"latency", "memory"})), std::pair(free, json({"throughput", "latency"})),
        std::pair(free, json({"throughput", "power"}))}) {
    json asked = job;
    asked.update({{"machine", "ipu-pod16"}, {"pareto", front}});
    if (asked.contains("optimizer")) asked["batch"]["global"] = 12;
    const Job whole = World(asked).job;
    std::vector<std::string> first;
    for (const int threads : {1, 2, 5}) {
      PartWorlds parts(whole);
      ASSERT_GT(parts.tables.size(), 2U);
      PartSearch search(whole, parts.tables.size(), {.top = 3, .threads = threads});
      search.search(parts.tables);
      std::vector<std::string> all(parts.tables.size());
      search.finish([&](std::size_t part, const SearchResult& found) {
        for (const Candidate& c : found.best) all[part] += label(c.plan) + "; ";
        for (const Candidate& c : found.pareto) all[part] += label(c.plan) + ", ";
        points += found.pareto.size();
        all[part] += std::to_string(found.stats.programmes);
      });
      if (first.empty()) first = all;
      EXPECT_EQ(all, first) << asked.dump() << " by " << threads;
    }
  }
  EXPECT_GT(points, 30U);
}

// Also of parts that say at once that they have nothing better.
TEST(Parts, ProgressIsThatOfAll) {
  json job = test::small_gpt({});
  job.update({{"machine", "ipu-pod16"}, {"pareto", {"throughput", "memory"}}});
  const Job whole = World(job).job;
  PartWorlds parts(whole);
  for (const bool again : {false, true}) {
    std::vector<double> shares = {0};
    SearchOptions options{.top = 1, .pareto = !again, .threads = 2};
    options.progress = [&](double share, const std::string&) {
      EXPECT_GE(share, shares.back());
      shares.push_back(share);
    };
    PartSearch search(whole, parts.tables.size(), options);
    search.search(parts.tables);
    EXPECT_NEAR(shares.back(), 0.9, 1e-9);
    search.finish([](std::size_t, const SearchResult&) {});
    EXPECT_NEAR(shares.back(), 1, 1e-9);
  }
}

TEST(Parts, EndWithTheFirstError) {
  json job = test::small_gpt({});
  job.update({{"machine", "ipu-pod16"}, {"pareto", {"throughput", "memory"}}});
  const Job whole = World(job).job;
  PartWorlds parts(whole);
  for (const int threads : {1, 3}) {
    PartSearch search(whole, parts.tables.size(), {.threads = threads});
    search.search(parts.tables);
    const auto fail = [](std::size_t part, const SearchResult&) {
      if (part == 0) throw std::runtime_error("no disk");
    };
    EXPECT_THAT([&] { search.finish(fail); }, testing::ThrowsMessage<std::runtime_error>("no disk"));
  }
}

// A part that was told of better plans says nothing of its own best one to those who ask later.
TEST(Parts, WhatTheyWereToldIsNoProofForOthers) {
  json job = test::small_gpt({});
  job["machine"] = "ipu-pod16";
  for (const std::int64_t batch : {4, 5, 12}) {
    job["batch"]["global"] = batch;
    const Job whole = World(job).job;
    const std::vector<Job> parts = job_parts(whole);
    SearchOptions options;
    options.pareto = false;
    options.top = 20;
    PartSearch search(whole, parts.size(), options);
    for (const Job& part : parts) {
      World world(part.json()), cold(part.json());
      found_by(search, world.tables);
      options.top = 1;
      const SearchResult warm = superstep::search(world.tables, options),
                         fresh = superstep::search(cold.tables, options);
      ASSERT_EQ(warm.best.size(), fresh.best.size());
      EXPECT_EQ(label(warm.best[0].plan), label(fresh.best[0].plan)) << batch << " on " << part.machine.ipus;
      options.top = 20;
    }
  }
}

// Questions about a job whose parts were searched before: with their tables the answers are those of fresh ones.
TEST(Parts, AnswerWithWarmTablesAsWithFreshOnes) {
  json job = test::small_gpt({});
  job["machine"] = "ipu-pod16";
  job["batch"]["global"] = 12;
  std::deque<World> worlds;
  for (const Job& part : job_parts(World(job).job)) worlds.emplace_back(part.json());
  SearchOptions options;
  options.pareto = options.find_fix = false;
  options.top = 1;
  const auto best_of = [&](const Job& of,
                           const std::function<SearchResult(PartSearch&, std::size_t, const Job&)>& ask) {
    const std::vector<Job> parts = job_parts(of);
    PartSearch search(of, parts.size(), options);
    Candidate best;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const SearchResult r = ask(search, i, parts[i]);
      double settings = 0;
      for (const Cell& cell : cells(parts[i])) settings += cell.all_settings();
      EXPECT_EQ(r.stats.explored + r.stats.pruned, settings);
      for (const Candidate& c : r.best) {
        if (c.samples_per_second > best.samples_per_second) best = c;
      }
    }
    EXPECT_TRUE(search.stats().optimal);
    EXPECT_GT(search.stats().proof_seconds, 0);
    EXPECT_LE(search.stats().proof_seconds, search.stats().seconds);
    return best;
  };
  const auto warm = [&](PartSearch& search, std::size_t i, const Job& part) {
    Tables tables(part, worlds[i].tables);
    return found_by(search, tables);
  };
  const auto fresh = [](PartSearch& search, std::size_t, const Job& part) {
    World world(part.json());
    return found_by(search, world.tables);
  };
  best_of(World(job).job, warm);
  for (const json& pin : {json{{"recompute", "stage"}}, json{{"recompute", "layer"}}, json{{"micro_batch", 1}},
                          json{{"io_tiles", 32}}, json{{"prefetch_depth", 4}}, json{{"phases", 1}}, json{{"phases", 3}},
                          json{{"location", {{"weights", "streaming"}}}}, json{{"available_memory_proportion", 0.1}},
                          json{{"replicated_tensor_sharding", {{"optimizer_state", 1}}}}}) {
    job["plan"] = pin;
    const Candidate known = best_of(World(job).job, warm), best = best_of(World(job).job, fresh);
    EXPECT_EQ(known.estimate.cycles, best.estimate.cycles) << pin;
    EXPECT_EQ(known.samples_per_second, best.samples_per_second) << pin;
  }
}

// What is left of one part may be better than what another one found, and nothing left of either may be.
TEST(Parts, HaveTheGapOfTheBestAmongThem) {
  SearchStats found, none, stopped;
  found.best = found.bound = 10;
  found.optimal = none.optimal = true;
  stopped.bound = 20;
  stopped.gap = 1;
  EXPECT_EQ((found + stopped).gap, 0.5);
  EXPECT_FALSE((found + stopped).optimal);
  EXPECT_EQ((found + none).gap, 0);
  EXPECT_TRUE((found + none).optimal);
  stopped.bound = 5;
  EXPECT_EQ((stopped + found).gap, 0);
  EXPECT_TRUE((stopped + found).optimal);
  EXPECT_EQ((stopped + none).gap, 1);
  EXPECT_FALSE((stopped + none).optimal);
}

// A search in which no cut is legal takes half a minute to say so. Others have their turn before that.
TEST(Parts, HaveATurnBeforeTheTimeIsUp) {
  json job = {{"model", {{"zoo", "bert-base"}}}, {"machine", "ipu-pod64"}, {"batch", {{"global", 64}}}};
  job["plan"] = {{"tensor_parallel", 1},
                 {"pipeline_stages", 2},
                 {"location", {{"weights", "in_processor"}}},
                 {"schedule", "grouped"}};
  SearchOptions options;
  options.time_limit = 6;
  options.pareto = options.find_fix = false;
  const PlannedJob planned = plan_job(read_job(job, "test"), options);
  ASSERT_EQ(planned.status, PlanStatus::planned) << planned.reason;
  EXPECT_LT(planned.plan.ipus(), 64);
}

TEST(Parts, ListsOfFormatsAndSerialisationAreSearchedValueByValue) {
  json job = test::small_gpt({{"tensor_parallel", 1}, {"pipeline_stages", 2}, {"micro_batch", 2}});
  job["plan"]["precision"] = {{"partials", {"fp16", "fp32"}}, {"weights", {"fp16", "fp32"}}};
  job["plan"]["serialisation"] = {{"head", {0, 4}}};
  job["limits"]["ipus"] = {{"min", 4}};
  const std::vector<Job> parts = job_parts(World(job).job);
  ASSERT_EQ(parts.size(), 8U);
  EXPECT_EQ(parts[0].pins.serialisation.head, 0);
  EXPECT_EQ(parts[1].pins.serialisation.head, 4);
  for (const Job& part : parts) EXPECT_EQ(part.pins.precision.weights, part.pins.precision.activations);

  // The best of all is the best of the best of each.
  double best = 0;
  for (const Job& part : parts) best = std::max(best, plan_job(part, {}).samples_per_second);
  EXPECT_GT(best, 0);
  EXPECT_EQ(plan_job(World(job).job, {}).samples_per_second, best);

  std::string fields;
  for (const SpaceField& f : space_fields(World(job).job, parts, 0)) {
    if (f.name.starts_with("precision.") || f.name.starts_with("serialisation."))
      fields += f.name + ": " + f.text() + "\n";
  }
  EXPECT_EQ(fields, "precision.partials: fp16, fp32\nprecision.weights: fp16, fp32\nserialisation.head: 0, 4\n");
}

// Gradients of small_gpt()'s head have 128 columns, which no other number of parts cuts, though some cut its 2000
// words.
TEST(Parts, RangesOfSerialisationAreItsValuesThatDivide) {
  json job = test::small_gpt({{"tensor_parallel", 1}, {"pipeline_stages", 2}, {"micro_batch", 2}});
  job["limits"]["ipus"] = {{"min", 4}};
  const auto heads = [&](const json& range) {
    job["plan"]["serialisation"] = {{"head", range}};
    std::vector<std::int64_t> out;
    for (const Job& part : job_parts(World(job).job)) out.push_back(part.pins.serialisation.head);
    return out;
  };
  EXPECT_EQ(heads({{"min", 3}, {"max", 20}}), (std::vector<std::int64_t>{4, 8, 16}));
  EXPECT_EQ(heads({{"max", 3}}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(heads({{"min", 33}}), (std::vector<std::int64_t>{64, 128}));
  EXPECT_EQ(heads({{"min", 7}, {"max", 7}}), (std::vector<std::int64_t>{7}));  // its search says why not
}

TEST(Parts, ListsOfCutsAreSearchedOneByOne) {
  json job = test::small_gpt({{"micro_batch", 2}, {"phases", 1}});
  job["plan"]["stages"] = {{0, 2}, {0, 3}, {0, 2, 4}};
  job["plan"]["recompute"] = {"layer", {"stage", "none"}};
  job["limits"]["ipus"] = {{"min", 4}};
  const std::vector<Job> parts = job_parts(World(job).job);
  // Two modes are not those of three stages.
  std::vector<std::pair<std::size_t, std::size_t>> lengths;
  for (const Job& part : parts) lengths.push_back({part.pins.stages->size(), part.pins.recompute.size()});
  EXPECT_THAT(lengths, UnorderedElementsAre(std::pair(2, 1), std::pair(2, 2), std::pair(2, 1), std::pair(2, 2),
                                            std::pair(3, 1)));

  double best = 0;
  for (const Job& part : parts) best = std::max(best, plan_job(part, {}).samples_per_second);
  EXPECT_GT(best, 0);
  const PlannedJob planned = plan_job(World(job).job, {});
  EXPECT_EQ(planned.samples_per_second, best);
  EXPECT_THAT(unsatisfied_pins(planned.plan, job["plan"]), IsEmpty());

  // Partitions too small for any of them are left out.
  job.erase("limits");
  for (const Job& part : job_parts(World(job).job)) EXPECT_GE(part.machine.ipus, 2);
  job["plan"]["recompute"] = {{"layer", "stage", "none", "none"}};
  EXPECT_THROW(plan_job(World(job).job, {}), Error);
}

TEST(Parts, ProductsNeedOperandsOfOneType) {
  json job = test::small_gpt({});
  job["limits"]["ipus"] = {{"min", 4}};
  job["plan"]["precision"] = {{"weights", {"fp16", "fp32"}}, {"activations", {"fp16", "fp32"}}};
  EXPECT_EQ(job_parts(World(job).job).size(), 2U);
  job["plan"]["precision"]["activations"] = {"fp32"};
  EXPECT_EQ(job_parts(World(job).job).size(), 1U);
  job["plan"]["precision"] = {{"weights", {"fp16"}}, {"activations", {"fp32"}}};
  EXPECT_THROW(job_parts(World(job).job), Error);
}

}  // namespace
}  // namespace superstep
