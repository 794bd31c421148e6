// SPDX-License-Identifier: Apache-2.0
// Invariants of a graph.
#include "model/error.h"
#include "model/graph/op_def.h"

namespace superstep {

namespace {

void check_unit(const Graph& graph, UnitId unit) {
  for (int pass = 0; pass < 3; ++pass) {
    for (OpId id : graph.units[unit].ops[pass]) {
      const Op& op = graph.ops[id];
      SUPERSTEP_CHECK(op.unit == unit && static_cast<int>(op.pass) == pass,
                      "op " + op.name + " in the list of its unit");
    }
  }
}

void check_op(const Graph& graph, OpId id, const std::vector<bool>& defined) {
  const Op& op = graph.ops[id];
  const auto inputs = static_cast<int>(op.inputs.size());
  SUPERSTEP_CHECK(op.def != nullptr, "op " + op.name + " has a definition");
  SUPERSTEP_CHECK(op.unit.valid(), "op " + op.name + " has a unit");
  SUPERSTEP_CHECK(inputs >= op.def->min_inputs && inputs <= op.def->max_inputs, "operand count of " + op.name);
  for (TensorId t : op.inputs) {
    SUPERSTEP_CHECK(!t.valid() || defined[static_cast<std::size_t>(t.index)], "operands come before " + op.name);
  }
  for (TensorId t : op.outputs)
    SUPERSTEP_CHECK(graph.tensors[t].producer == id, "producer of the result of " + op.name);
  for (const AttrSpec& spec : op.def->attrs) {
    SUPERSTEP_CHECK(op.attrs.find(spec.name), "attribute " + std::string(spec.name) + " of " + op.name);
  }
}

}  // namespace

void check(const Graph& graph) {
  std::vector<bool> defined(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    defined[i] = !tensor.producer.valid();
    SUPERSTEP_CHECK(tensor.kind != TensorKind::constant || tensor.data, "values of constant " + tensor.name);
    SUPERSTEP_CHECK(tensor.kind != TensorKind::weight_gradient || tensor.weight.valid(), "weight of " + tensor.name);
  }
  std::size_t listed = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    check_op(graph, OpId(i), defined);
    for (TensorId t : graph.ops[OpId(i)].outputs) defined[static_cast<std::size_t>(t.index)] = true;
  }
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    check_unit(graph, UnitId(u));
    for (const auto& pass : graph.units[UnitId(u)].ops) listed += pass.size();
  }
  SUPERSTEP_CHECK(listed == graph.ops.size(), "every op is in the list of one unit");
  for (const auto& [before, after] : graph.updates) {
    SUPERSTEP_CHECK(graph.info(before) == graph.info(after),
                    "an update keeps the type of " + graph.tensors[before].name);
  }
}

}  // namespace superstep
