// SPDX-License-Identifier: Apache-2.0
// What PopRun and V-IPU see of a plan: replicas as Poplar counts them, and partitions.
#pragma once

#include "traces/export/settings/settings.h"

namespace superstep::exports {

// Each IPU of a tensor-parallel group is one of Poplar's replicas, as PopXL has it; a replica is its pipeline's IPUs.
inline std::int64_t poplar_replicas(const PlanSettings& plan) { return plan.tensor_parallel() * plan.replicas; }

// IPUs are numbered by pipelines, then by tensor-parallel groups, then by replicas; instances have equal shares.
void refuse_numbering(const PlanSettings& plan, Refusals& no);

}  // namespace superstep::exports
