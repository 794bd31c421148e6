// SPDX-License-Identifier: Apache-2.0
// The command that starts the program of a plan with PopRun.
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/launch.h"

namespace superstep::exports {

void refuse_numbering(const PlanSettings& plan, Refusals& no) {
  const bool mesh_of_pipelines = plan.tensor_parallel() > 1 && plan.pipeline_stages > 1;
  const std::string placement = mesh_of_pipelines ? "p-t-r" : "t-p-r";
  no.unless(plan.placement == placement, "placement", plan.placement,
            "the IPUs of one of Poplar's replicas, which are a pipeline's, follow each other",
            "\"placement\": \"" + placement + "\"");
  no.unless(poplar_replicas(plan) % plan.instances == 0, "run.instances", std::to_string(plan.instances),
            "each instance has as many of the " + std::to_string(poplar_replicas(plan)) + " replicas",
            "\"instances\": 1");
}

void write_poprun(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  Refusals no(plan, "PopRun");
  refuse_numbering(plan, no);
  no.check();
  out << "#!/bin/sh\n" << comment_lines(plan);
  if (plan.tensor_parallel() > 1)
    out << "# " << plan.replicas << " replicas of the model, " << plan.tensor_parallel()
        << " of Poplar's each: tensor parallelism is between replicas, as in PopXL.\n";
  out << "# sh THIS_FILE python3 train.py ...\npoprun \\\n  --num-replicas " << poplar_replicas(plan)
      << " \\\n  --ipus-per-replica " << plan.pipeline_stages << " \\\n  --num-instances " << plan.instances
      << " \\\n  --vipu-partition \"${PARTITION:-superstep}\" \\\n  --update-partition yes \\\n  \"$@\"\n";
}

}  // namespace superstep::exports
