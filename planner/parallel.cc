// SPDX-License-Identifier: Apache-2.0
#include "planner/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace superstep {
namespace {

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

  // `work` on this thread and on up to `helpers` others, as far as they come free. Returns when all are done.
  void run(const std::function<void()>& work, std::size_t helpers) {
    std::unique_lock lock(mutex_);
    while (threads_.size() < helpers) threads_.emplace_back([this] { help(); });
    const auto loop = loops_.insert(loops_.end(), Loop{&work, helpers});
    lock.unlock();
    wake_.notify_all();
    work();
    lock.lock();
    loop->wanted = 0;
    done_.wait(lock, [&] { return loop->running == 0; });
    loops_.erase(loop);
  }

 private:
  struct Loop {
    const std::function<void()>* work;
    std::size_t wanted, running = 0;  // helpers
  };
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::list<Loop> loops_;
  bool ends_ = false;
  std::vector<std::jthread> threads_;

  void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      std::list<Loop>::iterator loop;
      wake_.wait(lock, [&] {
        loop = std::ranges::find_if(loops_, [](const Loop& l) { return l.wanted > 0; });
        return ends_ || loop != loops_.end();
      });
      if (ends_) return;
      --loop->wanted, ++loop->running;
      lock.unlock();
      (*loop->work)();
      lock.lock();
      if (--loop->running == 0) done_.notify_all();
    }
  }
};

}  // namespace

std::size_t thread_count(int threads) {
  return threads > 0 ? static_cast<std::size_t>(threads) : std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& body) {
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
  const std::size_t wanted = std::min(count, thread_count(threads));
  if (wanted > 1)
    Pool::shared().run(work, wanted - 1);
  else
    work();
  if (error) std::rethrow_exception(error);
}

}  // namespace superstep
