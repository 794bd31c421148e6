// SPDX-License-Identifier: Apache-2.0
// Who needs what of whom: tensors that cross a cut between units, and the summands of weight gradients.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "model/lower/lower_unit.h"

namespace superstep {

struct Wiring {
  explicit Wiring(const GraphFacts& facts);
  std::vector<std::set<TensorId>>
      forward;  // by unit: forward results of earlier units, and views of them, read from it on
  std::vector<std::set<TensorId>> backward;  // by unit: backward results of it or later units read by earlier ones
  std::vector<TensorId> root;                // by tensor: what it is a view of, or itself
  std::vector<bool> kept;    // by tensor: the backward pass of its own unit reads it or what shares its bytes
  std::vector<bool> leaves;  // by tensor: the same for other units of its own pass
  std::set<OpId> joins;      // sums of summands of one weight's gradient: done by its accumulator
  std::map<TensorId, std::vector<TensorId>> gradients_of;  // summand -> the weight gradients it is part of
};

}  // namespace superstep
