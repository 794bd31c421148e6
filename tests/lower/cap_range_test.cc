// SPDX-License-Identifier: Apache-2.0
#include "model/program/cap_range.h"

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
  EXPECT_EQ(proportion_of(CapRange{159744, 159744}, chip), 0.25);
  EXPECT_EQ(proportion_of(CapRange{150000, 170000}, chip), 0.24);  // 153,354 bytes
  EXPECT_EQ(proportion_of(CapRange{242000, 242500}, chip), 0.379);
  EXPECT_EQ(proportion_of(CapRange{0, 638976}, chip), 0);
  for (std::int64_t cap = 1; cap <= 638976; cap += cap < 1000 ? 1 : 997) {
    const double share = proportion_of(CapRange{cap, cap}, chip);
    EXPECT_EQ(cap_of(share, chip).value, cap) << share;
    EXPECT_LE(share, 1);
  }
}

TEST(Caps, NarrowTheirRangeAndWhatTheyMayCount) {
  Caps all{{100, 200}, 0b111};
  EXPECT_EQ(all.size(), 3 * 101);
  EXPECT_FALSE(all.one_live());
  Caps unit{{120, 300}};
  unit.count(Live::unit);
  EXPECT_FALSE(all.contains(unit));
  EXPECT_TRUE(all.contains({{120, 200}, unit.lives}));
  EXPECT_FALSE(unit.contains({{120, 200}, all.lives}));
  all.narrow(unit);
  EXPECT_EQ(all, (Caps{{120, 200}, unit.lives}));
  EXPECT_EQ(all.least_live(), Live::unit);
  EXPECT_EQ(all.tightest().range, (CapRange{120, 120}));
  EXPECT_EQ(all.loosest().range, (CapRange{200, 200}));
}

TEST(Caps, AreThoseOfTheirShare) {
  const Chip chip = load_machine("ipu-pod4").chip;
  Caps caps{{150000, 638976}};
  caps.count(Live::layer);
  const Proportion share = proportion_of(caps, chip);
  EXPECT_EQ(share.share, proportion_of(caps.range, chip));
  EXPECT_EQ(share.live, Live::layer);
  EXPECT_TRUE(caps.contains(caps_of(share, chip)));
}

// Shares of some sizes of memory have few decimals, which a binary number may fall short of.
TEST(CapRange, EveryBoundHasAShareWhateverTheMemory) {
  Chip chip = load_machine("ipu-pod4").chip;
  for (const std::int64_t kib : {32, 48, 100, 125, 250, 500, 1000}) {
    chip.tile_memory = Bytes(kib * 1024);
    for (std::int64_t cap = 1; cap <= chip.tile_memory.value; cap += 1 + cap / 5000)
      ASSERT_EQ(cap_of(proportion_of(CapRange{cap, cap}, chip), chip).value, cap) << kib;
  }
}

}  // namespace
}  // namespace superstep
