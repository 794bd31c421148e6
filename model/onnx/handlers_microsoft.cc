// SPDX-License-Identifier: Apache-2.0
// The domain com.microsoft: what ONNX Runtime's optimisers fuse (microsoft/onnxruntime docs/ContribOperators.md), taken
// apart again.
#include <cmath>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// `x` after the activation function that the attribute names; x itself without the attribute.
TensorId activated(Node& n, TensorId x, std::string_view attribute) {
  GraphBuilder& b = n.b;
  const std::string name = n.text_attribute(attribute, "");
  const std::vector<double> numbers = n.numbers_attribute("activation_params");
  const auto number = [&](std::size_t i, std::string_view own, double fallback) {
    return i < numbers.size() ? numbers[i] : n.number_attribute(own, fallback);
  };
  const TensorId zero = b.scalar(b.info(x).type, 0);
  if (name.empty()) return x;
  if (name == "Relu") return b.unary("relu", x);
  if (name == "Sigmoid") return b.unary("sigmoid", x);
  if (name == "Tanh") return b.unary("tanh", x);
  if (name == "LeakyRelu") {
    const TensorId below = b.scale(b.binary("min", x, zero), number(0, "activation_alpha", 0.01));
    return b.binary("add", b.unary("relu", x), below);
  }
  if (name == "Clip") {
    const DType type = b.info(x).type;
    const double low = number(0, "activation_alpha", -HUGE_VAL), high = number(1, "activation_beta", HUGE_VAL);
    return b.binary("min", b.binary("max", x, b.scalar(type, low)), b.scalar(type, high));
  }
  if (name == "HardSigmoid") {
    const DType type = b.info(x).type;
    const TensorId line = b.shift(b.scale(x, number(0, "activation_alpha", 0.2)), number(1, "activation_beta", 0.5));
    return b.binary("min", b.binary("max", line, zero), b.scalar(type, 1));
  }
  Node::not_supported("activation \"" + name + "\"");
}

Results fused_matmul(Node& n) {
  if (n.integer_attribute("transBatchA", 0) != 0 || n.integer_attribute("transBatchB", 0) != 0)
    Node::not_supported("transposed batches (transBatchA, transBatchB)");
  const bool first = n.integer_attribute("transA", 0) != 0, second = n.integer_attribute("transB", 0) != 0;
  if (n.rank(0) < 2 || n.rank(1) < 2) Node::fail("matrices are expected");
  return {n.b.scale(matrix_product(n.b, n.in(0), n.in(1), first, second), n.number_attribute("alpha", 1))};
}

Results fused_gemm(Node& n) {
  const TensorId y = gemm(n)[0];
  return {activated(n, y, "activation")};
}

// Operands: x, weights, bias, and what is added before the activation.
Results fused_conv(Node& n) {
  TensorId y = convolution(n, n.in(0), n.in(1));
  if (n.has(2)) y = n.b.binary("add", y, with_ones(n.b, n.in(2), 1, n.b.info(y).shape.size() - 2));
  if (n.has(3)) y = n.b.binary("add", y, n.in(3));
  return {activated(n, y, "activation")};
}

TensorId gelu_of(GraphBuilder& b, TensorId x, const char* approximate) {
  Attributes attrs;
  attrs.set("approximate", std::string(approximate));
  return b.one("gelu", {x}, std::move(attrs));
}

// Operands: x and a bias.
TensorId biased(Node& n) { return n.has(1) ? n.b.binary("add", n.in(0), n.in(1)) : n.in(0); }

Results exact_gelu(Node& n) { return {gelu_of(n.b, biased(n), "none")}; }
Results fast_gelu(Node& n) { return {gelu_of(n.b, biased(n), "tanh")}; }

Results quick_gelu(Node& n) {
  const TensorId x = n.in(0);
  return {n.b.binary("mul", x, n.b.unary("sigmoid", n.b.scale(x, n.number_attribute("alpha", 1.702))))};
}

// x + skip + bias, and that normalised. Results: the last first, then mean and deviation, which only gradients read,
// then the sum.
Results skip_norm(Node& n, std::size_t bias, TensorId (*norm)(Node&, TensorId)) {
  GraphBuilder& b = n.b;
  if (n.wants_result(1) || n.wants_result(2)) Node::not_supported("mean and deviation as results");
  TensorId sum = b.binary("add", n.in(0), n.in(1));
  if (n.has(bias)) sum = b.binary("add", sum, n.in(bias));
  return {norm(n, sum), {}, {}, sum};
}

Results skip_layer_norm(Node& n) {
  return skip_norm(n, 4, [](Node& m, TensorId x) {
    return m.b.layer_norm(x, m.in(2), m.optional_in(3), m.number_attribute("epsilon", 1e-12));
  });
}

Results skip_rms_norm(Node& n) {
  return skip_norm(n, 3, [](Node& m, TensorId x) {
    return m.b.rms_norm(x, m.in(2), m.number_attribute("epsilon", 1e-12), m.rank(0) - 1);
  });
}

// Operands: tokens, segments, tables of words, places and segments, gamma, beta, mask, places.
Results embed_layer_norm(Node& n) {
  GraphBuilder& b = n.b;
  if (n.wants_result(1)) Node::not_supported("a mask's index as result");
  const std::int64_t length = n.shape(0).back();
  TensorId sum = b.gather(n.in(2), n.in(0));
  sum = b.binary("add", sum, n.has(8) ? b.gather(n.in(3), n.in(8)) : b.slice(n.in(3), 0, 0, length));
  if (n.has(1)) sum = b.binary("add", sum, b.gather(n.in(4), n.in(1)));
  n.integer_attribute("mask_index_type", 0);
  return {b.layer_norm(sum, n.in(5), n.in(6), n.number_attribute("epsilon", 1e-12)), {}, sum};
}

// Adds `filler` to the scores where `allowed` is 0, as ONNX Runtime does (mask_filter_value).
TensorId masked(GraphBuilder& b, TensorId scores, TensorId allowed, double filler) {
  const TensorId open = b.cast(allowed, b.info(scores).type);
  return b.binary("add", scores, b.scale(b.shift(b.unary("neg", open), 1), filler));
}

// Attention over x [batch, places, width] with weights of queries, keys and values in one matrix. The mask, if any, is
// 1 at places that are read: [batch, places].
Results attention(Node& n) {
  GraphBuilder& b = n.b;
  for (const std::size_t operand : {std::size_t{4}, std::size_t{5}, std::size_t{6}}) {
    if (n.has(operand)) Node::not_supported("operand " + std::to_string(operand) + " (past values or a bias)");
  }
  if (n.wants_result(1)) Node::not_supported("keys and values as a result");
  if (n.integer_attribute("do_rotary", 0) != 0) Node::not_supported("rotary positions (do_rotary)");
  const std::int64_t heads = n.integer_attribute("num_heads", 0), places = n.shape(0)[1];
  const bool causal = n.integer_attribute("unidirectional", 0) != 0;
  const double filler = n.number_attribute("mask_filter_value", -10000);
  TensorId all = b.matmul(n.in(0), n.in(1));
  if (n.has(2)) all = b.binary("add", all, n.in(2));
  const std::int64_t width = b.info(all).shape.back();
  const std::vector<std::int64_t> sizes =
      n.integers_attribute("qkv_hidden_sizes", {width / 3, width / 3, width - 2 * (width / 3)});
  if (heads < 1 || sizes.size() != 3 || sizes[0] % heads != 0 || sizes[2] % heads != 0)
    Node::fail(std::to_string(heads) + " heads of " + to_text(sizes));
  const std::vector<TensorId> parts = b.split(all, 2, sizes);
  const double scale =
      n.number_attribute("scale", 1 / std::sqrt(static_cast<double>(sizes[0]) / static_cast<double>(heads)));
  TensorId scores =
      b.scale(b.matmul(heads_apart(b, parts[0], heads), heads_apart(b, parts[1], heads), false, true), scale);
  if (n.has(3)) {
    if (n.rank(3) != 2 || n.shape(3)[1] != places) Node::not_supported("a mask of shape " + to_text(n.shape(3)));
    scores = masked(b, scores, b.reshape(n.in(3), {n.shape(3)[0], 1, 1, places}), filler);
  }
  if (causal) {
    std::vector<double> lower;
    for (std::int64_t i = 0; i < places * places; ++i) lower.push_back(i % places <= i / places ? 1 : 0);
    const TensorId earlier = b.constant(Array::from(DType::boolean, {places, places}, lower));
    scores = b.one("where", {earlier, scores, b.scalar(b.info(scores).type, -HUGE_VAL)});
  }
  return {heads_together(b, b.matmul(b.softmax(scores), heads_apart(b, parts[2], heads)))};
}

Results bias_softmax(Node& n) {
  n.integer_attribute("is_inner_broadcast", 1);
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 1), n.rank(0));
  if (axis != n.rank(0) - 1) Node::not_supported("an axis that is not the last");
  return {n.b.softmax(n.b.binary("add", n.in(0), n.in(1)), axis)};
}

Results bias_add(Node& n) { return {n.b.binary("add", n.b.binary("add", n.in(0), n.in(1)), n.in(2))}; }

constexpr Handler kMicrosoftHandlers[] = {
    {"Attention", 1, 7, attention},
    {"BiasAdd", 1, 3, bias_add},
    {"BiasGelu", 1, 2, exact_gelu},
    {"BiasSoftmax", 1, 2, bias_softmax},
    {"DequantizeLinear", 1, 3, dequantize},
    {"DynamicQuantizeMatMul", 1, 5, dynamic_quantize_matmul},
    {"EmbedLayerNormalization", 1, 9, embed_layer_norm},
    {"FastGelu", 1, 2, fast_gelu},
    {"FusedConv", 1, 4, fused_conv},
    {"FusedGemm", 1, 3, fused_gemm},
    {"FusedMatMul", 1, 2, fused_matmul},
    {"Gelu", 1, 1, exact_gelu},
    {"MatMulIntegerToFloat", 1, 7, integer_matmul_to_float},
    {"QGemm", 1, 9, quantized_gemm},
    {"QLinearAdd", 1, 8, quantized_binary, "add"},
    {"QLinearMul", 1, 8, quantized_binary, "mul"},
    {"QLinearSigmoid", 1, 5, quantized_sigmoid},
    {"QuantizeLinear", 1, 3, quantize},
    {"QuickGelu", 1, 1, quick_gelu},
    {"SkipLayerNormalization", 1, 5, skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", 1, 4, skip_rms_norm},
    {"TransposeMatMul", 1, 2, fused_matmul},
};

}  // namespace

std::span<const Handler> microsoft_handlers() { return kMicrosoftHandlers; }

}  // namespace superstep::onnx_import
