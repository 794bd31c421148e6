// SPDX-License-Identifier: Apache-2.0
#include "planner/configurations/read_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "model/error.h"
#include "model/json_reader.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr int kMostLevels = 200;
constexpr std::int64_t kMostValues = 1'000'000;

// Returns the value of an unquoted text: null, true or false, a number, or the text.
json typed(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  const char* first = text.data() + (text[0] == '+' ? 1 : 0);
  const char* last = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto [end, error] = std::from_chars(first, last, integer); error == std::errc() && end == last)
    return integer;
  double number = 0;
  const bool is_number = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (const auto [end, error] = std::from_chars(first, last, number); is_number && error == std::errc() && end == last)
    return number;
  return text;
}

class Converter {
 public:
  explicit Converter(std::string name) : name_(std::move(name)) {}

  json convert(const YAML::Node& node, int level) {
    if (level > kMostLevels) fail(node, "nested deeper than " + std::to_string(kMostLevels) + " levels");
    if (++values_ > kMostValues) fail(node, "aliases unfold into more than " + std::to_string(kMostValues) + " values");
    if (node.IsScalar()) return node.Tag() == "!" ? json(node.Scalar()) : typed(node.Scalar());
    if (node.IsSequence()) {
      json out = json::array();
      for (const YAML::Node& item : node) out.push_back(convert(item, level + 1));
      return out;
    }
    return node.IsMap() ? mapping(node, level) : json();
  }

 private:
  std::string name_;
  std::int64_t values_ = 0;

  [[noreturn]] void fail(const YAML::Node& node, const std::string& message) const {
    throw Error(name_ + ":" + std::to_string(node.Mark().line + 1), message);
  }

  json mapping(const YAML::Node& node, int level) {
    json out = json::object(), merged = json::object();
    for (const auto& pair : node) {
      if (!pair.first.IsScalar()) fail(pair.first, "found a key that is no text, expected a name");
      const std::string key = pair.first.Scalar();
      json value = convert(pair.second, level + 1);
      if (out.contains(key) && out[key] != value)
        fail(pair.first, "found key \"" + key + "\" a second time with another value, expected it once");
      if (key != "<<") {
        out[key] = std::move(value);
        continue;
      }
      for (const json& from : value.is_array() ? value : json::array({value})) {
        if (!from.is_object()) fail(pair.second, "found " + describe(from) + " to merge, expected a mapping");
        for (const auto& [k, v] : from.items()) {
          if (!merged.contains(k)) merged[k] = v;
        }
      }
    }
    for (auto& [k, v] : merged.items()) {
      if (!out.contains(k)) out[k] = std::move(v);
    }
    return out;
  }
};

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!std::filesystem::is_regular_file(path) || !in) throw Error(path, "cannot be read, expected a file of YAML");
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

json parse_yaml(const std::string& text, const std::string& name) {
  try {
    return Converter(name).convert(YAML::Load(text), 0);
  } catch (const YAML::Exception& e) {
    throw Error(name + ":" + std::to_string(e.mark.line + 1), "found no YAML (" + e.msg + ")");
  }
}

json read_configuration_file(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".yml" || ending == ".yaml" ? parse_yaml(text_of_file(path), path) : parse_json_file(path);
}

json parse_flags(std::string_view command) {
  std::vector<std::string> words;
  std::istringstream in{std::string(command)};
  for (std::string word; in >> word;) words.push_back(word);
  const auto script = std::ranges::find_if(words, [](const std::string& w) { return w.ends_with(".py"); });
  json out = json::object();
  std::string key;
  for (auto it = script == words.end() ? words.begin() : script + 1; it != words.end(); ++it) {
    std::string word = *it;
    if (word.starts_with("--")) {
      const std::size_t equals = word.find('=');
      key = word.substr(2, equals == std::string::npos ? equals : equals - 2);
      std::ranges::replace(key, '-', '_');
      out[key] = true;
      if (equals == std::string::npos) continue;
      word = word.substr(equals + 1);
    }
    if (key.empty()) continue;
    const bool quoted = word.size() > 1 && (word[0] == '\'' || word[0] == '"') && word.back() == word[0];
    json value = quoted ? json(word.substr(1, word.size() - 2)) : typed(word);
    json& at = out[key];
    if (at.is_array())
      at.push_back(std::move(value));
    else
      at = at == true ? std::move(value) : json::array({at, std::move(value)});
  }
  return out;
}

}  // namespace superstep
