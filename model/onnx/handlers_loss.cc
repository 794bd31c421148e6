// SPDX-License-Identifier: Apache-2.0
// Losses: scores [n, C, d...] against labels [n, d...].
#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

struct Labelled {
  TensorId rows, labels;  // classes last
  TensorId class_weights;
  std::string reduction;
  bool ignores = false;
  std::int64_t ignored = -100;
};

Labelled labelled(Node& n) {
  Labelled l;
  if (n.rank(0) < 2) Node::fail("scores have shape " + to_text(n.shape(0)) + ", expected classes in dimension 1");
  l.rows = axis_last(n.b, n.in(0), 1);
  l.labels = n.in(1);
  l.class_weights = n.optional_in(2);
  l.reduction = n.text_attribute("reduction", "mean");
  l.ignores = n.has_attribute("ignore_index");
  l.ignored = n.integer_attribute("ignore_index", l.ignored);
  if (l.reduction != "mean" && l.reduction != "sum" && l.reduction != "none")
    Node::fail("reduction \"" + l.reduction + "\"");
  return l;
}

// Per label: its class's weight, or 1; 0 where the label is ignored. Invalid: all are 1.
TensorId label_weights(GraphBuilder& b, const Labelled& l, DType type) {
  TensorId weights;
  if (l.class_weights.valid()) weights = gather_axis(b, l.class_weights, l.labels, 0);
  if (!l.ignores) return weights;
  const TensorId ignored = b.scalar(b.info(l.labels).type, static_cast<double>(l.ignored));
  const TensorId counted = b.cast(b.binary("not_equal", l.labels, ignored), type);
  return weights.valid() ? b.binary("mul", weights, counted) : counted;
}

// `rows` are logarithms of probabilities.
TensorId negative_log_likelihood(GraphBuilder& b, const Labelled& l, TensorId rows) {
  const DType type = b.info(rows).type;
  const TensorId weights = label_weights(b, l, type);
  TensorId loss = b.unary("neg", b.one("pick", {rows, l.labels}));
  if (weights.valid()) loss = b.binary("mul", loss, weights);
  if (l.reduction == "none") return loss;
  std::vector<std::int64_t> all;
  for (std::size_t d = 0; d < b.info(l.labels).shape.size(); ++d) all.push_back(static_cast<std::int64_t>(d));
  if (l.reduction == "mean" && !weights.valid()) return b.reduce("mean", loss, all, false);
  const TensorId total = b.reduce("sum", loss, all, false);
  return l.reduction == "sum" ? total : b.binary("div", total, b.reduce("sum", weights, all, false));
}

Results cross_entropy(Node& n) {
  GraphBuilder& b = n.b;
  Node::need("pick");
  const Labelled l = labelled(n);
  const bool plain = l.reduction == "mean" && !l.class_weights.valid();
  if (plain && !n.wants_result(1)) return {b.cross_entropy(l.rows, l.labels, l.ignored, true)};
  const TensorId rows = b.log_softmax(l.rows);
  return {negative_log_likelihood(b, l, rows), axis_from_last(b, rows, 1)};
}

Results nll_loss(Node& n) {
  Node::need("pick");
  const Labelled l = labelled(n);
  return {negative_log_likelihood(n.b, l, l.rows)};
}

constexpr Handler kLossHandlers[] = {
    {"NegativeLogLikelihoodLoss", 12, 3, nll_loss},
    {"SoftmaxCrossEntropyLoss", 12, 3, cross_entropy},
};

}  // namespace

std::span<const Handler> loss_handlers() { return kLossHandlers; }

}  // namespace superstep::onnx_import
