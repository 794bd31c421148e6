// SPDX-License-Identifier: Apache-2.0
// What a search says where nothing fits, and what would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cost/warm_tables.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/infeasible/nearest_fix.h"
#include "planner/job/partitions.h"
#include "planner/report/evaluated.h"
#include "planner/search/search.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::searched;
using test::World;

// Twelve wide layers on one IPU with everything kept in the processor.
nlohmann::json too_large() {
  nlohmann::json job = test::small_job(
      "gpt2-small",
      {{"layers", 12}, {"hidden", 1536}, {"heads", 16}, {"ffn", 6144}, {"vocabulary", 8000}, {"sequence_length", 128}},
      {{"base", "ipu-pod4"}, {"partition", 4}});
  job["batch"] = {{"global", 32}};
  job["plan"] = {{"tensor_parallel", 1},
                 {"pipeline_stages", 4},
                 {"replicas", 1},
                 {"micro_batch", 1},
                 {"location",
                  {{"weights", "in_processor"},
                   {"gradients", "in_processor"},
                   {"optimizer_state", "in_processor"},
                   {"activations", "in_processor"}}}};
  return job;
}

TEST(Search, SaysWhyNothingFits) {
  World world(too_large());
  const SearchResult r = searched(world);
  EXPECT_TRUE(r.best.empty());
  ASSERT_FALSE(r.overflows.empty());
  EXPECT_EQ(r.overflows[0].constraint, "tile memory");
  EXPECT_THAT(r.overflows[0].where, testing::HasSubstr("IPU "));
  EXPECT_GT(r.overflows[0].over, Bytes(0));
  ASSERT_TRUE(r.closest);
  // The bytes over are those of the closest plan, lowered in full.
  const Evaluated e = evaluate_in_full(world.tables, *r.closest);
  EXPECT_EQ(e.fits, "does_not_fit");
  EXPECT_EQ(r.overflows[0].over, Bytes(e.tile_peak) - world.job.machine.chip.tile_memory);
}

// Of many settings, which are tried side by side.
TEST(Search, SaysWhyNothingFitsTheSameForAnyNumberOfThreads) {
  nlohmann::json job = too_large();
  for (const char* free : {"tensor_parallel", "pipeline_stages", "replicas", "micro_batch"}) job["plan"].erase(free);
  job["machine"]["override"] = {{"chip", {{"tile_memory", {{"value", "250 KiB"}, {"source", "test"}}}}}};
  std::string one;
  for (const int threads : {1, 2, 3}) {
    World world(job);
    SearchOptions options{.time_limit = 0, .find_fix = false, .explain = explain_infeasible};
    options.threads = threads;
    const SearchResult r = search(world.tables, options);
    ASSERT_TRUE(r.closest);
    const std::string found = to_json(*r.closest).dump() + std::to_string(r.stats.evaluations);
    if (threads == 1) one = found;
    EXPECT_EQ(found, one) << threads << " threads";
  }
}

TEST(Search, ItsNearestFixFits) {
  World world(too_large());
  const SearchResult r = searched(world);
  ASSERT_FALSE(r.nearest_fix.empty()) << "no fix found";
  // A rate is written as everywhere: three or four digits.
  const std::string rate = "([0-9]{1,3}(,[0-9]{3})*|[0-9]\\.[0-9]{2}|[0-9]{2}\\.[0-9]|0\\.[0-9]{1,5})";
  EXPECT_THAT(r.nearest_fix, testing::MatchesRegex(".* KiB per tile to spare, at " + rate + " samples/s"));
  // "field = value fits with N KiB ...": freeing that one field gives a plan that fits.
  const std::string field = r.nearest_fix.substr(0, r.nearest_fix.find(" = "));
  nlohmann::json fixed = too_large();
  if (const auto dot = field.find('.'); dot != std::string::npos) {
    fixed["plan"][field.substr(0, dot)].erase(field.substr(dot + 1));
  } else if (field == "cuts") {
    FAIL() << "the job pins no cuts";
  } else {
    fixed["plan"].erase(field);
  }
  World other(fixed);
  const SearchResult again = searched(other, false);
  ASSERT_FALSE(again.best.empty()) << r.nearest_fix;
  EXPECT_NE(evaluate_in_full(other.tables, again.best[0].plan).fits, "does_not_fit");
}

// Too wide for the tiles in one phase, and phases need weights outside: neither pin alone is in the way.
TEST(Search, ItsNearestFixMayTakeTwoFields) {
  nlohmann::json job = test::small_job(
      "gpt2-small",
      {{"layers", 12}, {"hidden", 4096}, {"heads", 16}, {"ffn", 16384}, {"vocabulary", 8000}, {"sequence_length", 128}},
      "ipu-pod4");
  job["batch"] = {{"global", 32}};
  job["plan"] = {{"tensor_parallel", 1}, {"pipeline_stages", 4},
                 {"micro_batch", 1},     {"available_memory_proportion", 0.05},
                 {"phases", 1},          {"location", {{"weights", "in_processor"}}}};
  World world(job);
  SearchOptions options;
  const NearestFix fix = find_nearest_fix(world.tables, options);
  ASSERT_EQ(fix.fields.size(), 2u) << fix.text();
  ASSERT_TRUE(fix.best);
  EXPECT_THAT(fix.text(), testing::HasSubstr(" fit with "));
  EXPECT_NE(evaluate_in_full(world.tables, fix.best->plan).fits, "does_not_fit");
  // One alone does not do.
  for (const std::string& field : fix.fields) {
    nlohmann::json freed = job;
    freed["plan"].erase(field == "cuts" ? "phases" : field);
    World other(freed);
    EXPECT_TRUE(searched(other, false).best.empty()) << field;
  }
}

// Bounds of stages are freed alone, and with the stages that have them.
TEST(Search, ItsNearestFixFreesBoundsOfStages) {
  nlohmann::json job = test::small_gpt({{"pipeline_stages", 2}, {"stages", {0, 3}}});
  job["plan"]["available_memory_proportion"] = {{"stages", {0.1, 0.2}}};
  std::map<std::string, std::vector<std::string>> pointers;
  for (const FreedField& f : fields_to_free(World(job).job)) pointers[f.name] = f.pointers;
  const std::string bounds = "/plan/available_memory_proportion";
  EXPECT_EQ(pointers.at("available_memory_proportion"), std::vector{bounds});
  EXPECT_EQ(pointers.at("cuts"), (std::vector<std::string>{"/plan/stages", bounds}));
  EXPECT_EQ(pointers.size(), 3U);
}

TEST(Search, SaysThatNoFixExists) {
  // 26 GB of weights for one chip without Streaming Memory to put them in.
  nlohmann::json job = test::small_job("gpt3-13b", nlohmann::json::object(), "c600");
  job["task"] = "inference";
  job.erase("optimizer");
  job["batch"] = {{"global", 1}};
  job["plan"] = {{"micro_batch", 1}, {"schedule", "sequential"}};
  World world(job);
  ASSERT_EQ(world.job.machine.streaming.capacity.value, 0);
  const NearestFix fix = find_nearest_fix(world.tables, SearchOptions{});
  EXPECT_TRUE(fix.never);
  EXPECT_THAT(fix.text(), testing::HasSubstr("no plan fits this machine"));
  job["plan"].erase("schedule");  // the only pin that is left
  World one(job);
  EXPECT_TRUE(find_nearest_fix(one.tables, SearchOptions{}).never);
}

TEST(Search, ItsNearestFixMayBeALimit) {
  nlohmann::json job = test::small_inference();
  job["limits"]["ddr_bytes_per_ipu"] = 1;  // the batch itself comes through it
  World world(job);
  const SearchResult r = searched(world);
  ASSERT_TRUE(r.best.empty());
  const NearestFix fix = find_nearest_fix(world.tables, SearchOptions{});
  EXPECT_EQ(fix.fields, std::vector<std::string>{"limits.ddr_bytes_per_ipu"});
  EXPECT_EQ(r.nearest_fix, fix.text());
  ASSERT_TRUE(fix.best);
  EXPECT_THAT(fix.text(), testing::StartsWith("limits.ddr_bytes_per_ipu = " + std::to_string(fix.best->estimate.ddr) +
                                              " fits with "));
  job["limits"]["ddr_bytes_per_ipu"] = fix.best->estimate.ddr;
  World raised(job);
  EXPECT_FALSE(searched(raised).best.empty());
}

// That is known of all cells before any is opened.
TEST(Search, SaysThatASerialisationDividesNothing) {
  nlohmann::json job = test::small_gpt({{"serialisation", {{"head", 7}}}});
  job["model"]["vocabulary"] = 500;
  World world(job);
  const SearchResult r = search(world.tables, {.explain = explain_infeasible});
  EXPECT_TRUE(r.best.empty());
  EXPECT_TRUE(r.stats.optimal);
  EXPECT_EQ(r.stats.explored, 0);
  ASSERT_FALSE(r.overflows.empty());
  EXPECT_THAT(r.overflows[0].detail, testing::HasSubstr("serialisation.head 7 does not cut"));
}

// A batch of five does not fill eight IPUs, however the pins are, but one.
TEST(Search, ItsNearestFixMayTakeFewerIpus) {
  nlohmann::json job = test::small_gpt({{"schedule", "interleaved"}, {"phases", 5}});
  const nlohmann::json small = {{"layers", 1},      {"hidden", 16},         {"heads", 1},    {"ffn", 48},
                                {"vocabulary", 17}, {"sequence_length", 8}, {"positions", 8}};
  job["model"].update(small);
  const nlohmann::json chip = {{"tile_memory", "96 KiB"}, {"executable_memory", "36 KiB"}};
  job["machine"] = {
      {"base", "toy"}, {"partition", 8}, {"override", {{"chip", chip}, {"streaming", {{"capacity", "16 KiB"}}}}}};
  job["batch"] = {{"global", 5}};
  test::let_fill_tiles(job);
  const Job asked = read_job(job, "test");
  World world(job);
  SearchOptions options;
  EXPECT_FALSE(find_nearest_fix(world.tables, options).best);
  options.asked = &asked;
  const NearestFix fix = find_nearest_fix(world.tables, options);
  ASSERT_TRUE(fix.best) << fix.text();
  EXPECT_TRUE(fix.on_fewer);
  EXPECT_EQ(fix.fields, std::vector<std::string>{"cuts"});
  EXPECT_THAT(fix.text(), testing::EndsWith(" on 2 IPUs"));

  // What was tabulated for one answer serves the next.
  WarmTables warm;
  options.warm = &warm;
  EXPECT_EQ(find_nearest_fix(world.tables, options).text(), fix.text());
  const WarmTables::Lease smaller = warm.lease(on_partition(asked, 2));
  const double made = smaller.tables->seconds();
  EXPECT_GT(made, 0);
  EXPECT_EQ(find_nearest_fix(world.tables, options).text(), fix.text());
  EXPECT_EQ(smaller.tables->seconds(), made);
}

TEST(Search, SaysThatItStoppedBeforeItHadAPlan) {
  World world(test::small_gpt({}));
  SearchOptions options;
  options.explain = explain_infeasible;
  options.time_limit = 1e-9;
  const SearchResult r = search(world.tables, options);
  EXPECT_TRUE(r.best.empty());
  EXPECT_FALSE(r.closest);
  EXPECT_TRUE(r.nearest_fix.empty());
  ASSERT_EQ(r.overflows.size(), 1U);
  EXPECT_EQ(r.overflows[0].constraint, "");
  EXPECT_THAT(r.overflows[0].detail, testing::HasSubstr("--time-limit"));
}

TEST(Search, SaysWhatPinsDoNotAllow) {
  const auto reason = [](const nlohmann::json& pins) {
    World world(test::small_gpt(pins));
    const SearchResult r = searched(world, false);
    EXPECT_TRUE(r.best.empty()) << pins;
    return r.overflows.at(0).constraint + ": " + r.overflows.at(0).detail;
  };
  EXPECT_THAT(reason({{"replicated_tensor_sharding", {{"weights", 3}}}}),
              testing::HasSubstr("does not divide the 1 replicas"));
  EXPECT_THAT(reason({{"prefetch_depth", 1'000'000'000}}), testing::StartsWith("tile memory: "));
}

// A machine with little to use is no other machine.
TEST(Search, LimitsOnStreamingMemoryMakeNothingFaster) {
  nlohmann::json job = test::small_job("vit-base", {{"layers", 2}}, {{"base", "ipu-pod4"}, {"partition", 1}});
  job["batch"] = {{"global", 8}};
  double before = 0;
  for (const std::int64_t limit : {0LL, 1LL << 16, 1LL << 21, 1LL << 32}) {
    job["limits"]["ddr_bytes_per_ipu"] = limit;
    World world(job);
    const SearchResult r = searched(world, false);
    const double rate = r.best.empty() ? 0 : r.best[0].samples_per_second;
    EXPECT_GE(rate, before) << limit;
    before = rate;
  }
  job.erase("limits");
  World world(job);
  EXPECT_GE(searched(world, false).best.at(0).samples_per_second, before);
  EXPECT_GT(before, 0);
}

// As they leave some without a phase's stage.
TEST(Search, PhasesMayHaveMoreIpuGroupsThanUnits) {
  nlohmann::json job = test::small_gpt({{"pipeline_stages", 16}, {"location", {{"weights", "streaming"}}}});
  job["machine"] = "ipu-pod16";
  World world(job);
  const SearchResult r = searched(world, false);
  ASSERT_FALSE(r.best.empty());
  EXPECT_NE(evaluate_in_full(world.tables, r.best[0].plan).fits, "does_not_fit");
  job["plan"] = {{"pipeline_stages", 16}, {"phases", 1}};
  World pipeline(job);
  EXPECT_THROW(searched(pipeline, false), Error);
}

// The card's inputs come from its host; nothing is kept outside of the tiles.
TEST(Search, PlansMachinesWithoutStreamingMemory) {
  for (const char* task : {"training", "inference"}) {
    nlohmann::json job = test::small_gpt({});
    job["machine"] = "c600";
    job["task"] = task;
    if (job["task"] == "inference") job.erase("optimizer");
    job["batch"] = {{"global", 4}};
    World world(job);
    const SearchResult r = searched(world, false);
    ASSERT_FALSE(r.best.empty()) << task;
    const Evaluated e = evaluate_in_full(world.tables, r.best[0].plan);
    EXPECT_NE(e.fits, "does_not_fit");
    EXPECT_EQ(e.ddr_per_ipu, 0);
    EXPECT_NEAR(e.samples_per_second, r.best[0].samples_per_second, 1e-6 * e.samples_per_second);
  }
}

// A plan that is hundreds of times too large has its costs and overflows all the same.
TEST(EvaluatePinned, PlansThatAreFarTooLarge) {
  nlohmann::json job = test::small_job("gpt3-175b", {{"layers", 24}}, "ipu-pod4");
  job["batch"] = {{"global", 8}};
  job["plan"] = {
      {"tensor_parallel", 1}, {"pipeline_stages", 4},
      {"replicas", 1},        {"micro_batch", 1},
      {"phases", 1},          {"location", {{"weights", "in_processor"}, {"optimizer_state", "in_processor"}}}};
  World world(job);
  const Evaluated e = evaluate_pinned(world.tables, 1);
  EXPECT_GT(e.tile_peak, 100 * world.job.machine.chip.tile_memory.value);
  EXPECT_EQ(e.fits, "does_not_fit");
  EXPECT_FALSE(e.overflows.empty());
}

// Wherever the cuts are: no setting is looked into.
TEST(Search, SchedulesThatTooFewMicroBatchesFillTakeNoWork) {
  World world(test::small_gpt(
      {{"pipeline_stages", 2}, {"gradient_accumulation", 2}, {"phases", 1}, {"schedule", {"grouped", "interleaved"}}}));
  SearchOptions options;
  options.explain = explain_infeasible;
  options.find_fix = false;
  const SearchResult r = search(world.tables, options);
  EXPECT_TRUE(r.best.empty());
  EXPECT_EQ(r.stats.programmes, 0);
  EXPECT_GT(r.stats.pruned, 0);
  ASSERT_EQ(r.overflows.size(), 1);
  EXPECT_THAT(r.overflows[0].detail, testing::HasSubstr("3 micro-batches that 2 pipelined stages need"));
}

// Places that are pinned where there are none: no setting is looked at, and what is in the way is said.
TEST(Search, PlacesThatAreNotThere) {
  const auto pinned = [](const nlohmann::json& places) {
    nlohmann::json job = test::small_job("gpt2-small", nlohmann::json::object(), "ipu-pod4");
    job["batch"] = {{"global", 8}};
    job["plan"] = {{"location", places}, {"available_memory_proportion", 0.25}};
    World world(job);
    return searched(world);
  };
  const SearchResult no_machine = pinned({{"weights", "remote_machine"}});
  EXPECT_TRUE(no_machine.best.empty());
  EXPECT_EQ(no_machine.stats.programmes, 0);
  ASSERT_FALSE(no_machine.overflows.empty());
  EXPECT_THAT(no_machine.overflows[0].detail, testing::HasSubstr("needs an IPU-Machine outside of the replica's own"));
  EXPECT_THAT(no_machine.nearest_fix, testing::StartsWith("location.weights = \"in_processor\" fits with "));
  const SearchResult stays = pinned({{"weights", "streaming"}, {"optimizer_state", "in_processor"}});
  EXPECT_EQ(stays.stats.programmes, 0);
  ASSERT_FALSE(stays.overflows.empty());
  EXPECT_EQ(
      stays.overflows[0].detail,
      "phases need optimizer_state outside the processor; legal with location.optimizer_state = \"streaming\", or "
      "with location.weights = \"in_processor\"");
  EXPECT_THAT(stays.nearest_fix, testing::StartsWith("location.weights = \"in_processor\" fits with "));
  // Of several places those that are there are searched.
  const SearchResult some = pinned({{"weights", {"remote_machine", "streaming"}}});
  ASSERT_FALSE(some.best.empty());
  EXPECT_EQ(some.best[0].plan.location.weights, Location::streaming);
}

}  // namespace
}  // namespace superstep
