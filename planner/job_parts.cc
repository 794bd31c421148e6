// SPDX-License-Identifier: Apache-2.0
#include "planner/job_parts.h"

#include <algorithm>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "planner/space.h"

namespace superstep {
namespace {

using nlohmann::json;
using namespace nlohmann::literals;

// Where the job lists values that are searched one by one.
std::vector<json::json_pointer> lists_of(const json& job) {
  std::vector<json::json_pointer> out;
  for (const char* field : {"/plan/precision", "/plan/serialisation"}) {
    const json::json_pointer at(field);
    if (!job.contains(at) || !job.at(at).is_object()) continue;
    for (const auto& [key, value] : job.at(at).items()) {
      if (value.is_array()) out.push_back(at / key);
    }
  }
  return out;
}

std::vector<json> one_by_one(const json& job) {
  std::vector<json> out = {job};
  for (const json::json_pointer& at : lists_of(job)) {
    std::vector<json> more;
    for (const json& of : out) {
      for (const json& value : job.at(at)) {
        more.push_back(of);
        more.back()[at] = value;
      }
    }
    out = std::move(more);
  }
  return out;
}

std::vector<std::int64_t> sizes_of(const Job& job) {
  const Machine& machine = job.machine;
  const bool counts = std::any_of(job.pareto.begin(), job.pareto.end(),
                                  [](Measure m) { return m == Measure::ipus || m == Measure::power; });
  if (job.most_ipus == 0 && !counts) return {machine.ipus};
  const std::int64_t most = job.most_ipus > 0 ? job.most_ipus : machine.ipus;
  std::vector<std::int64_t> sizes = divisors(machine.ipus);
  std::erase_if(sizes, [&](std::int64_t n) { return n > most || !is_partition(machine, n); });
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

json with_partition(json job, const Job& of, std::int64_t ipus) {
  json& machine = job["machine"];
  if (machine.is_string() && ipus < of.machine.ipus) machine = {{"base", machine}};
  if (ipus < of.machine.ipus) machine["partition"] = ipus;
  if (job.contains("limits")) job["limits"].erase("ipus");
  return job;
}

// Products need operands of one type.
bool types_agree(const json& job) {
  const json precision = job.value("/plan/precision"_json_pointer, json::object());
  return !precision.contains("activations") || precision["activations"] == precision.value("weights", "fp16");
}

bool has_cells(const Job& job) {
  try {
    cells(job, statistics_group(job));
    return true;
  } catch (const Error&) {
    return false;  // by the pins or the batch
  }
}

}  // namespace

std::vector<Job> job_parts(const Job& job) {
  const std::vector<std::int64_t> sizes = sizes_of(job);
  std::vector<json> values = one_by_one(job.json);
  std::erase_if(values, [](const json& v) { return !types_agree(v); });
  if (values.empty())
    throw Error(job.source + "#/plan/precision/activations",
                "found no type that weights may have too; matrix products need operands of one type");
  if (values.size() == 1 && sizes.size() == 1 && sizes[0] == job.machine.ipus) return {job};
  std::vector<Job> out;
  for (const std::int64_t ipus : sizes) {
    for (const json& value : values) {
      Job part = read_job(with_partition(value, job, ipus), job.source);
      if (has_cells(part)) out.push_back(std::move(part));
    }
  }
  if (out.empty()) out.push_back(read_job(with_partition(values.front(), job, sizes.front()), job.source));
  return out;
}

std::vector<SpaceField> fields_of_parts(const Job& job, const std::vector<Job>& parts) {
  std::vector<SpaceField> out;
  std::vector<std::int64_t> sizes;
  for (const Job& part : parts) {
    if (std::find(sizes.begin(), sizes.end(), part.machine.ipus) == sizes.end()) sizes.push_back(part.machine.ipus);
  }
  const auto listed = [](const auto& values, const auto& text) {
    std::string all;
    for (const auto& v : values) all += (all.empty() ? "" : ", ") + text(v);
    return all;
  };
  if (sizes.size() > 1) out.push_back({"ipus", listed(sizes, [](std::int64_t n) { return std::to_string(n); })});
  for (const json::json_pointer& at : lists_of(job.json)) {
    const auto text = [](const json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); };
    out.push_back({at.parent_pointer().back() + "." + at.back(), listed(job.json.at(at), text)});
  }
  return out;
}

SearchStats operator+(const SearchStats& a, const SearchStats& b) {
  SearchStats sum = a;
  sum.explored += b.explored, sum.pruned += b.pruned, sum.feasible += b.feasible;
  sum.evaluations += b.evaluations, sum.programmes += b.programmes;
  sum.seconds += b.seconds, sum.table_seconds += b.table_seconds;
  sum.faster += b.faster, sum.undecided += b.undecided;
  sum.optimal = a.optimal && b.optimal;
  sum.gap = std::max(a.gap, b.gap);
  return sum;
}

}  // namespace superstep
