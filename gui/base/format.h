// SPDX-License-Identifier: Apache-2.0
// Numbers as the viewer writes them: thin spaces between groups of three digits, a real minus sign.
#pragma once

#include <QString>
#include <cstdint>
#include <string>

namespace superstep::gui {

enum class Units { kib, bytes };

QString grouped(std::int64_t value);                       // "1 964"
QString tile_bytes(std::int64_t bytes, Units units);       // "608.1" or "622 740": no unit
QString tile_bytes_text(std::int64_t bytes, Units units);  // "608.1 KiB" or "622 740 bytes"
QString unit_name(Units units);                            // "KiB", "bytes"
QString milliseconds(double seconds, double whole);        // "388.0": decimals as `whole` seconds deserve
QString share_percent(double part, double whole);          // "19.8", without the sign; "–" when whole is 0
QString exact_seconds(double seconds);                     // as many digits as tell it apart
QString fixed_decimals(double value, int decimals);        // "−1 964.2"

// A sentence of traces/ in the viewer's spelling: "1,964" and "-3.2 %" become "1 964" and "−3.2 %".
QString for_viewer(const std::string& text);

QString error_percent(std::int64_t parts_of_a_million);  // "8.1"

}  // namespace superstep::gui
