// SPDX-License-Identifier: Apache-2.0
// Training step after step, with whatever runs the graph: the plain graph on the global batch, or the lowered program
// under a plan. State is held by tensor name, so that one can go on where the other stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/execute/evaluate.h"
#include "model/training/loss_scale.h"
#include "model/training/named_values.h"

namespace superstep {

struct TrainingState {
  NamedValues tensors;     // weights and optimizer states
  std::int64_t step = 0;   // the next one
  std::uint64_t seed = 0;  // of dropout
  LossScale loss_scale;
};

struct StepResult {
  std::int64_t step = 0;
  // "loss", or "output 0", ... of a graph without one: dimension 0 holds all samples of the global batch. An output
  // that is no such list is left out where the run has not got it whole.
  NamedValues results;
  NamedValues gradients;  // by "gradient of WEIGHT", times the loss scale
  double loss_scale = 1;
  // With clipping: the norm of all gradients together, without the loss scale, and what they were multiplied by.
  double gradient_norm = 0, clipped_by = 1;
  bool skipped = false;  // the update, for the loss scale's sake; the next step has another
  // The first of results, gradients and new values that is not finite, and what it holds; empty: none. The state
  // stays as it was.
  std::string not_finite;
  double value = 0;
};

class Trainer {
 public:
  // Values by the ids of `graph`, from those of its inputs for the global batch, of all weights and states.
  using Run = std::function<Values(const Values& feeds, const KernelContext& context)>;

  // `graph` must outlive the trainer. Throws Error on a state that lacks a tensor of the graph, or has another.
  // clip_norm: gradients whose norm, of all together, is larger are scaled down to it; the graph's loss scaling is fed.
  // 0: never. The factor needs every gradient: such a step is run twice, once to know it.
  Trainer(const Graph& graph, Run run, TrainingState state, double clip_norm = 0);

  StepResult step(const NamedValues& inputs);
  const TrainingState& state() const { return state_; }

  // What the next step feeds.
  Values feeds(const NamedValues& inputs, double clipped_by = 1) const;
  KernelContext context() const;

 private:
  NamedValues results_of(const Values& values) const;
  NamedValues gradients_of(const Values& values) const;
  NamedValues updated(const Values& values) const;

  const Graph& graph_;
  Run run_;
  TrainingState state_;
  double clip_norm_;
};

// The tensor that a StepResult knows as `name`; invalid: none.
TensorId result_named(const Graph& graph, const std::string& name);

// The first value that is NaN or infinite; -1: none.
std::int64_t first_not_finite(const Array& array);

}  // namespace superstep
