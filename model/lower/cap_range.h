// SPDX-License-Identifier: Apache-2.0
// Bounds on the temporary memory of an op, and the share of a tile's memory that people give for one.
#pragma once

#include <algorithm>
#include <array>
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

// Shares of a tile's memory, and ranges of bounds.
using Proportions = ByWork<double>;
struct Caps : ByWork<CapRange> {
  bool one = false;                           // all work has the same bound: the ranges are equal
  void set(Work work, const CapRange& caps);  // for all work where it has one
  bool contains(const Caps& other) const;
  double size() const;             // bounds; of work that has its own, each with each of the others'
  void narrow(const Caps& other);  // where all work has one bound, to what all may have
  CapRange common() const;         // what all work may have
  Caps tightest() const;           // one of each kind
  Caps loosest() const;
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
// The same for each kind of work; of shares that stand for them those of which most are equal.
Caps caps_of(const Proportions& proportions, const Chip& chip);
Proportions proportions_of(const Caps& caps, const Chip& chip);

}  // namespace superstep
