// SPDX-License-Identifier: Apache-2.0
#include "planner/partitions.h"

#include <algorithm>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "planner/space.h"

namespace superstep {
namespace {

Job with_partition(const Job& job, std::int64_t ipus) {
  nlohmann::json json = job.json;
  nlohmann::json& machine = json["machine"];
  if (machine.is_string() && ipus < job.machine.ipus) machine = {{"base", machine}};
  if (ipus < job.machine.ipus) machine["partition"] = ipus;
  if (json.contains("limits")) json["limits"].erase("ipus");
  return read_job(json, job.source);
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

std::vector<Job> on_partitions(const Job& job) {
  const Machine& machine = job.machine;
  const bool counts = std::any_of(job.pareto.begin(), job.pareto.end(),
                                  [](Measure m) { return m == Measure::ipus || m == Measure::power; });
  if (job.most_ipus == 0 && !counts) return {job};
  const std::int64_t most = job.most_ipus > 0 ? job.most_ipus : machine.ipus;
  std::vector<std::int64_t> sizes = divisors(machine.ipus);
  std::erase_if(sizes, [&](std::int64_t n) { return n > most || !is_partition(machine, n); });
  std::reverse(sizes.begin(), sizes.end());
  std::vector<Job> out;
  for (const std::int64_t ipus : sizes) {
    Job part = with_partition(job, ipus);
    if (has_cells(part)) out.push_back(std::move(part));
  }
  if (out.empty()) out.push_back(with_partition(job, sizes.front()));
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
