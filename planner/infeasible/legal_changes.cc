// SPDX-License-Identifier: Apache-2.0
#include "planner/infeasible/legal_changes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "model/error.h"
#include "planner/infeasible/legal_plan.h"
#include "planner/infeasible/nearest_fix.h"

namespace superstep {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

constexpr std::size_t kMostCells = 512;  // of a changed job that are looked at, nearest to the pinned value first
constexpr std::size_t kMostTold = 4;     // changes in a text

// Returns the value of a field in a plan; null for cuts, which are left out instead.
json value_in(const std::string& field, const Plan& plan) {
  if (field == "batch.global") return plan.global_batch();
  if (field == "limits.ipus" || field == "machine.partition") return plan.ipus();
  std::string path = "/" + field;
  std::ranges::replace(path, '.', '/');
  const json all = to_json(plan);
  return field != "cuts" && all.contains(Pointer(path)) ? all.at(Pointer(path)) : json();
}

// Returns how far a value is from the pinned one: the logarithm of their ratio; 0 for what are no numbers.
double distance(const json& pinned, const json& value) {
  if (!pinned.is_number() || !value.is_number()) return 0;
  return std::abs(std::log(value.get<double>() / std::max(1e-9, pinned.get<double>())));
}

class Finder {
 public:
  Finder(Tables& tables, bool defaults) : tables_(tables), defaults_(defaults) {}

  std::vector<LegalChange> find() {
    const json& job = tables_.job().json();
    if (plan_without({}, job)) return {};
    std::vector<FreedField> fields = fields_to_free(tables_.job());
    std::erase_if(fields, [](const FreedField& f) { return f.several; });
    for (const char* pointer : {"/batch/global", "/machine/partition"}) {
      const Pointer at(pointer);
      if (job.contains(at)) fields.push_back({at.parent_pointer().back() + "." + at.back(), {pointer}});
    }
    std::vector<LegalChange> out;
    for (const FreedField& f : fields) {
      if (auto change = change_of({&f})) out.push_back(std::move(*change));
    }
    for (std::size_t a = 0; a < fields.size() && out.empty(); ++a) {
      for (std::size_t b = a + 1; b < fields.size() && out.empty(); ++b) {
        if (auto change = change_of({&fields[a], &fields[b]})) out.push_back(std::move(*change));
      }
    }
    return out;
  }

 private:
  Tables& tables_;
  bool defaults_;

  std::optional<LegalChange> change_of(const std::vector<const FreedField*>& fields) {
    json job = tables_.job().json();
    for (const FreedField* f : fields) {
      for (const std::string& p : f->pointers) job.at(Pointer(p).parent_pointer()).erase(Pointer(p).back());
    }
    if (job.contains("batch") && job["batch"].empty()) job.erase("batch");
    const std::optional<Plan> plan = plan_without(fields, job);
    if (!plan) return std::nullopt;
    LegalChange out;
    for (const FreedField* f : fields) out.push_back({f->name, f->pointers, value_in(f->name, *plan)});
    return out;
  }

  // Returns a legal plan of a job without some pins, near the pinned values; none if there is none.
  std::optional<Plan> plan_without(const std::vector<const FreedField*>& fields, const json& given) {
    const json& pinned = tables_.job().json();
    const auto far = [&](const Cell& cell) {
      double sum = 0;
      for (const FreedField* f : fields)
        sum += distance(pinned.at(Pointer(f->pointers.front())), value_in(f->name, cell.plan()));
      return sum;
    };
    try {
      Job job = read_job(given, tables_.job().source);
      job.software = {kAnySoftware};
      const bool same = tables_key(job) == tables_key(tables_.job());
      Tables own = same ? Tables(job, tables_) : Tables(job, tables_.model());
      std::vector<Cell> all = cells(job, own.statistics_group(), defaults_);
      std::ranges::stable_sort(all, {}, far);
      if (all.size() > kMostCells) all.resize(kMostCells);
      return legal_plan(own, all, defaults_);
    } catch (const Error&) {
      return std::nullopt;
    }
  }
};

std::string text_of(const LegalChange& change) {
  std::string out;
  for (const ChangedPin& pin : change) {
    out += out.empty() ? "" : " and ";
    std::string names;
    for (const std::string& p : pin.pointers) names += (names.empty() ? "" : ", ") + Pointer(p).back();
    out += pin.value.is_null() ? "without " + names : "with " + pin.field + " = " + pin.value.dump();
  }
  return out;
}

}  // namespace

std::vector<LegalChange> legal_changes(Tables& tables, bool defaults) { return Finder(tables, defaults).find(); }

std::string legal_changes_text(Tables& tables, bool defaults) {
  const std::vector<LegalChange> changes = legal_changes(tables, defaults);
  std::string out;
  for (std::size_t i = 0; i < std::min(changes.size(), kMostTold); ++i)
    out += (out.empty() ? "; legal " : ", or ") + text_of(changes[i]);
  return out;
}

}  // namespace superstep
