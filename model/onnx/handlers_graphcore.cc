// SPDX-License-Identifier: Apache-2.0
// The domain ai.graphcore: PopART's own operators (graphcore/popart willow/include/popart/graphcoreoperators.hpp, and
// their attributes in willow/src/op).
#include <cmath>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

Results unchanged(Node& n) {
  for (const char* name : {"print_gradient", "title", "summariseThreshold", "edgeItems", "maxLineWidth", "digits",
                           "floatFormat", "separator", "openBracket", "closeBracket"})
    n.attribute(name);  // of PrintTensor
  return {n.in(0)};
}

// Replicas are the plan's: the model of all samples has none to sum over.
Results popart_all_reduce(Node& n) {
  for (const char* name : {"collectiveOperator", "commGroup", "replicaGrouping", "collectiveReplicaGrouping"})
    n.attribute(name);
  return {n.in(0)};
}

Results popart_detach(Node& n) {
  n.attribute("pass_through_creation");
  return {n.b.stop_gradient(n.in(0))};
}

Results of_one(Node& n) { return {n.b.one(n.core, {n.in(0)})}; }
Results of_two(Node& n) { return {n.b.binary(n.core, n.in(0), n.in(1))}; }

// PopART's Gelu is the approximation by tanh, and GeluErf the exact function.
Results popart_gelu(Node& n) {
  Attributes attrs;
  attrs.set("approximate", std::string(n.core));
  return {n.b.one("gelu", {n.in(0)}, std::move(attrs))};
}

Results log_of_one_more(Node& n) { return {n.b.unary("log", n.b.shift(n.in(0), 1))}; }
Results popart_scale(Node& n) { return {n.b.scale(n.in(0), n.number_attribute("scale", 1))}; }
Results popart_swish(Node& n) { return {n.b.binary("mul", n.in(0), n.b.unary("sigmoid", n.in(0)))}; }

// `t` summed up over all its elements as the attribute "reduction" says.
TensorId reduced_as_told(Node& n, TensorId t) {
  const std::string kind = n.text_attribute("reduction", "Mean");
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < n.b.info(t).shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
  if (kind == "NoReduction" || kind == "None") return t;
  if (kind != "Mean" && kind != "Sum") Node::fail("reduction \"" + kind + "\", expected Mean, Sum or NoReduction");
  return n.b.reduce(kind == "Mean" ? "mean" : "sum", t, all, false);
}

Results identity_loss(Node& n) { return {reduced_as_told(n, n.in(0))}; }
Results popart_l1(Node& n) {
  return {reduced_as_told(n, n.b.scale(n.b.unary("abs", n.in(0)), n.number_attribute("lambda", 1)))};
}

// Probabilities [rows, classes], or their logarithms, and labels [rows].
Results popart_nll(Node& n) {
  GraphBuilder& b = n.b;
  Node::need("pick");
  const bool logarithms = n.integer_attribute("inputIsLogProbability", 0) != 0;
  const TensorId rows = logarithms ? n.in(0) : b.unary("log", n.in(0));
  TensorId loss = b.unary("neg", b.one("pick", {rows, n.in(1)}));
  if (!n.has_attribute("ignoreIndex")) return {reduced_as_told(n, loss)};
  const TensorId ignored = b.scalar(n.type(1), static_cast<double>(n.integer_attribute("ignoreIndex", 0)));
  const TensorId counted = b.cast(b.binary("not_equal", n.in(1), ignored), b.info(loss).type);
  loss = b.binary("mul", loss, counted);
  if (n.text_attribute("reduction", "Mean") != "Mean") return {reduced_as_told(n, loss)};
  std::vector<std::int64_t> all;
  for (std::int64_t d = 0; d < n.rank(1); ++d) all.push_back(d);
  return {b.binary("div", b.reduce("sum", loss, all, false), b.reduce("sum", counted, all, false))};
}

// Of [n, channels, ...] with a factor and a term for each channel.
Results popart_group_norm(Node& n) {
  GraphBuilder& b = n.b;
  const Shape shape = n.shape(0);
  const std::int64_t groups = n.integer_attribute("num_groups", 1);
  if (n.wants_result(1) || n.wants_result(2)) Node::not_supported("mean and deviation as results");
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    Node::fail(std::to_string(groups) + " groups of the channels of " + to_text(shape));
  const TensorId x = b.reshape(n.in(0), {shape[0], groups, -1});
  const TensorId y = b.reshape(b.normalize(x, {2}, n.number_attribute("epsilon", 1e-5)), shape);
  const std::size_t behind = shape.size() - 2;
  return {b.binary("add", b.binary("mul", y, with_ones(b, n.in(1), 1, behind)), with_ones(b, n.in(2), 1, behind))};
}

constexpr Handler kGraphcoreHandlers[] = {
    {"Detach", 1, 1, popart_detach},
    {"Expm1", 1, 1, of_one, "expm1"},
    {"Fmod", 1, 2, of_two, "fmod"},
    {"Gelu", 1, 1, popart_gelu, "tanh"},
    {"GeluErf", 1, 1, popart_gelu, "none"},
    {"GroupNormalization", 1, 3, popart_group_norm},
    {"IdentityLoss", 1, 1, identity_loss},
    {"L1", 1, 1, popart_l1},
    {"Log1p", 1, 1, log_of_one_more},
    {"NearbyInt", 1, 1, of_one, "round"},
    {"Nll", 1, 2, popart_nll},
    {"Nop", 1, 1, unchanged},
    {"PrintTensor", 1, 1, unchanged},
    {"Remainder", 1, 2, of_two, "mod"},
    {"ReplicatedAllReduce", 1, 1, popart_all_reduce},
    {"Round", 1, 1, of_one, "round"},
    {"Scale", 1, 1, popart_scale},
    {"Swish", 1, 1, popart_swish},
};

}  // namespace

std::span<const Handler> graphcore_handlers() { return kGraphcoreHandlers; }

}  // namespace superstep::onnx_import
