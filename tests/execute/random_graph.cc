// SPDX-License-Identifier: Apache-2.0
#include "random_graph.h"
#include "model/units.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/graph/samples.h"

namespace superstep {
namespace {

constexpr std::int64_t kClasses = 24;  // tests/execute/setup.cc draws indices below 24
constexpr std::int64_t kIgnored = 3;

class Making {
 public:
  Making(const GraphSpec& spec, std::int64_t samples) : spec_(spec), samples_(samples), b_(graph_) {
    graph_.name = "random";
    graph_.micro_batch = samples;
  }

  Graph run() {
    for (std::size_t i = 0; i < spec_.nodes.size(); ++i) add(static_cast<std::int64_t>(i));
    if (values_.empty()) throw Error("", "no nodes");
    finish();
    return std::move(graph_);
  }

 private:
  using Kind = TensorId (Making::*)(const NodeSpec&);
  const GraphSpec& spec_;
  std::int64_t samples_;
  Graph graph_;
  GraphBuilder b_;
  std::vector<TensorId> values_;
  std::map<std::int64_t, TensorId> weights_;  // by node: the matrix that others may use as well
  std::int64_t node_ = 0, layer_ = -1;

  static const std::map<std::string, Kind>& kinds();

  static void want(bool fits) {
    if (!fits) throw Error("", "the node does not fit its operands");
  }
  std::string named(const std::string& what) const { return "n" + std::to_string(node_) + "/" + what; }
  TensorId weight(const std::string& what, Shape shape) { return b_.weight(named(what), spec_.type, std::move(shape)); }
  TensorId x(const NodeSpec& n) const { return values_[at(n.from)]; }
  TensorId y(const NodeSpec& n) const { return values_[at(n.with)]; }
  const Shape& shape(TensorId t) const { return b_.info(t).shape; }
  std::size_t rank(TensorId t) const { return shape(t).size(); }

  void add(std::int64_t i) {
    const NodeSpec& n = spec_.nodes[at(i)];
    node_ = i;
    if (i == 0 || n.unit) {
      if (!n.same_layer || layer_ < 0) ++layer_;
      b_.begin_unit("unit" + std::to_string(i), layer_, n.role);
    }
    GraphBuilder::Scope scope(b_, "n" + std::to_string(i));
    const bool source = n.kind == "input" || n.kind == "tokens" || n.kind == "image";
    want(source || (n.from >= 0 && n.from < i && n.with >= 0 && n.with < i));
    values_.push_back((this->*kinds().at(n.kind))(n));
  }

  // Sources. size: of the model's width and, halved, of the positions.
  TensorId input(const NodeSpec& n) {
    return b_.input(named("x"), spec_.type,
                    {samples_, 2 + n.size % 3, std::vector<std::int64_t>{4, 8, 16, 12}[at(n.size % 4)]});
  }
  TensorId image(const NodeSpec& n) {
    return b_.input(named("image"), spec_.type, {samples_, n.flag ? 4 : 2, 4 + n.size % 3, 4});
  }
  // flag: rows of an earlier node's matrix, where it is one of kClasses rows.
  TensorId tokens(const NodeSpec& n) {
    const TensorId ids = b_.input(named("ids"), DType::int32, {samples_, 2 + n.size % 4});
    if (!n.flag) {
      weights_[node_] = weight("table", {kClasses, std::vector<std::int64_t>{8, 16, 4, 12}[at(n.size % 4)]});
    } else {
      want(weights_.count(n.with) && shape(weights_.at(n.with))[0] >= kClasses);
      weights_[node_] = weights_.at(n.with);
    }
    return b_.gather(weights_[node_], ids);
  }

  // size: columns. flag: the matrix lies transposed, and no bias.
  TensorId linear(const NodeSpec& n) {
    const std::int64_t rows = shape(x(n)).back();
    const std::int64_t columns = std::vector<std::int64_t>{8, 16, 24, 32, 4, 12, 6, 48}[at(n.size % 8)];
    weights_[node_] = n.flag ? weight("w", {columns, rows}) : weight("w", {rows, columns});
    const TensorId product = b_.matmul(x(n), weights_[node_], false, n.flag);
    return n.flag ? product : b_.binary("add", product, weight("bias", {columns}));
  }
  // By the matrix of node `with`, whichever way it fits.
  TensorId tied(const NodeSpec& n) {
    want(weights_.count(n.with));
    const TensorId w = weights_.at(n.with);
    const std::int64_t width = shape(x(n)).back();
    want(shape(w)[0] == width || shape(w)[1] == width);
    return b_.matmul(x(n), w, false, shape(w)[0] != width);
  }
  TensorId map(const NodeSpec& n) {
    return b_.unary(std::vector<const char*>{"relu", "gelu", "tanh", "sigmoid"}[at(n.size % 4)], x(n));
  }
  TensorId softmax(const NodeSpec& n) {
    want(!n.flag || rank(x(n)) > 2);
    return b_.softmax(x(n), n.flag ? 1 : -1);
  }
  TensorId log_softmax(const NodeSpec& n) { return b_.log_softmax(x(n)); }
  TensorId norm(const NodeSpec& n) {
    const Shape width{shape(x(n)).back()};
    return b_.layer_norm(x(n), weight("gamma", width), weight("beta", width), 1e-2);
  }
  TensorId positions(const NodeSpec& n) {
    const Shape& s = shape(x(n));
    want(rank(x(n)) > 2);
    return b_.binary("add", x(n), weight("positions", Shape(s.begin() + 1, s.end())));
  }
  TensorId gain(const NodeSpec& n) { return b_.binary("mul", x(n), weight("gamma", {shape(x(n)).back()})); }
  TensorId sum(const NodeSpec& n) { return elementwise(n, "add"); }
  TensorId product(const NodeSpec& n) { return elementwise(n, "mul"); }
  TensorId elementwise(const NodeSpec& n, const char* op) {
    want(shape(x(n)) == shape(y(n)));
    return b_.binary(op, x(n), y(n));
  }
  TensorId scores(const NodeSpec& n) {
    want(rank(x(n)) > 2 && rank(x(n)) == rank(y(n)));
    return b_.scale(b_.matmul(x(n), y(n), false, true), 1 / std::sqrt(static_cast<double>(shape(x(n)).back())));
  }
  TensorId mix(const NodeSpec& n) {  // flag: sums over the rows of both
    want(rank(x(n)) > 2 && rank(x(n)) == rank(y(n)));
    return b_.matmul(x(n), y(n), n.flag, false);
  }
  TensorId heads(const NodeSpec& n) {
    const Shape s = shape(x(n));
    const std::int64_t heads = n.flag ? 4 : 2;
    want(s.size() == 3 && s[2] % heads == 0);
    return b_.transpose(b_.reshape(x(n), {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
  }
  TensorId merge(const NodeSpec& n) {
    const Shape s = shape(x(n));
    want(s.size() == 4);
    return b_.reshape(b_.transpose(x(n), {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
  }
  TensorId flatten(const NodeSpec& n) {  // flag: positions into rows
    const Shape s = shape(x(n));
    want(s.size() > 2 && (!n.flag || s.size() == 3));
    return n.flag ? b_.reshape(x(n), {s[0] * s[1], s[2]}) : b_.reshape(x(n), {s[0], -1});
  }
  TensorId swap(const NodeSpec& n) {
    want(rank(x(n)) > 2);
    return b_.transpose(x(n),
                        rank(x(n)) == 3 ? std::vector<std::int64_t>{0, 2, 1} : std::vector<std::int64_t>{0, 2, 1, 3});
  }
  // A product with the samples in the middle, as recurrent models have them.
  TensorId time_major(const NodeSpec& n) {
    want(rank(x(n)) == 3);
    const std::int64_t width = shape(x(n))[2];
    const TensorId turned = b_.transpose(x(n), {1, 0, 2});
    return b_.transpose(b_.matmul(turned, weight("w", {width, width})), {1, 0, 2});
  }
  TensorId slice(const NodeSpec& n) {
    const std::int64_t axis = n.flag ? 1 : static_cast<std::int64_t>(rank(x(n))) - 1;
    const std::int64_t extent = shape(x(n))[at(axis)], begin = n.size % 2;
    want(extent > 2);
    return b_.slice(x(n), axis, begin, begin + std::max<std::int64_t>(1, extent / 2));
  }
  TensorId concat(const NodeSpec& n) {
    want(rank(x(n)) == rank(y(n)) && shape(x(n)).back() + shape(y(n)).back() <= 64);
    return b_.concat({x(n), y(n)}, n.flag && rank(x(n)) > 2 ? 1 : -1);
  }
  TensorId gate(const NodeSpec& n) {  // one half of the features times the other
    const std::int64_t half = shape(x(n)).back() / 2;
    want(half > 0 && half * 2 == shape(x(n)).back());
    Attributes attrs;
    attrs.set("axis", static_cast<std::int64_t>(rank(x(n))) - 1);
    attrs.set("sizes", std::vector<std::int64_t>{half, half});
    const std::vector<TensorId> parts = b_.add("split", {x(n)}, attrs);
    return b_.binary("mul", b_.unary("sigmoid", parts[0]), parts[1]);
  }
  TensorId reduce(const NodeSpec& n) {  // flag: over positions, else features, which stay as 1
    static const std::vector<const char*> kinds = {"sum", "mean", "max", "sum_square", "min", "mean_square"};
    const char* kind = kinds[at(n.size % 6)];
    if (!n.flag) return b_.reduce(kind, x(n), {-1}, true);
    want(rank(x(n)) > 2);
    return b_.reduce(kind, x(n), {1}, false);
  }
  TensorId centre(const NodeSpec& n) { return b_.binary("sub", x(n), b_.reduce("mean", x(n), {-1}, true)); }
  TensorId dropout(const NodeSpec& n) { return b_.dropout(x(n), n.flag ? 0.5 : 0.1); }

  TensorId conv(const NodeSpec& n) {  // size: window, stride, groups; flag: 4 channels instead of 8
    want(rank(x(n)) == 4);
    const std::int64_t window = n.size % 2 ? 1 : 3, stride = 1 + n.size / 2 % 2, groups = 1 + n.size / 4 % 2;
    const std::int64_t channels = shape(x(n))[1];
    want(channels % groups == 0 && shape(x(n))[2] >= 2 && shape(x(n))[3] >= 2);
    Attributes attrs = windows(stride, window / 2);
    attrs.set("groups", groups);
    return b_.one("conv", {x(n), weight("filter", {n.flag ? 4 : 8, channels / groups, window, window})}, attrs);
  }
  TensorId pool(const NodeSpec& n) {  // size: 2 by 2 apart or 3 by 3 overlapping; flag: maximum
    want(rank(x(n)) == 4 && shape(x(n))[2] >= 2 && shape(x(n))[3] >= 2);
    const std::int64_t window = 2 + n.size % 2;
    Attributes attrs = windows(window == 2 ? 2 : 1, window == 2 ? 0 : 1);
    attrs.set("window", std::vector<std::int64_t>{window, window});
    return b_.one(n.flag ? "max_pool" : "average_pool", {x(n)}, attrs);
  }
  static Attributes windows(std::int64_t stride, std::int64_t pad) {
    Attributes attrs;
    attrs.set("strides", std::vector<std::int64_t>{stride, stride});
    attrs.set("pads_begin", std::vector<std::int64_t>{pad, pad});
    attrs.set("pads_end", std::vector<std::int64_t>{pad, pad});
    return attrs;
  }

  TensorId mean_square(TensorId t) {
    std::int64_t elements = 1, d = 0;
    std::vector<std::int64_t> axes;
    for (std::int64_t extent : shape(t)) elements *= extent, axes.push_back(d++);
    const TensorId target = b_.input("target" + std::to_string(t.index), spec_.type, {samples_, elements / samples_});
    const TensorId off = b_.binary("sub", t, b_.reshape(target, shape(t)));
    return b_.reduce("mean_square", off, axes, false, DType::fp32);
  }
  // With a head, unless there are as many features as classes.
  TensorId cross_entropy(TensorId t) {
    const std::int64_t width = shape(t).back();
    if (width != kClasses) t = b_.matmul(t, b_.weight("head", spec_.type, {width, kClasses}));
    const TensorId rows = b_.reshape(t, {-1, kClasses});
    const TensorId labels = b_.input("labels", DType::int32, {samples_, shape(rows)[0] / samples_});
    return b_.cross_entropy(rows, b_.reshape(labels, {-1}), kIgnored);
  }
  TensorId squares(TensorId t) {
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < rank(t); ++d) axes.push_back(static_cast<std::int64_t>(d));
    return b_.scale(b_.reduce("sum_square", t, axes, false, DType::fp32), 0.1);
  }

  void finish() {
    const TensorId last = values_.back();
    graph_.outputs = {last};
    want(graph_.tensors[last].producer.valid());
    if (!spec_.training()) return check(graph_);
    if (spec_.loss == "mean_square") graph_.loss = mean_square(last);
    if (spec_.loss == "cross_entropy") graph_.loss = cross_entropy(last);
    if (spec_.loss == "sum") graph_.loss = squares(last);
    if (spec_.loss == "both")
      graph_.loss = b_.binary("add", cross_entropy(last), b_.scale(mean_square(values_[values_.size() / 2]), 0.5));
    graph_.outputs = {graph_.loss};
    count_samples_in_loss(graph_);
    const std::map<TensorId, TensorId> gradients = add_gradients(graph_);
    want(!gradients.empty());
    add_optimizer(graph_, gradients, optimizer_of(spec_));
    check(graph_);
  }
};

const std::map<std::string, Making::Kind>& Making::kinds() {
  static const std::map<std::string, Kind> all = {{"input", &Making::input},
                                                  {"image", &Making::image},
                                                  {"tokens", &Making::tokens},
                                                  {"linear", &Making::linear},
                                                  {"tied", &Making::tied},
                                                  {"map", &Making::map},
                                                  {"softmax", &Making::softmax},
                                                  {"norm", &Making::norm},
                                                  {"positions", &Making::positions},
                                                  {"gain", &Making::gain},
                                                  {"sum", &Making::sum},
                                                  {"product", &Making::product},
                                                  {"scores", &Making::scores},
                                                  {"mix", &Making::mix},
                                                  {"heads", &Making::heads},
                                                  {"merge", &Making::merge},
                                                  {"flatten", &Making::flatten},
                                                  {"swap", &Making::swap},
                                                  {"slice", &Making::slice},
                                                  {"concat", &Making::concat},
                                                  {"gate", &Making::gate},
                                                  {"reduce", &Making::reduce},
                                                  {"centre", &Making::centre},
                                                  {"dropout", &Making::dropout},
                                                  {"conv", &Making::conv},
                                                  {"pool", &Making::pool},
                                                  {"time_major", &Making::time_major},
                                                  {"log_softmax", &Making::log_softmax}};
  return all;
}

// Those that make a network interesting come more often.
const std::vector<std::string> kDrawn = {
    "linear", "linear",  "linear", "linear",  "tied",   "map",       "map",        "softmax",    "norm",    "norm",
    "sum",    "sum",     "sum",    "product", "scores", "scores",    "mix",        "mix",        "heads",   "heads",
    "merge",  "flatten", "swap",   "slice",   "concat", "gate",      "reduce",     "centre",     "dropout", "conv",
    "conv",   "pool",    "tokens", "input",   "gain",   "positions", "time_major", "log_softmax"};

NodeSpec draw_node(Dice& dice, std::int64_t i) {
  NodeSpec n;
  n.kind = i == 0 ? dice.of<std::string>({"input", "input", "tokens", "tokens", "image"}) : dice.of(kDrawn);
  n.from = i == 0 ? 0 : dice.one_in(5) ? dice.below(i) : i - 1;
  n.with = i == 0 ? 0 : dice.below(i);
  n.size = dice.below(8);
  n.flag = i > 0 && dice.one_in(3);
  n.unit = i > 0 && dice.one_in(2);
  n.same_layer = n.unit && dice.one_in(3);
  if (i == 0 || n.unit)
    n.role = n.kind == "tokens"
                 ? UnitRole::embedding
                 : dice.of<UnitRole>({UnitRole::other, UnitRole::attention, UnitRole::feed_forward, UnitRole::head});
  return n;
}

bool can_be_made(const GraphSpec& spec) {
  try {
    make_graph(spec, 1);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Appends a copy of the last few nodes, as a layer follows its like.
void repeat_block(Dice& dice, GraphSpec& spec) {
  const auto size = static_cast<std::int64_t>(spec.nodes.size());
  const std::int64_t length = 1 + dice.below(size);
  GraphSpec longer = spec;
  for (std::int64_t i = size - length; i < size; ++i) {
    NodeSpec n = spec.nodes[at(i)];
    const auto moved = [&](std::int64_t node) { return node >= size - length - 1 ? node + length : node; };
    n.from = moved(n.from), n.with = moved(n.with);
    if (i == size - length) n.unit = true;
    longer.nodes.push_back(n);
  }
  if (can_be_made(longer)) spec = longer;
}

}  // namespace

OptimizerSpec optimizer_of(const GraphSpec& spec) {
  return {.kind = spec.optimizer, .epsilon = 1e-3, .master_weights = spec.master_weights};
}

Graph make_graph(const GraphSpec& spec, std::int64_t samples) { return Making(spec, samples).run(); }

GraphSpec draw_graph(Dice& dice) {
  const std::vector<std::string> losses = {"none", "mean_square", "cross_entropy", "cross_entropy", "both", "sum"};
  for (;;) {
    GraphSpec spec;
    spec.loss = "none";
    const std::int64_t length = 1 + dice.below(9);
    for (int tries = 0; static_cast<std::int64_t>(spec.nodes.size()) < length && tries < 200; ++tries) {
      spec.nodes.push_back(draw_node(dice, static_cast<std::int64_t>(spec.nodes.size())));
      if (!can_be_made(spec)) spec.nodes.pop_back();
    }
    if (dice.one_in(3)) repeat_block(dice, spec);
    spec.loss = dice.of(losses);
    if (spec.training()) spec.optimizer = dice.of(optimizer_kinds());
    if (dice.one_in(3)) {
      spec.type = DType::fp16;
      spec.rounding = dice.one_in(2) ? Rounding::nearest : Rounding::stochastic;
      spec.master_weights = spec.training() && dice.one_in(2);
    }
    if (can_be_made(spec)) return spec;
  }
}

std::vector<GraphSpec> simpler(const GraphSpec& spec) {
  std::vector<GraphSpec> out;
  const auto change = [&](const std::function<void(GraphSpec&)>& f) {
    out.push_back(spec);
    f(out.back());
    if (out.back() == spec) out.pop_back();
  };
  const auto size = static_cast<std::int64_t>(spec.nodes.size());
  for (std::int64_t i = size; i-- > 0;) {  // its readers read what it read
    change([&](GraphSpec& s) {
      const std::int64_t instead = s.nodes[at(i)].from;
      const bool unit = s.nodes[at(i)].unit;
      s.nodes.erase(s.nodes.begin() + i);
      for (std::int64_t k = i; k < size - 1; ++k) {
        NodeSpec& n = s.nodes[at(k)];
        for (std::int64_t* of : {&n.from, &n.with})
          *of = *of == i ? std::max<std::int64_t>(instead, 0) : *of > i ? *of - 1 : *of;
      }
      const std::int64_t next = std::min(i, size - 2);
      if (unit && next > 0) s.nodes[at(next)].unit = true;  // stages need not move
    });
  }
  change([](GraphSpec& s) { s.loss = "none", s.optimizer = "sgd", s.master_weights = false; });
  if (spec.training()) change([](GraphSpec& s) { s.loss = "sum"; });
  if (spec.loss == "both") change([](GraphSpec& s) { s.loss = "mean_square"; });
  if (spec.loss == "both") change([](GraphSpec& s) { s.loss = "cross_entropy"; });
  change([](GraphSpec& s) { s.optimizer = "sgd"; });
  change([](GraphSpec& s) { s.master_weights = false; });
  change([](GraphSpec& s) { s.type = DType::fp32, s.rounding = Rounding::nearest, s.master_weights = false; });
  change([](GraphSpec& s) { s.rounding = Rounding::nearest; });
  for (std::int64_t i = size; i-- > 0;) {
    change([&](GraphSpec& s) { s.nodes[at(i)].unit = s.nodes[at(i)].same_layer = false; });
    change([&](GraphSpec& s) { s.nodes[at(i)].same_layer = false; });
    change([&](GraphSpec& s) { s.nodes[at(i)].role = UnitRole::other; });
    change([&](GraphSpec& s) { s.nodes[at(i)].flag = false; });
    change([&](GraphSpec& s) { s.nodes[at(i)].size = 0; });
    if (i > 0) change([&](GraphSpec& s) { s.nodes[at(i)].with = s.nodes[at(i)].from; });
    if (i > 1 && spec.nodes[at(i)].unit)
      change([&](GraphSpec& s) { std::swap(s.nodes[at(i)].unit, s.nodes[at(i - 1)].unit); });
  }
  return out;
}

nlohmann::json to_json(const GraphSpec& spec) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const NodeSpec& n : spec.nodes) {
    nlohmann::json j = {{"kind", n.kind}, {"size", n.size}, {"flag", n.flag}};
    if (!nodes.empty()) j["from"] = n.from, j["with"] = n.with;
    if (nodes.empty() || n.unit) j["unit"] = name_of(n.role), j["same_layer"] = n.same_layer;
    nodes.push_back(j);
  }
  return {{"type", name_of(spec.type)},
          {"nodes", nodes},
          {"loss", spec.loss},
          {"optimizer", spec.optimizer},
          {"master_weights", spec.master_weights},
          {"rounding", spec.rounding == Rounding::nearest ? "nearest" : "stochastic"}};
}

}  // namespace superstep
