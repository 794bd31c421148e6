// SPDX-License-Identifier: Apache-2.0
#include "planner/report/idle_numbers.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "model/error.h"

namespace superstep {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// Returns a value times a factor: a number, a text that begins with one, or an object with a value; none for others.
std::optional<json> scaled(const json& value, double factor) {
  if (value.is_boolean()) return json(!value.get<bool>());
  if (value.is_number_integer())
    return json(std::max<std::int64_t>(1, static_cast<std::int64_t>(value.get<double>() * factor)));
  if (value.is_number()) return json(value.get<double>() * factor);
  if (!value.is_string()) return std::nullopt;
  const std::string text = value;
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    return std::nullopt;  // a name
  }
  return json(json(number * factor).dump() + text.substr(end));
}

void numbers_of(const json& value, const Pointer& at, std::vector<Pointer>& out) {
  if (value.is_object() && !value.contains("value")) {
    for (const auto& [key, inner] : value.items()) numbers_of(inner, at / key, out);
  } else {
    out.push_back(value.is_object() ? at / "value" : at);
  }
}

// True if the plan is as fast and as large with another value of a number.
bool is_same_with(Tables& tables, const Evaluated& e, const Pointer& at, const json& value) {
  json given = tables.job().json();
  given[at] = value;
  try {
    const Job job = read_again(tables.job(), given);
    const CostModel model(job.machine, tables.model().calibration());
    Tables changed(job, model, tables);
    const Evaluated other = evaluate_in_full(changed, e.plan);
    return other.step_seconds == e.step_seconds && other.tile_peak == e.tile_peak &&
           other.ddr_per_ipu == e.ddr_per_ipu && other.overflows.empty() == e.overflows.empty();
  } catch (const Error&) {
    return false;  // it makes the machine, or the plan, impossible
  }
}

}  // namespace

std::vector<std::string> idle_numbers(Tables& tables, const Evaluated& e) {
  const Pointer overrides("/machine/override");
  const json& job = tables.job().json();
  std::vector<Pointer> numbers;
  if (job.at("machine").is_object() && job.contains(overrides)) numbers_of(job.at(overrides), overrides, numbers);
  std::vector<std::string> out;
  for (const Pointer& at : numbers) {
    bool idle = true;
    for (const double factor : {0.5, 2.0}) {
      const std::optional<json> value = scaled(job.at(at), factor);
      idle = idle && value && is_same_with(tables, e, at, *value);
    }
    if (idle) out.push_back(at.back() == "value" ? at.parent_pointer().to_string() : at.to_string());
  }
  return out;
}

}  // namespace superstep
