// SPDX-License-Identifier: Apache-2.0
// The objective of a search, and the score of a plan under the objective: one number, the higher the better.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace superstep {

// The objective of a job:
// * throughput: samples per second.
// * time_to_train: time for a given number of samples, in whole steps.
// * latency: time of one step, from the arrival of its first sample to the departure of its last result.
enum class Objective : std::uint8_t { throughput, time_to_train, latency };

struct Goal {
  Objective objective = Objective::throughput;
  std::int64_t samples = 0;  // samples of the whole training; 0: no limit, and time_to_train scores as throughput

  // Returns the score of a step: samples per second for throughput, steps per second for latency. For time_to_train the
  // score is the training's samples over the time of its whole steps.
  double score(std::int64_t global_batch, double step_seconds) const { return worth(global_batch) / step_seconds; }
  // Returns the step time in seconds at which a plan of this global batch has the given score.
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
