// SPDX-License-Identifier: Apache-2.0
// What PopRun and V-IPU see of a plan: replicas as Poplar counts them, and partitions.
#pragma once

#include "traces/export/settings/settings.h"

namespace superstep::exports {

// How PopRun counts: replicas, and the IPUs of each, which follow each other. Without pipelines, and where a pipeline's
// IPUs follow each other, each IPU of a tensor-parallel group is a replica of its own, as PopXL has it; else the
// program places a whole replica of the model.
struct Launch {
  std::int64_t replicas = 1, ipus_per_replica = 1;
};
Launch launch_of(const PlanSettings& plan);

// IPU-Link domains that the plan's IPUs fill: V-IPU's end at a POD64.
std::int64_t link_domains(const PlanSettings& plan);

// Replicas are numbered last; instances have equal shares of them.
void refuse_numbering(const PlanSettings& plan, Refusals& no);

}  // namespace superstep::exports
