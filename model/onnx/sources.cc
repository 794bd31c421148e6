// SPDX-License-Identifier: Apache-2.0
// Inputs and initializers of a file as inputs, weights and constants of the graph.
#include <fnmatch.h>

#include <algorithm>
#include <cctype>

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

// Quantised weights, which stay in their type and are not trained.
constexpr Role kQuantised[] = {{"DequantizeLinear", 0, 0}, {"QLinearConv", 3, 3},
                               {"QLinearMatMul", 3, 3},    {"QGemm", 3, 3},
                               {"MatMulInteger", 1, 1},    {"ConvInteger", 1, 1}};

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
                               {"QuantizeLinear", 1, 2},
                               {"DequantizeLinear", 1, 2},
                               {"QLinearConv", 1, 2},
                               {"QLinearConv", 4, 7},
                               {"QLinearMatMul", 1, 2},
                               {"QLinearMatMul", 4, 7},
                               {"QGemm", 1, 2},
                               {"QGemm", 4, 5},
                               {"QGemm", 7, 8},
                               {"MatMulInteger", 2, 3},
                               {"ConvInteger", 2, 3},
                               {"SoftmaxCrossEntropyLoss", 2, 2},
                               {"NegativeLogLikelihoodLoss", 2, 2}};

template <std::size_t N>
void note_roles(const NodeProto& node, const Role (&roles)[N], std::set<std::string>& names) {
  for (const Role& role : roles) {
    if (node.op_type() != role.op_type) continue;
    for (int i = role.first; i <= role.last && i < node.input_size(); ++i) names.insert(node.input(i));
  }
}

// False for names that exporters and optimisers give to numbers of the network's code, such as "onnx::Mul_12", "31" and
// "/attention/Constant_output_0". What has a name of its own may be a parameter.
bool is_own_name(const std::string& name) {
  constexpr std::string_view kMade[] = {"::", "onstant", "const", "CONST", "val_", "ortshared", "scalar_tensor"};
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  if (name.find("ReadVariableOp") != std::string::npos) return true;
  const bool path = name.find('/') != std::string::npos || name.find(':') != std::string::npos;  // of a node's result
  return !path && std::ranges::none_of(kMade, [&](std::string_view part) { return name.find(part) != name.npos; });
}

std::string quoted_list(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "\"" : ", \"") + name + '"';
  return out.empty() ? "none" : out;
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
    check_dimensions();
    for (const auto& info : file_.model.training_info()) {
      for (const auto& binding : info.update_binding()) updated_.insert(binding.key());
    }
    for (const TensorProto& tensor : graph_.initializer()) {
      if (readers_.read.contains(tensor.name())) add_initializer(tensor);
    }
    check_frozen();
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
      batch_name_ = batch.dim_param();
      const auto named = options_.dimensions.find(batch_name_);
      if (batch.has_dim_value())
        to_.file_batch = batch.dim_value();
      else if (!batch_name_.empty() && named != options_.dimensions.end())
        to_.file_batch = named->second;
      break;
    }
    b_.graph().sample_dimension = options_.batch_dimension;
    b_.graph().statistics_group = options_.statistics_group;
    const std::int64_t as_file = std::max<std::int64_t>(to_.file_batch, 1);
    b_.graph().micro_batch = options_.micro_batch > 0 ? options_.micro_batch : as_file;
  }

  // The value of a dimension that the file leaves open. Throws Error where nobody says it.
  std::int64_t open_dimension(const ValueInfoProto& input, std::int64_t d) {
    const auto& dim = input.type().tensor_type().shape().dim(static_cast<int>(d));
    const bool named = !dim.dim_param().empty();
    const std::string name = named ? dim.dim_param() : input.name() + "[" + std::to_string(d) + "]";
    open_.insert(name);
    const bool holds_samples = named && name == batch_name_;
    const auto given = options_.dimensions.find(name);
    if (given != options_.dimensions.end() && !holds_samples) return given->second;
    if (holds_samples || d == options_.batch_dimension)
      return std::max<std::int64_t>(options_.micro_batch > 0 ? options_.micro_batch : to_.file_batch, 1);
    throw Error(file_.path, "input \"" + input.name() + "\": dimension " + std::to_string(d) + " is open; give \"" +
                                name + "\" a value: \"dimensions\": {\"" + name +
                                "\": N} beside \"onnx\" in a job, --dim " + name + "=N on the command line");
  }

  void check_dimensions() const {
    for (const auto& [name, value] : options_.dimensions) {
      if (!open_.contains(name))
        throw Error(file_.path, "no open dimension is called \"" + name + "\"; found " + quoted_list(open_));
    }
  }

  // A shape that the options give, where the file leaves it open.
  Shape given_shape(const ValueInfoProto& input, const Shape& given) {
    const auto& dims = input.type().tensor_type().shape();
    for (int d = 0; d < dims.dim_size(); ++d) {
      if (!dims.dim(d).dim_param().empty()) open_.insert(dims.dim(d).dim_param());
    }
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
      if (!dim.has_dim_value()) {
        shape.push_back(open_dimension(input, d));
        continue;
      }
      const bool follows =
          d == options_.batch_dimension && options_.micro_batch > 0 && dim.dim_value() == to_.file_batch;
      shape.push_back(follows ? options_.micro_batch : dim.dim_value());
    }
    try {
      return checked_shape(std::move(shape), what);
    } catch (const Error& error) {
      throw Error(file_.path, error.what());
    }
  }

  DType type_in_graph(DType type) const { return options_.keep_types || !is_float(type) ? type : options_.precision; }

  bool known_type(const std::string& name, const std::string& what, std::int32_t file_type) {
    if (our_type(file_type)) return true;
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
      return read_tensor(tensor, file_.path, options_.read_weights || !weight);
    } catch (const Error& error) {
      throw Error(file_.path, error.what());
    }
  }

  // A single number is a parameter where a layer has it as one, or where it has a name of its own and one reader: what
  // several nodes read is a number of the network's code.
  bool is_weight(const TensorProto& tensor) const {
    const std::string& name = tensor.name();
    if (readers_.constants.contains(name)) return false;
    const bool single = std::ranges::all_of(tensor.dims(), [](std::int64_t extent) { return extent == 1; });
    if (!is_float(*our_type(tensor.data_type()))) return !single && readers_.quantised.contains(name);
    const bool of_module = name.ends_with(".weight") || name.ends_with(".bias");  // as PyTorch calls parameters
    return !single || of_module || readers_.trained.contains(name) ||
           (is_own_name(name) && !readers_.shared.contains(name));
  }

  // Not trained, as the type, the values, the file's training information or the options say. What is not finite is a
  // mask.
  bool is_frozen(const TensorProto& tensor) {
    bool frozen = !is_float(*our_type(tensor.data_type())) || has_infinite(tensor) ||
                  (!updated_.empty() && !updated_.contains(tensor.name()));
    for (const std::string& pattern : options_.frozen) {
      if (fnmatch(pattern.c_str(), tensor.name().c_str(), FNM_NOESCAPE) != 0) continue;
      frozen = true;
      froze_.insert(pattern);
    }
    return frozen;
  }

  void check_frozen() const {
    for (const std::string& pattern : options_.frozen) {
      if (froze_.contains(pattern)) continue;
      std::set<std::string> names;
      for (const TensorProto& tensor : graph_.initializer()) {
        if (names.size() < 6 && our_type(tensor.data_type()) && is_weight(tensor)) names.insert(tensor.name());
      }
      throw Error(file_.path, "frozen \"" + pattern + "\" is the name of no weight; some are " + quoted_list(names));
    }
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
    if (!weight && !is_float(stored.info.type)) {
      throw Error(file_.path, "tensor \"" + tensor.name() + "\": no values found, expected " +
                                  std::to_string(stored.info.elements()));
    }
    const TensorId t = b_.weight(tensor.name(), type, stored.info.shape);
    to_.names[tensor.name()] = t;
    to_.external_weights += stored.external;
    to_.weights_without_data += !data;
    b_.graph().tensors[t].data = std::move(data);
    b_.graph().tensors[t].frozen = is_frozen(tensor);
  }

  const ModelFile& file_;
  const GraphProto& graph_;
  const ImportOptions& options_;
  const Readers& readers_;
  GraphBuilder& b_;
  Conversion& to_;
  std::string batch_name_;
  std::set<std::string> open_;     // names of open dimensions
  std::set<std::string> updated_;  // weights that the file's training information changes; empty: it says nothing
  std::set<std::string> froze_;    // patterns of options_.frozen that are the name of a weight
};

}  // namespace

namespace {

void note_readers(const GraphProto& graph, Readers& readers) {
  for (const NodeProto& node : graph.node()) {
    for (const std::string& name : node.input()) {
      if (!readers.read.insert(name).second) readers.shared.insert(name);
    }
    for (const auto& attribute : node.attribute()) {
      // A derivative names what it differentiates.
      if (domain_of(node.domain()) == kTrainingDomain && attribute.name() == "y") readers.read.insert(attribute.s());
      if (attribute.has_g()) note_readers(attribute.g(), readers);
    }
    note_roles(node, kTrained, readers.trained);
    note_roles(node, kConstants, readers.constants);
    note_roles(node, kQuantised, readers.quantised);
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
