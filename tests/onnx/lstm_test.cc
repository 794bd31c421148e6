// SPDX-License-Identifier: Apache-2.0
// Recurrent layers against loops written by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "model/error.h"
#include "tests/onnx/onnx_file_maker.h"

namespace superstep::test {
namespace {

constexpr std::int64_t kSteps = 5, kBatch = 2, kInputs = 3, kHidden = 4, kGates = 4;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// Row `row` of a matrix [., width] times a vector.
double dot(const std::vector<float>& matrix, std::int64_t row, const std::vector<double>& vector) {
  double sum = 0;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    sum += static_cast<double>(matrix[static_cast<std::size_t>(row) * vector.size() + i]) * vector[i];
  }
  return sum;
}

struct Direction {
  std::vector<float> w, r, b;  // of gates i, o, f, c
  bool reverse = false;
};

Direction direction(unsigned seed, bool reverse) {
  return {numbers(kGates * kHidden * kInputs, seed), numbers(kGates * kHidden * kHidden, seed + 1),
          numbers(2 * kGates * kHidden, seed + 2), reverse};
}

// The hidden states [steps][hidden] of one sample.
std::vector<std::vector<double>> loop(const Direction& d, const std::vector<std::vector<double>>& x) {
  std::vector<double> h(kHidden), c(kHidden);
  std::vector<std::vector<double>> all(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t t = d.reverse ? x.size() - 1 - i : i;
    std::vector<double> next_h(kHidden);
    for (std::int64_t j = 0; j < kHidden; ++j) {
      const auto gate = [&](std::int64_t g) {
        const std::int64_t row = g * kHidden + j;
        return dot(d.w, row, x[t]) + dot(d.r, row, h) + static_cast<double>(d.b[static_cast<std::size_t>(row)]) +
               static_cast<double>(d.b[static_cast<std::size_t>(kGates * kHidden + row)]);
      };
      const auto at = static_cast<std::size_t>(j);
      c[at] = sigmoid(gate(2)) * c[at] + sigmoid(gate(0)) * std::tanh(gate(3));
      next_h[at] = sigmoid(gate(1)) * std::tanh(c[at]);
    }
    h = next_h;
    all[t] = h;
  }
  return all;
}

std::vector<float> joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

FileMaker lstm_file(const std::vector<Direction>& ways, const char* direction_name) {
  const auto d = static_cast<std::int64_t>(ways.size());
  std::vector<float> w, r, b;
  for (const Direction& way : ways) w = joined(w, way.w), r = joined(r, way.r), b = joined(b, way.b);
  FileMaker file(14);
  file.input("x", {kSteps, kBatch, kInputs}).output("y").output("h").output("c");
  file.floats("w", {d, kGates * kHidden, kInputs}, w).floats("r", {d, kGates * kHidden, kHidden}, r);
  file.floats("b", {d, 2 * kGates * kHidden}, b);
  file.node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"}).set("hidden_size", kHidden).set("direction", direction_name);
  return file;
}

// `lengths`: of the sequences, if they end before the last step.
void expect_loops(const std::vector<Direction>& ways, const char* direction_name, const Extents& lengths = {}) {
  const Array x = floats_of({kSteps, kBatch, kInputs}, numbers(kSteps * kBatch * kInputs, 77));
  FileMaker file = lstm_file(ways, direction_name);
  if (!lengths.empty()) {
    file.integers("lengths", {kBatch}, lengths);
    file.model.mutable_graph()->mutable_node(0)->add_input("lengths");
  }
  const ImportResult imported = file.import();
  const Array y = run(imported, {{"x", x}}), last = run(imported, {{"x", x}}, "h");
  const auto d = static_cast<std::int64_t>(ways.size());
  ASSERT_EQ(y.info.shape, (Shape{kSteps, d, kBatch, kHidden}));
  ASSERT_EQ(last.info.shape, (Shape{d, kBatch, kHidden}));
  for (std::int64_t sample = 0; sample < kBatch; ++sample) {
    const std::int64_t steps = lengths.empty() ? kSteps : lengths[static_cast<std::size_t>(sample)];
    std::vector<std::vector<double>> own(static_cast<std::size_t>(steps), std::vector<double>(kInputs));
    for (std::int64_t t = 0; t < steps; ++t) {
      for (std::int64_t i = 0; i < kInputs; ++i) {
        own[static_cast<std::size_t>(t)][static_cast<std::size_t>(i)] = x.at((t * kBatch + sample) * kInputs + i);
      }
    }
    for (std::int64_t way = 0; way < d; ++way) {
      const auto expected = loop(ways[static_cast<std::size_t>(way)], own);
      for (std::int64_t t = 0; t < kSteps; ++t) {
        for (std::int64_t j = 0; j < kHidden; ++j) {
          EXPECT_NEAR(y.at(((t * d + way) * kBatch + sample) * kHidden + j),
                      t < steps ? expected[static_cast<std::size_t>(t)][static_cast<std::size_t>(j)] : 0, 1e-6);
        }
      }
      const auto end = ways[static_cast<std::size_t>(way)].reverse ? 0u : static_cast<std::size_t>(steps - 1);
      EXPECT_NEAR(last.at((way * kBatch + sample) * kHidden), expected[end][0], 1e-6);
    }
  }
}

TEST(Lstm, ForwardIsTheLoop) { expect_loops({direction(1, false)}, "forward"); }
TEST(Lstm, ReverseIsTheLoopFromTheEnd) { expect_loops({direction(1, true)}, "reverse"); }
TEST(Lstm, BidirectionalIsBothLoops) { expect_loops({direction(1, false), direction(9, true)}, "bidirectional"); }

TEST(Lstm, StateMayBeGiven) {
  FileMaker file = lstm_file({direction(1, false)}, "forward");
  file.floats("h0", {1, kBatch, kHidden}, std::vector<float>(kBatch * kHidden, 0.0f));
  auto& node = *file.model.mutable_graph()->mutable_node(0);
  node.add_input("");
  node.add_input("h0");
  const Array x = floats_of({kSteps, kBatch, kInputs}, numbers(kSteps * kBatch * kInputs, 77));
  const Array with = run(file.import(), {{"x", x}});
  const Array without = run(lstm_file({direction(1, false)}, "forward").import(), {{"x", x}});
  EXPECT_EQ(with.values(), without.values());
}

TEST(Lstm, TheBatchIsFoundInTheSecondDimension) {
  const FileMaker file = lstm_file({direction(1, false)}, "forward");
  const Graph as_in_file = file.import().graph;
  EXPECT_EQ(as_in_file.sample_dimension, 1);
  EXPECT_EQ(as_in_file.micro_batch, kBatch);
  constexpr std::int64_t kOther = 3;
  const Graph larger = file.import({.micro_batch = kOther}).graph;
  EXPECT_EQ(larger.sample_dimension, 1);
  EXPECT_EQ(larger.info(larger.inputs[0]).shape, (Shape{kSteps, kOther, kInputs}));
  const Graph told = file.import({.micro_batch = kOther, .batch_dimension = 0}).graph;
  EXPECT_EQ(told.sample_dimension, 0);
  EXPECT_EQ(told.info(told.inputs[0]).shape, (Shape{kOther, kBatch, kInputs}));
  EXPECT_THROW(file.import({.batch_dimension = 3}), Error);
}

TEST(Lstm, AStateStoredForTheFilesBatchFollowsAnother) {
  FileMaker file = lstm_file({direction(1, false)}, "forward");
  file.integers("batch_place", {1}, {1}).integers("one", {1}, {1}).integers("hidden", {1}, {kHidden});
  file.node("Shape", {"x"}, {"shape"});
  file.node("Gather", {"shape", "batch_place"}, {"batch"}).set("axis", 0);
  file.node("Concat", {"one", "batch", "hidden"}, {"state_shape"}).set("axis", 0);
  file.node("Constant", {}, {"stored"})
      .set("value", float_tensor("", {1, kBatch, kHidden}, std::vector<float>(kBatch * kHidden, 0.0f)));
  file.node("Expand", {"stored", "state_shape"}, {"h0"});
  auto& node = *file.model.mutable_graph()->mutable_node(0);
  node.add_input("");
  node.add_input("h0");
  for (std::int64_t n : {1, 2, 5}) {
    const ImportResult result = file.import({.micro_batch = n});
    EXPECT_TRUE(result.unsupported.empty());
    EXPECT_EQ(result.graph.info(result.graph.inputs[0]).shape, (Shape{kSteps, n, kInputs}));
  }
}

TEST(Lstm, SequencesMayEndEarly) {
  expect_loops({direction(1, false)}, "forward", {kSteps, 2});
  expect_loops({direction(1, true)}, "reverse", {3, kSteps});
  expect_loops({direction(1, false), direction(9, true)}, "bidirectional", {1, 4});
}

TEST(Lstm, LayersAreUnitsThatDoTheSame) {
  FileMaker file(14);
  file.input("x", {kSteps, kBatch, kHidden}).output("y");
  file.integers("direction", {1}, {1});
  std::string x = "x";
  for (int layer = 0; layer < 3; ++layer) {
    const std::string n = std::to_string(layer);
    file.floats("w" + n, {1, kGates * kHidden, kHidden}, numbers(kGates * kHidden * kHidden, 3));
    file.floats("r" + n, {1, kGates * kHidden, kHidden}, numbers(kGates * kHidden * kHidden, 4));
    file.node("LSTM", {x, "w" + n, "r" + n}, {"a" + n}).set("hidden_size", kHidden);
    x = layer == 2 ? "y" : "s" + n;
    file.node("Squeeze", {"a" + n, "direction"}, {x});
  }
  const ImportResult result = file.import();
  ASSERT_EQ(result.graph.units.size(), 6u);  // projection and recurrence of each
  EXPECT_EQ(signature(result.graph, UnitId(1)), signature(result.graph, UnitId(3)));
  EXPECT_EQ(signature(result.graph, UnitId(3)), signature(result.graph, UnitId(5)));
}

}  // namespace
}  // namespace superstep::test
