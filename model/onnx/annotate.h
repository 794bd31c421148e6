// SPDX-License-Identifier: Apache-2.0
// A model as an ONNX file that says where a plan puts its nodes, for Netron. A node's name begins with its stage, and
// its documentation says stage, IPU, phase and unit.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/graph/graph.h"
#include "model/onnx/import.h"

namespace superstep {

struct UnitPlace {
  std::int64_t stage = 0, ipu = 0;
  std::int64_t phase = 0;  // of phased execution, from 1; 0: none
};

struct Annotation {
  std::string text;                                           // of the model
  std::vector<std::pair<std::string, std::string>> metadata;  // keys and values
  std::vector<UnitPlace> units;                               // as many as the graph has
};

// The forward pass, as ops of the domain "ai.superstep" that are named as ours: "matmul" is Matmul. Weights and
// constants of more than one element are inputs with shapes, without values. Returns the bytes of a file.
std::string annotated_onnx(const Graph& graph, const Annotation& annotation);

// The file's own model, its nodes unchanged but for names and documentation. Nodes that left no op in the graph,
// because their values were known when it was imported, go with the first node that reads them, or stay as they are
// where none does. Throws Error as import_onnx() does.
std::string annotated_onnx(const std::string& path, const ImportResult& imported, const Annotation& annotation);

}  // namespace superstep
