// SPDX-License-Identifier: Apache-2.0
#include "model/term_kind.h"

#include <algorithm>
#include <array>

namespace superstep {
namespace {

constexpr std::array<TermKindDef, kTermKinds> kKinds{{
    {TermKind::compute, "compute", 0xE0475A},
    {TermKind::recompute, "recompute", 0xFBE3E6, Hatch::rising, 0xE0475A, 0xE0475A},
    {TermKind::exchange, "exchange", 0x8FD3EE},
    {TermKind::links, "links", 0x1F4FA8},
    {TermKind::ddr, "ddr", 0xF2A35E},
    {TermKind::host, "host", 0xB85F1E},
    {TermKind::sync, "sync", 0xFBEFB0},
    {TermKind::waiting, "waiting", 0xFFFFFF, Hatch::rising, 0x3F444A, 0x8A9299},
    {TermKind::update, "update", 0xA98BD6},
    {TermKind::fixed, "fixed", 0xE3DAF2, Hatch::falling, 0x8A6FC0, 0x8A6FC0},
    {TermKind::ideal, "ideal", 0x7C8691, Hatch::none, 0x7C8691, 0x525B65},
    {TermKind::total, "total", 0xC9CED3, Hatch::none, 0xC9CED3, 0x7C8691},
}};

}  // namespace

std::span<const TermKindDef, kTermKinds> term_kinds() { return kKinds; }

const TermKindDef& def_of(TermKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

const TermKindDef* find_term_kind(std::string_view name) {
  const auto* at = std::ranges::find(kKinds, name, &TermKindDef::name);
  return at == kKinds.end() ? nullptr : at;
}

Rgb solid_color(const TermKindDef& kind) {
  if (kind.hatch == Hatch::none) return kind.fill;
  Rgb mixed = 0;
  for (const int shift : {16, 8, 0}) {
    const Rgb fill = kind.fill >> shift & 0xFF, line = kind.line >> shift & 0xFF;
    mixed |= (2 * fill + line) / 3 << shift;
  }
  return mixed;
}

}  // namespace superstep
