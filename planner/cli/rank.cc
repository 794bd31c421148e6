// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/rank.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/cuts/search_budget.h"
#include "planner/report/evaluated.h"
#include "planner/search/part_search.h"
#include "planner/space/job_parts.h"

namespace superstep {

using namespace nlohmann::literals;

void check_same_question(const Job& free, const Job& pinned) {
  auto differ = [&](const std::string& pointer, const nlohmann::json::json_pointer& at) {
    const auto of = [&](const Job& job) {
      nlohmann::json value = job.json().contains(at) ? job.json().at(at) : nlohmann::json();
      if (value.is_object()) value.erase("sequences_per_pack");  // says what a rate means, and changes no plan
      return value;
    };
    const nlohmann::json mine = of(pinned), theirs = of(free);
    if (mine == theirs) return;
    throw Error(pinned.source + "#" + pointer, "found " + mine.dump() + ", expected " + theirs.dump() + " as in " +
                                                   free.source +
                                                   ": a plan is ranked among the plans of the same question");
  };
  for (const char* pointer : {"/model", "/machine", "/optimizer", "/batch"})
    differ(pointer, nlohmann::json::json_pointer(pointer));
  const std::vector<Job> parts = job_parts(free);
  const auto same = [&](const Job& part) { return part.pins.precision == pinned.pins.precision; };
  if (std::ranges::none_of(parts, same)) differ("/plan/precision", "/plan/precision"_json_pointer);
  if (free.task != pinned.task)
    throw Error(pinned.source + "#/task", "found another task than in " + free.source + ", expected the same");
}

Ranked rank_pinned(const Job& job, const Outcome& free, const std::string& pinned_path, const OutcomeOptions& options,
                   const CommonOptions& common, WarmTables& warm) {
  OutcomeOptions estimate = options;
  estimate.estimate = true;
  const Outcome pinned = solve(pinned_path, estimate, common);
  const Evaluated* shown = pinned.shown();
  if (shown == nullptr) throw Error(pinned_path + "#/plan", "the pinned plan is not legal");
  SearchOptions search_options;
  search_options.top = 1;
  search_options.threads = common.threads;
  search_options.progress = progress_of(common);
  Ranked out{pinned_path, label(shown->plan), shown->fits, 0, {}};
  const double seconds = step_seconds(*pinned.tables, shown->plan);
  const TimeLeft left(options.time_limit);
  for (const Job& part : job_parts(job)) {
    const WarmTables::Lease lease = warm.lease(part);
    search_options.time_limit = left.seconds();
    search_options.work_limit = work_limit_with(options.time_limit);
    const Rank in_part = rank(*lease.tables, shown->plan.global_batch(), seconds, search_options);
    out.rank.samples_per_second = in_part.samples_per_second;
    out.rank.faster += in_part.faster;
    out.rank.undecided += in_part.undecided;
    out.rank.of += in_part.of;
  }
  clear_progress(common);
  if (!free.search.best.empty()) out.best = free.search.best[0].samples_per_second;
  return out;
}

std::string sentence(const Ranked& r) {
  const auto count = [](double v) { return with_thousands(static_cast<std::int64_t>(v)); };
  const std::string name = std::filesystem::path(r.job).stem().string();
  std::string text = "rank of " + name + " (" + r.label + (r.fits == "does_not_fit" ? ", does not fit" : "") + "): ";
  text += "number " + count(r.rank.faster + 1);
  if (!r.rank.exact()) text += " to " + count(r.rank.faster + r.rank.undecided + 1);
  text += "; of " + count(r.rank.of) + " kinds of plan, " + count(r.rank.faster) + " have one faster than its " +
          figure(r.rank.samples_per_second) + " samples/s by the tables";
  if (!r.rank.exact()) text += ", " + count(r.rank.undecided) + " may have one";
  if (r.best > 0) text += "; the best is " + figure(r.best / r.rank.samples_per_second) + " times as fast";
  return text;
}

nlohmann::json to_json(const Ranked& r) {
  const auto whole = [](double v) { return static_cast<std::int64_t>(v); };
  return {{"job", r.job},
          {"label", r.label},
          {"fits", r.fits},
          {"samples_per_second", r.rank.samples_per_second},
          {"best_samples_per_second", r.best},
          {"faster", whole(r.rank.faster)},
          {"undecided", whole(r.rank.undecided)},
          {"of", whole(r.rank.of)},
          {"exact", r.rank.exact()}};
}

}  // namespace superstep
