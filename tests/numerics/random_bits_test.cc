// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/random_bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace superstep::numerics {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123's known answers for philox4x32-10 (kat_vectors in its distribution).
TEST(RandomBits, PhiloxGivesThePublishedVectors) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, AreTheSameHoweverATensorIsCut) {
  const RandomBits bits({.seed = 3, .tensor = 5, .site = 1, .step = 9});
  const std::uint64_t start = (std::uint64_t{1} << 34) - 17;  // the counter's second word changes within
  std::vector<std::uint32_t> whole(301);
  bits.fill(start, whole);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(whole[i], bits.at(start + i));
  for (std::size_t cut = 0; cut <= whole.size(); cut += 7) {
    std::vector<std::uint32_t> parts(whole.size());
    bits.fill(start, std::span(parts).first(cut));
    bits.fill(start + cut, std::span(parts).subspan(cut));
    EXPECT_EQ(parts, whole);
  }
}

TEST(RandomBits, DependOnEveryPartOfTheSite) {
  const RandomSite site{.seed = 1, .tensor = 2, .site = 3, .step = 4};
  std::vector<RandomSite> sites(9, site);
  sites[1].seed = 5;
  sites[2].seed += std::uint64_t{1} << 32;
  sites[3].tensor = 5;
  sites[4].tensor += std::uint64_t{1} << 32;
  sites[5].site = 5;
  sites[6].step = 5;
  sites[7].step += std::uint64_t{1} << 32;
  std::swap(sites[8].tensor, sites[8].step);
  std::set<std::uint32_t> first;
  for (const RandomSite& other : sites) first.insert(RandomBits(other).at(0));
  EXPECT_EQ(first.size(), sites.size());
}

// Of 2^20 words each bit is set half of the time: within five standard deviations of 512.
TEST(RandomBits, SetEveryBitHalfOfTheTime) {
  std::vector<std::uint32_t> words(1 << 20);
  RandomBits({.seed = 11}).fill(0, words);
  for (int bit = 0; bit < 32; ++bit) {
    int set = 0;
    for (std::uint32_t word : words) set += static_cast<int>(word >> bit & 1u);
    EXPECT_NEAR(set, 1 << 19, 5 * 512) << "bit " << bit;
  }
}

}  // namespace
}  // namespace superstep::numerics
