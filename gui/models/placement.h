// SPDX-License-Identifier: Apache-2.0
// Where the variables of a tile may stand at addresses, and what no variable can use between them.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/models/lifetimes.h"

namespace superstep::gui {

// Largest first, each at the lowest addresses that are free as long as it stands; those that always stand come below.
// Bytes, in whole words of a tile's memory. A compiler's own placement may have more gaps, or fewer.
struct Placement {
  std::vector<std::int64_t> address;  // of each lifetime
  std::vector<std::int64_t> top;      // by point: behind the highest address that is in use
  std::int64_t total() const;         // the highest top
};
Placement place(const Lifetimes& lifetimes);

}  // namespace superstep::gui
