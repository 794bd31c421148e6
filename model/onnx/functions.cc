// SPDX-License-Identifier: Apache-2.0
// Functions that a model file brings along: their calls become the functions' nodes.
#include <set>

#include "model/error.h"
#include "model/onnx/model_file.h"

namespace superstep::onnx_import {

namespace {

using onnx_file::AttributeProto;
using onnx_file::FunctionProto;
using onnx_file::NodeProto;

using FunctionKey = std::pair<std::string, std::string>;  // domain, name
using Functions = std::map<FunctionKey, const FunctionProto*>;

constexpr int kMostNodes = 2'000'000;  // nested calls multiply

const AttributeProto* find(const NodeProto& node, const std::string& name) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

// Attributes that name one of the call's become it; those the call does not give are left out.
void bind_attributes(NodeProto& node, const NodeProto& call) {
  NodeProto bound;
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *bound.add_attribute() = attribute;
    } else if (const AttributeProto* given = find(call, attribute.ref_attr_name())) {
      *bound.add_attribute() = *given;
      bound.mutable_attribute()->rbegin()->set_name(attribute.name());
    }
  }
  node.mutable_attribute()->Swap(bound.mutable_attribute());
}

class Expansion {
 public:
  Expansion(const ModelFile& file, const Functions& functions) : file_(file), functions_(functions) {}

  void add(const NodeProto& node, std::vector<FunctionKey>& within) {
    const FunctionKey key{domain_of(node.domain()), node.op_type()};
    const auto at = functions_.find(key);
    if (at == functions_.end()) {
      *graph.add_node() = node;
      if (graph.node_size() > kMostNodes) refuse(node, "functions expand to too many nodes");
      return;
    }
    for (const FunctionKey& caller : within) {
      if (caller == key) refuse(node, "function \"" + key.second + "\" calls itself");
    }
    within.push_back(key);
    call(node, *at->second, within);
    within.pop_back();
  }

  onnx_file::GraphProto graph;

 private:
  [[noreturn]] void refuse(const NodeProto& node, const std::string& message) const {
    throw Error(file_.path, "node \"" + label(node) + "\": " + message);
  }

  void call(const NodeProto& node, const FunctionProto& function, std::vector<FunctionKey>& within) {
    if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
      refuse(node, "more operands or results than function \"" + function.name() + "\" has");
    }
    std::map<std::string, std::string> names{{"", ""}};
    for (int i = 0; i < function.input_size(); ++i) {
      names[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (!node.output(i).empty()) names[function.output(i)] = node.output(i);
    }
    if (++calls_ > kMostNodes) refuse(node, "functions expand to too many calls");
    const std::string prefix = label(node) + "/" + std::to_string(calls_) + "/";
    const auto renamed = [&](const std::string& name) { return names.try_emplace(name, prefix + name).first->second; };
    for (const NodeProto& original : function.node()) {
      NodeProto inner = original;
      for (std::string& name : *inner.mutable_input()) name = renamed(name);
      for (std::string& name : *inner.mutable_output()) name = renamed(name);
      inner.set_name(label(node) + "/" + label(original));
      bind_attributes(inner, node);
      add(inner, within);
    }
  }

  const ModelFile& file_;
  const Functions& functions_;
  int calls_ = 0;
};

}  // namespace

void expand_functions(ModelFile& file) {
  Functions functions;
  for (const FunctionProto& function : file.model.functions()) {
    functions[{domain_of(function.domain()), function.name()}] = &function;
    for (const auto& set : function.opset_import()) file.opsets.emplace(domain_of(set.domain()), set.version());
  }
  if (functions.empty()) return;
  Expansion expansion(file, functions);
  std::vector<FunctionKey> within;
  for (const NodeProto& node : file.model.graph().node()) expansion.add(node, within);
  file.model.mutable_graph()->mutable_node()->Swap(expansion.graph.mutable_node());
}

}  // namespace superstep::onnx_import
