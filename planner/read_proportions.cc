// SPDX-License-Identifier: Apache-2.0
#include "planner/read_proportions.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model/error.h"

namespace superstep {
namespace {

constexpr double kLeastShare = 0.001;
constexpr const char* kByWork = "by_work";

ProportionRange read_range(JsonReader range) {
  const ProportionRange out{range.number_or("min", kLeastShare, 1, kLeastShare),
                            range.number_or("max", kLeastShare, 1, 1)};
  if (out.low > out.high)
    throw Error(range.at("min"), "min " + range.raw("min").dump() + " is above max " + range.raw("max").dump());
  range.finish();
  return out;
}

// A value or a range for kinds of work; the others are free.
ByWork<ProportionRange> read_proportions_by_work(JsonReader works) {
  ByWork<ProportionRange> out(ProportionRange{kLeastShare, 1});
  for (const Work w : kWorks) {
    const std::string name(name_of(w));
    if (!works.has(name)) continue;
    if (works.raw(name).is_object()) {
      out[w] = read_range(works.object(name));
    } else {
      out[w].low = out[w].high = works.number(name, kLeastShare, 1);
    }
  }
  works.finish();
  return out;
}

// Numbers, all of which count the same live tensors.
std::vector<Proportions> read_list(JsonReader& r, const char* key, Live live) {
  const nlohmann::json& v = r.raw(key);
  if (v.empty()) throw Error(r.at(key), "found an empty list, expected a number or more");
  std::vector<Proportions> out;
  for (const auto& x : v) {
    if (!x.is_number() || !(x.get<double>() >= kLeastShare) || x.get<double>() > 1)
      throw Error(r.at(key), "found " + describe(x) + ", expected numbers from 0.001 to 1");
    out.emplace_back(x.get<double>(), live);
  }
  return out;
}

// Of bounds that count live tensors: a value, a list, a range, or free.
void read_beside_live(JsonReader r, Pins& pins) {
  const std::array<std::string, kLives.size()> names{std::string(name_of(Live::none)), std::string(name_of(Live::unit)),
                                                     std::string(name_of(Live::layer))};
  pins.live = static_cast<Live>(std::ranges::find(names, r.name("live", names)) - names.begin());
  constexpr const char* kShare = "proportion";
  if (r.has(kShare)) {
    if (r.raw(kShare).is_object())
      pins.proportion_ranges = ByWork(read_range(r.object(kShare)));
    else if (r.raw(kShare).is_array())
      pins.available_memory_proportion = read_list(r, kShare, *pins.live);
    else
      pins.available_memory_proportion.emplace_back(r.number(kShare, kLeastShare, 1), *pins.live);
  }
  r.finish();
}

}  // namespace

void read_proportions(JsonReader& r, Pins& pins) {
  constexpr const char* kField = "available_memory_proportion";
  const nlohmann::json& v = r.raw(kField);
  if (v == kByWork) {
    pins.proportions_by_work = true;
  } else if (v.is_object() && v.contains("live")) {
    read_beside_live(r.object(kField), pins);
  } else if (v.is_object() && !is_by_work(v)) {
    pins.proportion_ranges = ByWork(read_range(r.object(kField)));
  } else if (v.is_object()) {
    const ByWork<ProportionRange> ranges = read_proportions_by_work(r.object(kField));
    if (std::ranges::all_of(ranges.of, [](const ProportionRange& range) { return range.low == range.high; })) {
      Proportions& one = pins.available_memory_proportion.emplace_back();
      for (const Work w : kWorks) one[w] = ranges[w].low;
    } else {
      pins.proportion_ranges = ranges;
      pins.proportions_by_work = true;
    }
  } else if (v.is_array()) {
    pins.available_memory_proportion = read_list(r, kField, Live::none);
  } else if (v.is_string()) {
    throw Error(r.at(kField), "found " + describe(v) + ", expected a number, or \"by_work\"");
  } else {
    pins.available_memory_proportion = {r.number(kField, kLeastShare, 1)};
  }
}

bool is_by_work(const nlohmann::json& pin) { return pin == kByWork || (has_members(pin) && !pin.empty()); }

}  // namespace superstep
