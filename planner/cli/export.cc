// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cli/options.h"
#include "planner/cli/pictures.h"
#include "planner/report/export_onnx.h"
#include "traces/export/formats.h"

namespace superstep {
namespace {

struct Arguments {
  std::string report, format, output, detail = "calls", time = "cycles", cycles, view;
  exports::Options options;
};

// Reads a range of cycles: "1000-2000"; either end may be left out.
void read_stretch(const std::string& text, exports::Options& options) {
  if (text.empty()) return;
  const auto fail = [&] {
    throw Error("--cycles", "found \"" + text + "\", expected FROM-TO, cycles from the start of the step");
  };
  const auto number = [&](std::string_view part, std::int64_t& out) {
    if (part.empty()) return;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), out);
    if (error != std::errc() || end != part.data() + part.size()) fail();
  };
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos || text.size() == 1) fail();
  number(std::string_view(text).substr(0, dash), options.from);
  number(std::string_view(text).substr(dash + 1), options.to);
  if (options.from >= options.to) fail();
}

// Writes the report with the format's own writer, or with a writer that only the command line has.
void write_format(const exports::ReportPointer& report, const exports::Format& format, const exports::Options& options,
                  std::ostream& out) {
  const std::string name = format.name;
  if (format.write)
    format.write(report, options, out);
  else if (name == "onnx")
    write_onnx(report, options, out);
  else
    write_picture(report->path(), options.view, name, out);
}

int run_export(const Arguments& a, const CommonOptions& common) {
  const exports::Format& format = exports::find_format(a.format);
  exports::Options options = a.options;
  options.detail = a.detail == "steps"    ? exports::Detail::steps
                   : a.detail == "passes" ? exports::Detail::passes
                                          : exports::Detail::calls;
  options.real_time = a.time == "ns";
  read_stretch(a.cycles, options);
  if (!options.table.empty() && a.format != "csv") throw Error("--table", "is an option of --to csv");
  const bool picture = a.format == "svg" || a.format == "png";
  if (!a.view.empty() && !picture) throw Error("--view", "is an option of --to svg and --to png");
  if (!a.view.empty()) options.view = a.view;
  check_output(a.output);
  check_output(common.json);
  const auto report = std::make_shared<const ReportFile>(ReportFile::open(a.report));
  if (a.output != "-" && std::filesystem::exists(a.output) && std::filesystem::equivalent(a.output, a.report))
    throw Error(a.output, "cannot be written: it is the report that is read");
  exports::write_file(a.output, [&](std::ostream& out) { write_format(report, format, options, out); });
  if (a.output == "-") return kDone;
  const auto bytes = std::filesystem::file_size(a.output);
  if (prints_text(common)) std::cout << "Wrote " << a.output << ": " << format.what << ", " << bytes << " bytes\n";
  write_json(common, {{"file", a.output}, {"format", a.format}, {"bytes", bytes}});
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = sub_command(app, common, "export", "A report in the format of another program");
  std::string formats = "One of";
  for (const exports::Format& f : exports::formats())
    formats += std::string(formats == "One of" ? " " : "; ") + f.name + ": " + f.what;
  sub->add_option("report", a->report, "Report file")->required()->type_name("REPORT.ssr");
  sub->add_option("--to", a->format, formats)->required()->type_name("FORMAT");
  sub->add_option("-o,--output", a->output, "The file to write, - for standard output")->required()->type_name("FILE");
  sub->add_option("--detail", a->detail, "passes of micro-batches, calls, or steps: supersteps; calls by default")
      ->check(CLI::IsMember({"passes", "calls", "steps"}));
  sub->add_option("--cycles", a->cycles, "Only what meets a stretch of the step, cycles from its start")
      ->type_name("FROM-TO");
  sub->add_option("--time", a->time,
                  "perfetto, chrome: cycles (by default; one is written as a nanosecond, nothing is rounded), or ns")
      ->check(CLI::IsMember({"cycles", "ns"}));
  sub->add_option("--table", a->options.table, "csv: this table only")->type_name("NAME");
  sub->add_option("--view", a->view, "svg, png: which view; summary by default")->type_name("VIEW");
  sub->callback([a, &common, &run] { run = [a, &common] { return run_export(*a, common); }; });
}

}  // namespace superstep
