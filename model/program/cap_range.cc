// SPDX-License-Identifier: Apache-2.0
#include "model/program/cap_range.h"

#include <cmath>

#include "model/error.h"

namespace superstep {

std::string_view name_of(Live live) {
  constexpr std::array<std::string_view, kLives.size()> kNames = {"none", "unit", "layer", "weights"};
  return kNames[static_cast<std::size_t>(live)];
}

Bytes least_cap(const Chip& chip) { return cap_of(kLeastProportion, chip); }

CapParts parts_within(Bytes bytes, Bytes cap) {
  const std::int64_t whole = std::max<std::int64_t>(1, bytes.value);
  const std::int64_t parts = ceil_div(whole, std::max<std::int64_t>(1, cap.value));
  CapRange caps;
  if (whole > parts) caps.least = ceil_div(whole, parts);  // with as many parts as bytes, any bound is too tight
  if (parts > 1) caps.most = ceil_div(whole, parts - 1) - 1;
  return {parts, caps};
}

Bytes cap_of(double proportion, const Chip& chip) {
  constexpr double kRounding = 1e-6;  // bytes: 0.0575 of 250 KiB are 14,720, of which its binary form is just short
  return Bytes(static_cast<std::int64_t>(static_cast<double>(chip.tile_memory.value) * proportion + kRounding));
}

double proportion_of(const CapRange& caps, const Chip& chip) {
  const auto whole = static_cast<double>(chip.tile_memory.value);
  for (double digits = 100; digits <= 1e12; digits *= 10) {
    const double share = std::ceil(static_cast<double>(caps.least) / whole * digits) / digits;
    if (caps.contains(CapRange::just(cap_of(share, chip)))) return share;
  }
  SUPERSTEP_CHECK(false, "no share of a tile's memory is this bound on temporary memory");
  return 0;
}

Caps caps_of(const Proportion& proportion, const Chip& chip) {
  Caps caps{CapRange::just(cap_of(proportion.share, chip))};
  caps.count(proportion.live);
  return caps;
}

Proportion proportion_of(const Caps& caps, const Chip& chip) {
  return {proportion_of(caps.range, chip), caps.least_live()};
}

}  // namespace superstep
