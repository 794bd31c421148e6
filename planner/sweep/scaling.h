// SPDX-License-Identifier: Apache-2.0
// Scaling of one job over the sizes of its machine's family: how throughput grows with IPUs.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/job/job.h"
#include "planner/report/evaluated.h"
#include "traces/band.h"
#include "traces/line_plot.h"

namespace superstep {

enum class ScalingKind : std::uint8_t {
  strong,  // every size has the job's global batch
  weak,    // the global batch grows in proportion to the IPUs, from the job's batch on its own machine
};
const char* name_of(ScalingKind kind);

// A machine of the family, and its best plan.
struct ScaledSize {
  ScalingKind kind = ScalingKind::strong;
  std::string machine;
  std::int64_t ipus = 0, global_batch = 0;
  Watts rated_power;

  std::string failure;  // why there is no plan; empty: the fields below are set
  Plan plan;
  std::string fits;
  double samples_per_second = 0, step_seconds = 0;
  Band step_band;         // seconds, 95 %
  double gap = 0;         // gap of the search; 0: proved the best plan by the tables
  double speed_up = 0;    // over the smallest size of this kind with a plan
  double efficiency = 0;  // speed_up over the ratio of IPUs to the smallest size's
  std::vector<std::string> not_validated;

  double samples_per_joule() const { return samples_per_second / rated_power.value; }  // at rated power
};

struct Scaling {
  std::string model, family;      // family: "ipu-pod"
  std::vector<ScaledSize> sizes;  // strong, then weak; each in ascending order of IPUs
};

struct ScalingOptions {
  std::vector<std::int64_t> ipus;  // sizes to plan, of the family's machines; empty: all sizes
  double time_limit = 0;           // seconds per search; 0: searches end by their work (kBudget.whole_work)
  int threads = 0;                 // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// Returns the IPUs of the machines in the job's family, ascending. Names within a family differ only in the number at
// their end. Throws Error if the job's machine has no such family.
std::vector<std::int64_t> sizes_of_family(const Job& job);

// Returns the job on another size. Fields that depend on the number of replicas are freed: replicas,
// gradient_accumulation, replicated_tensor_sharding. Throws Error if the batch of weak scaling is not a whole number.
nlohmann::json scaled_job(const Job& job, ScalingKind kind, std::int64_t ipus);

// Plans the job on each size. A size without a plan gives a row with the reason. Throws Error for a job without a
// global batch, or a size that the family does not have.
Scaling scale(const Job& job, const ScalingOptions& options);

LinePlot plot_of(const Scaling& scaling);
nlohmann::json to_json(const Scaling& scaling);

}  // namespace superstep
