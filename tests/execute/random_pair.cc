// SPDX-License-Identifier: Apache-2.0
#include "random_pair.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/error.h"
#include "model/graph/op_def.h"

#include "planner/job/plan_json.h"

namespace superstep {
namespace {

// Numbers out, so that reasons can be counted.
std::string kind_of(const std::string& why) {
  std::string kind;
  for (char c : why) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind.substr(0, 60);
}

std::optional<std::int64_t> units_of(const GraphSpec& spec) {
  try {
    return static_cast<std::int64_t>(make_graph(spec, 1).units.size());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<Pair> simpler(const Pair& pair) {
  std::vector<Pair> out;
  for (const GraphSpec& graph : simpler(pair.graph)) {
    const std::optional<std::int64_t> units = units_of(graph);
    if (!units || *units < static_cast<std::int64_t>(pair.plan.stages.size())) continue;
    out.push_back({pair.seed, graph, fitted(pair.plan, *units), pair.chunk});
    Precision& precision = out.back().plan.precision;
    precision.weights = precision.activations = graph.type;
    precision.master = graph.master_weights;
    if (graph.type == DType::fp32) precision.partials = precision.accumulators = DType::fp32;
  }
  for (const Plan& plan : simpler(pair.plan)) out.push_back({pair.seed, pair.graph, plan, pair.chunk});
  if (pair.chunk > 1) out.push_back({pair.seed, pair.graph, pair.plan, 1});
  return out;
}

bool legal(const Pair& pair) {
  try {
    return why_illegal(pair.graph, pair.plan).empty();
  } catch (const Error&) {
    return false;
  }
}

bool has_nan(const Values& values) {
  for (const auto& [t, value] : values) {
    for (double v : value.values()) {
      if (std::isnan(v)) return true;
    }
  }
  return false;
}

Verdict compare(const Pair& pair) {
  const OptimizerSpec optimizer = optimizer_of(pair.graph);
  Lowered lowered([&](std::int64_t samples) { return make_graph(pair.graph, samples); }, pair.plan, optimizer);
  lowered.context.rounding = pair.graph.rounding;
  lowered.context.chunk = pair.chunk;
  const bool single = pair.graph.type == DType::fp32;
  const bool by_gradient = pair.graph.optimizer == "sgd" || pair.graph.optimizer == "sgd_momentum";
  Verdict verdict;
  const Executed exact = lowered.run(Arithmetic::exact);
  verdict.cuts = static_cast<int>(exact.cuts.size());
  for (const auto& [op, cut] : exact.cuts) verdict.nodes = verdict.nodes && cut.nodes;
  if (verdict.nodes)
    verdict.wrong = lowered.unequal_bits(exact);
  else if (single)
    verdict.wrong = lowered.difference(exact, 1e-5, by_gradient);
  if (!verdict.wrong.empty()) {
    verdict.wrong = "exact mode: " + verdict.wrong;
    return verdict;
  }
  const Executed device = lowered.run(Arithmetic::device);
  lowered.context.chunk = 16;  // where another order of adding up already tells, device mode may be off by any amount
  const bool steady = lowered.difference(exact, 1e-5, by_gradient).empty();
  if (single && steady) verdict.wrong = lowered.difference(device, 1e-4, by_gradient);
  if (lowered.poisoned(device) && !has_nan(lowered.reference())) verdict.wrong = "NaN";
  if (verdict.wrong.empty()) verdict.wrong = lowered.other_live_bytes(device);
  if (verdict.wrong.empty() && lowered.graph.loss.valid()) verdict.wrong = lowered.other_collectives(device);
  if (!verdict.wrong.empty()) verdict.wrong = "device mode: " + verdict.wrong;
  return verdict;
}

}  // namespace

Pair draw_pair(std::uint64_t seed, std::map<std::string, int>* illegal) {
  Dice dice(seed * 0x9e3779b97f4a7c15u + 1);
  for (;;) {
    Pair pair{seed, draw_graph(dice), {}, dice.of<std::int64_t>({1, 1, 2, 4})};
    const std::int64_t units = *units_of(pair.graph);
    for (int tries = 0; tries < 8; ++tries) {
      pair.plan = draw_plan(dice, pair.graph, units);
      const std::string why = why_illegal(pair.graph, pair.plan);
      if (why.empty()) return pair;
      if (illegal) ++(*illegal)[kind_of(why)];
    }
  }
}

Verdict try_pair(const Pair& pair) {
  try {
    return compare(pair);
  } catch (const std::exception& e) {
    return {.wrong = std::string("throws: ") + e.what()};
  }
}

Pair smallest(Pair pair, const std::function<bool(const Pair&)>& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Pair& next : simpler(pair)) {
      if (!legal(next) || !fails(next)) continue;
      pair = next;
      smaller = true;
      break;
    }
  }
  return pair;
}

nlohmann::json to_json(const Pair& pair) {
  nlohmann::json machine = {{"base", "toy"}, {"override", {{"ipus", pair.plan.ipus()}}}};
  return {{"model", to_json(pair.graph)},
          {"machine", machine},
          {"plan", to_json(pair.plan)},
          {"run", {{"chunk", pair.chunk}}}};
}

}  // namespace superstep
