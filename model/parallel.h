// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace superstep {

// That many, or all cores for 0.
std::size_t thread_count(int threads);

// body(0) ... body(count - 1) on this thread and up to `threads` - 1 more; 0: all cores. Which thread runs which is
// not fixed. The first error stops what has not begun and is thrown here. May be called in a body.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

// The same, on this thread and on those that loops made before and that have nothing else to do: no thread is made.
void share(std::size_t count, const std::function<void(std::size_t)>& body);

// In a body of parallel_for(): waits until ready(), which is asked again after each wake_helpers(), and meanwhile helps
// in the loops that other bodies run. Where there is nothing to help with, or_else() is asked too, and ends it as well.
void help_until(const std::function<bool()>& ready, const std::function<bool()>& or_else = {});
void wake_helpers();

// A lock that others hold for microseconds is asked for again before its thread sleeps, which takes longer.
std::unique_lock<std::mutex> lock_soon(std::mutex& mutex);

}  // namespace superstep
