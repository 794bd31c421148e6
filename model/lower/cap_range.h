// SPDX-License-Identifier: Apache-2.0
// Bounds on the temporary memory of an op, and the share of a tile's memory that people give for one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <string_view>

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
  friend auto operator<=>(const CapRange&, const CapRange&) = default;
};

// Which live tensors stand within a bound of layers, and leave an op the rest of it for temporary memory: none; those
// of its unit, and at least a floor (least_cap()) beside them; or also what its layer keeps for the backward pass until
// the unit, as where layers run their forward again; or those of its unit with the unit's weights and their gradients,
// as where it is alone on the tiles. Updates have all of their bound.
enum class Live : std::uint8_t { none, unit, layer, weights };
inline constexpr std::array kLives = {Live::none, Live::unit, Live::layer, Live::weights};
std::string_view name_of(Live live);

// A bound on temporary memory as a job gives it: a share of a tile's memory, for all work.
struct Proportion {
  double share = 0;
  Live live = Live::none;
  Proportion() = default;
  Proportion(double of_tile, Live counted = Live::none)
      : share(of_tile), live(counted) {}  // NOLINT: most often a share
  friend auto operator<=>(const Proportion&, const Proportion&) = default;
};

// A range of bounds, and which of the live tensors they may count.
struct Caps {
  CapRange range;
  std::uint8_t lives = 1;  // a bit for each Live
  bool may_count(Live live) const { return ((lives >> static_cast<unsigned>(live)) & 1U) != 0; }
  bool one_live() const { return std::has_single_bit(lives); }
  Live least_live() const { return static_cast<Live>(std::countr_zero(lives)); }
  void count(Live live) { lives = static_cast<std::uint8_t>(1U << static_cast<unsigned>(live)); }  // it alone
  bool contains(const Caps& other) const { return (other.lives & ~lives) == 0 && range.contains(other.range); }
  double size() const { return std::popcount(lives) * range.size(); }  // bounds, of each Live
  void narrow(const Caps& other) { lives &= other.lives, range.narrow(other.range); }
  Caps tightest() const { return {{range.least, range.least}, lives}; }
  Caps loosest() const { return {{range.most, range.most}, lives}; }
  friend auto operator<=>(const Caps&, const Caps&) = default;
};

// How many parts bytes are cut into so that one is within the cap, and the caps that make as many.
struct CapParts {
  std::int64_t parts = 1;
  CapRange caps;
};
CapParts parts_within(Bytes bytes, Bytes cap);

// Of a tile's memory, the least share that temporary memory is bound to but by a pin; tighter ones take longer to
// search.
inline constexpr double kLeastProportion = 0.05;
Bytes least_cap(const Chip& chip);

// The bound that a share (available_memory_proportion) stands for, and the roundest share that stands for one of
// `caps`, of which there is one.
Bytes cap_of(double proportion, const Chip& chip);
double proportion_of(const CapRange& caps, const Chip& chip);
// The same with the live tensors that count.
Caps caps_of(const Proportion& proportion, const Chip& chip);
Proportion proportion_of(const Caps& caps, const Chip& chip);

}  // namespace superstep
