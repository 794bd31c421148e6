// SPDX-License-Identifier: Apache-2.0
#include "model/xla/literal.h"

#include <algorithm>
#include <cstring>

#include "model/onnx/tensors.h"

namespace superstep::xla_import {

namespace {

using hlo_file::LiteralProto;

// Elements as numbers: exact, but for integers beyond 2^53.
template <class Values>
std::vector<double> numbers_of(const Values& values) {
  return {values.begin(), values.end()};
}

template <class Int>
std::vector<double> numbers_of_bytes(const std::string& bytes) {
  std::vector<double> out(bytes.size() / sizeof(Int));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Int value;
    std::memcpy(&value, bytes.data() + i * sizeof(Int), sizeof(Int));
    out[i] = static_cast<double>(value);
  }
  return out;
}

std::vector<double> numbers_of_bfloats(const std::string& bytes) {
  std::vector<double> out(bytes.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    float value = 0;
    std::memcpy(reinterpret_cast<char*>(&value) + 2, bytes.data() + 2 * i, 2);
    out[i] = static_cast<double>(value);
  }
  return out;
}

std::vector<double> numbers_of_halves(const std::string& bytes) {
  onnx_file::TensorProto tensor;
  tensor.set_data_type(onnx_import::kFloat16);
  tensor.add_dims(static_cast<std::int64_t>(bytes.size() / 2));
  tensor.set_raw_data(bytes.substr(0, bytes.size() / 2 * 2));
  const auto array = onnx_import::read_tensor(tensor, {}, false).data;
  std::vector<double> out;
  for (std::int64_t i = 0; array && i < array->info.elements(); ++i) out.push_back(array->at(i));
  return out;
}

std::vector<double> elements(const LiteralProto& l) {
  switch (l.shape().element_type()) {
    case kPred:
      return numbers_of(l.preds());
    case kS8:
      return numbers_of_bytes<std::int8_t>(l.s8s());
    case kU8:
      return numbers_of_bytes<std::uint8_t>(l.u8s());
    case kS16:
      return numbers_of_bytes<std::int16_t>(l.s16s());
    case kU16:
      return numbers_of_bytes<std::uint16_t>(l.u16s());
    case kS32:
      return numbers_of(l.s32s());
    case kS64:
      return numbers_of(l.s64s());
    case kU32:
      return numbers_of(l.u32s());
    case kU64:
      return numbers_of(l.u64s());
    case kF16:
      return numbers_of_halves(l.f16s());
    case kBf16:
      return numbers_of_bfloats(l.bf16s());
    case kF32:
      return numbers_of(l.f32s());
    case kF64:
      return numbers_of(l.f64s());
    default:
      onnx_type(l.shape().element_type());
      return {};
  }
}

Extents extents_of(const hlo_file::ShapeProto& shape) { return {shape.dimensions().begin(), shape.dimensions().end()}; }

// From the literal's layout, in which a dimension may run slower than one before it, to the order of the dimensions.
std::vector<double> in_order(const std::vector<double>& from, const hlo_file::ShapeProto& shape) {
  const auto& minor = shape.layout().minor_to_major();
  const Extents extents = extents_of(shape);
  if (minor.size() != static_cast<int>(extents.size()) || std::is_sorted(minor.rbegin(), minor.rend())) return from;
  Extents strides(extents.size());
  std::int64_t step = 1;
  for (std::int64_t d : minor) {
    strides.at(static_cast<std::size_t>(d)) = step;
    step *= extents[static_cast<std::size_t>(d)];
  }
  std::vector<double> out;
  Extents at(extents.size());
  for (std::size_t e = 0; e < from.size(); ++e) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * strides[d];
    out.push_back(from.at(static_cast<std::size_t>(place)));
    for (std::size_t d = at.size(); d-- > 0 && ++at[d] == extents[d];) at[d] = 0;
  }
  return out;
}

std::vector<double> checked_elements(const LiteralProto& literal) {
  std::vector<double> values = elements(literal);
  const std::int64_t expected = volume_of(extents_of(literal.shape()));
  if (static_cast<std::int64_t>(values.size()) != expected)
    throw Refusal{"found " + std::to_string(values.size()) + " values, expected " + std::to_string(expected) +
                  "; dump the program with its constants"};
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const bool inexact = !is_floating(literal.shape().element_type()) &&
                       std::ranges::any_of(values, [](double v) { return v > kExact || v < -kExact; });
  if (inexact) throw Refusal{"integers beyond 2^53, as of random bits; give what is made of them as an input"};
  return in_order(values, literal.shape());
}

onnx_file::TensorProto tensor_of(const std::vector<double>& values, const hlo_file::ShapeProto& shape) {
  onnx_file::TensorProto t;
  const std::int32_t type = onnx_type(shape.element_type());
  const bool floats = is_floating(shape.element_type()) && type != onnx_import::kDouble;
  t.set_data_type(floats ? onnx_import::kFloat : type);
  t.mutable_dims()->Add(shape.dimensions().begin(), shape.dimensions().end());
  for (double value : values) {
    if (floats)
      t.add_float_data(static_cast<float>(value));
    else if (type == onnx_import::kDouble)
      t.add_double_data(value);
    else if (type == onnx_import::kInt64)
      t.add_int64_data(static_cast<std::int64_t>(value));
    else
      t.add_int32_data(static_cast<std::int32_t>(value));
  }
  return t;
}

}  // namespace

onnx_file::TensorProto literal_tensor(const LiteralProto& literal) {
  return tensor_of(checked_elements(literal), literal.shape());
}

Value literal_value(const LiteralProto& literal, Writer& w) {
  const std::vector<double> values = checked_elements(literal);
  Value value = whole(literal.shape().element_type(), extents_of(literal.shape()), "");
  if (!values.empty() && std::ranges::all_of(values, [&](double v) { return v == values[0]; })) {
    value.number = values[0];
    value.stored = {};
    return value;
  }
  const onnx_file::TensorProto tensor = tensor_of(values, literal.shape());
  value.tensor = w.constant(tensor);
  const std::int32_t type = onnx_type(value.type);
  if (type != tensor.data_type()) value.tensor = w.add("Cast", {value.tensor}, {{"to", std::int64_t{type}}});
  return value;
}

}  // namespace superstep::xla_import
