// SPDX-License-Identifier: Apache-2.0
// What every sub-command shares: options, progress, output of JSON.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "traces/text_table.h"

namespace superstep {

struct CommonOptions {
  std::string json;  // file, "-" for standard output; empty: none
  int threads = 0;   // 0: all cores
  bool quiet = false;
  std::string progress;  // "json": JSON lines on standard error; empty: a line on a terminal
  std::string cache;     // file of tile plans; empty: none
};

// Exit codes of the command line.
inline constexpr int kDone = 0, kFailed = 1, kBadInput = 2, kInternalError = 3;

// A sub-command: adds itself to the app; `run` is set when it is the one called.
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
void add_serve(CLI::App& app, CommonOptions& common, Run& run);
void add_sweep(CLI::App& app, CommonOptions& common, Run& run);
void add_validate(CLI::App& app, CommonOptions& common, Run& run);
void add_view(CLI::App& app, CommonOptions& common, Run& run);

CLI::App* sub_command(CLI::App& app, CommonOptions& common, const char* name, const char* help);

// --cache, of commands that plan.
void add_cache(CLI::App& sub, CommonOptions& common);

// Text goes to standard output unless it is quiet or JSON goes there.
bool prints_text(const CommonOptions& common);
TextStyle terminal_style();
// Written whole, or not at all; throws Error(path) when it cannot be.
void write_json(const CommonOptions& common, const nlohmann::json& json);
// Throws Error when the folder of an output file does not exist, before any work is done.
void check_output(const std::string& path);

// Of a path that cannot be looked at: too long, or in a folder that may not be read.
std::string text_of(const std::filesystem::filesystem_error& error);

// Progress of long work: a line that rewrites itself on a terminal, JSON lines when asked for, else nothing.
std::function<void(double, const std::string&)> progress_of(const CommonOptions& common);
void clear_progress(const CommonOptions& common);

}  // namespace superstep
