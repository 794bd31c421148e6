// SPDX-License-Identifier: Apache-2.0
#include "model/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace superstep {
namespace {

TEST(Parallel, RunsEveryBodyOnceInLoopsWithinLoops) {
  for (const int threads : {1, 2, 7}) {
    std::vector<std::atomic<int>> runs(60);
    parallel_for(6, threads,
                 [&](std::size_t i) { parallel_for(10, threads, [&](std::size_t k) { ++runs[10 * i + k]; }); });
    for (const std::atomic<int>& n : runs) EXPECT_EQ(n, 1);
  }
}

TEST(Parallel, ThrowsTheFirstErrorAndBeginsNothingElse) {
  std::atomic<int> begun = 0;
  const auto fail = [&](std::size_t) {
    ++begun;
    throw std::runtime_error("once");
  };
  EXPECT_THROW(parallel_for(1000, 2, fail), std::runtime_error);
  EXPECT_LE(begun, 2);
}

TEST(Parallel, LocksThatComeSoonExcludeOthers) {
  std::mutex mutex;
  int sum = 0;
  parallel_for(4, 4, [&](std::size_t) {
    for (int i = 0; i < 20'000; ++i) {
      const auto lock = lock_soon(mutex);
      ASSERT_TRUE(lock.owns_lock());
      ++sum;
    }
  });
  EXPECT_EQ(sum, 80'000);
  std::atomic<bool> held = false;
  parallel_for(2, 2, [&](std::size_t i) {  // for longer than is looked for
    if (i == 0) {
      const std::lock_guard lock(mutex);
      held = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      sum = 1;
    } else {
      while (!held) std::this_thread::yield();
      EXPECT_TRUE(lock_soon(mutex).owns_lock());
      EXPECT_EQ(sum, 1);
    }
  });
}

// The first body's loop needs two threads at once, of which one waits in the second body.
void needs_who_waits(const std::function<void(std::size_t, const std::function<void(std::size_t)>&)>& loop) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> waits = false, done = false;
    parallel_for(2, 2, [&](std::size_t i) {
      if (i == 1) {
        waits = true;
        help_until([&] { return done.load(); });
        return;
      }
      while (!waits) continue;
      std::latch both(2);
      loop(2, [&](std::size_t) { both.arrive_and_wait(); });
      done = true;
      wake_helpers();
    });
    EXPECT_TRUE(done);
  }
}

TEST(Parallel, WhoWaitsHelpsOtherBodies) {
  needs_who_waits([](std::size_t count, const auto& body) { parallel_for(count, 2, body); });
}

TEST(Parallel, WhoWaitsSharesOtherBodiesLoops) {
  needs_who_waits([](std::size_t count, const auto& body) { share(count, body); });
}

TEST(Parallel, SharedLoopsRunEveryBodyOnceAndThrow) {
  for (const std::size_t count : {0, 1, 9}) {
    std::vector<std::atomic<int>> runs(count);
    share(count, [&](std::size_t i) { ++runs[i]; });
    for (const std::atomic<int>& n : runs) EXPECT_EQ(n, 1);
  }
  EXPECT_THROW(share(3, [](std::size_t) { throw std::runtime_error("once"); }), std::runtime_error);
}

// The first body waits for the second, which waits itself until there is other work for it.
TEST(Parallel, WhoWaitsIsAskedForOtherWork) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> other = false, done = false;
    parallel_for(2, 2, [&](std::size_t i) {
      if (i == 0) {
        other = true;
        wake_helpers();
        help_until([&] { return done.load(); });
      } else {
        help_until([] { return false; }, [&] { return other.load(); });
        done = true;
        wake_helpers();
      }
    });
    EXPECT_TRUE(other && done);
  }
}

// Bodies that wait for those before them do not begin others on top, which would wait for them.
TEST(Parallel, WhoWaitsBeginsNoOtherBodyOfItsLoop) {
  for (int round = 0; round < 20; ++round) {
    constexpr std::size_t kBodies = 12;
    std::vector<std::atomic<int>> steps(kBodies);
    parallel_for(kBodies, 4, [&](std::size_t i) {
      for (int step = 0; step < 5; ++step) {
        if (i > 0) help_until([&] { return steps[i - 1] > step; });
        std::atomic<int> sum = 0;
        parallel_for(8, 4, [&](std::size_t k) { sum += static_cast<int>(k); });
        steps[i] += sum == 28 ? 1 : 100;
        wake_helpers();
      }
    });
    for (const std::atomic<int>& s : steps) EXPECT_EQ(s, 5);
  }
}

}  // namespace
}  // namespace superstep
