// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/model_file.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "model/error.h"

namespace superstep::onnx_import {

namespace {

using onnx_file::GraphProto;
using onnx_file::NodeProto;

void parse(const std::string& path, onnx_file::ModelProto& model) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw Error(path, "is a folder, expected an ONNX model");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path, "cannot open");
  google::protobuf::io::IstreamInputStream input(&stream);
  google::protobuf::io::CodedInputStream coded(&input);
  coded.SetTotalBytesLimit(std::numeric_limits<int>::max());
  coded.SetRecursionLimit(100);
  const bool parsed = model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  if (!parsed) {
    throw Error(path, "byte " + std::to_string(coded.CurrentPosition()) + ": truncated, or not an ONNX model");
  }
  if (!model.has_graph()) throw Error(path, "no graph found, expected an ONNX model");
}

std::map<std::string, std::int64_t> opsets_of(const std::string& path, const onnx_file::ModelProto& model) {
  std::map<std::string, std::int64_t> opsets;
  for (const auto& set : model.opset_import()) {
    if (set.version() < 1) {
      throw Error(path, "operator set \"" + set.domain() + "\" of version " + std::to_string(set.version()));
    }
    opsets[domain_of(set.domain())] = set.version();
  }
  if (opsets.empty()) throw Error(path, "no opset_import found, expected the version of the operator set");
  return opsets;
}

[[noreturn]] void refuse(const ModelFile& file, const NodeProto& node, const std::string& message) {
  throw Error(file.path, "node \"" + label(node) + "\": " + message);
}

// Kahn's algorithm, by the smallest waiting position.
class Order {
 public:
  explicit Order(const ModelFile& file) : file_(file), graph_(file.model.graph()) {}

  std::vector<const NodeProto*> run() {
    note_sources();
    note_results();
    count_operands();
    std::set<int> ready;
    for (int i = 0; i < graph_.node_size(); ++i) {
      if (missing_[static_cast<std::size_t>(i)] == 0) ready.insert(i);
    }
    std::vector<const NodeProto*> order;
    while (!ready.empty()) {
      const int next = *ready.begin();
      ready.erase(ready.begin());
      order.push_back(&graph_.node(next));
      release(next, ready);
    }
    if (static_cast<int>(order.size()) < graph_.node_size()) refuse_cycle();
    return order;
  }

 private:
  void note_sources() {
    for (const auto& input : graph_.input()) {
      if (!known_.insert(input.name()).second) {
        throw Error(file_.path, "two graph inputs are called \"" + input.name() + "\"");
      }
    }
    std::set<std::string> stored;
    const auto note = [&](const std::string& name) {
      if (!stored.insert(name).second) throw Error(file_.path, "two initializers are called \"" + name + "\"");
      known_.insert(name);
    };
    for (const auto& tensor : graph_.initializer()) note(tensor.name());
    for (const auto& tensor : graph_.sparse_initializer()) note(tensor.values().name());
  }

  void note_results() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& name : graph_.node(i).output()) {
        if (name.empty()) continue;
        if (known_.contains(name) || !producer_.emplace(name, i).second) {
          refuse(file_, graph_.node(i), "result \"" + name + "\" has the name of another tensor");
        }
      }
    }
    for (const auto& output : graph_.output()) {
      if (!known_.contains(output.name()) && !producer_.contains(output.name())) {
        throw Error(file_.path, "nobody produces the graph output \"" + output.name() + "\"");
      }
    }
  }

  void count_operands() {
    missing_.assign(static_cast<std::size_t>(graph_.node_size()), 0);
    readers_.assign(missing_.size(), {});
    for (int i = 0; i < graph_.node_size(); ++i) {
      for (const std::string& name : graph_.node(i).input()) {
        if (name.empty() || known_.contains(name)) continue;
        const auto at = producer_.find(name);
        if (at == producer_.end()) refuse(file_, graph_.node(i), "nobody produces its operand \"" + name + "\"");
        ++missing_[static_cast<std::size_t>(i)];
        readers_[static_cast<std::size_t>(at->second)].push_back(i);
      }
    }
  }

  void release(int node, std::set<int>& ready) {
    for (int reader : readers_[static_cast<std::size_t>(node)]) {
      if (--missing_[static_cast<std::size_t>(reader)] == 0) ready.insert(reader);
    }
  }

  [[noreturn]] void refuse_cycle() {
    int at = 0;
    while (missing_[static_cast<std::size_t>(at)] == 0) ++at;
    std::vector<bool> seen(missing_.size());
    while (!seen[static_cast<std::size_t>(at)]) {  // walk back until a node comes twice: it is on the cycle
      seen[static_cast<std::size_t>(at)] = true;
      for (const std::string& name : graph_.node(at).input()) {
        const auto producer = producer_.find(name);
        if (producer == producer_.end() || missing_[static_cast<std::size_t>(producer->second)] == 0) continue;
        at = producer->second;
        break;
      }
    }
    refuse(file_, graph_.node(at), "the graph has a cycle through this node");
  }

  const ModelFile& file_;
  const GraphProto& graph_;
  std::set<std::string> known_;  // inputs and initializers
  std::map<std::string, int> producer_;
  std::vector<int> missing_;  // operands not yet there
  std::vector<std::vector<int>> readers_;
};

}  // namespace

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string label(const NodeProto& node) {
  if (!node.name().empty()) return node.name();
  return node.op_type() + (node.output_size() > 0 ? " of " + node.output(0) : "");
}

ModelFile read_model(const std::string& path) {
  ModelFile file;
  file.path = path;
  parse(path, file.model);
  file.opsets = opsets_of(path, file.model);
  return file;
}

std::vector<const NodeProto*> running_order(const ModelFile& file) { return Order(file).run(); }

}  // namespace superstep::onnx_import
