// SPDX-License-Identifier: Apache-2.0
#include "planner/space/job_parts.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "model/error.h"
#include "model/lower/graph_facts.h"
#include "model/lower/serialise.h"
#include "model/software/rules.h"
#include "planner/job/partitions.h"
#include "planner/job/plan_fields.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

using nlohmann::json;
using namespace nlohmann::literals;

// Returns the factors of a range in plan.serialisation that the model allows. If the model allows none, returns the
// least factor of the range, whose search says why.
json factors_of(const Job& job, const std::string& kind, const json& range) {
  const Graph graph = build_graph(job, some_micro_batch(job));
  const GraphFacts facts(graph);
  const std::int64_t least = range.value("min", std::int64_t{1});
  const std::vector<std::int64_t> out = possible_factors(facts, kind, least, range.value("max", kMostParts));
  return out.empty() ? json::array({least}) : json(out);
}

// Returns the JSON of a job once for each combination of values of its lists, the last list changing first.
std::vector<json> one_by_one(const Job& job) {
  std::vector<json> out = {job.json()};
  for (const json::json_pointer& at : lists_of(job.json())) {
    const json& pin = job.json().at(at);
    std::vector<json> more;
    const json values = pin.is_object() ? factors_of(job, at.back(), pin) : pin;
    for (const json& of : out) {
      for (const json& value : values) {
        more.push_back(of);
        more.back()[at] = value;
      }
    }
    out = std::move(more);
  }
  return out;
}

// True if weights and activations have one type, as the operands of a product must.
bool types_agree(const json& job) {
  const json precision = job.value("/plan/precision"_json_pointer, json::object());
  return !precision.contains("activations") || precision["activations"] == precision.value("weights", "fp16");
}

// True if all pins with a value for each stage have the same length.
bool lengths_agree(const json& job) {
  std::set<std::size_t> lengths;
  const json plan = job.value("plan", json::object());
  for (const PlanField& field : plan_fields()) {
    const std::string key(field.name);
    if (field.search != PlanField::Search::cut || key == "phases" || !plan.contains(key)) continue;
    const json& pin = plan[key];
    if (pin.is_array() && (key != "recompute" || pin.size() > 1)) lengths.insert(pin.size());
  }
  return lengths.size() <= 1;
}

// True if a software has all rules of another one, so that it accepts nothing that the other does not.
bool has_all_rules_of(const Software& one, const Software& other) {
  return std::ranges::all_of(other.rules, [&](const SoftwareRule& rule) {
    return std::ranges::any_of(one.rules, [&](const SoftwareRule& own) {
      return own.id == rule.id && own.when == rule.when && own.needs == rule.needs;
    });
  });
}

// Returns the software whose plans are searched: of all that a job may run on, those that accept most.
std::vector<std::string> searched_software(const Job& job) {
  std::vector<std::string> names = job.software;
  if (names.empty()) names.assign(kUsualSoftware.begin(), kUsualSoftware.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto covers = [&](std::size_t k) {
      if (k == i || !has_all_rules_of(software(names[i]), software(names[k]))) return false;
      return k < i || !has_all_rules_of(software(names[k]), software(names[i]));  // of equals the first
    };
    bool covered = false;
    for (std::size_t k = 0; k < names.size(); ++k) covered = covered || covers(k);
    if (!covered) out.push_back(names[i]);
  }
  return out;
}

// Returns the job once for each software.
std::vector<Job> by_software(const Job& job, const std::vector<std::string>& names) {
  std::vector<Job> out;
  for (const std::string& name : names) {
    out.push_back(job);
    out.back().software = {name};
  }
  return out;
}

}  // namespace

std::vector<Job> job_parts(const Job& job) {
  const std::vector<std::int64_t> sizes = partition_sizes(job);
  const std::vector<std::string> names = searched_software(job);
  std::vector<json> values = one_by_one(job);
  std::erase_if(values, [](const json& v) { return !types_agree(v); });
  if (values.empty())
    throw Error(job.source + "#/plan/precision/activations",
                "found no type that weights may have too; matrix products need operands of one type");
  if (std::ranges::any_of(values, lengths_agree)) std::erase_if(values, std::not_fn(lengths_agree));
  if (values.size() == 1 && lists_of(job.json()).empty() && sizes.size() == 1 && sizes[0] == job.machine.ipus)
    return by_software(job, names);
  const std::int64_t group = statistics_group(job);
  std::vector<Job> all;  // one for each combination of values, on the whole machine
  for (json& value : values) {
    if (value.contains("limits")) value["limits"].erase("ipus");
    all.push_back(read_again(job, value));
  }
  std::vector<Job> out;
  for (const std::int64_t ipus : sizes) {
    for (const Job& whole : all) {
      const Job part = on_partition(whole, ipus);
      if (uncounted_cells(part, group).empty()) continue;
      for (Job& one : by_software(part, names)) out.push_back(std::move(one));
    }
  }
  if (out.empty()) out = by_software(on_partition(all.front(), sizes.front()), {names.front()});
  return out;
}

}  // namespace superstep
