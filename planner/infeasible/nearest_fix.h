// SPDX-License-Identifier: Apache-2.0
// The smallest change of an infeasible job's pins and limits with which a plan fits: one freed field, else two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace superstep {

struct NearestFix {
  std::vector<std::string> fields;  // freed: "phases", "location.weights", "cuts", "limits.ipus"; empty: none found
  std::optional<Candidate> best;    // the fastest plan that fits with the fields freed
  std::int64_t spare = 0;           // free bytes on the plan's fullest tile
  bool on_fewer = false;            // the plan uses fewer IPUs than the machine has
  bool never = false;               // proved: no plan fits, whichever pins and limits are freed
  // Returns "phases = 37 fits with 12 KiB per tile to spare, at 782 samples/s"; empty if no fix was found.
  std::string text() const;
};

// Frees one field at a time and searches for the fastest plan that fits. Frees two fields at a time only if no single
// field helps. Ends after a stated amount of work (kBudget.fix_work), or after the options' time limit, with the
// best fix found by then.
// `tables` belong to the job, or to its part with most IPUs; trials on the same part reuse the tabulated work.
NearestFix find_nearest_fix(const Tables& tables, const SearchOptions& options);

// A field of a job that can be freed. Cuts (stages, their IPUs, phases) are one field.
struct FreedField {
  std::string name;
  std::vector<std::string> pointers;  // JSON pointers into the job
  bool several = false;               // stands for at least three members that are also listed one by one
};
// Returns the job's limits and pins that can be freed. Fields with `several` come last.
std::vector<FreedField> fields_to_free(const Job& job);

}  // namespace superstep
