// SPDX-License-Identifier: Apache-2.0
// Replicas and partitions of a plan, as PopRun and V-IPU count them.
#pragma once

#include "traces/export/settings/settings.h"

namespace superstep::exports {

// Replicas as PopRun counts them, and the number of consecutive IPUs of each. Without a pipeline, or if a pipeline's
// IPUs are consecutive, each IPU of a tensor-parallel group is a replica, as in PopXL. Else a replica is a whole
// replica of the model, whose IPUs the program places.
struct Launch {
  std::int64_t replicas = 1, ipus_per_replica = 1;
};
Launch launch_of(const PlanSettings& plan);

// Returns the number of IPU-Link domains that the plan's IPUs fill. A domain of V-IPU is a POD64.
std::int64_t link_domains(const PlanSettings& plan);

// Adds a refusal unless the IPUs of each replica are consecutive, and one unless instances have equally many replicas.
void refuse_numbering(const PlanSettings& plan, Refusals& no);

}  // namespace superstep::exports
