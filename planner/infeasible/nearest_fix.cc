// SPDX-License-Identifier: Apache-2.0
#include "planner/infeasible/nearest_fix.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cost/warm_tables.h"
#include "planner/cuts/search_budget.h"
#include "planner/job/read_proportions.h"
#include "planner/search/part_search.h"
#include "planner/space/job_parts.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

using Pointer = nlohmann::json::json_pointer;

class FixFinder {
 public:
  FixFinder(const Tables& tables, const SearchOptions& options)
      : tables_(tables), options_(options), job_(options.asked != nullptr ? *options.asked : tables.job()) {}

  NearestFix find() {
    const std::vector<FreedField> fields = fields_to_free(job_);
    bool proved = false;  // proof for the last field tried: no plan fits with the field freed
    for (const FreedField& f : fields) {
      if (!f.several || !fix_.best) proved = try_free({&f});
    }
    if (fix_.best || fields.empty()) return std::move(fix_);
    std::vector<const FreedField*> all;
    for (const FreedField& f : fields) all.push_back(&f);
    fix_.never = fields.size() == 1 ? proved : proved_infeasible(all);
    if (fix_.never) return std::move(fix_);
    for (std::size_t a = 0; a < fields.size(); ++a) {
      for (std::size_t b = a + 1; b < fields.size() && fields.size() > 2; ++b) {
        if (!fields[a].several && !fields[b].several) try_free({&fields[a], &fields[b]});
      }
    }
    return std::move(fix_);
  }

 private:
  const Tables& tables_;
  const SearchOptions& options_;
  const Job& job_;
  WarmTables own_;  // used if the options have no warm tables
  const TimeLeft time_{options_.time_limit};
  std::int64_t work_left_ = kBudget.fix_work;
  NearestFix fix_;

  bool is_over() const { return work_left_ <= 0 || (options_.time_limit > 0 && time_.used() >= options_.time_limit); }

  struct Trial {
    std::optional<Candidate> best;
    bool proved = false;  // no plan fits
  };

  // Searches the job without the freed pins. Returns none if the job is not legal without the pins, or if time is up.
  std::optional<Trial> search_without(const std::vector<const FreedField*>& freed, const std::string& what) {
    if (is_over()) return std::nullopt;
    if (options_.progress) options_.progress(0.95, what);
    nlohmann::json relaxed = job_.json();
    for (const FreedField* f : freed) {
      for (const std::string& p : f->pointers) {
        const Pointer at(p);
        if (relaxed.contains(at)) relaxed.at(at.parent_pointer()).erase(at.back());
      }
    }
    try {
      const Job job = read_job(relaxed, job_.source);
      check_batch(job);
      return search_parts(job);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  WarmTables::Lease tables_of(const Job& part) {
    if (tables_key(part) == tables_key(tables_.job())) return {nullptr, std::make_unique<Tables>(part, tables_)};
    return (options_.warm != nullptr ? *options_.warm : own_).lease(part);
  }

  Trial search_parts(const Job& job) {
    const std::vector<Job> parts = options_.asked != nullptr ? job_parts(job) : std::vector{job};
    std::vector<WarmTables::Lease> leases;
    std::vector<Tables*> tables;
    for (const Job& part : parts) tables.push_back(leases.emplace_back(tables_of(part)).tables.get());
    SearchOptions options;
    options.top = 1;
    options.pareto = options.find_fix = false;
    options.threads = options_.threads;
    options.stop = options_.stop;
    options.time_limit = time_.seconds();
    options.work_limit = std::min(kBudget.fix_work_per_trial, work_left_);
    options.at_least = fix_.best ? score(job_, *fix_.best) : 0;
    PartSearch search(job, parts.size(), options);
    search.search(tables);
    std::vector<std::optional<Candidate>> found(parts.size());
    search.finish([&](std::size_t i, const SearchResult& of_part) {
      if (!of_part.best.empty()) found[i] = of_part.best[0];
    });
    Trial out;
    for (std::optional<Candidate>& c : found) {
      if (c && (!out.best || score(job_, *c) > score(job_, *out.best))) out.best = std::move(c);
    }
    out.proved = !out.best && search.stats().optimal;
    work_left_ -= std::max(kBudget.fix_trial, search.stats().work);
    return out;
  }

  // Tries a fix and keeps a better plan. Returns true if no plan fits with the fields freed, by proof.
  bool try_free(const std::vector<const FreedField*>& freed) {
    std::string what;
    for (const FreedField* f : freed) what += (what.empty() ? "" : " and ") + f->name;
    std::optional<Trial> r = search_without(freed, "looking for the nearest fix: freeing " + what);
    if (!r || !r->best) return r && r->proved;
    if (fix_.best && score(job_, *r->best) <= score(job_, *fix_.best)) return false;
    fix_.best = std::move(r->best);
    fix_.spare = job_.machine.chip.tile_memory.value - fix_.best->estimate.tile_peak;
    fix_.on_fewer = fix_.best->plan.ipus() < job_.machine.ipus;
    fix_.fields.clear();
    for (const FreedField* f : freed) fix_.fields.push_back(f->name);
    return false;
  }

  // True if no plan fits with all fields freed, by proof. Then no two fields can help.
  bool proved_infeasible(const std::vector<const FreedField*>& all) {
    const std::optional<Trial> r = search_without(all, "looking for the nearest fix: freeing every pin");
    return r && r->proved;
  }
};

std::string counted(std::size_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

// Returns the value of a freed field in the plan. For a limit the value is the amount that the plan uses.
std::string value_of(const std::string& field, const Candidate& best) {
  const Plan& plan = best.plan;
  if (field == "limits.ipus") return std::to_string(plan.ipus());
  if (field == "limits.ddr_bytes_per_ipu") return std::to_string(best.estimate.ddr);
  if (field == "cuts") return counted(plan.phases.size(), "phase") + ", " + counted(plan.stages.size(), "stage");
  const nlohmann::json all = to_json(plan);
  std::string path = "/" + field;
  std::replace(path.begin(), path.end(), '.', '/');
  return all.contains(Pointer(path)) ? all.at(Pointer(path)).dump() : "free";
}

}  // namespace

std::string NearestFix::text() const {
  if (never) return "none: no plan fits this machine, whatever of the pins and limits is freed";
  if (!best) return "";
  std::string what;
  for (const std::string& f : fields) what += (what.empty() ? "" : " and ") + f + " = " + value_of(f, *best);
  return what + (fields.size() == 1 ? " fits with " : " fit with ") + std::to_string(spare / 1024) +
         " KiB per tile to spare, at " + figure(best->samples_per_second) + " samples/s" +
         (on_fewer ? " on " + counted(static_cast<std::size_t>(best->plan.ipus()), "IPU") : "");
}

NearestFix find_nearest_fix(const Tables& tables, const SearchOptions& options) {
  return FixFinder(tables, options).find();
}

std::vector<FreedField> fields_to_free(const Job& job) {
  std::vector<FreedField> fields;
  if (const auto limits = job.json().find("limits"); limits != job.json().end()) {
    for (const auto& [key, value] : limits->items()) fields.push_back({"limits." + key, {"/limits/" + key}});
  }
  const auto plan = job.json().find("plan");
  if (plan == job.json().end()) return fields;
  // Stages, phases and all values given per stage are one field: the cuts.
  FreedField cuts{"cuts", {}};
  for (const char* key : {"stages", "layers_per_stage", "stage_ipu", "phases"}) {
    if (plan->contains(key)) cuts.pointers.push_back("/plan/" + std::string(key));
  }
  const std::string proportion = "available_memory_proportion";
  if (is_by_stage(plan->value(proportion, nlohmann::json()))) {
    fields.push_back({proportion, {"/plan/" + proportion}});
    cuts.pointers.push_back("/plan/" + proportion);
  }
  if (!cuts.pointers.empty()) fields.push_back(cuts);
  std::vector<FreedField> groups;
  for (const auto& [key, value] : plan->items()) {
    const std::string at = "/plan/" + key;
    if (std::find(cuts.pointers.begin(), cuts.pointers.end(), at) != cuts.pointers.end()) continue;
    if (!has_members(value)) {
      fields.push_back({key, {at}});
      continue;
    }
    for (const auto& [member, pin] : value.items()) fields.push_back({key + "." + member, {at + "/" + member}});
    if (value.size() > 2) groups.push_back({key, {at}, true});
  }
  std::ranges::move(groups, std::back_inserter(fields));
  return fields;
}

}  // namespace superstep
