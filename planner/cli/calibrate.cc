// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/calibrate.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cli/options.h"

namespace superstep {
namespace {

using nlohmann::ordered_json;

struct CalibrateArguments {
  std::vector<std::string> paths, own;  // instead of, and beside, the repository's points
  std::string output, start = "default";
};

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, std::abs(value) < 1000 ? "%.3g" : "%.0f", value);
  return text;
}
std::string value_text(const FittedConstant& c, double value) {
  return three_digits(value) + (c.unit.empty() ? "" : " " + std::string(c.unit));
}

// Returns up to `most` runs that determine a constant: "mlperf10-bert-pod16 40 %, ...".
std::string holders(const CalibratedConstant& c, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < c.held_by.size() && i < most; ++i) {
    const auto& [run, share] = c.held_by[i];
    text += (i ? ", " : "") + run + " " + std::to_string(std::lround(100 * share)) + " %";
  }
  return text.empty() ? "what is expected" : text;
}

TextTable constants_table(const CalibrationFit& fit, const Calibration& before) {
  TextTable table;
  table.headings = {"constant", "now", "fitted", "+-", "leaving one run out", "held by"};
  table.left_columns = {5};
  const auto all = fitted_constants();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const CalibratedConstant& c = fit.constants[k];
    table.add({std::string(all[k].name), value_text(all[k], all[k].get(before)), value_text(all[k], c.value),
               three_digits(c.uncertainty), three_digits(c.low) + " to " + three_digits(c.high), holders(c, 2)});
  }
  return table;
}

TextTable errors_table(const CalibrationFit& fit) {
  TextTable table;
  table.headings = {"errors of", "runs", "median", "p90", "worst", "bias"};
  const auto add = [&](const std::string& name, const ErrorStatistics& s) {
    table.add({name, std::to_string(s.runs), percent(s.median_abs), percent(s.p90_abs), percent(s.max_abs),
               (s.bias < 0 ? "-" : "+") + percent(std::abs(s.bias))});
  };
  add("all, fitted to", fit.fitted);
  add("each, left out of the fit", fit.left_out_runs);
  for (const LeftOutGroup& g : fit.families) add(g.name + ", left out", g.errors);
  for (const LeftOutGroup& g : fit.sizes) add(g.name + (g.name == "1" ? " IPU" : " IPUs") + ", left out", g.errors);
  return table;
}

ordered_json result_json(const CalibrationFit& fit) {
  ordered_json j;
  const auto all = fitted_constants();
  for (std::size_t k = 0; k < all.size(); ++k) {
    const CalibratedConstant& c = fit.constants[k];
    ordered_json held = ordered_json::array();
    for (const auto& [run, share] : c.held_by) held.push_back({{"run", run}, {"share", share}});
    j["constants"].push_back({{"name", all[k].name},
                              {"unit", all[k].unit},
                              {"meaning", all[k].meaning},
                              {"value", c.value},
                              {"uncertainty", c.uncertainty},
                              {"leave_one_run_out", {c.low, c.high}},
                              {"held_by", held}});
  }
  for (const auto& [run, error] : fit.errors) j["runs"].push_back({{"run", run}, {"error", error}});
  j["fitted"] = to_json(fit.fitted);
  j["leave_one_run_out"] = to_json(fit.left_out_runs);
  const auto add_groups = [&](const char* list, const char* key, const std::vector<LeftOutGroup>& groups) {
    j[list] = ordered_json::array();
    for (const LeftOutGroup& g : groups) {
      ordered_json row = to_json(g.errors);
      row[key] = g.name;
      row["constants"] = g.values;
      j[list].push_back(row);
    }
  };
  add_groups("leave_one_family_out", "family", fit.families);
  add_groups("leave_one_size_out", "ipus", fit.sizes);
  j["relative_band"] = fit.calibration.relative_band;
  j["file"] = calibration_file(fit);
  return j;
}

int run_calibrate(const CalibrateArguments& a, const CommonOptions& common) {
  check_output(common.json);
  check_output(a.output);
  std::vector<std::string> paths = a.paths.empty() ? std::vector{published_folder()} : a.paths;
  for (const std::string& path : a.own) {
    const auto serves = [](const PublishedPoint& p) { return p.use == "calibration"; };
    if (std::ranges::none_of(load_published({path}).points, serves))
      throw Error(path, "found no point whose use is \"calibration\", expected some to fit constants to");
    paths.push_back(path);
  }
  const PublishedPoints points = load_published(paths);
  const Calibration before = load_calibration(a.start);
  const CalibrationFit fit =
      calibrate(measured_runs(points.points), before, {.threads = common.threads, .progress = progress_of(common)});
  clear_progress(common);
  if (prints_text(common)) {
    TextStyle style = terminal_style();
    style.columns = std::max(style.columns, 140);
    std::cout << constants_table(fit, before).to_string(style) << "\n" << errors_table(fit).to_string(style);
  }
  write_json(common, result_json(fit));
  if (!a.output.empty()) {
    std::ofstream out(a.output);
    out << calibration_file(fit).dump(2) << "\n";
    if (!out.flush()) throw Error(a.output, "could not be written");
  }
  return kDone;
}

}  // namespace

void add_calibrate(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<CalibrateArguments>();
  CLI::App* sub = sub_command(app, common, "calibrate",
                              "Fits the constants of data/calibration to the calibration points, with uncertainties");
  sub->add_option("points", a->paths, "Files of published points, or folders of them; data/published by default")
      ->type_name("FILE|DIR");
  sub->add_option("--points", a->own, "Your own points, fitted to together with the others; their use is calibration")
      ->type_name("FILE|DIR");
  sub->add_option("--start", a->start,
                  "Calibration that gives what is not fitted: a name in data/calibration, or a file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  sub->add_option("-o,--output", a->output, "Writes the calibration file")->type_name("FILE");
  sub->callback([a, &common, &run] { run = [a, &common] { return run_calibrate(*a, common); }; });
}

}  // namespace superstep
