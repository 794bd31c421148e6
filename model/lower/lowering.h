// SPDX-License-Identifier: Apache-2.0
// Shared state and functions of the parts of lower(). Each part adds the nodes of one subject to the program's tree.
// For lower() alone.
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
  std::vector<FunctionId> forward = {}, backward = {};  // by kind of unit (UnitTable::kind()); invalid: not called yet
  std::map<std::int32_t, FunctionId> updates = {};      // by kind of unit
};

// Add a stage's work on one micro-batch to `to` (lower_stage.cc). `lag`: as in Node. `backward_follows` and
// `forward_was_last`: the stage's backward comes right after its forward, so the last block is not recomputed.
void forward_calls(Lowering& l, Node& to, const StageSpan& s, std::int64_t lag, bool backward_follows);
void backward_calls(Lowering& l, Node& to, const StageSpan& s, std::int64_t lag, bool forward_was_last);
// Adds a load or store of `bytes` of one IPU from or to a location. No step for in_processor, or for no bytes.
void add_streamed(const Lowering& l, Node& to, std::string name, StepKind kind, Bytes bytes, Location where,
                  Cargo cargo = {});
// Adds the all-gathers that make the boundary into `unit`, or its gradients, whole. No step unless the plan shards
// activations over t.
void join_boundary(const Lowering& l, Node& to, const std::string& name, std::int64_t unit, Data data);
// Adds a copy of `bytes` from each IPU to an IPU of another stage.
void add_copy(const Lowering& l, Node& to, std::string name, Term term, Bytes bytes, Cargo cargo);

// Adds the weight update of an IPU group in a phase (lower_update.cc). A phase of -1 stands for all units of the group.
void update_of(Lowering& l, Node& to, std::int64_t ipu, std::int64_t phase);
// Adds the transfers of gradients of tied weights from borrowers to owners, before the update of `phase`. A phase of -1
// stands for a plan without phases.
void join_tied_gradients(const Lowering& l, Node& to, std::int64_t phase);
// Adds the transfers of new values of tied weights from owners to borrowers, after all updates.
void return_tied_weights(const Lowering& l, Node& to);

// Adds the whole tree of a phased plan (lower_phases.cc).
void lower_phases(Lowering& l);

}  // namespace superstep
