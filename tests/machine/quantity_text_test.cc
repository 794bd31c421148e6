// SPDX-License-Identifier: Apache-2.0
#include "model/quantity_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/error.h"

namespace superstep {
namespace {

using testing::HasSubstr;

std::string refusal_of(const std::function<void()>& parse) {
  try {
    parse();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(QuantityText, ParsesDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_bytes("624 KiB", "").value, 638'976);
  EXPECT_EQ(parse_bytes("256 GB", "").value, 256'000'000'000);
  EXPECT_EQ(parse_bytes("0.3 kB", "").value, 300);
  EXPECT_EQ(parse_bytes("1KB", "").value, 1000);
  EXPECT_EQ(parse_cycles("1 cycle", "").value, 1);
  EXPECT_DOUBLE_EQ(parse_seconds("1.5 us", "").value, 1.5e-6);
  EXPECT_DOUBLE_EQ(parse_hertz("1.325 GHz", "").value, 1.325e9);
  EXPECT_DOUBLE_EQ(parse_bytes_per_second("16 GB/s", "").value, 16e9);
  EXPECT_DOUBLE_EQ(parse_bytes_per_cycle("4 B/cycle", "").value, 4);
  EXPECT_DOUBLE_EQ(parse_watts("1.5 kW", "").value, 1500);
  EXPECT_DOUBLE_EQ(parse_dollars("32450 USD", "").value, 32450);
}

TEST(QuantityText, RefusesWhatIsNoQuantity) {
  const auto bytes = [](const char* text) { return refusal_of([=] { parse_bytes(text, "m.json#/x"); }); };
  EXPECT_THAT(bytes("624"), HasSubstr("m.json#/x: found \"624\", expected a number and a unit, one of: B, kB"));
  EXPECT_THAT(bytes("624 Kib"), HasSubstr("did you mean \"KiB\"?"));
  EXPECT_THAT(bytes("KiB"), HasSubstr("expected a number and a unit"));
  EXPECT_THAT(bytes(""), HasSubstr("expected a number and a unit"));
  EXPECT_THAT(bytes("nan KiB"), HasSubstr("expected a number and a unit"));
  EXPECT_THAT(bytes("inf B"), HasSubstr("expected a number and a unit"));
  EXPECT_THAT(bytes("-1 KiB"), HasSubstr("which is negative"));
  EXPECT_THAT(bytes("1e30 B"), HasSubstr("out of range"));
  EXPECT_THAT(bytes("1e999 B"), HasSubstr("out of range"));
  EXPECT_THAT(bytes("0.5 B"), HasSubstr("not a whole number of B"));
  EXPECT_THAT(bytes("12 34 B"), HasSubstr("expected a number and a unit"));
  EXPECT_THAT(refusal_of([] { parse_hertz("1.85 GB/s", ""); }), HasSubstr("Hz, kHz, MHz, GHz"));
}

TEST(QuantityText, WritesWhatPeopleRead) {
  EXPECT_EQ(to_text(Bytes(638'976)), "624 KiB");
  EXPECT_EQ(to_text(Bytes(624'026)), "609.4 KiB");
  EXPECT_EQ(to_text(Bytes(512)), "512 B");
  EXPECT_EQ(to_text(Bytes(-2048)), "-2 KiB");
  EXPECT_EQ(to_text(Cycles(1'234'567)), "1,234,567 cycles");
  EXPECT_EQ(to_text(Cycles(1)), "1 cycle");
  EXPECT_EQ(to_text(Seconds(1.96)), "1.96 s");
  EXPECT_EQ(to_text(Seconds(0.0042)), "4.20 ms");
  EXPECT_EQ(to_text(Seconds(0.99996)), "1.00 s");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Hertz(1.325e9)), "1.325 GHz");
  EXPECT_EQ(to_text(BytesPerSecond(8e9)), "8.0 GB/s");
  EXPECT_EQ(to_text(FlopsPerSecond(249.65e12)), "249.65 TFLOP/s");
  EXPECT_EQ(to_text(Watts(28000)), "28 kW");
  EXPECT_EQ(with_thousands(-1234567), "-1,234,567");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(-100), "-100");
}

TEST(QuantityText, WhatIsWrittenExactlyIsReadBack) {
  for (const std::int64_t value : {1, 1024, 638'976, 268'435'456}) {
    EXPECT_EQ(parse_bytes(to_text(Bytes(value)), "").value, value);
  }
}

}  // namespace
}  // namespace superstep
