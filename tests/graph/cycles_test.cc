// SPDX-License-Identifier: Apache-2.0
// Tile cycles to the cycle, with the arithmetic above each; formulas: facts/hardware.md sections 2, 3.
#include <gtest/gtest.h>

#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "model/ops/amp_vertex.h"
#include "model/ops/amp_window_vertex.h"
#include "model/ops/depthwise_vertex.h"

namespace superstep {
namespace {

TileCosts costs() {
  TileCosts c;
  c.workers = 6;
  c.launch = Cycles(11);
  c.amp = {64, 32, 16, 16, Cycles(160), Cycles(300), BytesPerCycle(0), false};
  return c;
}

// Cycles of the op that makes `t` for a block of all its iteration space.
Cycles cycles_of(GraphBuilder& b, TensorId t) {
  const CallOf call(b.graph(), b.graph().tensors[t].producer);
  std::vector<std::int64_t> extents;
  for (const Axis& axis : call->def.space(*call).axes) extents.push_back(axis.extent);
  return call->def.cycles(costs(), *call, extents);
}

struct Halves {
  Graph graph;
  GraphBuilder b{graph};
  TensorId x = b.input("x", DType::fp16, {10, 240});
  TensorId y = b.input("y", DType::fp16, {10, 240});
};

TEST(CyclesOfVectorOps, AddOfTwoTensors) {
  Halves h;
  // 2400 / 6 = 400 per worker, 100 vectors of 4: 11 + 6 (26 + 100 * 3)
  EXPECT_EQ(cycles_of(h.b, h.b.binary("add", h.x, h.y)), Cycles(1967));
}

TEST(CyclesOfVectorOps, AddOfABiasAndOfAScalar) {
  Halves h;
  // ceil(10 / 6) = 2 row starts, 100 vectors: 11 + 6 (15 + 2 * 7 + 100 * 2)
  EXPECT_EQ(cycles_of(h.b, h.b.binary("add", h.x, h.b.input("bias", DType::fp16, {240}))), Cycles(1385));
  // 11 + 6 (20 + 100 * 2)
  EXPECT_EQ(cycles_of(h.b, h.b.scale(h.x, 2)), Cycles(1331));
}

TEST(CyclesOfVectorOps, RowsThatDoNotStartOn64BitsCostMore) {
  Halves h;
  const TensorId odd = h.b.input("odd", DType::fp16, {10, 239});
  // rows of 239 halves: 2 (25) + ceil(10 * 60 / 6) * 2: 11 + 6 (15 + 50 + 200)
  EXPECT_EQ(cycles_of(h.b, h.b.binary("add", odd, h.b.input("bias", DType::fp16, {239}))), Cycles(1601));
}

TEST(CyclesOfVectorOps, AMatrixIsTurnedInGrainsOrElementByElement) {
  Halves h;
  // 60 grains across, 3 down in strips of one grain row, ceil(3 / 6) = 1 per worker: 11 + 6 (29 + 18 + 12 + 4 * 60)
  const TensorId whole = h.b.input("whole", DType::fp16, {240, 12});
  EXPECT_EQ(cycles_of(h.b, h.b.transpose(whole, {1, 0})), Cycles(1805));
  // 11 + 10 a element, whichever of the two extents is no multiple of 4
  const TensorId narrow = h.b.input("narrow", DType::fp16, {240, 11}), low = h.b.input("low", DType::fp16, {239, 12});
  EXPECT_EQ(cycles_of(h.b, h.b.transpose(narrow, {1, 0})), Cycles(11 + 10 * 240 * 11));
  EXPECT_EQ(cycles_of(h.b, h.b.transpose(low, {1, 0})), Cycles(11 + 10 * 239 * 12));
}

TEST(CyclesOfVectorOps, OneValuePerChannelGoesOnOverThePositions) {
  Halves h;
  const TensorId image = h.b.input("image", DType::fp16, {2, 16, 8, 8});
  // 2048 / 8 = 256 blocks of 8 channels, ceil(256 / 6) = 43 per worker, of 2 groups: 26 + 6 (19 + 2 * 13 + 43 * 2)
  const TensorId factor = h.b.input("factor", DType::fp16, {16, 1, 1});
  EXPECT_EQ(cycles_of(h.b, h.b.binary("mul", image, factor)), Cycles(812));
  // 12 channels do not fill groups of 8. 192 rows of 8 halves: 11 + 6 (15 + 32 * 7 + 64 * 2)
  const TensorId odd = h.b.input("odd", DType::fp16, {2, 12, 8, 8});
  EXPECT_EQ(cycles_of(h.b, h.b.binary("mul", odd, h.b.input("odd_factor", DType::fp16, {12, 1, 1}))), Cycles(2213));
  // One value per row of a matrix is none per channel. 10 rows of 240: as a bias.
  EXPECT_EQ(cycles_of(h.b, h.b.binary("mul", h.x, h.b.input("rows", DType::fp16, {10, 1}))), Cycles(1385));
}

TEST(CyclesOfVectorOps, PoolingReadsGroupsOfChannels) {
  Halves h;
  Attributes two;
  two.set("window", std::vector<std::int64_t>{2, 2});
  two.set("strides", std::vector<std::int64_t>{2, 2});
  const TensorId y = h.b.one("max_pool", {h.b.input("image", DType::fp16, {2, 16, 8, 8})}, two);
  // 2 x 16 x 4 x 4 results: 8 rows of 4 positions of 16 channels, 128 vectors; 2 and 22 per worker, for 4 places of the
  // window: 11 + 6 * 4 (30 * 2 + 3 * 22)
  EXPECT_EQ(cycles_of(h.b, y), Cycles(3035));
}

TEST(CyclesOfVectorOps, FunctionsAndReductions) {
  Halves h;
  EXPECT_EQ(cycles_of(h.b, h.b.unary("exp", h.x)), Cycles(11 + 6 * (33 + 100 * 4)));
  EXPECT_EQ(cycles_of(h.b, h.b.unary("gelu", h.x)), Cycles(11 + 6 * (30 + 100 * 5)));
  EXPECT_EQ(cycles_of(h.b, h.b.unary("swish", h.x)), Cycles(11 + 6 * (30 + 100 * 5)));
  EXPECT_EQ(cycles_of(h.b, h.b.one("swish_grad", {h.x, h.y})), Cycles(11 + 6 * (25 + 100 * 9)));
  EXPECT_EQ(cycles_of(h.b, h.b.dropout(h.x, 0.1)), Cycles(11 + 6 * (27 + 100 * 2)));
  // Rows: 2 results per worker, 240 / 4 steps each; columns: 60 vectors of results, 10 per worker.
  EXPECT_EQ(cycles_of(h.b, h.b.reduce("sum", h.x, {1}, false)), Cycles(11 + 6 * (17 + 2 * (12 + 60))));
  EXPECT_EQ(cycles_of(h.b, h.b.reduce("sum", h.x, {0}, false)), Cycles(11 + 6 * (16 + 10 * (15 + 10))));
}

TEST(CyclesOfVectorOps, PerHalfElementOfALargeBlockAreThoseOfTheCostStudy) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp16, {400, 1024}), y = b.input("y", DType::fp16, {400, 1024});
  const TensorId row = b.input("row", DType::fp16, {400, 1});
  const auto each = [&](TensorId t) { return static_cast<double>(cycles_of(b, t).value) / (400 * 1024); };
  EXPECT_NEAR(each(b.binary("add", x, y)), 0.75, 0.01);
  EXPECT_NEAR(each(b.binary("sub", x, row)), 0.5, 0.01);
  EXPECT_NEAR(each(b.unary("exp", x)), 1.0, 0.01);
  EXPECT_NEAR(each(b.unary("gelu", x)), 1.25, 0.01);
  EXPECT_NEAR(each(b.one("gelu_grad", {x, y})), 1.25, 0.01);
  EXPECT_NEAR(each(b.dropout(x, 0.1)), 0.5, 0.01);
  EXPECT_NEAR(each(b.reduce("max", x, {1}, true)), 0.26, 0.01);
}

// Vector cycles per element of the ops added since `first`, matrix products left out.
double vector_cycles(GraphBuilder& b, std::size_t first, Pass pass) {
  double total = 0;
  for (std::size_t i = first; i < b.graph().ops.size(); ++i) {
    const Op& op = b.graph().ops[OpId(i)];
    if (op.pass == pass && !op.def->product) total += static_cast<double>(cycles_of(b, op.outputs[0]).value);
  }
  return total / (400 * 1024);
}

TEST(CyclesOfVectorOps, OfSoftmaxAndLayerNormAreNearThoseOfTheCostStudy) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp16, {400, 1024});
  b.softmax(x);
  EXPECT_NEAR(vector_cycles(b, 0, Pass::forward), 2.75, 0.5);
  const std::size_t first = graph.ops.size();
  b.layer_norm(x, b.weight("gamma", DType::fp16, {1024}), b.weight("beta", DType::fp16, {1024}), 1e-5);
  EXPECT_NEAR(vector_cycles(b, first, Pass::forward), 3.0, 0.6);
}

TEST(CyclesOfMatrixProducts, AreBlocksOf16TimesRowsInSixes) {
  Graph graph;
  GraphBuilder b(graph);
  const auto product = [&](DType type, std::int64_t m, std::int64_t k, std::int64_t n) {
    return cycles_of(b, b.matmul(b.input("a", type, {m, k}), b.input("b", type, {k, n})));
  };
  // 2 x 3 blocks, rows 7 count as 12: 6 (4 * 12 + 160) + 300
  EXPECT_EQ(product(DType::fp16, 7, 32, 48), Cycles(6 * (48 + 160) + 300));
  EXPECT_EQ(product(DType::fp16, 7, 17, 33), Cycles(6 * (48 + 160) + 300));  // ragged blocks cost as full ones
  EXPECT_EQ(product(DType::fp32, 12, 16, 16), Cycles(16 * 12 + 160 + 300));  // 16 multiply-adds a cycle
  const TensorId grouped =
      b.matmul(b.input("q", DType::fp16, {2, 4, 6, 16}), b.input("k", DType::fp16, {2, 4, 6, 16}), false, true);
  EXPECT_EQ(cycles_of(b, grouped), Cycles(8 * (4 * 6 + 160) + 300));
}

// The first convolution of ResNet-50 on a tile: a window of 7 x 7 over 3 channels, 168 results in lines of 112, 64
// channels of them. Evaluated by hand from the vendor's estimate of its Nx1 vertex.
class CyclesOfTheFirstConvolution : public ::testing::Test {
 protected:
  static std::int64_t cycles(DType operands, DType partials, std::int64_t height, std::int64_t passes) {
    const AmpWindowVertex vertex(costs().amp, 6, operands, partials);
    const AmpWindow w = vertex.window(height, 3, 7, 7, 112);
    EXPECT_EQ(w.passes(), passes);
    return vertex.cycles(w, {1, 168, 4, passes});
  }
};

TEST_F(CyclesOfTheFirstConvolution, FourRowsOfFourChannelsInAPass) {
  // 28 results per worker: 6 (17 + 1 + 3 + 34 + 4 x 25 - 9) + 9 = 885; a pass 12 + 64 + 60 + 3 + 885 = 1024;
  // 109 + 6 (9 + 10), 17 x 4 + 6 x 3 + 1 + 1, cleared 4 x 6 (448 / 4 + 5),
  // 16 + 14 + 14 x 4 + 4 (2 x 14 + 14 x 1024)
  EXPECT_EQ(cycles(DType::fp16, DType::fp16, 4, 14), 223 + 88 + 2808 + 86 + 57456);
  // Half the convolution units make float partial sums, in two passes over each pass's rows:
  // 6 (17 + 128) + 9 = 879; 12 + 2 (32 + 60 + 3 + 879) = 1960
  EXPECT_EQ(cycles(DType::fp16, DType::fp32, 4, 14), 217 + 88 + 5496 + 86 + 4 * (28 + 14 * 1960));
  // A unit holds 8 floats: two rows of 4 channels. 6 (17 + 3 + 45 + 8 x 25 - 9) + 9 = 1545
  EXPECT_EQ(cycles(DType::fp32, DType::fp32, 2, 28), 217 + 88 + 5496 + 86 + 4 * (56 + 28 * (12 + 64 + 46 + 3 + 1545)));
}

TEST_F(CyclesOfTheFirstConvolution, ARowOfTheWindowAs21Channels) {
  const AmpWindowVertex vertex(costs().amp, 6, DType::fp16, DType::fp16);
  const AmpWindow w = vertex.window(2, 21, 7, 1, 112);  // 3 groups of 8, two rows in a pass
  EXPECT_EQ(w.passes(), 12);
  EXPECT_EQ(vertex.cycles(w, {1, 168, 4, 12}),
            223 + 88 + 2808 + 16 + 3 * 70 + 4 * (12 * 14 + 12 * (12 + 64 + 46 + 3 + 885)));
  EXPECT_EQ(vertex.row_work({1, 168, 4, 12}), 4 * 12 * 4 * 168);
}

TEST_F(CyclesOfTheFirstConvolution, LinesAreWorkItemsAndNothingShrinks) {
  const AmpWindowVertex vertex(costs().amp, 6, DType::fp16, DType::fp16);
  const auto one = [&](std::int64_t rows, std::int64_t line) {
    return vertex.cycles(vertex.window(4, 3, 7, 7, line), {1, rows, 4, 14});
  };
  // Two lines of 14 per worker: 2 (3 + 34 + 4 x 11 - 9) = 144 slots in place of 128
  EXPECT_EQ(one(168, 14) - one(168, 112), 4 * 14 * 6 * (144 - 128));
  for (std::int64_t rows = 1; rows < 200; ++rows) {
    for (std::int64_t line : {1, 3, 7, 14, 56}) EXPECT_LE(one(rows, line), one(rows + 1, line)) << rows << " " << line;
  }
}

TEST(CyclesOfDepthwiseConvolutions, SlidingWindowsOfFour) {
  const DepthwiseVertex vertex(6, DType::fp16);
  // 16 channels are 4 groups, 3 x 3 are 3 windows. A row of 28 per worker: 6 (17 + 10 + 15 + 23) = 390, in the first
  // window 6 more; 16 + 9 + 6 + 60 + 6 to load its weights and 20 around it:
  // 28 + 4 x 15 + 19 + 4 (3 (117 + 390) + 13 + 6)
  EXPECT_EQ(vertex.slic({16, 6 * 28, 28, 3, 3, 1}).total, 6267);
  EXPECT_EQ(vertex.slic({16, 6 * 28, 28, 3, 3, 1}).loop, 4 * 3 * 6 * 28);
  // Rows of 5 are two windows wide, and with stride 2 a result takes two slots: 6 (17 + 10 + 15 + 22) = 384;
  // 28 + 2 x 15 + 7 + 2 (10 (117 + 384) + 55 + 6)
  EXPECT_EQ(vertex.slic({8, 6 * 14, 14, 5, 5, 2}).total, 10207);
}

TEST(CyclesOfDepthwiseConvolutions, EightChannelsInTheVectorUnit) {
  const DepthwiseVertex vertex(6, DType::fp16);
  // 36 x 3 rows of the window are 18 per worker: 6 (13 + 18 (25 + 3 x 2)) = 3426; sums of 8 x 36 results are cleared,
  // 4 + 72, and added, 10 + 12 x 48 / 8: 76 + 2 (76 + 56 + 3426 + 82)
  EXPECT_EQ(vertex.vmac({16, 36, 6, 3, 3, 1}).total, 7356);
  // The gradient of 3 x 3 weights by 56 lines of 28: 9 x 56 / 6 = 84 rows: 76 + 22 + 56 + 6 (13 + 84 (25 + 81)) + 28
  EXPECT_EQ(vertex.vmac({8, 9, 3, 56, 28, 1}).total, 53684);
}

TEST(CyclesOfDepthwiseConvolutions, AreThoseOfTheFastestVertex) {
  Graph graph;
  GraphBuilder b(graph);
  const auto conv = [&](DType type, std::int64_t groups) {
    Attributes attrs;
    attrs.set("groups", groups);
    attrs.set("pads_begin", std::vector<std::int64_t>{1, 1});
    attrs.set("pads_end", std::vector<std::int64_t>{1, 1});
    const TensorId x = b.input("x", type, {1, 16, 6, 28});
    return cycles_of(b, b.one("conv", {x, b.weight("w", type, {16, 16 / groups, 3, 3})}, attrs));
  };
  EXPECT_EQ(conv(DType::fp16, 16), Cycles(6267));
  // Of floats the matrix unit multiplies one channel at a time, the three rows of its window in a pass:
  // 109 + 6 (9 + 9), 16 (17 + 1) + 6 x 15 + 1, cleared 16 x 6 (448 / 2 + 5), and
  // 16 (16 + 14 + 14 + 14 + 3 (12 + 64 + 60 + 3 + 6 (17 + 3 + 45 + 8 x 25 - 9) + 9))
  EXPECT_EQ(conv(DType::fp32, 16), Cycles(217 + 379 + 21984 + 81760));
  // A group of 16 channels fills its blocks: 9 of them.
  EXPECT_EQ(conv(DType::fp16, 1), Cycles(9 * (4 * 168 + 160) + 300));
}

// As the laws ask of every op: those run on doubles, which only the matrix unit convolves.
TEST(CyclesOfDepthwiseConvolutions, NeverShrinkAsABlockGrows) {
  const DepthwiseVertex vertex(6, DType::fp16);
  for (std::int64_t stride : {1, 2}) {
    for (std::int64_t channels : {1, 4, 5, 8, 17}) {
      for (std::int64_t lines : {1, 5, 6, 8, 13}) {
        for (std::int64_t line = 1; line < 40; ++line) {
          for (std::int64_t window : {1, 3, 4, 5}) {
            const DepthwiseShare s{channels, lines * line, line, window, window, stride};
            DepthwiseShare wider = s, higher = s, more = s, larger = s;
            wider.line += 1, wider.positions = lines * wider.line;
            higher.positions += line;
            more.channels += 1;
            larger.window_rows += 1, larger.window_columns += 1;
            for (const DepthwiseShare& grown : {wider, higher, more, larger}) {
              EXPECT_LE(vertex.slic(s).total, vertex.slic(grown).total) << channels << " " << lines << " " << line;
              EXPECT_LE(vertex.vmac(s).total, vertex.vmac(grown).total) << channels << " " << lines << " " << line;
            }
            EXPECT_LE(vertex.slic(s).loop, vertex.slic(s).total);
          }
        }
      }
    }
  }
}

TEST(CyclesOfLookups, AreBySliceAndRow) {
  Graph graph;
  GraphBuilder b(graph);
  const TensorId table = b.input("table", DType::fp16, {1000, 64}), tokens = b.input("tokens", DType::int32, {60});
  // 60 rows of 64 halves: 19 + 2 * 32 each, ten per worker
  EXPECT_EQ(cycles_of(b, b.gather(table, tokens)), Cycles(11 + 6 * (30 + 10 * 83)));
  const CallOf call(graph, OpId(0));
  // a tenth of the table: 6 hits, 54 misses of 8 cycles
  const std::vector<std::int64_t> part = {60, 64, 100};
  EXPECT_EQ(call->def.cycles(costs(), *call, part), Cycles(11 + 6 * (30 + (6 * 83 + 54 * 8) / 6)));
}

Amp estimated() { return {64, 32, 16, 16, Cycles(160), Cycles(300), BytesPerCycle(8), true}; }

TEST(CyclesOfTheMatrixUnit, MeasuredBlocks) {
  const AmpVertex vertex(costs().amp, 6, DType::fp16, DType::fp16);
  // 2 x 3 blocks of 16 x 16, 13 rows for six workers are 18: 6 (4 x 18 + 160) + 300
  EXPECT_EQ(vertex.cycles({1, 13, 2, 3}), 1692);
  EXPECT_EQ(vertex.row_work({1, 13, 2, 3}), 6 * 4 * 18);
}

TEST(CyclesOfTheMatrixUnit, VendorsEstimateOfHalves) {
  const AmpVertex vertex(estimated(), 6, DType::fp16, DType::fp16);
  // One block, 24 rows, 4 per worker. Clearing: 37 + 4 - 7 = 34 slots; as many for all, so 6 x 34 + 14 = 218.
  // 50 + 6 (7 + 0) + 13 + 11 + 18 + (7 + 64 + 218)
  EXPECT_EQ(vertex.cycles({1, 24, 1, 1}), 423);
  // A second block of the contraction adds: 38 + 4 - 7 = 35 slots, 6 x 35 + 14 = 224; 6 x 3 + 15 + 19 + 6 + 64 + 224
  EXPECT_EQ(vertex.cycles({1, 24, 1, 2}), 423 + 346);
}

TEST(CyclesOfTheMatrixUnit, VendorsEstimateOfFloatsAndFloatPartials) {
  // Floats: a block is two passes of 8 channels. Clearing takes 46 + (2 + 8 x 4) + 8 = 88 slots, adding 54.
  // 50 + 13 + [15 + 19 + 6 + 64 + 6 x 54 + 14] + 11 + 18 + 7 + 64 + 6 x 88 + 14
  EXPECT_EQ(AmpVertex(estimated(), 6, DType::fp32, DType::fp32).cycles({1, 24, 1, 1}), 1147);
  // Half operands, float partials: 8 of 16 channels per pass: 50 + 42 + 13 + 11 + 18 + 2 (7 + 32 + 218)
  EXPECT_EQ(AmpVertex(estimated(), 6, DType::fp16, DType::fp32).cycles({1, 24, 1, 1}), 648);
}

// What is not measured is estimated; a chip that says nothing of its weight loads has only what was measured.
TEST(CyclesOfTheMatrixUnit, MeasuredWhereItWasMeasured) {
  Amp amp = estimated();
  amp.estimated_fp16_16 = false;
  EXPECT_EQ(AmpVertex(amp, 6, DType::fp16, DType::fp16).cycles({1, 24, 1, 1}), 4 * 24 + 160 + 300);
  EXPECT_EQ(AmpVertex(amp, 6, DType::fp32, DType::fp32).cycles({1, 24, 1, 1}), 1147);
  EXPECT_EQ(AmpVertex(costs().amp, 6, DType::fp32, DType::fp32).cycles({1, 24, 1, 1}), 16 * 24 + 160 + 300);
}

// The search stops at the first share that is out, so no larger one may take less than it was told.
TEST(CyclesOfTheMatrixUnit, NoLargerShareTakesLessThanTheLeast) {
  for (DType operands : {DType::fp16, DType::fp32}) {
    for (DType partials : {DType::fp16, DType::fp32}) {
      const AmpVertex vertex(estimated(), 6, operands, partials);
      bool falls = false;
      for (std::int64_t rows = 1; rows < 64; ++rows) {
        const std::int64_t least = vertex.least_cycles({2, rows, 3, 2});
        EXPECT_LE(least, vertex.cycles({2, rows, 3, 2}));
        for (std::int64_t more = rows; more < 64; ++more) EXPECT_LE(least, vertex.cycles({2, more, 3, 2})) << rows;
        EXPECT_LE(vertex.least_cycles(12, 12 * rows), vertex.cycles({2, rows, 3, 2})) << rows;
        EXPECT_LE(vertex.least_cycles(5, 12 * rows), vertex.cycles({12, rows, 1, 1})) << rows;
        EXPECT_LE(vertex.least_cycles(12, 12 * rows), vertex.cycles({1, rows, 1, 12})) << rows;
        falls = falls || vertex.cycles({2, rows, 3, 2}) > vertex.cycles({2, rows + 1, 3, 2});
      }
      EXPECT_TRUE(falls);  // 11 rows take more than 12 of floats, 17 more than 18 of halves
    }
  }
}

}  // namespace
}  // namespace superstep
