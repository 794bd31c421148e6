// SPDX-License-Identifier: Apache-2.0
// The fields of a plan, a row each. Reading pins, writing a plan as JSON, reading one in full, `plan --space`, and the
// fields in which plans differ are derived from the rows. A test holds data/jobs/schema.json to them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// A value of a field: all of it, or one of its members.
struct PlanValue {
  std::string_view member;  // "weights" of "location"; empty: the whole field
  nlohmann::json (*get)(const Plan& plan);
  // Reads a pin: a value, a list or a range. `key`: where it is in `r`.
  void (*read)(JsonReader& r, const char* key, Pins& pins);
  // Sets the plan to the only value that a pin leaves. Throws Error at `where` unless there is one.
  void (*set)(const Pins& pins, const std::string& where, Plan& plan);
};

struct PlanField {
  // How the search finds its values: as part of a cell, from a list of a setting space, by cutting the model, as a
  // bound on temporary memory, or part by part of a job (space/job_parts.h).
  enum class Search : std::uint8_t { cell, setting, cut, bound, part };

  std::string_view name;     // its key in a job's "plan"
  std::string_view meaning;  // one line for readers
  Search search = Search::setting;
  int rank = 2;  // which differences of two plans a label names first: 0: of kind, 1: of storage, 2: of others
  std::vector<std::string_view> choices;  // the names that it or its members may have, in order; empty: numbers
  std::vector<PlanValue> values;          // one for each member
  // Reads the pin of a field that may also be written otherwise than by its members; null: as they are.
  void (*read_whole)(JsonReader& plan, Pins& pins) = nullptr;
  // Completes what the members said and throws Error where they contradict each other; null: they cannot.
  void (*check)(JsonReader& members, Pins& pins) = nullptr;
  bool is_short_form = false;       // another way to pin a field: plans have no such key
  bool is_one_if_equal = false;     // a plan writes one value where all members have the same value
  bool is_of_phases_alone = false;  // `plan --space` lists the field only where there are phases

  bool has_members() const { return values.size() > 1; }
};

// Returns all of them, in the order in which pins are read and `plan --space` prints them.
const std::vector<PlanField>& plan_fields();
// Returns the row of a field; null: there is none of that name.
const PlanField* find_plan_field(std::string_view name);

// Returns the field of a plan as JSON: a value, or an object of its members.
nlohmann::json value_of(const PlanField& field, const Plan& plan);

// Throws Error for a pin that does not leave one value. `found`: what it leaves.
[[noreturn]] void not_one_value(const std::string& where, const char* found);

// Returns the plan whose fields all have one pinned value. Throws Error at `where`, below /plan, for any other pins.
Plan plan_of(const Pins& pins, const std::string& where);

}  // namespace superstep
