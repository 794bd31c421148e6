// SPDX-License-Identifier: Apache-2.0
// How far two runs of the same model are apart.
#pragma once

#include <string>

#include "model/training/named_values.h"

namespace superstep {

struct Difference {
  bool identical = true;    // bit by bit
  double max_abs = 0;       // over all elements; infinite where only one of two is finite
  double max_relative = 0;  // of a tensor's largest element
  std::string worst;        // the tensor of max_relative; empty: all are identical
  void add(const Difference& other);
};

// Both have the same tensors.
Difference compare_values(const NamedValues& found, const NamedValues& expected);

}  // namespace superstep
