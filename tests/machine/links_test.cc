// SPDX-License-Identifier: Apache-2.0
#include "model/machine/links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "model/machine/load_machine.h"

namespace superstep {
namespace {

using Route = std::vector<std::int64_t>;

Machine toy_with(const std::string& overrides) {
  return load_machine(nlohmann::json::parse(R"({"base": "toy", "override": )" + overrides + "}"), "job.json#/machine");
}

double gigabytes(BytesPerSecond rate) { return rate.value / 1e9; }

// toy: eight IPUs, rungs (0,1) (2,3) (4,5) (6,7) of 2 MB/s, rails 0-2-4-6 and 1-3-5-7 of 1 MB/s.

TEST(Route, CrossesTheRungFirstThenWalksTheRail) {
  const LinkGraph links(load_machine("toy"));
  EXPECT_EQ(links.route(0, 0), Route({0}));
  EXPECT_EQ(links.route(0, 1), Route({0, 1}));
  EXPECT_EQ(links.route(1, 6), Route({1, 0, 2, 4, 6}));
  EXPECT_EQ(links.route(7, 1), Route({7, 5, 3, 1}));
}

TEST(Route, TakesTheLoopOfATorus) {
  const LinkGraph links(load_machine("ipu-pod64"));
  EXPECT_EQ(links.route(0, 62), Route({0, 62}));
  EXPECT_EQ(links.route(1, 60), Route({1, 0, 62, 60}));
  EXPECT_EQ(links.route(0, 32).size(), 17U);
}

TEST(Route, APartOfARackHasNoLoop) {
  const LinkGraph links(load_machine("ipu-pod16"));
  EXPECT_EQ(links.route(0, 14).size(), 8U);
}

TEST(Route, LeavesARackThroughTheGateways) {
  const LinkGraph links(load_machine("ipu-pod128"));
  EXPECT_EQ(links.route(3, 70), Route({3, 70}));
  EXPECT_EQ(links.route(65, 66), Route({65, 64, 66}));
}

TEST(CollectivePath, TheWholePodRingsAroundThePeriphery) {
  const CollectivePath path = LinkGraph(load_machine("ipu-pod16")).collective_path({16, 1});
  EXPECT_NEAR(gigabytes(path.ring_rate), 27.2, 1e-9);  // 2 links x 16 GB/s x 0.85
  EXPECT_EQ(path.rings, 2);                            // the opposite ring takes the other directions
  EXPECT_EQ(path.ring_hops, 1);
  EXPECT_EQ(path.inside, 16);
  EXPECT_EQ(path.domains, 1);
  EXPECT_EQ(path.gateway_rate.value, 0);
}

TEST(CollectivePath, APairUsesItsRung) {
  const CollectivePath path = LinkGraph(load_machine("ipu-pod16")).collective_path({2, 1});
  EXPECT_NEAR(gigabytes(path.ring_rate), 81.6, 1e-9);  // 6 links x 16 GB/s x 0.85
  EXPECT_EQ(path.rings, 1);                            // there and back is both directions of the rung
}

TEST(CollectivePath, PairsRingOnTheirOwnRails) {
  // Replicas of two IPUs: IPU 0 of each on the left rail, IPU 1 on the right; the way back takes the other direction.
  const CollectivePath path = LinkGraph(load_machine("ipu-pod16")).collective_path({8, 2});
  EXPECT_NEAR(gigabytes(path.ring_rate), 27.2, 1e-9);
  EXPECT_EQ(path.rings, 1);
  EXPECT_EQ(path.ring_hops, 2);
}

TEST(CollectivePath, ReplicasOfFourShareTheRails) {
  // Four rings cross between any two machines, both ways each, over two rails of 27.2 GB/s.
  const CollectivePath path = LinkGraph(load_machine("ipu-pod16")).collective_path({4, 4});
  EXPECT_NEAR(gigabytes(path.ring_rate), 13.6, 1e-9);
  EXPECT_EQ(path.rings, 1);
}

TEST(CollectivePath, TheLoopOfATorusFreesTheWayBack) {
  const CollectivePath path = LinkGraph(load_machine("ipu-pod64")).collective_path({16, 4});
  EXPECT_NEAR(gigabytes(path.ring_rate), 13.6, 1e-9);
  EXPECT_EQ(path.rings, 2);
  EXPECT_EQ(path.ring_hops, 2);
}

TEST(CollectivePath, AcrossRacksTheIpusOfAMachineShareItsGateway) {
  const LinkGraph links(load_machine("ipu-pod256"));
  const CollectivePath all = links.collective_path({256, 1});
  EXPECT_EQ(all.inside, 64);
  EXPECT_EQ(all.domains, 4);
  EXPECT_NEAR(gigabytes(all.gateway_rate), 25 * 0.85 / 4, 1e-9);
  const CollectivePath racks = links.collective_path({4, 64});
  EXPECT_EQ(racks.inside, 1);
  EXPECT_EQ(racks.domains, 4);
  EXPECT_TRUE(std::isinf(racks.ring_rate.value));
  EXPECT_EQ(racks.ring_hops, 0);
}

TEST(CollectivePath, ToyGatewaysJoinTwoDomains) {
  const CollectivePath path = LinkGraph(toy_with(R"({"ipus": 16})")).collective_path({16, 1});
  EXPECT_EQ(path.domains, 2);
  EXPECT_DOUBLE_EQ(path.gateway_rate.value, 250e3);  // 1 MB/s for the four IPUs of a machine
  EXPECT_DOUBLE_EQ(path.ring_rate.value, 1e6);
}

TEST(CollectivePath, AGroupOfOneMovesNothing) {
  const CollectivePath path = LinkGraph(load_machine("c600")).collective_path({1, 1});
  EXPECT_EQ(path.inside, 1);
  EXPECT_EQ(path.domains, 1);
  EXPECT_EQ(transfer_time(Bytes(0), path.ring_rate).value, 0);
}

TEST(NeighbourRate, StagesShareTheRailsTheyPass) {
  const LinkGraph pod(load_machine("ipu-pod16"));
  EXPECT_NEAR(gigabytes(pod.neighbour_rate(1)), 27.2, 1e-9);  // 1 to 2 crosses to the left rail, which only it uses
  EXPECT_NEAR(gigabytes(pod.neighbour_rate(2)), 27.2, 1e-9);
  EXPECT_NEAR(gigabytes(pod.neighbour_rate(4)), 13.6, 1e-9);
  EXPECT_NEAR(gigabytes(pod.neighbour_rate(8)), 6.8, 1e-9);
  EXPECT_TRUE(std::isinf(pod.neighbour_rate(16).value));
  const LinkGraph racks(load_machine("bow-pod128"));
  EXPECT_NEAR(gigabytes(racks.neighbour_rate(1)), 27.2, 1e-9);
  EXPECT_NEAR(gigabytes(racks.neighbour_rate(64)), 5.3125, 1e-9);
}

// As the neighbours', with the last ones going back to the first.
TEST(ShiftedRate, TheLastGoRoundToTheFirst) {
  const LinkGraph pod(load_machine("ipu-pod16"));
  for (std::int64_t stride : {2, 4, 8}) {
    EXPECT_LE(pod.shifted_rate(stride).value, pod.neighbour_rate(stride).value);
    EXPECT_NEAR(pod.shifted_rate(stride).value, pod.shifted_rate(16 - stride).value,
                1e-3);  // one is the other's answer
  }
  EXPECT_TRUE(std::isinf(pod.shifted_rate(16).value));
  const LinkGraph racks(load_machine("bow-pod128"));
  EXPECT_NEAR(gigabytes(racks.shifted_rate(64)), 5.3125, 1e-9);
  EXPECT_LE(gigabytes(racks.shifted_rate(4)), 5.3125);  // a few cross to the next rack
}

TEST(LinkGraph, SixtyFiveThousandIpusCostAsMuchAsOneRack) {
  const Machine machine = load_machine("ipu-65536");
  const auto start = std::chrono::steady_clock::now();
  const LinkGraph links(machine);
  for (std::int64_t stride = 1; stride < machine.ipus; stride *= 2) {
    for (std::int64_t size = 2; size * stride <= machine.ipus; size *= 2) {
      const CollectivePath path = links.collective_path({size, stride});
      EXPECT_EQ(path.inside * path.domains, size);
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// The links of a ladder written down a second time, for checks by brute force.
using LinkRates = std::map<std::pair<std::int64_t, std::int64_t>, double>;

LinkRates rates_of(const Machine& machine, bool torus) {
  LinkRates rates;
  const auto both = [&](std::int64_t a, std::int64_t b, std::int64_t links) {
    rates[{a, b}] = rates[{b, a}] = machine.links.rate.value * machine.links.efficiency * static_cast<double>(links);
  };
  for (std::int64_t i = 0; i + 1 < machine.ipus; i += 2) both(i, i + 1, machine.links.rung_links);
  for (std::int64_t i = 0; i + 2 < machine.ipus; ++i) both(i, i + 2, machine.links.rail_links);
  for (const std::int64_t column : {0, 1}) {
    if (torus) both(machine.ipus - 2 + column, column, machine.links.rail_links);
  }
  return rates;
}

double least_halving_cut(const LinkRates& rates, std::int64_t ipus) {
  double least = INFINITY;
  for (std::uint64_t half = 0; half < (1ULL << ipus); ++half) {
    if (std::popcount(half) != ipus / 2) continue;
    double cut = 0;
    for (const auto& [ends, rate] : rates) {
      if ((half >> ends.first & 1) == 1 && (half >> ends.second & 1) == 0) cut += rate;
    }
    least = std::min(least, cut);
  }
  return least;
}

struct Small {
  const char* overrides;
  bool torus;
};
const Small kSmall[]{{R"({"ipus": 2})", false},
                     {R"({"ipus": 4})", false},
                     {R"({})", false},
                     {R"({"links": {"torus": true}})", true},
                     {R"({"ipus": 6, "ipus_per_machine": 2})", false},
                     {R"({"ipus": 6, "ipus_per_machine": 2, "links": {"domain_ipus": 6, "torus": true}})", true},
                     {R"({"ipus": 12, "links": {"domain_ipus": 12}})", false},
                     {R"({"ipus": 12, "links": {"domain_ipus": 12, "torus": true}})", true},
                     {R"({"links": {"rung_links": 1, "rail_links": 8, "torus": true}})", true}};

TEST(Bisection, IsTheLeastOfAllHalvingCuts) {
  for (const Small& small : kSmall) {
    const Machine machine = toy_with(small.overrides);
    EXPECT_DOUBLE_EQ(LinkGraph(machine).bisection().value,
                     least_halving_cut(rates_of(machine, small.torus), machine.ipus))
        << small.overrides;
  }
  EXPECT_NEAR(gigabytes(LinkGraph(load_machine("ipu-pod16")).bisection()), 54.4, 1e-9);
  EXPECT_NEAR(gigabytes(LinkGraph(load_machine("ipu-pod64")).bisection()), 108.8, 1e-9);
  EXPECT_EQ(LinkGraph(load_machine("c600")).bisection().value, 0);
}

TEST(Route, HasTheFewestHopsOfAllRoutes) {
  for (const Small& small : kSmall) {
    const Machine machine = toy_with(small.overrides);
    const LinkRates rates = rates_of(machine, small.torus);
    const LinkGraph links(machine);
    const std::int64_t n = machine.ipus;
    std::vector<std::vector<int>> hops(n, std::vector<int>(n, 1000));  // Floyd and Warshall
    for (std::int64_t i = 0; i < n; ++i) hops[i][i] = 0;
    for (const auto& [ends, rate] : rates) hops[ends.first][ends.second] = 1;
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) hops[i][j] = std::min(hops[i][j], hops[i][k] + hops[k][j]);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const Route route = links.route(i, j);
        ASSERT_EQ(static_cast<int>(route.size()) - 1, hops[i][j]) << small.overrides << i << " to " << j;
        for (std::size_t k = 1; k < route.size(); ++k) ASSERT_TRUE(rates.contains({route[k - 1], route[k]}));
      }
    }
  }
}

double rate_under(const std::map<std::pair<std::int64_t, std::int64_t>, int>& flows, const LinkRates& rates) {
  double rate = INFINITY;
  for (const auto& [ends, count] : flows) rate = std::min(rate, rates.at(ends) / count);
  return rate;
}

// The rate of a group, both directions where that pays, under one order of its members.
double group_rate(const LinkGraph& links, const LinkRates& rates, GroupShape shape, const Route& order,
                  std::int64_t ipus) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> one_way, both_ways;
  for (std::int64_t block = 0; block + shape.size * shape.stride <= ipus; block += shape.size * shape.stride) {
    for (std::int64_t first = block; first < block + shape.stride; ++first) {
      for (std::size_t step = 0; step < order.size(); ++step) {
        const std::int64_t from = first + order[step] * shape.stride;
        const std::int64_t to = first + order[(step + 1) % order.size()] * shape.stride;
        const Route there = links.route(from, to), back = links.route(to, from);
        for (std::size_t k = 1; k < there.size(); ++k) ++one_way[{there[k - 1], there[k]}];
        for (std::size_t k = 1; k < there.size(); ++k) ++both_ways[{there[k - 1], there[k]}];
        for (std::size_t k = 1; k < back.size(); ++k) ++both_ways[{back[k - 1], back[k]}];
      }
    }
  }
  return std::max(rate_under(one_way, rates), 2 * rate_under(both_ways, rates));
}

TEST(CollectivePath, NoOrderOfTheMembersIsFaster) {
  for (const Small& small : kSmall) {
    const Machine machine = toy_with(small.overrides);
    const LinkGraph links(machine);
    const LinkRates rates = rates_of(machine, small.torus);
    for (std::int64_t stride = 1; stride < machine.ipus; stride *= 2) {
      for (std::int64_t size = 2; size * stride <= machine.ipus && size <= 8; size *= 2) {
        Route order(size);
        std::iota(order.begin(), order.end(), 0);
        double best = 0;
        do {
          best = std::max(best, group_rate(links, rates, {size, stride}, order, machine.ipus));
        } while (std::next_permutation(order.begin() + 1, order.end()));
        const CollectivePath path = links.collective_path({size, stride});
        EXPECT_NEAR(path.ring_rate.value * static_cast<double>(path.rings), best, 1e-6 * best)
            << small.overrides << " size " << size << " stride " << stride;
      }
    }
  }
}

}  // namespace
}  // namespace superstep
