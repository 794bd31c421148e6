// SPDX-License-Identifier: Apache-2.0
#include "gui/base/format.h"

#include <QLocale>
#include <algorithm>
#include <cmath>

namespace superstep::gui {
namespace {

constexpr QChar kThinSpace(0x202F);  // the one at which no line breaks
constexpr QChar kMinus(0x2212);

// Groups the digits before the point and replaces the sign, which what rounds to nothing has not.
QString spelled(QString number) {
  const auto counts = [](QChar c) { return c >= '1' && c <= '9'; };
  if (number.startsWith('-') && std::none_of(number.cbegin(), number.cend(), counts)) number.remove(0, 1);
  qsizetype end = number.indexOf('.');
  if (end < 0) end = number.size();
  const qsizetype begin = number.startsWith('-') ? 1 : 0;
  for (qsizetype at = end - 3; at > begin; at -= 3) number.insert(at, kThinSpace);
  if (begin == 1) number[0] = kMinus;
  return number;
}

}  // namespace

QString grouped(std::int64_t value) { return spelled(QString::number(value)); }

QString fixed_decimals(double value, int decimals) {
  if (!std::isfinite(value)) return QStringLiteral("n/a");
  return spelled(QString::number(value, 'f', decimals));
}

QString tile_bytes(std::int64_t bytes, Units units) {
  return units == Units::bytes ? grouped(bytes) : fixed_decimals(static_cast<double>(bytes) / 1024, 1);
}

QString unit_name(Units units) { return units == Units::bytes ? QStringLiteral("bytes") : QStringLiteral("KiB"); }

QString tile_bytes_text(std::int64_t bytes, Units units) { return tile_bytes(bytes, units) + ' ' + unit_name(units); }

QString milliseconds(double seconds, double whole) {
  const int decimals = whole < 0.001 ? 4 : whole < 0.1 ? 3 : whole < 1 ? 2 : 1;
  return fixed_decimals(seconds * 1e3, decimals);
}

QString share_percent(double part, double whole) {
  return whole == 0 ? QStringLiteral("–") : fixed_decimals(part / whole * 100, 1);
}

QString exact_seconds(double seconds) { return QString::number(seconds, 'g', QLocale::FloatingPointShortest); }

QString for_viewer(const std::string& text) {
  QString out = QString::fromStdString(text);
  for (qsizetype i = 0; i < out.size(); ++i) {
    const bool digit_after = i + 1 < out.size() && out[i + 1].isDigit();
    const bool digit_before = i > 0 && out[i - 1].isDigit();
    if (out[i] == ',' && digit_before && digit_after) out[i] = kThinSpace;
    if (out[i] == '-' && digit_after && (i == 0 || out[i - 1] == ' ' || out[i - 1] == '(')) out[i] = kMinus;
  }
  return out;
}

QString error_percent(std::int64_t parts_of_a_million) {
  return fixed_decimals(static_cast<double>(parts_of_a_million) / 1e4, 1);
}

}  // namespace superstep::gui
