// SPDX-License-Identifier: Apache-2.0
// Training to go on with later: a safetensors file of the weights and optimizer states under their own names, with
// step, seed, loss scale and what they belong to as metadata.
#pragma once

#include <string>

#include "model/graph/autodiff.h"
#include "model/training/trainer.h"

namespace superstep {

// What a checkpoint must agree with.
struct TrainingIdentity {
  std::string model;      // a hash, in hexadecimal
  std::string optimizer;  // its kind, and the types of its states
};
// Of weights (names, types, shapes) and the numbers that are attributes of forward ops, such as the scale of
// attention; nothing that a batch or a plan changes.
TrainingIdentity identity_of(const Graph& graph, const OptimizerSpec& optimizer);

void write_checkpoint(const std::string& path, const TrainingState& state, const TrainingIdentity& identity);

// Throws Error with the path: damaged, no checkpoint, of another model, optimizer or seed.
TrainingState read_checkpoint(const std::string& path, const TrainingIdentity& identity, std::uint64_t seed);

}  // namespace superstep
