// SPDX-License-Identifier: Apache-2.0
// The terms that every time is a sum of. Each term is a row of one table.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/term_kind.h"

namespace superstep {

// In the order of the waterfall.
enum class Term : std::uint8_t {
  amp_rows,
  amp_padding,
  amp_fixed,
  vector,
  operand_exchange,
  partials_exchange,
  reduction,
  relayout,
  superstep,
  accumulate,
  tensor_collective,
  recompute,
  imbalance,
  copy,
  gradient_collective,
  update,
  load,
  store,
  host,
  fixed,
  bubble,
};
inline constexpr int kTerms = static_cast<int>(Term::bubble) + 1;

struct TermDef {
  Term id;
  std::string_view name;  // as in reports; terms of different reports are matched by name
  TermKind kind;
  std::string_view formula;                        // in words
  std::vector<std::string_view> machine_rows;      // JSON pointers of the machine values that the formula reads
  std::vector<std::string_view> calibration_rows;  // keys of the calibration values that the formula reads
};
const TermDef& def_of(Term term);
inline std::string_view name_of(Term term) { return def_of(term).name; }

// The two bars of a waterfall that replace AMP rows: their time at the peak of all IPUs, and the rest.
const TermDef& ideal_bar();
const TermDef& stage_imbalance_bar();

}  // namespace superstep
