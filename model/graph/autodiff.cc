// SPDX-License-Identifier: Apache-2.0
// Reverse accumulation over the ops in reverse order.
#include "model/graph/autodiff.h"

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/ops/op.h"

namespace superstep {

namespace {

// Tensors through which a trained weight has a gradient: a path ends where a gradient is stopped.
std::vector<bool> depends_on_weights(const Graph& graph) {
  std::vector<bool> depends(graph.tensors.size());
  for (std::size_t i = 0; i < depends.size(); ++i) {
    depends[i] = graph.tensors[TensorId(i)].kind == TensorKind::weight;
  }
  for (const Op& op : graph.ops) {
    bool any = false;
    if (op.def->name == "stop_gradient") continue;
    for (TensorId t : op.inputs) any = any || (t.valid() && depends[static_cast<std::size_t>(t.index)]);
    for (TensorId t : op.outputs) depends[static_cast<std::size_t>(t.index)] = any && is_float(graph.info(t).type);
  }
  return depends;
}

class Backward {
 public:
  explicit Backward(Graph& graph)
      : graph_(graph), builder_(graph), wanted_(depends_on_weights(graph)), sums_(graph.tensors.size()) {
    builder_.set_pass(Pass::backward);
    builder_.set_wanted(&wanted_);
  }

  std::map<TensorId, TensorId> run() {
    start();
    for (std::size_t i = graph_.ops.size(); i-- > 0;) visit(OpId(i));
    return weight_gradients();
  }

 private:
  // The gradient of the loss for itself is 1.
  void start() {
    if (!graph_.loss.valid()) throw Error(graph_.name, "the model has no loss to differentiate");
    const TensorInfo info = graph_.info(graph_.loss);
    if (info.elements() != 1) throw Error(graph_.name, "the loss is not a scalar: " + to_text(info.shape));
    Array one(info);
    one.set(0, 1);
    add(graph_.loss, builder_.constant(std::move(one), "loss_gradient"));
  }

  void visit(OpId id) {
    const OpDef& def = *graph_.ops[id].def;
    const std::vector<TensorId> outputs = graph_.ops[id].outputs;
    bool reached = false;
    for (TensorId t : outputs) reached = reached || (sum(t).valid() && wanted_[static_cast<std::size_t>(t.index)]);
    if (!reached) return;
    builder_.set_unit(graph_.ops[id].unit);
    const GraphBuilder::Scope scope(builder_, graph_.ops[id].name + "_grad");
    if (const GradientRule* rule = graph_.ops[id].gradient_rule) {
      const TensorId operand = graph_.ops[id].gradient_operand;
      if (builder_.wants(operand)) add(operand, rule->gradient(builder_, operand, outputs[0], sum(outputs[0])));
      return;
    }
    if (!def.gradient) throw Error(graph_.ops[id].name, "op " + std::string(def.name) + " has no gradient");
    std::vector<TensorId> out_grads;
    for (TensorId t : outputs) out_grads.push_back(def.broadcast_gradient || !sum(t).valid() ? sum(t) : full(t));
    const std::vector<TensorId> inputs = graph_.ops[id].inputs;
    const std::vector<TensorId> grads = def.gradient(builder_, id, out_grads);
    SUPERSTEP_CHECK(grads.size() == inputs.size(), "one gradient per operand of " + std::string(def.name));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (grads[i].valid() && builder_.wants(inputs[i])) add(inputs[i], grads[i]);
    }
  }

  TensorId& sum(TensorId t) { return sums_[static_cast<std::size_t>(t.index)]; }

  // Adds a contribution; sums are made where the contribution is, so that one tensor crosses a cut.
  void add(TensorId t, TensorId gradient) {
    TensorId& total = sum(t);
    if (!total.valid()) {
      total = gradient;
      return;
    }
    const DType type = graph_.info(t).type;
    const TensorId a = builder_.cast(total, type), b = builder_.cast(gradient, type);
    total = builder_.binary("add", a, b);
  }

  // The gradient in the shape and type of its tensor: gradients of sums are kept small until needed.
  TensorId full(TensorId t) {
    const TensorInfo info = graph_.info(t);
    return sum(t) = builder_.expand(builder_.cast(sum(t), info.type), info.shape);
  }

  std::map<TensorId, TensorId> weight_gradients() {
    std::map<TensorId, TensorId> result;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const TensorId weight{i};
      if (graph_.tensors[weight].kind != TensorKind::weight || !sums_[i].valid()) continue;
      result[weight] = own_gradient(weight);
    }
    return result;
  }

  // A tensor of the weight's own, marked as its gradient.
  TensorId own_gradient(TensorId weight) {
    builder_.set_unit(last_unit(weight));
    const GraphBuilder::Scope scope(builder_, graph_.tensors[weight].name + "_gradient");
    TensorId gradient = full(weight);
    if (!graph_.tensors[gradient].producer.valid() || graph_.tensors[gradient].kind != TensorKind::activation) {
      gradient = builder_.one("copy", {gradient});
    }
    graph_.tensors[gradient].kind = TensorKind::weight_gradient;
    graph_.tensors[gradient].weight = weight;
    return gradient;
  }

  UnitId last_unit(TensorId weight) const {
    const OpId producer = graph_.tensors[sums_[static_cast<std::size_t>(weight.index)]].producer;
    return producer.valid() ? graph_.ops[producer].unit : UnitId(std::size_t{0});
  }

  Graph& graph_;
  GraphBuilder builder_;
  std::vector<bool> wanted_;
  std::vector<TensorId> sums_;  // per forward tensor: the gradient so far
};

}  // namespace

std::map<TensorId, TensorId> add_gradients(Graph& graph) { return Backward(graph).run(); }

}  // namespace superstep
