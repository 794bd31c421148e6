// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON objects: every key must be consumed, every message carries the file and
// the JSON pointer, the value found and what was expected.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

// Parses a file (throws Error with the byte offset on a syntax error, or when it cannot be read;
// duplicate keys and nesting deeper than 200 are refused).
nlohmann::json parse_json_file(const std::string& path);
nlohmann::json parse_json_text(std::string_view text, const std::string& name);

// A cursor on one object. Call finish() once all known keys were asked for: a key nobody asked for
// is an Error that offers the nearest valid name.
class JsonReader {
 public:
  // `file` and `pointer` only serve messages; `value` must outlive the reader.
  JsonReader(const nlohmann::json& value, std::string file, std::string pointer = "");

  bool has(std::string_view key);                           // counts as asked for
  const nlohmann::json& raw(std::string_view key);          // required
  const nlohmann::json* raw_or_null(std::string_view key);  // nullptr when absent
  JsonReader object(std::string_view key);                  // required object
  std::vector<JsonReader> objects(std::string_view key);    // required list of objects

  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string fallback);
  // One of `valid`, else an Error with the nearest.
  std::string name(std::string_view key, std::span<const std::string> valid);
  std::string name_or(std::string_view key, std::span<const std::string> valid, std::string fallback);
  // An integer in [low, high]; 1.0 is accepted, 1.5, NaN, strings and 1e30 are not.
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::int64_t integer_or(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t fallback);
  double number(std::string_view key, double low, double high);
  double number_or(std::string_view key, double low, double high, double fallback);
  bool boolean_or(std::string_view key, bool fallback);

  std::string at(std::string_view key) const;  // "file#/pointer/key", for messages
  std::string here() const;                    // "file#/pointer"
  const nlohmann::json& value() const { return *value_; }
  [[noreturn]] void fail(std::string_view key, const std::string& message) const;
  void finish() const;
  // What a missing key was perhaps written as: " (did you mean \"zoo\" by \"zo\"?)"; empty: no key is near.
  std::string misspelt(std::span<const std::string> missing) const;

 private:
  const nlohmann::json* value_;
  std::string file_, pointer_;
  std::vector<std::string> asked_;
};

// How a JSON value looks in a message: `"abc"`, `3.5`, `an object`, `null`; cut at 40 characters.
std::string describe(const nlohmann::json& value);
// The integer that a JSON number stands for (1.0 is 1), if it is exactly one.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);
// A key as a step of a JSON pointer (RFC 6901): "~" and "/" are written "~0" and "~1".
std::string pointer_token(std::string_view key);

}  // namespace superstep
