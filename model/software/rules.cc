// SPDX-License-Identifier: Apache-2.0
#include "model/software/rules.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"

namespace superstep {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

fs::path software_folder() { return fs::path(data_folder()) / "software"; }

const json& fact_of(const PlanFacts& facts, const std::string& name) {
  const auto found = facts.find(name);
  if (found == facts.end()) throw Error("data/software", "found the fact \"" + name + "\", which plans do not have");
  return found->second;
}

// Returns the value that a condition's value stands for: the fact "replicas" for "$replicas".
const json& resolved(const json& value, const PlanFacts& facts) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  return text.starts_with('$') ? fact_of(facts, text.substr(1)) : value;
}

bool is_one_of(const json& found, const json& values, const PlanFacts& facts) {
  const auto equal = [&](const json& value) { return resolved(value, facts) == found; };
  return values.is_array() ? std::any_of(values.begin(), values.end(), equal) : equal(values);
}

bool is_multiple(double number, double of) { return of != 0 && std::fmod(number, of) == 0; }
bool is_power_of_two(double number) { return number >= 1 && std::exp2(std::floor(std::log2(number))) == number; }

// True if a number is within one limit of a condition.
bool is_within(double number, const std::string& limit, double bound) {
  if (limit == "min") return number >= bound;
  if (limit == "max") return number <= bound;
  if (limit == "multiple_of") return is_multiple(number, bound);
  return is_multiple(bound, number);  // divides
}

// True if a fact is as a condition says. A limit never holds for a fact that is no number.
bool holds(const json& condition, const json& found, const PlanFacts& facts) {
  if (!condition.is_object()) return is_one_of(found, condition, facts);
  for (const auto& [key, value] : condition.items()) {
    if (key == "not") {
      if (is_one_of(found, value, facts)) return false;
      continue;
    }
    if (!found.is_number()) return false;
    if (key == "power_of_two") {
      if (!is_power_of_two(found)) return false;
      continue;
    }
    const json& bound = resolved(value, facts);
    if (!bound.is_number() || !is_within(found, key, bound)) return false;
  }
  return true;
}

// Calls f(name) for each fact that a condition's values stand for, as long as it returns true. Returns false if it
// ended early.
template <class F>
bool for_facts_in(const json& condition, const F& f) {
  if (condition.is_structured()) {
    for (const json& inner : condition) {
      if (!for_facts_in(inner, f)) return false;
    }
    return true;
  }
  if (!condition.is_string()) return true;
  const auto& text = condition.get_ref<const std::string&>();
  return !text.starts_with('$') || f(text.substr(1));
}

// Returns the values joined by " or ", each once.
std::string joined(const json& values, const PlanFacts& facts) {
  std::vector<std::string> texts;
  for (const json& value : values) {
    std::string text = resolved(value, facts).dump();
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : " or ") + text;
  return out;
}

// Returns a pin that the condition accepts: `"weights": 4 or 1` for the fact "replicated_tensor_sharding.weights".
// Empty: the condition says only what is not accepted.
std::string pin_of(const std::string& fact, const json& condition, const PlanFacts& facts) {
  const std::string key = '"' + fact.substr(fact.rfind('.') + 1) + "\": ";
  if (condition.is_array()) return key + joined(condition, facts);
  if (!condition.is_object()) return key + joined(json::array({condition}), facts);
  std::string limits;
  const auto add = [&](const char* name, const char* words) {
    const auto limit = condition.find(name);
    if (limit != condition.end())
      limits += (limits.empty() ? "" : ", ") + std::string(words) + resolved(*limit, facts).dump();
  };
  add("min", "at least ");
  add("max", "at most ");
  add("multiple_of", "a multiple of ");
  add("divides", "a divisor of ");
  if (condition.contains("power_of_two")) limits += (limits.empty() ? "" : ", ") + std::string("a power of 2");
  return limits.empty() ? "" : key + limits;
}

std::string found_text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void check_conditions(const json& conditions, const std::string& where) {
  static const std::vector<std::string> known = {"min", "max", "multiple_of", "divides", "power_of_two", "not"};
  if (!conditions.is_object()) throw Error(where, "found " + describe(conditions) + ", expected conditions by fact");
  for (const auto& [fact, condition] : conditions.items()) {
    if (!condition.is_object()) continue;
    for (const auto& [key, value] : condition.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw Error(where + "/" + pointer_token(fact), "found \"" + key + "\"" + name_hint(key, known));
    }
  }
}

SoftwareRule read_rule(JsonReader& r) {
  SoftwareRule rule;
  rule.id = r.text("id");
  const json* when = r.raw_or_null("when");
  rule.when = when ? *when : json::object();
  rule.needs = r.raw("needs");
  check_conditions(rule.when, r.at("when"));
  check_conditions(rule.needs, r.at("needs"));
  if (rule.needs.empty()) r.fail("needs", "found no condition, expected one at least");
  rule.field = r.text_or("field", "");
  rule.why = r.text("why");
  rule.accept = r.text_or("accept", "");
  rule.source = r.text("source");
  rule.is_silent = r.boolean_or("silent", false);
  r.finish();
  return rule;
}

Software read_software(const std::string& name) {
  const std::vector<std::string> known = software_names();
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw Error("software", "found \"" + name + "\"" + name_hint(name, known));
  const std::string path = (software_folder() / (name + ".json")).string();
  const json file = parse_json_file(path);
  JsonReader r(file, path);
  Software out{.name = name, .title = r.text("title"), .version = r.text("version"), .rules = {}};
  out.is_launcher = r.boolean_or("is_launcher", false);
  const std::string base = r.text_or("runs_on", "");
  if (!base.empty()) out.rules = software(base).rules;
  std::vector<SoftwareRule> own;
  for (JsonReader& rule : r.objects("rules")) own.push_back(read_rule(rule));
  r.finish();
  std::erase_if(out.rules, [&](const SoftwareRule& rule) {
    return std::any_of(own.begin(), own.end(), [&](const SoftwareRule& o) { return o.id == rule.id; });
  });
  out.rules.insert(out.rules.end(), own.begin(), own.end());
  return out;
}

}  // namespace

std::vector<std::string> software_names() {
  std::vector<std::string> out;
  std::error_code failed;
  for (const auto& file : fs::directory_iterator(software_folder(), failed)) {
    if (file.path().extension() == ".json") out.push_back(file.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> framework_names() {
  std::vector<std::string> out = software_names();
  std::erase_if(out, [](const std::string& name) { return software(name).is_launcher; });
  return out;
}

const Software& software(const std::string& name) {
  static std::recursive_mutex mutex;  // a software reads the one that it runs on
  static std::map<std::string, Software> read;
  std::lock_guard lock(mutex);
  const auto known = read.find(name);
  return known != read.end() ? known->second : read.emplace(name, read_software(name)).first->second;
}

std::vector<BrokenRule> broken_rules(const Software& software, const PlanFacts& facts) {
  std::vector<BrokenRule> out;
  for (const SoftwareRule& rule : software.rules) {
    const auto applies = [&](const auto& condition) {
      return holds(condition.value(), fact_of(facts, condition.key()), facts);
    };
    bool all = true;
    for (const auto& condition : rule.when.items()) all = all && applies(condition);
    if (!all) continue;
    for (const auto& [fact, condition] : rule.needs.items()) {
      const json& found = fact_of(facts, fact);
      if (holds(condition, found, facts)) continue;
      const std::string& field = rule.field.empty() ? fact : rule.field;
      const auto shown = facts.find(field);
      out.push_back({&rule, field, found_text(shown == facts.end() ? found : shown->second),
                     rule.accept.empty() ? pin_of(fact, condition, facts) : rule.accept});
    }
  }
  return out;
}

bool is_certainly_broken(const SoftwareRule& rule, const PlanFacts& some) {
  const auto certainly = [&](const auto& item, bool truth) {
    const auto found = some.find(item.key());
    return found != some.end() &&
           for_facts_in(item.value(), [&](const std::string& fact) { return some.contains(fact); }) &&
           holds(item.value(), found->second, some) == truth;
  };
  for (const auto& condition : rule.when.items()) {
    if (!certainly(condition, true)) return false;
  }
  for (const auto& condition : rule.needs.items()) {
    if (certainly(condition, false)) return true;
  }
  return false;
}

const SoftwareRule* certainly_broken(const Software& software, const PlanFacts& some) {
  for (const SoftwareRule& rule : software.rules) {
    if (is_certainly_broken(rule, some)) return &rule;
  }
  return nullptr;
}

bool asks_for(const SoftwareRule& rule, const std::string& fact) {
  for (const json* conditions : {&rule.when, &rule.needs}) {
    if (conditions->contains(fact)) return true;
    if (!for_facts_in(*conditions, [&](const std::string& name) { return name != fact; })) return true;
  }
  return false;
}

std::string to_text(const BrokenRule& broken) {
  return broken.field + " is " + broken.found + ", but " + broken.rule->why + " (" +
         (broken.accept.empty() ? "" : "pin " + broken.accept + "; ") + "rule " + broken.rule->id + ", " +
         broken.rule->source + ")";
}

}  // namespace superstep
