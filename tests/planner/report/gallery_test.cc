// SPDX-License-Identifier: Apache-2.0
// Public configurations: predicted, measured, fit and rank. The table of docs/results/gallery.md is written from here:
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=Gallery.*
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/data_folder.h"
#include "model/json_reader.h"
#include "model/quantity_text.h"
#include "planner/cuts/search_budget.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "planner/search/rank.h"
#include "planner/space/space.h"
#include "planner/sweep/plan_job.h"
#include "planner/validate/validate.h"
#include "tests/planner/page.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::published;

constexpr const char* kGalleryPage = SUPERSTEP_SOURCE "/docs/results/gallery.md";
constexpr std::int64_t kProgrammes = 1000;  // for the rank among all plans
constexpr double kSmallSpace = 2200;        // settings of a space that is ranked in every run

struct Exhibit {
  std::string id;
  Job job;
  Prediction prediction;
  std::vector<const PublishedPoint*> measured;  // of this job
};

std::vector<Exhibit> collect() {
  std::vector<Exhibit> all;
  for (const std::string& file : json_files({data_folder() + "/jobs/gallery"}, "jobs")) {
    Exhibit e;
    e.id = fs::path(file).stem().string();
    PublishedPoint point;
    point.job = parse_json_file(file);
    point.job_file = file;
    e.job = read_job(point.job, file);
    e.prediction = predict(point, nullptr);
    for (const PublishedPoint& p : published().points) {
      if (fs::equivalent(p.job_file, file)) e.measured.push_back(&p);
    }
    all.push_back(std::move(e));
  }
  return all;
}

const std::vector<Exhibit>& exhibits() {
  static const std::vector<Exhibit> all = collect();
  return all;
}

// The question of which pipelines are the answers that measured points cover.
json pipelines_only(json free) {
  free["plan"]["tensor_parallel"] = 1;
  free["plan"]["location"] = {{"weights", "in_processor"}, {"gradients", "in_processor"}};
  return free;
}

Rank rank_in(const json& free, const Exhibit& e, std::int64_t programmes) {
  const CostModel model(e.job.machine, load_calibration(e.job.machine.calibration));
  Tables pinned(e.job, model);
  const Evaluated plan = evaluate_pinned(pinned, 1);
  const Job job = read_job(free, e.job.source);
  Tables tables(job, model);
  SearchOptions options;
  options.work_limit = programmes * kBudget.programme_work;
  return rank(tables, plan.plan, options);
}

// "12", or "12 to 345" where that many may be faster, of how many.
std::string rank_text(const Rank& r) {
  const auto count = [](double v) { return with_thousands(static_cast<std::int64_t>(v)); };
  return count(r.faster + 1) + (r.exact() ? "" : " to " + count(r.faster + r.undecided + 1)) + " of " + count(r.of);
}

bool is_pipeline(const Exhibit& e) { return e.job.json().at("plan").at("location").at("weights") == "in_processor"; }

double settings_of_pipelines(const Exhibit& e) {
  const Job job = read_job(pipelines_only(free_job(e.job)), e.job.source);
  double of = 0;
  for (const Cell& cell : cells(job, statistics_group(job))) of += cell.all_settings();
  return of;
}

// Cells of the page's rows as they stand, by job.
std::map<std::string, std::vector<std::string>> rows_on_page() {
  std::map<std::string, std::vector<std::string>> rows;
  std::ifstream in(kGalleryPage);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| [")) continue;
    std::vector<std::string> cells;
    std::istringstream text(line.substr(2));
    for (std::string cell; std::getline(text, cell, '|');) {
      const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    rows[cells.at(0).substr(1, cells.at(0).find(']') - 1)] = cells;
  }
  return rows;
}

// The two rank cells of a row: counted, or as they stand on the page where that takes too long for every run
// (SUPERSTEP_UPDATE=numbers writes the others anew).
std::pair<std::string, std::string> rank_cells(const Exhibit& e) {
  const char* update = std::getenv("SUPERSTEP_UPDATE");
  if (update != nullptr && std::string(update) != "numbers") {
    const json free = free_job(e.job);
    return {is_pipeline(e) ? rank_text(rank_in(pipelines_only(free), e, 0)) : "-",
            rank_text(rank_in(free, e, kProgrammes))};
  }
  static const auto rows = rows_on_page();
  const auto row = rows.find(e.id);
  if (row == rows.end() || row->second.size() < 10) return {"not on the page", ""};
  std::string among_pipelines = row->second[8];
  if (is_pipeline(e) && settings_of_pipelines(e) <= kSmallSpace)
    among_pipelines = rank_text(rank_in(pipelines_only(free_job(e.job)), e, 0));
  return {among_pipelines, row->second[9]};
}

// "t=1 p=8 r=2 m=4 g=192, 808 /s, fits with 95.0 %": what `superstep plan` recommends if nothing is pinned but types.
// Searched, or as it stands on the page, as the ranks.
std::string recommended_cell(const Exhibit& e) {
  const char* update = std::getenv("SUPERSTEP_UPDATE");
  if (update == nullptr || std::string(update) == "numbers") {
    static const auto rows = rows_on_page();
    const auto row = rows.find(e.id);
    return row == rows.end() || row->second.size() < 11 ? "not on the page" : row->second[10];
  }
  SearchOptions options;
  options.top = 1;
  options.pareto = options.find_fix = false;
  const PlannedJob best = plan_job(read_job(free_job(e.job), e.job.source), options);
  if (best.status != PlanStatus::planned) return best.reason;
  return label(best.plan) + ", " + figure(best.samples_per_second) + " /s, fits with " + percent(best.fit_probability) +
         (best.not_validated.empty() ? "" : ", not validated");
}

// "29,543 /s": points of one run are the same, one as a time.
std::string measured_text(const Exhibit& e) {
  if (e.measured.empty()) return "-";
  return figure(e.measured.front()->measured.samples_per_second(e.prediction.global_batch)) + " /s";
}

std::string error_text(const Exhibit& e) {
  if (e.measured.empty()) return "-";
  char text[32];
  const double measured = e.measured.front()->measured.samples_per_second(e.prediction.global_batch);
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * (e.prediction.samples_per_second / measured - 1));
  return text;
}

void write_rows(std::ostream& out) {
  out << "| job | plan | predicted | 95 % band | measured | error | fit | to spare, KiB | rank among pipelines | among "
         "all "
         "plans | recommended |\n|---|---|---:|---:|---:|---:|---|---:|---:|---:|---|\n";
  for (const Exhibit& e : exhibits()) {
    const Prediction& p = e.prediction;
    const auto rate = [&](double seconds) { return figure(static_cast<double>(p.global_batch) / seconds); };
    const auto [among_pipelines, among_all] = rank_cells(e);
    out << "| [" << e.id << "](../../data/jobs/gallery/" << e.id << ".json) | " << p.plan << " | "
        << figure(p.samples_per_second) << " /s | " << rate(p.step_band->high) << " to " << rate(p.step_band->low)
        << " | " << measured_text(e) << " | " << error_text(e) << " | " << p.fits
        << (p.not_validated.empty() ? "" : ", not validated") << " | " << kib(p.tile_limit - p.tile_peak) << " | "
        << among_pipelines << " | " << among_all << " | " << recommended_cell(e) << " |\n";
  }
}

bool is_exhibited(const std::string& id) {
  for (const Exhibit& e : exhibits()) {
    if (e.id == id) return true;
  }
  return false;
}

// Published configurations that have no job.
void write_missing(std::ostream& out) {
  std::string missing;
  for (const LeftOut& l : published().left_out) {
    const bool is_configuration = l.use == "config-only" || l.why.starts_with("model not in the zoo");
    if (is_configuration && !is_exhibited(l.id)) missing += " " + l.id;
  }
  if (!missing.empty()) out << "\nLeft out, as the model is not in the zoo:" << missing << ".\n";
}

TEST(Gallery, IsOnThePageAsItIsPredicted) {
  std::ostringstream table;
  write_rows(table);
  write_missing(table);
  test::expect_on_page(kGalleryPage, "<!-- gallery: begin -->\n", "<!-- gallery: end -->\n", table.str());
}

// One source of truth: a point's job is one of the gallery, and a job without a point says that nothing was measured.
TEST(Gallery, HasTheJobOfEveryPointAndNoOther) {
  std::size_t points = 0;
  for (const Exhibit& e : exhibits()) {
    points += e.measured.size();
    if (!e.measured.empty()) continue;
    EXPECT_TRUE(e.id.starts_with("cfg-")) << e.id;
    const auto& out = published().left_out;
    EXPECT_TRUE(std::any_of(out.begin(), out.end(), [&](const LeftOut& l) { return l.id == e.id; })) << e.id;
  }
  EXPECT_EQ(points, published().points.size());
}

// What its own source says of the configuration, however it was converted.
TEST(Gallery, PlansHaveTheDegreesOfTheirSource) {
  struct Degrees {
    const char* job;
    std::int64_t t, p, r, m, g;
  };
  for (const Degrees& d :
       {Degrees{"cfg-gpt3-175b-pod256", 64, 1, 4, 1, 32}, Degrees{"cfg-gpt3-2p7b-2dtp-pod64", 16, 1, 4, 1, 128},
        Degrees{"cfg-gpt3-2p7b-pod64", 8, 1, 8, 1, 64}, Degrees{"cfg-gptj-6b-pod64", 16, 1, 4, 1, 32},
        Degrees{"cfg-bertL128-phased-pod16", 1, 1, 16, 8, 16}, Degrees{"cfg-gpt2m-pod16", 1, 8, 2, 1, 4096},
        Degrees{"cfg-gpt2m-pod64", 1, 8, 8, 1, 1024}, Degrees{"cfg-gpt2l-pod16", 1, 16, 1, 1, 8192},
        Degrees{"cfg-gpt2l-sl512-pod16", 1, 8, 2, 1, 4096}}) {
    const Job job = load_job(data_folder() + "/jobs/gallery/" + d.job + ".json");
    EXPECT_EQ(job.pins.tensor_parallel.at(0).size(), d.t) << d.job;
    EXPECT_EQ(job.pins.pipeline_stages->values.at(0), d.p) << d.job;
    EXPECT_EQ(job.pins.replicas->values.at(0), d.r) << d.job;
    EXPECT_EQ(job.pins.micro_batch->values.at(0), d.m) << d.job;
    EXPECT_EQ(job.pins.gradient_accumulation->values.at(0), d.g) << d.job;
    EXPECT_EQ(job.global_batch, d.r * d.m * d.g) << d.job;
  }
}

}  // namespace
}  // namespace superstep
