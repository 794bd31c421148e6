// SPDX-License-Identifier: Apache-2.0
// Makes the nodes of a program's tree. For lower() alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/program/program.h"

namespace superstep {

// The data that a step outside of functions moves, and the units whose data it is.
struct Cargo {
  Data data = Data::none;
  std::vector<UnitId> units;
};

Node sequence(std::string name);
Node parallel(std::string name);
Node repeat(std::string name, std::int64_t count, std::int64_t micro_batches);
Node step(std::string name, StepKind kind, Term term, Bytes bytes, Cargo cargo = {});
Node fixed(std::string name, Cycles cycles);
// Adds a collective step to `to`. No step if there are no bytes, or the group is a single IPU.
void add_collective(Node& to, std::string name, CollectiveKind kind, Term term, GroupShape group, Bytes bytes,
                    Cargo cargo = {});

inline UnitId unit_id(std::int64_t unit) { return UnitId(static_cast<std::int32_t>(unit)); }
// Returns the units [begin, end).
std::vector<UnitId> run_of(std::int64_t begin, std::int64_t end);

}  // namespace superstep
