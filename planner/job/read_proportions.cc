// SPDX-License-Identifier: Apache-2.0
#include "planner/job/read_proportions.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/error.h"

namespace superstep {
namespace {

constexpr double kLeastShare = 0.001;
constexpr const char* kField = "available_memory_proportion";
constexpr const char* kByStage = "stages";

ProportionRange read_range(JsonReader range) {
  const ProportionRange out{range.number_or("min", kLeastShare, 1, kLeastShare),
                            range.number_or("max", kLeastShare, 1, 1)};
  if (out.low > out.high)
    throw Error(range.at("min"), "min " + range.raw("min").dump() + " is above max " + range.raw("max").dump());
  range.finish();
  return out;
}

// Reads a list of shares. Every bound counts the same live tensors, `live`.
std::vector<Proportion> read_list(const nlohmann::json& v, const std::string& where, Live live) {
  if (v.empty()) throw Error(where, "found an empty list, expected a number or more");
  std::vector<Proportion> out;
  for (const auto& x : v) {
    if (!x.is_number() || !(x.get<double>() >= kLeastShare) || x.get<double>() > 1)
      throw Error(where, "found " + describe(x) + ", expected numbers from 0.001 to 1");
    out.emplace_back(x.get<double>(), live);
  }
  return out;
}

// Reads a bound that counts live tensors. The share is a value, a list, a range, or free.
void read_beside_live(JsonReader r, Pins& pins) {
  std::vector<std::string> names;
  for (const Live live : kLives) names.emplace_back(name_of(live));
  pins.live = static_cast<Live>(std::ranges::find(names, r.name("live", names)) - names.begin());
  constexpr const char* kShare = "proportion";
  if (r.has(kShare)) {
    if (r.raw(kShare).is_object())
      pins.proportion_range = read_range(r.object(kShare));
    else if (r.raw(kShare).is_array())
      pins.available_memory_proportion = read_list(r.raw(kShare), r.at(kShare), *pins.live);
    else
      pins.available_memory_proportion.emplace_back(r.number(kShare, kLeastShare, 1), *pins.live);
  }
  r.finish();
}

// Reads one bound per stage. Each bound is a number, or an object that also names the live tensors it counts.
void read_by_stage(JsonReader r, Pins& pins) {
  const nlohmann::json& list = r.raw(kByStage);
  const std::string where = r.at(kByStage);
  if (!list.is_array() || list.empty())
    throw Error(where, "found " + describe(list) + ", expected a list of a bound for each stage");
  const std::size_t hash = where.find('#');
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string pointer = where.substr(hash + 1) + "/" + std::to_string(i);
    Pins one;
    if (list[i].is_object())
      read_beside_live(JsonReader(list[i], where.substr(0, hash), pointer), one);
    else
      one.available_memory_proportion = read_list(nlohmann::json::array({list[i]}), where, Live::none);
    if (one.available_memory_proportion.size() != 1)
      throw Error(where + "/" + std::to_string(i), "found " + describe(list[i]) + ", expected one bound");
    pins.stage_proportions.push_back(one.available_memory_proportion[0]);
  }
  r.finish();
  pins.available_memory_proportion = {pins.stage_proportions[0]};
}

}  // namespace

void read_proportions(JsonReader& r, Pins& pins) {
  const nlohmann::json& v = r.raw(kField);
  if (is_by_stage(v)) return read_by_stage(r.object(kField), pins);
  if (v.is_object() && v.contains("live")) {
    read_beside_live(r.object(kField), pins);
  } else if (v.is_object()) {
    pins.proportion_range = read_range(r.object(kField));
  } else if (v.is_array()) {
    pins.available_memory_proportion = read_list(v, r.at(kField), Live::none);
  } else {
    pins.available_memory_proportion = {r.number(kField, kLeastShare, 1)};
  }
}

bool is_by_stage(const nlohmann::json& pin) { return pin.is_object() && pin.contains(kByStage); }

}  // namespace superstep
