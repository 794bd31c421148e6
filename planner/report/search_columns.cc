// SPDX-License-Identifier: Apache-2.0
#include "planner/report/search_columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace superstep {
namespace {

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

// Limit above which candidates are sampled, because each candidate stores its whole plan.
constexpr std::size_t kMostCandidates = 2000;

// Returns candidates by throughput, the highest first. All candidates on the front of throughput and memory are kept.
// Of the others every n-th is kept.
std::vector<const Candidate*> sampled(const std::vector<Candidate>& all) {
  std::vector<const Candidate*> list;
  for (const Candidate& c : all) list.push_back(&c);
  std::stable_sort(list.begin(), list.end(), [](const Candidate* a, const Candidate* b) {
    return a->samples_per_second > b->samples_per_second;
  });
  const std::size_t stride = list.size() / kMostCandidates + 1;
  std::vector<const Candidate*> out;
  std::int64_t least = INT64_MAX;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool on_front = list[i]->estimate.tile_peak < least;
    least = std::min(least, list[i]->estimate.tile_peak);
    if (on_front || i % stride == 0) out.push_back(list[i]);
  }
  return out;
}

template <class Row, class Get>
Integers column(const std::vector<Row>& rows, const Get& get) {
  Integers out;
  for (const Row& row : rows) out.push_back(get(row));
  return out;
}

void add_candidates(ReportWriter& writer, const std::vector<Candidate>& all, double clock) {
  const std::vector<const Candidate*> list = sampled(all);
  Texts labels, plans;
  std::vector<double> rates, seconds;
  for (const Candidate* c : list) {
    labels.push_back(label(c->plan));
    plans.push_back(to_json(c->plan).dump());
    rates.push_back(c->samples_per_second);
    seconds.push_back(static_cast<double>(c->estimate.cycles) / clock);
  }
  writer.add_texts("candidate.label", labels);
  writer.add_texts("candidate.plan", plans);
  writer.add_reals("candidate.samples_per_second", "per second", rates);
  writer.add_reals("candidate.step_time", "seconds", seconds);
  const auto add = [&](const char* name, const char* unit, const auto& get) {
    writer.add_integers(std::string("candidate.") + name, unit,
                        column(list, [&](const Candidate* c) { return get(*c); }));
  };
  add("tile_peak", "bytes", [](const Candidate& c) { return c.estimate.tile_peak; });
  add("ddr", "bytes", [](const Candidate& c) { return c.estimate.ddr; });
  add("ipus", "index", [](const Candidate& c) { return c.plan.ipus(); });
  add("tensor_parallel", "index", [](const Candidate& c) { return c.plan.tensor_parallel.size(); });
  add("pipeline_stages", "index", [](const Candidate& c) { return c.plan.pipeline_stages; });
  add("replicas", "index", [](const Candidate& c) { return c.plan.replicas; });
  add("micro_batch", "index", [](const Candidate& c) { return c.plan.micro_batch; });
  add("gradient_accumulation", "index", [](const Candidate& c) { return c.plan.gradient_accumulation; });
  add("phases", "index", [](const Candidate& c) { return std::ssize(c.plan.phases); });
}

void add_cells(ReportWriter& writer, const std::vector<SearchedCell>& cells) {
  static constexpr const char* kFates[] = {"opened", "excluded", "dominated", "does not fit"};
  Texts meshes, placements, groups, fates;
  std::vector<double> settings, bounds;
  for (const SearchedCell& c : cells) {
    meshes.push_back(std::to_string(c.mesh.t1) + (c.mesh.t2 > 1 ? "x" + std::to_string(c.mesh.t2) : ""));
    placements.emplace_back(name_of(c.placement));
    groups.emplace_back(name_of(c.groups));
    fates.emplace_back(kFates[static_cast<std::size_t>(c.fate)]);
    settings.push_back(c.settings);
    bounds.push_back(c.bound);
  }
  writer.add_texts("cell.tensor_parallel", meshes);
  writer.add_texts("cell.placement", placements);
  writer.add_texts("cell.shard_groups", groups);
  writer.add_texts("cell.fate", fates);
  writer.add_reals("cell.settings", "index", settings);
  writer.add_reals("cell.bound", "per second", bounds);
  const auto add = [&](const char* name, std::int64_t SearchedCell::*field) {
    writer.add_integers(std::string("cell.") + name, "index",
                        column(cells, [&](const SearchedCell& c) { return c.*field; }));
  };
  add("pipeline_stages", &SearchedCell::stages);
  add("replicas", &SearchedCell::replicas);
  add("micro_batch", &SearchedCell::micro_batch);
  add("gradient_accumulation", &SearchedCell::accumulation);
}

}  // namespace

void add_search_columns(ReportWriter& writer, const SearchResult& search, const Machine& machine) {
  if (search.cells.empty()) return;
  add_candidates(writer, search.candidates, machine.chip.clock.value);
  add_cells(writer, search.cells);
}

}  // namespace superstep
