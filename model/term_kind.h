// SPDX-License-Identifier: Apache-2.0
// Kinds of waterfall terms (compute, exchange, waiting, ...) and how each kind is drawn. Terminals, pages and the
// viewer share this table.
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
  ideal,  // the first bar of a waterfall, whatever the kind of its term
  total,  // the last bar of a waterfall: the step time, which is no term
};
inline constexpr int kTermKinds = static_cast<int>(TermKind::total) + 1;

using Rgb = std::uint32_t;  // 0xRRGGBB

enum class Hatch : std::uint8_t { none, rising, falling, level, upright };

// Name and drawing style of a kind, for light and dark backgrounds alike.
struct TermKindDef {
  TermKind id;
  std::string_view name;  // in reports
  Rgb fill;
  Hatch hatch = Hatch::none;
  Rgb line = fill;               // colour of the hatch's lines
  std::optional<Rgb> outline{};  // none: any colour that stands out from the fill
};

std::span<const TermKindDef, kTermKinds> term_kinds();  // in the order of TermKind
const TermKindDef& def_of(TermKind kind);
const TermKindDef* find_term_kind(std::string_view name);  // null: unknown, as in reports of other versions
inline std::string_view name_of(TermKind kind) { return def_of(kind).name; }

// Returns one colour for media without hatching: two parts of the fill's colour and one part of the hatch lines'
// colour.
Rgb solid_color(const TermKindDef& kind);

}  // namespace superstep
