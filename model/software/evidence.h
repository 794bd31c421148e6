// SPDX-License-Identifier: Apache-2.0
// The mechanisms of plans that no measured point covers (data/calibration/mechanisms.json).
#pragma once

#include <string>
#include <vector>

#include "model/software/rules.h"

namespace superstep {

// How a plan runs a model, as far as nobody has measured it.
struct Mechanism {
  std::string name;          // "phased execution"
  std::string grade;         // "derived": from operator and link facts; "assumed"
  double relative_band = 0;  // what it adds to the 95 % band of a step's time: half of its width, as a share
  std::string why;           // why the band is that wide
};

// Returns the mechanisms of a plan that are not measured, each once, in the order of the file.
std::vector<Mechanism> unmeasured_in(const PlanFacts& facts);
// Returns rules that a plan keeps if all its mechanisms are measured.
const Software& measured_alone();

}  // namespace superstep
