// SPDX-License-Identifier: Apache-2.0
// Exports of a report to the formats of other programs, and of its plan to their settings (settings/). Each format has
// a file of its own. Formats that show time share one walk (walk.h).
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "traces/report_io.h"

namespace superstep::exports {

// Finest slices that an export has: passes of micro-batches, calls in the passes, or supersteps in the calls.
enum class Detail { passes, calls, steps };

struct Options {
  Detail detail = Detail::calls;
  bool real_time = false;  // true: times are rounded to nanoseconds; false: a cycle is written as 1 ns
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();  // cycles: slices that overlap [from, to)
  std::string table;                                                     // csv: name of the table; empty: all tables
  std::string view = "summary";                                          // svg, png: view of the viewer
  std::int64_t most_slices = 8'000'000;  // more slices are an Error, since programs fail to open such files
};

using ReportPointer = std::shared_ptr<const ReportFile>;

struct Format {
  const char* name;    // "perfetto"
  const char* ending;  // file name extension: "pftrace"
  const char* what;    // "Perfetto trace, for ui.perfetto.dev"
  // Null: the command line writes the format, since only the command line has the model and the viewer.
  void (*write)(const ReportPointer& report, const Options& options, std::ostream& out);
};
const std::vector<Format>& formats();
std::string format_names();  // "perfetto, chrome, ..."
// Returns the format of a name. Throws Error with the nearest name if there is none.
const Format& find_format(const std::string& name);

// Writes a file by `write`, either completely or not at all. A path of "-" is standard output. Throws Error if the file
// cannot be written.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

// Each function writes a report in one format. Throws Error if the report lacks data that the format shows, and
// Unsupported if the target cannot express the plan.
void write_perfetto(const ReportPointer& report, const Options& options, std::ostream& out);
void write_chrome(const ReportPointer& report, const Options& options, std::ostream& out);
void write_speedscope(const ReportPointer& report, const Options& options, std::ostream& out);
void write_collapsed(const ReportPointer& report, const Options& options, std::ostream& out);
void write_csv(const ReportPointer& report, const Options& options, std::ostream& out);
void write_dot(const ReportPointer& report, const Options& options, std::ostream& out);
void write_markdown(const ReportPointer& report, const Options& options, std::ostream& out);
void write_html(const ReportPointer& report, const Options& options, std::ostream& out);
void write_poptorch(const ReportPointer& report, const Options& options, std::ostream& out);
void write_popart(const ReportPointer& report, const Options& options, std::ostream& out);
void write_tensorflow(const ReportPointer& report, const Options& options, std::ostream& out);
void write_popxl(const ReportPointer& report, const Options& options, std::ostream& out);
void write_poprun(const ReportPointer& report, const Options& options, std::ostream& out);
void write_vipu(const ReportPointer& report, const Options& options, std::ostream& out);

}  // namespace superstep::exports
