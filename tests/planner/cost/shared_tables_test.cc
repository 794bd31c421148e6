// SPDX-License-Identifier: Apache-2.0
// What tables share, with each other and between threads and jobs.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>

#include "model/error.h"
#include "planner/cost/warm_tables.h"
#include "planner/job/partitions.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::World;

// Tables of one number of compute tiles share the costs of equal updates.
TEST(Tables, ShareUpdatesThatAreTheSameLoweredAnew) {
  for (const char* optimizer : {"lamb", "adam", "sgd"}) {
    nlohmann::json job = test::small_bert(2);
    job["optimizer"]["kind"] = optimizer;
    World world(job);
    for (std::int64_t t : {1, 2, 4}) {
      for (std::int64_t micro_batch : {1, 2}) {
        for (double proportion : {0.0005, 0.002, 0.6}) {  // the first two cut updates into slices
          Plan plan;
          plan.tensor_parallel = {t, 1};
          plan.micro_batch = micro_batch;
          plan.available_memory_proportion = proportion;
          const UnitTable& table = world.table(plan);
          for (std::size_t u = 0; u < table.units(); ++u) {
            if (table.row(u).parameters == 0) continue;
            for (GroupShape group : {GroupShape{1, t}, GroupShape{4, t}, GroupShape{2, 2 * t}}) {
              const Function anew = table.function(u, Pass::update, group);
              const UpdateCost& shared = table.update(u, group);
              const std::string what = std::string(optimizer) + " t" + std::to_string(t) + " m" +
                                       std::to_string(micro_batch) + " " + anew.name;
              EXPECT_EQ(shared.cycles, world.model.function(anew).total()) << what;
              EXPECT_EQ(shared.footprint.peak, anew.peak) << what;
              EXPECT_EQ(shared.footprint.exchange_code, anew.exchange_code) << what;
              EXPECT_EQ(shared.footprint.vertices, anew.vertices) << what;
            }
          }
        }
      }
    }
  }
}

// What equal units share is what each has when it is split, lowered and costed alone.
TEST(Tables, GiveEqualUnitsTheNumbersThatEachHasAlone) {
  const nlohmann::json bert = test::small_bert(3);
  nlohmann::json gpt = bert;
  gpt["model"]["zoo"] = "gpt2-small";
  gpt["model"].erase("masked_tokens");
  for (const nlohmann::json& given : {bert, gpt}) {
    const Job job = read_job(given, "test");
    const CostModel cost(job.machine, load_calibration());
    Tables shared(job, cost), alone(job, cost, false);
    for (const TensorParallel mesh : {TensorParallel{1, 1}, {2, 1}, {4, 1}, {2, 2}}) {
      for (std::int64_t micro_batch : {1, 8}) {
        for (const bool split : {false, true}) {
          TableKey key;
          key.mesh = mesh;
          key.micro_batch = micro_batch;
          key.split_activations = split && mesh.size() > 1;
          const UnitTable &a = shared.table(key), &b = alone.table(key);
          for (std::size_t u = 0; u < a.units(); ++u) {
            const UnitRow &x = a.row(u), &y = b.row(u);
            const std::string what = job.model.name() + " " + std::to_string(mesh.t1) + "x" + std::to_string(mesh.t2) +
                                     " m" + std::to_string(micro_batch) + (key.split_activations ? " split " : " ") +
                                     a.facts().graph.units[UnitId(u)].name;
            EXPECT_EQ(x.forward_cycles.total(), y.forward_cycles.total()) << what;
            EXPECT_EQ(x.backward_cycles.total(), y.backward_cycles.total()) << what;
            EXPECT_EQ(x.forward.peak, y.forward.peak) << what;
            EXPECT_EQ(x.backward.peak, y.backward.peak) << what;
            EXPECT_EQ(x.forward.kept, y.forward.kept) << what;
            EXPECT_EQ(x.weight_bytes, y.weight_bytes) << what;
            EXPECT_EQ(a.boundary(u).bytes, b.boundary(u).bytes) << what;
            for (const GroupShape group : {GroupShape{1, 1}, GroupShape{2, mesh.size()}})
              EXPECT_EQ(a.update(u, group).cycles, b.update(u, group).cycles) << what;
          }
        }
      }
    }
  }
}

// Groups of IPUs find the same links in as many whole racks as there are, so that tables are copied, not made.
TEST(Tables, OfPartitionsOfWholeRacksAreThoseOfTheMachine) {
  nlohmann::json given = test::small_bert(2);
  given["optimizer"] = {{"kind", "lamb"}};
  given["machine"] = "ipu-pod256";
  const Job whole = read_job(given, "test");
  const CostModel cost(whole.machine, load_calibration());
  Tables tables(whole, cost);
  for (const std::int64_t ipus : {128, 64, 32}) {
    const Job job = on_partition(whole, ipus);
    const CostModel of_part(job.machine, load_calibration());
    Tables part(job, of_part, tables), alone(job, of_part);
    for (const std::int64_t rank_stride : {1, 4}) {
      TableKey key;
      key.mesh = {4, 2};
      key.rank_stride = rank_stride;
      tables.table(key);
      const double before = part.seconds();
      const UnitTable &a = part.table(key), &b = alone.table(key);
      EXPECT_EQ(part.seconds() == before, ipus >= 64) << ipus;
      EXPECT_EQ(&a.model(), &of_part);
      for (std::size_t u = 0; u < a.units(); ++u) {
        const UnitRow &x = a.row(u), &y = b.row(u);
        EXPECT_EQ(x.forward_cycles, y.forward_cycles) << u;
        EXPECT_EQ(x.backward_cycles, y.backward_cycles) << u;
        EXPECT_EQ(x.forward.peak, y.forward.peak) << u;
        EXPECT_EQ(x.weight_bytes, y.weight_bytes) << u;
        for (const GroupShape group : {GroupShape{1, 8}, GroupShape{4, 8}})
          EXPECT_EQ(a.update(u, group).cycles, b.update(u, group).cycles) << u;
      }
    }
  }
}

// Ranks that are not neighbours: what tables of other strides share is what each has when it is lowered alone.
TEST(Tables, OfRanksFurtherApartAreWhatTheyWouldBeAlone) {
  nlohmann::json given = test::small_bert(2);
  given["optimizer"] = {{"kind", "lamb"}};  // its norms are sums over the mesh
  const Job job = read_job(given, "test");
  const CostModel cost(job.machine, load_calibration());
  Tables tables(job, cost);
  int slower = 0, slower_updates = 0;
  for (const TensorParallel mesh : {TensorParallel{4, 1}, {2, 2}}) {
    for (const bool split : {false, true}) {
      TableKey key;
      key.mesh = mesh;
      key.split_activations = split;
      const UnitTable& neighbours = tables.table(key);
      neighbours.updates({1, 1});
      key.rank_stride = 4;
      const UnitTable& apart = tables.table(key);
      SharedCosts shared(cost, job.machine.chip.tiles);
      const UnitTable alone(tables.facts(key.micro_batch), apart.sharding(), cost, shared, key, true);
      EXPECT_EQ(apart.classes(), neighbours.classes()) << "nothing was lowered for it";
      for (std::size_t u = 0; u < alone.units(); ++u) {
        const UnitRow &x = apart.row(u), &y = alone.row(u), &near = neighbours.row(u);
        EXPECT_EQ(x.forward_cycles, y.forward_cycles) << u;
        EXPECT_EQ(x.backward_cycles, y.backward_cycles) << u;
        EXPECT_EQ(x.forward.peak, y.forward.peak) << u;
        EXPECT_EQ(apart.update(u, {1, 1}).cycles, alone.update(u, {1, 1}).cycles) << u;
        slower += x.forward_cycles.total() > near.forward_cycles.total();
        slower_updates += apart.update(u, {1, 1}).cycles > neighbours.update(u, {1, 1}).cycles;
      }
    }
  }
  EXPECT_GT(slower, 0);
  EXPECT_GT(slower_updates, 0);
}

// Threads that want the same updates make each once, and share the work.
TEST(Tables, UpdatesThatSeveralThreadsWantAreMadeOnce) {
  std::vector<std::uint64_t> signatures(40);
  std::iota(signatures.begin(), signatures.end(), 1);
  UpdateCosts costs;
  std::vector<std::atomic<int>> made(signatures.size());
  std::vector<std::vector<const UpdateCost*>> got(4);
  std::barrier begin(std::ssize(got));
  std::vector<std::jthread> threads;
  for (std::vector<const UpdateCost*>& mine : got) {
    threads.emplace_back([&] {
      begin.arrive_and_wait();
      mine = costs.get(signatures, [&](std::size_t i) {
        ++made[i];
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        return UpdateCost{{}, Cycles(static_cast<std::int64_t>(signatures[i]))};
      });
    });
  }
  threads.clear();
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    EXPECT_EQ(made[i], 1) << i;
    for (const auto& mine : got) EXPECT_EQ(mine[i], got[0][i]) << i;
    EXPECT_EQ(got[0][i]->cycles.value, i + 1);
  }
}

// One that fails is made by who comes next.
TEST(Tables, UpdatesThatFailAreMadeAgain) {
  const std::vector<std::uint64_t> signatures = {7, 8};
  UpdateCosts costs;
  EXPECT_THROW(costs.get(signatures, [](std::size_t) -> UpdateCost { throw Error("here", "no"); }), Error);
  int made = 0;
  costs.get(signatures, [&](std::size_t) { return ++made, UpdateCost{}; });
  EXPECT_EQ(made, 2);
}

// Partitions and precisions of one model and machine are remembered together.
TEST(WarmTables, ForgetWhatWasNotAskedAboutLately) {
  WarmTables warm("", 2);
  const auto job = [](const char* machine, std::int64_t layers, std::int64_t ipus, const char* partials) {
    nlohmann::json given = test::small_bert(layers);
    given["machine"] = {{"base", machine}, {"partition", ipus}};
    given["plan"]["precision"]["partials"] = partials;
    return read_job(given, "test");
  };
  std::vector<Job> kin;
  for (const std::int64_t ipus : {16, 4, 2}) {
    for (const char* partials : {"fp16", "fp32"}) kin.push_back(job("ipu-pod16", 2, ipus, partials));
  }
  for (const Job& one : kin) warm.lease(one).tables->table({});
  const auto kept = [&](const Job& one) { return warm.lease(one).tables->has({}); };
  EXPECT_FALSE(kept(job("ipu-pod16", 3, 16, "fp16")));
  for (const Job& one : kin) EXPECT_TRUE(kept(one)) << one.json().dump();
  const WarmTables::Lease held = warm.lease(kin[0]);
  EXPECT_FALSE(kept(job("bow-pod16", 2, 16, "fp16")));
  EXPECT_FALSE(kept(job("ipu-pod64", 2, 16, "fp16")));
  for (const Job& one : kin) EXPECT_FALSE(kept(one)) << one.json().dump();
  EXPECT_TRUE(held.tables->has({}));
}

TEST(Tables, SayWhichWaitForEachOther) {
  World world(
      test::small_job("bert-base", {{"layers", 2}, {"hidden", 256}, {"heads", 4}, {"vocabulary", 2000}}, "ipu-pod16"));
  TableKey key;
  key.mesh = {2, 1};
  const auto with = [&](auto change) {
    TableKey other = key;
    change(other);
    return other;
  };
  const TableKey other_cap = with([](TableKey&k) { k.proportion = 0.2; }),
                 other_tiles = with([](TableKey&k) { k.io_tiles = 32; }),
                 split = with([](TableKey&k) { k.split_activations = true; }),
                 split_other_tiles = with([](TableKey&k) { k.split_activations = true, k.io_tiles = 32; }),
                 other_mesh = with([](TableKey&k) {
                   k.mesh = {4, 1};
                 }),
                 other_graph = with([](TableKey&k) { k.micro_batch = 2; });
  Tables& tables = world.tables;
  const auto wait = [&](const TableKey& other) {
    EXPECT_EQ(tables.wait_for_each_other(key, other), tables.wait_for_each_other(other, key));
    return tables.wait_for_each_other(key, other);
  };
  EXPECT_TRUE(wait(key) && wait(other_mesh) && wait(split_other_tiles)) << "there is no graph";
  EXPECT_FALSE(wait(other_graph) || tables.has(key));
  tables.facts(key.micro_batch);
  EXPECT_TRUE(wait(key) && wait(other_cap) && wait(split));
  EXPECT_TRUE(wait(other_tiles)) << "neither has the sharding";
  EXPECT_FALSE(wait(split_other_tiles) || wait(other_mesh) || wait(other_graph));
  EXPECT_FALSE(tables.has(key));
  tables.table(other_cap);
  EXPECT_FALSE(wait(other_tiles)) << "the sharding is there";
  EXPECT_TRUE(wait(key) && wait(split));
  EXPECT_TRUE(tables.has(other_cap));
  EXPECT_FALSE(tables.has(key));
}

// What one job tabulated is there for another that only pins other fields.
TEST(Tables, AreSharedByJobsThatDifferInPins) {
  World cold(test::small_gpt({{"pipeline_stages", 2}}));
  Plan plan;
  plan.pipeline_stages = 2;
  const UnitTable& table = cold.table(plan);
  const std::int64_t searches = cold.tables.searches();
  const Job job = read_job(test::small_gpt({{"replicas", 2}}), "another");
  Tables warm(job, cold.tables);
  EXPECT_EQ(&warm.table(table_key(plan)), &table);
  EXPECT_EQ(warm.searches(), searches);
  EXPECT_EQ(warm.job().source, "another");
  const Job precise = read_job(test::small_gpt({{"precision", {{"partials", "fp32"}}}}), "another");
  EXPECT_NE(tables_key(precise), tables_key(job));
}

std::string text_of(const Program& program, const UnitTable& table) {
  std::ostringstream out;
  print(out, program, table.facts().graph);
  return out.str();
}

// What jobs on several machines share changes no answer; tile plans are searched again when the chip is another.
TEST(Tables, ShareGraphsAndTilePlansWithAnotherMachine) {
  Plan plan;
  plan.pipeline_stages = 2;
  plan.tensor_parallel = {2, 1};
  Plan wider = plan;
  wider.micro_batch = 2;
  World first(test::small_gpt({}));
  first.table(plan);
  const std::int64_t searches = first.tables.searches();
  for (const auto& [number, of_chip] : {std::pair("/chip/clock", true), std::pair("/links/rate", false)}) {
    nlohmann::json other = test::small_gpt({});
    other["machine"] = {{"base", other["machine"]}, {"override", nlohmann::json::object()}};
    other["machine"]["override"][nlohmann::json::json_pointer(number)] = of_chip ? "1 GHz" : "3 GB/s";
    World cold(other);
    EXPECT_EQ(graph_key(cold.job), graph_key(first.job));
    Tables shared(cold.job, cold.model, first.tables);
    const UnitTable& warm = shared.table(table_key(plan));
    EXPECT_EQ(&shared.facts(plan.micro_batch), &first.tables.facts(plan.micro_batch));
    shared.table(table_key(wider));
    EXPECT_EQ(first.tables.searches() > searches, !of_chip) << number;
    const UnitTable& anew = cold.table(plan);
    const Program one = lower(warm, plan, cold.job.optimizer), two = lower(anew, plan, cold.job.optimizer);
    EXPECT_EQ(text_of(one, warm), text_of(two, anew)) << number;
    EXPECT_EQ(cost(one, cold.model).step, cost(two, cold.model).step) << number;
  }
  EXPECT_NE(
      graph_key(read_job(test::small_gpt({{"precision", {{"weights", "fp32"}, {"activations", "fp32"}}}}), "another")),
      graph_key(first.job));
}

}  // namespace
}  // namespace superstep
