// SPDX-License-Identifier: Apache-2.0
// The command that makes a plan's partition with V-IPU.
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/settings.h"

namespace superstep::exports {
void write_vipu(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  check_rules(plan, "vipu");
  const std::int64_t domains = plan.count("compilation_domains");
  out << "#!/bin/sh\n"
      << comment_lines(plan, "vipu") << "vipu create partition \"${PARTITION:-superstep}\" --size " << plan.ipus();
  if (domains == 1)
    out << " --reconfigurable";
  else
    out << " --sync-type pod-native-default --num-gcds " << domains << " --total-num-replicas "
        << plan.count("launch.replicas");
  out << " \"$@\"\n";
}

}  // namespace superstep::exports
