// SPDX-License-Identifier: Apache-2.0
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <iostream>

#include "model/error.h"
#include "planner/cli/options.h"

namespace {

constexpr superstep::AddCommand kCommands[] = {
    superstep::add_plan,   superstep::add_estimate, superstep::add_run,       superstep::add_compare,
    superstep::add_sweep,  superstep::add_validate, superstep::add_calibrate, superstep::add_conformance,
    superstep::add_import, superstep::add_explain,  superstep::add_export,    superstep::add_machines,
    superstep::add_models, superstep::add_software, superstep::add_serve,     superstep::add_bench_eval,
    superstep::add_view,
};

// Returns the text as one line, whatever a library put into the message.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

int fail(int code, const std::string& message) {
  std::cerr << "superstep: " << one_line(message) << "\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace superstep;
  CLI::App app(
      "Superstep: models IPU systems, plans how to map large models onto them, and shows where every cycle and byte "
      "goes",
      "superstep");
  app.set_version_flag("--version", "superstep 0.1.0");
  app.require_subcommand(1);
  CommonOptions common;
  Run run;
  for (AddCommand add : kCommands) add(app, common, run);
  if (argc > 1 && argv[1][0] != '-') {  // the parser would report a missing sub-command only
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
    if (std::find(names.begin(), names.end(), argv[1]) == names.end()) {
      return fail(kBadInput, "there is no command \"" + std::string(argv[1]) + "\"" + name_hint(argv[1], names));
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    return fail(kBadInput, std::string(e.what()) + " (see superstep --help)");
  }
  try {
    return run();
  } catch (const Unsupported& e) {
    clear_progress(common);
    return fail(kFailed, e.what());
  } catch (const Error& e) {
    clear_progress(common);
    return fail(kBadInput, e.what());
  } catch (const InternalError& e) {
    return fail(kInternalError, std::string("internal error, please report: ") + e.what());
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(kBadInput, text_of(e));
  } catch (const std::bad_alloc&) {
    return fail(kBadInput, "the job needs more memory than this computer has");
  } catch (const std::exception& e) {
    return fail(kInternalError, std::string("internal error, please report: ") + e.what());
  }
}
