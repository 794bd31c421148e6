// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"

namespace superstep {
namespace {

bool shows_line(const CommonOptions& common) {
  return !common.quiet && common.progress.empty() && isatty(STDERR_FILENO) != 0;
}

}  // namespace

CLI::App* sub_command(CLI::App& app, CommonOptions& common, const char* name, const char* help) {
  CLI::App* sub = app.add_subcommand(name, help);
  sub->add_option("--json", common.json, "Write the result as JSON to FILE, - for standard output")->type_name("FILE");
  sub->add_option("--threads", common.threads, "Threads to use; all cores by default")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  sub->add_flag("--quiet", common.quiet, "Print nothing but errors");
  sub->add_option("--progress", common.progress, "json: progress as JSON lines on standard error")
      ->check(CLI::IsMember({"json"}));
  return sub;
}

void add_cache(CLI::App& sub, CommonOptions& common) {
  sub.add_option("--cache", common.cache, "Keep tile plans in FILE, for later runs of any model")
      ->envname("SUPERSTEP_CACHE")
      ->type_name("FILE");
}

bool prints_text(const CommonOptions& common) { return !common.quiet && common.json != "-"; }

TextStyle terminal_style() {
  TextStyle style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.columns = std::max<int>(80, std::min<int>(size.ws_col, 140));
  style.color = isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
  return style;
}

std::string text_of(const std::filesystem::filesystem_error& error) {
  constexpr std::size_t kMost = 80;
  const std::string path = error.path1().string();
  return (path.size() <= kMost ? path : path.substr(0, kMost) + "...") + ": " + error.code().message();
}

void check_output(const std::string& path) {
  if (path.empty() || path == "-") return;
  if (path[0] == '-')  // the value of an option is missing, and the next option is taken for it
    throw Error(path, "found an option where a file to write is expected; ./" + path + " is a file of that name");
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent))
    throw Error(path, "cannot be written: there is no folder " + parent.string());
  if (std::filesystem::is_directory(path)) throw Error(path, "cannot be written: it is a folder");
}

void print_notes(const std::vector<std::string>& notes, const TextStyle& style) {
  for (const std::string& note : notes) {
    for (const std::string& line : wrapped("note: " + note, style.columns - 2)) std::cout << "  " << line << "\n";
  }
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text << std::flush;
    return;
  }
  const std::string temporary = path + ".part";
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    std::filesystem::remove(temporary);
    throw Error(path, "cannot be written");
  }
  std::filesystem::rename(temporary, path);
}

void write_json(const CommonOptions& common, const nlohmann::json& value) {
  if (!common.json.empty()) write_text(common.json, value.dump(2) + "\n");
}

std::function<void(double, const std::string&)> progress_of(const CommonOptions& common) {
  using Clock = std::chrono::steady_clock;
  if (common.progress == "json") {
    auto last = std::make_shared<Clock::time_point>();
    return [last](double share, const std::string& what) {
      if (Clock::now() - *last < std::chrono::milliseconds(100)) return;
      *last = Clock::now();
      std::cerr << nlohmann::json{{"progress", share}, {"what", what}}.dump() << "\n" << std::flush;
    };
  }
  if (!shows_line(common)) return {};
  auto last = std::make_shared<Clock::time_point>();
  return [last](double share, const std::string& what) {
    if (Clock::now() - *last < std::chrono::milliseconds(80)) return;
    *last = Clock::now();
    std::fprintf(stderr, "\r\033[K%3.0f %%  %.80s", share * 100, what.c_str());
    std::fflush(stderr);
  };
}

void clear_progress(const CommonOptions& common) {
  if (shows_line(common)) std::fputs("\r\033[K", stderr);
}

}  // namespace superstep
