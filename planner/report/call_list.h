// SPDX-License-Identifier: Apache-2.0
// The calls of a program on its IPU groups, in program order: the phases of the heat map, and the axis along which
// memory is followed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/lower/program.h"

namespace superstep {

struct Call {
  std::string name;
  std::int64_t ipu = 0;
  std::int64_t phase = 0;  // of phased execution: whose residents stand meanwhile
  FunctionId function;
  Bytes resident;  // what its phase holds
  Bytes held;      // kept by earlier calls of its block
  bool keeps = false;
  std::int64_t repeats = 1;
};

// What a call leaves for its backward call.
struct CallStash {
  std::string name;  // of the unit
  std::int64_t ipu = 0;
  Bytes bytes;
  std::int64_t first = 0, last = 0;  // calls
};

class CallList {
 public:
  CallList(const Program& program, const Graph& graph);

  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<CallStash>& kept() const { return kept_; }

 private:
  const Program& program_;
  const Graph& graph_;
  std::vector<Call> calls_;
  std::vector<CallStash> kept_;
  std::vector<std::vector<std::pair<UnitId, std::size_t>>> held_;  // by IPU group: entries of kept_

  void visit(const Node& n, std::int64_t ipu, std::int64_t phase, std::int64_t repeats);
  void call(const Node& n, std::int64_t ipu, std::int64_t phase, std::int64_t repeats);
};

}  // namespace superstep
