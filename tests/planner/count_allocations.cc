// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/count_allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::int64_t count = 0;
}  // namespace

// The forms that do not throw are replaced too: left to a sanitizer, they would not match our delete.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
  if (void* p = operator new(bytes, std::nothrow)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

std::int64_t superstep::test::allocations() { return count; }
