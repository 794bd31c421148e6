// SPDX-License-Identifier: Apache-2.0
#include "model/growing_map.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "model/parallel.h"

namespace superstep {
namespace {

TEST(GrowingMap, FindsWhatWasInserted) {
  GrowingMap<std::int64_t, std::string, 4> map;  // chains of 25
  EXPECT_EQ(map.find(3), nullptr);
  std::vector<const std::string*> at;
  for (std::int64_t key = 0; key < 100; ++key) at.push_back(&map.insert(key, std::to_string(key)));
  for (std::int64_t key = 0; key < 100; ++key) {
    ASSERT_EQ(map.find(key), at[static_cast<std::size_t>(key)]);  // it stays where it was
    EXPECT_EQ(*map.find(key), std::to_string(key));
  }
  EXPECT_EQ(map.find(100), nullptr);
}

TEST(GrowingMap, KeepsTheFirstValueOfAKey) {
  GrowingMap<std::int64_t, std::string, 4> map;
  const std::string& first = map.insert(1, "first");
  EXPECT_EQ(&map.insert(1, "second"), &first);
  EXPECT_EQ(first, "first");
}

TEST(GrowingMap, GivesAllThreadsTheSameValues) {
  constexpr std::size_t kThreads = 8, kKeys = 500;
  GrowingMap<std::int64_t, std::size_t, 2> map;
  std::vector<std::vector<const std::size_t*>> got(kThreads);
  parallel_for(kThreads, kThreads, [&](std::size_t thread) {
    for (std::size_t key = 0; key < kKeys; ++key)
      got[thread].push_back(&map.insert(static_cast<std::int64_t>(key), thread));
  });
  for (std::size_t key = 0; key < kKeys; ++key) {
    for (const auto& of_thread : got) {
      EXPECT_EQ(of_thread[key], got[0][key]);
      EXPECT_EQ(of_thread[key], map.find(static_cast<std::int64_t>(key)));
    }
  }
}

}  // namespace
}  // namespace superstep
