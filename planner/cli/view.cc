// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "model/error.h"
#include "planner/cli/options.h"
#include "planner/cli/pictures.h"

namespace superstep {
namespace {

// Replaces this process by the viewer. The viewer is a separate program, because the planner builds without Qt.
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
    std::string view, output, size, page, theme;
  };
  auto a = std::make_shared<Arguments>();
  CLI::App* sub = app.add_subcommand("view", "Open reports in the viewer, or write one view without a display");
  sub->add_option("reports", a->reports, "Report files; jobs and sweeps are queued on the batch page")
      ->type_name("REPORT.ssr ...");
  sub->add_option("--export", a->view, "Write this view to a file")->type_name("VIEW");
  sub->add_option("-o,--output", a->output, "PNG, SVG or CSV by its ending")->type_name("FILE");
  sub->add_option("--size", a->size, "Of a picture, 1280x800 if not given")->type_name("WxH");
  sub->add_option("--page", a->page, "Of a view that has several; a wrong name lists them")->type_name("PAGE");
  sub->add_option("--theme", a->theme, "light, dark or contrast (high contrast)")->type_name("THEME");
  sub->callback([a, &run] {
    run = [a] {
      std::vector<std::string> arguments = a->reports;
      const auto pass = [&](const char* option, const std::string& value) {
        if (!value.empty()) arguments.insert(arguments.end(), {option, value});
      };
      pass("--export", a->view);
      pass("-o", a->output);
      pass("--size", a->size);
      pass("--page", a->page);
      pass("--theme", a->theme);
      return run_view(arguments);
    };
  });
}

}  // namespace superstep
