// SPDX-License-Identifier: Apache-2.0
// Sums over cut axes have the bits of the whole: contractions cut at nodes of their trees, others cut anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "model/numerics/contract.h"
#include "model/numerics/team.h"
#include "model/ops/compute.h"
#include "op_use.h"

namespace superstep {
namespace {

using numerics::ContractionTree;
using numerics::StepRange;

// Some values that make the order of a sum visible: of very different size, zeros of both signs, now and then an
// infinity.
void make_awkward(std::vector<Array>& values, std::mt19937& random, bool infinities) {
  for (Array& array : values) {
    if (!is_float(array.info.type)) continue;
    for (std::int64_t i = 0; i < array.info.elements(); ++i) {
      const int what = std::uniform_int_distribution<int>(0, 19)(random);
      if (what < 3) array.set(i, array.at(i) * (array.info.type == DType::fp16 ? 100 : 1e7));
      if (what == 3) array.set(i, -0.0);
      if (what == 4) array.set(i, 0);
      if (what == 5 && infinities) array.set(i, -std::numeric_limits<double>::infinity());
    }
  }
}

std::vector<std::size_t> reduce_axes(const Space& space) {
  std::vector<std::size_t> axes;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (space.axes[a].kind == AxisKind::reduce) axes.push_back(a);
  }
  return axes;
}

// The block that makes up steps [node.begin, node.end), if it is one: a range of one axis, those outside of it at one
// place and those inside of it whole.
std::optional<Block> block_of(const Space& space, Block block, StepRange node) {
  const std::vector<std::size_t> axes = reduce_axes(space);
  std::int64_t inner = 1;
  for (std::size_t a : axes) inner *= space.axes[a].extent;
  if (node.extent() == inner) return block;
  std::int64_t begin = node.begin, end = node.end;
  for (std::size_t a : axes) {
    inner /= space.axes[a].extent;
    const std::int64_t first = begin / inner, last = (end - 1) / inner;
    block[a] = {first, last + 1};
    begin -= first * inner;
    end -= last * inner;
    if (begin == 0 && end == inner) return block;
    if (first != last) return std::nullopt;
  }
  return std::nullopt;
}

struct Part {
  StepRange node;
  Block block;
};

// Nodes that make the tree up, as small as chance has it.
void cut_at_random(const Space& space, const Block& whole, const ContractionTree& tree, StepRange node,
                   std::mt19937& random, std::vector<Part>& parts) {
  if (tree.chunks_of(node) > 1 && random() % 4 != 0) {
    const auto [left, right] = tree.halves(node);
    if (block_of(space, whole, left) && block_of(space, whole, right)) {
      cut_at_random(space, whole, tree, left, random, parts);
      cut_at_random(space, whole, tree, right, random, parts);
      return;
    }
  }
  parts.push_back({node, *block_of(space, whole, node)});
}

KernelContext with_chunk(std::int64_t chunk) {
  KernelContext context = Call::context();
  context.chunk = chunk;
  return context;
}

// Joins the parts, each computed from its own region of the operands, in place of the first.
template <class Real>
Array joined(const Call& c, const Space& space, const ContractionTree& tree, std::vector<Part> parts,
             std::mt19937& random) {
  std::shuffle(parts.begin(), parts.end(), random);
  std::vector<Array> sums;
  for (const Part& part : parts) {
    const Parts operands(c, space, part.block);
    KernelContext context = with_chunk(tree.chunk());
    context.contraction = ContractionPart{tree, part.node};
    sums.push_back(compute_node(c.call(), space, part.block, operands.views, context));
  }
  std::vector<numerics::PartialSum<Real>> partial;
  for (std::size_t i = 0; i < parts.size(); ++i)
    partial.push_back({parts[i].node, reinterpret_cast<Real*>(sums[i].data.data())});
  const auto left = numerics::join_partials(tree, partial, sums[0].info.elements());
  EXPECT_EQ(left.size(), 1u);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (reinterpret_cast<Real*>(sums[i].data.data()) == left[0].data) return sums[i];
  }
  return {};
}

std::vector<OpCase> cases_of(Summation summation) {
  std::vector<OpCase> cases;
  for (const OpCase& c : op_cases()) {
    const Call call(c, 1);
    if (call.def.summation != summation || call.def.space(call.call()).reduction != Reduction::sum) continue;
    for (DType type : {DType::fp16, DType::fp32, DType::fp64}) {
      cases.push_back(c);
      for (Operand& operand : cases.back().operands) {
        if (is_float(operand.type)) operand.type = type;
      }
      cases.back().name += "_" + std::string(name_of(type));
    }
  }
  return cases;
}

class ContractionLaws : public testing::TestWithParam<OpCase> {};
class ExactLaws : public testing::TestWithParam<OpCase> {};

TEST_P(ContractionLaws, NodesJoinToTheBitsOfTheWhole) {
  Call c(GetParam(), 21);
  const Space space = c.def.space(c.call());
  std::mt19937 random(22);
  numerics::Team team(3, 0);
  std::int64_t steps = 1, cuts = 0;
  for (std::size_t a : reduce_axes(space)) steps *= space.axes[a].extent;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (space.axes[a].kind == AxisKind::whole && space.axes[a].extent > 1) return;  // a contraction of another extent
  }
  for (int trial = 0; trial < 30; ++trial) {
    make_awkward(c.values, random, trial % 5 == 4);
    const ContractionTree tree(steps, std::uniform_int_distribution<std::int64_t>(2, 16)(random));
    for (const Block& block : blocks_of(random_grid(space, random, false))) {
      KernelContext context = with_chunk(tree.chunk());
      if (trial % 2 == 1) context.team = &team;
      const Parts operands(c, space, block);
      const std::vector<Array> expected = compute_block(c.call(), space, block, operands.views, context);
      std::vector<Part> parts;
      cut_at_random(space, block, tree, tree.root(), random, parts);
      cuts += std::ssize(parts) - 1;
      Array sum = c.out[0].type == DType::fp64 ? joined<double>(c, space, tree, parts, random)
                                               : joined<float>(c, space, tree, parts, random);
      const Block region = project(space.out[0], c.out[0].shape, block);
      if (c.out[0].type == DType::fp16) sum = rounded(sum, DType::fp16, region, 0, context);
      ASSERT_EQ(sum.data, expected[0].data) << "chunk " << tree.chunk() << ", " << parts.size() << " parts";
    }
  }
  EXPECT_TRUE(cuts > 0 || steps <= 4) << "never cut";
}

TEST_P(ExactLaws, BlocksInAnyOrderMakeTheBitsOfTheWhole) {
  Call c(GetParam(), 23);
  const Space space = c.def.space(c.call());
  std::mt19937 random(24);
  numerics::Team team(3, 0);
  for (int trial = 0; trial < 30; ++trial) {
    make_awkward(c.values, random, trial % 5 == 4);
    KernelContext context = Call::context();
    if (trial % 2 == 1) context.team = &team;
    for (const Block& shard : blocks_of(random_grid(space, random, false))) {
      const Parts whole(c, space, shard);
      const std::vector<Array> expected = compute_block(c.call(), space, shard, whole.views, context);
      std::vector<Block> blocks{shard};
      for (std::size_t a : reduce_axes(space)) {
        std::vector<Block> next;
        for (Block block : blocks) {
          const Range all = block[a];
          const std::int64_t middle =
              std::uniform_int_distribution<std::int64_t>(all.begin, std::max(all.begin, all.end - 1))(random);
          if (middle == all.begin) {
            next.push_back(block);
            continue;
          }
          block[a] = {all.begin, middle}, next.push_back(block);
          block[a] = {middle, all.end}, next.push_back(block);
        }
        blocks = next;
      }
      std::shuffle(blocks.begin(), blocks.end(), random);
      ExactSums sums;
      for (const Block& block : blocks) {
        const Parts operands(c, space, block);
        ExactSums part = compute_sums(c.call(), space, block, operands.views);
        if (sums.region.empty() && sums.of_floats.empty() && sums.of_doubles.empty()) {
          sums = part;
          continue;
        }
        for (std::size_t i = 0; i < part.of_floats.size(); ++i) sums.of_floats[i].merge(part.of_floats[i]);
        for (std::size_t i = 0; i < part.of_doubles.size(); ++i) sums.of_doubles[i].merge(part.of_doubles[i]);
      }
      const Array result = finish_sums(c.call(), sums, context);
      ASSERT_EQ(result.info, expected[0].info);
      ASSERT_EQ(result.data, expected[0].data) << blocks.size() << " blocks";
    }
  }
}

const auto kNameOfCase = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(AllOps, ContractionLaws, testing::ValuesIn(cases_of(Summation::contraction)), kNameOfCase);
INSTANTIATE_TEST_SUITE_P(AllOps, ExactLaws, testing::ValuesIn(cases_of(Summation::exact)), kNameOfCase);

// Sums that may be cut are of one kind or the other, but for lookups, where one block at most adds anything but zero.
TEST(Summation, IsSaidOfEveryOpThatSums) {
  for (const OpCase& c : op_cases()) {
    const Call call(c, 1);
    const bool sums = call.def.space(call.call()).reduction == Reduction::sum;
    const bool lookup = call.def.name == "gather" || call.def.name == "pick";
    EXPECT_EQ(sums && !lookup, sums && call.def.summation != Summation::plain) << c.name;
    EXPECT_EQ(call.def.summation == Summation::exact, call.def.add_terms != nullptr) << c.name;
  }
}

}  // namespace
}  // namespace superstep
