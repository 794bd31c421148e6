// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/annotate.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/onnx/messages.h"
#include "model/onnx/onnx_subset.pb.h"
#include "model/onnx/tensors.h"

namespace superstep {
namespace {

using onnx_file::GraphProto;
using onnx_file::ModelProto;
using onnx_file::NodeProto;

constexpr const char* kDomain = "ai.superstep";
constexpr int kIrVersion = 8, kOpset = 17;  // what ONNX 1.12 reads

std::string place_prefix(const UnitPlace& place) {
  return (place.phase > 0 ? "phase" + std::to_string(place.phase) + "/" : "") + "stage" + std::to_string(place.stage) +
         "/";
}

std::string place_text(const UnitPlace& place, const Unit& unit) {
  std::string out = "stage " + std::to_string(place.stage) + ", IPU " + std::to_string(place.ipu);
  if (place.phase > 0) out += ", phase " + std::to_string(place.phase);
  return out + ", unit " + unit.name;
}

void annotate(NodeProto& node, const std::string& name, const Graph& graph, UnitId unit, const Annotation& a) {
  const UnitPlace& place = a.units[static_cast<std::size_t>(unit.index)];
  node.set_name(place_prefix(place) + name);
  node.set_doc_string((node.doc_string().empty() ? "" : node.doc_string() + "\n") +
                      place_text(place, graph.units[unit]));
}

void annotate(ModelProto& model, const Annotation& a) {
  model.set_doc_string((model.doc_string().empty() ? "" : model.doc_string() + "\n") + a.text);
  for (const auto& [key, value] : a.metadata) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(key), entry.set_value(value);
  }
}

std::int32_t file_type(DType type) {
  using namespace onnx_import;
  switch (type) {
    case DType::fp16:
      return kFloat16;
    case DType::fp32:
      return kFloat;
    case DType::fp64:
      return kDouble;
    case DType::int8:
      return kInt8;
    case DType::int16:
      return kInt16;
    case DType::int32:
      return kInt32;
    case DType::int64:
      return kInt64;
    case DType::uint8:
      return kUint8;
    case DType::uint16:
      return kUint16;
    case DType::uint32:
      return kUint32;
    case DType::uint64:
      return kUint64;
    case DType::boolean:
      return kBool;
    case DType::float8_e4m3:
      return kFloat8E4m3;
    case DType::float8_e5m2:
      return kFloat8E5m2;
  }
  SUPERSTEP_CHECK(false, "a type without a number in ONNX");
}

// "reduce_sum" is ReduceSum.
std::string op_type(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c != '_') out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return out;
}

// ONNX's AttributeProto.AttributeType.
struct SetAttribute {
  onnx_file::AttributeProto& to;
  void operator()(std::int64_t v) const { to.set_type(2), to.set_i(v); }
  void operator()(double v) const { to.set_type(1), to.set_f(static_cast<float>(v)); }
  void operator()(const std::string& v) const { to.set_type(3), to.set_s(v); }
  void operator()(const std::vector<std::int64_t>& v) const {
    to.set_type(7);
    for (const std::int64_t i : v) to.add_ints(i);
  }
  void operator()(const std::vector<double>& v) const {
    to.set_type(6);
    for (const double f : v) to.add_floats(static_cast<float>(f));
  }
};

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, const Annotation& a) : graph_(graph), a_(a) {}

  std::string write() {
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("superstep");
    GraphProto& out = *model_.mutable_graph();
    out.set_name(graph_.name.empty() ? "model" : graph_.name);
    for (const auto& [domain, version] : {std::pair{"", kOpset}, {kDomain, 1}}) {
      auto& set = *model_.add_opset_import();
      set.set_domain(domain), set.set_version(version);
    }
    for (const TensorId t : graph_.inputs) add_info(t, *out.add_input());
    for (const Op& op : graph_.ops) {
      if (op.pass == Pass::forward) add_node(op);
    }
    for (const TensorId t : graph_.outputs) {
      if (made_.contains(t)) add_info(t, *out.add_output());
    }
    annotate(model_, a_);
    return model_.SerializeAsString();
  }

 private:
  // The tensor's own name, where no other one has it.
  const std::string& name_of(TensorId t) {
    auto [at, fresh] = names_.try_emplace(t);
    if (!fresh) return at->second;
    std::string name = graph_.tensors[t].name;
    if (name.empty() || used_.contains(name)) name += "%" + std::to_string(t.index);
    used_.insert(name);
    return at->second = name;
  }

  void add_info(TensorId t, onnx_file::ValueInfoProto& info) {
    made_.insert(t);
    info.set_name(name_of(t));
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(file_type(graph_.info(t).type));
    auto& shape = *tensor.mutable_shape();
    for (const std::int64_t extent : graph_.info(t).shape) shape.add_dim()->set_dim_value(extent);
  }

  // What no node makes: an initializer where its one value is known, else an input.
  void add_source(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    GraphProto& out = *model_.mutable_graph();
    if (!tensor.data || tensor.kind != TensorKind::constant || tensor.info.elements() != 1) {
      add_info(t, *out.add_input());
      return;
    }
    made_.insert(t);
    auto& value = *out.add_initializer();
    value.set_name(name_of(t));
    value.set_data_type(file_type(tensor.info.type));
    for (const std::int64_t extent : tensor.info.shape) value.add_dims(extent);
    value.set_raw_data(tensor.data->data.data(), tensor.data->data.size());
  }

  void add_node(const Op& op) {
    for (const TensorId t : op.inputs) {
      if (t.valid() && !made_.contains(t)) add_source(t);
    }
    NodeProto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op_type(op.def->name));
    node.set_domain(kDomain);
    annotate(node, op.name, graph_, op.unit, a_);
    for (const TensorId t : op.inputs) node.add_input(t.valid() ? name_of(t) : "");
    for (const TensorId t : op.outputs) {
      node.add_output(name_of(t));
      if (std::find(graph_.outputs.begin(), graph_.outputs.end(), t) == graph_.outputs.end())
        add_info(t, *model_.mutable_graph()->add_value_info());
      made_.insert(t);
    }
    for (const auto& [name, value] : op.attrs.items()) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(name);
      std::visit(SetAttribute{attribute}, value);
    }
    const UnitPlace& place = a_.units[static_cast<std::size_t>(op.unit.index)];
    for (const auto& [name, value] : {std::pair{"stage", place.stage}, {"ipu", place.ipu}, {"phase", place.phase}}) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(name);
      SetAttribute{attribute}(value);
    }
  }

  const Graph& graph_;
  const Annotation& a_;
  ModelProto model_;
  std::map<TensorId, std::string> names_;
  std::set<std::string> used_;
  std::set<TensorId> made_;
};

// Of the op that makes one of the node's results; invalid: the node left no op.
UnitId unit_of(const NodeProto& node, const ImportResult& imported) {
  for (const std::string& output : node.output()) {
    const auto at = imported.names.find(output);
    if (at == imported.names.end()) continue;
    const OpId producer = imported.graph.tensors[at->second].producer;
    if (producer.valid()) return imported.graph.ops[producer].unit;
  }
  return {};
}

// By tensor: the unit of the first node that reads it, through nodes that left no op.
std::map<std::string, UnitId> first_readers(const onnx_import::ModelFile& file, const ImportResult& imported) {
  std::map<std::string, UnitId> out;
  const std::vector<const NodeProto*> order = onnx_import::running_order(file);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    UnitId unit = unit_of(**node, imported);
    for (const std::string& output : (*node)->output()) {
      if (!unit.valid() && out.contains(output)) unit = out[output];
    }
    if (!unit.valid()) continue;
    for (const std::string& input : (*node)->input()) out[input] = unit;
  }
  return out;
}

}  // namespace

std::string annotated_onnx(const Graph& graph, const Annotation& annotation) {
  SUPERSTEP_CHECK(annotation.units.size() == graph.units.size(), "a place for each unit");
  return GraphWriter(graph, annotation).write();
}

std::string annotated_onnx(const std::string& path, const ImportResult& imported, const Annotation& annotation) {
  return onnx_import::annotated_messages(onnx_import::read_model(path), imported, annotation);
}

std::string onnx_import::annotated_messages(ModelFile file, const ImportResult& imported,
                                            const Annotation& annotation) {
  SUPERSTEP_CHECK(annotation.units.size() == imported.graph.units.size(), "a place for each unit");
  const std::map<std::string, UnitId> readers = first_readers(file, imported);
  for (NodeProto& node : *file.model.mutable_graph()->mutable_node()) {
    UnitId unit = unit_of(node, imported);
    for (const std::string& output : node.output()) {
      const auto reader = readers.find(output);
      if (!unit.valid() && reader != readers.end()) unit = reader->second;
    }
    if (unit.valid()) annotate(node, onnx_import::label(node), imported.graph, unit, annotation);
  }
  annotate(file.model, annotation);
  return file.model.SerializeAsString();
}

}  // namespace superstep
