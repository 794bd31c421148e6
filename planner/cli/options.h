// SPDX-License-Identifier: Apache-2.0
// Code that all sub-commands share: options, progress, output of JSON.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "traces/text_table.h"

namespace superstep {

struct CommonOptions {
  std::string json;  // output file, "-" for standard output; empty: no JSON
  int threads = 0;   // 0: all cores
  bool quiet = false;
  std::string progress;  // "json": JSON lines on standard error; empty: a line on a terminal
  std::string cache;     // file of cached tile plans; empty: no cache
};

// Exit codes of the command line.
inline constexpr int kDone = 0, kFailed = 1, kBadInput = 2, kInternalError = 3;

// A sub-command adds itself to the app. The callback of the called sub-command sets `run`.
using Run = std::function<int()>;
using AddCommand = void (*)(CLI::App& app, CommonOptions& common, Run& run);
void add_plan(CLI::App& app, CommonOptions& common, Run& run);
void add_estimate(CLI::App& app, CommonOptions& common, Run& run);
void add_bench_eval(CLI::App& app, CommonOptions& common, Run& run);
void add_calibrate(CLI::App& app, CommonOptions& common, Run& run);
void add_compare(CLI::App& app, CommonOptions& common, Run& run);
void add_conformance(CLI::App& app, CommonOptions& common, Run& run);
void add_export(CLI::App& app, CommonOptions& common, Run& run);
void add_import(CLI::App& app, CommonOptions& common, Run& run);
void add_machines(CLI::App& app, CommonOptions& common, Run& run);
void add_models(CLI::App& app, CommonOptions& common, Run& run);
void add_explain(CLI::App& app, CommonOptions& common, Run& run);
void add_run(CLI::App& app, CommonOptions& common, Run& run);
void add_software(CLI::App& app, CommonOptions& common, Run& run);
void add_serve(CLI::App& app, CommonOptions& common, Run& run);
void add_sweep(CLI::App& app, CommonOptions& common, Run& run);
void add_validate(CLI::App& app, CommonOptions& common, Run& run);
void add_view(CLI::App& app, CommonOptions& common, Run& run);

// Adds a sub-command with the common options --json, --threads, --quiet and --progress.
CLI::App* sub_command(CLI::App& app, CommonOptions& common, const char* name, const char* help);

// Adds the option --cache to a command that plans.
void add_cache(CLI::App& sub, CommonOptions& common);

// True if text goes to standard output: neither --quiet nor JSON on standard output.
bool prints_text(const CommonOptions& common);
// Returns the style of standard output: 80 to 140 columns; colour on a terminal only, unless NO_COLOR is set.
TextStyle terminal_style();
// Prints notes below a table, each wrapped to the width of the style.
void print_notes(const std::vector<std::string>& notes, const TextStyle& style);
// Writes a file, whole or not at all; "-": to standard output. Throws Error(path) if the file cannot be written.
void write_text(const std::string& path, const std::string& text);
// Writes the result to the --json file, whole or not at all; does nothing without --json. Throws Error(path) if the
// file cannot be written.
void write_json(const CommonOptions& common, const nlohmann::json& value);
// Throws Error if the folder of an output file does not exist. Called before any work is done.
void check_output(const std::string& path);

// Returns the message for a path that cannot be accessed: too long, or in a folder that may not be read.
std::string text_of(const std::filesystem::filesystem_error& error);

// Returns the progress callback of long work: a line that rewrites itself on a terminal, or JSON lines for --progress
// json. Returns an empty function if neither applies.
std::function<void(double, const std::string&)> progress_of(const CommonOptions& common);
// Clears the progress line on a terminal.
void clear_progress(const CommonOptions& common);

}  // namespace superstep
