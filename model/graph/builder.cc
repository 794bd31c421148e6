// SPDX-License-Identifier: Apache-2.0
#include "model/graph/builder.h"

#include <algorithm>
#include <numeric>

#include "model/error.h"
#include "model/graph/op_def.h"

namespace superstep {

namespace {

// Constants up to this size are computed when the graph is built.
constexpr std::int64_t kFoldLimit = 4096;

void complete_attributes(const OpDef& def, Attributes& attrs) {
  std::size_t given = 0;
  for (const AttrSpec& spec : def.attrs) {
    const AttrValue* value = attrs.find(spec.name);
    if (!value) {
      attrs.set(std::string(spec.name), spec.fallback);
      continue;
    }
    ++given;
    SUPERSTEP_CHECK(value->index() == spec.fallback.index(),
                    "type of attribute " + std::string(spec.name) + " of " + std::string(def.name));
  }
  SUPERSTEP_CHECK(given <= attrs.items().size() && attrs.items().size() == def.attrs.size(),
                  "undeclared attribute of " + std::string(def.name));
}

bool can_fold(const OpDef& def, const std::vector<const Array*>& values, const std::vector<TensorInfo>& results) {
  if (!def.kernel || def.random || !def.folds) return false;
  for (const Array* value : values) {
    if (!value) return false;
  }
  return std::all_of(results.begin(), results.end(), [](const TensorInfo& r) { return r.elements() <= kFoldLimit; });
}

}  // namespace

GraphBuilder::Scope::Scope(GraphBuilder& b, std::string name) : builder_(b), length_(b.scope_.size()) {
  if (!b.scope_.empty()) b.scope_ += '/';
  b.scope_ += name;
}

GraphBuilder::Scope::~Scope() { builder_.scope_.resize(length_); }

std::string GraphBuilder::qualified(std::string_view name) const {
  return scope_.empty() ? std::string(name) : scope_ + '/' + std::string(name);
}

// Counted within a scope, so that an op more or less elsewhere (a sum over one sample) changes no other name: random
// bits are keyed by names.
std::string GraphBuilder::fresh_name(std::string_view op) {
  const std::string name = qualified(op);
  return name + '.' + std::to_string(counts_[name]++);
}

GraphBuilder::Loop::Loop(GraphBuilder& b) : builder_(b), turn_{b.loops_, -1}, inner_(b.turn_.loop >= 0) {
  if (!inner_) ++b.loops_;
}
GraphBuilder::Loop::~Loop() {
  if (!inner_) builder_.turn_ = {};
}
void GraphBuilder::Loop::next() {
  ++turn_.number;
  if (!inner_) builder_.turn_ = turn_;
}

UnitId GraphBuilder::begin_unit(std::string name, std::int64_t layer, UnitRole role) {
  Unit unit;
  unit.name = std::move(name);
  unit.layer = layer;
  unit.role = role;
  return unit_ = graph_.units.push_back(std::move(unit));
}

TensorId GraphBuilder::source(std::string name, TensorInfo info, TensorKind kind) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.info = std::move(info);
  tensor.kind = kind;
  return graph_.tensors.push_back(std::move(tensor));
}

TensorId GraphBuilder::input(std::string name, DType type, Shape shape) {
  const TensorId t = source(qualified(name), {type, std::move(shape)}, TensorKind::input);
  graph_.inputs.push_back(t);
  return t;
}

TensorId GraphBuilder::weight(std::string name, DType type, Shape shape) {
  return source(qualified(name), {type, std::move(shape)}, TensorKind::weight);
}

TensorId GraphBuilder::optimizer_state(std::string name, DType type, Shape shape, TensorId weight) {
  const TensorId t = source(qualified(name), {type, std::move(shape)}, TensorKind::optimizer_state);
  graph_.tensors[t].weight = weight;
  return t;
}

TensorId GraphBuilder::constant(Array value, std::string name) {
  return constant(std::make_shared<const Array>(std::move(value)), std::move(name));
}

TensorId GraphBuilder::constant(std::shared_ptr<const Array> value, std::string name) {
  const TensorId t = source(name.empty() ? fresh_name("constant") : qualified(name), value->info, TensorKind::constant);
  graph_.tensors[t].data = std::move(value);
  return t;
}

TensorId GraphBuilder::scalar(DType type, double value) {
  const auto [at, fresh] = scalars_.try_emplace({type, value});
  if (fresh) at->second = constant(Array::from(type, {}, {value}), "scalar." + std::to_string(scalars_.size() - 1));
  return at->second;
}

std::vector<TensorId> GraphBuilder::append(Op op, std::vector<TensorInfo> results) {
  if (!unit_.valid()) begin_unit(graph_.name.empty() ? "graph" : graph_.name);
  op.pass = pass_;
  op.unit = unit_;
  op.turn = turn_;
  const OpId id(graph_.ops.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string name = results.size() == 1 ? op.name : op.name + ':' + std::to_string(i);
    const TensorId t = source(std::move(name), std::move(results[i]), TensorKind::activation);
    graph_.tensors[t].producer = id;
    op.outputs.push_back(t);
  }
  std::vector<TensorId> outputs = op.outputs;
  graph_.ops.push_back(std::move(op));
  graph_.units[unit_].ops[static_cast<int>(pass_)].push_back(id);
  return outputs;
}

std::vector<TensorId> GraphBuilder::add(std::string_view name_of_op, std::vector<TensorId> inputs, Attributes attrs,
                                        std::string_view name) {
  Op op;
  op.def = find_op(name_of_op);
  SUPERSTEP_CHECK(op.def, "unknown op " + std::string(name_of_op));
  op.name = name.empty() ? fresh_name(name_of_op) : qualified(name);
  complete_attributes(*op.def, attrs);
  const auto operands = static_cast<int>(inputs.size());
  if (operands < op.def->min_inputs || operands > op.def->max_inputs) {
    throw Error(op.name, "wrong number of operands for " + std::string(name_of_op) + ": " + std::to_string(operands));
  }

  std::vector<TensorInfo> in;
  std::vector<const Array*> values;
  in.reserve(inputs.size());
  values.reserve(inputs.size());
  for (TensorId t : inputs) {
    in.push_back(t.valid() ? graph_.info(t) : kLeftOut);
    // A count of samples is another one in another batch: nothing is computed from it here.
    const bool known = t.valid() && graph_.tensors[t].kind == TensorKind::constant && !graph_.tensors[t].counts_samples;
    values.push_back(known ? graph_.tensors[t].data.get() : nullptr);
  }
  OpCall call{*op.def, attrs, in, {}, values};
  std::vector<TensorInfo> results;
  try {
    results = op.def->infer(call);
  } catch (const Error& error) {
    throw Error(op.name, error.what());
  }
  if (can_fold(*op.def, values, results)) {
    call.out = results;
    std::vector<TensorId> folded;
    for (Array& value : evaluate_op(call, values, {})) folded.push_back(constant(std::move(value)));
    return folded;
  }
  op.attrs = std::move(attrs);
  op.inputs = std::move(inputs);
  return append(std::move(op), std::move(results));
}

TensorId GraphBuilder::one(std::string_view op, std::vector<TensorId> inputs, Attributes attrs, std::string_view name) {
  return add(op, std::move(inputs), std::move(attrs), name).front();
}

bool GraphBuilder::wants(TensorId t) const {
  if (!t.valid() || !is_float(info(t).type)) return false;
  return !wanted_ ||
         (static_cast<std::size_t>(t.index) < wanted_->size() && (*wanted_)[static_cast<std::size_t>(t.index)]);
}

std::optional<SamplePlace> GraphBuilder::place_of_samples(TensorId t) const {
  if (!samples_ || static_cast<std::size_t>(t.index) >= samples_->tensors.size()) return {};
  const TensorSamples& own = samples_->of(t);
  if (own.role != SampleRole::along) return {};
  return SamplePlace{own.dimension, own.outer};
}

void GraphBuilder::set_gradient_rule(TensorId result, TensorId operand, const GradientRule& rule) {
  const OpId producer = graph_.tensors[result].producer;
  if (!producer.valid()) return;  // folded into a constant
  graph_.ops[producer].gradient_rule = &rule;
  graph_.ops[producer].gradient_operand = operand;
}

TensorId GraphBuilder::matmul(TensorId a, TensorId b, bool transpose_a, bool transpose_b, std::string_view name) {
  Attributes attrs;
  attrs.set("transpose_a", std::int64_t{transpose_a});
  attrs.set("transpose_b", std::int64_t{transpose_b});
  return one("matmul", {a, b}, std::move(attrs), name);
}

TensorId GraphBuilder::scale(TensorId a, double factor) {
  if (factor == 1) return a;
  Attributes attrs;
  attrs.set("scale", factor);
  return one("affine", {a}, std::move(attrs));
}

TensorId GraphBuilder::shift(TensorId a, double term) {
  if (term == 0) return a;
  Attributes attrs;
  attrs.set("shift", term);
  return one("affine", {a}, std::move(attrs));
}

TensorId GraphBuilder::reduce(std::string_view kind, TensorId a, std::vector<std::int64_t> axes, bool keep) {
  return reduce(kind, a, std::move(axes), keep, info(a).type);
}

TensorId GraphBuilder::reduce(std::string_view kind, TensorId a, std::vector<std::int64_t> axes, bool keep,
                              DType type) {
  const bool mean = kind.starts_with("mean");
  double count = 1;
  const auto rank = static_cast<std::int64_t>(info(a).shape.size());
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) throw Error(fresh_name("reduce"), "axis out of range for " + to_text(info(a).shape));
    count *= static_cast<double>(info(a).shape[static_cast<std::size_t>(axis)]);
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty() && (kind == "sum" || kind == "mean" || kind == "max" || kind == "min")) return cast(a, type);
  Attributes attrs;
  attrs.set("kind", std::string(kind == "mean" ? "sum" : kind == "mean_square" ? "sum_square" : kind));
  attrs.set("axes", std::move(axes));
  attrs.set("keep", std::int64_t{keep});
  attrs.set("scale", mean ? 1 / count : 1.0);
  attrs.set("mean", std::int64_t{mean});
  attrs.set("type", std::string(type == info(a).type ? "" : name_of(type)));
  return one("reduce", {a}, std::move(attrs));
}

TensorId GraphBuilder::reshape(TensorId a, Shape shape) {
  const OpId producer = graph_.tensors[a].producer;
  if (producer.valid() && graph_.ops[producer].def->regroups) a = graph_.ops[producer].inputs[0];
  const std::int64_t known = std::accumulate(shape.begin(), shape.end(), std::int64_t{1},
                                             [](std::int64_t p, std::int64_t e) { return e < 0 ? p : p * e; });
  for (std::int64_t& extent : shape) {
    if (extent < 0 && known > 0) extent = info(a).elements() / known;
  }
  if (shape == info(a).shape) return a;
  Attributes attrs;
  attrs.set("shape", std::move(shape));
  return one("reshape", {a}, std::move(attrs));
}

TensorId GraphBuilder::transpose(TensorId a, std::vector<std::int64_t> permutation) {
  if (std::is_sorted(permutation.begin(), permutation.end())) return a;
  Attributes attrs;
  attrs.set("permutation", std::move(permutation));
  return one("transpose", {a}, std::move(attrs));
}

TensorId GraphBuilder::cast(TensorId a, DType type) {
  if (info(a).type == type) return a;
  Attributes attrs;
  attrs.set("type", std::string(name_of(type)));
  return one("cast", {a}, std::move(attrs));
}

TensorId GraphBuilder::slice(TensorId a, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  const Shape& shape = info(a).shape;
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  if (begin == 0 && end == shape.at(static_cast<std::size_t>(axis))) return a;
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("begin", begin);
  attrs.set("end", end);
  return one("slice", {a}, std::move(attrs));
}

TensorId GraphBuilder::concat(std::vector<TensorId> parts, std::int64_t axis) {
  if (parts.size() == 1) return parts.front();
  if (axis < 0) axis += static_cast<std::int64_t>(info(parts.front()).shape.size());
  Attributes attrs;
  attrs.set("axis", axis);
  return one("concat", std::move(parts), std::move(attrs));
}

std::vector<TensorId> GraphBuilder::split(TensorId a, std::int64_t axis, std::vector<std::int64_t> sizes) {
  if (sizes.size() == 1) return {a};
  Attributes attrs;
  attrs.set("axis", axis);
  attrs.set("sizes", std::move(sizes));
  return add("split", {a}, std::move(attrs));
}

TensorId GraphBuilder::gather(TensorId table, TensorId indices) { return one("gather", {table, indices}); }

TensorId GraphBuilder::expand(TensorId a, Shape shape) {
  if (info(a).shape == shape) return a;
  Attributes attrs;
  attrs.set("shape", std::move(shape));
  return one("expand", {a}, std::move(attrs));
}

TensorId GraphBuilder::stop_gradient(TensorId a) { return one("stop_gradient", {a}); }

TensorId GraphBuilder::sum_to(TensorId a, const Shape& shape, bool of_each_sample, bool may_be_view) {
  const Shape& from = info(a).shape;
  if (from == shape) return a;
  SUPERSTEP_CHECK(from.size() >= shape.size(), "sum_to cannot add dimensions");
  const std::size_t lead = from.size() - shape.size();
  const auto target = [&](std::size_t d) { return d < lead ? 1 : shape[d - lead]; };
  // Where there is a sum at all, a single sample is summed over like several, and a dimension that goes is whatever its
  // extent: the same op makes the sum of any number of samples.
  bool sums = !may_be_view;
  for (std::size_t d = 0; d < from.size(); ++d) sums = sums || target(d) != from[d];
  const auto single = [&](std::size_t d) {
    const bool sample = graph_.micro_batch == 1 && d == static_cast<std::size_t>(graph_.sample_dimension);
    return !of_each_sample && from[d] == 1 && (d < lead || sample);
  };
  std::vector<std::int64_t> axes;
  Shape rest;  // without the summed dimensions
  for (std::size_t d = 0; d < from.size(); ++d) {
    const bool summed = target(d) != from[d] || (sums && single(d));
    if (summed) axes.push_back(static_cast<std::int64_t>(d));
    if (!summed) rest.push_back(from[d]);
  }
  const TensorId sum = axes.empty() ? a : reduce("sum", a, std::move(axes), rest != shape);
  return reshape(sum, shape);
}

}  // namespace superstep
