// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/conversion.h"

#include <algorithm>
#include <new>

#include "model/error.h"
#include "model/onnx/control_flow.h"
#include "model/onnx/sequences.h"

namespace superstep::onnx_import {

namespace {

using onnx_file::NodeProto;

// The message of an Error without the place that the graph builder put before it.
std::string message_of(const Error& error) {
  const std::string text = error.what();
  const std::string place = error.where + ": ";
  return !error.where.empty() && text.starts_with(place) ? text.substr(place.size()) : text;
}

// "/encoder/layer.0/MatMul" as the part of a path.
std::string path_of(const NodeProto& node) {
  std::string name = label(node);
  name.erase(0, name.find_first_not_of('/'));
  return name.empty() ? node.op_type() : name;
}

bool has_loss(const ModelFile& file) {
  const auto& graph = file.model.graph();
  return std::any_of(graph.node().begin(), graph.node().end(),
                     [](const NodeProto& node) {
                       return node.op_type() == "SoftmaxCrossEntropyLoss" ||
                              node.op_type() == "NegativeLogLikelihoodLoss";
                     }) ||
         std::any_of(graph.output().begin(), graph.output().end(), [](const auto& o) { return o.name() == "loss"; });
}

// The names as they were, once a subgraph is left.
class RestoredNames {
 public:
  explicit RestoredNames(std::map<std::string, TensorId>& names) : names_(names), before_(names) {}
  ~RestoredNames() { names_.swap(before_); }
  RestoredNames(const RestoredNames&) = delete;
  RestoredNames& operator=(const RestoredNames&) = delete;

 private:
  std::map<std::string, TensorId>& names_;
  std::map<std::string, TensorId> before_;
};

class Converter {
 public:
  Converter(const ModelFile& file, const ImportOptions& options, const Readers& readers, const Conversion* as_in_file)
      : file_(file), options_(options), readers_(readers), b_(to_.graph), context_{options,        readers_.read,
                                                                                   has_loss(file), 0,
                                                                                   nullptr,        nullptr,
                                                                                   &to_.names} {
    if (!as_in_file) return;
    context_.as_in_file = &as_in_file->infos;
    context_.integers_in_file = &as_in_file->integers;
  }

  Conversion run(const NodeOrder& order) {
    to_.graph.name = graph_name();
    b_.begin_unit("graph");
    add_sources(file_, options_, readers_, b_, to_);
    context_.file_batch = to_.file_batch;
    for (const NodeProto* node : order) add(*node);
    check_outputs();
    note_numbers_of_code();
    for (const auto& [name, t] : to_.names) note(name, t);
    return std::move(to_);
  }

 private:
  // Exporters give all graphs one name; then the file's says more.
  std::string graph_name() const {
    const std::string& name = file_.model.graph().name();
    const bool general = name.empty() || name.starts_with("torch") || name == "main_graph" || name == "graph";
    return general ? std::filesystem::path(file_.path).stem().string() : name;
  }

  void not_supported(const NodeProto& node, std::string why) {
    to_.unsupported.push_back({label(node), node.op_type(), domain_of(node.domain()), std::move(why)});
  }

  [[noreturn]] void refuse(const NodeProto& node, const std::string& message) const {
    throw Error(file_.path, "node \"" + label(node) + "\" (" + node.op_type() + "): " + message);
  }

  // Files do not always say the version of a domain that has but one.
  std::int64_t opset_of(const std::string& domain) const {
    const auto at = file_.opsets.find(domain);
    return at == file_.opsets.end() ? 1 : at->second;
  }

  // Why a node cannot be imported whatever its operands are; empty when it may.
  std::string objection(const NodeProto& node, const Handler* handler) const {
    const std::string domain = domain_of(node.domain());
    if (is_control_flow(domain, node.op_type()) || is_sequence_op(domain, node.op_type())) return "";
    if (!handler)
      return domain.empty() ? "operator not imported" : "operator of domain \"" + domain + "\" not imported";
    const std::int64_t opset = opset_of(domain);
    if (opset < handler->since) {
      return "form of operator set " + std::to_string(opset) + ", known since " + std::to_string(handler->since);
    }
    if (static_cast<std::size_t>(node.input_size()) > handler->most_operands) {
      return std::to_string(node.input_size()) + " operands, known with up to " +
             std::to_string(handler->most_operands);
    }
    return "";
  }

  // Operands of the node; none when some are not there because their producers are not supported.
  bool operands(const NodeProto& node, std::vector<TensorId>& ids) {
    bool all = true;
    const bool reads_sequences = is_sequence_op(domain_of(node.domain()), node.op_type());
    for (const std::string& name : node.input()) {
      const auto at = to_.names.find(name);
      ids.push_back(at == to_.names.end() ? TensorId{} : at->second);
      if (name.empty() || at != to_.names.end()) continue;
      if (reads_sequences && sequences_.contains(name)) continue;
      all = false;
      const auto absent = absent_.find(name);
      if (absent == absent_.end()) continue;
      not_supported(node,
                    "reads result \"" + name + "\" of node \"" + label(*absent->second) + "\", which is not imported");
    }
    return all;
  }

  void add(const NodeProto& node) {
    const std::string domain = domain_of(node.domain());
    if ((domain.empty() || domain == kTrainingDomain) && !file_.opsets.contains(domain)) {
      refuse(node, "no opset_import of its domain found, expected the version of the operator set");
    }
    const Handler* handler = find_handler(domain, node.op_type());
    const std::string why = objection(node, handler);
    if (!why.empty()) return not_supported(node, why);
    std::vector<TensorId> ids;
    if (!operands(node, ids)) return;
    Node view(b_, context_, node, opset_of(domain), handler ? handler->core : "", std::move(ids));
    const std::size_t first = to_.graph.ops.size(), first_tensor = to_.graph.tensors.size();
    const Results results = make(node, handler, view);
    check_new(node, first_tensor);
    take(node, results, first);
  }

  // Adds the nodes of a subgraph, whose names are its own.
  Results add_graph(const onnx_file::GraphProto& graph, const Results& inputs) {
    if (graph.input_size() != static_cast<int>(inputs.size())) {
      Node::fail("the graph \"" + graph.name() + "\" has " + std::to_string(graph.input_size()) +
                 " inputs, given are " + std::to_string(inputs.size()));
    }
    constexpr std::size_t kMostOps = 500'000;  // loops in loops multiply
    if (to_.graph.ops.size() > kMostOps) Node::not_supported("more than 500,000 ops, written out");
    const RestoredNames outside(to_.names);
    for (int i = 0; i < graph.input_size(); ++i) to_.names[graph.input(i).name()] = inputs[static_cast<std::size_t>(i)];
    for (const auto& tensor : graph.initializer()) to_.names[tensor.name()] = subgraph_constant(tensor);
    const std::size_t problems = to_.unsupported.size();
    for (const NodeProto& node : graph.node()) add(node);
    Results results;
    for (const auto& output : graph.output()) {
      const auto at = to_.names.find(output.name());
      if (to_.unsupported.size() > problems || at == to_.names.end()) {
        Node::not_supported("its graph has a node that is not imported");
      }
      results.push_back(at->second);
    }
    return results;
  }

  TensorId subgraph_constant(const onnx_file::TensorProto& tensor) {
    if (!our_type(tensor.data_type())) Node::not_supported("type " + type_name(tensor.data_type()));
    const StoredTensor stored = read_tensor(tensor, file_.path, true);
    if (!stored.data) Node::fail("tensor \"" + tensor.name() + "\" has no values");
    const DType type = context_.float_type(stored.info.type);
    return b_.constant(type == stored.info.type ? *stored.data : converted(*stored.data, type));
  }

  Results make_without_handler(const NodeProto& node, Node& view) {
    if (!is_sequence_op("", node.op_type())) {
      const AddGraph add_nodes = [this](const auto& graph, const Results& inputs) { return add_graph(graph, inputs); };
      return write_out(view, node.op_type(), add_nodes);
    }
    const auto at = sequences_.find(node.input_size() > 0 ? node.input(0) : "");
    SequenceResult made = run_sequence_op(view, node.op_type(), at == sequences_.end() ? nullptr : &at->second);
    if (!made.sequence) return {made.tensor};
    if (node.output_size() != 1) Node::fail("expected one result");
    sequences_[node.output(0)] = std::move(*made.sequence);
    absent_[node.output(0)] = &node;  // for those that expect a tensor
    return {};
  }

  Results make(const NodeProto& node, const Handler* handler, Node& view) {
    GraphBuilder::Scope scope(b_, path_of(node));
    try {
      Results results = handler ? handler->make(view) : make_without_handler(node, view);
      const std::string unread = view.unread_attribute();
      if (!unread.empty()) not_supported(node, "attribute \"" + unread + "\" is not understood");
      return results;
    } catch (const Unsupported& problem) {
      not_supported(node, problem.why);
      if (problem.unknown.valid()) note_sources_to_know(problem.unknown);
      return {};
    } catch (const Error& error) {
      refuse(node, message_of(error));
    } catch (const std::bad_alloc&) {
      refuse(node, "too large");
    } catch (const std::length_error&) {
      refuse(node, "too large");
    } catch (const std::out_of_range&) {
      refuse(node, "operands do not match");
    }
  }

  // Weights whose values are needed become constants, unless inputs are needed as well, whose values nobody knows.
  void note_sources_to_know(TensorId t) {
    std::vector<bool> wanted(to_.graph.tensors.size());
    wanted[static_cast<std::size_t>(t.index)] = true;
    for (std::size_t i = to_.graph.ops.size(); i-- > 0;) {
      const Op& op = to_.graph.ops[OpId(i)];
      const bool read = std::any_of(op.outputs.begin(), op.outputs.end(),
                                    [&](TensorId o) { return wanted[static_cast<std::size_t>(o.index)]; });
      if (!read) continue;
      for (TensorId input : op.inputs) {
        if (input.valid()) wanted[static_cast<std::size_t>(input.index)] = true;
      }
    }
    bool needs_inputs = false;
    for (TensorId input : to_.graph.inputs) {
      if (!wanted[static_cast<std::size_t>(input.index)]) continue;
      needs_inputs = true;
      to_.inputs_to_know.insert(to_.graph.tensors[input].name);
    }
    for (std::size_t i = 0; !needs_inputs && i < wanted.size(); ++i) {
      const Tensor& tensor = to_.graph.tensors[TensorId(i)];
      if (wanted[i] && tensor.kind == TensorKind::weight) to_.weights_to_know.insert(tensor.name);
    }
  }

  // True if `t` depends on a weight of several elements.
  std::vector<bool> find_weighted() const {
    std::vector<bool> weighted(to_.graph.tensors.size());
    for (std::size_t i = 0; i < weighted.size(); ++i) {
      const Tensor& tensor = to_.graph.tensors[TensorId(i)];
      weighted[i] = tensor.kind == TensorKind::weight && tensor.info.elements() > 1;
    }
    for (const Op& op : to_.graph.ops) {
      const bool any = std::ranges::any_of(
          op.inputs, [&](TensorId t) { return t.valid() && weighted[static_cast<std::size_t>(t.index)]; });
      for (TensorId t : op.outputs) weighted[static_cast<std::size_t>(t.index)] = any;
    }
    return weighted;
  }

  // A weight of one element that meets what does not depend on weights, such as a mask or an image, is a number of the
  // network's code and no parameter.
  void note_numbers_of_code() {
    const std::vector<bool> weighted = find_weighted();
    if (std::ranges::none_of(weighted, [](bool w) { return w; })) return;
    std::map<TensorId, std::string> made_of;  // tensors made of one such weight and constants alone
    for (std::size_t i = 0; i < to_.graph.tensors.size(); ++i) {
      const Tensor& tensor = to_.graph.tensors[TensorId(i)];
      if (tensor.kind == TensorKind::weight && tensor.info.elements() == 1 && !readers_.trained.contains(tensor.name))
        made_of[TensorId(i)] = tensor.name;
    }
    for (const Op& op : to_.graph.ops) {
      for (TensorId t : op.inputs) {
        const auto number = made_of.find(t);
        if (number == made_of.end()) continue;
        bool alone = true, meets_weights = false;
        for (TensorId other : op.inputs) {
          if (!other.valid() || other == t || to_.graph.tensors[other].kind == TensorKind::constant) continue;
          alone = false;
          meets_weights = meets_weights || weighted[static_cast<std::size_t>(other.index)] || made_of.contains(other);
        }
        if (alone)
          for (TensorId out : op.outputs) made_of[out] = number->second;
        else if (!meets_weights)
          to_.weights_to_know.insert(number->second);
      }
    }
  }

  void check_new(const NodeProto& node, std::size_t first_tensor) {
    for (std::size_t i = first_tensor; i < to_.graph.tensors.size(); ++i) {
      try {
        checked_shape(to_.graph.tensors[TensorId(i)].info.shape, "result");
      } catch (const Error& error) {
        refuse(node, error.what());
      }
    }
  }

  // Gives results their names; `first` is the first op that the node became.
  void take(const NodeProto& node, const Results& results, std::size_t first) {
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string& name = node.output(i);
      if (name.empty()) continue;
      const auto at = static_cast<std::size_t>(i);
      if (at >= results.size() || !results[at].valid()) {
        if (!results.empty()) absent_[name] = &node;
        continue;
      }
      to_.names[name] = results[at];
      Tensor& tensor = to_.graph.tensors[results[at]];
      const bool own = tensor.producer.valid() && static_cast<std::size_t>(tensor.producer.index) >= first;
      if (own) tensor.name = name;
    }
    if (to_.graph.ops.size() == first + 1) to_.graph.ops[OpId(first)].name = path_of(node);
  }

  void check_outputs() {
    for (const auto& output : file_.model.graph().output()) {
      const auto absent = absent_.find(output.name());
      if (absent == absent_.end()) continue;
      not_supported(*absent->second, "result \"" + output.name() + "\", an output of the graph, is not imported");
    }
  }

  void note(const std::string& name, TensorId t) {
    const Tensor& tensor = to_.graph.tensors[t];
    to_.infos[name] = tensor.info;
    constexpr std::int64_t kList = 16;
    const bool list = tensor.kind == TensorKind::constant && tensor.info.shape.size() <= 1 &&
                      tensor.info.elements() <= kList && !is_float(tensor.info.type);
    if (list) to_.integers[name] = integers_of(*tensor.data);
  }

  const ModelFile& file_;
  const ImportOptions& options_;
  const Readers& readers_;
  Conversion to_;
  GraphBuilder b_;
  Context context_;
  std::map<std::string, Sequence> sequences_;       // results that are such, by name
  std::map<std::string, const NodeProto*> absent_;  // results that handlers do not make: of which node
};

}  // namespace

Conversion convert(const ModelFile& file, const NodeOrder& order, const ImportOptions& options,
                   const Conversion* as_in_file) {
  Readers readers = find_readers(file);
  for (;;) {
    Conversion made = Converter(file, options, readers, as_in_file).run(order);
    const std::size_t before = readers.constants.size();
    readers.constants.insert(made.weights_to_know.begin(), made.weights_to_know.end());
    if (readers.constants.size() == before) return made;
  }
}

}  // namespace superstep::onnx_import
