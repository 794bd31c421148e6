// SPDX-License-Identifier: Apache-2.0
// The keys of one configuration, and the job that is made from them.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace superstep {

// Reads keys by dotted path: "execution.tensor_parallel". Remembers which keys were asked for. All throw Error with
// the place in the configuration for a value of another type.
class Settings {
 public:
  // `place`: the file and the configuration, for messages.
  Settings(nlohmann::json keys, std::string place) : keys_(std::move(keys)), place_(std::move(place)) {}

  const nlohmann::json* find(const std::string& path);  // null: absent, or null in the file
  bool has(const std::string& path) { return find(path) != nullptr; }
  // From `least` to a thousand million.
  std::int64_t integer(const std::string& path, std::int64_t fallback, std::int64_t least = 1);
  std::int64_t integer(const std::string& path);  // throws Error if absent
  double number(const std::string& path, double fallback);
  bool boolean(const std::string& path, bool fallback);
  std::string text(const std::string& path, const std::string& fallback);
  std::vector<double> numbers(const std::string& path);  // one number is a list of one; empty: absent
  std::vector<std::int64_t> integers(const std::string& path, std::int64_t least = 0);
  std::vector<std::string> texts(const std::string& path);

  [[noreturn]] void fail(const std::string& path, const std::string& message) const;
  // Keys that mean nothing to a plan: data, schedules of rates, logs. "x.*" stands for all below x.
  void skip(std::initializer_list<const char*> paths);
  // Returns "key = value" of all keys that nothing has asked for.
  std::vector<std::string> unread() const;

 private:
  nlohmann::json keys_;
  std::string place_;
  std::set<std::string> asked_;
};

// A job in the making.
struct Draft {
  nlohmann::json job = {{"plan", nlohmann::json::object()}};
  std::vector<std::string> notes;     // assumptions, and what the job cannot say, in the order met
  std::vector<std::string> no_equal;  // those of the notes that name a key without an equal in a job

  nlohmann::json& model() { return job["model"]; }
  nlohmann::json& plan() { return job["plan"]; }
  bool one_phase_per_layer = false;  // stages and phases are to be set: one for each layer and for what is around them
  void note(std::string text) { notes.push_back(std::move(text)); }
  // Notes what no job can express.
  void lacks(std::string what);
  // Notes a key that no job can express, if the configuration has it with another value than `without`.
  void lacks(Settings& settings, const std::string& path, const std::string& why,
             const nlohmann::json& without = nullptr);
};

}  // namespace superstep
