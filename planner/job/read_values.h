// SPDX-License-Identifier: Apache-2.0
// Readers of pinned values as a job writes them. All throw Error with the place, the value found and the values
// expected.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/error.h"
#include "model/json_reader.h"
#include "planner/job/job.h"

namespace superstep {

inline constexpr std::int64_t kMostInteger = 1'000'000'000;

template <class E>
using Names = std::vector<std::pair<std::string, E>>;

// Reads a value of an enumeration by its name.
template <class E>
E read_name(const nlohmann::json& v, const std::string& where, const Names<E>& names) {
  std::vector<std::string> valid;
  for (const auto& [name, value] : names) valid.push_back(name);
  if (!v.is_string()) throw Error(where, "found " + describe(v) + ", expected a name" + name_hint("", valid));
  for (const auto& [name, value] : names) {
    if (name == v.get<std::string>()) return value;
  }
  throw Error(where, "found " + describe(v) + name_hint(v.get<std::string>(), valid));
}

// Reads a name or a list of names.
template <class E>
std::vector<E> read_names(JsonReader& r, const char* key, const Names<E>& names) {
  const nlohmann::json& v = r.raw(key);
  std::vector<E> out;
  if (!v.is_array()) return {read_name(v, r.at(key), names)};
  if (v.empty()) throw Error(r.at(key), "found an empty list, expected at least one value");
  for (std::size_t i = 0; i < v.size(); ++i) out.push_back(read_name(v[i], r.at(key) + "/" + std::to_string(i), names));
  return out;
}

// Reads an integer from `low` to `high`, both included.
std::int64_t read_whole(const nlohmann::json& v, const std::string& where, std::int64_t low, std::int64_t high);

// Reads an integer, a list of integers, or a range.
IntegerPin read_integer_pin(JsonReader& r, const char* key, std::int64_t low = 1, std::int64_t most = kMostInteger);

// Reads a list of integers of at least 0. `expected` describes the list in the error message.
std::vector<std::int64_t> read_counts(const nlohmann::json& v, const std::string& where, const std::string& expected,
                                      std::int64_t least = 0);

// Reads a list of ascending integers that begins with 0.
std::vector<std::int64_t> read_ascending(const nlohmann::json& v, const std::string& where);

// Reads a value, or a list of which the first element is returned. All elements are checked; each is searched as a job
// part (space/job_parts.h). `read` takes a value and its place.
template <class Read>
auto read_first(const nlohmann::json& v, const std::string& where, const Read& read) {
  if (!v.is_array()) return read(v, where);
  if (v.empty()) throw Error(where, "found an empty list, expected at least one value");
  auto first = read(v[0], where + "/0");
  for (std::size_t i = 1; i < v.size(); ++i) read(v[i], where + "/" + std::to_string(i));
  return first;
}

// Reads a cut, or a list of cuts of which the first is returned. A cut is itself a list, hence the separate function.
template <class Read>
auto read_first_cut(const nlohmann::json& v, const std::string& where, const Read& read) {
  return is_list_of_cuts(v) ? read_first(v, where, read) : read(v, where);
}

}  // namespace superstep
