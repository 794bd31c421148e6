// SPDX-License-Identifier: Apache-2.0
// Where a NaN or an infinity came from.
#pragma once

#include <string>

#include "model/execute/evaluate.h"

namespace superstep {

struct NonFinite {
  std::string op, kind, tensor;  // the op's name, what it is ("exp"), its result
  double value = 0;              // NaN or an infinity
  bool found() const { return !tensor.empty(); }
};

// Runs the graph and follows what is not finite from `results` back to the op that first made it of finite operands;
// where each has an infinity among its operands (a mask of -infinity), to the one that first made NaN. Not found: all
// of `results` are finite, or one is fed so.
NonFinite find_non_finite(const Graph& graph, const Values& feeds, const KernelContext& context,
                          const std::vector<TensorId>& results);

}  // namespace superstep
