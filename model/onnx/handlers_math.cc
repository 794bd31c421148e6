// SPDX-License-Identifier: Apache-2.0
// Elementwise functions and activations.
#include <cmath>
#include <optional>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

Results plain(Node& n) {
  Node::need(n.core);
  n.integers_attribute("consumed_inputs");  // of operator set 1: a hint
  std::vector<TensorId> operands;
  for (std::size_t i = 0; i < n.operands(); ++i) operands.push_back(n.in(i));
  return {n.b.one(n.core, std::move(operands))};
}

// A single floating number that is known, and whose shape does not widen that of `other`.
std::optional<double> factor(const Node& n, TensorId t, TensorId other) {
  const TensorInfo &info = n.b.info(t), &wide = n.b.info(other);
  const Array* array = n.known(t);
  const bool fits = array && info.elements() == 1 && is_float(info.type) && is_float(wide.type) && !n.known(other) &&
                    info.shape.size() <= wide.shape.size();
  if (!fits || !std::isfinite(array->at(0))) return std::nullopt;
  return array->at(0);
}

TensorId affine(GraphBuilder& b, TensorId t, double scale, double shift) {
  if (shift == 0) return b.scale(t, scale);
  if (scale == 1) return b.shift(t, shift);
  Attributes attrs;
  attrs.set("scale", scale);
  attrs.set("shift", shift);
  return b.one("affine", {t}, std::move(attrs));
}

// Before operator set 7 the second operand was aligned by attributes.
TensorId aligned_second(Node& n) {
  const std::int64_t broadcast = n.integer_attribute("broadcast", 1);
  n.integers_attribute("consumed_inputs");
  const TensorId second = n.in(1);
  if (n.opset >= 7 || !n.has_attribute("axis") || broadcast == 0) return second;
  const std::int64_t axis = n.axis(n.integer_attribute("axis", 0), n.rank(0));
  const std::int64_t missing = n.rank(0) - axis - n.rank(1);
  if (missing < 0) Node::fail("operand 1 has too many dimensions for its axis");
  return with_ones(n.b, second, static_cast<std::size_t>(n.rank(1)), static_cast<std::size_t>(missing));
}

Results arithmetic(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId first = n.in(0), second = aligned_second(n);
  const bool sum = n.core == "add" || n.core == "sub";
  if (const auto c = factor(n, second, first)) {
    if (sum) return {b.shift(first, n.core == "add" ? *c : -*c)};
    if (n.core == "mul" || *c != 0) return {b.scale(first, n.core == "mul" ? *c : 1 / *c)};
  }
  if (const auto c = factor(n, first, second); c && n.core != "div") {
    if (sum) return {affine(b, second, n.core == "add" ? 1 : -1, *c)};
    return {b.scale(second, *c)};
  }
  return {b.binary(n.core, first, second)};
}

Results compare(Node& n) { return {n.b.binary(n.core, n.in(0), aligned_second(n))}; }

Results power(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId base = n.in(0), exponent = aligned_second(n);
  if (const auto e = factor(n, exponent, base)) {
    if (*e == 1) return {base};
    if (*e == 2) return {b.unary("square", base)};
    if (*e == 3) return {b.binary("mul", b.unary("square", base), base)};
    if (*e == 0.5) return {b.unary("sqrt", base)};
    if (*e == -0.5) return {b.unary("rsqrt", base)};
    if (*e == -1) return {b.unary("reciprocal", base)};
  }
  const DType type = b.info(base).type;
  return {b.cast(b.binary("pow", base, exponent), type)};
}

Results modulo(Node& n) {
  const bool sign_of_first = n.integer_attribute("fmod", 0) != 0;
  return {n.b.binary(sign_of_first ? "fmod" : "mod", n.in(0), n.in(1))};
}

// Sum, Mean, Max, Min of any number of operands.
Results fold(Node& n) {
  n.integers_attribute("consumed_inputs");
  TensorId all = n.in(0);
  for (std::size_t i = 1; i < n.operands(); ++i) all = n.b.binary(n.core, all, n.in(i));
  return {all};
}

Results mean(Node& n) {
  const TensorId all = fold(n)[0];
  return {n.b.scale(all, 1 / static_cast<double>(n.operands()))};
}

Results clip(Node& n) {
  GraphBuilder& b = n.b;
  TensorId x = n.in(0);
  const DType type = b.info(x).type;
  TensorId low = n.optional_in(1), high = n.optional_in(2);
  if (n.opset < 11) {
    n.integers_attribute("consumed_inputs");
    if (n.has_attribute("min")) low = b.scalar(type, n.number_attribute("min", 0));
    if (n.has_attribute("max")) high = b.scalar(type, n.number_attribute("max", 0));
  }
  if (low.valid()) x = b.binary("max", x, low);
  if (high.valid()) x = b.binary("min", x, high);
  return {x};
}

// Activations made of other functions.

TensorId positive(GraphBuilder& b, TensorId x) { return b.unary("relu", x); }
TensorId negative(GraphBuilder& b, TensorId x) { return b.binary("min", x, b.scalar(b.info(x).type, 0)); }
TensorId grown(GraphBuilder& b, TensorId x) { return b.unary("expm1", negative(b, x)); }

Results leaky_relu(Node& n) {
  const TensorId x = n.in(0);
  n.integers_attribute("consumed_inputs");
  return {n.b.binary("add", positive(n.b, x), n.b.scale(negative(n.b, x), n.number_attribute("alpha", 0.01)))};
}

Results prelu(Node& n) {
  const TensorId x = n.in(0);
  n.integers_attribute("consumed_inputs");
  TensorId slope = n.in(1);
  if (n.opset < 7 && n.rank(1) == 1 && n.rank(0) > 2) slope = with_ones(n.b, slope, 1, n.shape(0).size() - 2);
  const TensorId below = n.b.binary("less", x, n.b.scalar(n.type(0), 0));
  return {n.b.one("where", {below, n.b.binary("mul", x, slope), x})};  // an infinite slope leaves what is above 0
}

Results elu(Node& n) {
  const TensorId x = n.in(0);
  n.integers_attribute("consumed_inputs");
  return {n.b.binary("add", positive(n.b, x), n.b.scale(grown(n.b, x), n.number_attribute("alpha", 1)))};
}

Results celu(Node& n) {
  const TensorId x = n.in(0);
  const double alpha = n.number_attribute("alpha", 1);
  const TensorId below = n.b.binary("min", x, n.b.scalar(n.type(0), 0));
  return {n.b.binary("add", positive(n.b, x), n.b.scale(n.b.unary("expm1", n.b.scale(below, 1 / alpha)), alpha))};
}

Results selu(Node& n) {
  const TensorId x = n.in(0);
  n.integers_attribute("consumed_inputs");
  const double alpha = n.number_attribute("alpha", 1.67326319217681884765625);
  const double gamma = n.number_attribute("gamma", 1.05070102214813232421875);
  return {n.b.binary("add", n.b.scale(positive(n.b, x), gamma), n.b.scale(grown(n.b, x), alpha * gamma))};
}

TensorId clipped_line(GraphBuilder& b, TensorId x, double slope, double shift) {
  const DType type = b.info(x).type;
  const TensorId line = affine(b, x, slope, shift);
  return b.binary("min", b.binary("max", line, b.scalar(type, 0)), b.scalar(type, 1));
}

Results hard_sigmoid(Node& n) {
  const TensorId x = n.in(0);
  n.integers_attribute("consumed_inputs");
  return {clipped_line(n.b, x, n.number_attribute("alpha", 0.2), n.number_attribute("beta", 0.5))};
}

Results hard_swish(Node& n) {
  const TensorId x = n.in(0);
  return {n.b.binary("mul", x, clipped_line(n.b, x, 1.0 / 6, 0.5))};
}

Results softsign(Node& n) {
  const TensorId x = n.in(0);
  return {n.b.binary("div", x, n.b.shift(n.b.unary("abs", x), 1))};
}

Results mish(Node& n) {
  const TensorId x = n.in(0);
  return {n.b.binary("mul", x, n.b.unary("tanh", n.b.unary("softplus", x)))};
}

Results swish(Node& n) {
  const TensorId x = n.in(0);
  return {n.b.binary("mul", x, n.b.unary("sigmoid", n.b.scale(x, n.number_attribute("alpha", 1))))};
}

Results thresholded_relu(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const DType type = b.info(x).type;
  const TensorId above = b.binary("greater", x, b.scalar(type, n.number_attribute("alpha", 1)));
  return {b.one("where", {above, x, b.scalar(type, 0)})};
}

Results shrink(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const DType type = b.info(x).type;
  const double lambd = n.number_attribute("lambd", 0.5), bias = n.number_attribute("bias", 0);
  const TensorId low = b.binary("less", x, b.scalar(type, -lambd));
  const TensorId high = b.binary("greater", x, b.scalar(type, lambd));
  const TensorId inner = b.one("where", {high, b.shift(x, -bias), b.scalar(type, 0)});
  return {b.one("where", {low, b.shift(x, bias), inner})};
}

Results gelu(Node& n) {
  Attributes attrs;
  attrs.set("approximate", n.text_attribute("approximate", "none"));
  return {n.b.one("gelu", {n.in(0)}, std::move(attrs))};
}

Results is_inf(Node& n) {
  GraphBuilder& b = n.b;
  const TensorId x = n.in(0);
  const bool up = n.integer_attribute("detect_positive", 1) != 0, down = n.integer_attribute("detect_negative", 1) != 0;
  const TensorId bound = b.scalar(b.info(x).type, HUGE_VAL);
  if (up && down) return {b.binary("equal", b.unary("abs", x), bound)};
  if (!up && !down) return {b.binary("and", b.binary("equal", x, bound), b.unary("not", b.binary("equal", x, bound)))};
  return {b.binary("equal", up ? x : b.unary("neg", x), bound)};
}

Results bit_shift(Node& n) {
  const std::string direction = n.text_attribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") Node::fail("direction \"" + direction + "\"");
  return {n.b.binary(direction == "LEFT" ? "shift_left" : "shift_right", n.in(0), n.in(1))};
}

constexpr Handler kMathHandlers[] = {
    {"Abs", 1, 1, plain, "abs"},
    {"Acos", 7, 1, plain, "acos"},
    {"Acosh", 9, 1, plain, "acosh"},
    {"Add", 1, 2, arithmetic, "add"},
    {"And", 1, 2, compare, "and"},
    {"Asin", 7, 1, plain, "asin"},
    {"Asinh", 9, 1, plain, "asinh"},
    {"Atan", 7, 1, plain, "atan"},
    {"Atanh", 9, 1, plain, "atanh"},
    {"BitShift", 11, 2, bit_shift},
    {"BitwiseAnd", 18, 2, plain, "bit_and"},
    {"BitwiseNot", 18, 1, plain, "bit_not"},
    {"BitwiseOr", 18, 2, plain, "bit_or"},
    {"BitwiseXor", 18, 2, plain, "bit_xor"},
    {"Ceil", 1, 1, plain, "ceil"},
    {"Celu", 12, 1, celu},
    {"Clip", 1, 3, clip},
    {"Cos", 7, 1, plain, "cos"},
    {"Cosh", 9, 1, plain, "cosh"},
    {"Div", 1, 2, arithmetic, "div"},
    {"Elu", 1, 1, elu},
    {"Equal", 1, 2, compare, "equal"},
    {"Erf", 9, 1, plain, "erf"},
    {"Exp", 1, 1, plain, "exp"},
    {"Floor", 1, 1, plain, "floor"},
    {"Gelu", 20, 1, gelu},
    {"Greater", 1, 2, compare, "greater"},
    {"GreaterOrEqual", 12, 2, compare, "greater_equal"},
    {"HardSigmoid", 1, 1, hard_sigmoid},
    {"HardSwish", 14, 1, hard_swish},
    {"IsInf", 10, 1, is_inf},
    {"IsNaN", 9, 1, plain, "is_nan"},
    {"LeakyRelu", 1, 1, leaky_relu},
    {"Less", 1, 2, compare, "less"},
    {"LessOrEqual", 12, 2, compare, "less_equal"},
    {"Log", 1, 1, plain, "log"},
    {"Max", 1, kMany, fold, "max"},
    {"Mean", 1, kMany, mean, "add"},
    {"Min", 1, kMany, fold, "min"},
    {"Mish", 18, 1, mish},
    {"Mod", 10, 2, modulo},
    {"Mul", 1, 2, arithmetic, "mul"},
    {"Neg", 1, 1, plain, "neg"},
    {"Not", 1, 1, plain, "not"},
    {"Or", 1, 2, compare, "or"},
    {"PRelu", 1, 2, prelu},
    {"Pow", 1, 2, power},
    {"Reciprocal", 1, 1, plain, "reciprocal"},
    {"Relu", 1, 1, plain, "relu"},
    {"Round", 11, 1, plain, "round"},
    {"Selu", 1, 1, selu},
    {"Shrink", 9, 1, shrink},
    {"Sigmoid", 1, 1, plain, "sigmoid"},
    {"Sign", 9, 1, plain, "sign"},
    {"Sin", 7, 1, plain, "sin"},
    {"Sinh", 9, 1, plain, "sinh"},
    {"Softplus", 1, 1, plain, "softplus"},
    {"Softsign", 1, 1, softsign},
    {"Sqrt", 1, 1, plain, "sqrt"},
    {"Sub", 1, 2, arithmetic, "sub"},
    {"Sum", 1, kMany, fold, "add"},
    {"Swish", 24, 1, swish},
    {"Tan", 7, 1, plain, "tan"},
    {"Tanh", 1, 1, plain, "tanh"},
    {"ThresholdedRelu", 10, 1, thresholded_relu},
    {"Xor", 1, 2, compare, "xor"},
};

}  // namespace

std::span<const Handler> math_handlers() { return kMathHandlers; }

}  // namespace superstep::onnx_import
