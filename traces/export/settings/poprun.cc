// SPDX-License-Identifier: Apache-2.0
// The command that starts the program of a plan with PopRun.
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/launch.h"

namespace superstep::exports {

Launch launch_of(const PlanSettings& plan) {
  const std::int64_t t = plan.tensor_parallel();
  if (t > 1 && plan.pipeline_stages > 1 && plan.placement == "t-p-r") return {plan.replicas, t * plan.pipeline_stages};
  return {t * plan.replicas, plan.pipeline_stages};
}

std::int64_t link_domains(const PlanSettings& plan) {
  constexpr std::int64_t kIpus = 64;  // V-IPU User Guide, partitions
  return (plan.ipus() + kIpus - 1) / kIpus;
}

void refuse_numbering(const PlanSettings& plan, Refusals& no) {
  const bool mesh_of_pipelines = plan.tensor_parallel() > 1 && plan.pipeline_stages > 1;
  no.unless(plan.placement == "t-p-r" || (mesh_of_pipelines && plan.placement == "p-t-r"), "placement", plan.placement,
            "the IPUs of a replica follow each other", "\"placement\": \"t-p-r\"");
  const std::int64_t replicas = launch_of(plan).replicas;
  no.unless(replicas % plan.instances == 0, "run.instances", std::to_string(plan.instances),
            "each instance has as many of the " + std::to_string(replicas) + " replicas", "\"instances\": 1");
}

void write_poprun(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  Refusals no(plan, "PopRun");
  refuse_numbering(plan, no);
  no.check();
  const Launch launch = launch_of(plan);
  out << "#!/bin/sh\n" << comment_lines(plan);
  if (launch.replicas > plan.replicas)
    out << "# " << plan.replicas << " replicas of the model, " << plan.tensor_parallel()
        << " of Poplar's each: tensor parallelism is between replicas, as in PopXL.\n";
  else if (plan.tensor_parallel() > 1)
    out << "# A replica is " << plan.pipeline_stages << " stages of " << plan.tensor_parallel()
        << " IPUs each, which the program places.\n";
  out << "# sh THIS_FILE python3 train.py ...\npoprun \\\n  --num-replicas " << launch.replicas
      << " \\\n  --ipus-per-replica " << launch.ipus_per_replica << " \\\n  --num-instances " << plan.instances
      << (link_domains(plan) > 1 ? " \\\n  --num-ilds " + std::to_string(link_domains(plan)) : "")
      << " \\\n  --vipu-partition \"${PARTITION:-superstep}\" \\\n  --update-partition yes \\\n  \"$@\"\n";
}

}  // namespace superstep::exports
