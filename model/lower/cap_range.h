// SPDX-License-Identifier: Apache-2.0
// Bounds on the temporary memory of an op, and the share of a tile's memory that people give for one.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <string_view>

#include "model/graph/graph.h"
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

// What may have bounds on temporary memory of its own: the forward and backward ops of a unit, by its role; and
// updates, which run when no activation is live.
enum class Work : std::uint8_t { other, embedding, attention, feed_forward, head, update };
inline constexpr std::array kWorks = {Work::other,        Work::embedding, Work::attention,
                                      Work::feed_forward, Work::head,      Work::update};
std::string_view name_of(Work work);
Work work_of(UnitRole role, Pass pass);

// A value for each kind of work.
template <class T>
struct ByWork {
  std::array<T, kWorks.size()> of{};
  ByWork() = default;
  ByWork(const T& all) { of.fill(all); }  // NOLINT: most often all have the same
  T& operator[](Work work) { return of[static_cast<std::size_t>(work)]; }
  const T& operator[](Work work) const { return of[static_cast<std::size_t>(work)]; }
  bool same() const {
    return std::ranges::all_of(of, [&](const T& v) { return v == of[0]; });
  }
  friend auto operator<=>(const ByWork&, const ByWork&) = default;
};

// Which live tensors stand within a bound of layers, and leave an op the rest of it for temporary memory: none; those
// of its unit, and at least a floor (least_cap()) beside them; or also what its layer keeps for the backward pass until
// the unit, as where layers run their forward again; or those of its unit with the unit's weights and their gradients,
// as where it is alone on the tiles. Updates have all of their bound.
enum class Live : std::uint8_t { none, unit, layer, weights };
inline constexpr std::array kLives = {Live::none, Live::unit, Live::layer, Live::weights};
std::string_view name_of(Live live);

// Shares of a tile's memory.
struct Proportions : ByWork<double> {
  Live live = Live::none;
  using ByWork::ByWork;
  Proportions() = default;
  Proportions(const ByWork<double>& shares, Live counted) : ByWork(shares), live(counted) {}
  friend auto operator<=>(const Proportions&, const Proportions&) = default;
};

// Ranges of bounds.
struct Caps : ByWork<CapRange> {
  bool one = false;        // all work has the same bound: the ranges are equal
  std::uint8_t lives = 1;  // what the bounds may count: a bit for each Live
  bool may_count(Live live) const { return ((lives >> static_cast<unsigned>(live)) & 1U) != 0; }
  bool one_live() const { return std::has_single_bit(lives); }
  Live least_live() const { return static_cast<Live>(std::countr_zero(lives)); }
  void count(Live live) { lives = static_cast<std::uint8_t>(1U << static_cast<unsigned>(live)); }  // it alone
  void set(Work work, const CapRange& caps);  // for all work where it has one
  bool contains(const Caps& other) const;
  double size() const;             // bounds; of work that has its own, each with each of the others'; of each Live
  void narrow(const Caps& other);  // where all work has one bound, to what all may have
  CapRange common() const;         // what all work may have
  Caps tightest() const;           // one of each kind
  Caps loosest() const;
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
// The same for each kind of work; of shares that stand for them those of which most are equal.
Caps caps_of(const Proportions& proportions, const Chip& chip);
Proportions proportions_of(const Caps& caps, const Chip& chip);

}  // namespace superstep
