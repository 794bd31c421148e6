// SPDX-License-Identifier: Apache-2.0
// Code of sets of table rows, found again in a few instructions.
#pragma once

#include <array>
#include <cstdint>

#include "planner/cost/setting.h"

namespace superstep {

// Most stages run the same rows as others. Forgets a set where another takes its place.
class CodeMemo {
 public:
  explicit CodeMemo(const Setting& setting) : setting_(setting) { known_.fill({0, setting.code(0)}); }

  // As Setting::code().
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
