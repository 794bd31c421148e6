// SPDX-License-Identifier: Apache-2.0
#include "planner/space/software_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/job/plan_json.h"

namespace superstep {
namespace {

// Returns the first unit that uses a weight.
std::int64_t owner_of(const GraphFacts& facts, TensorId weight) {
  const auto owner = std::find_if(facts.weights.begin(), facts.weights.end(), [&](const std::vector<TensorId>& own) {
    return std::find(own.begin(), own.end(), weight) != own.end();
  });
  return owner - facts.weights.begin();
}

// True if the job itself says what a fact is: in its question, or by a pin with one value.
bool is_asked_for(const Job& job, const std::string& fact) {
  for (const char* of_job : {"task", "model", "optimizer.", "run."}) {
    if (fact.starts_with(of_job)) return true;
  }
  const std::size_t dot = fact.find('.');
  const nlohmann::json pins = job.json().value("plan", nlohmann::json::object());
  const nlohmann::json pin = pins.value(fact.substr(0, dot), nlohmann::json::array());
  if (dot == std::string::npos) return pin.is_primitive();
  return pin.contains(fact.substr(dot + 1)) && pin.at(fact.substr(dot + 1)).is_primitive();
}

// True if the job itself breaks a rule: no other plan of it keeps the rule.
bool is_asked_for(const Job& job, const SoftwareRule& rule) {
  for (const auto& need : rule.needs.items()) {
    if (is_asked_for(job, need.key())) return true;
  }
  return false;
}

}  // namespace

UnitFacts unit_facts(const GraphFacts& facts) {
  UnitFacts out;
  for (std::size_t u = 0; u < facts.borrowed.size(); ++u) {
    out.layers.push_back(facts.graph.units[UnitId(u)].layer);
    for (const TensorId weight : facts.borrowed[u])
      out.ties.push_back({.owner = owner_of(facts, weight), .borrower = static_cast<std::int64_t>(u)});
  }
  return out;
}

PlanFacts plan_facts(const Job& job, const Plan& plan, const GraphFacts& facts) {
  return plan_facts(to_json(plan), job.json(), unit_facts(facts));
}

SoftwareVerdict judge(const Job& job, const Plan& plan, const GraphFacts& facts) {
  const PlanFacts all = plan_facts(job, plan, facts);
  SoftwareVerdict out;
  std::size_t fewest = SIZE_MAX;
  for (const std::string& name : framework_names()) {
    if (name == kAnySoftware) continue;
    const std::vector<BrokenRule> broken = broken_rules(software(name), all);
    if (broken.empty()) out.accepted_by.push_back(name);
    if (broken.empty() || broken.size() >= fewest) continue;
    fewest = broken.size();
    const auto asked = std::ranges::find_if(broken, [&](const BrokenRule& b) { return is_asked_for(job, *b.rule); });
    out.broken = asked == broken.end() ? broken.front() : *asked;
    out.broken_by = software(name).title;
  }
  return out;
}

}  // namespace superstep
