// SPDX-License-Identifier: Apache-2.0
// Small programs on the toy machine, worked out by hand, equal to the cycle and the byte.
#include <gtest/gtest.h>

#include "tests/lower/toy.h"

namespace superstep {
namespace {

using test::Lowered;
using test::nothing_fitted;
using test::toy;

TEST(ToyProduct, SplitsColumnsOverFourTiles) {
  // [8 x 16] by [16 x 64], fp16, a block of 16 columns per tile (pn = 4):
  //   rows   4 cycles x 2 workers x ceil(8 / 2) = 32, all useful (8 x 64 x 16 / 64 per cycle / 4 tiles = 32)
  //   fixed  one block: 10
  //   inputs 8 x 16 x 2 B = 256 B on each tile, of which a quarter, 64 B, lies there: receives 192 B, paired
  //   weights 16 x 16 x 2 B = 512 B, the tile's own share of 2 KiB: receives 0
  //   total  32 + 10 + 192 + two supersteps of 10 = 254
  const CostModel model(toy(1), nothing_fitted());
  const ProductShape shape{.rows = 8, .columns = 64, .contracted = 16};
  const std::vector<ProductPlan> front = product_front(shape, 4, model.machine().chip, model.calibration());
  ASSERT_FALSE(front.empty());
  const ProductPlan& p = front.front();
  EXPECT_EQ(p.pn, 4);
  EXPECT_EQ(p.pm * p.pg * p.pk * p.times, 1);
  EXPECT_FALSE(p.swapped);
  EXPECT_EQ(p.rows_useful, Cycles(32));
  EXPECT_EQ(p.rows_padding, Cycles(0));
  EXPECT_EQ(p.fixed, Cycles(10));
  EXPECT_EQ(p.plain_bytes, Bytes(0));
  EXPECT_EQ(p.paired_bytes, Bytes(192));
  EXPECT_EQ(p.temporary, Bytes(192));
  EXPECT_EQ(p.total, Cycles(254));
}

TEST(ToyProduct, SplitsTheContractionWhenColumnsAreFew) {
  // [2 x 64] by [64 x 16]: one block of columns, four of the contraction, one per tile (pk = 4):
  //   rows   4 x 2 x ceil(2 / 2) = 8, useful 2 x 16 x 64 / 64 / 4 = 8; fixed 10
  //   inputs 2 x 16 x 2 B = 64 B and weights 512 B, both a tile's own share: receives 0
  //   partials 2 x 16 results x 2 B = 64 B; a tile adds 4 parts of ceil(32 / 4) = 8 elements and has one of them:
  //            3 x 8 x 2 B = 48 B received; 33 + 2 (20 + (2 x 4 + 8) x ceil(8 / 16)) = 105
  //   total  8 + 10 + 20 + 48 + 105 + 20 = 211; temporary: own 64 B + 48 B received
  const CostModel model(toy(1), nothing_fitted());
  const ProductShape shape{.rows = 2, .columns = 16, .contracted = 64};
  for (const ProductPlan& p : product_front(shape, 4, model.machine().chip, model.calibration())) {
    if (p.pk != 4) continue;
    EXPECT_EQ(p.rows_useful, Cycles(8));
    EXPECT_EQ(p.fixed, Cycles(10));
    EXPECT_EQ(p.plain_bytes + p.paired_bytes, Bytes(0));
    EXPECT_EQ(p.partial_bytes, Bytes(48));
    EXPECT_EQ(p.reduce, Cycles(105));
    EXPECT_EQ(p.temporary, Bytes(112));
    EXPECT_EQ(p.total, Cycles(211));
    return;
  }
  FAIL() << "no plan splits the contraction";
}

TEST(ToyProduct, PaysForPiecesOfPartialSumsWhereTheMachineDoes) {
  // As above, and each of the three other tiles' runs costs 7 cycles: 211 + 3 x 7.
  CostModel model(toy(1), nothing_fitted());
  Chip chip = model.machine().chip;
  chip.exchange.piece = Cycles(7);
  const ProductShape shape{.rows = 2, .columns = 16, .contracted = 64};
  EXPECT_EQ(product_plan(shape, {.contracted = 4}, 4, chip, model.calibration()).total, Cycles(232));
}

Graph one_unit(TensorId (*result)(GraphBuilder&)) {
  Graph graph;
  GraphBuilder b(graph);
  b.begin_unit("unit");
  graph.outputs = {result(b)};
  return graph;
}

TEST(ToyUnit, Matmul) {
  // As SplitsColumnsOverFourTiles: exchange 192 + 10, multiply 32 + 10 + 10.
  const Lowered l(one_unit([](GraphBuilder& b) {
                    const TensorId x = b.input("x", DType::fp16, {8, 16});
                    return b.matmul(x, b.weight("w", DType::fp16, {16, 64}));
                  }),
                  1, {1, 1}, false);
  const UnitRow& row = l.table.row(0);
  ASSERT_EQ(l.table.function(0, Pass::forward).steps.size(), 2u);
  EXPECT_EQ(row.forward_cycles[Term::operand_exchange], 192);
  EXPECT_EQ(row.forward_cycles[Term::amp_rows], 32);
  EXPECT_EQ(row.forward_cycles[Term::amp_fixed], 10);
  EXPECT_EQ(row.forward_cycles[Term::superstep], 20);
  EXPECT_EQ(row.forward_cycles.total(), Cycles(254));
  EXPECT_EQ(row.weight_bytes, Bytes(2048));
  EXPECT_EQ(row.weight_tile, Bytes(512));
  EXPECT_EQ(row.feed_bytes, Bytes(256));
  EXPECT_EQ(row.feed_tile, Bytes(64));
  // The result, 8 x 64 x 2 B on 4 tiles, and the operands in flight.
  EXPECT_EQ(row.forward.peak, Bytes(256 + 192));
  // 2 x 8 x 64 x 16
  EXPECT_EQ(row.flops, 16384);
}

TEST(ToyUnit, ElementwiseAdd) {
  // 4 x 32 elements, 32 on a tile, 16 per worker, 4 vectors of 4: 2 workers x (26 + 4 x 3) = 76, one superstep.
  const Lowered l(one_unit([](GraphBuilder& b) {
                    const TensorId x = b.input("x", DType::fp16, {4, 32});
                    return b.binary("add", x, b.input("y", DType::fp16, {4, 32}));
                  }),
                  1, {1, 1}, false);
  const UnitRow& row = l.table.row(0);
  ASSERT_EQ(l.table.function(0, Pass::forward).steps.size(), 1u);
  EXPECT_EQ(row.forward_cycles[Term::vector], 76);
  EXPECT_EQ(row.forward_cycles.total(), Cycles(86));
  EXPECT_EQ(row.feed_bytes, Bytes(512));
}

TEST(ToyUnit, RowReduction) {
  // Sum of each of 4 rows of 32: a row per tile. One run of 32 by one worker takes 17 + 12 + 32 / 4 = 37 worker
  // cycles, cut in two 17 + 30 + 12 + 4 = 63: 2 x 37 = 74, one superstep. Cutting rows over tiles costs an exchange
  // and a join of 97 more.
  const Lowered l(one_unit([](GraphBuilder& b) {
                    return b.reduce("sum", b.input("x", DType::fp16, {4, 32}), {1}, false);
                  }),
                  1, {1, 1}, false);
  const UnitRow& row = l.table.row(0);
  ASSERT_EQ(l.table.function(0, Pass::forward).steps.size(), 1u);
  EXPECT_EQ(row.forward_cycles[Term::vector], 74);
  EXPECT_EQ(row.forward_cycles.total(), Cycles(84));
}

TEST(ToyLinks, AllReduceOverTwoIpus) {
  const CostModel model(toy(2), nothing_fitted());
  const GroupShape pair{2, 1};
  // A ring of two on the rung, 2 B per cycle: twice (1/2 x 1000 / 2 + 10) = 520; all to all 1 x 1000 / 2 + 2 x 10
  // = 520 as well; external sync 20.
  EXPECT_EQ(model.collective(CollectiveKind::all_reduce, pair, Bytes(1000)), Cycles(540));
  // Once around: 250 + 10 + 20.
  EXPECT_EQ(model.collective(CollectiveKind::all_gather, pair, Bytes(1000)), Cycles(280));
  EXPECT_EQ(model.collective(CollectiveKind::reduce_scatter, pair, Bytes(1000)), Cycles(280));
  EXPECT_EQ(model.collective(CollectiveKind::all_reduce, GroupShape{1, 1}, Bytes(1000)), Cycles(0));
}

TEST(ToyLinks, AllReduceAlongAColumn) {
  // Four IPUs of one column, rails of 1 B per cycle, the way back on their other direction: twice (3/4 x 1200 + 3 x 10)
  // + 20.
  const CostModel model(toy(8), nothing_fitted());
  EXPECT_EQ(model.collective(CollectiveKind::all_reduce, GroupShape{4, 2}, Bytes(1200)), Cycles(1880));
}

TEST(ToyLinks, StageCopy) {
  // Over the rung: 1000 / 2, two hops' latency of 10, sync 20.
  EXPECT_EQ(CostModel(toy(2), nothing_fitted()).copy(Bytes(1000), 1, {1, 1}), Cycles(540));
  // In a column, IPU i to i + 2, for a group of two: whole over the rail 1000 + 20 + 20; in halves 500 + 40 and then
  // an all-gather over the rung, 280.
  EXPECT_EQ(CostModel(toy(8), nothing_fitted()).copy(Bytes(1000), 2, {2, 1}), Cycles(820));
}

TEST(ToyMemory, StreamingLoadAndHost) {
  // A quarter of the machine's 1 B per cycle for each of its four IPUs.
  const CostModel model(toy(8), nothing_fitted());
  EXPECT_EQ(model.streaming(Bytes(1000), Location::streaming, 1), Cycles(4000));
  // Four IPUs further, two rows up a column of four, the upper two back to the lower: the middle rail of 1 B per cycle
  // takes two flows each way. Streaming Memory is slower still.
  EXPECT_EQ(model.streaming(Bytes(1000), Location::remote_ipu, 4), Cycles(2000));
  EXPECT_EQ(model.streaming(Bytes(1000), Location::remote_machine, 4), Cycles(4000));
  // One row further, the last back to the first: one flow on each rail each way.
  EXPECT_EQ(model.streaming(Bytes(1000), Location::remote_ipu, 2), Cycles(1000));
  EXPECT_EQ(model.host(Bytes(1000)), Cycles(4000));
  EXPECT_EQ(model.streaming(Bytes(0), Location::streaming, 1), Cycles(0));
}

}  // namespace
}  // namespace superstep
