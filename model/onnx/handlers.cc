// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/handlers.h"

#include <cstring>
#include <map>
#include <numeric>

#include "model/error.h"

namespace superstep::onnx_import {

namespace {

using Families = std::vector<std::span<const Handler> (*)()>;

std::map<std::string_view, const Handler*> collect(const Families& families) {
  std::map<std::string_view, const Handler*> all;
  for (auto family : families) {
    for (const Handler& handler : family()) {
      SUPERSTEP_CHECK(all.emplace(handler.op_type, &handler).second, "two handlers of " + std::string(handler.op_type));
    }
  }
  return all;
}

}  // namespace

const Handler* find_handler(const std::string& domain, const std::string& op_type) {
  static const auto own =
      collect({math_handlers, reduce_handlers, shape_handlers, index_handlers, constant_handlers, nn_handlers,
               conv_handlers, loss_handlers, rnn_handlers, resize_handlers, quantize_handlers, signal_handlers,
               einsum_handlers, select_handlers, opaque_handlers, attention_handlers, image_handlers, random_handlers});
  static const std::map<std::string_view, std::map<std::string_view, const Handler*>> domains = {
      {"", own},
      {kTrainingDomain, collect({training_handlers})},
      {"com.microsoft", collect({microsoft_handlers})},
      {"ai.graphcore", collect({graphcore_handlers})}};
  const auto of_domain = domains.find(domain);
  if (of_domain == domains.end()) return nullptr;
  const auto at = of_domain->second.find(op_type);
  return at != of_domain->second.end() ? at->second : nullptr;
}

TensorId integer_constant(GraphBuilder& b, Shape shape, const std::vector<std::int64_t>& values) {
  Array array(TensorInfo{DType::int64, std::move(shape)});
  SUPERSTEP_CHECK(array.data.size() == 8 * values.size(), "value count of a constant");
  if (!values.empty()) std::memcpy(array.data.data(), values.data(), array.data.size());
  return b.constant(std::move(array));
}

DType type_named(Node& n, std::string_view attribute, DType fallback) {
  const auto type = static_cast<std::int32_t>(n.integer_attribute(attribute, kUndefined));
  if (type == kUndefined) return fallback;
  if (!our_type(type)) Node::not_supported("type " + type_name(type));
  return n.context.float_type(*our_type(type));
}

TensorId counting(GraphBuilder& b, std::int64_t n) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return integer_constant(b, {n}, values);
}

TensorId gather_axis(GraphBuilder& b, TensorId t, TensorId indices, std::int64_t axis) {
  Attributes attrs;
  attrs.set("axis", axis);
  return b.one("gather", {t, indices}, std::move(attrs));
}

TensorId with_ones(GraphBuilder& b, TensorId t, std::size_t at, std::size_t count) {
  Shape shape = b.info(t).shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), count, 1);
  return b.reshape(t, std::move(shape));
}

TensorId axis_last(GraphBuilder& b, TensorId t, std::int64_t from) {
  std::vector<std::int64_t> order(b.info(t).shape.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.push_back(from);
  return b.transpose(t, std::move(order));
}

TensorId axis_from_last(GraphBuilder& b, TensorId t, std::int64_t to) {
  std::vector<std::int64_t> order(b.info(t).shape.size());
  std::iota(order.begin(), order.end(), 0);
  const std::int64_t last = order.back();
  order.pop_back();
  order.insert(order.begin() + to, last);
  return b.transpose(t, std::move(order));
}

TensorId with_zeros(GraphBuilder& b, TensorId x, const std::vector<std::int64_t>& before,
                    const std::vector<std::int64_t>& after) {
  Attributes attrs;
  attrs.set("before", before);
  attrs.set("after", after);
  return b.one("pad", {x}, std::move(attrs));
}

TensorId times_matrix(GraphBuilder& b, TensorId x, Array matrix) {
  Shape shape = b.info(x).shape;
  const std::int64_t inner = matrix.info.shape[0], outer = matrix.info.shape[1];
  const std::int64_t rows = volume(Shape(shape.begin(), shape.end() - 1));
  const TensorId y = b.matmul(b.reshape(x, {rows, inner}), b.constant(std::move(matrix)));
  shape.back() = outer;
  return b.reshape(y, std::move(shape));
}

}  // namespace superstep::onnx_import
