// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON objects. Every key must be asked for. Every error message names the file, the JSON pointer,
// the value found and what was expected.
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

// Parses a file. Throws Error when the file cannot be read, and with the byte offset on a syntax error. Duplicate keys
// and nesting deeper than 200 levels are errors too.
nlohmann::json parse_json_file(const std::string& path);
// Parses a text as parse_json_file() parses a file; `name` stands for the file in messages.
nlohmann::json parse_json_text(std::string_view text, const std::string& name);

// Reads the keys of one JSON object. Call finish() once all known keys were asked for. finish() throws Error, with the
// nearest valid name, if the object has another key.
class JsonReader {
 public:
  // `file` and `pointer` only serve messages. `value` must outlive the reader, and be an object: else throws Error.
  JsonReader(const nlohmann::json& value, std::string file, std::string pointer = "");

  bool has(std::string_view key);                           // true if the key is present; counts as asked for
  const nlohmann::json& raw(std::string_view key);          // the value; throws Error if absent
  const nlohmann::json* raw_or_null(std::string_view key);  // the value; null if absent
  JsonReader object(std::string_view key);                  // throws Error unless an object is there
  std::vector<JsonReader> objects(std::string_view key);    // throws Error unless a list of objects is there

  // The functions below return the value of the key, and throw Error on another type. For an absent key, functions
  // whose name ends with _or return `fallback`; the others throw Error.
  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string fallback);
  // A text that must be one of `valid`. The Error for another text offers the nearest valid name.
  std::string name(std::string_view key, std::span<const std::string> valid);
  std::string name_or(std::string_view key, std::span<const std::string> valid, std::string fallback);
  // An integer in [low, high]. The number 1.0 is accepted; 1.5, NaN, strings and 1e30 are not.
  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high);
  std::int64_t integer_or(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t fallback);
  // A number in [low, high].
  double number(std::string_view key, double low, double high);
  double number_or(std::string_view key, double low, double high, double fallback);
  bool boolean_or(std::string_view key, bool fallback);

  std::string at(std::string_view key) const;  // "file#/pointer/key", for messages
  std::string here() const;                    // "file#/pointer", for messages
  const nlohmann::json& value() const { return *value_; }
  // Throws Error at the place of the key.
  [[noreturn]] void fail(std::string_view key, const std::string& message) const;
  // Throws Error if the object has a key that was not asked for.
  void finish() const;
  // Returns a hint that a present key is a mistyped form of a missing key: " (did you mean \"zoo\" by \"zo\"?)". Empty:
  // no key that was not asked for is near.
  std::string misspelt(std::span<const std::string> missing) const;

 private:
  const nlohmann::json* value_;
  std::string file_, pointer_;
  std::vector<std::string> asked_;
};

// Returns a JSON value as shown in messages: `"abc"`, `3.5`, `an object`, `null`; cut at 40 bytes.
std::string describe(const nlohmann::json& value);
// Returns the integer that a JSON number stands for (1.0 is 1). None: another type, or no exact integer.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);
// Returns a key as a step of a JSON pointer (RFC 6901): "~" and "/" are written "~0" and "~1".
std::string pointer_token(std::string_view key);

}  // namespace superstep
