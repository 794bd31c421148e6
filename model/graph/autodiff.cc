// SPDX-License-Identifier: Apache-2.0
// Reverse accumulation over the ops in reverse order.
#include "model/graph/autodiff.h"

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"

namespace superstep {

namespace {

// One mark per tensor.
std::vector<bool> marks(const Graph& graph, const std::vector<TensorId>& on) {
  std::vector<bool> all(graph.tensors.size());
  for (TensorId t : on) all[static_cast<std::size_t>(t.index)] = true;
  return all;
}

std::vector<TensorId> trained_weights(const Graph& graph) {
  std::vector<TensorId> all;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::weight && !tensor.frozen) all.emplace_back(i);
  }
  return all;
}

// Tensors whose values depend on one that is marked, these among them: a path ends where a gradient is stopped.
std::vector<bool> depends_on(const Graph& graph, std::vector<bool> depends) {
  for (const Op& op : graph.ops) {
    if (stops_gradients(*op.def)) continue;
    bool any = false;
    for (TensorId t : op.inputs) any = any || (t.valid() && depends[static_cast<std::size_t>(t.index)]);
    if (!any) continue;
    for (TensorId t : op.outputs) {
      if (is_float(graph.info(t).type)) depends[static_cast<std::size_t>(t.index)] = true;
    }
  }
  return depends;
}

class Backward {
 public:
  // Gradients are made for `roots`, which are independent of each other.
  Backward(GraphBuilder& builder, const std::vector<TensorId>& roots)
      : graph_(builder.graph()),
        builder_(builder),
        roots_(marks(graph_, roots)),
        wanted_(depends_on(graph_, roots_)),
        sums_(graph_.tensors.size()) {
    builder_.set_wanted(&wanted_);
  }
  ~Backward() { builder_.set_wanted(nullptr); }
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;

  // From `y`, whose gradient for itself is 1 or what is fed as the loss scale, down to the roots.
  void run(TensorId y, LossScaling scaling = LossScaling::none) {
    const std::size_t forward_ops = graph_.ops.size();
    Array one(graph_.info(y));
    for (std::int64_t i = 0; i < one.info.elements(); ++i) one.set(i, 1);
    if (scaling == LossScaling::none) {
      add(y, builder_.constant(std::move(one), "loss_gradient"));
    } else {
      builder_.set_unit(graph_.ops[graph_.tensors[y].producer].unit);
      // A copy is not folded: what follows depends on what is fed.
      add(y, builder_.one("copy", {builder_.constant(std::move(one), std::string(kLossScale))}));
    }
    for (std::size_t i = forward_ops; i-- > 0;) visit(OpId(i));
    builder_.set_turn({});
  }

  // In the tensor's own shape; zero where nothing reached it.
  TensorId derivative(TensorId t) {
    if (!sum(t).valid()) sum(t) = builder_.scalar(graph_.info(t).type, 0);
    return full(t);
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

 private:
  void visit(OpId id) {
    const OpDef& def = *graph_.ops[id].def;
    const std::vector<TensorId> outputs = graph_.ops[id].outputs;
    bool reached = false;
    for (TensorId t : outputs) {
      if (roots_[static_cast<std::size_t>(t.index)]) return;
      reached = reached || (sum(t).valid() && wanted_[static_cast<std::size_t>(t.index)]);
    }
    if (!reached) return;
    builder_.set_unit(graph_.ops[id].unit);
    builder_.set_turn(graph_.ops[id].turn);
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
    const OpId next(graph_.ops.size());
    const std::vector<TensorId> grads = def.gradient(builder_, id, out_grads);
    SUPERSTEP_CHECK(grads.size() == inputs.size(), "one gradient per operand of " + std::string(def.name));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (grads[i].valid() && builder_.wants(inputs[i])) add(inputs[i], own_part(inputs[i], grads[i], next));
    }
  }

  // A weight's gradient goes into its accumulator, where its unit runs: what was made before `next`, as another's
  // result or for other readers too, is seen there through a view.
  TensorId own_part(TensorId t, TensorId gradient, OpId next) {
    const OpId made_by = graph_.tensors[gradient].producer;
    if (graph_.tensors[t].kind != TensorKind::weight || !made_by.valid() || !(made_by < next)) return gradient;
    Attributes attrs;
    attrs.set("shape", graph_.info(gradient).shape);
    return builder_.one("reshape", {gradient}, std::move(attrs));
  }

  TensorId& sum(TensorId t) { return sums_[static_cast<std::size_t>(t.index)]; }

  // Adds a contribution; sums are made where the contribution is, so that one tensor crosses a cut.
  void add(TensorId t, TensorId gradient) {
    if (!sum(t).valid()) {
      set_sum(t, gradient);
      return;
    }
    const DType type = graph_.info(t).type;
    const TensorId a = builder_.cast(sum(t), type), b = builder_.cast(gradient, type);
    set_sum(t, builder_.binary("add", a, b));
  }

  // What flows through an op unchanged is the gradient of the first tensor that it reached.
  void set_sum(TensorId t, TensorId gradient) {
    sum(t) = gradient;
    TensorId& of = graph_.tensors[gradient].gradient_of;
    if (!of.valid()) of = t;
  }

  // The gradient in the shape and type of its tensor: gradients of sums are kept small until needed.
  TensorId full(TensorId t) {
    const TensorInfo info = graph_.info(t);
    set_sum(t, builder_.expand(builder_.cast(sum(t), info.type), info.shape));
    return sum(t);
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
    graph_.tensors[gradient].name = graph_.tensors[weight].name + "_gradient";
    return gradient;
  }

  UnitId last_unit(TensorId weight) const {
    const OpId producer = graph_.tensors[sums_[static_cast<std::size_t>(weight.index)]].producer;
    return producer.valid() ? graph_.ops[producer].unit : UnitId(std::size_t{0});
  }

  Graph& graph_;
  GraphBuilder& builder_;
  const std::vector<bool> roots_, wanted_;
  std::vector<TensorId> sums_;  // per forward tensor: the gradient so far
};

}  // namespace

std::map<TensorId, TensorId> add_gradients(Graph& graph, LossScaling scaling) {
  if (!graph.loss.valid()) throw Error(graph.name, "the model has no loss to differentiate");
  const TensorInfo info = graph.info(graph.loss);
  if (info.elements() != 1) throw Error(graph.name, "the loss is not a scalar: " + to_text(info.shape));
  const Samples samples = find_samples(graph);
  GraphBuilder builder(graph);
  builder.set_pass(Pass::backward);
  builder.set_samples(&samples);
  Backward backward(builder, trained_weights(graph));
  backward.run(graph.loss, scaling);
  return backward.weight_gradients();
}

std::vector<TensorId> add_derivatives(GraphBuilder& builder, TensorId y, const std::vector<TensorId>& xs) {
  if (!is_float(builder.info(y).type)) throw Error("", "a derivative of integers");
  Backward backward(builder, xs);
  backward.run(y);
  std::vector<TensorId> all;
  for (TensorId x : xs) all.push_back(backward.derivative(x));
  return all;
}

}  // namespace superstep
