// SPDX-License-Identifier: Apache-2.0
// Ops of a graph with their iteration spaces, kept because every split and every table needs them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep {

struct OpUse {
  OpUse(const Graph& graph, OpId op);
  CallOf call;
  Space space;
  std::vector<std::int64_t> extents;  // of the axes of `space`
};

// Returns the floating-point operations of a matrix product: two per point of its iteration space. 0 for other ops.
double product_flops(const OpUse& use);

// The OpUse of every op, made when first asked for, by any number of threads. Ops of a unit that equals an earlier unit
// are normally never asked for.
class OpUses {
 public:
  explicit OpUses(const Graph& graph);
  const OpUse& of(OpId op) const;

 private:
  struct Slot {
    std::once_flag made;
    std::unique_ptr<const OpUse> use;
  };
  const Graph& graph_;
  std::unique_ptr<Slot[]> slots_;  // by op
};

}  // namespace superstep
