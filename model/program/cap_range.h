// SPDX-License-Identifier: Apache-2.0
// Bounds on the temporary memory of an op (caps, in bytes per tile), and the shares of tile memory that jobs give for
// such bounds.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <string_view>

#include "model/machine/machine.h"

namespace superstep {

// A range of bounds on temporary memory, from `least` to `most` bytes per tile, both included. The default is all
// bounds.
struct CapRange {
  std::int64_t least = 0, most = INT64_MAX;

  static CapRange just(Bytes cap) { return {cap.value, cap.value}; }
  bool contains(const CapRange& other) const { return least <= other.least && other.most <= most; }
  double size() const { return static_cast<double>(most - least + 1); }  // number of bounds in the range
  // Intersects the range with another range.
  void narrow(const CapRange& other) {
    least = std::max(least, other.least);
    most = std::min(most, other.most);
  }
  friend auto operator<=>(const CapRange&, const CapRange&) = default;
};

// Kind of a bound by the live tensors that count against the bound. An op has the rest of the bound for temporary
// memory, but at least least_cap(). Updates have the whole bound, whatever the kind.
enum class Live : std::uint8_t {
  none,    // no live tensors count
  unit,    // live tensors of the op's unit
  layer,   // as unit, and tensors that the layer keeps for backward up to the unit (for layers that are recomputed)
  weights  // as unit, and the weights of the unit and their gradients (for phases of a single unit)
};
inline constexpr std::array kLives = {Live::none, Live::unit, Live::layer, Live::weights};
std::string_view name_of(Live live);

// A bound on temporary memory as a job gives it: a share of tile memory from 0 to 1, for all work.
struct Proportion {
  double share = 0;
  Live live = Live::none;
  Proportion() = default;
  Proportion(double of_tile, Live counted = Live::none)
      : share(of_tile), live(counted) {}  // NOLINT: implicit, since most bounds are a share alone
  friend auto operator<=>(const Proportion&, const Proportion&) = default;
};

// A range of bounds, and the set of kinds (Live) that the bounds may be of.
struct Caps {
  CapRange range;
  std::uint8_t lives = 1;  // the set of kinds, one bit per Live
  bool may_count(Live live) const { return ((lives >> static_cast<unsigned>(live)) & 1U) != 0; }
  bool one_live() const { return std::has_single_bit(lives); }
  Live least_live() const { return static_cast<Live>(std::countr_zero(lives)); }
  // Makes `live` the only kind of the set.
  void count(Live live) { lives = static_cast<std::uint8_t>(1U << static_cast<unsigned>(live)); }
  bool contains(const Caps& other) const { return (other.lives & ~lives) == 0 && range.contains(other.range); }
  double size() const { return std::popcount(lives) * range.size(); }  // number of bounds, over all kinds of the set
  // Intersects range and set with those of `other`.
  void narrow(const Caps& other) { lives &= other.lives, range.narrow(other.range); }
  // The one tightest and the one loosest bound of the range, with the same set of kinds.
  Caps tightest() const { return {{range.least, range.least}, lives}; }
  Caps loosest() const { return {{range.most, range.most}, lives}; }
  friend auto operator<=>(const Caps&, const Caps&) = default;
};

// A number of parts, and all caps that lead to the same number.
struct CapParts {
  std::int64_t parts = 1;
  CapRange caps;
};
// Returns the fewest parts that `bytes` can be cut into so that a part is at most `cap`.
CapParts parts_within(Bytes bytes, Bytes cap);

// Least share of tile memory that is searched as a bound on temporary memory. A job may pin a lower share. Tighter
// bounds take longer to search.
inline constexpr double kLeastProportion = 0.05;
// Returns the bound in bytes per tile that kLeastProportion stands for.
Bytes least_cap(const Chip& chip);

// Returns the bound in bytes per tile that a share of tile memory (available_memory_proportion) stands for.
Bytes cap_of(double proportion, const Chip& chip);
// Returns the share with the fewest digits whose bound is one of `caps`. Such a share must exist.
double proportion_of(const CapRange& caps, const Chip& chip);
// Returns the single bound, of a single kind, that a proportion stands for.
Caps caps_of(const Proportion& proportion, const Chip& chip);
// Returns the proportion with the fewest digits whose bound is one of `caps`, of the first kind of the set.
Proportion proportion_of(const Caps& caps, const Chip& chip);

}  // namespace superstep
