// SPDX-License-Identifier: Apache-2.0
// The fields of a plan, one table row each. The rows drive reading pins, writing a plan as JSON, reading a plan in
// full, `plan --space`, and comparing plans. A test compares data/jobs/schema.json with the rows.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

// A value of a field: the whole field, or one of its members.
struct PlanValue {
  std::string_view member;  // "weights" of "location"; empty: the whole field
  // Returns the field's value in a plan; null for a short form, which plans do not have.
  nlohmann::json (*get)(const Plan& plan);
  // Reads a pin: a value, a list or a range. `key` is the key of the pin in `r`.
  void (*read)(JsonReader& r, const char* key, Pins& pins);
  // Sets the plan to the only value that the pins allow; null for a short form. Throws Error at `where` if the pins
  // allow none or several.
  void (*set)(const Pins& pins, const std::string& where, Plan& plan);
};

struct PlanField {
  // How the search finds the field's values:
  // * cell: as part of a cell.
  // * setting: from a list of a setting space.
  // * cut: by cutting the model.
  // * bound: as a bound on temporary memory.
  // * part: one job part for each value (space/job_parts.h).
  enum class Search : std::uint8_t { cell, setting, cut, bound, part };

  std::string_view name;     // the field's key in a job's "plan"
  std::string_view meaning;  // one line of help text
  Search search = Search::setting;
  // Order in which a label names the differences of two plans: 0: kind of plan, 1: storage, 2: anything else.
  int rank = 2;
  std::vector<std::string_view> choices;  // names that the field or its members may have, in order; empty: numbers
  std::vector<PlanValue> values;          // one per member
  // Reads a pin that stands for all members at once; null: the field is always written by members.
  void (*read_whole)(JsonReader& plan, Pins& pins) = nullptr;
  // Completes pins that were left out and throws Error if members contradict each other; null: members are independent.
  void (*check)(JsonReader& members, Pins& pins) = nullptr;
  bool is_short_form = false;       // another way to pin a field; plans have no such key
  bool is_one_if_equal = false;     // a plan writes one value if all members have the same value
  bool is_of_phases_alone = false;  // `plan --space` lists the field only if plans in phases exist

  bool has_members() const { return values.size() > 1; }
};

// Returns all rows, in the order in which pins are read and `plan --space` prints the fields.
const std::vector<PlanField>& plan_fields();
// Returns the row of a field; null if no field has this name.
const PlanField* find_plan_field(std::string_view name);

// Returns the field of a plan as JSON: a value, or an object with one key per member.
nlohmann::json value_of(const PlanField& field, const Plan& plan);

// Throws Error for a pin that does not leave exactly one value. `found` says how many values the pin leaves, for the
// message.
[[noreturn]] void not_one_value(const std::string& where, const char* found);

// Returns the plan whose fields all have one pinned value. For any other pins, throws Error with a pointer below
// `where`#/plan.
Plan plan_of(const Pins& pins, const std::string& where);

}  // namespace superstep
