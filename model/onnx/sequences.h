// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors, as exporters use them between operators: known lists while importing, nothing in the graph.
#pragma once

#include <optional>

#include "model/onnx/node.h"

namespace superstep::onnx_import {

using Sequence = std::vector<TensorId>;

bool is_sequence_op(const std::string& domain, const std::string& op_type);

// What such an operator makes: one or the other.
struct SequenceResult {
  std::optional<Sequence> sequence;
  TensorId tensor;
};

// `sequence`: operand 0 where that is one, else null.
SequenceResult run_sequence_op(Node& n, const std::string& op_type, const Sequence* sequence);

}  // namespace superstep::onnx_import
