// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace superstep::test {

// How often this thread has allocated by operator new.
std::int64_t allocations();

}  // namespace superstep::test
