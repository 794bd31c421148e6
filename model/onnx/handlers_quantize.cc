// SPDX-License-Identifier: Apache-2.0
// 8-bit integers with a scale and a zero point. Products of them are made in fp64, which holds every sum of up to
// 2^37 of them exactly.
#include <limits>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

struct Limits {
  double low, high;
};

Limits limits_of(DType type) {
  if (type == DType::uint8) return {0, 255};
  if (type == DType::int8) return {-128, 127};
  if (type == DType::uint16) return {0, 65535};
  if (type == DType::int16) return {-32768, 32767};
  Node::not_supported("quantized to " + std::string(name_of(type)));
}

// A scale or zero point: one, or one along `axis` of a tensor of that rank.
TensorId per_axis(GraphBuilder& b, TensorId t, std::int64_t axis, std::int64_t rank) {
  if (b.info(t).elements() == 1) return b.reshape(t, {});
  if (b.info(t).shape.size() != 1) Node::not_supported("scales in " + to_text(b.info(t).shape));
  return with_ones(b, t, 1, static_cast<std::size_t>(rank - axis - 1));
}

// round(x / scale) + zero, within the type.
TensorId quantized(GraphBuilder& b, TensorId x, TensorId scale, TensorId zero, DType to) {
  const Limits limits = limits_of(to);
  const DType type = b.info(x).type;
  TensorId y = b.unary("round", b.binary("div", x, b.cast(scale, type)));
  if (zero.valid()) y = b.binary("add", y, b.cast(zero, type));
  y = b.binary("min", b.binary("max", y, b.scalar(type, limits.low)), b.scalar(type, limits.high));
  return b.cast(y, to);
}

std::int64_t quantization_axis(Node& n) {
  const std::int64_t axis = n.integer_attribute("axis", 1);
  return axis < 0 ? axis + n.rank(0) : std::min<std::int64_t>(axis, std::max<std::int64_t>(n.rank(0) - 1, 0));
}

// x - zero, in `type`.
TensorId shifted(GraphBuilder& b, TensorId x, TensorId zero, DType type) {
  const TensorId wide = b.cast(x, type);
  return zero.valid() ? b.binary("sub", wide, b.cast(zero, type)) : wide;
}

// To uint8, over the range of the values and zero.
Results dynamic_quantize(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0), none = b.scalar(n.type(0), 0);
  std::vector<std::int64_t> all;
  for (std::int64_t d = 0; d < n.rank(0); ++d) all.push_back(d);
  const TensorId high = b.binary("max", b.reduce("max", x, all, false), none);
  const TensorId low = b.binary("min", b.reduce("min", x, all, false), none);
  const TensorId scale = b.scale(b.binary("sub", high, low), 1.0 / 255);
  const TensorId zero = quantized(b, b.unary("neg", low), scale, {}, DType::uint8);
  return {quantized(b, x, scale, zero, DType::uint8), scale, zero};
}

constexpr DType kExact = DType::fp64;

// The zero point of a factor's rows (first) or columns.
TensorId factor(GraphBuilder& b, TensorId x, TensorId zero, bool rows) {
  if (!zero.valid()) return b.cast(x, kExact);
  if (rows && b.info(zero).elements() > 1) zero = with_ones(b, zero, b.info(zero).shape.size(), 1);
  if (b.info(zero).elements() == 1) zero = b.reshape(zero, {});
  return shifted(b, x, zero, kExact);
}

Results integer_matmul(Node& n) {
  GraphBuilder& b = n.b;
  return {b.cast(b.matmul(factor(b, n.in(0), n.optional_in(2), true), factor(b, n.in(1), n.optional_in(3), false)),
                 DType::int32)};
}

// Channels of the weights are dimension 0, and their zero points a list.
TensorId weight_factor(GraphBuilder& b, TensorId w, TensorId zero) {
  if (zero.valid()) zero = per_axis(b, zero, 0, static_cast<std::int64_t>(b.info(w).shape.size()));
  return shifted(b, w, zero, kExact);
}

Results integer_conv(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = factor(b, n.in(0), n.optional_in(2), false), w = weight_factor(b, n.in(1), n.optional_in(3));
  return {b.cast(convolution(n, x, w), DType::int32)};
}

// Operands of the QLinear operators: x, its scale and zero point, the same of the other factor and of the result.
Results rescaled(Node& n, TensorId product, std::int64_t channel_axis) {
  GraphBuilder& b = n.b;
  const auto rank = static_cast<std::int64_t>(b.info(product).shape.size());
  const auto number = [&](std::size_t i) { return b.cast(per_axis(b, n.in(i), channel_axis, rank), kExact); };
  const TensorId real = b.binary("mul", product, b.binary("mul", number(1), number(4)));
  return {quantized(b, real, number(6), per_axis(b, n.in(7), channel_axis, rank), n.type(7))};
}

Results quantized_matmul(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId product = b.matmul(factor(b, n.in(0), n.in(2), true), factor(b, n.in(3), n.in(5), false));
  return rescaled(n, product, static_cast<std::int64_t>(b.info(product).shape.size()) - 1);
}

Results quantized_conv(Node& n) {
  GraphBuilder& b = n.b;
  TensorId product = convolution(n, factor(b, n.in(0), n.in(2), false), weight_factor(b, n.in(3), n.in(5)));
  if (n.has(8)) {
    const TensorId bias = with_ones(b, b.cast(n.in(8), kExact), 1, b.info(product).shape.size() - 2);
    product = b.binary("add", product, bias);
  }
  return rescaled(n, product, 1);
}

constexpr Handler kQuantizeHandlers[] = {
    {"ConvInteger", 10, 4, integer_conv},
    {"DequantizeLinear", 10, 3, dequantize},
    {"DynamicQuantizeLinear", 11, 1, dynamic_quantize},
    {"MatMulInteger", 10, 4, integer_matmul},
    {"QLinearConv", 10, 9, quantized_conv},
    {"QLinearMatMul", 10, 8, quantized_matmul},
    {"QuantizeLinear", 10, 3, quantize},
};

}  // namespace

Results quantize(Node& n) {
  GraphBuilder& b = n.b;
  const std::int64_t axis = quantization_axis(n), rank = n.rank(0);
  n.integer_attribute("saturate", 1);  // of 8-bit floats only
  const DType to = n.has(2) ? n.type(2) : DType::uint8;
  const TensorId zero = n.has(2) ? per_axis(b, n.in(2), axis, rank) : TensorId{};
  const TensorId x = is_float(n.type(0)) ? n.in(0) : b.cast(n.in(0), DType::fp32);
  return {quantized(b, x, per_axis(b, n.in(1), axis, rank), zero, to)};
}

Results dequantize(Node& n) {
  GraphBuilder& b = n.b;
  const std::int64_t axis = quantization_axis(n), rank = n.rank(0);
  const TensorId zero = n.has(2) ? per_axis(b, n.in(2), axis, rank) : TensorId{};
  const DType type = n.type(1);
  return {b.binary("mul", shifted(b, n.in(0), zero, type), per_axis(b, n.in(1), axis, rank))};
}

// Operands: a, b, their scales, their zero points and a bias; as the product of integers, then in the type of the
// scales.
Results integer_matmul_to_float(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId sum =
      b.matmul(factor(b, n.in(0), n.optional_in(4), true), factor(b, n.in(1), n.optional_in(5), false));
  const TensorId y = b.binary("mul", b.cast(sum, n.type(2)), b.binary("mul", n.in(2), n.in(3)));
  return {n.has(6) ? b.binary("add", y, n.in(6)) : y};
}

// Operands: a, which is quantized here, b, its scale and zero point, and a bias.
Results dynamic_quantize_matmul(Node& n) {
  GraphBuilder& b = n.b;
  const Results a = dynamic_quantize(n);
  const TensorId sum = b.matmul(factor(b, a[0], a[2], true), factor(b, n.in(1), n.optional_in(3), false));
  const TensorId y = b.binary("mul", b.cast(sum, n.type(0)), b.binary("mul", a[1], n.in(2)));
  return {n.has(4) ? b.binary("add", y, n.in(4)) : y};
}

// Operands: a, its scale and zero point, the same of b, c, and scale and zero point of the result. Without these the
// result has the type of the scales.
Results quantized_gemm(Node& n) {
  GraphBuilder& b = n.b;
  const bool first = n.integer_attribute("transA", 0) != 0, second = n.integer_attribute("transB", 0) != 0;
  const double alpha = n.number_attribute("alpha", 1);
  const std::int64_t columns = second ? 0 : 1;
  const auto of_columns = [&](std::size_t i) { return per_axis(b, n.in(i), columns, 2); };
  const TensorId x = shifted(b, n.in(0), b.reshape(n.in(2), {}), kExact);
  TensorId sum = b.matmul(x, shifted(b, n.in(3), of_columns(5), kExact), first, second);
  if (n.has(6)) sum = b.binary("add", sum, b.cast(n.in(6), kExact));
  const auto row = [&](std::size_t i) {
    return b.cast(b.info(n.in(i)).elements() == 1 ? b.reshape(n.in(i), {}) : n.in(i), kExact);
  };
  const TensorId real = b.scale(b.binary("mul", sum, b.binary("mul", row(1), row(4))), alpha);
  if (!n.has(7)) return {b.cast(real, n.type(1))};
  return {
      quantized(b, real, row(7), n.has(8) ? b.reshape(n.in(8), {}) : TensorId{}, n.has(8) ? n.type(8) : DType::uint8)};
}

namespace {

// The real value of the operand at `i`, whose scale and zero point follow.
TensorId real(Node& n, std::size_t i) {
  const TensorId zero = n.has(i + 2) ? n.b.reshape(n.in(i + 2), {}) : TensorId{};
  return n.b.binary("mul", shifted(n.b, n.in(i), zero, n.type(i + 1)), n.b.reshape(n.in(i + 1), {}));
}

// `x` with the scale and zero point of the operands at `i`.
TensorId as_operand(Node& n, TensorId x, std::size_t i) {
  const TensorId zero = n.has(i + 1) ? n.b.reshape(n.in(i + 1), {}) : TensorId{};
  return quantized(n.b, x, n.b.reshape(n.in(i), {}), zero, n.type(0));
}

}  // namespace

Results quantized_binary(Node& n) { return {as_operand(n, n.b.binary(n.core, real(n, 0), real(n, 3)), 6)}; }
Results quantized_sigmoid(Node& n) { return {as_operand(n, n.b.unary("sigmoid", real(n, 0)), 3)}; }

std::span<const Handler> quantize_handlers() { return kQuantizeHandlers; }

}  // namespace superstep::onnx_import
