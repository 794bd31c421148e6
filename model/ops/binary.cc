// SPDX-License-Identifier: Apache-2.0
// Elementwise functions of two and three operands, which broadcast as in NumPy.
#include <cmath>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"

namespace superstep::ops {

namespace {

struct Add {
  static auto of(auto a, auto b) { return a + b; }
};
struct Sub {
  static auto of(auto a, auto b) { return a - b; }
};
struct Mul {
  static auto of(auto a, auto b) { return a * b; }
};
struct Max {
  static auto of(auto a, auto b) { return a != a ? a : b > a || b != b ? b : a; }
};
struct Min {
  static auto of(auto a, auto b) { return a != a ? a : b < a || b != b ? b : a; }
};
struct Equal {
  static auto of(auto a, auto b) { return a == b; }
};
struct NotEqual {
  static auto of(auto a, auto b) { return a != b; }
};
struct Less {
  static auto of(auto a, auto b) { return a < b; }
};
struct LessEqual {
  static auto of(auto a, auto b) { return a <= b; }
};
struct Greater {
  static auto of(auto a, auto b) { return a > b; }
};
struct GreaterEqual {
  static auto of(auto a, auto b) { return a >= b; }
};
struct And {
  static auto of(auto a, auto b) { return (a != 0) & (b != 0); }
};
struct Or {
  static auto of(auto a, auto b) { return (a != 0) | (b != 0); }
};
struct Xor {
  static auto of(auto a, auto b) { return (a != 0) != (b != 0); }
};
struct ReluGrad {
  static auto of(auto y, auto dy) { return y > 0 ? dy : decltype(dy){0}; }
};
// Integers wrap around; a negative power is that of a real number, truncated.
struct IntegerPow {
  static std::int64_t of(std::int64_t a, std::int64_t e) {
    if (e < 0) return a == 1 ? 1 : a == -1 ? (e % 2 == 0 ? 1 : -1) : 0;
    std::uint64_t result = 1;
    for (auto base = static_cast<std::uint64_t>(a); e > 0; e >>= 1, base *= base) {
      if (e & 1) result *= base;
    }
    return static_cast<std::int64_t>(result);
  }
};
double f_pow(double a, double b) { return std::pow(a, b); }
double f_fmod(double a, double b) { return b == 0 ? std::nan("") : std::fmod(a, b); }
double f_mod(double a, double b) {  // the sign of b, as Python
  const double rest = f_fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <double (*F)(double, double)>
void double_row_of_two(const OpCall&, std::span<const double* const> in, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = F(in[0][i], in[1][i]);
}
template <double (*F)(double, double)>
using InDoubleOfTwo = RowKernel<double_row_of_two<F>>;

// Integers wrap around.
std::uint64_t bits(std::int64_t a) { return static_cast<std::uint64_t>(a); }
struct WrapAdd {
  static auto of(std::int64_t a, std::int64_t b) { return bits(a) + bits(b); }
};
struct WrapSub {
  static auto of(std::int64_t a, std::int64_t b) { return bits(a) - bits(b); }
};
struct WrapMul {
  static auto of(std::int64_t a, std::int64_t b) { return bits(a) * bits(b); }
};
// Of int64 or uint64. The least number by -1 would overflow.
template <class T>
bool is_minus_one(T b) {
  return std::is_signed_v<T> && b == static_cast<T>(-1);
}
struct IntegerRest {  // of a / b truncated; 0 where b is 0
  template <class T>
  static T of(T a, T b) {
    return b == 0 || is_minus_one(b) ? 0 : a % b;
  }
};
struct IntegerMod {  // the sign of b, as Python
  template <class T>
  static T of(T a, T b) {
    const T rest = IntegerRest::of(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct IntegerDiv {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return 0;
    return is_minus_one(b) ? static_cast<T>(0 - bits(static_cast<std::int64_t>(a))) : a / b;
  }
};
struct BitAnd {
  static auto of(std::int64_t a, std::int64_t b) { return a & b; }
};
struct BitOr {
  static auto of(std::int64_t a, std::int64_t b) { return a | b; }
};
struct BitXor {
  static auto of(std::int64_t a, std::int64_t b) { return a ^ b; }
};
// Shifts by at least the width of the type leave nothing; unsigned operands, whose bits are kept to their width.
struct ShiftLeft {
  static std::uint64_t of(std::int64_t a, std::int64_t b) { return bits(b) > 63 ? 0 : bits(a) << b; }
};
struct ShiftRight {
  static std::uint64_t of(std::int64_t a, std::int64_t b) { return bits(b) > 63 ? 0 : bits(a) >> b; }
};

template <class F, numerics::Functions::MapTwo numerics::Functions::*Function, class Wrap>
using ArithmeticRows = RowKernel<binary_row<F, double>, function_row_of_two<Function>, binary_row<Wrap, std::int64_t>>;

template <double (*F)(double, double), class I>
using RestRows = RowKernel<double_row_of_two<F>, nullptr, binary_row<I, std::int64_t>, binary_row<I, std::uint64_t>>;
template <class I>
using BitRows = RowKernel<nullptr, nullptr, binary_row<I, std::int64_t>>;

template <class T>
void div_row(const OpCall& call, std::span<const T* const> in, T* out, std::int64_t n) {
  const T *x = in[0], *y = in[1];
  if (is_integer(call.out[0].type)) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = y[i] == 0 ? T{0} : std::trunc(x[i] / y[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] / y[i];
  }
}

// Integers are truncated, so quotients of parts do not add up.
Space div_space(const OpCall& call) { return elementwise_space(call, is_float(call.out[0].type) ? 1u : 0u); }

// The type of the first floating operand, else of the first.
DType result_type(const OpCall& call, std::size_t from = 0) {
  for (std::size_t i = from; i < call.in.size(); ++i) {
    if (is_float(call.in[i].type)) return call.in[i].type;
  }
  return call.in[from].type;
}

std::vector<TensorInfo> infer_binary(const OpCall& call) {
  return {{result_type(call), broadcast(call.in[0].shape, call.in[1].shape)}};
}

std::vector<TensorInfo> infer_comparison(const OpCall& call) {
  return {{DType::boolean, broadcast(call.in[0].shape, call.in[1].shape)}};
}

std::vector<TensorInfo> infer_bits(const OpCall& call) {
  const DType type = call.in[0].type;
  if (!is_integer(type) || type == DType::boolean || call.in[1].type != type)
    throw Error("", std::string(call.def.name) + " of " + std::string(name_of(type)) + " and " +
                        std::string(name_of(call.in[1].type)) + ", expected integers of one type");
  return infer_binary(call);
}

using Gradient = std::vector<TensorId> (*)(GraphBuilder&, OpId, std::span<const TensorId>);

// Sums `gradient` to operand `i`, or nothing when nobody wants it.
template <class MakeGradient>
TensorId operand_gradient(const Chain& c, std::size_t i, MakeGradient make) {
  if (!c.b.wants(c.in[i])) return {};
  return to_operand(c.b, make(), c.in[i], c.y);
}

std::vector<TensorId> add_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  return {operand_gradient(c, 0, [&] { return c.dy; }), operand_gradient(c, 1, [&] { return c.dy; })};
}

std::vector<TensorId> sub_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  std::vector<TensorId> grads = {operand_gradient(c, 0, [&] { return c.dy; }), {}};
  const TensorId sum = operand_gradient(c, 1, [&] { return c.dy; });  // negated when it is small
  if (sum.valid()) grads[1] = b.unary("neg", sum);
  return grads;
}

std::vector<TensorId> mul_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  return {operand_gradient(c, 0, [&] { return times(b, c.dy, c.in[1], c.in[0]); }),
          operand_gradient(c, 1, [&] { return times(b, c.dy, c.in[0], c.in[1]); })};
}

// y = a / d:  da = dy / d, dd = -sum(dy y) / d
std::vector<TensorId> div_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  const TensorId da =
      operand_gradient(c, 0, [&] { return b.binary("div", b.cast(c.dy, b.info(c.in[0]).type), c.in[1]); });
  TensorId dd = operand_gradient(c, 1, [&] { return times(b, c.dy, c.y, c.in[1]); });
  if (dd.valid()) dd = b.unary("neg", b.binary("div", dd, c.in[1]));
  return {da, dd};
}

// y = a ^ e:  da = dy e a^(e-1), de = dy y log(a)
std::vector<TensorId> pow_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  return {
      operand_gradient(c, 0,
                       [&] {
                         const TensorId power = b.binary("pow", c.in[0], b.shift(c.in[1], -1));
                         return times(b, c.dy, b.binary("mul", power, c.in[1]), c.in[0]);
                       }),
      operand_gradient(c, 1, [&] { return times(b, c.dy, b.binary("mul", c.y, b.unary("log", c.in[0])), c.in[1]); })};
}

// The gradient goes to the operand that was taken, to the first where they are equal.
std::vector<TensorId> extremum_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  const bool is_max = c.op.def->name == "max";
  const auto part = [&](std::size_t i, std::string_view compare) {
    return operand_gradient(c, i, [&] {
      const DType type = b.info(c.in[i]).type;
      const TensorId taken = b.binary(compare, c.in[0], c.in[1]);
      return b.one("where", {taken, b.cast(c.dy, type), b.scalar(type, 0)});
    });
  };
  const TensorId first = part(0, is_max ? "greater_equal" : "less_equal");
  return {first, part(1, is_max ? "less" : "greater")};
}

template <class R, LoopCost C, std::uint32_t Linear = 0>
OpDef binary(std::string_view name, Gradient gradient) {
  OpDef def;
  def.name = name;
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer_binary;
  def.space = elementwise_space<Linear>;
  def.kernel = R::run;
  def.cycles = binary_cycles<C>;
  def.gradient = gradient;
  def.broadcast_gradient = true;
  return def;
}

template <class F>
OpDef comparison(std::string_view name) {
  // As max and min; the vendor's comparisons are not in the table (estimated).
  OpDef def = binary<BinaryRows<F>, LoopCost{26, 4, 3}>(name, no_gradient);
  def.infer = infer_comparison;
  return def;
}

template <class F>
OpDef of_bits(std::string_view name) {
  OpDef def = binary<BitRows<F>, LoopCost{26, 3, 3}>(name, no_gradient);  // as a sum
  def.infer = infer_bits;
  return def;
}

std::vector<OpDef> make_binary() {
  std::vector<OpDef> defs = {
      binary<ArithmeticRows<Add, &numerics::Functions::add, WrapAdd>, LoopCost{26, 3, 3}, 3>("add", add_gradient),
      binary<ArithmeticRows<Sub, &numerics::Functions::subtract, WrapSub>, LoopCost{26, 3, 3}, 3>("sub", sub_gradient),
      binary<ArithmeticRows<Mul, &numerics::Functions::multiply, WrapMul>, LoopCost{26, 3, 3}, 1>("mul", mul_gradient),
      binary<RowKernel<div_row<double>, div_row<float>, binary_row<IntegerDiv, std::int64_t>,
                       binary_row<IntegerDiv, std::uint64_t>>,
             LoopCost{26, 21, 10}>("div", div_gradient),
      binary<BinaryRows<Max>, LoopCost{26, 4, 3}>("max", extremum_gradient),
      binary<BinaryRows<Min>, LoopCost{26, 4, 3}>("min", extremum_gradient),
      binary<RowKernel<double_row_of_two<f_pow>, nullptr, binary_row<IntegerPow, std::int64_t>>,
             LoopCost{26, 240, 120}>("pow", pow_gradient),  // library code (estimated)
      binary<RestRows<f_mod, IntegerMod>, LoopCost{26, 120, 60}>("mod", nullptr),
      binary<RestRows<f_fmod, IntegerRest>, LoopCost{26, 120, 60}>("fmod", nullptr),
      comparison<Equal>("equal"),
      comparison<NotEqual>("not_equal"),
      comparison<Less>("less"),
      comparison<LessEqual>("less_equal"),
      comparison<Greater>("greater"),
      comparison<GreaterEqual>("greater_equal"),
      comparison<And>("and"),
      comparison<Or>("or"),
      comparison<Xor>("xor"),
      of_bits<BitAnd>("bit_and"),
      of_bits<BitOr>("bit_or"),
      of_bits<BitXor>("bit_xor"),
      of_bits<ShiftLeft>("shift_left"),
      of_bits<ShiftRight>("shift_right"),
  };
  for (OpDef& def : defs) {
    if (def.name == "add") def.joins = Joins::sum;
    if (def.name == "mul") {
      def.joins = Joins::product;
      def.linear_in = linear_in_one;
      def.weight_roles = {WeightRole::factor};
    }
    if (def.name == "div") {
      def.space = div_space;
      def.weight_roles = {WeightRole::summand, WeightRole::factor};
    }
  }
  return defs;
}

// relu_grad(y, dy): nonlinearity gradient, 3 per 64 bits.
OpDef make_relu_grad() {
  OpDef def = binary<RowKernel<binary_row<ReluGrad, double>, function_row_of_two<&numerics::Functions::relu_slope>>,
                     LoopCost{25, 3, 3}, 2>("relu_grad", nullptr);
  def.broadcast_gradient = false;
  return def;
}

// axpby: alpha a + beta b, the update of a moment or a weight.

// In double for floats too.
template <class T>
void axpby_row(const OpCall& call, std::span<const T* const> in, T* out, std::int64_t n) {
  const double alpha = call.attrs.number("alpha"), beta = call.attrs.number("beta");
  const T *x = in[0], *y = in[1];
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(alpha * static_cast<double>(x[i]) + beta * static_cast<double>(y[i]));
}

std::vector<TensorId> axpby_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  const double alpha = c.op.attrs.number("alpha"), beta = c.op.attrs.number("beta");
  return {operand_gradient(c, 0, [&] { return b.scale(c.dy, alpha); }),
          operand_gradient(c, 1, [&] { return b.scale(c.dy, beta); })};
}

OpDef make_axpby() {
  OpDef def = binary<RowKernel<axpby_row<double>, axpby_row<float>>, LoopCost{24, 3, 3}, 3>(
      "axpby", axpby_gradient);  // scaledAdd, same type
  def.attrs = {{"alpha", 1.0}, {"beta", 1.0}};
  return def;
}

// trust_ratio(|w|, |u|) = eta |w| / (|u| + decay |w|), and 1 where a norm is 0: LAMB (eta 1, decay 0), LARS.

void trust_ratio_row(const OpCall& call, std::span<const double* const> in, double* out, std::int64_t n) {
  const double eta = call.attrs.number("eta"), decay = call.attrs.number("decay");
  for (std::int64_t i = 0; i < n; ++i) {
    const double w = in[0][i], u = in[1][i];
    out[i] = w > 0 && u > 0 ? eta * w / (u + decay * w) : 1;
  }
}

OpDef make_trust_ratio() {
  OpDef def =
      binary<RowKernel<trust_ratio_row>, LoopCost{26, 48, 24}>("trust_ratio", nullptr);  // estimated; of scalars
  def.attrs = {{"eta", 1.0}, {"decay", 0.0}};
  def.broadcast_gradient = false;
  return def;
}

// where(condition, a, b)

std::vector<TensorInfo> infer_where(const OpCall& call) {
  const Shape values = broadcast(call.in[1].shape, call.in[2].shape);
  return {{result_type(call, 1), broadcast(call.in[0].shape, values)}};
}

template <class T>
void where_row(const OpCall&, std::span<const T* const> in, T* out, std::int64_t n) {
  const T *condition = in[0], *x = in[1], *y = in[2];
  for (std::int64_t i = 0; i < n; ++i) out[i] = condition[i] != 0 ? x[i] : y[i];
}

Cycles where_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const auto [rows, columns] = rows_of(extents);
  return flat_loop(costs, rows * columns, call.out[0].type, {29, 5, 4});  // estimated: one load more than max
}

std::vector<TensorId> where_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain c(b, op, out_grads);
  const auto part = [&](std::size_t i) {
    return operand_gradient(c, i, [&] {
      const DType type = b.info(c.in[i]).type;
      const TensorId zero = b.scalar(type, 0), dy = b.cast(c.dy, type);
      return i == 1 ? b.one("where", {c.in[0], dy, zero}) : b.one("where", {c.in[0], zero, dy});
    });
  };
  const TensorId first = part(1);
  return {TensorId{}, first, part(2)};
}

OpDef make_where() {
  OpDef def;
  def.name = "where";
  def.min_inputs = def.max_inputs = 3;
  def.infer = infer_where;
  def.space = elementwise_space<6>;
  def.kernel = RowKernel<where_row<double>, where_row<float>, where_row<std::int64_t>>::run;
  def.cycles = where_cycles;
  def.gradient = where_gradient;
  def.broadcast_gradient = true;
  return def;
}

}  // namespace

std::vector<const OpDef*> binary_ops() {
  static const std::vector<OpDef> defs = make_binary();
  static const OpDef others[] = {make_relu_grad(), make_axpby(), make_trust_ratio(), make_where()};
  std::vector<const OpDef*> all;
  for (const OpDef& def : defs) all.push_back(&def);
  for (const OpDef& def : others) all.push_back(&def);
  return all;
}

}  // namespace superstep::ops
