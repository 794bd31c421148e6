// SPDX-License-Identifier: Apache-2.0
#include "planner/read_proportions.h"

#include <algorithm>
#include <string>

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

}  // namespace

void read_proportions(JsonReader& r, Pins& pins) {
  constexpr const char* kField = "available_memory_proportion";
  const nlohmann::json& v = r.raw(kField);
  if (v == kByWork) {
    pins.proportions_by_work = true;
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
    if (v.empty()) throw Error(r.at(kField), "found an empty list, expected a number or more");
    for (const auto& x : v) {
      if (!x.is_number() || !(x.get<double>() >= kLeastShare) || x.get<double>() > 1)
        throw Error(r.at(kField), "found " + describe(x) + ", expected numbers from 0.001 to 1");
      pins.available_memory_proportion.emplace_back(x.get<double>());
    }
  } else if (v.is_string()) {
    throw Error(r.at(kField), "found " + describe(v) + ", expected a number, or \"by_work\"");
  } else {
    pins.available_memory_proportion = {r.number(kField, kLeastShare, 1)};
  }
}

bool is_by_work(const nlohmann::json& pin) {
  return pin == kByWork || (pin.is_object() && !pin.empty() && !pin.contains("min") && !pin.contains("max"));
}

}  // namespace superstep
