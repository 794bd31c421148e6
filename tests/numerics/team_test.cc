// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/team.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace superstep::numerics {
namespace {

TEST(Team, EveryMemberDoesItsPartOnceForEachTask) {
  for (const int size : {1, 2, 5}) {
    Team team(size);
    std::vector<int> calls(static_cast<std::size_t>(size));
    for (int task = 1; task <= 200; ++task) {
      team.run([&](int member, Workspace&) { ++calls[static_cast<std::size_t>(member)]; });
      EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(size), task));
    }
  }
}

TEST(Team, ThrowsWhatAMemberThrowsAndWorksOn) {
  Team team(3);
  const auto fail = [](int member, Workspace&) {
    if (member == 2) throw std::runtime_error("third");
  };
  EXPECT_THROW(team.run(fail), std::runtime_error);
  EXPECT_NO_THROW(team.run([](int, Workspace&) {}));
}

TEST(Team, AWorkspaceGrowsAndKeepsItsMemory) {
  Workspace workspace;
  auto* small = workspace.take<float>(10);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small) % 64, 0u);
  auto* large = workspace.take<double>(1000);
  large[999] = 1;
  EXPECT_EQ(workspace.take<float>(20), reinterpret_cast<float*>(large));
}

}  // namespace
}  // namespace superstep::numerics
