// SPDX-License-Identifier: Apache-2.0
// Small XLA programs, made in tests.
#pragma once

#include <string>
#include <vector>

#include "model/xla/hlo_file.h"
#include "model/xla/import_file.h"
#include "model/xla/writer.h"

namespace superstep::test {

using xla_import::Computation;
using xla_import::Extents;
using xla_import::Instruction;
using Made = Instruction*;

class ProgramMaker {
 public:
  ProgramMaker();

  // Instructions go into the entry computation, or into the one begun last. The last one is its root.
  ProgramMaker& begin(const std::string& name);
  std::int64_t end();  // back to the entry; returns the computation's id

  Made add(const std::string& opcode, const Extents& shape, const std::vector<Made>& operands,
           std::int32_t type = xla_import::kF32);
  Made parameter(const Extents& shape, const std::string& op_name = "", std::int32_t type = xla_import::kF32);
  Made floats(const Extents& shape, const std::vector<float>& values);
  Made integers(const Extents& shape, const std::vector<std::int32_t>& values);
  Made number(float value) { return floats({}, {value}); }
  Made broadcast(Made from, const Extents& shape, const Extents& dimensions);
  // x [.., k] by y [k, ..].
  Made matmul(Made x, Made y);
  Made compare(Made x, Made y, const std::string& direction);
  // By "add", "maximum"...
  Made reduce(const std::string& opcode, Made x, float from, const Extents& axes);
  Made tuple(const std::vector<Made>& parts);
  Made element(Made tuple, int i);

  std::string bytes(bool wrapped = true) const;
  std::string write(const std::string& name = "program.hlo.pb") const;
  ImportResult import(const ImportOptions& options = {}) const { return import_file(write(), options); }

  hlo_file::HloModuleProto module;

 private:
  std::int64_t next_ = 1;
  hlo_file::HloComputationProto* entry_;
  hlo_file::HloComputationProto* current_;
};

Extents shape_of(Made made);

}  // namespace superstep::test
