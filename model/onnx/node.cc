// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/node.h"

#include <algorithm>

#include "model/error.h"
#include "model/graph/op_def.h"

namespace superstep::onnx_import {

using onnx_file::AttributeProto;

namespace {

// AttributeProto.type
constexpr int kAnyType = 0, kNumber = 1, kInteger = 2, kText = 3;

void check_attribute(const AttributeProto& a, int type, const char* expected) {
  if (a.type() == type || (a.type() == kAnyType && (a.has_i() || a.has_f() || a.has_s()))) return;
  Node::fail("attribute \"" + a.name() + "\" is not " + expected);
}

}  // namespace

Node::Node(GraphBuilder& builder, const Context& whole, const onnx_file::NodeProto& proto, std::int64_t opset_version,
           std::string_view core_op, std::vector<TensorId> operands)
    : b(builder), context(whole), opset(opset_version), core(core_op), proto_(proto), operands_(std::move(operands)) {}

TensorId Node::in(std::size_t i) const {
  if (!has(i)) fail("operand " + std::to_string(i) + " is missing");
  return operands_[i];
}

std::int64_t Node::axis(std::int64_t axis, std::int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    fail("axis " + std::to_string(axis) + " is not one of " + std::to_string(rank) + " dimensions");
  }
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::int64_t> Node::axes(std::vector<std::int64_t> axes, std::int64_t rank) const {
  for (std::int64_t& one : axes) one = axis(one, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) fail("an axis is given twice");
  return axes;
}

std::size_t Node::results() const { return static_cast<std::size_t>(proto_.output_size()); }

bool Node::wants_result(std::size_t i) const { return i < results() && context.read_names.contains(result_name(i)); }

const Array* Node::known(TensorId t) const {
  const Tensor& tensor = b.graph().tensors[t];
  return tensor.kind == TensorKind::constant ? tensor.data.get() : nullptr;
}

const Array& Node::values(std::size_t i, std::string_view what) const {
  const Array* array = known(in(i));
  if (!array) {
    throw Unsupported{"operand " + std::to_string(i) + " (" + std::string(what) + ") is not known when importing",
                      in(i)};
  }
  return *array;
}

std::vector<std::int64_t> Node::integers(std::size_t i, std::string_view what) const {
  const Array& array = values(i, what);
  if (array.info.shape.size() > 1)
    fail(std::string(what) + " has shape " + to_text(array.info.shape) + ", expected a list");
  return integers_of(array);
}

double Node::number(std::size_t i, std::string_view what) const {
  const Array& array = values(i, what);
  if (array.info.elements() != 1)
    fail(std::string(what) + " has shape " + to_text(array.info.shape) + ", expected a number");
  return array.at(0);
}

const AttributeProto* Node::attribute(std::string_view name) {
  for (const AttributeProto& a : proto_.attribute()) {
    if (a.name() != name) continue;
    read_.emplace(name);
    return &a;
  }
  return nullptr;
}

bool Node::has_attribute(std::string_view name) { return attribute(name) != nullptr; }

std::int64_t Node::integer_attribute(std::string_view name, std::int64_t fallback) {
  const AttributeProto* a = attribute(name);
  if (a) check_attribute(*a, kInteger, "an integer");
  return a ? a->i() : fallback;
}

double Node::number_attribute(std::string_view name, double fallback) {
  const AttributeProto* a = attribute(name);
  if (a) check_attribute(*a, kNumber, "a number");
  return a ? static_cast<double>(a->f()) : fallback;
}

std::string Node::text_attribute(std::string_view name, std::string fallback) {
  const AttributeProto* a = attribute(name);
  if (a) check_attribute(*a, kText, "a text");
  return a ? a->s() : fallback;
}

std::vector<std::int64_t> Node::integers_attribute(std::string_view name, std::vector<std::int64_t> fallback) {
  const AttributeProto* a = attribute(name);
  if (!a) return fallback;
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> Node::numbers_attribute(std::string_view name) {
  const AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->floats().begin(), a->floats().end()};
}

std::vector<std::string> Node::texts_attribute(std::string_view name) {
  const AttributeProto* a = attribute(name);
  if (!a) return {};
  return {a->strings().begin(), a->strings().end()};
}

std::string Node::unread_attribute() const {
  for (const AttributeProto& a : proto_.attribute()) {
    if (!read_.contains(a.name())) return a.name();
  }
  return "";
}

void Node::fail(const std::string& message) { throw Error("", message); }

void Node::not_supported(const std::string& message) { throw Unsupported{message, {}}; }

void Node::need(std::string_view op) {
  if (!find_op(op)) not_supported("no core op \"" + std::string(op) + "\"");
}

}  // namespace superstep::onnx_import
