// SPDX-License-Identifier: Apache-2.0
#include "model/lower/cap_range.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/lower/toy.h"

namespace superstep {
namespace {

TEST(CapRange, PartsAndTheCapsThatMakeAsMany) {
  for (std::int64_t bytes = 0; bytes <= 40; ++bytes) {
    for (std::int64_t cap = 0; cap <= 45; ++cap) {
      const CapParts made = parts_within(Bytes(bytes), Bytes(cap));
      if (cap > 0) {
        EXPECT_LE(ceil_div(bytes, made.parts), cap);
        EXPECT_TRUE(made.parts == 1 || ceil_div(bytes, made.parts - 1) > cap) << bytes << " in " << cap;
      }
      for (std::int64_t other = 0; other <= 45; ++other) {
        const bool same = parts_within(Bytes(bytes), Bytes(other)).parts == made.parts;
        EXPECT_EQ(made.caps.contains(CapRange::just(Bytes(other))), same) << bytes << ": " << cap << ", " << other;
      }
    }
  }
}

TEST(CapRange, TheRoundestShareIsOneOfThem) {
  const Chip chip = load_machine("ipu-pod4").chip;  // 624 KiB: 638,976 bytes
  EXPECT_EQ(cap_of(0.25, chip), Bytes(159744));
  EXPECT_EQ(proportion_of({159744, 159744}, chip), 0.25);
  EXPECT_EQ(proportion_of({150000, 170000}, chip), 0.24);  // 153,354 bytes
  EXPECT_EQ(proportion_of({242000, 242500}, chip), 0.379);
  EXPECT_EQ(proportion_of({0, 638976}, chip), 0);
  for (std::int64_t cap = 1; cap <= 638976; cap += cap < 1000 ? 1 : 997) {
    const double share = proportion_of({cap, cap}, chip);
    EXPECT_EQ(cap_of(share, chip).value, cap) << share;
    EXPECT_LE(share, 1);
  }
}

TEST(Caps, OfOneBoundHoldOnlyWhatAllWorkMayHave) {
  Caps all;
  all.one = true;
  all.of.fill({100, 200});
  Caps own;
  own.of.fill({100, 200});
  EXPECT_EQ(all.size(), 101);
  EXPECT_EQ(own.size(), std::pow(101, 6));
  EXPECT_TRUE(own.contains(all));
  EXPECT_FALSE(all.contains(own));
  Caps table;
  table[Work::head] = {120, 150};
  table[Work::update] = {140, 300};
  all.narrow(table);
  for (const CapRange& caps : all.of) EXPECT_EQ(caps, (CapRange{140, 150}));
  own.narrow(table);
  EXPECT_EQ(own[Work::head], (CapRange{120, 150}));
  EXPECT_EQ(own[Work::update], (CapRange{140, 200}));
  EXPECT_EQ(own[Work::other], (CapRange{100, 200}));
  EXPECT_EQ(own.common(), (CapRange{140, 150}));
  EXPECT_EQ(own.tightest()[Work::head], (CapRange{120, 120}));
  EXPECT_EQ(own.loosest()[Work::head], (CapRange{150, 150}));
}

TEST(Caps, SharesOfThemAreEqualWhereTheyMayBe) {
  const Chip chip = load_machine("ipu-pod4").chip;
  Caps caps;
  caps.of.fill({150000, 638976});
  caps[Work::head] = {60000, 100000};
  caps[Work::feed_forward] = {300000, 400000};
  const Proportions shares = proportions_of(caps, chip);
  for (const Work w : {Work::other, Work::embedding, Work::attention, Work::update})
    EXPECT_EQ(shares[w], shares[Work::feed_forward]);
  EXPECT_EQ(shares[Work::feed_forward], proportion_of({300000, 400000}, chip));
  EXPECT_EQ(shares[Work::head], proportion_of({60000, 100000}, chip));
  EXPECT_TRUE(caps.contains(caps_of(shares, chip)));
  EXPECT_TRUE(caps_of(0.25, chip).one);
  EXPECT_FALSE(caps_of(shares, chip).one);
}

// Shares of some sizes of memory have few decimals, which a binary number may fall short of.
TEST(CapRange, EveryBoundHasAShareWhateverTheMemory) {
  Chip chip = load_machine("ipu-pod4").chip;
  for (const std::int64_t kib : {32, 48, 100, 125, 250, 500, 1000}) {
    chip.tile_memory = Bytes(kib * 1024);
    for (std::int64_t cap = 1; cap <= chip.tile_memory.value; cap += 1 + cap / 5000)
      ASSERT_EQ(cap_of(proportion_of({cap, cap}, chip), chip).value, cap) << kib;
  }
}

}  // namespace
}  // namespace superstep
