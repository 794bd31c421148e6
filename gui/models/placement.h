// SPDX-License-Identifier: Apache-2.0
// Where the variables of a tile may stand at addresses, and what no variable can use between them.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/lifetimes.h"

namespace superstep::gui {

// Largest first, each at the lowest addresses that are free as long as it stands; those that always stand come below.
// Bytes, in whole words of a tile's memory. With all lifetimes known beforehand the least total is NP-hard to find;
// this is the usual greedy rule by size (Pisarchyk and Lee, arXiv 2001.03288). A compiler may leave more gaps, or
// fewer.
struct Placement {
  std::vector<std::int64_t> address;  // of each lifetime
  std::vector<std::int64_t> top;      // by point: behind the highest address that is in use
  std::int64_t total() const;         // the highest top
};
Placement place(const Lifetimes& lifetimes);

}  // namespace superstep::gui
