// SPDX-License-Identifier: Apache-2.0
#include "model/xla/writer.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "model/onnx/tensors.h"

namespace superstep::xla_import {

namespace {

using onnx_import::kBfloat16, onnx_import::kBool, onnx_import::kDouble, onnx_import::kFloat, onnx_import::kFloat16,
    onnx_import::kInt32, onnx_import::kInt64, onnx_import::kInt8, onnx_import::kUint8;

struct TypeRow {
  std::int32_t type;
  const char* name;
  std::int32_t onnx;
};
constexpr TypeRow kTypes[] = {{kPred, "pred", kBool},    {kS8, "s8", kInt8},    {kS16, "s16", kInt32},
                              {kS32, "s32", kInt32},     {kS64, "s64", kInt64}, {kU8, "u8", kUint8},
                              {kU16, "u16", kInt32},     {kU32, "u32", kInt64}, {kU64, "u64", kInt64},
                              {kF16, "f16", kFloat16},   {kF32, "f32", kFloat}, {kF64, "f64", kDouble},
                              {kBf16, "bf16", kBfloat16}};

const TypeRow* find_type(std::int32_t type) {
  const auto* at = std::ranges::find(kTypes, type, &TypeRow::type);
  return at == std::end(kTypes) ? nullptr : at;
}

void set(onnx_file::AttributeProto& a, const Attribute& attribute) {
  enum { kNumber = 1, kInteger = 2, kText = 3, kTensor = 4, kIntegers = 7 };
  a.set_name(attribute.first);
  if (const auto* i = std::get_if<std::int64_t>(&attribute.second)) a.set_i(*i), a.set_type(kInteger);
  if (const auto* f = std::get_if<float>(&attribute.second)) a.set_f(*f), a.set_type(kNumber);
  if (const auto* s = std::get_if<std::string>(&attribute.second)) a.set_s(*s), a.set_type(kText);
  if (const auto* t = std::get_if<onnx_file::TensorProto>(&attribute.second)) *a.mutable_t() = *t, a.set_type(kTensor);
  if (const auto* list = std::get_if<Extents>(&attribute.second)) {
    a.mutable_ints()->Add(list->begin(), list->end());
    a.set_type(kIntegers);
  }
}

onnx_file::TensorProto number_tensor(double number, std::int32_t type) {
  onnx_file::TensorProto t;
  const std::int32_t onnx = onnx_type(type);
  t.set_data_type(onnx == kFloat16 || onnx == kBfloat16 ? kFloat : onnx);
  if (t.data_type() == kFloat)
    t.add_float_data(static_cast<float>(number));
  else if (onnx == kDouble)
    t.add_double_data(number);
  else if (onnx == kInt64)
    t.add_int64_data(static_cast<std::int64_t>(number));
  else
    t.add_int32_data(static_cast<std::int32_t>(number));
  return t;
}

}  // namespace

bool is_floating(std::int32_t type) { return type == kF16 || type == kF32 || type == kF64 || type == kBf16; }

std::string name_of(std::int32_t type) {
  const TypeRow* row = find_type(type);
  return row ? row->name : "type " + std::to_string(type);
}

std::int32_t onnx_type(std::int32_t type) {
  const TypeRow* row = find_type(type);
  if (!row) throw Refusal{"element type " + name_of(type) + " is not imported; convert to f32 or s32 in the program"};
  return row->onnx;
}

void Writer::begin(const std::string& name, const std::string& label) {
  name_ = name;
  label_ = label;
  first_ = graph_.node_size();
}

Value Writer::finish(Value result) {
  if (graph_.node_size() > first_ && result.parts.empty()) {
    onnx_file::NodeProto& last = *graph_.mutable_node(graph_.node_size() - 1);
    if (last.output(0) == result.tensor && last.op_type() != "Constant") {
      last.set_output(0, name_);
      result.tensor = name_;
    }
  }
  if (!result.tensor.empty()) shapes_[result.tensor] = result.stored;
  return result;
}

std::string Writer::add(const std::string& op_type, const std::vector<std::string>& operands,
                        const std::vector<Attribute>& attributes) {
  onnx_file::NodeProto& node = *graph_.add_node();
  node.set_op_type(op_type);
  node.set_name(label_);
  for (const std::string& operand : operands) node.add_input(operand);
  for (const Attribute& attribute : attributes) set(*node.add_attribute(), attribute);
  node.add_output(name_ + "/" + std::to_string(graph_.node_size() - first_));
  return node.output(0);
}

std::vector<std::string> Writer::add_refused(const std::string& opcode, const std::vector<std::string>& operands,
                                             int results) {
  add(opcode, operands);
  onnx_file::NodeProto& node = *graph_.mutable_node(graph_.node_size() - 1);
  node.set_domain("xla");
  node.clear_output();
  for (int i = 0; i < results; ++i) node.add_output(name_ + (results > 1 ? "." + std::to_string(i) : ""));
  return {node.output().begin(), node.output().end()};
}

std::string Writer::constant(const onnx_file::TensorProto& tensor) {
  std::string& known = constants_[tensor.SerializeAsString()];
  if (known.empty()) known = add("Constant", {}, {{"value", tensor}});
  return known;
}

std::string Writer::integers(const Extents& values) {
  onnx_file::TensorProto t;
  t.set_data_type(kInt64);
  t.add_dims(static_cast<std::int64_t>(values.size()));
  t.mutable_int64_data()->Add(values.begin(), values.end());
  return constant(t);
}

std::string Writer::constant(double number, std::int32_t type) {
  const std::string plain = constant(number_tensor(number, type));
  const std::int32_t onnx = onnx_type(type);
  if (onnx != kFloat16 && onnx != kBfloat16) return plain;
  return add("Cast", {plain}, {{"to", std::int64_t{onnx}}});
}

std::string Writer::stored(const Value& value) {
  if (!value.parts.empty()) throw Refusal{"reads a tuple where a tensor is expected"};
  return value.tensor.empty() && value.number ? constant(*value.number, value.type) : value.tensor;
}

std::string Writer::full(const Value& value) {
  const std::string tensor = stored(value);
  return value.stored == value.shape ? tensor : add("Expand", {tensor, integers(value.shape)});
}

Value whole(std::int32_t type, Extents shape, std::string tensor) {
  Value v;
  v.type = type;
  v.stored = v.shape = std::move(shape);
  v.tensor = std::move(tensor);
  return v;
}

std::string Call::reducer(int called) const {
  const Computation& c = program.called(in, called);
  const Instruction& root = *program.order(c).back();
  const bool plain = root.operand_ids_size() == 2 && program.operand(c, root, 0).opcode() == "parameter" &&
                     program.operand(c, root, 1).opcode() == "parameter" && root.operand_ids(0) != root.operand_ids(1);
  if (plain) return root.opcode();
  throw Refusal{"the computation \"" + c.name() +
                "\" is not one operation of two numbers; write the reduction as a sum, product, minimum or maximum"};
}

Extents permuted(const Extents& shape, const Extents& order) {
  Extents out;
  for (std::int64_t d : order) out.push_back(shape.at(static_cast<std::size_t>(d)));
  return out;
}

std::string transposed(Writer& w, const std::string& tensor, const Extents& order) {
  return std::ranges::is_sorted(order) ? tensor : w.add("Transpose", {tensor}, {{"perm", order}});
}

Extents inverse(const Extents& order) {
  Extents out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    out.at(static_cast<std::size_t>(order[i])) = static_cast<std::int64_t>(i);
  return out;
}

std::int64_t volume_of(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Handler find_handler(const std::string& opcode) {
  for (const auto* rows : {&elementwise_rows(), &shape_rows(), &product_rows(), &reduce_rows(), &index_rows()}) {
    const auto at = std::ranges::find(*rows, opcode, &Row::opcode);
    if (at != rows->end()) return at->handler;
  }
  return nullptr;
}

}  // namespace superstep::xla_import
