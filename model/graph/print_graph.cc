// SPDX-License-Identifier: Apache-2.0
// A Graph as text: one line per tensor that comes from outside and per op, in order.
#include <iomanip>
#include <ostream>
#include <sstream>

#include "model/graph/graph.h"
#include "model/graph/op_def.h"

namespace superstep {

namespace {

constexpr const char* kPassNames[] = {"forward", "backward", "update"};

template <class T>
void print_list(std::ostream& out, const std::vector<T>& values) {
  out << '[';
  for (std::size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  out << ']';
}

void print_value(std::ostream& out, std::int64_t v) { out << v; }
void print_value(std::ostream& out, double v) { out << std::setprecision(9) << v; }
void print_value(std::ostream& out, const std::string& v) { out << v; }
template <class T>
void print_value(std::ostream& out, const std::vector<T>& v) {
  print_list(out, v);
}

std::string label(const Graph& graph, TensorId t) {
  if (!t.valid()) return "-";
  const Tensor& tensor = graph.tensors[t];
  if (tensor.kind == TensorKind::constant && tensor.info.elements() == 1) {
    std::ostringstream text;
    print_value(text, tensor.data->at(0));
    return text.str();
  }
  return tensor.name.empty() ? "%" + std::to_string(t.index) : tensor.name;
}

void print_sources(std::ostream& out, const Graph& graph, TensorKind kind, const char* title) {
  bool first = true;
  for (const Tensor& t : graph.tensors) {
    if (t.kind != kind || t.producer.valid()) continue;
    if (kind == TensorKind::constant && t.info.elements() == 1) continue;  // shown where they are used
    if (first) out << title << '\n';
    first = false;
    out << "  " << t.name << ' ' << name_of(t.info.type) << ' ' << to_text(t.info.shape) << '\n';
  }
}

void print_op(std::ostream& out, const Graph& graph, const Op& op) {
  out << "    ";
  for (std::size_t i = 0; i < op.outputs.size(); ++i) out << (i ? ", " : "") << label(graph, op.outputs[i]);
  out << " = " << op.def->name << '(';
  for (std::size_t i = 0; i < op.inputs.size(); ++i) out << (i ? ", " : "") << label(graph, op.inputs[i]);
  out << ')';
  for (const AttrSpec& spec : op.def->attrs) {
    const AttrValue* value = op.attrs.find(spec.name);
    if (!value || *value == spec.fallback) continue;
    out << ' ' << spec.name << '=';
    std::visit([&](const auto& v) { print_value(out, v); }, *value);
  }
  out << " :";
  for (TensorId t : op.outputs) out << ' ' << name_of(graph.info(t).type) << ' ' << to_text(graph.info(t).shape);
  out << '\n';
}

}  // namespace

void print(std::ostream& out, const Graph& graph) {
  out << "graph " << graph.name << " micro_batch " << graph.micro_batch << " parameters " << graph.parameters() << '\n';
  print_sources(out, graph, TensorKind::input, "inputs");
  print_sources(out, graph, TensorKind::weight, "weights");
  print_sources(out, graph, TensorKind::optimizer_state, "optimizer state");
  print_sources(out, graph, TensorKind::constant, "constants");
  for (const Unit& unit : graph.units) {
    out << "unit " << unit.name;
    if (unit.layer >= 0) out << " layer " << unit.layer;
    out << '\n';
    for (int pass = 0; pass < 3; ++pass) {
      if (unit.ops[pass].empty()) continue;
      out << "  " << kPassNames[pass] << '\n';
      for (OpId op : unit.ops[pass]) print_op(out, graph, graph.ops[op]);
    }
  }
  if (graph.loss.valid()) out << "loss " << label(graph, graph.loss) << '\n';
  for (const auto& [before, after] : graph.updates) {
    out << "update " << label(graph, before) << " <- " << label(graph, after) << '\n';
  }
}

}  // namespace superstep
