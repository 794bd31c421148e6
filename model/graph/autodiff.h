// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace superstep {

class GraphBuilder;

// Loss scaling keeps small gradients within the range of fp16. `fed`: gradients are made from a factor times the loss,
// and updates multiply them by its inverse. Both numbers are constants of the graph, named kLossScale and
// kInverseLossScale (one per type that updates compute in), 1 unless feeds give other values.
enum class LossScaling : std::uint8_t { none, fed };
inline constexpr std::string_view kLossScale = "loss_scale", kInverseLossScale = "loss_scale/inverse";

// Adds the ops that compute the gradient of graph.loss for every weight it depends on. A backward
// op belongs to the unit of the forward op it comes from; the last tensor of each chain gets kind
// weight_gradient. Returns weight -> gradient. Throws Error naming an op without a gradient on the path.
std::map<TensorId, TensorId> add_gradients(Graph& graph, LossScaling scaling = LossScaling::none);

// The derivative of the sum of `y` with respect to each of `xs`, as ops of the builder's pass. The xs, also those
// that are results of ops, are taken to be independent of each other; zeros where y does not depend on one.
std::vector<TensorId> add_derivatives(GraphBuilder& builder, TensorId y, const std::vector<TensorId>& xs);

struct OptimizerSpec {
  std::string kind = "sgd";  // sgd, sgd_momentum, adam, adamw, lamb, lars
  double learning_rate = 0.01;
  double momentum = 0.9;    // sgd_momentum, lars
  double weight_decay = 0;  // decoupled for adamw and lamb; else in the gradient, for lars in its norm as well
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw, lamb
  bool bias_correction = true;                        // adam, adamw, lamb
  double trust_coefficient = 1e-3;                    // lars (eta)
  double clip_norm = 0;                               // of all gradients together; 0: they are not clipped
  DType first_moment = DType::fp32;
  DType second_moment = DType::fp32;
  bool master_weights = false;  // keep an fp32 copy of fp16 weights
};
std::vector<std::string> optimizer_kinds();
// Optimizer state bytes per parameter under the spec (LAMB with fp32 moments: 8).
std::int64_t state_bytes_per_parameter(const OptimizerSpec& spec);

// Adds one update per weight, reading the accumulated gradient (the weight_gradient tensor) and
// writing Graph::updates. Update ops belong to the weight's unit, pass update, and are elementwise
// or full reductions over the weight, so that they may run on a shard of it. `scaling` as for the gradients.
void add_optimizer(Graph& graph, const std::map<TensorId, TensorId>& gradients, const OptimizerSpec& spec,
                   LossScaling scaling = LossScaling::none);

}  // namespace superstep
