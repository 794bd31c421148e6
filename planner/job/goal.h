// SPDX-License-Identifier: Apache-2.0
// What a search looks for, as one number that is the higher the better.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace superstep {

// time_to_train: of a given number of samples, in whole steps. latency: of one step, from its first sample's coming in
// to its last result's going out.
enum class Objective : std::uint8_t { throughput, time_to_train, latency };

struct Goal {
  Objective objective = Objective::throughput;
  std::int64_t samples = 0;  // of the whole training; 0: as many as it likes, where time_to_train is throughput

  // Samples per second; of the training where that is the goal; steps per second for latency.
  double score(std::int64_t global_batch, double step_seconds) const { return worth(global_batch) / step_seconds; }
  // Of a step that scores so.
  double step_seconds(std::int64_t global_batch, double score) const { return worth(global_batch) / score; }

 private:
  double worth(std::int64_t global_batch) const {
    if (objective == Objective::latency) return 1;
    const auto batch = static_cast<double>(global_batch);
    if (objective == Objective::throughput || samples == 0) return batch;
    return static_cast<double>(samples) / static_cast<double>(ceil_div(samples, global_batch));
  }
};

}  // namespace superstep
