// SPDX-License-Identifier: Apache-2.0
// The command that makes a plan's partition with V-IPU.
#include <algorithm>
#include <bit>
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/launch.h"

namespace superstep::exports {
void write_vipu(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  Refusals no(plan, "V-IPU");
  refuse_numbering(plan, no);
  const std::int64_t ipus = plan.ipus(), replicas = launch_of(plan).replicas;
  no.unless(std::has_single_bit(static_cast<std::uint64_t>(ipus)), "replicas",
            std::to_string(plan.replicas) + " (" + std::to_string(ipus) + " IPUs)",
            "the size of a partition is a power of 2",
            "\"replicas\" so that tensor_parallel x pipeline_stages x replicas is one");
  const std::int64_t domains = std::max(plan.instances, link_domains(plan));
  no.unless(replicas % domains == 0, "replicas", std::to_string(replicas),
            "each of " + std::to_string(domains) + " graph compilation domains has as many",
            "\"replicas\": a multiple of " + std::to_string(domains));
  no.check();
  out << "#!/bin/sh\n" << comment_lines(plan) << "vipu create partition \"${PARTITION:-superstep}\" --size " << ipus;
  if (domains == 1)
    out << " --reconfigurable";
  else
    out << " --sync-type pod-native-default --num-gcds " << domains << " --total-num-replicas " << replicas;
  out << " \"$@\"\n";
}

}  // namespace superstep::exports
