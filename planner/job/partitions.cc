// SPDX-License-Identifier: Apache-2.0
#include "planner/job/partitions.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "planner/job/divisors.h"
#include "planner/job/plan_fields.h"

namespace superstep {

using nlohmann::json;
using namespace nlohmann::literals;

std::vector<json::json_pointer> lists_of(const json& job) {
  std::vector<json::json_pointer> out;
  for (const auto search : {PlanField::Search::part, PlanField::Search::cut}) {
    for (const PlanField& field : plan_fields()) {
      const json::json_pointer at = "/plan"_json_pointer / std::string(field.name);
      if (field.search != search || !job.contains(at)) continue;
      if (search == PlanField::Search::cut) {
        if (is_list_of_cuts(job.at(at))) out.push_back(at);
      } else if (job.at(at).is_object()) {
        for (const auto& [key, value] : job.at(at).items()) {
          if (value.is_structured()) out.push_back(at / key);
        }
      }
    }
  }
  return out;
}

std::optional<std::int64_t> pinned_ipus(const Job& job) {
  const auto single = [](const std::optional<IntegerPin>& pin) { return pin && pin->values.size() == 1; };
  const Pins& pins = job.pins;
  if (pins.tensor_parallel.size() != 1 || !single(pins.pipeline_stages) || !single(pins.replicas)) return std::nullopt;
  std::int64_t all = 1;
  for (const std::int64_t degree :
       {pins.tensor_parallel[0].size(), pins.pipeline_stages->values[0], pins.replicas->values[0]}) {
    if (degree > job.machine.ipus / all) return std::nullopt;
    all *= degree;
  }
  return all;
}

std::vector<std::int64_t> partition_sizes(const Job& job) {
  std::vector<std::int64_t> sizes = divisors(job.machine.ipus);
  std::erase_if(sizes, [&](std::int64_t n) { return n != job.machine.ipus && !is_partition(job.machine, n); });
  if (const auto used = pinned_ipus(job); used && is_usable(job.machine, *used)) sizes.push_back(*used);
  std::ranges::sort(sizes, std::greater());
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  std::erase_if(sizes, [&](std::int64_t n) { return !allows(job.ipus, n); });
  if (sizes.empty()) {
    const json limit = job.json().at("limits").at("ipus");
    throw Error(job.source + "#/limits/ipus", "found " + limit.dump() + ", which no partition of " + job.machine.name +
                                                  " with " + std::to_string(job.machine.ipus) + " IPUs has");
  }
  return sizes;
}

Job on_partition(const Job& job, std::int64_t ipus) {
  if (ipus == job.machine.ipus) return job;
  json given = job.json();
  json& machine = given["machine"];
  const bool named = machine.is_string();
  if (named) machine = {{"base", machine}};
  machine["partition"] = ipus;
  if (!named) return read_again(job, given);
  Job part = job;
  part.given = std::make_shared<const json>(std::move(given));
  part.machine = partition_of(job.machine, ipus);
  return part;
}

}  // namespace superstep
