// SPDX-License-Identifier: Apache-2.0
// Weight updates as ordinary ops, in fp32 whatever the types of weights and gradients. Meanings as
// in shared/reference/README.md: momentum with decay in the gradient, Adam bias-corrected with
// epsilon outside the root, decoupled decay for AdamW and LAMB, LAMB after You et al. 2019
// (algorithm 2, no clamp), LARS after You et al. 2017.
//
// The number of updates done is a state of its own, "UNIT/step", one fp32 scalar per unit: shared by
// the weights of the unit, and no stage waits for another's.
#include <cmath>

#include "model/error.h"
#include "model/graph/autodiff.h"
#include "model/graph/builder.h"

namespace superstep {

namespace {

constexpr DType kMath = DType::fp32;

class Update {
 public:
  Update(Graph& graph, const OptimizerSpec& spec, LossScaling scaling)
      : graph_(graph), builder_(graph), spec_(spec), scaling_(scaling) {
    builder_.set_pass(Pass::update);
  }

  void add(TensorId weight, TensorId gradient, UnitId unit) {
    builder_.set_unit(unit);
    weight_ = weight;
    unit_ = unit;
    const GraphBuilder::Scope scope(builder_, graph_.tensors[weight].name);
    const bool keeps_master = spec_.master_weights && graph_.info(weight).type == DType::fp16;
    const TensorId master = keeps_master ? state("master", kMath) : TensorId{};
    const TensorId w = keeps_master ? master : builder_.cast(weight, math_type());
    const TensorId next = rule(w, unscaled(builder_.cast(gradient, math_type())));
    if (keeps_master) graph_.updates.emplace_back(master, next);
    graph_.updates.emplace_back(weight, builder_.cast(next, graph_.info(weight).type));
  }

 private:
  DType math_type() const { return graph_.info(weight_).type == DType::fp64 ? DType::fp64 : kMath; }

  TensorId unscaled(TensorId gradient) {
    if (scaling_ == LossScaling::none) return gradient;
    const auto [at, fresh] = inverse_scales_.try_emplace(math_type());
    if (fresh) {
      at->second = builder_.constant(Array::from(math_type(), {}, {1}));
      const std::string type = math_type() == kMath ? "" : "_" + std::string(name_of(math_type()));
      graph_.tensors[at->second].name = std::string(kInverseLossScale) + type;
    }
    return builder_.binary("mul", gradient, at->second);
  }

  TensorId rule(TensorId w, TensorId g) {
    if (spec_.kind == "sgd") return step(w, with_decay(w, g));
    if (spec_.kind == "sgd_momentum") return step(w, momentum(with_decay(w, g)));
    if (spec_.kind == "adam") return step(w, adam_direction(with_decay(w, g)));
    if (spec_.kind == "adamw") return adamw(w, g);
    if (spec_.kind == "lamb") return lamb(w, g);
    return step(w, momentum(lars_scaled(w, g)));
  }

  // alpha a + beta b
  TensorId blend(TensorId a, double alpha, TensorId b, double beta) {
    Attributes attrs;
    attrs.set("alpha", alpha);
    attrs.set("beta", beta);
    return builder_.one("axpby", {a, b}, std::move(attrs));
  }

  TensorId step(TensorId w, TensorId direction) { return blend(w, 1, direction, -spec_.learning_rate); }

  TensorId with_decay(TensorId w, TensorId g) {
    return spec_.weight_decay == 0 ? g : blend(g, 1, w, spec_.weight_decay);
  }

  TensorId state(const char* name, DType type) {
    return builder_.optimizer_state(name, type, graph_.info(weight_).shape, weight_);
  }

  // decay * old + gain * value, kept as a state of the given type.
  TensorId moment(const char* name, DType type, double decay, TensorId value, double gain) {
    if (math_type() == DType::fp64) type = DType::fp64;
    const TensorId old = state(name, type);
    const TensorId next = blend(builder_.cast(old, math_type()), decay, value, gain);
    graph_.updates.emplace_back(old, builder_.cast(next, type));
    return next;
  }

  TensorId momentum(TensorId g) { return moment("momentum", spec_.first_moment, spec_.momentum, g, 1); }

  // The step of this update, 1 for the first; one count per unit.
  TensorId step_number() {
    const auto [at, fresh] = steps_.try_emplace(unit_);
    if (fresh) {
      const TensorId old = builder_.optimizer_state("step", math_type(), {}, weight_);
      graph_.tensors[old].name = graph_.units[unit_].name + "/step";
      at->second = builder_.shift(old, 1);
      graph_.updates.emplace_back(old, at->second);
    }
    return at->second;
  }

  // 1 - decay^step, shared by the weights of the unit. By expm1: close to 0 in the first steps.
  TensorId correction(double decay) {
    const auto [at, fresh] = corrections_.try_emplace({unit_, decay});
    if (fresh)
      at->second = builder_.unary("neg", builder_.unary("expm1", builder_.scale(step_number(), std::log(decay))));
    return at->second;
  }

  // m / (sqrt(v) + epsilon), bias-corrected.
  TensorId adam_direction(TensorId g) {
    TensorId m = moment("first_moment", spec_.first_moment, spec_.beta1, g, 1 - spec_.beta1);
    TensorId v =
        moment("second_moment", spec_.second_moment, spec_.beta2, builder_.unary("square", g), 1 - spec_.beta2);
    if (spec_.bias_correction) {
      m = builder_.binary("div", m, correction(spec_.beta1));
      v = builder_.binary("div", v, correction(spec_.beta2));
    }
    return builder_.binary("div", m, builder_.shift(builder_.unary("sqrt", v), spec_.epsilon));
  }

  TensorId adamw(TensorId w, TensorId g) {
    return blend(w, 1 - spec_.learning_rate * spec_.weight_decay, adam_direction(g), -spec_.learning_rate);
  }

  TensorId norm(TensorId t) {
    std::vector<std::int64_t> all;
    for (std::size_t d = 0; d < graph_.info(t).shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
    const TensorId squares = all.empty() ? builder_.unary("square", t) : builder_.reduce("sum_square", t, all, false);
    return builder_.unary("sqrt", squares);
  }

  TensorId trust_ratio(TensorId w, TensorId u, double eta, double decay) {
    Attributes attrs;
    attrs.set("eta", eta);
    attrs.set("decay", decay);
    return builder_.one("trust_ratio", {norm(w), norm(u)}, std::move(attrs));
  }

  TensorId lamb(TensorId w, TensorId g) {
    const TensorId direction = with_decay(w, adam_direction(g));
    return step(w, builder_.binary("mul", direction, trust_ratio(w, direction, 1, 0)));
  }

  TensorId lars_scaled(TensorId w, TensorId g) {
    const TensorId ratio = trust_ratio(w, g, spec_.trust_coefficient, spec_.weight_decay);
    return builder_.binary("mul", with_decay(w, g), ratio);
  }

  Graph& graph_;
  GraphBuilder builder_;
  const OptimizerSpec& spec_;
  LossScaling scaling_;
  std::map<DType, TensorId> inverse_scales_;
  TensorId weight_;
  UnitId unit_;
  std::map<UnitId, TensorId> steps_;
  std::map<std::pair<UnitId, double>, TensorId> corrections_;
};

// The unit of the first forward op that reads each weight.
std::map<TensorId, UnitId> home_units(const Graph& graph) {
  std::map<TensorId, UnitId> home;
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    for (TensorId t : op.inputs) {
      if (t.valid() && graph.tensors[t].kind == TensorKind::weight) home.try_emplace(t, op.unit);
    }
  }
  return home;
}

}  // namespace

std::vector<std::string> optimizer_kinds() { return {"sgd", "sgd_momentum", "adam", "adamw", "lamb", "lars"}; }

std::int64_t state_bytes_per_parameter(const OptimizerSpec& spec) {
  std::int64_t bytes = spec.master_weights ? size_of(DType::fp32) : 0;
  if (spec.kind == "sgd") return bytes;
  bytes += size_of(spec.first_moment);
  if (spec.kind == "sgd_momentum" || spec.kind == "lars") return bytes;
  return bytes + size_of(spec.second_moment);
}

void add_optimizer(Graph& graph, const std::map<TensorId, TensorId>& gradients, const OptimizerSpec& spec,
                   LossScaling scaling) {
  const std::vector<std::string> kinds = optimizer_kinds();
  bool known = false;
  for (const std::string& kind : kinds) known = known || kind == spec.kind;
  if (!known) throw Error("", "unknown optimizer \"" + spec.kind + "\"" + name_hint(spec.kind, kinds));
  const std::map<TensorId, UnitId> home = home_units(graph);
  Update update(graph, spec, scaling);
  for (const auto& [weight, gradient] : gradients) update.add(weight, gradient, home.at(weight));
}

}  // namespace superstep
