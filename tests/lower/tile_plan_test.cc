// SPDX-License-Identifier: Apache-2.0
// The search for tile plans of products against every split there is, on a small chip.
#include "model/lower/tile_plan.h"

#include <gtest/gtest.h>

#include "model/graph/builder.h"
#include "tests/lower/toy.h"

namespace superstep {
namespace {

// Part counts that make the same share count once, as the fewest.
bool is_fewest(std::int64_t n, std::int64_t parts) { return parts <= n && ceil_div(n, ceil_div(n, parts)) == parts; }

Cycles best_of_all(const ProductShape& s, std::int64_t tiles, const Chip& chip, const Calibration& calibration) {
  const std::int64_t columns = ceil_div(s.columns, chip.amp.block_channels);
  const std::int64_t contracted = ceil_div(s.contracted, chip.amp.block_channels);
  Cycles best(INT64_MAX);
  ProductSplit p;
  for (p.batch = 1; p.batch <= tiles; ++p.batch) {
    for (p.rows = 1; p.batch * p.rows <= tiles; ++p.rows) {
      for (p.columns = 1; p.batch * p.rows * p.columns <= tiles; ++p.columns) {
        for (p.contracted = 1; p.parts() <= tiles; ++p.contracted) {
          if (is_fewest(s.batch, p.batch) && is_fewest(s.rows, p.rows) && is_fewest(columns, p.columns) &&
              is_fewest(contracted, p.contracted))
            best = std::min(best, product_plan(s, p, tiles, chip, calibration).total);
        }
      }
    }
  }
  return best;
}

// With the vendor's estimate too, which falls where a row more fills the pipeline.
TEST(TilePlan, SearchFindsTheFastestSplit) {
  Chip chip = load_machine("ipu-pod4").chip;
  const Calibration calibration = load_calibration("none");
  const std::int64_t tiles = 24;
  for (bool estimated : {false, true}) {
    chip.amp.estimated_fp16_16 = estimated;
    for (DType type : {DType::fp16, DType::fp32}) {
      for (std::int64_t rows : {3, 96, 131, 400}) {
        for (std::int64_t columns : {16, 70, 230}) {
          const ProductShape shape{2, rows, columns, 150, 1, type, type};
          ProductShape swapped = shape;
          std::swap(swapped.rows, swapped.columns);
          const Cycles best =
              std::min(best_of_all(shape, tiles, chip, calibration), best_of_all(swapped, tiles, chip, calibration));
          const ProductPlan found = product_front(shape, tiles, chip, calibration).front();
          EXPECT_EQ(found.times, 1);
          EXPECT_EQ(found.total, best) << rows << " x 150 x " << columns;
        }
      }
    }
  }
}

// A depthwise convolution of EfficientNet-B0, 96 channels of 112 x 112 to 56 x 56, and its gradients.
TEST(TilePlan, ConvolutionsOfSingleChannelsAreNeitherFreeNorPaddedToSixteen) {
  Graph graph;
  GraphBuilder b(graph);
  const std::vector<std::int64_t> two{2, 2}, one{1, 1};
  Attributes attrs;
  attrs.set("groups", std::int64_t{96});
  attrs.set("strides", two), attrs.set("pads_begin", one), attrs.set("pads_end", one);
  const TensorId x = b.input("x", DType::fp16, {4, 96, 112, 112}), w = b.weight("w", DType::fp16, {96, 1, 3, 3});
  const TensorId y = b.one("conv", {x, w}, attrs);
  Attributes of_x = attrs, of_w = attrs;
  of_x.set("spatial", std::vector<std::int64_t>{112, 112}), of_w.set("window", std::vector<std::int64_t>{3, 3});
  const TensorId dx = b.one("conv_input_grad", {y, w}, of_x), dw = b.one("conv_weight_grad", {x, y}, of_w);

  const Chip chip = load_machine("ipu-pod4").chip;
  const Calibration calibration = load_calibration("none");
  const double macs = 4.0 * 96 * 56 * 56 * 9 / static_cast<double>(chip.tiles);
  for (TensorId result : {y, dx, dw}) {
    const CallOf call(graph, graph.tensors[result].producer);
    std::vector<std::int64_t> extents;
    for (const Axis& axis : call->def.space(*call).axes) extents.push_back(axis.extent);
    const ProductShape shape = product_shape(*call, extents, DType::fp16);
    ASSERT_TRUE(shape.depthwise);
    EXPECT_EQ(shape.depthwise->weight_gradient, result == dw);
    ProductShape padded = shape;
    padded.depthwise.reset();
    const ProductPlan own = product_front(shape, chip.tiles, chip, calibration).front();
    const ProductPlan by_matrix = product_front(padded, chip.tiles, chip, calibration).front();
    EXPECT_LT(own.total, by_matrix.total);
    EXPECT_LE(own.pg * own.pm * own.pn * own.pk, chip.tiles);
    const double rate = macs / static_cast<double>((own.rows_useful + own.rows_padding + own.fixed).value);
    EXPECT_GT(rate, 0.5) << "multiply-adds per cycle";
    EXPECT_LT(rate, 16) << "a channel in four of 64";
  }
}

}  // namespace
}  // namespace superstep
