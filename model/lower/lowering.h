// SPDX-License-Identifier: Apache-2.0
// What the parts of lower() share. For lower() alone: each part adds the nodes of its subject to the tree.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/lower/holdings.h"
#include "model/lower/nodes.h"

namespace superstep {

struct Lowering {
  const UnitTable& table;
  const Plan& plan;
  Holdings held;
  Program program = {};
  std::vector<FunctionId> forward = {}, backward = {};  // by table row; invalid: not called yet
  std::map<std::int32_t, FunctionId> updates = {};      // by table row
};

// A stage's work on one micro-batch (lower_stage.cc). `backward_follows`, `forward_was_last`: its backward comes right
// after its forward, so that the last block need not run again.
void forward_calls(Lowering& l, Node& to, const StageSpan& s, std::int64_t lag, bool backward_follows);
void backward_calls(Lowering& l, Node& to, const StageSpan& s, std::int64_t lag, bool forward_was_last);
// A transfer to or from where a location says; none when that is the processor.
void add_streamed(const Lowering& l, Node& to, std::string name, StepKind kind, Bytes bytes, Location where,
                  Cargo cargo = {});
// Joins what crosses into `unit`, or its gradients, where it is stored in shards over t.
void join_boundary(const Lowering& l, Node& to, const std::string& name, std::int64_t unit, Data data);
// From each IPU to that of another stage.
void add_copy(const Lowering& l, Node& to, std::string name, Term term, Bytes bytes, Cargo cargo);

// Gradients become new weights (lower_update.cc). phase -1: all of an IPU group's units.
void update_of(Lowering& l, Node& to, std::int64_t ipu, std::int64_t phase);
void join_tied_gradients(const Lowering& l, Node& to, std::int64_t phase);
void return_tied_weights(const Lowering& l, Node& to);

// The whole tree of a phased plan (lower_phases.cc).
void lower_phases(Lowering& l);

}  // namespace superstep
