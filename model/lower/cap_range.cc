// SPDX-License-Identifier: Apache-2.0
#include "model/lower/cap_range.h"

#include <cmath>
#include <iterator>
#include <vector>

#include "model/error.h"

namespace superstep {

std::string_view name_of(Work work) { return work == Work::update ? "update" : name_of(static_cast<UnitRole>(work)); }

static_assert(static_cast<int>(Work::head) == static_cast<int>(UnitRole::head));  // roles are in the same order

Work work_of(UnitRole role, Pass pass) { return pass == Pass::update ? Work::update : static_cast<Work>(role); }

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

void Caps::set(Work work, const CapRange& caps) {
  if (one)
    of.fill(caps);
  else
    (*this)[work] = caps;
}

bool Caps::contains(const Caps& other) const {
  if ((one && !other.one) || (other.lives & ~lives) != 0) return false;
  return std::ranges::all_of(kWorks, [&](Work w) { return (*this)[w].contains(other[w]); });
}

double Caps::size() const {
  double product = std::popcount(lives);
  if (one) return product * of[0].size();
  for (const CapRange& caps : of) product *= caps.size();
  return product;
}

void Caps::narrow(const Caps& other) {
  lives &= other.lives;
  for (const Work w : kWorks) (*this)[w].narrow(other[w]);
  if (one) of.fill(common());
}

CapRange Caps::common() const {
  CapRange all;
  for (const CapRange& caps : of) all.narrow(caps);
  return all;
}

Caps Caps::tightest() const {
  Caps out = *this;
  for (CapRange& caps : out.of) caps.most = caps.least;
  return out;
}

Caps Caps::loosest() const {
  Caps out = *this;
  for (CapRange& caps : out.of) caps.least = caps.most;
  return out;
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

Caps caps_of(const Proportions& proportions, const Chip& chip) {
  Caps caps;
  caps.one = proportions.same();
  caps.count(proportions.live);
  for (const Work w : kWorks) caps[w] = CapRange::just(cap_of(proportions[w], chip));
  return caps;
}

Proportions proportions_of(const Caps& caps, const Chip& chip) {
  Proportions out;
  out.live = caps.least_live();
  std::vector<Work> left(kWorks.begin(), kWorks.end());
  while (!left.empty()) {
    // What most have in common is in common at the least bound of one of them.
    const auto with = [&](Work one) {
      std::vector<Work> list;
      std::ranges::copy_if(left, std::back_inserter(list),
                           [&](Work w) { return caps[w].contains(CapRange::just(Bytes(caps[one].least))); });
      return list;
    };
    std::vector<Work> most;
    for (const Work w : left) {
      if (std::vector<Work> list = with(w); list.size() > most.size()) most = std::move(list);
    }
    CapRange common;
    for (const Work w : most) common.narrow(caps[w]);
    const double share = proportion_of(common, chip);
    for (const Work w : most) out[w] = share;
    std::erase_if(left, [&](Work w) { return std::ranges::find(most, w) != most.end(); });
  }
  return out;
}

}  // namespace superstep
