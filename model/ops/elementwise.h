// SPDX-License-Identifier: Apache-2.0
// What the elementwise families share: one row function per op; space, broadcasting, kernels,
// cycles and the shapes of gradients follow from it.
#pragma once

#include "model/graph/builder.h"
#include "model/numerics/functions.h"
#include "model/ops/kernel.h"
#include "model/ops/space.h"
#include "model/ops/vertex.h"

namespace superstep::ops {

// Computes n results from n values of each operand.
template <class T>
using RowFunction = void (*)(const OpCall&, std::span<const T* const> in, T* out, std::int64_t n);

// A function in double, and in float for operands and results that floats hold (fp16, fp32, truth, small integers). The
// bits of fp32 results are those of double rounded once, but for functions of numerics::Functions. Without the
// latter, floats are computed in double. `in_integer`: of integers and truth alone, where results wrap around in their
// type; without it they are computed in double.
struct RowFunctions {
  RowFunction<double> in_double = nullptr;
  RowFunction<float> in_float = nullptr;
  RowFunction<std::int64_t> in_integer = nullptr;
  RowFunction<std::uint64_t> in_unsigned = nullptr;  // of uint64, where bits do not say it all; null: in_integer
};

Space elementwise_space(const OpCall& call, std::uint32_t linear);
// A NaN that is stored is the one quiet NaN.
void run_rows(const OpCall& call, const Block& block, std::span<const ConstView> in, const View& out,
              const RowFunctions& rows, const KernelContext& context);

template <std::uint32_t Linear>
Space elementwise_space(const OpCall& call) {
  return elementwise_space(call, Linear);
}

template <RowFunction<double> D, RowFunction<float> F = nullptr, RowFunction<std::int64_t> I = nullptr,
          RowFunction<std::uint64_t> U = nullptr>
struct RowKernel {
  static void run(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                  const KernelContext& context) {
    run_rows(call, block, in, out[0], {D, F, I, U}, context);
  }
};

// F is a class whose of() takes and gives a double or a float, or an integer.
template <class F, class T>
void unary_row(const OpCall&, std::span<const T* const> in, T* out, std::int64_t n) {
  const T* x = in[0];
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::of(x[i]));
}
template <class F, class T>
void binary_row(const OpCall&, std::span<const T* const> in, T* out, std::int64_t n) {
  const T *x = in[0], *y = in[1];
  for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(F::of(x[i], y[i]));
}
template <class F>
using UnaryRows = RowKernel<unary_row<F, double>, unary_row<F, float>>;
// The same for integers as well.
template <class F>
using BinaryRows =
    RowKernel<binary_row<F, double>, binary_row<F, float>, binary_row<F, std::int64_t>, binary_row<F, std::uint64_t>>;

template <double (*F)(double)>
void double_row(const OpCall&, std::span<const double* const> in, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = F(in[0][i]);
}
// One of numerics::Functions, for floats.
template <numerics::Functions::Map numerics::Functions::*Function>
void function_row(const OpCall&, std::span<const float* const> in, float* out, std::int64_t n) {
  (numerics::functions().*Function)(in[0], out, n);
}
template <numerics::Functions::MapTwo numerics::Functions::*Function>
void function_row_of_two(const OpCall&, std::span<const float* const> in, float* out, std::int64_t n) {
  (numerics::functions().*Function)(in[0], in[1], out, n);
}
template <double (*F)(double), numerics::Functions::Map numerics::Functions::*Function>
using FunctionRows = RowKernel<double_row<F>, function_row<Function>>;

// One operand, or several of the result's shape.
template <LoopCost C>
Cycles flat_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  std::int64_t elements = 1;
  for (std::int64_t e : extents) elements *= e;
  return flat_loop(costs, elements, call.in[0].type, C);
}

// Two operands: `cost` where both have the result's shape, one cycle less per vector where one is
// broadcast, and a row overhead where it is not a scalar.
Cycles binary_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents,
                     const LoopCost& cost);
template <LoopCost C>
Cycles binary_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  return binary_cycles(costs, call, extents, C);
}

// Gradients of results may come in any shape that broadcasts to the result's. Sums such a gradient
// to what `operand` of a broadcasting op gets; what is returned may again only broadcast to its shape.
TensorId to_operand(GraphBuilder& b, TensorId gradient, TensorId operand, TensorId result);

// gradient * factor, in the type of `like`.
TensorId times(GraphBuilder& b, TensorId gradient, TensorId factor, TensorId like);

// The pieces of a gradient of a one-result op.
struct Chain {
  GraphBuilder& b;
  const Op& op;  // valid until an op is added
  std::vector<TensorId> in;
  TensorId y, dy;
  Chain(GraphBuilder& builder, OpId id, std::span<const TensorId> out_grads)
      : b(builder), op(builder.graph().ops[id]), in(op.inputs), y(op.outputs[0]), dy(out_grads[0]) {}
};

template <TensorId (*G)(GraphBuilder&, TensorId x, TensorId y, TensorId dy)>
std::vector<TensorId> unary_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads) {
  const Chain chain(b, op, out_grads);
  if (!b.wants(chain.in[0])) return {TensorId{}};
  return {G(b, chain.in[0], chain.y, chain.dy)};
}

// For results that are constant almost everywhere.
std::vector<TensorId> no_gradient(GraphBuilder& b, OpId op, std::span<const TensorId> out_grads);

}  // namespace superstep::ops
