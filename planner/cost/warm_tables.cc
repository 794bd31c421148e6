// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/warm_tables.h"

#include <algorithm>
#include <vector>

#include "model/machine/load_machine.h"

namespace superstep {

WarmTables::Lease WarmTables::lease(const Job& job) {
  const std::string key = tables_key(job);
  const auto known = std::ranges::find(entries_, key, &Entry::key);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front({key, subject_key(job), make(job)});
    forget_oldest();
  }
  const Lease& kept = entries_.front().kept;
  return {kept.model, std::make_unique<Tables>(job, *kept.tables)};
}

WarmTables::Lease WarmTables::make(const Job& job) const {
  auto model = std::make_shared<const CostModel>(job.machine, load_calibration(job.machine.calibration));
  const std::string graphs = graph_key(job);
  const auto other =
      std::ranges::find_if(entries_, [&](const Entry& e) { return graph_key(e.kept.tables->job()) == graphs; });
  auto tables = other != entries_.end() ? std::make_unique<Tables>(job, *model, *other->kept.tables)
                                        : std::make_unique<Tables>(job, *model, true, cache_);
  return {std::move(model), std::move(tables)};
}

void WarmTables::forget_oldest() {
  std::vector<std::string> subjects;  // subjects to keep, the latest first
  std::erase_if(entries_, [&](const Entry& e) {
    if (std::ranges::find(subjects, e.subject) != subjects.end()) return false;
    if (subjects.size() == most_) return true;
    subjects.push_back(e.subject);
    return false;
  });
}

}  // namespace superstep
