// SPDX-License-Identifier: Apache-2.0
// A memo of Setting::code() by set of table rows, with a lookup of a few instructions.
#pragma once

#include <array>
#include <cstdint>

#include "planner/cost/setting.h"

namespace superstep {

// Helps because most stages run the same rows as other stages. Each set of rows has one place, and a new set replaces
// the set in its place. The setting must outlive the memo.
class CodeMemo {
 public:
  explicit CodeMemo(const Setting& setting) : setting_(setting) { known_.fill({0, setting.code(0)}); }

  // Returns Setting::code(rows): bytes per tile.
  std::int64_t operator()(std::uint64_t rows) {
    Code& code = known_[(rows * 0x9E3779B97F4A7C15u) >> (64 - kBits)];
    if (code.rows != rows) code = {rows, setting_.code(rows)};
    return code.bytes;
  }

 private:
  static constexpr std::size_t kBits = 8;
  struct Code {
    std::uint64_t rows;
    std::int64_t bytes;
  };
  const Setting& setting_;
  std::array<Code, std::size_t{1} << kBits> known_;
};

}  // namespace superstep
