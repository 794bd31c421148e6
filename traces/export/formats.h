// SPDX-License-Identifier: Apache-2.0
// A report in the formats of other programs, and its plan as their settings (settings/). One file a format; what
// happens when comes from one walk (walk.h).
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

// How far time is told apart: passes of micro-batches, the calls in them, the supersteps in those.
enum class Detail { passes, calls, steps };

struct Options {
  Detail detail = Detail::calls;
  bool real_time = false;  // nanoseconds; else a cycle is written as one, and nothing is rounded
  std::int64_t from = 0, to = std::numeric_limits<std::int64_t>::max();  // cycles: what meets [from, to)
  std::string table;                                                     // csv: the only one; empty: all
  std::string view = "summary";                                          // svg, png
  std::int64_t most_slices = 8'000'000;  // more than that is an error: what opens such files fails on them
};

using ReportPointer = std::shared_ptr<const ReportFile>;

struct Format {
  const char* name;    // "perfetto"
  const char* ending;  // "pftrace"
  const char* what;    // "Perfetto trace, for ui.perfetto.dev"
  // Null: the command line writes it, which has the model and the viewer.
  void (*write)(const ReportPointer& report, const Options& options, std::ostream& out);
};
const std::vector<Format>& formats();
std::string format_names();  // "perfetto, chrome, ..."
// Throws Error with the nearest name.
const Format& find_format(const std::string& name);

// What `write` writes, whole, or not at all; "-" is standard output. Formats' writers throw Error when the report lacks
// what the format shows, and Unsupported when the target cannot express the plan.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

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
void write_popxl(const ReportPointer& report, const Options& options, std::ostream& out);
void write_poprun(const ReportPointer& report, const Options& options, std::ostream& out);
void write_vipu(const ReportPointer& report, const Options& options, std::ostream& out);

}  // namespace superstep::exports
