// SPDX-License-Identifier: Apache-2.0
// The calls of a program on its IPU groups, in program order. The calls are the phases of the heat map and the axis of
// memory over time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/program/program.h"

namespace superstep {

// One call of a function on an IPU group. Bytes are per tile, on the fullest tile.
struct Call {
  std::string name;
  std::int64_t ipu = 0;    // IPU group
  std::int64_t phase = 0;  // phase of phased execution whose residents are in memory during the call
  FunctionId function;
  Bytes resident;            // residents of the phase
  Bytes held;                // stash that earlier calls keep on this IPU group
  bool keeps = false;        // the call keeps the stash that its backward call reads
  std::int64_t repeats = 1;  // calls in a step
};

// The stash that a call keeps until its backward call.
struct CallStash {
  std::string name;                  // name of the unit
  std::int64_t ipu = 0;              // IPU group
  Bytes bytes;                       // bytes per tile
  std::int64_t first = 0, last = 0;  // first and last call with the stash in memory: rows of calls()
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
  std::vector<std::vector<std::pair<UnitId, std::size_t>>> held_;  // by IPU group: live entries of kept_

  void visit(const Node& n, std::int64_t ipu, std::int64_t phase, std::int64_t repeats);
  void call(const Node& n, std::int64_t ipu, std::int64_t phase, std::int64_t repeats);
};

}  // namespace superstep
