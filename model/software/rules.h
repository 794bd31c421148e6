// SPDX-License-Identifier: Apache-2.0
// What software that runs plans accepts (PopART, PopTorch, PopXL, ...): the rules of data/software/NAME.json, and
// which of them a plan breaks.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace superstep {

// Facts of a plan and its job by name: "replicas", "location.weights", "task" (plan_facts.h). Values are numbers,
// texts, true or false.
using PlanFacts = std::map<std::string, nlohmann::json>;

// One rule: plans for which all facts are as `when` says must have all facts as `needs` says.
//
// `when` and `needs` are objects with a condition by fact. A condition is a value, a list of which one value must hold,
// or an object of limits: "min", "max", "multiple_of", "divides" (a number), "power_of_two" (true), "not" (a value or a
// list). The text "$replicas" stands for the fact "replicas".
struct SoftwareRule {
  std::string id;          // "tied-weights-on-one-ipu"
  nlohmann::json when;     // empty: the rule holds for all plans
  nlohmann::json needs;    // one condition at least
  std::string field;       // what messages name, with its value if it is a fact; empty: the fact that is needed
  std::string why;         // "a pipeline keeps a weight on one IPU"
  std::string accept;      // a change that is accepted; empty: made from `needs`
  std::string source;      // "popart willow/src/transforms/pipeline.cpp:141"
  bool is_silent = false;  // the software does not refuse: it drops or changes the setting without a word
};

struct Software {
  std::string name;          // "popart": the file's name
  std::string title;         // "PopART"
  std::string version;       // of the sources that the rules were read from
  bool is_launcher = false;  // starts programs, which are written for other software
  // Those of the software that it runs on, then its own. Its own rule takes the place of one with the same id.
  std::vector<SoftwareRule> rules;
};

// Returns the names of all software in data/software, sorted.
std::vector<std::string> software_names();
// Returns the names of all software that models are written for: all but launchers.
std::vector<std::string> framework_names();
// Returns a software's rules, read once. Throws Error for an unknown name, and at the place of a mistake in the file.
const Software& software(const std::string& name);

// A rule that a plan breaks.
struct BrokenRule {
  const SoftwareRule* rule = nullptr;
  std::string field;   // what is wrong: SoftwareRule::field or the fact
  std::string found;   // the fact's value
  std::string accept;  // a change that is accepted; empty: none is known
};

// Returns the rules that the facts break, in the order of the file, one for each fact that is not as needed. Throws
// Error if a rule names a fact that is not there.
std::vector<BrokenRule> broken_rules(const Software& software, const PlanFacts& facts);

// Returns the first rule that is broken whatever the facts are that are not given; null: none.
const SoftwareRule* certainly_broken(const Software& software, const PlanFacts& some);
// The same of one rule.
bool is_certainly_broken(const SoftwareRule& rule, const PlanFacts& some);
// True if a rule asks for a fact, itself or as what another fact is compared with.
bool asks_for(const SoftwareRule& rule, const std::string& fact);

// Returns "FIELD is FOUND, but WHY (pin ACCEPT; rule ID, SOURCE)".
std::string to_text(const BrokenRule& broken);

}  // namespace superstep
