// SPDX-License-Identifier: Apache-2.0
#include "planner/job/read_values.h"

#include <nlohmann/json.hpp>

namespace superstep {

std::int64_t read_whole(const nlohmann::json& v, const std::string& where, std::int64_t low, std::int64_t high) {
  const nlohmann::json holder = {{"v", v}};
  JsonReader r(holder, "");
  try {
    return r.integer("v", low, high);
  } catch (const Error& e) {
    const std::string text = e.what();
    throw Error(where, text.substr(text.find(": ") == std::string::npos ? 0 : text.find(": ") + 2));
  }
}

IntegerPin read_integer_pin(JsonReader& r, const char* key, std::int64_t low, std::int64_t most) {
  const nlohmann::json& v = r.raw(key);
  IntegerPin pin;
  if (v.is_object()) {
    JsonReader range = r.object(key);
    pin.low = range.integer_or("min", low, most, low);
    pin.high = range.integer_or("max", low, most, most);
    range.finish();
    if (pin.low > pin.high)
      throw Error(r.at(key), "min " + std::to_string(pin.low) + " is above max " + std::to_string(pin.high));
    return pin;
  }
  if (v.is_array()) {
    if (v.empty()) throw Error(r.at(key), "found an empty list, expected at least one value");
    for (std::size_t i = 0; i < v.size(); ++i)
      pin.values.push_back(read_whole(v[i], r.at(key) + "/" + std::to_string(i), low, most));
  } else {
    pin.values.push_back(read_whole(v, r.at(key), low, most));
  }
  return pin;
}

std::vector<std::int64_t> read_counts(const nlohmann::json& v, const std::string& where, const std::string& expected,
                                      std::int64_t least) {
  if (!v.is_array() || v.empty()) throw Error(where, "found " + describe(v) + ", expected " + expected);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < v.size(); ++i)
    out.push_back(read_whole(v[i], where + "/" + std::to_string(i), least, kMostInteger));
  return out;
}

std::vector<std::int64_t> read_ascending(const nlohmann::json& v, const std::string& where) {
  const std::vector<std::int64_t> out = read_counts(v, where, "a list of first units, ascending from 0");
  for (std::size_t i = 1; i < out.size(); ++i) {
    if (out[i] <= out[i - 1])
      throw Error(where + "/" + std::to_string(i), "found " + std::to_string(out[i]) + " after " +
                                                       std::to_string(out[i - 1]) + ", expected ascending values");
  }
  if (out[0] != 0)
    throw Error(where + "/0",
                "found " + std::to_string(out[0]) + ", expected 0: the first one begins with the first unit");
  return out;
}

}  // namespace superstep
