// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, unrolled over time. What does not depend on the state is computed for all steps at
// once; a step is one product and a few elementwise ops.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

constexpr std::int64_t kMostSteps = 4096;

struct State {
  TensorId h, c;  // [batch, hidden]; c of LSTM alone
};

// One direction of a layer.
struct Direction {
  std::int64_t gates, hidden;
  TensorId weight;                   // [gates * hidden, inputs]
  std::vector<TensorId> recurrence;  // [gates * hidden, hidden]; of GRU cut before the last gate
  TensorId bias, recurrence_bias;    // [gates * hidden]; invalid: none
  TensorId peephole;                 // [3 * hidden]
  bool reverse = false;
  bool linear_before_reset = false;              // GRU
  bool coupled = false;                          // LSTM: the forget gate is 1 - the input gate
  double clip = 0;                               // bound on what activations are given; 0: none
  std::array<std::string_view, 3> activation{};  // registered ops
};

using Step = State (*)(GraphBuilder&, const Direction&, TensorId projected, const State&);

// h R^T
TensorId recurrent(GraphBuilder& b, const Direction& d, TensorId h, std::size_t part = 0) {
  return b.matmul(h, d.recurrence[part], false, true);
}

// An activation of what is within the bound.
TensorId activated_gate(GraphBuilder& b, const Direction& d, std::size_t which, TensorId x) {
  if (d.clip > 0) {
    const DType type = b.info(x).type;
    x = b.binary("min", b.binary("max", x, b.scalar(type, -d.clip)), b.scalar(type, d.clip));
  }
  return b.unary(d.activation[which], x);
}

State rnn_step(GraphBuilder& b, const Direction& d, TensorId x, const State& s) {
  return {activated_gate(b, d, 0, b.binary("add", x, recurrent(b, d, s.h))), {}};
}

// Gates i, o, f, c.
State lstm_step(GraphBuilder& b, const Direction& d, TensorId x, const State& s) {
  const TensorId all = b.binary("add", x, recurrent(b, d, s.h));
  const std::int64_t h = d.hidden;
  TensorId input, output, forget, candidate;
  if (!d.peephole.valid()) {
    const auto halves = b.split(all, 1, {3 * h, h});
    const auto gates = b.split(activated_gate(b, d, 0, halves[0]), 1, {h, h, h});
    input = gates[0], output = gates[1], forget = gates[2], candidate = halves[1];
  } else {
    const auto gates = b.split(all, 1, {h, h, h, h});
    const auto peep = b.split(d.peephole, 0, {h, h, h});
    const auto opened = [&](TensorId gate, TensorId by) { return b.binary("add", gate, b.binary("mul", by, s.c)); };
    input = activated_gate(b, d, 0, opened(gates[0], peep[0]));
    forget = activated_gate(b, d, 0, opened(gates[2], peep[2]));
    output = gates[1], candidate = gates[3];
  }
  if (d.coupled) forget = b.shift(b.unary("neg", input), 1);
  const TensorId fresh = b.binary("mul", input, activated_gate(b, d, 1, candidate));
  const TensorId c = b.binary("add", b.binary("mul", forget, s.c), fresh);
  if (d.peephole.valid()) {
    const TensorId peep = b.slice(d.peephole, 0, h, 2 * h);
    output = activated_gate(b, d, 0, b.binary("add", output, b.binary("mul", peep, c)));
  }
  return {b.binary("mul", output, b.unary(d.activation[2], c)), c};
}

// Gates z, r, h.
State gru_step(GraphBuilder& b, const Direction& d, TensorId x, const State& s) {
  const std::int64_t h = d.hidden;
  const auto own = b.split(x, 1, {2 * h, h});
  const auto gates = b.split(activated_gate(b, d, 0, b.binary("add", own[0], recurrent(b, d, s.h, 0))), 1, {h, h});
  const TensorId update = gates[0], reset = gates[1];
  TensorId memory;
  if (d.linear_before_reset) {
    memory = recurrent(b, d, s.h, 1);
    if (d.recurrence_bias.valid()) memory = b.binary("add", memory, b.slice(d.recurrence_bias, 0, 2 * h, 3 * h));
    memory = b.binary("mul", reset, memory);
  } else {
    memory = recurrent(b, d, b.binary("mul", reset, s.h), 1);
  }
  const TensorId fresh = activated_gate(b, d, 1, b.binary("add", own[1], memory));
  // (1 - z) fresh + z h
  return {b.binary("add", fresh, b.binary("mul", update, b.binary("sub", s.h, fresh))), {}};
}

struct Kind {
  std::int64_t gates;
  Step step;
  std::array<std::string_view, 3> activations;
  std::size_t activation_count;
};
constexpr Kind kRnn{1, rnn_step, {"tanh"}, 1};
constexpr Kind kGru{3, gru_step, {"sigmoid", "tanh"}, 2};
constexpr Kind kLstm{4, lstm_step, {"sigmoid", "tanh", "tanh"}, 3};

std::string_view activation(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"sigmoid", "sigmoid"}, {"tanh", "tanh"}, {"relu", "relu"}, {"softplus", "softplus"}};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto& [theirs, ours] : kKnown) {
    if (theirs == lower) return ours;
  }
  Node::not_supported("activation \"" + name + "\"");
}

// Slice `number` of dimension 0, without the dimension.
TensorId row(GraphBuilder& b, TensorId t, std::int64_t number) {
  Shape shape = b.info(t).shape;
  shape.erase(shape.begin());
  return b.reshape(b.slice(t, 0, number, number + 1), std::move(shape));
}

class Layer {
 public:
  Layer(Node& n, const Kind& kind) : n_(n), b_(n.b), kind_(kind) { read(); }

  Results run() {
    std::vector<TensorId> all, last_h, last_c;
    for (std::int64_t d = 0; d < directions_; ++d) {
      const State last = scan(direction(d), start(d), all);
      last_h.push_back(b_.reshape(last.h, {1, batch_, hidden_}));
      if (last.c.valid()) last_c.push_back(b_.reshape(last.c, {1, batch_, hidden_}));
    }
    Results results{b_.concat(all, 1), b_.concat(last_h, 0)};
    if (!last_c.empty()) results.push_back(b_.concat(last_c, 0));
    if (batch_first_) {
      results[0] = b_.transpose(results[0], {2, 0, 1, 3});
      for (std::size_t i = 1; i < results.size(); ++i) results[i] = b_.transpose(results[i], {1, 0, 2});
    }
    return results;
  }

 private:
  void read() {
    way_ = n_.text_attribute("direction", "forward");
    directions_ = way_ == "bidirectional" ? 2 : 1;
    batch_first_ = n_.opset >= 14 && n_.integer_attribute("layout", 0) != 0;
    linear_before_reset_ = n_.integer_attribute("linear_before_reset", 0) != 0;
    names_ = n_.texts_attribute("activations");
    if (n_.has_attribute("output_sequence")) n_.integer_attribute("output_sequence", 0);  // before 7
    coupled_ = n_.integer_attribute("input_forget", 0) != 0;
    clip_ = n_.number_attribute("clip", 0);
    if (n_.has_attribute("activation_alpha") || n_.has_attribute("activation_beta"))
      Node::not_supported("activation_alpha or activation_beta");
    for (std::size_t i = 0; i < 3; ++i) {
      if (n_.rank(i) != 3)
        Node::fail("operand " + std::to_string(i) + " has shape " + to_text(n_.shape(i)) +
                   ", expected three dimensions");
    }
    x_ = batch_first_ ? b_.transpose(n_.in(0), {1, 0, 2}) : n_.in(0);
    steps_ = b_.info(x_).shape[0];
    batch_ = b_.info(x_).shape[1];
    hidden_ = n_.shape(2)[2];
    n_.integer_attribute("hidden_size", hidden_);
    if (steps_ < 1 || steps_ > kMostSteps)
      Node::not_supported("a sequence of " + std::to_string(steps_) + " steps, unrolled");
    check();
  }

  void expect(std::size_t i, const Shape& shape) {
    if (n_.has(i) && n_.shape(i) != shape)
      Node::fail("operand " + std::to_string(i) + " has shape " + to_text(n_.shape(i)) + ", expected " +
                 to_text(shape));
  }

  void check() {
    const std::int64_t rows = kind_.gates * hidden_;
    expect(1, {directions_, rows, n_.shape(0)[2]});
    expect(2, {directions_, rows, hidden_});
    expect(3, {directions_, 2 * rows});
    const Shape state = batch_first_ ? Shape{batch_, directions_, hidden_} : Shape{directions_, batch_, hidden_};
    expect(5, state);
    expect(6, state);
    expect(7, {directions_, 3 * hidden_});
    if (!names_.empty() && names_.size() != kind_.activation_count * static_cast<std::size_t>(directions_)) {
      Node::fail("number of activations");
    }
    if (!n_.has(4)) return;
    lengths_ = n_.integers(4, "sequence_lens");
    if (std::ssize(lengths_) != batch_)
      Node::fail(std::to_string(lengths_.size()) + " sequence_lens for " + std::to_string(batch_) + " sequences");
  }

  Direction direction(std::int64_t number) {
    Direction d{.gates = kind_.gates, .hidden = hidden_};
    d.reverse = way_ == "reverse" || number == 1;
    d.linear_before_reset = linear_before_reset_;
    d.coupled = coupled_;
    d.clip = clip_;
    d.weight = row(b_, n_.in(1), number);
    const TensorId recurrence = row(b_, n_.in(2), number);
    d.recurrence = {recurrence};
    if (kind_.gates == kGru.gates) d.recurrence = b_.split(recurrence, 0, {2 * hidden_, hidden_});
    if (n_.has(3)) {
      const std::int64_t rows = kind_.gates * hidden_;
      const auto halves = b_.split(row(b_, n_.in(3), number), 0, {rows, rows});
      d.bias = halves[0], d.recurrence_bias = halves[1];
    }
    if (n_.has(7)) d.peephole = row(b_, n_.in(7), number);
    d.activation = kind_.activations;
    for (std::size_t i = 0; i < kind_.activation_count && !names_.empty(); ++i) {
      d.activation[i] = activation(names_[static_cast<std::size_t>(number) * kind_.activation_count + i]);
    }
    return d;
  }

  TensorId first_state(std::size_t operand, std::int64_t number) {
    if (!n_.has(operand)) return b_.expand(b_.scalar(n_.type(0), 0), {batch_, hidden_});
    const TensorId given = batch_first_ ? b_.transpose(n_.in(operand), {1, 0, 2}) : n_.in(operand);
    return row(b_, given, number);
  }

  State start(std::int64_t number) {
    State s{first_state(5, number), {}};
    if (kind_.gates == kLstm.gates) s.c = first_state(6, number);
    return s;
  }

  // x W^T and the biases that may be added ahead, for all steps.
  std::vector<TensorId> projections(const Direction& d) {
    TensorId x = b_.matmul(x_, d.weight, false, true);
    if (d.bias.valid()) x = b_.binary("add", x, d.bias);
    if (d.recurrence_bias.valid()) x = b_.binary("add", x, ahead(d));
    std::vector<TensorId> steps = b_.split(x, 0, std::vector<std::int64_t>(static_cast<std::size_t>(steps_), 1));
    for (TensorId& step : steps) step = b_.reshape(step, {batch_, d.gates * hidden_});
    return steps;
  }

  // The recurrence bias, without the part that a GRU's reset gate multiplies.
  TensorId ahead(const Direction& d) {
    if (kind_.gates != kGru.gates || !d.linear_before_reset) return d.recurrence_bias;
    const TensorId none = b_.expand(b_.scalar(b_.info(d.recurrence_bias).type, 0), {hidden_});
    return b_.concat({b_.slice(d.recurrence_bias, 0, 0, 2 * hidden_), none}, 0);
  }

  // Behind its end a sequence keeps its state, in either direction, and has zeros as results.
  TensorId at_step(std::int64_t t) {
    std::vector<double> goes_on;
    for (const std::int64_t length : lengths_) goes_on.push_back(t < length ? 1 : 0);
    return b_.constant(Array::from(DType::boolean, {batch_, 1}, goes_on));
  }
  bool all_go_on(std::int64_t t) const {
    return std::ranges::all_of(lengths_, [&](std::int64_t length) { return t < length; });
  }

  // Adds the direction's results [steps, 1, batch, hidden] to `all`.
  State scan(const Direction& d, State s, std::vector<TensorId>& all) {
    const std::vector<TensorId> x = projections(d);
    std::vector<TensorId> results(x.size());
    std::optional<GraphBuilder::Loop> loop(std::in_place, b_);
    for (std::size_t i = 0; i < x.size(); ++i) {
      loop->next();
      const std::size_t t = d.reverse ? x.size() - 1 - i : i;
      const State next = kind_.step(b_, d, x[t], s);
      TensorId result = next.h;
      if (all_go_on(static_cast<std::int64_t>(t))) {
        s = next;
      } else {
        const TensorId goes_on = at_step(static_cast<std::int64_t>(t));
        result = b_.one("where", {goes_on, next.h, b_.scalar(b_.info(next.h).type, 0)});
        s.h = b_.one("where", {goes_on, next.h, s.h});
        if (s.c.valid()) s.c = b_.one("where", {goes_on, next.c, s.c});
      }
      results[t] = b_.reshape(result, {1, 1, batch_, hidden_});
    }
    loop.reset();
    all.push_back(b_.concat(std::move(results), 0));
    return s;
  }

  Node& n_;
  GraphBuilder& b_;
  const Kind& kind_;
  TensorId x_;
  std::string way_;
  std::vector<std::string> names_;
  std::int64_t directions_ = 1, steps_ = 0, batch_ = 0, hidden_ = 0;
  std::vector<std::int64_t> lengths_;  // of the sequences; empty: all have all steps
  bool batch_first_ = false, linear_before_reset_ = false, coupled_ = false;
  double clip_ = 0;
};

Results rnn(Node& n) { return Layer(n, kRnn).run(); }
Results gru(Node& n) { return Layer(n, kGru).run(); }
Results lstm(Node& n) { return Layer(n, kLstm).run(); }

constexpr Handler kRnnHandlers[] = {
    {"GRU", 1, 6, gru},
    {"LSTM", 1, 8, lstm},
    {"RNN", 1, 6, rnn},
};

}  // namespace

std::span<const Handler> rnn_handlers() { return kRnnHandlers; }

}  // namespace superstep::onnx_import
