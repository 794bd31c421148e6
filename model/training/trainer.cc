// SPDX-License-Identifier: Apache-2.0
#include "model/training/trainer.h"

#include <algorithm>
#include <cmath>

#include "model/error.h"
#include "model/graph/autodiff.h"
#include "model/numerics/exact_sum.h"

namespace superstep {

namespace {

bool is_state(const Tensor& tensor) {
  return tensor.kind == TensorKind::weight || tensor.kind == TensorKind::optimizer_state;
}

void check_state(const Graph& graph, const TrainingState& state) {
  std::size_t expected = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (!is_state(tensor)) continue;
    ++expected;
    const auto at = state.tensors.find(tensor.name);
    if (at == state.tensors.end())
      throw Error("", "found no values for tensor \"" + tensor.name + "\", expected " + to_text(tensor.info));
    if (at->second.info != tensor.info)
      throw Error("", "tensor \"" + tensor.name + "\": found " + to_text(at->second.info) + ", expected " +
                          to_text(tensor.info));
  }
  if (state.tensors.size() != expected)
    throw Error("", "found " + std::to_string(state.tensors.size()) + " tensors, expected " + std::to_string(expected));
}

std::string output_name(std::size_t i) { return "output " + std::to_string(i); }
std::string gradient_name(const Graph& graph, const Tensor& gradient) {
  return "gradient of " + graph.tensors[gradient.weight].name;
}

// Names the first array that is not finite.
void note_not_finite(const NamedValues& values, StepResult& result) {
  for (const auto& [name, array] : values) {
    const std::int64_t at = result.not_finite.empty() ? first_not_finite(array) : -1;
    if (at < 0) continue;
    result.not_finite = name;
    result.value = array.at(at);
  }
}

// Of all elements of all arrays, the squares summed without error.
double norm_of(const NamedValues& values) {
  numerics::ExactSum<double> squares;
  for (const auto& [name, array] : values) {
    for (std::int64_t i = 0; i < array.info.elements(); ++i) squares.add(array.at(i) * array.at(i));
  }
  return std::sqrt(squares.to_double_sum());
}

}  // namespace

std::int64_t first_not_finite(const Array& array) {
  if (!is_float(array.info.type)) return -1;
  for (std::int64_t i = 0; i < array.info.elements(); ++i) {
    if (!std::isfinite(array.at(i))) return i;
  }
  return -1;
}

TensorId result_named(const Graph& graph, const std::string& name) {
  if (name == "loss") return graph.loss;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (name == output_name(i)) return graph.outputs[i];
  }
  for (const auto& [old, made] : graph.updates) {
    if (name == graph.tensors[old].name) return made;
  }
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::weight_gradient && name == gradient_name(graph, tensor)) return TensorId(i);
  }
  return {};
}

Trainer::Trainer(const Graph& graph, Run run, TrainingState state, double clip_norm)
    : graph_(graph), run_(std::move(run)), state_(std::move(state)), clip_norm_(clip_norm) {
  check_state(graph, state_);
}

KernelContext Trainer::context() const { return {.seed = state_.seed, .step = state_.step, .first_sample = 0}; }

Values Trainer::feeds(const NamedValues& inputs, double clipped_by) const {
  Values feeds;
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const TensorId t(i);
    const Tensor& tensor = graph_.tensors[t];
    if (tensor.kind == TensorKind::input) feeds[t] = inputs.at(tensor.name);
    if (is_state(tensor)) feeds[t] = state_.tensors.at(tensor.name);
    if (tensor.kind != TensorKind::constant) continue;
    const bool inverse = tensor.name.starts_with(kInverseLossScale);
    if (!inverse && tensor.name != kLossScale) continue;
    const double factor = inverse ? clipped_by / state_.loss_scale.factor : state_.loss_scale.factor;
    Array& fed = feeds[t] = Array(tensor.info);
    for (std::int64_t k = 0; k < fed.info.elements(); ++k) fed.set(k, factor);
  }
  return feeds;
}

NamedValues Trainer::results_of(const Values& values) const {
  if (graph_.loss.valid()) return {{"loss", values.at(graph_.loss)}};
  NamedValues results;
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (const auto at = values.find(graph_.outputs[i]); at != values.end()) results[output_name(i)] = at->second;
  }
  return results;
}

NamedValues Trainer::gradients_of(const Values& values) const {
  NamedValues gradients;
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    const Tensor& tensor = graph_.tensors[TensorId(i)];
    if (tensor.kind != TensorKind::weight_gradient) continue;
    gradients[gradient_name(graph_, tensor)] = values.at(TensorId(i));
  }
  return gradients;
}

NamedValues Trainer::updated(const Values& values) const {
  NamedValues updated;
  for (const auto& [old, made] : graph_.updates) updated[graph_.tensors[old].name] = values.at(made);
  return updated;
}

StepResult Trainer::step(const NamedValues& inputs) {
  StepResult result{.step = state_.step, .results = {}, .gradients = {}, .loss_scale = state_.loss_scale.factor};
  Values values = run_(feeds(inputs), context());
  result.results = results_of(values);
  result.gradients = gradients_of(values);
  if (graph_.loss.valid()) note_not_finite(result.results, result);
  if (!result.not_finite.empty()) return result;

  note_not_finite(result.gradients, result);
  const bool accepted = state_.loss_scale.accept(result.not_finite.empty());
  if (!accepted) {
    if (!state_.loss_scale.automatic || state_.loss_scale.exhausted()) return result;
    result.not_finite.clear();
    result.skipped = true;
    ++state_.step;
    return result;
  }
  if (clip_norm_ > 0) {
    result.gradient_norm = norm_of(result.gradients) / result.loss_scale;
    result.clipped_by = std::min(1.0, clip_norm_ / result.gradient_norm);
    if (result.clipped_by < 1) values = run_(feeds(inputs, result.clipped_by), context());
  }
  NamedValues made = updated(values);
  note_not_finite(made, result);
  if (!result.not_finite.empty()) return result;
  for (auto& [name, value] : made) state_.tensors.at(name) = std::move(value);
  ++state_.step;
  return result;
}

}  // namespace superstep
