// SPDX-License-Identifier: Apache-2.0
#include "model/machine/machine_file.h"

#include <algorithm>
#include <filesystem>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kJobLabel = "job";

// A value with its source, as opposed to a section of such values.
bool is_leaf(const json& value) {
  return value.is_object() && (value.contains("value") || value.contains("source") || value.contains("conflict"));
}

// Values that name or list things: they need no source.
bool is_unsourced(const std::string& pointer) {
  return pointer == "/title" || pointer == "/calibration" || pointer == "/plannable" || pointer == "/chip/name" ||
         pointer == "/baselines";
}

std::vector<std::string> base_names(const json& file, const std::string& path) {
  if (!file.contains("base")) return {};
  const json& base = file["base"];
  std::vector<std::string> names;
  for (const json& name : base.is_array() ? base : json::array({base})) {
    if (!name.is_string())
      throw Error(path + "#/base", "expected a machine name or a list of them, found " + describe(name));
    names.push_back(name.get<std::string>());
  }
  return names;
}

std::string source_text(JsonReader& leaf, std::string_view key) {
  const std::string text = leaf.text(key);
  if (text.find_first_not_of(' ') == std::string::npos) leaf.fail(key, "is empty, expected where the value is from");
  return text;
}

// Below the folder of machines, bases such as "chips/bow" are named too.
std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& file : fs::recursive_directory_iterator(folder, failed)) {
    if (file.path().extension() == ".json") {
      names.push_back(fs::relative(file.path(), folder).replace_extension().generic_string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string machine_path(const std::string& name, const std::string& from, const std::string& where) {
  if (name.ends_with(".json")) {
    const fs::path beside = fs::path(from).parent_path() / name;
    if (fs::exists(beside)) return beside.string();
    if (fs::exists(name)) return name;
    throw Error(where, "no machine file \"" + name + "\"");
  }
  const fs::path folder = fs::path(data_folder()) / "machines";
  const std::vector<std::string> names = names_below(folder);
  if (names.empty()) throw Error(folder.string(), "no machine files here; SUPERSTEP_DATA may name the data folder");
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::vector<std::string> listed = machine_names();
    const bool near = !nearest_name(name, names).empty();
    throw Error(where, "unknown machine " + describe(name) + name_hint(name, near ? names : listed));
  }
  return (folder / (name + ".json")).string();
}

void SourcedValues::add_file(const std::string& path, const std::string& label) {
  if (std::find(reading_.begin(), reading_.end(), path) != reading_.end()) {
    throw Error(path + "#/base", "the bases lead back to this file");
  }
  reading_.push_back(path);
  const json file = parse_json_file(path);
  if (!file.is_object()) throw Error(path + "#", "expected an object, found " + describe(file));
  for (const std::string& base : base_names(file, path)) add_file(machine_path(base, path, path + "#/base"), base);
  add(file, "", path, "", label);
  last_file_ = path;
  reading_.pop_back();
}

void SourcedValues::add_job(const json& override_object, const std::string& where) {
  const std::size_t hash = where.find('#');
  const std::string file = where.substr(0, hash);
  const std::string prefix = hash == std::string::npos ? "" : where.substr(hash + 1);
  if (!override_object.is_object()) throw Error(where, "expected an object, found " + describe(override_object));
  add(override_object, "", file, prefix, std::string(kJobLabel));
}

void SourcedValues::add(const json& object, const std::string& pointer, const std::string& file,
                        const std::string& prefix, const std::string& label) {
  const bool from_file = label != kJobLabel;
  for (const auto& [key, value] : object.items()) {
    const std::string here = pointer + "/" + pointer_token(key);
    if (here == "/base" && from_file) continue;
    Entry entry{value, "", "", label, file + "#" + prefix + here, false};
    if (is_leaf(value)) {
      JsonReader leaf(value, file, prefix + here);
      entry.value = leaf.raw("value");
      entry.source = source_text(leaf, "source");
      entry.conflict = leaf.has("conflict") ? source_text(leaf, "conflict") : "";
      entry.sourced = true;
      leaf.finish();
    } else if (value.is_object() && !value.empty()) {
      add(value, here, file, prefix, label);
      continue;
    } else if (!from_file && !is_unsourced(here)) {
      entry.source = kJobLabel;
      entry.sourced = true;
    }
    entries_[here] = std::move(entry);
  }
}

const SourcedValues::Entry& SourcedValues::ask(const std::string& pointer) {
  if (std::find(asked_.begin(), asked_.end(), pointer) == asked_.end()) asked_.push_back(pointer);
  const auto found = entries_.find(pointer);
  if (found == entries_.end()) fail_missing(pointer);
  return found->second;
}

void SourcedValues::fail_missing(const std::string& pointer) const {
  std::vector<std::string> present;
  for (const auto& [other, entry] : entries_) {
    if (std::find(asked_.begin(), asked_.end(), other) == asked_.end()) present.push_back(other);
  }
  // A mistyped key is what makes a value go missing most often; only one in the same section can be meant.
  const std::string near = nearest_name(pointer, present);
  const std::string section = pointer.substr(0, pointer.rfind('/') + 1);
  if (!near.empty() && near.rfind('/') + 1 == section.size() && near.starts_with(section)) {
    throw Error(place_of(near), "unknown key (did you mean " + pointer + "?)");
  }
  throw Error(last_file_, "the value " + pointer + " is missing, here and in its bases");
}

const SourcedValues::Entry& SourcedValues::ask_sourced(const std::string& pointer) {
  const Entry& entry = ask(pointer);
  if (!entry.sourced) {
    throw Error(entry.place, "expected {\"value\": ..., \"source\": \"...\"}, found " + describe(entry.value));
  }
  const std::string text = entry.value.is_string() ? entry.value.get<std::string>() : entry.value.dump();
  rows_.push_back({pointer, text, entry.source, entry.conflict, entry.label});
  return entry;
}

std::string SourcedValues::quantity_text(const std::string& pointer, std::string_view example) {
  const Entry& entry = ask_sourced(pointer);
  if (!entry.value.is_string()) {
    throw Error(entry.place, "expected a text with a number and its unit, such as \"" + std::string(example) +
                                 "\", found " + describe(entry.value));
  }
  return entry.value.get<std::string>();
}

template <class Q>
Q SourcedValues::in_range(const std::string& pointer, Q found, Q low, Q high) const {
  if (found < low || found > high) {
    const Entry& entry = entries_.at(pointer);
    throw Error(entry.place, "expected " + to_text(low) + " to " + to_text(high) + ", found " + describe(entry.value));
  }
  return found;
}

// The upper bounds are some orders of magnitude above anything built or planned: what-if studies pass, slips do not.

std::int64_t SourcedValues::integer(const std::string& pointer, std::int64_t low, std::int64_t high) {
  const Entry& entry = ask_sourced(pointer);
  const std::optional<std::int64_t> number = whole_number(entry.value);
  if (!number || *number < low || *number > high) {
    throw Error(entry.place, "expected an integer from " + std::to_string(low) + " to " + std::to_string(high) +
                                 ", found " + describe(entry.value));
  }
  return *number;
}

double SourcedValues::fraction(const std::string& pointer) {
  const Entry& entry = ask_sourced(pointer);
  const double value = entry.value.is_number() ? entry.value.get<double>() : -1;
  if (!(value > 0 && value <= 1)) {
    throw Error(entry.place, "expected a number above 0 and up to 1, found " + describe(entry.value));
  }
  return value;
}

bool SourcedValues::boolean(const std::string& pointer) {
  const Entry& entry = ask_sourced(pointer);
  if (!entry.value.is_boolean()) throw Error(entry.place, "expected true or false, found " + describe(entry.value));
  return entry.value.get<bool>();
}

Bytes SourcedValues::bytes(const std::string& pointer, Bytes low) {
  const std::string found = quantity_text(pointer, "624 KiB");
  return in_range(pointer, parse_bytes(found, entries_.at(pointer).place), low, Bytes(1'000'000'000'000'000));
}

Cycles SourcedValues::cycles(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "200 cycles");
  return in_range(pointer, parse_cycles(found, entries_.at(pointer).place), Cycles(0), Cycles(1'000'000'000));
}

Seconds SourcedValues::seconds(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "1.5 us");
  return in_range(pointer, parse_seconds(found, entries_.at(pointer).place), Seconds(0), Seconds(1));
}

Hertz SourcedValues::hertz(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "1.85 GHz");
  return in_range(pointer, parse_hertz(found, entries_.at(pointer).place), Hertz(1e3), Hertz(1e12));
}

BytesPerSecond SourcedValues::rate(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "16 GB/s");
  return in_range(pointer, parse_bytes_per_second(found, entries_.at(pointer).place), BytesPerSecond(1),
                  BytesPerSecond(1e15));
}

BytesPerCycle SourcedValues::rate_per_cycle(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "4 B/cycle");
  return in_range(pointer, parse_bytes_per_cycle(found, entries_.at(pointer).place), BytesPerCycle(0.001),
                  BytesPerCycle(1e5));
}

Watts SourcedValues::watts(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "1.5 kW");
  return in_range(pointer, parse_watts(found, entries_.at(pointer).place), Watts(1e-3), Watts(1e11));
}

Dollars SourcedValues::dollars(const std::string& pointer) {
  const std::string found = quantity_text(pointer, "32450 USD");
  return in_range(pointer, parse_dollars(found, entries_.at(pointer).place), Dollars(1), Dollars(1e13));
}

std::string SourcedValues::text(const std::string& pointer) {
  const Entry& entry = ask(pointer);
  if (!entry.value.is_string() || entry.sourced) {
    throw Error(entry.place, "expected a text, found " + describe(entry.sourced ? json::object() : entry.value));
  }
  return entry.value.get<std::string>();
}

bool SourcedValues::flag_or(const std::string& pointer, bool fallback) {
  const json* value = raw_or_null(pointer);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) throw Error(place_of(pointer), "expected true or false, found " + describe(*value));
  return value->get<bool>();
}

const json* SourcedValues::raw_or_null(const std::string& pointer) {
  if (std::find(asked_.begin(), asked_.end(), pointer) == asked_.end()) asked_.push_back(pointer);
  const auto found = entries_.find(pointer);
  return found == entries_.end() ? nullptr : &found->second.value;
}

bool SourcedValues::has(const std::string& pointer) const {
  const auto below = entries_.lower_bound(pointer + "/");
  return entries_.contains(pointer) || (below != entries_.end() && below->first.starts_with(pointer + "/"));
}

std::string SourcedValues::place_of(const std::string& pointer) const {
  const auto found = entries_.find(pointer);
  return found == entries_.end() ? last_file_ : found->second.place;
}

namespace {

constexpr std::string_view kSlash = "~1";  // in a key, as JSON pointers have it

// "/chip/tiles": {"chip": {"tiles": ...}}
std::string nested(const std::string& pointer) {
  json value = "...";
  for (json::json_pointer at(pointer); !at.empty(); at.pop_back()) value = {{at.back(), value}};
  return value.dump();
}

}  // namespace

void SourcedValues::finish() const {
  for (const auto& [pointer, entry] : entries_) {
    if (std::find(asked_.begin(), asked_.end(), pointer) != asked_.end()) continue;
    const bool is_section = std::any_of(asked_.begin(), asked_.end(),
                                        [&](const std::string& asked) { return asked.starts_with(pointer + "/"); });
    if (is_section) throw Error(entry.place, "expected an object with values, found " + describe(entry.value));
    const std::string nearest = nearest_name(pointer, asked_);
    if (pointer.find(kSlash) != std::string::npos && !nearest.empty())
      throw Error(entry.place, "unknown key, values nest: " + nested(nearest));
    throw Error(entry.place, "unknown key" + (nearest.empty() ? "" : " (did you mean " + nearest + "?)"));
  }
}

}  // namespace superstep
