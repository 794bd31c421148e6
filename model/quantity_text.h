// SPDX-License-Identifier: Apache-2.0
// The text form of quantities, in one place: "624 KiB", "1.325 GHz", "16 GB/s", "200 cycles".
#pragma once

#include <string>
#include <string_view>

#include "model/units.h"

namespace superstep {

// Each function parses "<number> <unit>", with the units listed beside the function. Throws Error(where, ...) with the
// text found and the units expected. Negative, NaN and infinite values are errors, as are values above 1e18 base units.
Bytes parse_bytes(std::string_view text, const std::string& where);      // B kB KB MB GB TB KiB MiB GiB TiB
Cycles parse_cycles(std::string_view text, const std::string& where);    // cycles
Seconds parse_seconds(std::string_view text, const std::string& where);  // s ms us ns
Hertz parse_hertz(std::string_view text, const std::string& where);      // Hz kHz MHz GHz
BytesPerSecond parse_bytes_per_second(std::string_view text, const std::string& where);  // B/s kB/s MB/s GB/s TB/s
BytesPerCycle parse_bytes_per_cycle(std::string_view text, const std::string& where);    // B/cycle
Watts parse_watts(std::string_view text, const std::string& where);                      // W kW MW
Dollars parse_dollars(std::string_view text, const std::string& where);                  // USD

// Each function returns rounded text for people: "609.4 KiB" ("624 KiB" when exact), "1.96 s", "4.20 ms", "8.0 GB/s",
// "1,234,567 cycles".
std::string to_text(Bytes b);
std::string to_text(Cycles c);
std::string to_text(Seconds s);
std::string to_text(Hertz h);
std::string to_text(BytesPerSecond r);
std::string to_text(BytesPerCycle r);
std::string to_text(FlopsPerSecond f);
std::string to_text(Watts w);
std::string to_text(Dollars d);
std::string with_thousands(std::int64_t v);  // "1,234,567"

}  // namespace superstep
