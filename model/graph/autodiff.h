// SPDX-License-Identifier: Apache-2.0
// Extends a forward graph by the backward pass (gradients) and the weight update (optimiser).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace superstep {

class GraphBuilder;

// Loss scaling, which keeps small gradients within the range of fp16. `fed`: the backward pass starts from a factor
// times the loss, and updates multiply gradients by the inverse factor. Both numbers are constants of the graph, named
// kLossScale and kInverseLossScale. There is one inverse per type that updates compute in. Both are 1 unless feeds give
// other values.
enum class LossScaling : std::uint8_t { none, fed };
inline constexpr std::string_view kLossScale = "loss_scale", kInverseLossScale = "loss_scale/inverse";

// Adds the ops that compute the gradient of graph.loss with respect to every weight that the loss depends on and that
// is not frozen. A backward op belongs to the unit of its forward op. The last tensor of each chain gets kind
// weight_gradient. Returns the gradient of each weight. Throws Error with the name of an op on the path that has no
// gradient.
std::map<TensorId, TensorId> add_gradients(Graph& graph, LossScaling scaling = LossScaling::none);

// Adds the derivatives of the sum of `y` with respect to each of `xs`, as ops of the builder's current pass. Returns
// one tensor per x, in the order of `xs`; zeros where y does not depend on x. All xs are taken to be independent of
// each other, even if some are results of ops.
std::vector<TensorId> add_derivatives(GraphBuilder& builder, TensorId y, const std::vector<TensorId>& xs);

// An optimiser and its constants. The comment of a field names the kinds that read the field.
struct OptimizerSpec {
  std::string kind = "sgd";  // sgd, sgd_momentum, adam, adamw, lamb, lars
  double learning_rate = 0.01;
  double momentum = 0.9;    // sgd_momentum, lars
  double weight_decay = 0;  // decoupled for adamw and lamb; else added to the gradient, for lars to the norm too
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw, lamb
  bool bias_correction = true;                        // adam, adamw, lamb
  double trust_coefficient = 1e-3;                    // lars (eta)
  double clip_norm = 0;                               // limit on the norm over all gradients; 0: no clipping
  DType first_moment = DType::fp32;
  DType second_moment = DType::fp32;
  bool master_weights = false;  // true: an fp32 copy of each fp16 weight is kept
};
// Returns all valid values of OptimizerSpec::kind.
std::vector<std::string> optimizer_kinds();
// Returns bytes of optimiser state per parameter, master weights included (LAMB with fp32 moments: 8).
std::int64_t state_bytes_per_parameter(const OptimizerSpec& spec);

// Adds one update per weight, which reads the accumulated gradient (the weight_gradient tensor), and fills
// Graph::updates. Update ops belong to the weight's unit and have pass update. Each is elementwise or a full reduction
// over the weight, so that an update can run on a shard of the weight. `scaling` must be as in add_gradients().
void add_optimizer(Graph& graph, const std::map<TensorId, TensorId>& gradients, const OptimizerSpec& spec,
                   LossScaling scaling = LossScaling::none);

}  // namespace superstep
