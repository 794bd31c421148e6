// SPDX-License-Identifier: Apache-2.0
// Networks from files: ONNX models, and XLA programs (HloModuleProto, HloProto) of JAX and TensorFlow.
#pragma once

#include <string>

#include "model/onnx/annotate.h"
#include "model/onnx/import.h"
#include "model/xla/facts.h"

namespace superstep {

// True if the file begins as an XLA program does.
bool is_xla_program(const std::string& path);

// Weights have no values. options.weights: patterns, as those of a shell, of the names of inputs and constants that are
// weights. Without patterns: inputs that JAX calls "params"; or where there are none, inputs that the program gives
// back changed. Throws Error with the file and the instruction: truncated or foreign file, ids that nobody has, cycles,
// shapes that do not match, a pattern that matches nothing.
ProgramFacts program_facts(const std::string& path, const ImportOptions& options);

// import_onnx(), or the same for an XLA program. Instructions that are not imported are in `unsupported`, with their
// opcode and what to do.
ImportResult import_file(const std::string& path, const ImportOptions& options);

// annotated_onnx(), or the same for an XLA program as an ONNX model.
std::string annotated_file(const std::string& path, const ImportOptions& options, const ImportResult& imported,
                           const Annotation& annotation);

}  // namespace superstep
