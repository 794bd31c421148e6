// SPDX-License-Identifier: Apache-2.0
// One job on the sizes of its machine's family: what more IPUs bring.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "planner/job/job.h"
#include "planner/report/evaluated.h"
#include "traces/band.h"
#include "traces/line_plot.h"

namespace superstep {

enum class ScalingKind : std::uint8_t {
  strong,  // the global batch is the job's on every size
  weak,    // it grows with the IPUs from that of the job on its own machine
};
const char* name_of(ScalingKind kind);

// A machine of the family, and the best plan there.
struct ScaledSize {
  ScalingKind kind = ScalingKind::strong;
  std::string machine;
  std::int64_t ipus = 0, global_batch = 0;
  Watts rated_power;

  std::string failure;  // why there is no plan; empty: all below is given
  Plan plan;
  std::string fits;
  double samples_per_second = 0, step_seconds = 0;
  Band step_band;         // seconds, 95 %
  double gap = 0;         // that the search left; 0: the best plan by the tables
  double speed_up = 0;    // over the smallest size of this kind that has a plan
  double efficiency = 0;  // speed_up over how many times as many IPUs
  std::vector<std::string> not_validated;

  double samples_per_joule() const { return samples_per_second / rated_power.value; }  // at rated power
};

struct Scaling {
  std::string model, family;      // "ipu-pod"
  std::vector<ScaledSize> sizes;  // strong, then weak, each by ascending IPUs
};

struct ScalingOptions {
  std::vector<std::int64_t> ipus;  // of the family's machines; empty: all
  double time_limit = 50;          // seconds, of the search on each size; 0: none
  int threads = 0;
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// IPUs of the machines that differ from the job's in the number at the end of their name alone, ascending. Throws Error
// where the job's machine is no such one.
std::vector<std::int64_t> sizes_of_family(const Job& job);

// The job on another size. What depends on how many replicas there are is searched anew: replicas,
// gradient_accumulation, replicated_tensor_sharding. Throws Error where the weak batch is not whole.
nlohmann::json scaled_job(const Job& job, ScalingKind kind, std::int64_t ipus);

// A size without a plan is a row that says why. Throws Error for a job without a global batch or a size that the family
// does not have.
Scaling scale(const Job& job, const ScalingOptions& options);

LinePlot plot_of(const Scaling& scaling);
nlohmann::json to_json(const Scaling& scaling);

}  // namespace superstep
