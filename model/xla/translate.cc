// SPDX-License-Identifier: Apache-2.0
#include "model/xla/translate.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>

#include "model/error.h"
#include "model/xla/literal.h"
#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

constexpr int kOpset = 17;
constexpr std::int64_t kMostNodes = 500'000, kMostTurns = 10'000;

// Custom calls that are annotations: their operand is their result.
constexpr std::array kAnnotations = {"Sharding",
                                     "SPMDFullToShardShape",
                                     "SPMDShardToFullShape",
                                     "xla.sdy.FuncResultSharding",
                                     "annotate_device_placement",
                                     "LayoutConstraint"};

// One computation that is being written out.
struct Frame {
  const Computation& computation;
  const std::vector<Value>& arguments;
  std::string path;  // of calls, "call.3/"
  std::map<std::int64_t, Value> values;
};

// What a framework calls the place of an instruction, without the names of jitted functions: "mlp/dense/".
std::string place_of(const Instruction& in) {
  std::string out, part;
  for (char c : in.metadata().op_name()) {
    part += c;
    if (c != '/') continue;
    if (part.find('(') == std::string::npos) out += part;
    part.clear();
  }
  return out;
}

class Translator {
 public:
  Translator(const std::string& path, const Program& program, const std::vector<std::string>& patterns)
      : program_(program), patterns_(patterns), w_(to_.file.model) {
    to_.file.path = path;
    to_.file.opsets = {{"", kOpset}};
    to_.file.model.set_producer_name("XLA");
    auto& opset = *to_.file.model.add_opset_import();
    opset.set_domain("");
    opset.set_version(kOpset);
    to_.file.model.mutable_graph()->set_name(program.module().name());
  }

  Translation run() {
    std::vector<Value> arguments;
    const std::vector<Parameter> leaves = find_parameters(program_, patterns_);
    std::size_t next = 0;
    for (const Instruction* in : program_.parameters(program_.entry()))
      arguments.push_back(argument(*in, in->shape(), leaves, next));
    outputs(write(program_.entry(), arguments, ""));
    to_.shapes = w_.shapes();
    return std::move(to_);
  }

 private:
  Value argument(const Instruction& in, const hlo_file::ShapeProto& shape, const std::vector<Parameter>& leaves,
                 std::size_t& next) {
    if (shape.element_type() == kTuple) {
      Value tuple{.type = kTuple};
      for (const auto& part : shape.tuple_shapes()) tuple.parts.push_back(argument(in, part, leaves, next));
      return tuple;
    }
    const Parameter& leaf = leaves.at(next++);
    const Value value = whole(shape.element_type(), {shape.dimensions().begin(), shape.dimensions().end()}, leaf.name);
    try {
      add_source(leaf, value);
    } catch (const Refusal& refusal) {
      program_.fail(in, refusal.why);
    }
    return value;
  }

  void add_source(const Parameter& leaf, const Value& value) {
    onnx_file::GraphProto& graph = *to_.file.model.mutable_graph();
    if (leaf.weight) {  // without values
      onnx_file::TensorProto& tensor = *graph.add_initializer();
      tensor.set_name(leaf.name);
      tensor.set_data_type(onnx_type(value.type));
      tensor.mutable_dims()->Add(value.shape.begin(), value.shape.end());
      return;
    }
    onnx_file::ValueInfoProto& input = *graph.add_input();
    input.set_name(leaf.name);
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(onnx_type(value.type));
    tensor.mutable_shape();
    for (std::int64_t extent : value.shape) tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }

  void outputs(const Value& value) {
    for (const Value& part : value.parts) outputs(part);
    if (value.type == kTuple) return;
    std::string name = w_.full(value);
    onnx_file::GraphProto& graph = *to_.file.model.mutable_graph();
    const bool taken = std::ranges::any_of(graph.output(), [&](const auto& o) { return o.name() == name; });
    if (taken) name = w_.add("Identity", {name});
    graph.add_output()->set_name(name);
  }

  // The nodes of a computation; returns its root's value.
  Value write(const Computation& c, const std::vector<Value>& arguments, const std::string& path) {
    if (!open_.insert(&c).second) throw Error(to_.file.path, "computation \"" + c.name() + "\" calls itself");
    Frame frame{c, arguments, path, {}};
    const std::vector<const Instruction*>& order = program_.order(c);
    for (const Instruction* in : order) frame.values[in->id()] = write(*in, frame);
    open_.erase(&c);
    return frame.values.at(order.back()->id());
  }

  Value write(const Instruction& in, Frame& frame) {
    std::vector<Value> operands;
    for (std::int64_t id : in.operand_ids()) operands.push_back(frame.values.at(id));
    const std::string name = frame.path + in.name(), label = frame.path + place_of(in) + in.name();
    w_.begin(name, label);
    try {
      if (w_.nodes() > kMostNodes) throw Refusal{"the program has more than 500,000 nodes, written out"};
      return make(in, operands, frame, name + "/");
    } catch (const Refusal& refusal) {
      to_.refusals[label] = refusal.why;
      w_.begin(name, label);
      return refused(in, operands);
    } catch (const std::out_of_range&) {
      program_.fail(in, "its operands, dimensions and shapes do not go together");
    }
  }

  Value refused(const Instruction& in, const std::vector<Value>& operands) {
    std::vector<std::string> names;
    for (const Value& operand : operands) {
      if (!operand.tensor.empty()) names.push_back(operand.tensor);
    }
    const auto& parts = in.shape().tuple_shapes();
    const std::vector<std::string> results = w_.add_refused(in.opcode(), names, std::max(parts.size(), 1));
    const auto value = [&](const hlo_file::ShapeProto& shape, const std::string& tensor) {
      return whole(shape.element_type(), {shape.dimensions().begin(), shape.dimensions().end()}, tensor);
    };
    if (in.shape().element_type() != kTuple) return value(in.shape(), results[0]);
    Value tuple{.type = kTuple};
    for (int i = 0; i < parts.size(); ++i) tuple.parts.push_back(value(parts[i], results[static_cast<std::size_t>(i)]));
    return tuple;
  }

  Value make(const Instruction& in, std::vector<Value>& operands, Frame& frame, const std::string& path) {
    const std::string& op = in.opcode();
    if (op == "parameter") return frame.arguments.at(static_cast<std::size_t>(in.parameter_number()));
    if (op == "constant") return constant(in);
    if (op == "tuple") return {.type = kTuple, .parts = std::move(operands)};
    if (op == "get-tuple-element") return operands.at(0).parts.at(static_cast<std::size_t>(in.tuple_index()));
    if (op == "copy" || op == "optimization-barrier" || op == "opt-barrier" || op == "domain") return operands.at(0);
    if (op == "call" || op == "fusion") return write(program_.called(in, 0), operands, path);
    if (op == "while") return loop(in, operands.at(0), path);
    if (op == "conditional") return branch(in, operands, path);
    if (op == "custom-call") return custom_call(in, operands);
    const Handler handler = find_handler(op);
    if (!handler) throw Refusal{why_not(op)};
    onnx_type(in.shape().element_type() == kTuple ? std::int32_t{kF32} : in.shape().element_type());
    Call call{program_, frame.computation, in, std::move(operands), w_};
    return w_.finish(handler(call));
  }

  static std::string why_not(const std::string& op) {
    if (op.starts_with("rng"))
      return "random numbers are not imported; dump the program without dropout, or give them as an input";
    if (op.starts_with("all-") || op.starts_with("collective") || op.starts_with("reduce-scatter"))
      return "the program is already divided among devices; dump it before the partitioner (before_optimizations)";
    return "opcode \"" + op + "\" is not imported; dump the forward pass alone, or write it with other operations";
  }

  Value constant(const Instruction& in) {
    if (in.shape().element_type() == kTuple) throw Refusal{"a tuple as a constant; make it of constants"};
    Value value = literal_value(in.literal(), w_);
    if (!std::ranges::equal(value.shape, in.shape().dimensions())) throw std::out_of_range("shape");
    const auto is_weight = [&](const std::string& p) {
      return fnmatch(p.c_str(), in.name().c_str(), FNM_NOESCAPE) == 0;
    };
    if (value.number || !is_floating(value.type) || std::ranges::none_of(patterns_, is_weight)) return w_.finish(value);
    onnx_file::GraphProto& graph = *to_.file.model.mutable_graph();
    onnx_file::TensorProto& tensor = *graph.add_initializer();
    tensor = literal_tensor(in.literal());
    tensor.set_name(in.name());
    return whole(value.type, value.shape, in.name());
  }

  Value custom_call(const Instruction& in, const std::vector<Value>& operands) {
    if (std::ranges::find(kAnnotations, in.custom_call_target()) != kAnnotations.end()) return operands.at(0);
    throw Refusal{
        "calls \"" + in.custom_call_target() +
        "\", a routine outside of the program; dump the program before optimizations, without custom kernels"};
  }

  // Turn by turn, as long as the condition is known to be true.
  Value loop(const Instruction& in, Value state, const std::string& path) {
    const Computation &body = program_.called(in, 0), &condition = program_.called(in, 1);
    for (std::int64_t turn = 0;; ++turn) {
      const std::string at = path.substr(0, path.size() - 1) + "[" + std::to_string(turn) + "]/";
      const Value more = write(condition, {state}, at);
      if (!more.number || turn > kMostTurns || w_.nodes() > kMostNodes)
        throw Refusal{
            "the number of its turns is not known when importing, or too large; write the loop out "
            "(jax.lax.scan with unroll=True)"};
      if (*more.number == 0) return state;
      state = write(body, {state}, at);
    }
  }

  // Branches by number, or the first for true.
  Value branch(const Instruction& in, const std::vector<Value>& operands, const std::string& path) {
    const Value& index = operands.at(0);
    if (!index.number) throw Refusal{"data decide which branch runs; compute both and select"};
    const std::int64_t last = in.called_computation_ids_size() - 1;
    const bool inside = *index.number >= 0 && *index.number <= static_cast<double>(last);
    const std::int64_t asked = inside ? static_cast<std::int64_t>(*index.number) : last;
    const std::int64_t taken = index.type == kPred ? 1 - asked : asked;
    return write(program_.called(in, static_cast<int>(taken)), {operands.at(static_cast<std::size_t>(taken) + 1)},
                 path);
  }

  const Program& program_;
  const std::vector<std::string>& patterns_;
  Translation to_;
  Writer w_;
  std::set<const Computation*> open_;  // being written out
};

}  // namespace

Translation translate(const std::string& path, const Program& program, const std::vector<std::string>& patterns) {
  return Translator(path, program, patterns).run();
}

}  // namespace superstep::xla_import
