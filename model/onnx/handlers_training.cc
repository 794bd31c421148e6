// SPDX-License-Identifier: Apache-2.0
// The domain ai.onnx.preview.training: weight updates as ONNX defines them, which is not how PyTorch does (see
// model/graph/optimizer.cc), and derivatives by name.
#include "model/graph/autodiff.h"
#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// Operands: rate, steps done, then all weights, all their gradients, and all of each state.
struct Update {
  GraphBuilder& b;
  TensorId rate, steps;
  DType type;

  // a * x + b * y
  TensorId blend(double alpha, TensorId x, double beta, TensorId y) const {
    return b.binary("add", b.scale(x, alpha), b.scale(y, beta));
  }
  // `then` from the second update on.
  TensorId after_first(TensorId then, TensorId first) const {
    return b.one("where", {b.binary("greater", steps, b.scalar(b.info(steps).type, 0)), then, first});
  }
  // 1 - decay^steps
  TensorId correction(double decay) const {
    const TensorId power = b.binary("pow", b.scalar(type, decay), b.cast(steps, type));
    return b.shift(b.unary("neg", power), 1);
  }
};

using UpdateRule = std::vector<TensorId> (*)(Node&, const Update&, TensorId weight, TensorId gradient,
                                             const std::vector<TensorId>& states);

// New weights, then new states, in the order of the operands.
Results update(Node& n, std::size_t states, UpdateRule rule) {
  constexpr std::size_t kShared = 2;
  const std::size_t kinds = 2 + states;
  if (n.operands() < kShared + kinds || (n.operands() - kShared) % kinds != 0) {
    Node::fail(std::to_string(n.operands()) + " operands, expected 2 and a multiple of " + std::to_string(kinds));
  }
  const std::size_t weights = (n.operands() - kShared) / kinds;
  Results results(weights * (1 + states));
  for (std::size_t i = 0; i < weights; ++i) {
    const auto operand = [&](std::size_t kind) { return n.in(kShared + kind * weights + i); };
    const TensorId weight = operand(0);
    const DType type = n.b.info(weight).type;
    const Update u{n.b, n.b.cast(n.in(0), type), n.in(1), type};
    const TensorId gradient = u.blend(n.number_attribute("norm_coefficient", 0), weight, 1, operand(1));
    std::vector<TensorId> old;
    for (std::size_t k = 0; k < states; ++k) old.push_back(operand(2 + k));
    const std::vector<TensorId> made = rule(n, u, weight, gradient, old);
    for (std::size_t k = 0; k < made.size(); ++k) results[k * weights + i] = made[k];
  }
  return results;
}

Results adagrad(Node& n) {
  return update(n, 1, [](Node& node, const Update& u, TensorId w, TensorId g, const std::vector<TensorId>& old) {
    GraphBuilder& b = u.b;
    const double decay = node.number_attribute("decay_factor", 0), epsilon = node.number_attribute("epsilon", 1e-6);
    const TensorId rate = b.binary("div", u.rate, b.shift(b.scale(b.cast(u.steps, u.type), decay), 1));
    const TensorId squares = b.binary("add", old[0], b.unary("square", g));
    const TensorId direction = b.binary("div", g, b.shift(b.unary("sqrt", squares), epsilon));
    return std::vector<TensorId>{b.binary("sub", w, b.binary("mul", direction, rate)), squares};
  });
}

Results momentum(Node& n) {
  return update(n, 1, [](Node& node, const Update& u, TensorId w, TensorId g, const std::vector<TensorId>& old) {
    GraphBuilder& b = u.b;
    const double alpha = node.number_attribute("alpha", 0), beta = node.number_attribute("beta", 0);
    const std::string mode = node.text_attribute("mode", "standard");
    if (mode != "standard" && mode != "nesterov") Node::fail("mode \"" + mode + "\"");
    const TensorId moved = b.binary("add", b.scale(old[0], alpha), u.after_first(b.scale(g, beta), g));
    const TensorId direction = mode == "standard" ? moved : u.blend(1, g, alpha, moved);
    return std::vector<TensorId>{b.binary("sub", w, b.binary("mul", direction, u.rate)), moved};
  });
}

Results adam(Node& n) {
  return update(n, 2, [](Node& node, const Update& u, TensorId w, TensorId g, const std::vector<TensorId>& old) {
    GraphBuilder& b = u.b;
    const double alpha = node.number_attribute("alpha", 0.9), beta = node.number_attribute("beta", 0.999);
    const double epsilon = node.number_attribute("epsilon", 1e-6);
    const TensorId first = u.blend(alpha, old[0], 1 - alpha, g);
    const TensorId second = u.blend(beta, old[1], 1 - beta, b.unary("square", g));
    const TensorId corrected = b.binary("div", b.unary("sqrt", u.correction(beta)), u.correction(alpha));
    const TensorId rate = u.after_first(b.binary("mul", u.rate, corrected), u.rate);
    const TensorId direction = b.binary("div", first, b.shift(b.unary("sqrt", second), epsilon));
    const TensorId next = b.binary("sub", w, b.binary("mul", direction, rate));
    return std::vector<TensorId>{b.scale(next, 1 - node.number_attribute("norm_coefficient_post", 0)), first, second};
  });
}

// Of `y` by each of `xs`. Both are names in the graph; the operands may feed other values for the xs (and the zs,
// held fixed), which is a second copy of the graph between them and is not made.
Results gradient(Node& n) {
  std::vector<std::string> names = n.texts_attribute("xs");
  const std::size_t by = names.size();
  for (const std::string& fixed : n.texts_attribute("zs")) names.push_back(fixed);
  const std::string y = n.text_attribute("y", "");
  const auto result = n.context.names->find(y);
  if (result == n.context.names->end()) Node::fail("there is no \"" + y + "\" to differentiate before it");
  if (names.size() != n.operands()) Node::fail("xs and zs do not name the operands");
  std::vector<TensorId> xs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at = n.context.names->find(names[i]);
    if (at == n.context.names->end() || at->second != n.in(i)) {
      Node::not_supported("other values for \"" + names[i] + "\"");
    }
    if (i < by) xs.push_back(n.in(i));
    if (i < by && n.known(n.in(i))) Node::not_supported("derivative by a constant");
  }
  return add_derivatives(n.b, result->second, xs);
}

constexpr Handler kTrainingHandlers[] = {
    {"Adagrad", 1, kMany, adagrad},
    {"Adam", 1, kMany, adam},
    {"Gradient", 1, kMany, gradient},
    {"Momentum", 1, kMany, momentum},
};

}  // namespace

std::span<const Handler> training_handlers() { return kTrainingHandlers; }

}  // namespace superstep::onnx_import
