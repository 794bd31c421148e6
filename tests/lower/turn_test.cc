// SPDX-License-Identifier: Apache-2.0
// An operand that is contracted across its rows is turned: in grains, or element by element where its columns are none.
#include <gtest/gtest.h>

#include "tests/lower/toy.h"

namespace superstep {
namespace {

struct Turn {
  std::int64_t elements = 0;  // that a tile receives
  Cycles cycles;              // of turning them
};

Turn turn_of(std::int64_t columns, DType type) {
  Graph graph;
  GraphBuilder b(graph);
  b.begin_unit("product");
  const TensorId x = b.input("x", type, {64, columns}), y = b.input("y", type, {100, columns});
  graph.outputs = {b.matmul(x, y, false, true, "product")};
  const test::Lowered lowered(std::move(graph), 1, {1, 1}, false);
  Turn turn;
  for (const Step& s : lowered.table.function(0, Pass::forward).steps) {
    if (s.term != Term::relayout) continue;
    if (s.kind == StepKind::exchange) turn.elements += s.tile_bytes.value * s.times / size_of(type);
    if (s.kind == StepKind::compute) turn.cycles += s.vector * s.times;
  }
  return turn;
}

TEST(Turn, WholeGrainsTakeOneCycleForTwoBytes) {
  const Cycles launch = test::toy(1).chip.vertex_launch;
  for (const std::int64_t columns : {16, 20}) {
    const Turn halves = turn_of(columns, DType::fp16);
    EXPECT_EQ(halves.elements, 100 * columns / 4);  // on each of four tiles
    EXPECT_EQ(halves.cycles, launch + Cycles(halves.elements));
  }
  // Floats go in grains of 2 x 2.
  const Turn floats = turn_of(18, DType::fp32);
  EXPECT_EQ(floats.cycles, launch + Cycles(2 * floats.elements));
}

TEST(Turn, OtherColumnsGoElementByElement) {
  const Cycles launch = test::toy(1).chip.vertex_launch;
  for (const auto& [columns, type] : {std::pair{18, DType::fp16}, {19, DType::fp16}, {19, DType::fp32}}) {
    const Turn odd = turn_of(columns, type);
    EXPECT_EQ(odd.cycles, launch + Cycles(10 * odd.elements)) << columns;
  }
}

}  // namespace
}  // namespace superstep
