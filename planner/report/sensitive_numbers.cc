// SPDX-License-Identifier: Apache-2.0
#include "planner/report/sensitive_numbers.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "model/program/terms.h"

namespace superstep {
namespace {

// Numbers that no waterfall term reads but that decide if a plan fits.
constexpr std::array<std::string_view, 3> kLimits = {"/chip/tile_memory", "/chip/executable_memory",
                                                     "/streaming/capacity"};

}  // namespace

std::vector<std::string> sensitive_numbers(const Machine& machine) {
  std::vector<std::string> pointers;
  for (const SourcedRow& row : machine.rows) {
    if (row.pointer.starts_with("/gateway/") && machine.domains() == 1) continue;
    if (row.pointer.starts_with("/links/") && machine.ipus == 1) continue;
    bool read = std::find(kLimits.begin(), kLimits.end(), row.pointer) != kLimits.end();
    for (int t = 0; t < kTerms && !read; ++t) {
      const std::vector<std::string_view>& rows = def_of(static_cast<Term>(t)).machine_rows;
      read = std::find(rows.begin(), rows.end(), row.pointer) != rows.end();
    }
    const bool is_zero = std::strtod(row.text.c_str(), nullptr) == 0;  // scaling leaves 0 unchanged
    if (read && !is_zero) pointers.push_back(row.pointer);
  }
  return pointers;
}

}  // namespace superstep
