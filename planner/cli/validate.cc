// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/validate.h"

#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cli/options.h"
#include "planner/cli/validate_against.h"
#include "planner/cli/validate_memory.h"
#include "planner/cli/validate_operators.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr int kPointColumns = 160;  // width of the table of points

json to_json(const ErrorGroup& g) {
  json j = to_json(g.model);
  j["in_band_share"] = g.in_band_share;
  j["use"] = g.use.empty() ? json() : json(g.use);
  j["family"] = g.family.empty() ? json() : json(g.family);
  j["null_model"] = to_json(g.null_model);
  return j;
}

json to_json(const ValidatedPoint& v) {
  const PublishedPoint& p = v.point;
  json j = {{"id", p.id},
            {"run", p.run},
            {"use", p.use},
            {"family", p.family},
            {"framework", p.framework},
            {"release", p.release},
            {"assumed", p.assumed},
            {"metric", p.measured.name},
            {"unit", p.measured.unit},
            {"source", p.measured.source},
            {"measured", p.measured.value}};
  if (!v.prediction) {
    j["failure"] = v.failure;
    return j;
  }
  j["predicted"] = v.predicted;
  j["error"] = v.error;
  j["band"] = {v.band.low, v.band.high};
  j["in_band"] = v.in_band;
  j["null_predicted"] = v.null_predicted ? json(*v.null_predicted) : json();
  j["null_error"] = v.null_error ? json(*v.null_error) : json();
  const Prediction& e = *v.prediction;
  j.update({{"model", e.model},
            {"machine", e.machine},
            {"plan", e.plan},
            {"global_batch", e.global_batch},
            {"samples_per_second", e.samples_per_second},
            {"step_time_s", e.step_seconds},
            {"fits", e.fits},
            {"tile_peak_bytes", e.tile_peak},
            {"tile_limit_bytes", e.tile_limit},
            {"not_validated", e.not_validated}});
  return j;
}

json result_json(const Validation& v, const std::vector<LeftOut>& left_out) {
  json j = to_json(v.groups.front().model);
  j["in_band_share"] = v.groups.front().in_band_share;
  j["points"] = json::array();
  for (const ValidatedPoint& p : v.points) j["points"].push_back(to_json(p));
  j["groups"] = json::array();
  for (const ErrorGroup& g : v.groups) j["groups"].push_back(to_json(g));
  j["null_model"] = to_json(v.groups.front().null_model);
  j["null_model"]["utilisation"] = v.null_model ? json(v.null_model->utilisation) : json();
  j["null_model"]["fitted_runs"] = v.null_model ? v.null_model->runs : 0;
  j["left_out"] = json::array();
  for (const LeftOut& l : left_out)
    j["left_out"].push_back({{"id", l.id}, {"use", l.use}, {"model", l.model}, {"machine", l.machine}, {"why", l.why}});
  return j;
}

// Returns "+1.4 %"; "n/a" if the value is not finite.
std::string signed_percent(double fraction) {
  return std::isfinite(fraction) ? signed_fixed(fraction * 100, 1) + " %" : "n/a";
}
std::string percent_or_none(double fraction) { return std::isfinite(fraction) ? percent(fraction) : "n/a"; }

// Returns "2.16 s" or "710 /s". Rates are in samples, whatever the source calls the samples.
std::string with_unit(double value, const Measured& m) {
  return figure(value) + (m.metric == Metric::step_time ? " " + m.unit : " /s");
}

TextTable point_table(const Validation& v) {
  TextTable table;
  table.headings = {"point", "model", "machine", "plan", "measured", "predicted", "error", "95 % band", "fits"};
  table.left_columns = {1, 2, 3, 8};
  for (const ValidatedPoint& p : v.points) {
    const std::string measured = with_unit(p.point.measured.value, p.point.measured);
    if (!p.prediction) {
      table.add({p.point.id, "", "", "not estimated", measured, "", "", "", ""}, Ink::bad);
      continue;
    }
    const Prediction& e = *p.prediction;
    table.add(
        {p.point.id, e.model, e.machine, e.plan, measured, with_unit(p.predicted, p.point.measured),
         signed_percent(p.error), figure(p.band.low) + " to " + figure(p.band.high) + (p.in_band ? "" : " !"), e.fits},
        p.in_band ? Ink::plain : Ink::warning);
  }
  return table;
}

std::string name_of(const ErrorGroup& g) {
  if (g.use.empty() && g.family.empty()) return "all";
  return g.family + (g.use.empty() || g.family.empty() ? "" : ", ") + g.use;
}

TextTable group_table(const Validation& v) {
  TextTable table;
  table.headings = {"runs of", "runs",         "median", "p90",   "worst", "bias",
                    "in band", "null: median", "p90",    "worst", "bias"};
  for (const ErrorGroup& g : v.groups) {
    std::vector<std::string> cells = {name_of(g), std::to_string(g.model.runs)};
    for (const ErrorStatistics* s : {&g.model, &g.null_model}) {
      if (s == &g.null_model) cells.push_back(std::to_string(std::lround(g.in_band_share * 100)) + " %");
      cells.insert(cells.end(), {percent_or_none(s->median_abs), percent_or_none(s->p90_abs),
                                 percent_or_none(s->max_abs), signed_percent(s->bias)});
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string left_out_text(const std::vector<LeftOut>& left_out) {
  std::map<std::string, int> reasons;
  for (const LeftOut& l : left_out) ++reasons[l.why];
  std::string list;
  for (const auto& [why, count] : reasons)
    list += (list.empty() ? "" : "; ") + why + " (" + std::to_string(count) + ")";
  return "no points are made of " + std::to_string(left_out.size()) + " published results and configurations: " + list;
}

void print(const Validation& v, const std::vector<LeftOut>& left_out) {
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, kPointColumns);
  std::cout << point_table(v).to_string(style) << "\n" << group_table(v).to_string(style) << "\n";
  std::vector<std::string> notes = {
      "errors are fractions of the rate of samples, + means predicted too fast; median, p90 and worst without sign; "
      "points of one run count once"};
  if (v.null_model)
    notes.push_back("null model: " + percent(v.null_model->utilisation) +
                    " of the peak while the pipeline is busy, fitted to " + std::to_string(v.null_model->runs) +
                    " calibration runs");
  if (!left_out.empty()) notes.push_back(left_out_text(left_out));
  print_notes(notes, style);
}

// Throws the first failure, if any. Bad input takes precedence over unsupported ops.
void report_failures(const Validation& v) {
  const ValidatedPoint* first = nullptr;
  int count = 0;
  for (const ValidatedPoint& p : v.points) {
    if (p.prediction) continue;
    ++count;
    if (first == nullptr || (first->unsupported && !p.unsupported)) first = &p;
  }
  if (first == nullptr) return;
  const std::string message = "point \"" + first->point.id + "\": " + first->failure +
                              (count > 1 ? " (and " + std::to_string(count - 1) + " more points)" : "");
  if (first->unsupported) throw Unsupported("", message);
  throw Error("", message);
}

// Validations of the same points with the calibrations that the jobs name, and with another one.
struct Refit {
  const Validation &before, &after;

  struct Run {
    std::string id;
    double before = 0, after = 0;  // errors
    double gain() const { return std::abs(before) - std::abs(after); }
  };
  // Returns the points that both estimate, that which gains most first.
  std::vector<Run> runs() const {
    std::vector<Run> out;
    for (std::size_t i = 0; i < after.points.size(); ++i) {
      if (before.points[i].prediction && after.points[i].prediction)
        out.push_back({after.points[i].point.id, before.points[i].error, after.points[i].error});
    }
    std::ranges::stable_sort(out, std::ranges::greater(), &Run::gain);
    return out;
  }
};

void print(const Refit& refit, const std::string& file) {
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, kPointColumns);
  const ErrorGroup &a = refit.before.groups.front(), &b = refit.after.groups.front();
  const auto change = [](const std::string& what, const std::string& from, const std::string& to) {
    return what + " " + from + " before, " + to + " now";
  };
  std::vector<std::string> notes = {
      file + ": " + change("median", percent_or_none(a.model.median_abs), percent_or_none(b.model.median_abs)) + "; " +
      change("p90", percent_or_none(a.model.p90_abs), percent_or_none(b.model.p90_abs)) + "; " +
      change("in band", percent(a.in_band_share), percent(b.in_band_share))};
  const std::vector<Refit::Run> runs = refit.runs();
  const auto text_of = [](const Refit::Run& r) {
    return r.id + " " + signed_percent(r.before) + " to " + signed_percent(r.after);
  };
  if (!runs.empty() && runs.front().gain() > 0) notes.push_back("gains most: " + text_of(runs.front()));
  if (!runs.empty() && runs.back().gain() < 0) notes.push_back("loses most: " + text_of(runs.back()));
  print_notes(notes, style);
}

// Returns the points with jobs that name this calibration.
std::vector<PublishedPoint> with_calibration(std::vector<PublishedPoint> points, const std::string& calibration) {
  for (PublishedPoint& p : points) p.job["calibration"] = calibration;
  return points;
}

struct ValidateArguments {
  std::vector<std::string> paths;
  std::string calibration, against;  // empty: that of each job; none
  bool operators = false, memory = false;
};

int run_validate(const ValidateArguments& a, const CommonOptions& common) {
  check_output(common.json);
  const PublishedPoints own = load_published({published_folder()});
  const PublishedPoints given = a.paths.empty() ? own : load_published(a.paths);
  const ValidateOptions options = {.threads = common.threads, .progress = progress_of(common)};
  Validation v = validate(given.points, own.points, options);
  std::optional<Validation> before;
  if (!a.calibration.empty()) {
    load_calibration(a.calibration);
    before = std::exchange(v, validate(with_calibration(given.points, a.calibration), own.points, options));
  }
  clear_progress(common);
  json j = result_json(v, given.left_out);
  if (prints_text(common)) print(v, given.left_out);
  if (before) {
    const Refit refit{*before, v};
    if (prints_text(common)) print(refit, a.calibration);
    j["before"] = to_json(before->groups.front());
    j["gains"] = json::array();
    for (const Refit::Run& r : refit.runs())
      j["gains"].push_back({{"id", r.id}, {"error_before", r.before}, {"error", r.after}});
  }
  write_json(common, j);
  report_failures(v);
  return kDone;
}

}  // namespace

void add_validate(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<ValidateArguments>();
  CLI::App* sub = sub_command(app, common, "validate",
                              "Predicted against published measurements, with error statistics, beside a model of "
                              "constant utilisation");
  sub->add_option("points", a->paths, "Files of published points, or folders of them; data/published by default")
      ->type_name("FILE|DIR");
  sub->add_option(
         "--calibration", a->calibration,
         "Constants to use instead, as superstep calibrate -o writes them, and what they gain and lose: a file, "
         "or a name in data/calibration")
      ->type_name("FILE|NAME");
  sub->add_flag("--memory", a->memory,
                "Memory instead: plans that ran and plans that ran out of memory, beside the probability that they fit")
      ->excludes("--calibration");
  sub->add_flag("--operators", a->operators,
                "Single operators instead: vertices, exchanges and products against the facts of data/operators, or of "
                "the files given")
      ->excludes("--calibration")
      ->excludes("--memory");
  sub->add_option("--against", a->against,
                  "IPU systems beside published results of another system instead, such as dgx-a100: throughput, rated "
                  "power, energy")
      ->type_name("SYSTEM")
      ->excludes("--calibration")
      ->excludes("--operators")
      ->excludes("--memory")
      ->excludes("points");
  sub->callback([a, &common, &run] {
    run = [a, &common] {
      if (!a->against.empty()) return run_validate_against(a->against, common);
      if (a->memory) return run_validate_memory(a->paths, common);
      return a->operators ? run_validate_operators(a->paths, common) : run_validate(*a, common);
    };
  });
}

}  // namespace superstep
