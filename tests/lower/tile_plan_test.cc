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

std::vector<ProductPlan> all_plans(const ProductShape& s, std::int64_t tiles, const Chip& chip,
                                   const Calibration& calibration) {
  const std::int64_t columns = ceil_div(s.columns, chip.amp.block_channels);
  const std::int64_t contracted = ceil_div(s.contracted, chip.amp.block_channels);
  std::vector<ProductPlan> all;
  ProductSplit p;
  for (p.batch = 1; p.batch <= tiles; ++p.batch) {
    for (p.rows = 1; p.batch * p.rows <= tiles; ++p.rows) {
      for (p.columns = 1; p.batch * p.rows * p.columns <= tiles; ++p.columns) {
        for (p.contracted = 1; p.parts() <= tiles; ++p.contracted) {
          if (is_fewest(s.batch, p.batch) && is_fewest(s.rows, p.rows) && is_fewest(columns, p.columns) &&
              is_fewest(contracted, p.contracted))
            all.push_back(product_plan(s, p, tiles, chip, calibration));
        }
      }
    }
  }
  return all;
}

// Nor is there a split that is leaner than all as fast ones of the front, unless it takes four times as long as the
// fastest. With the vendor's estimate too, which falls where a row more fills the pipeline.
TEST(TilePlan, SearchFindsTheFastestSplitAndNoneBeatsTheFront) {
  Chip chip = load_machine("ipu-pod4").chip;
  const Calibration calibration = load_calibration("none");
  const std::int64_t tiles = 24;
  for (bool estimated : {false, true}) {
    chip.amp.estimated_fp16_16 = estimated;
    for (DType type : {DType::fp16, DType::fp32}) {
      for (std::int64_t rows : {3, 96, 131, 400}) {
        for (std::int64_t columns : {16, 70, 230}) {
          const ProductShape shape{2, rows, columns, 150, 1, 1, type, type};
          ProductShape swapped = shape;
          std::swap(swapped.rows, swapped.columns);
          const std::vector<ProductPlan> front = product_front(shape, tiles, chip, calibration);
          Cycles best(INT64_MAX);
          for (const ProductShape& s : {shape, swapped}) {
            for (const ProductPlan& p : all_plans(s, tiles, chip, calibration)) {
              best = std::min(best, p.total);
              const bool served = std::ranges::any_of(
                  front, [&](const ProductPlan& q) { return q.total <= p.total && q.temporary <= p.temporary; });
              EXPECT_TRUE(served || p.total > front.front().total * 4) << rows << " x 150 x " << columns;
            }
          }
          EXPECT_EQ(front.front().times, 1);
          EXPECT_EQ(front.front().total, best) << rows << " x 150 x " << columns;
        }
      }
    }
  }
}

// What any cap from `enough` on takes from a front is the same when slower plans than the fastest of so little memory
// are left out of it; and there are some.
TEST(TilePlan, LeavesOutWhatNoCapTakes) {
  const Chip chip = load_machine("ipu-pod4").chip;
  const Calibration calibration = load_calibration("none");
  const Bytes enough(16 * 1024);
  std::size_t left_out = 0;
  for (std::int64_t rows : {64, 500, 4096}) {
    for (std::int64_t columns : {80, 1024, 5000}) {
      const ProductShape shape{2, rows, columns, 1024, 1, 1, DType::fp16, DType::fp16};
      const std::vector<ProductPlan> all = product_front(shape, 256, chip, calibration),
                                     some = product_front(shape, 256, chip, calibration, enough);
      const auto within = [](const std::vector<ProductPlan>& front, std::int64_t cap) {
        return std::ranges::find_if(front, [&](const ProductPlan& p) { return p.temporary.value <= cap; });
      };
      for (std::int64_t cap = enough.value; cap <= chip.tile_memory.value; cap += 1024) {
        const auto a = within(all, cap), b = within(some, cap);
        ASSERT_EQ(a == all.end(), b == some.end()) << cap;
        if (a == all.end()) continue;
        EXPECT_EQ(a->total, b->total) << cap;
        EXPECT_EQ(a->temporary, b->temporary) << cap;
      }
      left_out += all.size() - some.size();
    }
  }
  EXPECT_GT(left_out, 0u);
}

// A convolution of halves on one IPU, and the gradients of its operands.
struct Convolved {
  Graph graph;
  TensorId y, dx, dw;

  Convolved(const Shape& from, const Shape& weight, std::int64_t stride, std::int64_t pad, std::int64_t groups = 1) {
    GraphBuilder b(graph);
    const std::vector<std::int64_t> strides{stride, stride}, pads{pad, pad};
    Attributes attrs;
    attrs.set("groups", groups);
    attrs.set("strides", strides), attrs.set("pads_begin", pads), attrs.set("pads_end", pads);
    const TensorId x = b.input("x", DType::fp16, from), w = b.weight("w", DType::fp16, weight);
    y = b.one("conv", {x, w}, attrs);
    Attributes of_x = attrs, of_w = attrs;
    of_x.set("spatial", Shape(from.begin() + 2, from.end())),
        of_w.set("window", Shape(weight.begin() + 2, weight.end()));
    dx = b.one("conv_input_grad", {y, w}, of_x), dw = b.one("conv_weight_grad", {x, y}, of_w);
  }
  ProductShape shape(TensorId result) const {
    const CallOf call(graph, graph.tensors[result].producer);
    std::vector<std::int64_t> extents;
    for (const Axis& axis : call->def.space(*call).axes) extents.push_back(axis.extent);
    return product_shape(*call, extents, DType::fp16);
  }
};

// Those of ResNet-50, 20 images: the first, 7 x 7 of 3 channels, and others whose channels fill blocks.
TEST(TilePlan, WindowsOfFewChannelsAreReadByRowsOfTheWindow) {
  const Convolved first({20, 3, 224, 224}, {64, 3, 7, 7}, 2, 3);
  const ProductShape forward = first.shape(first.y);
  ASSERT_TRUE(forward.window);
  EXPECT_EQ(*forward.window, (ConvWindow{3, true, 7, 7, 2, 2, 112}));
  EXPECT_EQ(forward.contracted, 147);  // what is useful of it
  EXPECT_EQ(forward.distinct, 4.0 / 49);
  EXPECT_FALSE(first.shape(first.dw).window) << "positions are contracted";
  EXPECT_EQ(first.shape(first.dw).distinct, 4.0 / 49);
  const ProductShape back = first.shape(first.dx);  // in steps of 2 x 2 results
  EXPECT_FALSE(back.window) << "64 channels are contracted";
  EXPECT_EQ(back.contracted, 64 * 49);
  EXPECT_EQ(back.distinct, 1.0 / 49);
  const Convolved middle({20, 64, 56, 56}, {64, 64, 3, 3}, 1, 1), point({20, 3, 56, 56}, {64, 3, 1, 1}, 1, 0);
  EXPECT_FALSE(middle.shape(middle.y).window) << "whole blocks of channels";
  EXPECT_FALSE(point.shape(point.y).window) << "one place";
  EXPECT_EQ(point.shape(point.y).halo, 1);

  const Chip chip = load_machine("ipu-pod4").chip;
  const Calibration calibration = load_calibration("none");
  const ProductPlan plan = product_front(forward, chip.tiles, chip, calibration).front();
  const double macs = 20.0 * 112 * 112 * 147 * 64 / static_cast<double>(chip.tiles);
  EXPECT_NEAR(static_cast<double>(plan.rows_useful.value), macs / 64, 1);
  // Four rows of the window by 3 channels, padded to 4, in a pass: 2 x 7 blocks where 147 / 16 are useful.
  const std::int64_t rows = ceil_div(forward.rows, plan.pm), mine = ceil_div(std::int64_t{14}, plan.pk);
  EXPECT_EQ((plan.rows_useful + plan.rows_padding).value,
            mine * ceil_div(std::int64_t{4}, plan.pn) * round_up(rows, chip.workers) * 4);
  // A result reads 2 x 2 new places, and a third more at the edges of its share.
  const double padded = 1.35 * 2 * 2 * 4 * static_cast<double>(rows * mine) / 14;
  EXPECT_NEAR(static_cast<double>((plan.arrange - chip.vertex_launch).value), padded, 1);
  EXPECT_LE(static_cast<double>((plan.plain_bytes + plan.paired_bytes).value),
            2 * padded + 2.0 * static_cast<double>(mine * ceil_div(std::int64_t{4}, plan.pn)) * 16 * 16);
  EXPECT_EQ(plan.times, 1);
  const ProductPlan again = product_plan(forward, {plan.pg, plan.pm, plan.pn, plan.pk}, chip.tiles, chip, calibration);
  EXPECT_EQ(again.total, plan.total);
  EXPECT_EQ(again.temporary, plan.temporary);
}

// Patches of 16 x 16 do not overlap: laid out once, each is a row of 768.
TEST(TilePlan, WindowsThatDoNotOverlapAreLaidOutAsRows) {
  const Convolved patches({12, 3, 224, 224}, {768, 3, 16, 16}, 16, 0);
  const ProductShape shape = patches.shape(patches.y);
  EXPECT_EQ(shape.distinct, 1);
  EXPECT_EQ(shape.halo, 1);
  const Chip chip = load_machine("ipu-pod4").chip;
  const ProductPlan plan = product_front(shape, chip.tiles, chip, load_calibration("none")).front();
  const std::int64_t rows = round_up(ceil_div(shape.rows, plan.pm), chip.workers);
  const std::int64_t blocks = ceil_div(std::int64_t{48}, plan.pk) * ceil_div(std::int64_t{48}, plan.pn);
  EXPECT_EQ((plan.rows_useful + plan.rows_padding).value, blocks * rows * 4);
  EXPECT_EQ(plan.fixed.value, blocks * chip.amp.block_fixed.value + chip.amp.call_fixed.value);
  const std::int64_t copied = ceil_div(shape.rows, plan.pm) * ceil_div(std::int64_t{48}, plan.pk) * 16;
  EXPECT_EQ(plan.arrange, chip.vertex_launch + Cycles(copied));
}

// A depthwise convolution of EfficientNet-B0, 96 channels of 112 x 112 to 56 x 56, and its gradients.
TEST(TilePlan, ConvolutionsOfSingleChannelsAreNeitherFreeNorPaddedToSixteen) {
  const Convolved conv({4, 96, 112, 112}, {96, 1, 3, 3}, 2, 1, 96);
  const Chip chip = load_machine("ipu-pod4").chip;
  const Calibration calibration = load_calibration("none");
  const double macs = 4.0 * 96 * 56 * 56 * 9 / static_cast<double>(chip.tiles);
  for (TensorId result : {conv.y, conv.dx, conv.dw}) {
    const ProductShape shape = conv.shape(result);
    ASSERT_TRUE(shape.depthwise);
    EXPECT_EQ(shape.depthwise->weight_gradient, result == conv.dw);
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

ProductPlan cut_into(std::int64_t batch, std::int64_t rows, std::int64_t columns, std::int64_t contracted) {
  ProductPlan plan;
  plan.pg = batch, plan.pm = rows, plan.pn = columns, plan.pk = contracted;
  return plan;
}

// Parts go up to the tiles of an IPU, a million in a machine file: more than any base that was thought of.
TEST(TilePlan, LayoutsOfDifferentPartsDifferHoweverManyPartsThereAre) {
  EXPECT_NE(layout_of(cut_into(1, 1, 4101, 1)), layout_of(cut_into(1, 2, 2, 1)));
  EXPECT_NE(layout_of(cut_into(1, 4101, 7, 1)), layout_of(cut_into(2, 2, 7, 1)));
  EXPECT_NE(layout_of(cut_into(1, 1, 1'000'000, 1)), layout_of(cut_into(1, 1'000'000, 1, 1)));
  EXPECT_NE(layout_of(cut_into(1, 1, 1, 1)), TileLayout{}) << "a product's shares are not row-major ones";
  ProductPlan swapped = cut_into(1, 3, 5, 1);
  swapped.swapped = true;
  EXPECT_NE(layout_of(cut_into(1, 3, 5, 1)), layout_of(swapped));
  EXPECT_EQ(layout_of(cut_into(2, 3, 5, 1)), layout_of(cut_into(2, 3, 5, 7)));
}

}  // namespace
}  // namespace superstep
