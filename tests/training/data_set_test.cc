// SPDX-License-Identifier: Apache-2.0
#include "model/training/data_set.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "model/graph/builder.h"
#include "model/onnx/import.h"
#include "model/training/input_ranges.h"
#include "small_models.h"

namespace superstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Samples, OfInstancesReplicasAndMicroBatchesAreTheBatchCutInOrder) {
  for (std::int64_t instances : {1, 2, 4}) {
    for (std::int64_t micro_batches : {1, 3}) {
      const BatchSplit split{instances, 8, micro_batches, 2};
      std::int64_t next = 5 * split.global_batch();
      for (std::int64_t i = 0; i < instances; ++i) {
        for (std::int64_t r = 0; r < 8 / instances; ++r) {
          for (std::int64_t m = 0; m < micro_batches; ++m) {
            EXPECT_EQ(samples_of(split, 5, i, r, m), (SampleRange{next, 2}));
            next += 2;
          }
        }
      }
      EXPECT_EQ(next, 6 * split.global_batch());
    }
  }
}

TEST(Samples, OneReplicaAndSixteenReadTheSameBatch) {
  const Graph one = build(tiny("bert-base"), 32, DType::fp32), many = build(tiny("bert-base"), 1, DType::fp32);
  for (std::int64_t samples : {0, 7, 100}) {
    const DataSet whole = DataSet::random(one, 3, samples), parts = DataSet::random(many, 3, samples);
    for (std::int64_t step : {0, 4}) {
      const NamedValues expected = read_batch(whole, {1, 1, 1, 32}, step);
      EXPECT_EQ(read_batch(parts, {1, 16, 2, 1}, step), expected);
      EXPECT_EQ(read_batch(parts, {4, 16, 1, 2}, step), expected);
      EXPECT_EQ(expected.at("tokens").info, (TensorInfo{DType::int32, {32, 4}}));
    }
  }
}

// As a recurrent network has them: [steps, samples].
TEST(Samples, MayLieAlongAnyDimension) {
  Graph graph;
  graph.micro_batch = 2;
  graph.sample_dimension = 1;
  GraphBuilder b(graph);
  b.begin_unit("unit");
  graph.outputs = {b.unary("neg", b.input("x", DType::fp32, {3, 2}))};
  const DataSet data = DataSet::random(graph, 3, 4);
  const NamedValues all = read_batch(data, {1, 2, 1, 2}, 0);
  EXPECT_EQ(all.at("x").info.shape, (Shape{3, 4}));
  for (std::int64_t sample = 0; sample < 4; ++sample) {
    const NamedValues one = data.read({sample, 1});
    for (std::int64_t step = 0; step < 3; ++step) EXPECT_EQ(one.at("x").at(step), all.at("x").at(step * 4 + sample));
  }
}

TEST(Samples, ComeAgainAfterTheLast) {
  const Graph graph = build(tiny("gpt2-small"), 1, DType::fp32);
  const DataSet data = DataSet::random(graph, 3, 5);
  EXPECT_EQ(data.read({5, 1}), data.read({0, 1}));
  const NamedValues wrapped = data.read({4, 2});  // the last one, and the first
  for (const auto& [name, rows] : wrapped) {
    const std::vector<double> both = rows.values(), last = data.read({4, 1}).at(name).values();
    const std::vector<double> first = data.read({0, 1}).at(name).values();
    std::vector<double> expected = last;
    expected.insert(expected.end(), first.begin(), first.end());
    EXPECT_EQ(both, expected);
  }
  EXPECT_NE(DataSet::random(graph, 3, 0).read({5, 1}), data.read({0, 1}));
  EXPECT_NE(DataSet::random(graph, 4, 5).read({0, 1}), data.read({0, 1}));
}

TEST(RandomInputs, StayWithinWhatTheModelPicksFromAndReachItsEnds) {
  TransformerSpec spec = tiny("bert-base");
  spec.next_sentence = true;
  const Graph graph = build(spec, 4, DType::fp32);
  const std::map<std::string, std::int64_t> extents = {
      {"tokens", 24}, {"segments", 2}, {"masked_positions", 4}, {"masked_labels", 24}, {"next_sentence_labels", 2}};
  const NamedValues batch = DataSet::random(graph, 1, 0).read({0, 400});
  for (TensorId t : graph.inputs) {
    const std::string& name = graph.tensors[t].name;
    const std::vector<double> found = batch.at(name).values();
    const std::set<double> different(found.begin(), found.end());
    if (name == "mask") {
      EXPECT_EQ(different, (std::set<double>{0, 1}));
      continue;
    }
    EXPECT_EQ(integer_range(graph, t), extents.at(name)) << name;
    EXPECT_EQ(static_cast<std::int64_t>(different.size()), extents.at(name)) << name;
    EXPECT_EQ(*different.begin(), 0) << name;
    EXPECT_EQ(*different.rbegin(), static_cast<double>(extents.at(name) - 1)) << name;
  }
}

TEST(RandomInputs, OfFloatingTypeHaveMeanZeroAndVarianceOne) {
  Graph graph;
  GraphBuilder b(graph);
  b.unary("exp", b.input("image", DType::fp32, {1, 10}));
  const std::vector<double> all = DataSet::random(graph, 9, 0).read({0, 2000}).at("image").values();
  double sum = 0, squares = 0;
  for (double x : all) sum += x, squares += x * x;
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(squares / 20000, 1, 0.03);
}

ImportResult images(std::int64_t batch) {
  return import_onnx(std::string(SUPERSTEP_REFERENCES) + "/images_w8/train.onnx", {.micro_batch = batch});
}
std::string stored_images() { return std::string(SUPERSTEP_REFERENCES) + "/images_w8/test_data_set_0"; }

TEST(StoredSamples, AreReadInFileOrderWhateverTheBatch) {
  const Graph two = images(2).graph, four = images(4).graph;
  const DataSet data = DataSet::open(two, stored_images());
  ASSERT_GT(data.samples(), 1);
  EXPECT_EQ(read_batch(DataSet::open(four, stored_images()), {1, 1, 1, 4}, 1), read_batch(data, {1, 2, 1, 2}, 1));
  const std::string& image = two.tensors[two.inputs[0]].name;
  EXPECT_EQ(data.read({data.samples(), 1}).at(image), data.read({0, 1}).at(image));
  EXPECT_NE(data.read({1, 1}).at(image), data.read({0, 1}).at(image));
}

TEST(StoredSamples, OfAnotherShapeAreRefusedWithOpAxisFoundAndExpected) {
  Graph graph;
  graph.micro_batch = 2;
  GraphBuilder b(graph);
  const TensorId x = b.input("image", DType::fp32, {2, 3, 12, 9});
  b.unary("exp", x);
  const std::string why = message_of([&] { DataSet::open(graph, stored_images()); });
  EXPECT_THAT(why, AllOf(HasSubstr("input_0.pb"), HasSubstr("input \"image\", read by \"exp.0\" (exp), "),
                         HasSubstr("axis 3: found 12"), HasSubstr(", expected 9")));
}

TEST(StoredSamples, OfAnotherKindOrRankOrNotThereAreRefused) {
  const auto opened = [](DType type, Shape shape) {
    Graph graph;
    GraphBuilder b(graph);
    b.input("x", type, std::move(shape));
    return message_of([&] { DataSet::open(graph, stored_images()); });
  };
  EXPECT_THAT(opened(DType::int32, {1, 3, 8, 8}), HasSubstr("expected values of int32"));
  EXPECT_THAT(opened(DType::fp32, {1, 3}), HasSubstr("4 axes"));
  const Graph graph = images(2).graph;
  EXPECT_THAT(message_of([&] { DataSet::open(graph, "nowhere"); }), HasSubstr("nowhere: there is no such folder"));
  const Folder empty;
  EXPECT_THAT(message_of([&] { DataSet::open(graph, empty.file("")); }), HasSubstr("input_0.pb: no such file"));
}

}  // namespace
}  // namespace superstep
