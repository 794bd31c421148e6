// SPDX-License-Identifier: Apache-2.0
// Every number of a report, read without the viewer: what --json printed, the index and the columns of the file.
#pragma once

#include <QVariant>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "traces/report_io.h"

namespace superstep::gui {

class ReportNumbers {
 public:
  void add(const ReportFile& report);
  void add_index(const report::Index& index);  // without the columns; and the units
  void add_json(const std::string& text);
  void add(std::int64_t value);
  void add(double value);
  void done();  // after the last add

  // To the last digit: a whole number or a real that stands in the report.
  bool has(const QVariant& value) const;
  // What was rounded to this many decimals, in whatever unit.
  bool has_rounded(double value, int decimals) const;
  // A real that is one of the report's in another unit: ms and microseconds of seconds or cycles, MB, KiB, MiB of
  // bytes, a share of the step or of the limit of a tile, in % or not. To 15 digits, which a product keeps.
  bool has_converted(double value) const;

 private:
  bool near(double value) const;

  std::unordered_set<std::int64_t> whole_;
  std::vector<double> reals_;  // sorted; whole ones too
  std::vector<double> units_;  // factors
};

}  // namespace superstep::gui
