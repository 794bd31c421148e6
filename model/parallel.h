// SPDX-License-Identifier: Apache-2.0
// Parallel loops on one pool of threads that all loops share.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace superstep {

// Returns `threads`, or the number of cores if `threads` is 0.
std::size_t thread_count(int threads);

// Runs body(0) ... body(count - 1) on this thread and up to `threads` - 1 more; 0: as many as there are cores. The
// assignment of calls to threads is not fixed. After an exception no further call begins, and the first exception is
// thrown here. A body may call parallel_for() itself.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body);

// Runs the loop as parallel_for() does, but makes no thread: only this thread and idle threads of the pool take part.
void share(std::size_t count, const std::function<void(std::size_t)>& body);

// Waits in a body of parallel_for() until ready() returns true. Meanwhile this thread helps in the loops that other
// bodies run. If there is no loop to help in, the wait also ends when or_else() returns true. Both functions are asked
// again after each wake_helpers().
void help_until(const std::function<bool()>& ready, const std::function<bool()>& or_else = {});
// Wakes the threads that wait in help_until().
void wake_helpers();

// Locks a mutex that is only ever held for microseconds. Tries for some 20 microseconds before the thread sleeps, since
// sleep and wake-up take longer.
std::unique_lock<std::mutex> lock_soon(std::mutex& mutex);

}  // namespace superstep
