// SPDX-License-Identifier: Apache-2.0
#include "model/xla/hlo_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "model/error.h"
#include "model/onnx/tensors.h"

namespace superstep::xla_import {

namespace {

constexpr char kFirstByte = 0x0a;  // the module's name, or the module within an HloProto
constexpr const char* kText = "HloModule";

std::string read_bytes(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw Error(path, "is a folder, expected an XLA program");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path, "cannot open");
  return {std::istreambuf_iterator<char>(stream), {}};
}

hlo_file::HloModuleProto parse(const std::string& path) {
  const std::string bytes = read_bytes(path);
  if (bytes.starts_with(kText))
    throw Error(path, "an XLA program as text, expected its binary form: XLA_FLAGS=--xla_dump_hlo_as_proto");
  hlo_file::HloProto wrapped;
  if (wrapped.ParseFromString(bytes) && wrapped.hlo_module().computations_size() > 0) return wrapped.hlo_module();
  hlo_file::HloModuleProto module;
  if (!module.ParseFromString(bytes) || module.computations_size() == 0)
    throw Error(path, "truncated, or not an XLA program (HloModuleProto or HloProto)");
  return module;
}

void check_shape(const hlo_file::ShapeProto& shape, const std::string& what) {
  onnx_import::checked_shape({shape.dimensions().begin(), shape.dimensions().end()}, what);
  for (const auto& part : shape.tuple_shapes()) check_shape(part, what);
}

}  // namespace

bool is_program(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string start(std::string(kText).size(), '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  return stream.gcount() > 0 && (start[0] == kFirstByte || start == kText);
}

Program::Program(const std::string& path) : path_(path), module_(parse(path)) {
  for (const Computation& c : module_.computations()) {
    if (!computations_.emplace(c.id(), &c).second)
      throw Error(path_, "two computations have the id " + std::to_string(c.id()));
    for (const Instruction& in : c.instructions()) {
      if (!instructions_[&c].emplace(in.id(), &in).second)
        fail(in, "another instruction has the id " + std::to_string(in.id()));
      try {
        check_shape(in.shape(), "its result");
      } catch (const Error& error) {
        fail(in, error.what());
      }
    }
  }
}

void Program::fail(const Instruction& in, const std::string& message) const {
  throw Error(path_, "instruction \"" + in.name() + "\" (" + in.opcode() + "): " + message);
}

const Computation& Program::computation(std::int64_t id) const {
  const auto at = computations_.find(id);
  if (at == computations_.end())
    throw Error(path_, "found no computation with the id " + std::to_string(id) + ", expected the entry computation");
  return *at->second;
}

const Computation& Program::called(const Instruction& by, int i) const {
  const std::int64_t id = i < by.called_computation_ids_size() ? by.called_computation_ids(i) : -1;
  const auto at = computations_.find(id);
  if (at == computations_.end()) fail(by, "calls computation " + std::to_string(id) + ", which is not in the program");
  return *at->second;
}

const Instruction& Program::instruction(const Computation& c, std::int64_t id, const std::string& asked_by) const {
  const auto& all = instructions_.at(&c);
  const auto at = all.find(id);
  if (at == all.end())
    throw Error(path_, asked_by + " reads instruction " + std::to_string(id) + ", which is not in computation \"" +
                           c.name() + "\"");
  return *at->second;
}

const Instruction& Program::operand(const Computation& c, const Instruction& of, int i) const {
  if (i >= of.operand_ids_size()) fail(of, "found no operand " + std::to_string(i));
  return instruction(c, of.operand_ids(i), "instruction \"" + of.name() + "\"");
}

// Depth first, without recursion: chains of operands are long.
const std::vector<const Instruction*>& Program::order(const Computation& c) const {
  std::vector<const Instruction*>& order = orders_[&c];
  if (!order.empty()) return order;
  if (c.instructions_size() == 0) throw Error(path_, "computation \"" + c.name() + "\" is empty");
  enum class State : std::uint8_t { fresh, open, done };
  std::map<const Instruction*, State> states;
  std::vector<const Instruction*> stack = {&instruction(c, c.root_id(), "the root of the computation")};
  while (!stack.empty()) {
    const Instruction* in = stack.back();
    State& state = states[in];
    if (state != State::fresh) {
      if (state == State::open) order.push_back(in);
      state = State::done;
      stack.pop_back();
      continue;
    }
    state = State::open;
    for (int i = in->operand_ids_size(); i-- > 0;) {
      const Instruction* from = &operand(c, *in, i);
      if (states[from] == State::open) fail(*in, "its operands depend on its result");
      if (states[from] == State::fresh) stack.push_back(from);
    }
  }
  return order;
}

std::vector<const Instruction*> Program::parameters(const Computation& c) const {
  std::map<std::int64_t, const Instruction*> found;
  for (const Instruction& in : c.instructions()) {
    if (in.opcode() == "parameter" && !found.emplace(in.parameter_number(), &in).second)
      fail(in, "another parameter has the number " + std::to_string(in.parameter_number()));
  }
  std::vector<const Instruction*> out;
  for (const auto& [number, in] : found) {
    if (number != static_cast<std::int64_t>(out.size()))
      fail(*in, "parameter " + std::to_string(out.size()) + " is missing");
    out.push_back(in);
  }
  return out;
}

}  // namespace superstep::xla_import
