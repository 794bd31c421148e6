// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan, written out: the branch that is taken, the body once per turn. What decides must be known when
// importing. For running models, not for planning them: a graph that was written out is that of one set of inputs.
#pragma once

#include <functional>

#include "model/onnx/node.h"

namespace superstep::onnx_import {

bool is_control_flow(const std::string& domain, const std::string& op_type);

// Adds the nodes of a subgraph, given its inputs; returns its outputs. Throws Unsupported when a node is not imported.
using AddGraph = std::function<Results(const onnx_file::GraphProto&, const Results& inputs)>;

Results write_out(Node& n, const std::string& op_type, const AddGraph& add);

}  // namespace superstep::onnx_import
