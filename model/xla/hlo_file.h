// SPDX-License-Identifier: Apache-2.0
// XLA programs as messages: an HloModuleProto, or the HloProto around it, whose ids are checked.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/xla/hlo_subset.pb.h"

namespace superstep::xla_import {

using Instruction = hlo_file::HloInstructionProto;
using Computation = hlo_file::HloComputationProto;
using Extents = std::vector<std::int64_t>;

// True if the file begins as an XLA program does, be it binary or text; no ONNX file begins so. False for a file that
// cannot be read.
bool is_program(const std::string& path);

class Program {
 public:
  // Throws Error with the path: not found, truncated, text, not an XLA program, no entry computation, shapes of absurd
  // sizes.
  explicit Program(const std::string& path);

  const std::string& path() const { return path_; }
  const hlo_file::HloModuleProto& module() const { return module_; }
  const Computation& entry() const { return computation(module_.entry_computation_id()); }
  // Throw Error naming what asks for an id that nobody has.
  const Computation& computation(std::int64_t id) const;
  const Computation& called(const Instruction& by, int i) const;
  // The instructions that the root needs, operands first. Throws Error naming the instruction on operands that nobody
  // makes and on cycles.
  const std::vector<const Instruction*>& order(const Computation& c) const;
  const Instruction& operand(const Computation& c, const Instruction& of, int i) const;
  // The parameters by their numbers.
  std::vector<const Instruction*> parameters(const Computation& c) const;

  [[noreturn]] void fail(const Instruction& in, const std::string& message) const;

 private:
  const Instruction& instruction(const Computation& c, std::int64_t id, const std::string& asked_by) const;

  std::string path_;
  hlo_file::HloModuleProto module_;
  std::map<std::int64_t, const Computation*> computations_;
  std::map<const Computation*, std::map<std::int64_t, const Instruction*>> instructions_;
  mutable std::map<const Computation*, std::vector<const Instruction*>> orders_;
};

}  // namespace superstep::xla_import
