// SPDX-License-Identifier: Apache-2.0
// The families of handlers, one file each, for handlers.cc, and what they share.
#pragma once

#include <span>

#include "model/onnx/node.h"

namespace superstep::onnx_import {

std::span<const Handler> math_handlers();
std::span<const Handler> reduce_handlers();
std::span<const Handler> shape_handlers();
std::span<const Handler> index_handlers();
std::span<const Handler> constant_handlers();
std::span<const Handler> nn_handlers();
std::span<const Handler> conv_handlers();
std::span<const Handler> loss_handlers();
std::span<const Handler> rnn_handlers();
std::span<const Handler> resize_handlers();
std::span<const Handler> quantize_handlers();
std::span<const Handler> signal_handlers();
std::span<const Handler> einsum_handlers();
std::span<const Handler> select_handlers();
std::span<const Handler> opaque_handlers();
std::span<const Handler> attention_handlers();
std::span<const Handler> image_handlers();
std::span<const Handler> random_handlers();
std::span<const Handler> training_handlers();   // of kTrainingDomain
std::span<const Handler> microsoft_handlers();  // of com.microsoft
std::span<const Handler> graphcore_handlers();  // of ai.graphcore

constexpr std::size_t kMany = 1 << 16;  // most operands of a handler that takes any number

// An Array of int64 as a constant of the graph.
TensorId integer_constant(GraphBuilder& b, Shape shape, const std::vector<std::int64_t>& values);
// 0, 1, ... as a list of int64.
TensorId counting(GraphBuilder& b, std::int64_t n);
// Extents of 1 put in before dimension `at`.
TensorId with_ones(GraphBuilder& b, TensorId t, std::size_t at, std::size_t count);
// Tuples of indices [..., extents.size()], each counted from the front or the end, as places [...] in row-major order.
TensorId joined_indices(GraphBuilder& b, TensorId tuples, const Shape& extents);
TensorId gather_axis(GraphBuilder& b, TensorId t, TensorId indices, std::int64_t axis);
// Dimension `from` moved to the end, and back.
TensorId axis_last(GraphBuilder& b, TensorId t, std::int64_t from);
TensorId axis_from_last(GraphBuilder& b, TensorId t, std::int64_t to);
// x [..., k] by a known matrix [k, n].
TensorId times_matrix(GraphBuilder& b, TensorId x, Array matrix);
// x with zeros put in before and behind each dimension.
TensorId with_zeros(GraphBuilder& b, TensorId x, const std::vector<std::int64_t>& before,
                    const std::vector<std::int64_t>& after);
// x [batch, places, heads * width] as [batch, heads, places, width], and back.
TensorId heads_apart(GraphBuilder& b, TensorId x, std::int64_t heads);
TensorId heads_together(GraphBuilder& b, TensorId x);
// The product of matrices, of which each may be transposed.
TensorId matrix_product(GraphBuilder& b, TensorId x, TensorId y, bool transpose_x = false, bool transpose_y = false);
// The type that an attribute names by its number in ONNX files; where it names none `fallback`.
DType type_named(Node& n, std::string_view attribute, DType fallback);
// Handlers that another domain has, too.
Results gemm(Node& n);
Results quantize(Node& n);
Results dequantize(Node& n);
Results dynamic_quantize_matmul(Node& n);
Results integer_matmul_to_float(Node& n);
Results quantized_gemm(Node& n);
Results quantized_binary(Node& n);
Results quantized_sigmoid(Node& n);
// x by the weights w, with the windows of the node's attributes and without a bias.
TensorId convolution(Node& n, TensorId x, TensorId w);

}  // namespace superstep::onnx_import
