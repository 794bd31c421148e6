// SPDX-License-Identifier: Apache-2.0
// The few constants that were fitted to measured systems rather than read from a source; each stands
// in data/calibration/default.json with what it was fitted to.
#pragma once

#include <string>
#include <vector>

#include "model/units.h"

namespace superstep {

struct Calibration {
  double vector_factor = 1;            // on vertex cycles of vector, reduction and re-layout work
  Cycles micro_batch_fixed;            // per micro-batch: host stream and loop overhead, small supersteps not modelled
  Cycles pipeline_cycle_fixed;         // more per pipeline cycle when there are several stages
  double relative_band = 0.08;         // 95 % band of step time for models like those fitted to
  double relative_band_other = 0.18;   // for model families and mechanisms never measured
  std::int64_t memory_band_bytes = 0;  // 95 % band of the fullest tile's bytes
  struct Row {
    std::string name, text, source, fitted_to;
  };
  std::vector<Row> rows;
};

// From data/calibration/<name>.json; throws Error as load_machine does.
Calibration load_calibration(const std::string& name = "default");

}  // namespace superstep
