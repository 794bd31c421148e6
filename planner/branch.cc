// SPDX-License-Identifier: Apache-2.0
#include "planner/branch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "planner/parallel.h"

namespace superstep {
namespace {

// Of everything in a table that a bound on temporary memory may change, with the updates of these shards.
std::uint64_t fingerprint(const UnitTable& t, const SettingSpace& space) {
  std::uint64_t h = 0;
  const auto add = [&](auto v) { h = (h ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ULL; };
  const auto add_function = [&](const Footprint& f, Cycles cycles) {
    for (std::int64_t v :
         {cycles.value, f.peak.value, f.peak_keeping.value, f.kept.value, f.crossing.value, f.exchange_code.value})
      add(v);
    add(std::hash<VertexSet>{}(f.vertices));
  };
  for (std::int32_t unit_class : *t.classes()) add(unit_class);
  for (std::size_t u : t.first_of_class()) {
    if (u == t.units()) continue;
    const UnitRow& r = t.row(u);
    add_function(r.forward, r.forward_cycles.total());
    add_function(r.backward, r.backward_cycles.total());
    if (!t.training() || r.parameters == 0) continue;
    for (const Storage& state : space.states) {
      const GroupShape group = shard_group(space.common, state.degree);
      const UpdateCost& update = t.update(u, group);
      add_function(update.footprint, update.cycles);
    }
  }
  return h;
}

// The common fields, but for the bound on temporary memory.
std::string fields_of(const SettingSpace& space) {
  Plan plan = space.common;
  plan.available_memory_proportion = 0;
  return (space.phased ? "phases " : "") + to_json(plan).dump();
}

}  // namespace

Branches branches_of(Tables& tables, PinnedCuts& cuts, const std::vector<SettingSpace>& spaces, int threads) {
  std::vector<std::uint64_t> prints(spaces.size());
  Branches out;
  for (const SettingSpace& space : spaces) {
    out.left_out += space.size();
    cuts.prepare(space, tables.table(table_key(space.common)));
  }
  parallel_for(spaces.size(), threads,
               [&](std::size_t i) { prints[i] = fingerprint(tables.table(table_key(spaces[i].common)), spaces[i]); });
  // A looser bound on temporary memory that changes no tile plan makes the same settings again.
  std::set<std::pair<std::string, std::uint64_t>> seen;
  std::vector<const SettingSpace*> distinct;
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    if (seen.insert({fields_of(spaces[i]), prints[i]}).second) distinct.push_back(&spaces[i]);
  }
  std::vector<std::shared_ptr<SettingParts>> parts(distinct.size());
  parallel_for(distinct.size(), threads, [&](std::size_t i) {
    const Plan& common = distinct[i]->common;
    const UnitTable& table = tables.table(table_key(common));
    const ShardCosts& costs = tables.shard_costs(common.replicas, common.strides().replica);
    parts[i] = std::make_shared<SettingParts>(table, costs, *distinct[i], tables.job().optimizer);
    parts[i]->drop_dominated();
  });
  for (auto& p : parts) {
    const SettingSpace& space = p->space();
    out.roots.push_back({p, space.all(), space.size()});
    out.left_out -= out.roots.back().size;
  }
  return out;
}

// Divided by the first place of memory that differs, then by the other values one after the other.
std::vector<Branch> Branch::children() const {
  const SettingSpace& space = parts->space();
  const auto place = [&](SettingSpace::Axis axis, std::size_t v) {
    switch (axis) {
      case SettingSpace::kStash:
        return space.stashes[v].at;
      case SettingSpace::kWeight:
        return space.weights[v].at;
      case SettingSpace::kGradient:
        return space.gradients[v].at;
      default:
        return space.states[v].at;
    }
  };
  std::vector<Branch> out;
  const auto divide = [&](SettingSpace::Axis axis, const auto& differs) {
    for (std::size_t v = part.begin[axis]; v < part.end[axis]; ++v) {
      if (out.empty() || differs(v - 1, v)) {
        out.push_back(*this);
        out.back().part.begin[axis] = v;
      }
      out.back().part.end[axis] = v + 1;
    }
  };
  for (const auto axis : {SettingSpace::kWeight, SettingSpace::kStash, SettingSpace::kState, SettingSpace::kGradient}) {
    if (place(axis, part.begin[axis]) == place(axis, part.end[axis] - 1)) continue;
    divide(axis, [&](std::size_t a, std::size_t b) { return place(axis, a) != place(axis, b); });
    break;
  }
  for (const auto axis : {SettingSpace::kLoad, SettingSpace::kWeight, SettingSpace::kStash, SettingSpace::kState,
                          SettingSpace::kGradient, SettingSpace::kPrefetchDepth}) {
    if (!out.empty()) break;
    if (part.end[axis] - part.begin[axis] > 1) divide(axis, [](std::size_t, std::size_t) { return true; });
  }
  for (Branch& b : out) b.size = space.size(b.part);
  std::erase_if(out, [](const Branch& b) { return b.size == 0; });
  return out;
}

}  // namespace superstep
