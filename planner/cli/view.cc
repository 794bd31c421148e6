// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "model/error.h"
#include "planner/cli/options.h"
#include "planner/cli/pictures.h"

namespace superstep {
namespace {

// Hands over to the viewer, which is a program of its own: the planner builds without Qt.
int run_view(const std::vector<std::string>& arguments) {
  const std::filesystem::path viewer = viewer_program();
  std::vector<std::string> all = {viewer.string()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& a : all) argv.push_back(a.data());
  argv.push_back(nullptr);
  execv(viewer.c_str(), argv.data());
  throw Error(viewer.string(), "cannot be started");
}

}  // namespace

void add_view(CLI::App& app, CommonOptions&, Run& run) {
  struct Arguments {
    std::vector<std::string> reports;
    std::string view, output;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("view", "Open reports in the viewer, or write one view without a display");
  sub->add_option("reports", a->reports, "Report files; jobs and sweeps are queued on the batch page")
      ->type_name("REPORT.ssr ...");
  sub->add_option("--export", a->view, "Write this view to a file")->type_name("VIEW");
  sub->add_option("-o,--output", a->output, "PNG, SVG or CSV by its ending")->type_name("FILE");
  sub->callback([a, &run] {
    run = [a] {
      std::vector<std::string> arguments = a->reports;
      if (!a->view.empty()) arguments.insert(arguments.end(), {"--export", a->view});
      if (!a->output.empty()) arguments.insert(arguments.end(), {"-o", a->output});
      return run_view(arguments);
    };
  });
}

}  // namespace superstep
