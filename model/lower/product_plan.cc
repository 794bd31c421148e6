// SPDX-License-Identifier: Apache-2.0
#include "model/lower/product_plan.h"

namespace superstep {

Cycles add_partials(std::int64_t parts, std::int64_t elements, std::int64_t workers) {
  return Cycles(33 + workers * (20 + (2 * parts + 8) * ceil_div(elements, 8 * workers)));
}

Cycles add_in_place(std::int64_t bytes, std::int64_t workers) {
  return Cycles(60 + workers * (24 + 3 * ceil_div(bytes, 8 * workers)));
}

}  // namespace superstep
