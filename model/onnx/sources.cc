// SPDX-License-Identifier: Apache-2.0
// Inputs and initializers of a file as inputs, weights and constants of the graph.
#include <optional>

#include "model/error.h"
#include "model/onnx/conversion.h"

namespace superstep::onnx_import {

namespace {

using onnx_file::GraphProto;
using onnx_file::NodeProto;
using onnx_file::TensorProto;
using onnx_file::ValueInfoProto;

struct Role {
  std::string_view op_type;
  int first, last;  // operands
};

// Parameters of layers, trained whatever their size.
constexpr Role kTrained[] = {{"Conv", 1, 2},
                             {"ConvTranspose", 1, 2},
                             {"Gemm", 1, 2},
                             {"MatMul", 0, 1},
                             {"BatchNormalization", 1, 2},
                             {"InstanceNormalization", 1, 2},
                             {"GroupNormalization", 1, 2},
                             {"LayerNormalization", 1, 2},
                             {"RMSNormalization", 1, 1},
                             {"PRelu", 1, 1},
                             {"LSTM", 1, 3},
                             {"GRU", 1, 3},
                             {"RNN", 1, 3}};

// Not trained: running statistics, states to start from, numbers that decide what an op does.
constexpr Role kConstants[] = {{"BatchNormalization", 3, 4},
                               {"LSTM", 5, 6},
                               {"GRU", 5, 5},
                               {"RNN", 5, 5},
                               {"OneHot", 1, 2},
                               {"Clip", 1, 2},
                               {"Pad", 1, 3},
                               {"Range", 0, 2},
                               {"Dropout", 1, 2},
                               {"SoftmaxCrossEntropyLoss", 2, 2},
                               {"NegativeLogLikelihoodLoss", 2, 2}};

template <std::size_t N>
void note_roles(const NodeProto& node, const Role (&roles)[N], std::set<std::string>& names) {
  for (const Role& role : roles) {
    if (node.op_type() != role.op_type) continue;
    for (int i = role.first; i <= role.last && i < node.input_size(); ++i) names.insert(node.input(i));
  }
}

// The value of a dimension that the file leaves open; none when it is not known.
std::optional<std::int64_t> open_dimension(const onnx_file::TensorShapeProto::Dimension& dim, bool batch,
                                           const ImportOptions& options) {
  const auto named = options.dimensions.find(dim.dim_param());
  if (!dim.dim_param().empty() && named != options.dimensions.end()) return named->second;
  if (batch) return std::max<std::int64_t>(options.micro_batch, 1);
  return std::nullopt;
}

class Sources {
 public:
  Sources(const ModelFile& file, const ImportOptions& options, const Readers& readers, GraphBuilder& b, Conversion& to)
      : file_(file), graph_(file.model.graph()), options_(options), readers_(readers), b_(b), to_(to) {}

  void add() {
    std::set<std::string> stored;
    for (const TensorProto& tensor : graph_.initializer()) stored.insert(tensor.name());
    note_batch(stored);
    for (const ValueInfoProto& input : graph_.input()) {
      if (!stored.contains(input.name())) add_input(input);
    }
    for (const TensorProto& tensor : graph_.initializer()) {
      if (readers_.read.contains(tensor.name())) add_initializer(tensor);
    }
    for (const auto& sparse : graph_.sparse_initializer()) {
      not_supported(sparse.values().name(), "initializer", "stored sparsely");
    }
  }

 private:
  void not_supported(const std::string& name, const std::string& what, const std::string& why) {
    to_.unsupported.push_back({name, what, "", why});
  }

  // The batch is a dimension of the first input that has dimensions.
  void note_batch(const std::set<std::string>& stored) {
    for (const ValueInfoProto& input : graph_.input()) {
      const auto& shape = input.type().tensor_type().shape();
      if (stored.contains(input.name()) || shape.dim_size() == 0) continue;
      if (shape.dim_size() <= options_.batch_dimension) {
        throw Error(file_.path, "input \"" + input.name() + "\" has " + std::to_string(shape.dim_size()) +
                                    " dimensions, found batch_dimension " + std::to_string(options_.batch_dimension));
      }
      const auto& batch = shape.dim(options_.batch_dimension);
      if (batch.has_dim_value()) to_.file_batch = batch.dim_value();
      batch_name_ = batch.dim_param();
      break;
    }
    b_.graph().sample_dimension = options_.batch_dimension;
    b_.graph().statistics_group = options_.statistics_group;
    const std::int64_t as_file = std::max<std::int64_t>(to_.file_batch, 1);
    b_.graph().micro_batch = options_.micro_batch > 0 ? options_.micro_batch : as_file;
  }

  // A shape that the options give, where the file leaves it open.
  Shape given_shape(const ValueInfoProto& input, const Shape& given) const {
    const auto& dims = input.type().tensor_type().shape();
    bool agrees = !input.type().tensor_type().has_shape() || dims.dim_size() == static_cast<int>(given.size());
    for (int d = 0; agrees && d < dims.dim_size(); ++d) {
      agrees = !dims.dim(d).has_dim_value() || dims.dim(d).dim_value() == given[static_cast<std::size_t>(d)];
    }
    if (agrees) return given;
    Shape file;
    for (const auto& dim : dims.dim()) file.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    throw Error(file_.path, "input \"" + input.name() + "\": shape " + to_text(given) + " given, the file says " +
                                to_text(file) + " (-1: open)");
  }

  Shape shape_of(const ValueInfoProto& input) {
    const auto given = options_.input_shapes.find(input.name());
    if (given != options_.input_shapes.end()) return given_shape(input, given->second);
    const std::string what = "input \"" + input.name() + "\"";
    Shape shape;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const auto d = static_cast<std::int64_t>(shape.size());
      const bool same_name = !batch_name_.empty() && dim.dim_param() == batch_name_;
      std::optional<std::int64_t> extent;
      if (dim.has_dim_value()) {
        const bool follows =
            d == options_.batch_dimension && options_.micro_batch > 0 && dim.dim_value() == to_.file_batch;
        extent = follows ? options_.micro_batch : dim.dim_value();
      } else {
        extent = open_dimension(dim, d == options_.batch_dimension || same_name, options_);
      }
      if (!extent) {
        const std::string name = dim.dim_param().empty() ? "without a name" : "\"" + dim.dim_param() + "\"";
        throw Error(file_.path,
                    what + ": dimension " + std::to_string(d) + " is symbolic (" + name + "), expected its value");
      }
      shape.push_back(*extent);
    }
    try {
      return checked_shape(std::move(shape), what);
    } catch (const Error& error) {
      throw Error(file_.path, error.what());
    }
  }

  DType type_in_graph(DType type) const { return options_.keep_types || !is_float(type) ? type : options_.precision; }

  bool known_type(const std::string& name, const std::string& what, std::int32_t file_type) {
    if (our_type(file_type) && !(options_.keep_types && file_type == kBfloat16)) return true;
    not_supported(name, what, "type " + type_name(file_type));
    return false;
  }

  void add_input(const ValueInfoProto& input) {
    if (!input.type().has_tensor_type()) return not_supported(input.name(), "input", "not a tensor");
    const std::int32_t file_type = input.type().tensor_type().elem_type();
    if (!known_type(input.name(), "input", file_type)) return;
    const DType type = type_in_graph(*our_type(file_type));
    const auto known = options_.known_inputs.find(input.name());
    if (known != options_.known_inputs.end()) {
      const Array& value = known->second;
      to_.names[input.name()] = b_.constant(value.info.type == type ? value : converted(value, type), input.name());
      return;
    }
    to_.names[input.name()] = b_.input(input.name(), type, shape_of(input));
  }

  StoredTensor stored_tensor(const TensorProto& tensor, bool weight) {
    try {
      return read_tensor(tensor, file_.folder(), options_.read_weights || !weight);
    } catch (const Error& error) {
      throw Error(file_.path, error.what());
    }
  }

  bool is_weight(const TensorProto& tensor) const {
    const std::string& name = tensor.name();
    if (!is_float(*our_type(tensor.data_type())) || readers_.constants.contains(name)) return false;
    std::int64_t elements = 1;
    for (std::int64_t extent : tensor.dims()) elements = extent == 1 ? elements : 2;
    return elements > 1 || readers_.trained.contains(name);
  }

  void add_initializer(const TensorProto& tensor) {
    if (!known_type(tensor.name(), "initializer", tensor.data_type())) return;
    const bool weight = is_weight(tensor);
    const StoredTensor stored = stored_tensor(tensor, weight);
    const DType type = type_in_graph(stored.info.type);
    const bool with_values = stored.data && (!weight || options_.read_weights);
    std::shared_ptr<const Array> data;
    if (with_values) {
      data = stored.info.type == type ? stored.data : std::make_shared<const Array>(converted(*stored.data, type));
    }
    if (!weight && data) {
      to_.names[tensor.name()] = b_.constant(*data, tensor.name());
      return;
    }
    if (!is_float(stored.info.type)) {
      throw Error(file_.path, "tensor \"" + tensor.name() + "\": no values found, expected " +
                                  std::to_string(stored.info.elements()));
    }
    const TensorId t = b_.weight(tensor.name(), type, stored.info.shape);
    to_.names[tensor.name()] = t;
    to_.external_weights += stored.external;
    to_.weights_without_data += !data;
    b_.graph().tensors[t].data = std::move(data);
  }

  const ModelFile& file_;
  const GraphProto& graph_;
  const ImportOptions& options_;
  const Readers& readers_;
  GraphBuilder& b_;
  Conversion& to_;
  std::string batch_name_;
};

}  // namespace

namespace {

void note_readers(const GraphProto& graph, Readers& readers) {
  for (const NodeProto& node : graph.node()) {
    readers.read.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      // A derivative names what it differentiates.
      if (domain_of(node.domain()) == kTrainingDomain && attribute.name() == "y") readers.read.insert(attribute.s());
      if (attribute.has_g()) note_readers(attribute.g(), readers);
    }
    note_roles(node, kTrained, readers.trained);
    note_roles(node, kConstants, readers.constants);
  }
  for (const ValueInfoProto& output : graph.output()) readers.read.insert(output.name());
}

}  // namespace

Readers find_readers(const ModelFile& file) {
  Readers readers;
  note_readers(file.model.graph(), readers);
  readers.read.erase("");
  return readers;
}

void add_sources(const ModelFile& file, const ImportOptions& options, const Readers& readers, GraphBuilder& b,
                 Conversion& to) {
  Sources(file, options, readers, b, to).add();
}

}  // namespace superstep::onnx_import
