// SPDX-License-Identifier: Apache-2.0
// Values that are known when importing, and changes of type.
#include <cmath>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

Array numbers(DType type, Shape shape, const std::vector<double>& values) {
  return Array::from(type, std::move(shape), values);
}

Array tensor_value(Node& n, const onnx_file::TensorProto& tensor) {
  if (!our_type(tensor.data_type())) Node::not_supported("type " + type_name(tensor.data_type()));
  constexpr int kOutside = 1;  // of the file
  const StoredTensor stored = read_tensor(tensor, {}, tensor.data_location() != kOutside);
  if (!stored.data) Node::fail("the constant has no values");
  const DType type = n.context.float_type(stored.info.type);
  return type == stored.info.type ? *stored.data : converted(*stored.data, type);
}

Results constant(Node& n) {
  if (const auto* a = n.attribute("value")) return {n.b.constant(tensor_value(n, a->t()))};
  const DType type = n.context.float_type(DType::fp32);
  if (n.has_attribute("value_float")) return {n.b.constant(numbers(type, {}, {n.number_attribute("value_float", 0)}))};
  if (n.has_attribute("value_int")) return {integer_constant(n.b, {}, {n.integer_attribute("value_int", 0)})};
  if (n.has_attribute("value_floats")) {
    const std::vector<double> values = n.numbers_attribute("value_floats");
    return {n.b.constant(numbers(type, {static_cast<std::int64_t>(values.size())}, values))};
  }
  if (n.has_attribute("value_ints")) {
    const std::vector<std::int64_t> values = n.integers_attribute("value_ints");
    return {integer_constant(n.b, {static_cast<std::int64_t>(values.size())}, values)};
  }
  Node::not_supported("a constant that is neither a tensor nor numbers");
}

Results constant_of_shape(Node& n) {
  const Shape shape = checked_shape(n.integers(0, "shape"), "shape");
  Array value = numbers(n.context.float_type(DType::fp32), {}, {0});
  if (const auto* a = n.attribute("value")) value = tensor_value(n, a->t());
  if (value.info.elements() != 1) Node::fail("the value is not one element");
  value.info.shape = {};
  return {n.b.expand(n.b.constant(std::move(value)), shape)};
}

Results shape(Node& n) {
  const Shape& all = n.shape(0);
  const std::int64_t rank = n.rank(0);
  const auto place = [&](const char* name, std::int64_t fallback) {
    const std::int64_t given = n.opset >= 15 ? n.integer_attribute(name, fallback) : fallback;
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t begin = place("start", 0), end = std::max(begin, place("end", rank));
  return {integer_constant(n.b, {end - begin}, Shape(all.begin() + begin, all.begin() + end))};
}

Results size(Node& n) { return {integer_constant(n.b, {}, {n.b.info(n.in(0)).elements()})}; }

constexpr std::int64_t kLongestRange = 1 << 24;

// From start on in steps of delta, all that lie before limit. 128 bits hold every difference.
Results range_of_integers(Node& n) {
  std::vector<std::int64_t> values;
  const auto operand = [&](std::size_t i, const char* what) {
    return static_cast<__int128>(n.integers(i, what).at(0));
  };
  const __int128 start = operand(0, "start"), limit = operand(1, "limit"), delta = operand(2, "delta");
  if (delta == 0) Node::fail("an endless range");
  for (__int128 v = start; delta > 0 ? v < limit : v > limit; v += delta) {
    if (std::ssize(values) == kLongestRange) Node::not_supported("a range of more than 2^24 elements");
    values.push_back(static_cast<std::int64_t>(v));
  }
  return {n.b.cast(integer_constant(n.b, {std::ssize(values)}, values), n.type(0))};
}

Results range(Node& n) {
  if (is_integer(n.type(0))) return range_of_integers(n);
  const double start = n.number(0, "start"), limit = n.number(1, "limit"), delta = n.number(2, "delta");
  if (delta == 0 || !std::isfinite(start) || !std::isfinite(limit) || !std::isfinite(delta))
    Node::fail("an endless range");
  const double count = std::max(0.0, std::ceil((limit - start) / delta));
  if (count > static_cast<double>(kLongestRange)) Node::not_supported("a range of more than 2^24 elements");
  std::vector<double> values;
  for (double i = 0; i < count; ++i) values.push_back(start + i * delta);
  return {n.b.constant(numbers(n.type(0), {static_cast<std::int64_t>(values.size())}, values))};
}

// Of 8-bit floats: what is beyond the largest becomes the largest.
void check_saturates(Node& n) {
  if (n.has_attribute("saturate") && n.integer_attribute("saturate", 1) == 0)
    Node::not_supported("8-bit floats that do not saturate");
}

Results cast(Node& n) {
  check_saturates(n);
  if (n.has_attribute("round_mode")) n.text_attribute("round_mode", "");
  std::int32_t file_type = kUndefined;
  if (n.opset < 6) {
    Node::not_supported("types as text, of operator set 5 and before");
  } else {
    file_type = static_cast<std::int32_t>(n.integer_attribute("to", kUndefined));
  }
  if (!our_type(file_type)) {
    Node::not_supported("type " + type_name(file_type));
  }
  const DType from = n.type(0), to = n.context.float_type(*our_type(file_type));
  if (to == DType::boolean && from != to) return {n.b.binary("not_equal", n.in(0), n.b.scalar(from, 0))};
  const TensorId cast = n.b.cast(n.in(0), to);
  return {file_type == kBfloat16 && to == DType::fp32 ? n.b.unary("bfloat16", cast) : cast};
}

Results cast_like(Node& n) {
  check_saturates(n);
  if (n.has_attribute("round_mode")) n.text_attribute("round_mode", "");
  return {n.b.cast(n.in(0), n.type(1))};
}

constexpr Handler kConstantHandlers[] = {
    {"Cast", 1, 1, cast},         {"CastLike", 15, 2, cast_like},
    {"Constant", 1, 0, constant}, {"ConstantOfShape", 9, 1, constant_of_shape},
    {"Range", 11, 3, range},      {"Shape", 1, 1, shape},
    {"Size", 1, 1, size},
};

}  // namespace

std::span<const Handler> constant_handlers() { return kConstantHandlers; }

}  // namespace superstep::onnx_import
