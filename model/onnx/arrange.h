// SPDX-License-Identifier: Apache-2.0
// From ops in the order of a file to a graph of units.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/graph.h"

namespace superstep::onnx_import {

// What an op's results depend on. Ops on the `path` depend on inputs and on weights (or are all there
// is); the others only make weights or masks, for whoever reads them.
struct Roles {
  std::vector<bool> live;  // the roots depend on the op
  std::vector<bool> path;
};
Roles find_roles(const Graph& graph, const std::vector<TensorId>& roots);

// Cuts the ops on the path, given in order, where a single tensor crosses. A cut is made between two
// products (or between a lookup of weights and a product), at the place among the possible ones that
// gives the fewest different units: at the last, after an activation function, or after a residual
// addition. Units in order.
std::vector<std::vector<OpId>> cut_units(const Graph& graph, const std::vector<OpId>& path, const Roles& roles);

struct Arrangement {
  Graph graph;
  std::vector<TensorId> moved;  // per tensor of the old graph: in the new one; invalid: not needed
};

// The live ops in units. Ops beside the path are repeated in each unit that reads them, except
// products, which stand in the first.
Arrangement arrange(const Graph& graph, const std::vector<TensorId>& roots);

}  // namespace superstep::onnx_import
