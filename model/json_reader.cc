// SPDX-License-Identifier: Apache-2.0
#include "model/json_reader.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/error.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr int kMaximumDepth = 200;

// Follows the parser to know where it is, and refuses what nlohmann accepts in silence: a key that
// comes twice (the last one wins there), and nesting that other readers of the file cannot take.
class StrictParse {
 public:
  explicit StrictParse(std::string name) : name_(std::move(name)) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      count_element();
      if (depth >= kMaximumDepth) {
        throw Error(here(), "nested deeper than " + std::to_string(kMaximumDepth) + " levels");
      }
      open_.push_back({event == Event::object_start, {}, "", -1});
    } else if (event == Event::object_end || event == Event::array_end) {
      open_.pop_back();
    } else if (event == Event::key) {
      open_.back().key = parsed.get<std::string>();
      if (!open_.back().keys.insert(open_.back().key).second) throw Error(here(), "this key comes twice");
    } else {
      count_element();
    }
    return true;
  }

 private:
  struct Level {
    bool is_object;
    std::set<std::string> keys;
    std::string key;
    std::int64_t index;
  };
  void count_element() {
    if (!open_.empty() && !open_.back().is_object) ++open_.back().index;
  }
  std::string here() const {
    std::string place = name_ + "#";
    for (const Level& level : open_)
      place += "/" + (level.is_object ? pointer_token(level.key) : std::to_string(level.index));
    return place;
  }

  std::string name_;
  std::vector<Level> open_;
};

// "[json.exception.parse_error.101] parse error at line 1, ..." without the bracket, kept to one line.
std::string plain_message(const std::string& what) {
  const std::size_t bracket = what.find("] ");
  std::string message = bracket == std::string::npos ? what : what.substr(bracket + 2);
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message.size() > 240 ? message.substr(0, 240) + "..." : message;
}

std::string read_text(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw Error(path, "is a folder, expected a JSON file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path, std::string("cannot be read: ") + std::strerror(errno));
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) throw Error(path, "cannot be read");
  return text.str();
}

std::string integer_range(std::int64_t low, std::int64_t high) {
  if (high == std::numeric_limits<std::int64_t>::max()) return "an integer of at least " + std::to_string(low);
  return "an integer from " + std::to_string(low) + " to " + std::to_string(high);
}

std::string number_range(double low, double high) {
  std::ostringstream out;
  out << "a number from " << low << " to " << high;
  return out.str();
}

}  // namespace

json parse_json_text(std::string_view text, const std::string& name) {
  try {
    return json::parse(text, StrictParse(name));
  } catch (const json::parse_error& e) {
    throw Error(name + " at byte " + std::to_string(e.byte), plain_message(e.what()));
  } catch (const json::exception& e) {
    throw Error(name, plain_message(e.what()));
  }
}

json parse_json_file(const std::string& path) { return parse_json_text(read_text(path), path); }

std::string describe(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= 40) return text;
  std::size_t cut = 40;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // not inside a UTF-8 character
  return text.substr(0, cut) + "...";
}

std::optional<std::int64_t> whole_number(const json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  constexpr double kExact = 9007199254740992.0;  // 2^53: beyond, a double no longer says which integer
  if (!(std::abs(number) <= kExact) || number != std::floor(number)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string pointer_token(std::string_view key) {
  std::string out;
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

JsonReader::JsonReader(const json& value, std::string file, std::string pointer)
    : value_(&value), file_(std::move(file)), pointer_(std::move(pointer)) {
  if (!value.is_object()) throw Error(here(), "expected an object, found " + describe(value));
}

bool JsonReader::has(std::string_view key) { return raw_or_null(key) != nullptr; }

const json& JsonReader::raw(std::string_view key) {
  const json* found = raw_or_null(key);
  if (found == nullptr) {
    const std::string name(key);
    throw Error(here(), "the key \"" + name + "\" is missing" + misspelt({&name, 1}));
  }
  return *found;
}

const json* JsonReader::raw_or_null(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  const auto found = value_->find(std::string(key));
  return found == value_->end() ? nullptr : &*found;
}

JsonReader JsonReader::object(std::string_view key) {
  return JsonReader(raw(key), file_, pointer_ + "/" + pointer_token(key));
}

std::vector<JsonReader> JsonReader::objects(std::string_view key) {
  const json& list = raw(key);
  if (!list.is_array()) fail(key, "found " + describe(list) + ", expected a list");
  std::vector<JsonReader> readers;
  for (std::size_t i = 0; i < list.size(); ++i)
    readers.emplace_back(list[i], file_, pointer_ + "/" + pointer_token(key) + "/" + std::to_string(i));
  return readers;
}

std::string JsonReader::text(std::string_view key) {
  const json& value = raw(key);
  if (!value.is_string()) fail(key, "expected a text, found " + describe(value));
  return value.get<std::string>();
}

std::string JsonReader::text_or(std::string_view key, std::string fallback) {
  return has(key) ? text(key) : std::move(fallback);
}

std::string JsonReader::name(std::string_view key, std::span<const std::string> valid) {
  std::string found = text(key);
  if (std::find(valid.begin(), valid.end(), found) == valid.end()) {
    fail(key, "unknown name " + describe(raw(key)) + name_hint(found, valid));
  }
  return found;
}

std::string JsonReader::name_or(std::string_view key, std::span<const std::string> valid, std::string fallback) {
  return has(key) ? name(key, valid) : std::move(fallback);
}

std::int64_t JsonReader::integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const json& value = raw(key);
  const std::optional<std::int64_t> number = whole_number(value);
  if (!number || *number < low || *number > high) {
    fail(key, "expected " + integer_range(low, high) + ", found " + describe(value));
  }
  return *number;
}

std::int64_t JsonReader::integer_or(std::string_view key, std::int64_t low, std::int64_t high, std::int64_t fallback) {
  return has(key) ? integer(key, low, high) : fallback;
}

double JsonReader::number(std::string_view key, double low, double high) {
  const json& value = raw(key);
  const double number = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (!(number >= low && number <= high)) {  // written so that NaN fails
    fail(key, "expected " + number_range(low, high) + ", found " + describe(value));
  }
  return number;
}

double JsonReader::number_or(std::string_view key, double low, double high, double fallback) {
  return has(key) ? number(key, low, high) : fallback;
}

bool JsonReader::boolean_or(std::string_view key, bool fallback) {
  const json* value = raw_or_null(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) fail(key, "expected true or false, found " + describe(*value));
  return value->get<bool>();
}

std::string JsonReader::at(std::string_view key) const { return here() + "/" + pointer_token(key); }
std::string JsonReader::here() const { return file_ + "#" + pointer_; }
void JsonReader::fail(std::string_view key, const std::string& message) const { throw Error(at(key), message); }

std::string JsonReader::misspelt(std::span<const std::string> missing) const {
  for (const auto& [key, value] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;  // a name of its own
    const std::string meant = nearest_name(key, missing);
    if (!meant.empty()) return " (did you mean \"" + meant + "\" by \"" + key + "\"?)";
  }
  return "";
}

void JsonReader::finish() const {
  for (const auto& [key, value] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
      fail(key, "unknown key" + name_hint(key, asked_));
    }
  }
}

}  // namespace superstep
