// SPDX-License-Identifier: Apache-2.0
// Bounds on the temporary memory of an op, and the share of a tile's memory that people give for one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/machine/machine.h"

namespace superstep {

// From `least` to `most`, both included: bytes per tile.
struct CapRange {
  std::int64_t least = 0, most = INT64_MAX;

  static CapRange just(Bytes cap) { return {cap.value, cap.value}; }
  bool contains(const CapRange& other) const { return least <= other.least && other.most <= most; }
  double size() const { return static_cast<double>(most - least + 1); }  // bounds
  void narrow(const CapRange& other) {
    least = std::max(least, other.least);
    most = std::min(most, other.most);
  }
  friend bool operator==(const CapRange&, const CapRange&) = default;
};

// How many parts bytes are cut into so that one is within the cap, and the caps that make as many.
struct CapParts {
  std::int64_t parts = 1;
  CapRange caps;
};
CapParts parts_within(Bytes bytes, Bytes cap);

// The bound that a share (available_memory_proportion) stands for, and the roundest share that stands for one of
// `caps`, of which there is one.
Bytes cap_of(double proportion, const Chip& chip);
double proportion_of(const CapRange& caps, const Chip& chip);

}  // namespace superstep
