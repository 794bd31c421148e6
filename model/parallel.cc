// SPDX-License-Identifier: Apache-2.0
#include "model/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace superstep {
namespace {

// A loop, by number; 0: none.
using LoopId = std::uint64_t;
thread_local LoopId own_loop = 0;  // whose body this thread runs

// Threads that stay from one loop to the next: a search has thousands of short ones, and a new thread begins with
// nothing in the allocator's caches.
class Pool {
 public:
  static Pool& shared() {
    static Pool pool;
    return pool;
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    threads_.clear();
  }

  void grow_to(std::size_t threads) {
    const std::lock_guard lock(mutex_);
    while (threads_.size() < threads) threads_.emplace_back([this] { help(); });
  }

  // `work` on this thread and on up to `helpers` others, as far as they come free. Returns when all are done.
  void run(const std::function<void()>& work, std::size_t helpers) {
    std::unique_lock lock = lock_soon(mutex_);
    const auto loop = loops_.insert(loops_.end(), Loop{&work, ++made_, own_loop, helpers});
    lock.unlock();
    wake_.notify_all();
    work_in(*loop);
    lock.lock();
    loop->wanted = 0;
    done_.wait(lock, [&] { return loop->running == 0; });
    loops_.erase(loop);
  }

  // Both are asked under the lock.
  void help_until(const std::function<bool()>& ready, const std::function<bool()>& or_else) {
    std::unique_lock lock = lock_soon(mutex_);
    while (!ready()) {
      const auto loop = wanting();
      if (loop != loops_.end())
        join(*loop, lock);
      else if (or_else && or_else())
        return;
      else
        wake_.wait(lock);
    }
  }

  void wake() {
    lock_soon(mutex_).unlock();  // who has asked waits by now
    wake_.notify_all();
  }

 private:
  struct Loop {
    const std::function<void()>* work;
    LoopId id, outer;                 // outer: a body of which runs this one
    std::size_t wanted, running = 0;  // helpers
  };
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::list<Loop> loops_;
  LoopId made_ = 0;
  bool ends_ = false;
  std::vector<std::jthread> threads_;

  // For who waits in a body those of that loop's other bodies, which wait for nobody.
  std::list<Loop>::iterator wanting() {
    return std::ranges::find_if(loops_,
                                [](const Loop& l) { return l.wanted > 0 && (own_loop == 0 || l.outer == own_loop); });
  }

  static void work_in(const Loop& loop) {
    const LoopId outer = std::exchange(own_loop, loop.id);
    (*loop.work)();
    own_loop = outer;
  }

  void join(Loop& loop, std::unique_lock<std::mutex>& lock) {
    --loop.wanted, ++loop.running;
    lock.unlock();
    work_in(loop);
    lock.lock();
    if (--loop.running == 0) done_.notify_all();
  }

  void help() {
    help_until([this] { return ends_; }, {});
  }
};

}  // namespace

std::size_t thread_count(int threads) {
  return threads > 0 ? static_cast<std::size_t>(threads) : std::max(1U, std::thread::hardware_concurrency());
}

namespace {

void run_loop(std::size_t count, std::size_t helpers, const std::function<void(std::size_t)>& body) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr error;
  std::mutex mutex;
  const std::function<void()> work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
    }
  };
  if (helpers > 0)
    Pool::shared().run(work, helpers);
  else
    work();
  if (error) std::rethrow_exception(error);
}

}  // namespace

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
  const std::size_t wanted = std::min(count, thread_count(threads));
  if (wanted > 1) Pool::shared().grow_to(wanted - 1);
  run_loop(count, std::max<std::size_t>(wanted, 1) - 1, body);
}

void share(std::size_t count, const std::function<void(std::size_t)>& body) {
  run_loop(count, std::max<std::size_t>(count, 1) - 1, body);
}

void help_until(const std::function<bool()>& ready, const std::function<bool()>& or_else) {
  Pool::shared().help_until(ready, or_else);
}

void wake_helpers() { Pool::shared().wake(); }

std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) {
  constexpr int kLooks = 50;  // some 20 microseconds
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < kLooks && !lock.owns_lock(); ++i) {
    std::this_thread::yield();  // to the thread that holds it, where cores are few
    (void)lock.try_lock();
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

}  // namespace superstep
