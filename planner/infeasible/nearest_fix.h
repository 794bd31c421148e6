// SPDX-License-Identifier: Apache-2.0
// The smallest change of an infeasible job's pins and limits that gives a plan that fits: one field, else two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.h"

namespace superstep {

struct NearestFix {
  std::vector<std::string> fields;  // freed: "phases", "location.weights", "cuts", "limits.ipus"; empty: none found
  std::optional<Candidate> best;    // the fastest plan that fits with them freed
  std::int64_t spare = 0;           // bytes on its fullest tile
  bool on_fewer = false;            // it takes fewer IPUs than the machine has
  bool never = false;               // proved: no plan fits, whatever of them is freed
  // "phases = 37 fits with 12 KiB per tile to spare, at 782 samples/s"; empty: none found.
  std::string text() const;
};

// Of the changes of one field the fastest, by search; only when none fits, of two. Ends after half a minute, or the
// options' time limit, with what was found by then. `tables`: of the job, or of its part with most IPUs; what is
// tabulated there serves all trials.
NearestFix find_nearest_fix(const Tables& tables, const SearchOptions& options);

// A job's fields that can be freed; cuts (stages, their IPUs, phases) are one field.
struct FreedField {
  std::string name;
  std::vector<std::string> pointers;  // into the job
  bool several = false;               // several that are listed too: three places of memory and more
};
std::vector<FreedField> fields_to_free(const Job& job);

}  // namespace superstep
