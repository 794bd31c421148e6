// SPDX-License-Identifier: Apache-2.0
// Whether published plans fit by our accounting, and by how much: docs/results/published-plans.md is written from here.
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=PublishedPlans.*
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/data_folder.h"
#include "model/json_reader.h"
#include "model/machine/load_machine.h"
#include "model/quantity_text.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "planner/search/rank.h"
#include "planner/sweep/plan_job.h"
#include "planner/validate/validate.h"
#include "tests/planner/page.h"
#include "tests/planner/world.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::World;

struct Fitted {
  std::string label, fits;
  std::int64_t tile_peak = 0, limit = 0;
  std::int64_t margin() const { return limit - tile_peak; }
};

Fitted estimate(const json& job) {
  World world(job);
  const Evaluated e = evaluate_pinned(world.tables, 0);
  return {label(e.plan), e.fits, e.tile_peak, world.job.machine.chip.tile_memory.value};
}

// A plan that differs in one choice, which practitioners avoided.
struct Neighbour {
  std::string change;
  Fitted fitted;
};

struct PublishedPlan {
  std::string job;
  Fitted as_run;
  std::optional<Fitted> in_processor;  // the same with the optimizer's state in-processor; none: nothing to move
  std::optional<double> study_as_run, study_in_processor;  // KiB per tile to spare by the cost study
  std::vector<Neighbour> neighbours;
};

// The replica batch stays: more samples at a time, fewer times.
std::optional<Neighbour> next_micro_batch(json job) {
  json& plan = job["plan"];
  const std::int64_t now = plan["micro_batch"], batch = now * plan["gradient_accumulation"].get<std::int64_t>();
  std::int64_t next = now + 1;
  while (next <= batch && batch % next != 0) ++next;
  if (next > batch) return std::nullopt;
  plan["micro_batch"] = next;
  plan["gradient_accumulation"] = batch / next;
  return Neighbour{"micro-batch " + std::to_string(next) + " instead of " + std::to_string(now), estimate(job)};
}

std::vector<Neighbour> neighbours_of(const json& job) {
  std::vector<Neighbour> out;
  if (job["plan"].contains("phases")) return out;  // its weights and state cannot stay
  if (job["plan"]["location"]["optimizer_state"] != "in_processor") {
    json moved = job;
    moved["plan"]["location"]["optimizer_state"] = "in_processor";
    out.push_back({"state in-processor", estimate(moved)});
  }
  if (job["plan"]["recompute"] == "layer") {
    json coarse = job;
    coarse["plan"]["recompute"] = "stage";
    out.push_back({"one checkpoint per stage", estimate(coarse)});
  }
  if (std::optional<Neighbour> larger = next_micro_batch(job)) out.push_back(*larger);
  return out;
}

const std::vector<PublishedPlan>& published_plans() {
  static const std::vector<PublishedPlan> plans = [] {
    const json file = parse_json_file(SUPERSTEP_SOURCE "/tests/planner/study_memory.json");
    std::vector<PublishedPlan> all;
    for (const json& row : file.at("plans")) {
      PublishedPlan p;
      p.job = row.at("job");
      const json job = parse_json_file(data_folder() + "/jobs/" + p.job);
      p.as_run = estimate(job);
      p.neighbours = neighbours_of(job);
      for (const Neighbour& n : p.neighbours) {
        if (n.change == "state in-processor") p.in_processor = n.fitted;
      }
      const auto tiles = static_cast<double>(load_machine(job["machine"], "job").chip.tiles);
      const auto spare = [&](const char* key) -> std::optional<double> {
        if (row.at(key).is_null()) return std::nullopt;
        return (file.at("limit_mib").get<double>() - row.at(key).get<double>()) * 1024 / tiles;
      };
      p.study_as_run = spare("as_run_mib");
      if (p.in_processor) p.study_in_processor = spare("state_in_processor_mib");
      all.push_back(std::move(p));
    }
    return all;
  }();
  return plans;
}

std::string study_text(const std::optional<double>& kib) {
  return kib ? std::to_string(std::lround(*kib)) : std::string("-");
}

bool over_in_processor(const PublishedPlan& p) { return p.in_processor && p.in_processor->fits == "does_not_fit"; }

std::string share_text(const Fitted& f) {
  char text[16];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * static_cast<double>(f.margin()) / static_cast<double>(f.limit));
  return text;
}

// What the plans' neighbours come to.
void write_neighbours(std::ostream& out) {
  std::map<std::string, std::int64_t> verdicts;
  out << "\n## Neighbours that were avoided\n\nThe same plans with one other choice: the optimizer's state on the "
         "tiles, "
         "one recompute checkpoint per stage instead\nof one per layer, and the next micro-batch that the replica's "
         "batch allows. Practitioners had reasons to avoid them; by\nour accounting that is memory where the fit says "
         "`does_not_fit` or `tight` (less than 5 % to spare).\n\n"
         "| plan | neighbour | fit | fullest tile | bytes | to spare | of a tile "
         "|\n|---|---|---|---:|---:|---:|---:|\n";
  for (const PublishedPlan& p : published_plans()) {
    for (const Neighbour& n : p.neighbours) {
      ++verdicts[n.fitted.fits];
      out << "| " << fs::path(p.job).stem().string() << " | " << n.change << " | " << n.fitted.fits << " | "
          << kib(n.fitted.tile_peak) << " | " << with_thousands(n.fitted.tile_peak) << " | " << kib(n.fitted.margin())
          << " | " << share_text(n.fitted) << " |\n";
    }
  }
  out << "\nOf " << verdicts["fits"] + verdicts["tight"] + verdicts["does_not_fit"] << " neighbours "
      << verdicts["does_not_fit"] << " do not fit, " << verdicts["tight"] << " are tight, and " << verdicts["fits"]
      << " would fit by our accounting with more to spare.\n";
}

// Transformers that were trained, with a figure that was measured: what is recommended if nothing is pinned but types.
struct Rival {
  std::string job;
  Measured measured;  // of the plan that was run
  double modelled;    // samples per second of that plan
  PlannedJob recommended;
};

const std::vector<Rival>& rivals() {
  static const std::vector<Rival> all = [] {
    std::vector<Rival> out;
    for (const char* id : {"mlperf11-bert-pod16-thr", "mlperf11-bert-pod64-thr", "page-bertL128-bow16-popart",
                           "page-bertL384-bow16-popart", "epcc-bertB128-bow4", "caraml-gpt2s-pod4-gb1024"}) {
      const auto& points = test::published().points;
      const auto point = std::ranges::find(points, id, &PublishedPoint::id);
      const Job job = read_job(point->job, point->job_file);
      SearchOptions options;
      options.top = 1;
      options.pareto = options.find_fix = false;
      out.push_back({point->run, point->measured, predict(*point, nullptr).samples_per_second,
                     plan_job(read_job(free_job(job), job.source), options)});
    }
    return out;
  }();
  return all;
}

void write_rivals(std::ostream& out) {
  out << "\n## What is recommended, beside what was run\n\nThe same questions with nothing pinned but number formats "
         "(`superstep plan`). Rates are samples or packs a second.\n\n"
         "| job | measured | modelled | recommended | modelled | over the run plan | fits with | not validated "
         "|\n|---|---:|---:|---|---:|---:|---:|---|\n";
  for (const Rival& r : rivals()) {
    const PlannedJob& p = r.recommended;
    std::string unmeasured;
    for (const std::string& name : p.not_validated) unmeasured += (unmeasured.empty() ? "" : ", ") + name;
    char gain[16];
    std::snprintf(gain, sizeof gain, "%+.1f %%", 100 * (p.samples_per_second / r.modelled - 1));
    out << "| " << r.job << " | " << figure(r.measured.value) << " | " << figure(r.modelled) << " | " << label(p.plan)
        << " | " << figure(p.samples_per_second) << " | " << gain << " | " << percent(p.fit_probability) << " | "
        << (unmeasured.empty() ? "-" : unmeasured) << " |\n";
  }
}

std::string page() {
  std::ostringstream out;
  out << "# Published plans: do they fit?\n\n"
         "You see whether plans that Graphcore and others published and ran fit by our accounting, and by how much.\n"
         "Columns are KiB to spare on the fullest tile of 624; negative: over. \"State in-processor\" is the same "
         "plan\n"
         "with the optimizer's state on the tiles instead of in Streaming Memory. \"Study\" is what the project's "
         "cost\n"
         "study gives, as a mean over tiles.\n\n"
         "Written by `SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter='PublishedPlans.*'`; one "
         "plan:\n"
         "`superstep estimate data/jobs/gallery/JOB.json`, several: `superstep compare data/jobs/gallery/JOB.json "
         "...`.\n\n"
         "| job | plan | fit | fullest tile | to spare | study | state in-processor: to spare | study |\n"
         "|---|---|---|---:|---:|---:|---:|---:|\n";
  for (const PublishedPlan& p : published_plans()) {
    out << "| [" << fs::path(p.job).stem().string() << "](../../data/jobs/" << p.job << ") | " << p.as_run.label
        << " | " << p.as_run.fits << " | " << kib(p.as_run.tile_peak) << " | " << kib(p.as_run.margin()) << " | "
        << study_text(p.study_as_run) << " | " << (p.in_processor ? kib(p.in_processor->margin()) : "-") << " | "
        << study_text(p.study_in_processor) << " |\n";
  }
  const auto moved = std::count_if(published_plans().begin(), published_plans().end(),
                                   [](const PublishedPlan& p) { return p.in_processor.has_value(); });
  const auto had_to = std::count_if(published_plans().begin(), published_plans().end(), over_in_processor);
  out << "\nThe study takes the whole available memory proportion as used, where we count what the chosen tile plans\n"
         "need. It guesses code at 20 % of a tile, where we count vertex, exchange and control code. It averages over\n"
         "tiles, where we take the fullest.\n\n"
         "The study explains every choice of Streaming Memory by an overflow. By our accounting "
      << had_to << " of " << moved
      << " such plans\nwould not fit with their state in-processor. Of the others, v1.1 ran with a first moment in "
         "fp16: 6 bytes of\nstate per parameter, where the study took 8. For the rest our count may be too small.\n";
  write_neighbours(out);
  write_rivals(out);
  return out.str();
}

// Every one of them ran.
TEST(PublishedPlans, Fit) {
  for (const PublishedPlan& p : published_plans())
    EXPECT_TRUE(p.as_run.fits == "fits" || p.as_run.fits == "tight") << p.job << " over by " << -p.as_run.margin();
}

// Why they keep their state in Streaming Memory, where our accounting says so too.
TEST(PublishedPlans, WouldNotFitWithTheirStateInProcessor) {
  const std::set<std::string> expected = {"gallery/mlperf10-bert-pod16.json", "gallery/page-bertL128-bow16-popart.json",
                                          "gallery/epcc-bertB128-bow4.json"};
  for (const PublishedPlan& p : published_plans()) {
    if (!expected.contains(p.job)) continue;
    EXPECT_TRUE(over_in_processor(p)) << p.job;
  }
}

// A checkpoint per layer keeps less alive than one per stage, and more samples at a time never need less.
TEST(PublishedPlans, NeighboursNeedMore) {
  for (const PublishedPlan& p : published_plans()) {
    for (const Neighbour& n : p.neighbours)
      EXPECT_GT(n.fitted.tile_peak, p.as_run.tile_peak) << p.job << ": " << n.change;
  }
}

// Only what was measured may carry a recommended plan more than 15 % beyond what was measured.
TEST(PublishedPlans, RecommendedOnesDoNotBetBeyondWhatWasMeasured) {
  for (const Rival& r : rivals()) {
    EXPECT_EQ(r.recommended.status, PlanStatus::planned) << r.job;
    EXPECT_GE(r.recommended.fit_probability, 0.95) << r.job;
    EXPECT_TRUE(r.recommended.not_validated.empty() || r.recommended.samples_per_second <= 1.15 * r.measured.value)
        << r.job;
  }
}

TEST(PublishedPlans, AreOnThePageAsTheyAreCounted) {
  test::expect_file(SUPERSTEP_SOURCE "/docs/results/published-plans.md", page());
}

}  // namespace
}  // namespace superstep
