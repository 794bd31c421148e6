// SPDX-License-Identifier: Apache-2.0
// The kinds of time that waterfall terms are of, and how each is drawn: one table for terminals, pages and the viewer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace superstep {

enum class TermKind : std::uint8_t {
  compute,
  recompute,
  exchange,
  links,
  ddr,
  host,
  sync,
  waiting,
  update,
  fixed,
  ideal,  // the first bar of a waterfall, in place of its term's kind
  total,  // the last one: the step time, which is no term
};
inline constexpr int kTermKinds = static_cast<int>(TermKind::total) + 1;

using Rgb = std::uint32_t;  // 0xRRGGBB

enum class Hatch : std::uint8_t { none, rising, falling, level, upright };

// The same on light and on dark grounds.
struct TermKindDef {
  TermKind id;
  std::string_view name;  // in reports
  Rgb fill;
  Hatch hatch = Hatch::none;
  Rgb line = fill;               // of the hatch
  std::optional<Rgb> outline{};  // none: whatever stands out from the fill
};

std::span<const TermKindDef, kTermKinds> term_kinds();  // in the order of TermKind
const TermKindDef& def_of(TermKind kind);
const TermKindDef* find_term_kind(std::string_view name);  // nullptr: unknown, as in reports of other versions
inline std::string_view name_of(TermKind kind) { return def_of(kind).name; }

// One colour for what cannot be hatched: that of the fill, two parts, and of the hatch's lines, one part.
Rgb solid_color(const TermKindDef& kind);

}  // namespace superstep
