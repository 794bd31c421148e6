// SPDX-License-Identifier: Apache-2.0
// The command that starts the program of a plan with PopRun.
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/settings.h"

namespace superstep::exports {

void write_poprun(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  check_rules(plan, "poprun");
  const std::int64_t replicas = plan.count("launch.replicas"), domains = plan.count("link_domains");
  out << "#!/bin/sh\n" << comment_lines(plan, "poprun");
  if (replicas > plan.replicas)
    out << "# " << plan.replicas << " replicas of the model, " << plan.tensor_parallel()
        << " of Poplar's each: tensor parallelism is between replicas, as in PopXL.\n";
  else if (plan.tensor_parallel() > 1)
    out << "# A replica is " << plan.pipeline_stages << " stages of " << plan.tensor_parallel()
        << " IPUs each, which the program places.\n";
  out << "# sh THIS_FILE python3 train.py ...\npoprun \\\n  --num-replicas " << replicas << " \\\n  --ipus-per-replica "
      << plan.count("launch.ipus_per_replica") << " \\\n  --num-instances " << plan.instances
      << (domains > 1 ? " \\\n  --num-ilds " + std::to_string(domains) : "")
      << " \\\n  --vipu-partition \"${PARTITION:-superstep}\" \\\n  --update-partition yes \\\n  \"$@\"\n";
}

}  // namespace superstep::exports
