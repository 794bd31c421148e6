// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of one operand.
#include <bit>
#include <cmath>
#include <concepts>
#include <numbers>
#include <type_traits>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

struct Relu {
  static auto of(auto x) { return x > 0 || x != x ? x : decltype(x){0}; }
};
struct Sqrt {
  static auto of(auto x) { return std::sqrt(x); }
};
// Integers wrap around: the least one is its own negative.
std::int64_t negative(std::int64_t x) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)); }
std::uint64_t negative(std::uint64_t x) { return 0 - x; }
template <std::floating_point T>
T negative(T x) {
  return -x;
}
struct Neg {
  static auto of(auto x) { return negative(x); }
};
struct Abs {
  template <class T>
  static T of(T x) {
    if constexpr (std::is_floating_point_v<T>) return std::abs(x);
    return x < 0 ? negative(x) : x;
  }
};
struct Sign {
  static auto of(auto x) { return x > 0 ? decltype(x){1} : x < 0 ? static_cast<decltype(x)>(-1) : x; }
};
struct Reciprocal {
  static auto of(auto x) { return 1 / x; }
};
struct Square {
  static auto of(auto x) { return x * x; }
};
struct Not {
  static auto of(auto x) { return x == 0; }
};
struct BitNot {
  static auto of(std::int64_t x) { return ~x; }
};
struct IsNan {
  static auto of(auto x) { return x != x; }
};

// The functions whose standard overloads have no single address, and those of neural networks.
double f_exp(double x) { return std::exp(x); }
double f_expm1(double x) { return std::expm1(x); }
double f_log(double x) { return std::log(x); }
double f_rsqrt(double x) { return 1 / std::sqrt(x); }
double f_tanh(double x) { return std::tanh(x); }
double f_erf(double x) { return std::erf(x); }
double f_sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double f_softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double f_sin(double x) { return std::sin(x); }
double f_cos(double x) { return std::cos(x); }
double f_tan(double x) { return std::tan(x); }
double f_asin(double x) { return std::asin(x); }
double f_acos(double x) { return std::acos(x); }
double f_atan(double x) { return std::atan(x); }
double f_sinh(double x) { return std::sinh(x); }
double f_cosh(double x) { return std::cosh(x); }
double f_asinh(double x) { return std::asinh(x); }
double f_acosh(double x) { return std::acosh(x); }
double f_atanh(double x) { return std::atanh(x); }
double f_floor(double x) { return std::floor(x); }
double f_ceil(double x) { return std::ceil(x); }
// The nearest bfloat16, which is the upper half of a float, to even.
double f_bfloat16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  if (x != x) return x;
  return static_cast<double>(std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u));
}
double f_round(double x) { return std::nearbyint(x); }  // to even, as ONNX

TensorId g_exp(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) { return times(b, dy, y, x); }
TensorId g_expm1(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) { return times(b, dy, b.shift(y, 1), x); }
TensorId divided(GraphBuilder& b, TensorId dy, TensorId x) { return b.binary("div", b.cast(dy, b.info(x).type), x); }
TensorId g_log(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return divided(b, dy, x); }
TensorId g_sqrt(GraphBuilder& b, TensorId, TensorId y, TensorId dy) { return b.scale(divided(b, dy, y), 0.5); }
TensorId g_rsqrt(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) {
  const TensorId cube = b.binary("mul", b.unary("square", y), y);
  return times(b, dy, b.scale(cube, -0.5), x);
}
// 1 plus or minus a square.
TensorId one_plus(GraphBuilder& b, TensorId square, double sign) {
  Attributes attrs;
  attrs.set("scale", sign);
  attrs.set("shift", 1.0);
  return b.one("affine", {square}, std::move(attrs));
}
TensorId g_tanh(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) {
  return times(b, dy, one_plus(b, b.unary("square", y), -1), x);
}
TensorId g_sigmoid(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) {
  return times(b, dy, b.binary("sub", y, b.unary("square", y)), x);
}
TensorId g_erf(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  const TensorId bell = b.unary("exp", b.unary("neg", b.unary("square", x)));
  return times(b, dy, b.scale(bell, 2 / std::sqrt(std::numbers::pi)), x);
}
TensorId g_relu(GraphBuilder& b, TensorId, TensorId y, TensorId dy) { return b.one("relu_grad", {y, dy}); }
TensorId g_softplus(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return times(b, dy, b.unary("sigmoid", x), x);
}
TensorId g_bfloat16(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return b.cast(dy, b.info(x).type); }
TensorId g_neg(GraphBuilder& b, TensorId, TensorId, TensorId dy) { return b.unary("neg", dy); }
TensorId g_abs(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return times(b, dy, b.unary("sign", x), x); }
TensorId g_reciprocal(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) {
  return times(b, dy, b.unary("neg", b.unary("square", y)), x);
}
TensorId g_square(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return b.scale(times(b, dy, x, x), 2); }
TensorId g_sin(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return times(b, dy, b.unary("cos", x), x); }
TensorId g_cos(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return b.unary("neg", times(b, dy, b.unary("sin", x), x));
}
TensorId g_atan(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return divided(b, dy, b.shift(b.unary("square", x), 1));
}

TensorId g_tan(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) {
  return times(b, dy, one_plus(b, b.unary("square", y), 1), x);
}
TensorId g_asin(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return times(b, dy, b.unary("rsqrt", one_plus(b, b.unary("square", x), -1)), x);
}
TensorId g_acos(GraphBuilder& b, TensorId x, TensorId y, TensorId dy) { return b.unary("neg", g_asin(b, x, y, dy)); }
TensorId g_sinh(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return times(b, dy, b.unary("cosh", x), x); }
TensorId g_cosh(GraphBuilder& b, TensorId x, TensorId, TensorId dy) { return times(b, dy, b.unary("sinh", x), x); }
TensorId g_asinh(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return times(b, dy, b.unary("rsqrt", one_plus(b, b.unary("square", x), 1)), x);
}
TensorId g_acosh(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return times(b, dy, b.unary("rsqrt", b.shift(b.unary("square", x), -1)), x);
}
TensorId g_atanh(GraphBuilder& b, TensorId x, TensorId, TensorId dy) {
  return divided(b, dy, one_plus(b, b.unary("square", x), -1));
}

std::vector<TensorInfo> infer_bit_not(const OpCall& call) {
  const DType type = call.in[0].type;
  if (!is_integer(type) || type == DType::boolean)
    throw Error("", "bit_not of " + std::string(name_of(type)) + ", expected integers");
  return same_as_first(call);
}
std::vector<TensorInfo> infer_truth(const OpCall& call) { return {{DType::boolean, call.in[0].shape}}; }

// Loop cycles: facts/hardware.md section 3, "unary op": 20 + 6 (17 + loop) with the supervisor's 20
// in the launch of all vertices; the costs of functions not listed there are (c + 4) per element.
template <class R, LoopCost C, std::uint32_t Linear = 0>
OpDef unary(std::string_view name, std::vector<TensorId> (*gradient)(GraphBuilder&, OpId, std::span<const TensorId>)) {
  OpDef def;
  def.name = name;
  def.infer = same_as_first;
  def.space = elementwise_space<Linear>;
  def.kernel = R::run;
  def.cycles = flat_cycles<C>;
  def.gradient = gradient;
  def.broadcast_gradient = true;
  return def;
}

template <double (*F)(double)>
using InDouble = RowKernel<double_row<F>>;

template <class F>
using IntegerRows =
    RowKernel<unary_row<F, double>, unary_row<F, float>, unary_row<F, std::int64_t>, unary_row<F, std::uint64_t>>;

constexpr LoopCost kSimple{17, 2, 2};          // neg, abs, square: one load-store pair more than a copy
constexpr LoopCost kScalarMath{17, 240, 120};  // C++ library code per element (estimated; sin, cos on floats: 2300)
constexpr LoopCost kTrigonometry{17, 4600, 4600};

std::vector<OpDef> make_unary() {
  std::vector<OpDef> defs = {
      unary<FunctionRows<f_exp, &numerics::Functions::exp>, LoopCost{33, 4, 6}>("exp", unary_gradient<g_exp>),
      unary<InDouble<f_expm1>, kScalarMath>("expm1", unary_gradient<g_expm1>),
      unary<FunctionRows<f_log, &numerics::Functions::log>, LoopCost{17, 4, 12}>("log", unary_gradient<g_log>),
      unary<UnaryRows<Sqrt>, LoopCost{17, 23, 10}>("sqrt", unary_gradient<g_sqrt>),
      unary<FunctionRows<f_rsqrt, &numerics::Functions::rsqrt>, LoopCost{17, 19, 8}>("rsqrt", unary_gradient<g_rsqrt>),
      unary<FunctionRows<f_tanh, &numerics::Functions::tanh>, LoopCost{26, 2, 10}>("tanh", unary_gradient<g_tanh>),
      unary<FunctionRows<f_sigmoid, &numerics::Functions::sigmoid>, LoopCost{26, 4, 10}>("sigmoid",
                                                                                         unary_gradient<g_sigmoid>),
      unary<FunctionRows<f_erf, &numerics::Functions::erf>, LoopCost{17, 52, 44}>(
          "erf", unary_gradient<g_erf>),  // 13 per half, 22 per float
      unary<RowKernel<unary_row<Relu, double>, function_row<&numerics::Functions::relu>, unary_row<Relu, std::int64_t>,
                      unary_row<Relu, std::uint64_t>>,
            LoopCost{26, 2, 2}>("relu", unary_gradient<g_relu>),
      unary<InDouble<f_softplus>, kScalarMath>("softplus", unary_gradient<g_softplus>),
      unary<IntegerRows<Neg>, kSimple, 1>("neg", unary_gradient<g_neg>),
      unary<IntegerRows<Abs>, kSimple>("abs", unary_gradient<g_abs>),
      unary<IntegerRows<Sign>, LoopCost{17, 6, 6}>("sign", no_gradient),
      unary<UnaryRows<Reciprocal>, LoopCost{17, 15, 6}>("reciprocal", unary_gradient<g_reciprocal>),
      unary<UnaryRows<Square>, kSimple>("square", unary_gradient<g_square>),
      unary<InDouble<f_sin>, kTrigonometry>("sin", unary_gradient<g_sin>),
      unary<InDouble<f_cos>, kTrigonometry>("cos", unary_gradient<g_cos>),
      unary<InDouble<f_tan>, kTrigonometry>("tan", unary_gradient<g_tan>),
      unary<InDouble<f_asin>, kScalarMath>("asin", unary_gradient<g_asin>),
      unary<InDouble<f_acos>, kScalarMath>("acos", unary_gradient<g_acos>),
      unary<InDouble<f_atan>, kScalarMath>("atan", unary_gradient<g_atan>),
      unary<InDouble<f_sinh>, kScalarMath>("sinh", unary_gradient<g_sinh>),
      unary<InDouble<f_cosh>, kScalarMath>("cosh", unary_gradient<g_cosh>),
      unary<InDouble<f_asinh>, kScalarMath>("asinh", unary_gradient<g_asinh>),
      unary<InDouble<f_acosh>, kScalarMath>("acosh", unary_gradient<g_acosh>),
      unary<InDouble<f_atanh>, kScalarMath>("atanh", unary_gradient<g_atanh>),
      unary<InDouble<f_floor>, LoopCost{17, 4, 4}>("floor", no_gradient),
      unary<InDouble<f_ceil>, LoopCost{17, 4, 4}>("ceil", no_gradient),
      unary<InDouble<f_round>, LoopCost{17, 4, 4}>("round", no_gradient),
      unary<InDouble<f_bfloat16>, kSimple>("bfloat16", unary_gradient<g_bfloat16>),
      unary<RowKernel<nullptr, nullptr, unary_row<BitNot, std::int64_t>>, kSimple>("bit_not", no_gradient),
      unary<UnaryRows<Not>, LoopCost{17, 4, 4}>("not", no_gradient),
      unary<UnaryRows<IsNan>, LoopCost{17, 4, 4}>("is_nan", no_gradient),
  };
  const auto is_one_of = [](const OpDef& def, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), def.name) != names.end();
  };
  for (OpDef& def : defs) {
    if (is_one_of(def, {"not", "is_nan"})) def.infer = infer_truth;
    if (def.name == "bit_not") def.infer = infer_bit_not;
    if (is_one_of(def, {"sqrt", "rsqrt", "reciprocal", "log"})) def.weight_roles = {WeightRole::factor};
    def.activation = is_one_of(def, {"relu", "tanh", "sigmoid", "softplus"});
  }
  return defs;
}

// affine: x * scale + shift.

// In double for floats too.
template <class T>
void affine_row(const OpCall& call, std::span<const T* const> in, T* out, std::int64_t n) {
  const double scale = call.attrs.number("scale"), shift = call.attrs.number("shift");
  const T* x = in[0];
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<double>(x[i]) * scale + shift);
}

Space affine_space(const OpCall& call) { return elementwise_space(call, call.attrs.number("shift") == 0 ? 1u : 0u); }

std::vector<TensorId> affine_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const double scale = b.graph().ops[op].attrs.number("scale");
  return {b.scale(out_grads[0], scale)};
}

OpDef make_affine() {
  OpDef def;
  def.name = "affine";
  def.weight_roles = {WeightRole::passed_on};
  def.attrs = {{"scale", 1.0}, {"shift", 0.0}};
  def.infer = same_as_first;
  def.space = affine_space;
  def.kernel = RowKernel<affine_row<double>, affine_row<float>>::run;
  def.cycles = flat_cycles<LoopCost{20, 2, 2}>;  // broadcast scalar
  def.gradient = affine_gradient;
  def.broadcast_gradient = true;
  return def;
}

// cast

std::vector<TensorInfo> cast_infer(const OpCall& call) {
  return {{parse_type(call.attrs.text("type")), call.in[0].shape}};
}

template <class T>
void cast_row(const OpCall&, std::span<const T* const> in, T* out, std::int64_t n) {
  std::copy(in[0], in[0] + n, out);
}

// Only a widening cast keeps sums of parts: a narrowing one rounds each part.
Space cast_space(const OpCall& call) {
  const DType from = call.in[0].type, to = call.out[0].type;
  return elementwise_space(call, is_float(from) && is_float(to) && size_of(to) >= size_of(from) ? 1u : 0u);
}

bool cast_is_linear(const OpCall& call, std::uint32_t) { return is_float(call.out[0].type); }

Cycles cast_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const auto [rows, columns] = rows_of(extents);
  const bool widening = size_of(call.out[0].type) > size_of(call.in[0].type);
  // half to float: 18 + 19 + n / 2; float to half: 37 + 2 n / 4
  return flat_loop(costs, rows * columns, DType::fp16, {37, 2, widening ? 1 : 2});
}

std::vector<TensorId> cast_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const TensorId x = b.graph().ops[op].inputs[0];
  if (!b.wants(x)) return {TensorId{}};
  return {b.cast(out_grads[0], b.info(x).type)};
}

OpDef make_cast() {
  OpDef def;
  def.name = "cast";
  def.weight_roles = {WeightRole::passed_on};
  def.linear_in = cast_is_linear;
  def.attrs = {{"type", std::string("fp32")}};
  def.infer = cast_infer;
  def.space = cast_space;
  def.kernel = RowKernel<cast_row<double>, cast_row<float>, cast_row<std::int64_t>>::run;
  def.cycles = cast_cycles;
  def.gradient = cast_gradient;
  def.broadcast_gradient = true;
  return def;
}

// gelu: x Phi(x), by the tanh form of the vendor's kernel or exactly.

bool tanh_form(const OpCall& call) { return call.attrs.text("approximate") == "tanh"; }
constexpr double kGeluRoot = 0.79788456080286535588;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

void gelu_row(const OpCall& call, std::span<const double* const> in, double* out, std::int64_t n) {
  const bool approximate = tanh_form(call);
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = in[0][i];
    const double phi =
        approximate ? std::tanh(kGeluRoot * (x + kGeluCubic * x * x * x)) : std::erf(x / std::numbers::sqrt2);
    out[i] = 0.5 * x * (1 + phi);
  }
}

void gelu_grad_row(const OpCall& call, std::span<const double* const> in, double* out, std::int64_t n) {
  const bool approximate = tanh_form(call);
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = in[0][i];
    double slope;
    if (approximate) {
      const double t = std::tanh(kGeluRoot * (x + kGeluCubic * x * x * x));
      slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kGeluRoot * (1 + 3 * kGeluCubic * x * x);
    } else {
      slope =
          0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    }
    out[i] = slope * in[1][i];
  }
}

void gelu_floats(const OpCall& call, std::span<const float* const> in, float* out, std::int64_t n) {
  const numerics::Functions& f = numerics::functions();
  (tanh_form(call) ? f.gelu_tanh : f.gelu)(in[0], out, n);
}

void gelu_grad_floats(const OpCall& call, std::span<const float* const> in, float* out, std::int64_t n) {
  const numerics::Functions& f = numerics::functions();
  (tanh_form(call) ? f.gelu_tanh_slope : f.gelu_slope)(in[0], in[1], out, n);
}

Cycles gelu_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const auto [rows, columns] = rows_of(extents);
  // tanh form 5 per 4 halves, 10 per 2 floats; exact: 16 per half, 22 per float
  const LoopCost cost = tanh_form(call) ? LoopCost{30, 5, 10} : LoopCost{30, 64, 44};
  return flat_loop(costs, rows * columns, call.in[0].type, cost);
}

std::vector<TensorId> gelu_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const TensorId x = b.graph().ops[op].inputs[0];
  if (!b.wants(x)) return {TensorId{}};
  const Attributes attrs = b.graph().ops[op].attrs;
  return {b.one("gelu_grad", {x, out_grads[0]}, attrs)};
}

OpDef make_gelu() {
  OpDef def;
  def.name = "gelu";
  def.activation = true;
  def.attrs = {{"approximate", std::string("tanh")}};
  def.infer = same_as_first;
  def.space = elementwise_space<0>;
  def.kernel = RowKernel<gelu_row, gelu_floats>::run;
  def.cycles = gelu_cycles;
  def.gradient = gelu_gradient;
  def.broadcast_gradient = true;
  return def;
}

OpDef make_gelu_grad() {
  OpDef def = make_gelu();
  def.name = "gelu_grad";
  def.min_inputs = def.max_inputs = 2;
  def.space = elementwise_space<2>;
  def.kernel = RowKernel<gelu_grad_row, gelu_grad_floats>::run;
  def.gradient = nullptr;
  def.broadcast_gradient = false;
  return def;
}

// swish: x sigmoid(x), one vertex on the device (popnn's non-linearity), as is its gradient.

void swish_row(const OpCall&, std::span<const double* const> in, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = in[0][i] * f_sigmoid(in[0][i]);
}

void swish_floats(const OpCall&, std::span<const float* const> in, float* out, std::int64_t n) {
  numerics::functions().sigmoid(in[0], out, n);
  for (std::int64_t i = 0; i < n; ++i) out[i] *= in[0][i];
}

// With s = sigmoid(x): dy s (1 + x (1 - s)).
template <class T>
T swish_slope(T x, T s) {
  return s * (1 + x * (1 - s));
}

void swish_grad_row(const OpCall&, std::span<const double* const> in, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = swish_slope(in[0][i], f_sigmoid(in[0][i])) * in[1][i];
}

void swish_grad_floats(const OpCall&, std::span<const float* const> in, float* out, std::int64_t n) {
  numerics::functions().sigmoid(in[0], out, n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = swish_slope(in[0][i], out[i]) * in[1][i];
}

std::vector<TensorId> swish_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const TensorId x = b.graph().ops[op].inputs[0];
  if (!b.wants(x)) return {TensorId{}};
  return {b.one("swish_grad", {x, out_grads[0]})};
}

OpDef make_swish() {
  OpDef def;
  def.name = "swish";
  def.infer = same_as_first;
  def.space = elementwise_space<0>;
  def.kernel = RowKernel<swish_row, swish_floats>::run;
  def.cycles = flat_cycles<LoopCost{30, 5, 11}>;
  def.gradient = swish_gradient;
  def.broadcast_gradient = true;
  return def;
}

OpDef make_swish_grad() {
  OpDef def = make_swish();
  def.name = "swish_grad";
  def.min_inputs = def.max_inputs = 2;
  def.space = elementwise_space<2>;
  def.kernel = RowKernel<swish_grad_row, swish_grad_floats>::run;
  def.cycles = flat_cycles<LoopCost{25, 9, 15}>;
  def.gradient = nullptr;
  def.broadcast_gradient = false;
  return def;
}

}  // namespace

std::vector<const OpDef*> unary_ops() {
  static const std::vector<OpDef> defs = make_unary();
  static const OpDef others[] = {make_affine(),    make_cast(),  make_gelu(),
                                 make_gelu_grad(), make_swish(), make_swish_grad()};
  std::vector<const OpDef*> all;
  for (const OpDef& def : defs) all.push_back(&def);
  for (const OpDef& def : others) all.push_back(&def);
  return all;
}

}  // namespace superstep::ops
