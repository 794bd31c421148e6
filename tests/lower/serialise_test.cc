// SPDX-License-Identifier: Apache-2.0
// A pinned factor of serialisation runs the ops it is for in just so many parts: slower, with less temporary memory.
#include "model/lower/serialise.h"

#include <gtest/gtest.h>

#include <set>

#include "model/lower/shard.h"
#include "tests/lower/toy.h"

namespace superstep {
namespace {

// What the serialised ops take in all.
struct Taken {
  std::set<std::string> ops;
  std::set<std::int64_t> times;  // of the steps that compute on tiles
  Cycles cycles;
  Bytes temporary;  // sum over the ops of the largest
};

class Serialised {
 public:
  Serialised()
      : graph_(test::small_gpt(1, 256, 128, 2048)),
        model_(load_machine("ipu-pod4"), load_calibration()),
        facts_(graph_),
        sharding_(shard(graph_, {1, 1}, collective_time(model_, {1, 1}), work_time(graph_, model_.machine().chip))),
        shared_(model_, model_.machine().chip.tiles) {}

  // All ops that `which` is for, run under `factors`.
  Taken take(const Serialisation& which, const Serialisation& factors) {
    TableKey key;
    key.serialisation = factors;
    const UnitTable table(facts_, sharding_, model_, shared_, key, true);
    Taken taken;
    for (std::size_t u = 0; u < table.units(); ++u) {
      for (Pass pass : {Pass::forward, Pass::backward}) add(table.function(u, pass), which, taken);
    }
    return taken;
  }

 private:
  void add(const Function& f, const Serialisation& which, Taken& taken) {
    const auto& ops = graph_.units[f.unit].ops[static_cast<std::size_t>(f.pass)];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      if (forced_parts(facts_, which, ops[i]) == 0) continue;
      taken.ops.insert(graph_.ops[ops[i]].name);
      Bytes most(0);
      for (const Step& s : f.steps) {
        if (s.op != static_cast<std::int32_t>(i)) continue;
        if (s.kind == StepKind::compute && !s.grid.empty()) taken.times.insert(s.times);
        if (s.term != Term::relayout) most = std::max(most, s.temporary);
        taken.cycles += model_.step(s).total();
      }
      taken.temporary += most;
    }
  }

  Graph graph_;
  CostModel model_;
  GraphFacts facts_;
  GraphSharding sharding_;
  SharedCosts shared_;
};

void expect_serialised(std::int64_t Serialisation::*field, std::size_t ops) {
  Serialised model;
  Serialisation once, parts;
  once.*field = 1, parts.*field = 4;
  const Taken whole = model.take(once, once), cut = model.take(once, parts);
  EXPECT_EQ(whole.ops.size(), ops);
  EXPECT_EQ(whole.times, std::set<std::int64_t>{1});
  EXPECT_EQ(cut.times, std::set<std::int64_t>{4});
  EXPECT_GT(cut.cycles, whole.cycles);
  EXPECT_TRUE(cut.temporary < whole.temporary || whole.temporary == Bytes(0));
  EXPECT_EQ(whole.temporary == Bytes(0),
            field == &Serialisation::embedding);  // nothing of a lookup in flight is counted
}

// Tokens up and their gradients down; positions are a slice, not a lookup.
TEST(Serialisation, OfTheEmbedding) { expect_serialised(&Serialisation::embedding, 2); }

// Logits, and the gradients of both operands.
TEST(Serialisation, OfTheHead) { expect_serialised(&Serialisation::head, 3); }

// Scores and context, and the gradients of both operands of each.
TEST(Serialisation, OfAttention) { expect_serialised(&Serialisation::attention, 6); }

// Up and down, and the gradients of both operands of each.
TEST(Serialisation, OfFeedForward) { expect_serialised(&Serialisation::feed_forward, 6); }

TEST(Serialisation, OfAProductByHand) {
  // [8 x 16] by [16 x 64] on the toy in two parts of 32 columns, each over two blocks of columns and two of rows:
  //   rows 4 x 2 x ceil(4 / 2) = 16 and 10; inputs 4 x 16 x 2 - 8 x 16 x 2 / 4 = 64 B, paired; weights 512 - 16 x 32 x
  //   2 / 4 = 256 B; two supersteps: 16 + 10 + 64 + 256 + 20 = 366. Whole it takes 254
  //   (ToyProduct.SplitsColumnsOverFourTiles).
  const Machine machine = test::toy(1);
  ProductFronts fronts(machine.chip, machine.chip.tiles, test::nothing_fitted());
  const ProductShape shape{.rows = 8, .columns = 64, .contracted = 16};
  const ProductPlan& p = fronts.fastest_in(2, shape, machine.chip.tile_memory).plan;
  EXPECT_EQ(p.times, 2);
  EXPECT_EQ(p.total, Cycles(2 * 366));
  EXPECT_EQ(p.temporary, Bytes(320));
  EXPECT_EQ(fronts.fastest_in(1, shape, machine.chip.tile_memory).plan.total, Cycles(254));
}

TEST(Serialisation, OfAProductWhosePartsAddUp) {
  // [2 x 64] by [64 x 15] in two parts: 15 columns have no two equal ones. Each is [2 x 32] by [32 x 15]; a part's 30
  // results, 8 on a tile, are 16 B, one pass of either worker: 60 + 2 x (24 + 3) = 114 and a superstep to add them.
  const Machine machine = test::toy(1);
  ProductFronts fronts(machine.chip, machine.chip.tiles, test::nothing_fitted());
  const ProductPlan& p =
      fronts.fastest_in(2, {.rows = 2, .columns = 15, .contracted = 64}, machine.chip.tile_memory).plan;
  const Cycles part =
      fronts.fastest_in(1, {.rows = 2, .columns = 15, .contracted = 32}, machine.chip.tile_memory).plan.total;
  EXPECT_EQ(p.times, 2);
  EXPECT_EQ(p.add, Cycles(114));
  EXPECT_EQ(p.total, 2 * part + Cycles(124));
}

}  // namespace
}  // namespace superstep
