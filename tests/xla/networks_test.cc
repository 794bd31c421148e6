// SPDX-License-Identifier: Apache-2.0
// XLA programs compute what the same networks in ONNX do.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/onnx/onnx_file_maker.h"
#include "tests/xla/mlp.h"

namespace superstep::test {
namespace {

using namespace xla_import;

constexpr double kRounding = 2e-6;

// Values of the program's weights, by name.
using Weights = std::map<std::string, std::vector<float>>;

ImportResult with_weights(ImportResult imported, const Weights& weights) {
  for (const auto& [name, values] : weights) {
    Tensor& tensor = imported.graph.tensors[imported.names.at(name)];
    EXPECT_EQ(tensor.kind, TensorKind::weight) << name;
    tensor.data = std::make_shared<const Array>(floats_of(tensor.info.shape, values));
  }
  return imported;
}

// The perceptron and its twin in ONNX.
struct Mlp {
  static constexpr std::int64_t kIn = 6, kHidden = 8, kClasses = 3;
  Weights weights{{"params.w1", numbers(kIn* kHidden, 1)},
                  {"params.b1", numbers(kHidden, 2)},
                  {"params.w2", numbers(kHidden* kClasses, 3)}};

  static ProgramMaker program() { return mlp_program({.batch = 4, .in = kIn, .hidden = kHidden, .classes = kClasses}); }

  FileMaker onnx(std::int64_t batch) const {
    FileMaker f;
    f.input("x", {batch, kIn}).input("labels", {batch}, kInt64);
    f.floats("params.w1", {kIn, kHidden}, weights.at("params.w1"))
        .floats("params.b1", {kHidden}, weights.at("params.b1"));
    f.floats("params.w2", {kHidden, kClasses}, weights.at("params.w2"));
    f.node("MatMul", {"x", "params.w1"}, {"m"});
    f.node("Add", {"m", "params.b1"}, {"a"});
    f.node("Relu", {"a"}, {"r"});
    f.node("MatMul", {"r", "params.w2"}, {"logits"});
    f.node("SoftmaxCrossEntropyLoss", {"logits", "labels"}, {"loss"});
    f.output("loss");
    return f;
  }
};

TEST(XlaNetwork, MlpHasTheLossOfTheSameOnnxModel) {
  const Mlp mlp;
  const std::vector<std::int64_t> labels = {2, 0, 1, 2};
  for (bool wrapped : {true, false}) {
    const std::string path = write_file(fresh_folder() / "mlp.pb", mlp.program().bytes(wrapped));
    const ImportResult imported = with_weights(import_file(path, {}), mlp.weights);
    EXPECT_EQ(imported.graph.parameters(), 6 * 8 + 8 + 8 * 3);
    EXPECT_EQ(imported.weights_without_data, 3);
    EXPECT_TRUE(imported.graph.loss.valid());
    const Array y = Array::from(DType::int32, {4}, {2, 0, 1, 2});
    const Array loss = run(imported, {{"x", floats_of({4, 6}, numbers(24, 9))}, {"labels", y}});
    const Array same =
        run(mlp.onnx(4).import(), {{"x", floats_of({4, 6}, numbers(24, 9))}, {"labels", integers_of({4}, labels)}});
    EXPECT_LT(difference(loss, same), kRounding);
  }
}

TEST(XlaNetwork, MlpRunsWithAnotherBatch) {
  const Mlp mlp;
  const ImportResult imported = with_weights(mlp.program().import({.micro_batch = 2}), mlp.weights);
  EXPECT_EQ(imported.samples, 4);
  const Array loss =
      run(imported, {{"x", floats_of({2, 6}, numbers(12, 9))}, {"labels", Array::from(DType::int32, {2}, {2, 0})}});
  const Array same =
      run(mlp.onnx(2).import(), {{"x", floats_of({2, 6}, numbers(12, 9))}, {"labels", integers_of({2}, {2, 0})}});
  EXPECT_LT(difference(loss, same), kRounding);
}

// The example of the pages, written anew with SUPERSTEP_UPDATE=1.
TEST(XlaNetwork, ExampleFileIsWhatIsMadeHere) {
  const std::string path = SUPERSTEP_SOURCE "/data/models/mlp.hlo.pb";
  const MlpSpec spec{.batch = 64, .in = 784, .hidden = 512, .classes = 10, .data_parts = 2, .model_parts = 2};
  const std::string bytes = mlp_program(spec).bytes();
  if (std::getenv("SUPERSTEP_UPDATE") != nullptr) write_file(path, bytes);
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), bytes);
}

// Self-attention with a causal mask: x [b, s, h * w] by kernels [h * w, h, w], as flax has them.
struct Attention {
  static constexpr std::int64_t kBatch = 2, kLength = 5, kHeads = 2, kWidth = 4, kHidden = kHeads * kWidth;
  Weights weights{{"params.query", numbers(kHidden* kHidden, 1)},
                  {"params.key", numbers(kHidden* kHidden, 2)},
                  {"params.value", numbers(kHidden* kHidden, 3)},
                  {"params.out", numbers(kHidden* kHidden, 4)}};

  ProgramMaker program() const {
    ProgramMaker p;
    const Extents kernel = {kHidden, kHeads, kWidth};
    const Made query = p.parameter(kernel, "params['query']"), key = p.parameter(kernel, "params['key']"),
               value = p.parameter(kernel, "params['value']"),
               out = p.parameter({kHeads, kWidth, kHidden}, "params['out']");
    const Made x = p.parameter({kBatch, kLength, kHidden}, "x");
    const Made scaled = p.add("multiply", {kBatch, kLength, kHeads, kWidth},
                              {p.matmul(x, query), p.broadcast(p.number(0.5F), {kBatch, kLength, kHeads, kWidth}, {})});
    const Extents all = {kBatch, kHeads, kLength, kLength};
    const Made scores = p.add("dot", all, {scaled, p.matmul(x, key)});
    auto& s = *scores->mutable_dot_dimension_numbers();
    for (std::int64_t d : {0, 2}) s.add_lhs_batch_dimensions(d), s.add_rhs_batch_dimensions(d);
    s.add_lhs_contracting_dimensions(3);
    s.add_rhs_contracting_dimensions(3);
    const Made rows = p.add("iota", {kLength, kLength}, {}, kS32),
               columns = p.add("iota", {kLength, kLength}, {}, kS32);
    rows->add_dimensions(0);
    columns->add_dimensions(1);
    const Made mask = p.broadcast(p.compare(rows, columns, "GE"), all, {2, 3});
    const Made masked = p.add("select", all, {mask, scores, p.broadcast(p.number(-1e9F), all, {})});
    const Made largest = p.broadcast(p.reduce("maximum", masked, -HUGE_VALF, {3}), all, {0, 1, 2});
    const Made e = p.add("exponential", all, {p.add("subtract", all, {masked, largest})});
    const Made weights_of = p.add("divide", all, {e, p.broadcast(p.reduce("add", e, 0, {3}), all, {0, 1, 2})});
    // values [b, k, h, w] by weights [b, h, q, k] -> [b, h, w, q], as jnp.einsum writes it
    const Made context = p.add("dot", {kBatch, kHeads, kWidth, kLength}, {p.matmul(x, value), weights_of});
    auto& n = *context->mutable_dot_dimension_numbers();
    n.add_lhs_batch_dimensions(0), n.add_lhs_batch_dimensions(2);
    n.add_rhs_batch_dimensions(0), n.add_rhs_batch_dimensions(1);
    n.add_lhs_contracting_dimensions(1);
    n.add_rhs_contracting_dimensions(3);
    const Made turned = p.add("transpose", {kBatch, kLength, kHeads, kWidth}, {context});
    for (std::int64_t d : {0, 3, 1, 2}) turned->add_dimensions(d);
    const Made y = p.add("dot", {kBatch, kLength, kHidden}, {turned, out});
    auto& o = *y->mutable_dot_dimension_numbers();
    for (std::int64_t d : {2, 3}) o.add_lhs_contracting_dimensions(d), o.add_rhs_contracting_dimensions(d - 2);
    return p;
  }

  FileMaker onnx(std::int64_t batch) const {
    FileMaker f;
    f.input("x", {batch, kLength, kHidden});
    for (const auto& [name, values] : weights) f.floats(name, {kHidden, kHidden}, values);
    f.integers("apart", {4}, {0, kLength, kHeads, kWidth}).integers("together", {3}, {0, kLength, kHidden});
    for (const char* name : {"query", "key", "value"}) {
      f.node("MatMul", {"x", std::string("params.") + name}, {std::string(name) + ".m"});
      f.node("Reshape", {std::string(name) + ".m", "apart"}, {std::string(name) + ".r"});
      const bool key = std::string(name) == "key";
      f.node("Transpose", {std::string(name) + ".r"}, {std::string(name) + ".t"})
          .set("perm", key ? Extents{0, 2, 3, 1} : Extents{0, 2, 1, 3});
    }
    std::vector<float> mask;
    for (std::int64_t q = 0; q < kLength; ++q)
      for (std::int64_t k = 0; k < kLength; ++k) mask.push_back(k <= q ? 0 : -1e9F);
    f.node("Constant", {}, {"mask"}).set("value", float_tensor("", {kLength, kLength}, mask));
    f.node("Constant", {}, {"half"}).set("value", float_tensor("", {}, {0.5F}));
    f.node("MatMul", {"query.t", "key.t"}, {"qk"});
    f.node("Mul", {"qk", "half"}, {"scores"});
    f.node("Add", {"scores", "mask"}, {"masked"});
    f.node("Softmax", {"masked"}, {"softmax"});
    f.node("MatMul", {"softmax", "value.t"}, {"context"});
    f.node("Transpose", {"context"}, {"turned"}).set("perm", Extents{0, 2, 1, 3});
    f.node("Reshape", {"turned", "together"}, {"joined"});
    f.node("MatMul", {"joined", "params.out"}, {"y"});
    f.output("y");
    return f;
  }
};

TEST(XlaNetwork, AttentionHasTheValuesOfTheSameOnnxModel) {
  const Attention attention;
  for (std::int64_t batch : {2, 3}) {
    const ImportOptions options{.micro_batch = batch == 2 ? 0 : batch};
    const ImportResult imported = with_weights(attention.program().import(options), attention.weights);
    const Array x = floats_of({batch, 5, 8}, numbers(batch * 40, 9));
    EXPECT_LT(difference(run(imported, {{"x", x}}), run(attention.onnx(batch).import(), {{"x", x}})), kRounding);
  }
}

void set_window(Made in, const Extents& sizes, std::int64_t stride, std::int64_t low, std::int64_t high) {
  for (std::int64_t size : sizes) {
    auto& d = *in->mutable_window()->add_dimensions();
    d.set_size(size);
    const bool idle = size == 1;
    d.set_stride(idle ? 1 : stride);
    d.set_padding_low(idle ? 0 : low);
    d.set_padding_high(idle ? 0 : high);
    d.set_window_dilation(1);
    d.set_base_dilation(1);
  }
}

// Convolution of images [b, h, w, c] by kernels [h, w, in, out].
Made convolution(ProgramMaker& p, Made x, Made kernel, const Extents& shape, std::int64_t stride, std::int64_t low,
                 std::int64_t high) {
  Made in = p.add("convolution", shape, {x, kernel});
  set_window(in, {kernel->shape().dimensions(0), kernel->shape().dimensions(1)}, stride, low, high);
  auto& n = *in->mutable_convolution_dimension_numbers();
  n.set_input_feature_dimension(3);
  n.set_output_feature_dimension(3);
  n.set_kernel_input_feature_dimension(2);
  n.set_kernel_output_feature_dimension(3);
  for (std::int64_t d : {0, 1}) {
    n.add_input_spatial_dimensions(d + 1);
    n.add_output_spatial_dimensions(d + 1);
    n.add_kernel_spatial_dimensions(d);
  }
  return in;
}

Made reduce_window(ProgramMaker& p, const std::string& opcode, Made x, const Extents& shape, const Extents& window,
                   std::int64_t stride, float from) {
  p.begin("reducer");
  const Made a = p.parameter({}), b = p.parameter({});
  p.add(opcode, {}, {a, b});
  const std::int64_t reducer = p.end();
  const Made start = p.number(from);
  Made in = p.add("reduce-window", shape, {x, start});
  set_window(in, window, stride, 0, 0);
  in->add_called_computation_ids(reducer);
  return in;
}

// Two convolutions, the second in groups, maxima and means over windows, a mean over pixels, a product.
ProgramMaker convolution_network() {
  ProgramMaker p;
  const Made k1 = p.parameter({3, 3, 2, 4}, "params['k1']"), k2 = p.parameter({3, 3, 2, 4}, "params['k2']"),
             w = p.parameter({4, 3}, "params['w']");
  const Made x = p.parameter({2, 9, 9, 2}, "x");
  const Made c1 = convolution(p, x, k1, {2, 9, 9, 4}, 1, 1, 1);
  const Made r1 = p.add("maximum", {2, 9, 9, 4}, {c1, p.broadcast(p.number(0), {2, 9, 9, 4}, {})});
  const Made m1 = reduce_window(p, "maximum", r1, {2, 4, 4, 4}, {1, 2, 2, 1}, 2, -HUGE_VALF);
  const Made c2 = convolution(p, m1, k2, {2, 4, 4, 4}, 1, 1, 1);
  c2->set_feature_group_count(2);
  const Made s2 = reduce_window(p, "add", c2, {2, 2, 2, 4}, {1, 2, 2, 1}, 2, 0);
  const Made a2 = p.add("divide", {2, 2, 2, 4}, {s2, p.broadcast(p.number(4), {2, 2, 2, 4}, {})});
  const Made mean = p.add("divide", {2, 4}, {p.reduce("add", a2, 0, {1, 2}), p.broadcast(p.number(4), {2, 4}, {})});
  p.matmul(mean, w);
  return p;
}

TEST(XlaNetwork, ConvolutionsHaveTheValuesOfTheSameOnnxModel) {
  const Weights weights{{"params.k1", numbers(72, 1)}, {"params.k2", numbers(72, 2)}, {"params.w", numbers(12, 3)}};
  FileMaker f;
  f.input("x", {-1, 9, 9, 2}).floats("w", {4, 3}, weights.at("params.w"));
  f.floats("k1", {3, 3, 2, 4}, weights.at("params.k1")).floats("k2", {3, 3, 2, 4}, weights.at("params.k2"));
  f.node("Transpose", {"x"}, {"xt"}).set("perm", Extents{0, 3, 1, 2});
  f.node("Transpose", {"k1"}, {"k1t"}).set("perm", Extents{3, 2, 0, 1});
  f.node("Transpose", {"k2"}, {"k2t"}).set("perm", Extents{3, 2, 0, 1});
  f.node("Conv", {"xt", "k1t"}, {"c1"}).set("pads", Extents{1, 1, 1, 1});
  f.node("Relu", {"c1"}, {"r1"});
  f.node("MaxPool", {"r1"}, {"m1"}).set("kernel_shape", Extents{2, 2}).set("strides", Extents{2, 2});
  f.node("Conv", {"m1", "k2t"}, {"c2"}).set("pads", Extents{1, 1, 1, 1}).set("group", 2);
  f.node("AveragePool", {"c2"}, {"a2"}).set("kernel_shape", Extents{2, 2}).set("strides", Extents{2, 2});
  f.node("ReduceMean", {"a2"}, {"mean"}).set("axes", Extents{2, 3}).set("keepdims", 0);
  f.node("MatMul", {"mean", "w"}, {"y"});
  f.output("y");
  for (std::int64_t batch : {2, 5}) {
    const ImportOptions options{.micro_batch = batch};
    const ImportResult imported = with_weights(convolution_network().import(options), weights);
    const Array x = floats_of({batch, 9, 9, 2}, numbers(batch * 162, 9));
    EXPECT_LT(difference(run(imported, {{"x", x}}), run(f.import(options), {{"x", x}})), kRounding);
  }
}

}  // namespace
}  // namespace superstep::test
