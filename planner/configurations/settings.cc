// SPDX-License-Identifier: Apache-2.0
#include "planner/configurations/settings.h"

#include "model/error.h"
#include "model/json_reader.h"

namespace superstep {

using nlohmann::json;

const json* Settings::find(const std::string& path) {
  asked_.insert(path);
  const json* at = &keys_;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto it = at->find(path.substr(begin, end - begin));
    if (!at->is_object() || it == at->end() || it->is_null()) return nullptr;
    at = &*it;
    begin = end + 1;
  }
  return at;
}

void Settings::fail(const std::string& path, const std::string& message) const {
  throw Error(place_ + (path.empty() ? "" : ", " + path), message);
}

namespace {

constexpr std::int64_t kMost = 1'000'000'000;

std::int64_t whole(const Settings& settings, const std::string& path, const json& v, std::int64_t least) {
  const std::optional<std::int64_t> out = whole_number(v);
  if (!out || *out < least || *out > kMost)
    settings.fail(path, "found " + describe(v) + ", expected an integer of at least " + std::to_string(least));
  return *out;
}

}  // namespace

std::int64_t Settings::integer(const std::string& path) {
  const json* v = find(path);
  if (v == nullptr) fail(path, "is absent, expected an integer; give it with --set " + path + "=VALUE");
  return whole(*this, path, *v, 1);
}

std::int64_t Settings::integer(const std::string& path, std::int64_t fallback, std::int64_t least) {
  const json* v = find(path);
  return v != nullptr ? whole(*this, path, *v, least) : fallback;
}

double Settings::number(const std::string& path, double fallback) {
  const json* v = find(path);
  if (v == nullptr) return fallback;
  if (!v->is_number()) fail(path, "found " + describe(*v) + ", expected a number");
  return v->get<double>();
}

bool Settings::boolean(const std::string& path, bool fallback) {
  const json* v = find(path);
  if (v == nullptr) return fallback;
  if (v->is_boolean()) return v->get<bool>();
  for (const auto& [text, value] : {std::pair{"True", true}, {"False", false}}) {
    if (*v == text) return value;
  }
  fail(path, "found " + describe(*v) + ", expected true or false");
}

std::string Settings::text(const std::string& path, const std::string& fallback) {
  const json* v = find(path);
  if (v == nullptr) return fallback;
  return v->is_string() ? v->get<std::string>() : v->dump();
}

std::vector<double> Settings::numbers(const std::string& path) {
  const json* v = find(path);
  if (v == nullptr) return {};
  std::vector<double> out;
  for (const json& x : v->is_array() ? *v : json::array({*v})) {
    if (!x.is_number()) fail(path, "found " + describe(x) + ", expected numbers");
    out.push_back(x.get<double>());
  }
  return out;
}

std::vector<std::int64_t> Settings::integers(const std::string& path, std::int64_t least) {
  const json* v = find(path);
  if (v == nullptr) return {};
  std::vector<std::int64_t> out;
  for (const json& x : v->is_array() ? *v : json::array({*v})) out.push_back(whole(*this, path, x, least));
  return out;
}

std::vector<std::string> Settings::texts(const std::string& path) {
  const json* v = find(path);
  if (v == nullptr) return {};
  std::vector<std::string> out;
  for (const json& x : v->is_array() ? *v : json::array({*v})) {
    if (!x.is_string()) fail(path, "found " + describe(x) + ", expected texts");
    out.push_back(x);
  }
  return out;
}

void Settings::skip(std::initializer_list<const char*> paths) { asked_.insert(paths.begin(), paths.end()); }

namespace {

void collect(const json& keys, const std::string& above, const std::set<std::string>& asked,
             std::vector<std::string>& out) {
  for (const auto& [key, value] : keys.items()) {
    const std::string path = above.empty() ? key : above + "." + key;
    if (asked.count(path) > 0 || asked.count(path + ".*") > 0 || value.is_null()) continue;
    if (value.is_object())
      collect(value, path, asked, out);
    else
      out.push_back(path + " = " + describe(value));
  }
}

}  // namespace

std::vector<std::string> Settings::unread() const {
  std::vector<std::string> out;
  collect(keys_, "", asked_, out);
  return out;
}

void Draft::lacks(Settings& settings, const std::string& path, const std::string& why, const json& without) {
  const json* v = settings.find(path);
  if (v == nullptr || *v == without) return;
  lacks(path + " = " + describe(*v) + ": " + why);
}

void Draft::lacks(std::string what) {
  notes.push_back("no equal in a job: " + what);
  no_equal.push_back(std::move(what));
}

}  // namespace superstep
