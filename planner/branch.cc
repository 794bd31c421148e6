// SPDX-License-Identifier: Apache-2.0
#include "planner/branch.h"

#include <algorithm>
#include <iterator>
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

bool same_but_for_cap(const SettingSpace& a, const SettingSpace& b) {
  Plan plan = a.common;
  plan.available_memory_proportion = b.common.available_memory_proportion;
  return a.phased == b.phased && plan == b.common;
}

// One or two are no more tables than their bound takes.
bool taken_together(const std::vector<SettingSpace>& caps) { return caps.size() > 2; }

struct Ends {
  const SettingSpace &tightest, &loosest;
};
Ends ends(const std::vector<SettingSpace>& caps) {
  const auto cap = [](const SettingSpace& space) { return space.common.available_memory_proportion; };
  return {*std::ranges::min_element(caps, {}, cap), *std::ranges::max_element(caps, {}, cap)};
}

std::shared_ptr<SettingParts> parts_of(Tables& tables, const SettingSpace& space, const SettingSpace& tightest) {
  const Plan& common = space.common;
  const UnitTable &table = tables.table(table_key(common)), &lean = tables.table(table_key(tightest.common));
  const ShardCosts& costs = tables.shard_costs(replicas_of(common));
  auto parts = std::make_shared<SettingParts>(table, lean, costs, space, tables.job().optimizer);
  if (space.groups_matter) {
    Replicas consecutive = replicas_of(common);
    consecutive.groups = ShardGroups::consecutive;
    parts->drop_idle_groups(tables.shard_costs(consecutive));
  }
  parts->drop_dominated();
  return parts;
}

// A looser bound on temporary memory that changes no tile plan makes the same settings again.
Branches one_by_one(Tables& tables, const std::vector<SettingSpace>& caps) {
  Branches out;
  std::set<std::uint64_t> seen;
  for (const SettingSpace& space : caps) {
    out.left_out += space.size();
    if (!seen.insert(fingerprint(tables.table(table_key(space.common)), space)).second) continue;
    const auto parts = parts_of(tables, space, space);
    if (parts->space().size() == 0) continue;
    out.list.push_back({parts, parts->space().all(), parts->space().size(), nullptr});
    out.left_out -= out.list.back().size;
  }
  return out;
}

Branches together(Tables& tables, const std::vector<SettingSpace>& caps) {
  const auto [tightest, loosest] = ends(caps);
  const auto parts = parts_of(tables, loosest, tightest);
  double size = 0;
  for (const SettingSpace& space : caps) size += space.size();
  if (parts->space().size() == 0) return {{}, size};  // nothing that orthogonal groups make faster
  return {{{parts, parts->space().all(), size, std::make_shared<Caps>(caps)}}, 0};
}

}  // namespace

std::vector<std::vector<SettingSpace>> by_caps(const std::vector<SettingSpace>& spaces) {
  std::vector<std::vector<SettingSpace>> out;
  for (const SettingSpace& space : spaces) {
    if (out.empty() || !same_but_for_cap(out.back().front(), space)) out.emplace_back();
    out.back().push_back(space);
  }
  return out;
}

const Branches& Caps::open(Tables& tables) const {
  std::call_once(made_, [&] { branches_ = one_by_one(tables, spaces_); });
  return branches_;
}

std::vector<TableKey> tables_of(const std::vector<SettingSpace>& spaces) {
  std::vector<TableKey> keys;
  for (const std::vector<SettingSpace>& caps : by_caps(spaces)) {
    const auto [tightest, loosest] = ends(caps);
    for (const SettingSpace& space : caps) {
      if (!taken_together(caps) || &space == &tightest || &space == &loosest) keys.push_back(table_key(space.common));
    }
  }
  return keys;
}

Branches branches_of(Tables& tables, const std::vector<SettingSpace>& caps) {
  return taken_together(caps) ? together(tables, caps) : one_by_one(tables, caps);
}

void prepare_cuts(Tables& tables, PinnedCuts& cuts, const std::vector<SettingSpace>& caps) {
  cuts.prepare(caps[0], tables.table(table_key(ends(caps).loosest.common)));
}

// Divided by the first place of memory that differs, then by the other values one after the other.
Branches Branch::children(Tables& tables) const {
  if (caps) return caps->open(tables);
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
  return {std::move(out), 0};
}

}  // namespace superstep
