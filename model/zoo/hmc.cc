// SPDX-License-Identifier: Apache-2.0
// A Hamiltonian Monte Carlo sampler of the weights of a small network that foretells returns from features: each
// sample of the graph is one proposal of one chain, a run of leapfrog steps with the gradients written out, and the
// choice between it and where the chain was. The network: one hidden layer with tanh, one result, scaled; its errors
// follow Student's t distribution, its weights a normal one.
#include <nlohmann/json.hpp>

#include "model/graph/builder.h"
#include "model/zoo/families.h"

namespace superstep::zoo {

namespace {

constexpr const char* kMcmc =
    "Graphcore's public TensorFlow Probability benchmark: network and distributions; "
    "1000 leapfrog steps there, items of data not published";
constexpr double kFreedom = 2.2, kErrorScale = 100;  // of Student's t distribution
constexpr double kPriorScale = 200;
constexpr double kFeatureScale = 0.001;

class HmcBuilder {
 public:
  HmcBuilder(Graph& graph, const HmcSpec& spec, std::int64_t chains, DType precision)
      : b_(graph), s_(spec), m_(chains), type_(precision) {}

  void build(Graph& graph) {
    b_.begin_unit("start");
    TensorId place = b_.input("position", type_, {m_, s_.weights()}),
             pace = b_.input("momentum", type_, {m_, s_.weights()});
    const TensorId uniform = b_.input("uniform", type_, {m_, 1}), first = place;
    features_ = b_.scale(b_.weight("data/features", type_, {s_.items, s_.features}), kFeatureScale);
    returns_ = b_.weight("data/returns", type_, {s_.items, 1});
    Energy energy = energy_of(place);
    const TensorId before = b_.binary("add", energy.value, kinetic(pace));
    pace = moved(pace, energy.slope, -s_.step_size / 2);
    for (std::int64_t i = 0; i < s_.leapfrog_steps; ++i) {
      const std::string name = "leapfrog" + std::to_string(i);
      b_.begin_unit(name, i);
      GraphBuilder::Scope scope(b_, name);
      place = moved(place, pace, s_.step_size);
      energy = energy_of(place);
      const bool last = i + 1 == s_.leapfrog_steps;
      pace = moved(pace, energy.slope, last ? -s_.step_size / 2 : -s_.step_size);
    }
    b_.begin_unit("choice", -1, UnitRole::head);
    const TensorId after = b_.binary("add", energy.value, kinetic(pace));
    const TensorId accepted = b_.binary("less", b_.unary("log", uniform), b_.binary("sub", before, after));
    const TensorId next = b_.one("where", {accepted, place, first});
    graph.outputs = {next, b_.cast(accepted, type_)};
  }

 private:
  struct Energy {
    TensorId value;  // minus the logarithm of the density, less a constant: [m, 1]
    TensorId slope;  // its gradient, [m, weights]
  };
  GraphBuilder b_;
  const HmcSpec& s_;
  std::int64_t m_;
  DType type_;
  TensorId features_, returns_;

  TensorId moved(TensorId from, TensorId along, double by) { return b_.binary("add", from, b_.scale(along, by)); }
  TensorId kinetic(TensorId pace) { return b_.scale(b_.reduce("sum_square", pace, {1}, true), 0.5); }
  TensorId sum(TensorId x, std::int64_t axis) { return b_.reduce("sum", x, {axis}, true); }
  TensorId flat(TensorId x) { return b_.reshape(x, {m_, b_.info(x).elements() / m_}); }

  // The network's weights in a chain's position, in order.
  struct Weights {
    TensorId input, bias, output, output_bias, scale, shift;
  };
  Weights weights_of(TensorId place) {
    std::int64_t at = 0;
    const auto next = [&](std::int64_t rows, std::int64_t columns) {
      const TensorId part = b_.slice(place, 1, at, at + rows * columns);
      at += rows * columns;
      return b_.reshape(part, {m_, rows, columns});
    };
    Weights w;
    w.input = next(s_.features, s_.hidden), w.bias = next(1, s_.hidden);
    w.output = next(s_.hidden, 1), w.output_bias = next(1, 1);
    w.scale = next(1, 1), w.shift = next(1, 1);
    return w;
  }

  Energy energy_of(TensorId place) {
    const Weights w = weights_of(place);
    const TensorId hidden = b_.unary("tanh", b_.binary("add", b_.matmul(features_, w.input), w.bias));  // [m, items, h]
    const TensorId plain = b_.binary("add", b_.matmul(hidden, w.output), w.output_bias);                // [m, items, 1]
    const TensorId guess = b_.binary("add", b_.binary("mul", plain, w.scale), w.shift);
    const TensorId error = b_.scale(b_.binary("sub", guess, returns_), 1 / kErrorScale);
    const TensorId spread = b_.shift(b_.unary("square", error), kFreedom);
    const TensorId unlikely = b_.unary("log", b_.scale(spread, 1 / kFreedom));
    const TensorId data = b_.scale(b_.reduce("sum", unlikely, {1, 2}, true), (kFreedom + 1) / 2);
    const TensorId prior = b_.scale(b_.reduce("sum_square", place, {1}, true), 1 / (2 * kPriorScale * kPriorScale));

    const TensorId pull = b_.scale(b_.binary("div", error, spread), (kFreedom + 1) / kErrorScale);
    const TensorId onto_plain = b_.binary("mul", pull, w.scale);
    const TensorId onto_hidden = b_.matmul(onto_plain, w.output, false, true);
    const TensorId steep = b_.shift(b_.unary("neg", b_.unary("square", hidden)), 1);
    const TensorId onto_sum = b_.binary("mul", onto_hidden, steep);
    const TensorId slopes = b_.concat({flat(b_.matmul(features_, onto_sum, true, false)), flat(sum(onto_sum, 1)),
                                       flat(b_.matmul(hidden, onto_plain, true, false)), flat(sum(onto_plain, 1)),
                                       flat(sum(b_.binary("mul", pull, plain), 1)), flat(sum(pull, 1))},
                                      1);
    return {b_.binary("add", b_.reshape(data, {m_, 1}), prior), moved(slopes, place, 1 / (kPriorScale * kPriorScale))};
  }
};

}  // namespace

std::vector<HmcSpec> hmc_specs() {
  HmcSpec spec;
  spec.name = "mcmc-hmc";
  spec.source = kMcmc;
  return {spec};
}

nlohmann::json numbers_of(const HmcSpec& s) {
  return {{"features", s.features},
          {"hidden", s.hidden},
          {"items", s.items},
          {"leapfrog_steps", s.leapfrog_steps},
          {"step_size", s.step_size}};
}

void override_numbers(JsonReader& r, HmcSpec& s) {
  s.features = r.integer_or("features", 1, 1 << 16, s.features);
  s.hidden = r.integer_or("hidden", 1, 1 << 16, s.hidden);
  s.items = r.integer_or("items", 1, 1 << 28, s.items);
  s.leapfrog_steps = r.integer_or("leapfrog_steps", 1, 4096, s.leapfrog_steps);
  s.step_size = r.number_or("step_size", 1e-9, 10, s.step_size);
}

Graph build(const HmcSpec& spec, std::int64_t micro_batch, DType precision, GraphUse) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("features", spec.features);
  positive("hidden", spec.hidden);
  positive("items", spec.items);
  positive("leapfrog_steps", spec.leapfrog_steps);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  HmcBuilder(graph, spec, micro_batch, precision).build(graph);
  return graph;
}

}  // namespace superstep::zoo
