// SPDX-License-Identifier: Apache-2.0
#include "planner/search/branch.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "model/error.h"

namespace superstep {
namespace {

const Chip& chip_of(Tables& tables) { return tables.model().machine().chip; }

TableKey key_at(const SettingSpace& space, const Caps& caps, const Chip& chip) {
  TableKey key = table_key(space.common);
  key.proportion = proportion_of(caps, chip);
  return key;
}

SettingSpace within(SettingSpace space, const Caps& caps) {
  space.caps = caps;
  return space;
}

std::shared_ptr<SettingParts> parts_of(Tables& tables, const SettingSpace& space, const UnitTable& fastest,
                                       const UnitTable& leanest) {
  const ShardCosts& costs = tables.shard_costs(replicas_of(space.common));
  auto parts = std::make_shared<SettingParts>(fastest, leanest, costs, space, tables.job().optimizer);
  if (space.groups_matter) {
    Replicas consecutive = replicas_of(space.common);
    consecutive.groups = ShardGroups::consecutive;
    parts->drop_idle_groups(tables.shard_costs(consecutive));
  }
  parts->drop_dominated();
  return parts;
}

// Removes storage on remote tiles that cannot hold a replica's weights, states or gradients, however phases are cut. A
// lender borrows as much as it lends, so the room is the tiles of the replica's own stages. Only for phases.
void drop_overfull(SettingSpace& space, const UnitTable& table, const OptimizerSpec& optimizer) {
  std::int64_t weights = 0, parameters = 0;
  for (std::size_t u = 0; u < table.units(); ++u) {
    weights += table.row(u).weight_bytes.value;
    parameters += table.row(u).parameters;
  }
  const Chip& chip = table.model().machine().chip;
  const std::int64_t tile = (chip.tile_memory - chip.control_code).value;
  const std::int64_t room = space.common.pipeline_stages * table.tiles() * tile;
  const auto drop = [&](std::vector<Storage>& list, std::int64_t bytes) {
    std::erase_if(list, [&](const Storage& s) { return s.at == Location::remote_ipu && bytes / s.degree > room; });
  };
  drop(space.weights, weights);
  if (!space.training) return;
  drop(space.states, parameters * state_bytes_per_parameter(optimizer));
  drop(space.gradients, parameters * size_of(space.common.precision.accumulators));
}

// Returns the settings of a space as at most one branch. For all its bounds on temporary memory, no table is faster
// than `fastest` or takes less memory than `leanest`.
Branches between(Tables& tables, SettingSpace space, const UnitTable& fastest, const UnitTable& leanest) {
  Branches out{{}, space.size() * space.caps.size()};
  if (space.phased) drop_overfull(space, leanest, tables.job().optimizer);
  if (space.size() == 0) return out;
  const auto parts = parts_of(tables, space, fastest, leanest);
  const double size = parts->space().size() * space.caps.size();
  if (size == 0) return out;  // orthogonal groups make no setting faster
  out.list.push_back({parts, parts->space().all(), size});
  out.left_out -= size;
  return out;
}

// Returns the settings of a space, all of whose bounds on temporary memory make `table`, as at most one branch.
Branches of_table(Tables& tables, SettingSpace space, const UnitTable& table) {
  const Chip& chip = chip_of(tables);
  // Of bounds that make one table the tightest: it leaves least doubt that the plan fits.
  space.common.available_memory_proportion = proportion_of(space.caps, chip);
  return between(tables, space, table, table);
}

// Returns where value `v` of an axis keeps a tensor or code. Not for load_axis and prefetch_depth_axis.
Location place(const SettingSpace& space, SettingSpace::Axis axis, std::size_t v) {
  switch (axis) {
    case SettingSpace::stash_axis:
      return space.stashes[v].at;
    case SettingSpace::weight_axis:
      return space.weights[v].at;
    case SettingSpace::gradient_axis:
      return space.gradients[v].at;
    case SettingSpace::state_axis:
      return space.states[v].at;
    default:
      return space.codes[v];
  }
}

void append(Branches& all, Branches more) {
  std::ranges::move(more.list, std::back_inserter(all.list));
  all.left_out += more.left_out;
}

// Divides the bounds on temporary memory of one setting: first by the live tensors that they count (Live). Then into
// the bounds that make the middle table, the tighter bounds and the looser bounds.
Branches divide_caps(Tables& tables, const Branch& branch) {
  const SettingSpace& from = branch.parts->space();
  SettingSpace space = SettingSpace::just(from.plan(branch.part.begin), from.phased, from.training);
  if (!from.caps.one_live()) {
    Branches out;
    for (const Live live : kLives) {
      if (!from.caps.may_count(live)) continue;
      space.caps = from.caps;
      space.caps.count(live);
      append(out, branches_of(tables, space));
    }
    return out;
  }
  const UnitTable& table = tables.table(branch.middle(chip_of(tables)));
  space.caps = from.caps;
  Caps same = from.caps;
  same.narrow(caps_of(table, space));
  Branches out = of_table(tables, within(space, same), table);
  const CapRange all = from.caps.range, middle = same.range;
  for (const CapRange& caps : {CapRange{all.least, middle.least - 1}, CapRange{middle.most + 1, all.most}}) {
    if (caps.least <= caps.most) append(out, branches_of(tables, within(space, {caps, from.caps.lives})));
  }
  return out;
}

}  // namespace

Caps caps_of(const UnitTable& table, const SettingSpace& space) {
  Caps caps = table.caps();
  if (!table.training() || !table.key().stage_bounds.empty()) return caps;
  std::set<std::int64_t> degrees;
  for (const Storage& state : space.states) degrees.insert(state.degree);
  for (const std::int64_t degree : degrees) {
    const UnitTable::Updates& updates = table.updates(shard_group(space.common, degree));
    for (std::size_t u : table.first_of_class()) {
      if (u == table.units() || table.row(u).parameters == 0) continue;
      caps.range.narrow(table.update(updates, u).footprint.caps);
    }
  }
  return caps;
}

// The middle is the geometric mean, as tables change at shorter steps where bounds are tight.
TableKey Branch::middle(const Chip& chip) const {
  Caps middle = parts->space().caps;
  const double cap = std::sqrt(static_cast<double>(middle.range.least) * static_cast<double>(middle.range.most));
  middle.range = CapRange::just(Bytes(static_cast<std::int64_t>(cap)));
  return key_at(parts->space(), middle, chip);
}

ExtremeTables extreme_tables_of(const SettingSpace& space, const Chip& chip) {
  ExtremeTables extremes{key_at(space, space.caps.loosest(), chip), key_at(space, space.caps.tightest(), chip)};
  extremes.fastest.least_proportion = extremes.leanest.proportion;
  return extremes;
}

Branches branches_of(Tables& tables, const SettingSpace& space) {
  const ExtremeTables extremes = extreme_tables_of(space, chip_of(tables));
  const UnitTable& leanest = tables.table(extremes.leanest);
  if (caps_of(leanest, space).contains(space.caps)) return of_table(tables, space, leanest);
  return between(tables, space, tables.table(extremes.fastest), leanest);
}

std::optional<Branch> Branch::guess(Tables& tables, const CutLimits& limits) const {
  const SettingSpace& space = parts->space();
  const auto elsewhere = [&](SettingSpace::Axis axis, std::size_t v) {
    if (axis == SettingSpace::load_axis || axis == SettingSpace::prefetch_depth_axis) return false;
    return place(space, axis, v) != Location::streaming;
  };
  Branch out = *this;
  for (const auto axis :
       {SettingSpace::code_axis, SettingSpace::stash_axis, SettingSpace::weight_axis, SettingSpace::state_axis,
        SettingSpace::gradient_axis, SettingSpace::load_axis, SettingSpace::prefetch_depth_axis}) {
    std::optional<std::tuple<bool, std::int64_t, std::size_t>> best;
    for (std::size_t v = part.begin[axis]; v < part.end[axis]; ++v) {
      Branch one = out;
      one.part.begin[axis] = v, one.part.end[axis] = v + 1;
      if (space.size(one.part) == 0) continue;
      const std::tuple key(elsewhere(axis, v), least_cycles(one.setting(), limits), v);
      if (!best || key < *best) best = key;
    }
    if (!best) return std::nullopt;
    out.part.begin[axis] = std::get<2>(*best), out.part.end[axis] = out.part.begin[axis] + 1;
  }
  if (out.leaf()) return out;
  SettingSpace just = SettingSpace::just(space.plan(out.part.begin), space.phased, space.training);
  const UnitTable& leanest = tables.table(extreme_tables_of(space, chip_of(tables)).leanest);
  just.caps = space.caps;
  just.caps.narrow(caps_of(leanest, just));
  const Branches made = of_table(tables, just, leanest);
  return made.list.empty() ? std::nullopt : std::optional(made.list.front());
}

// Divides by the first field whose places of memory differ. With equal places, divides by single values, code first.
// While the place of code is open, the bound counts neither room nor loads for code. Most branches then seem to fit
// though none of their plans does.
Branches Branch::children(Tables& tables) const {
  if (part.single()) return divide_caps(tables, *this);
  const SettingSpace& space = parts->space();
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
  for (const auto axis :
       {SettingSpace::weight_axis, SettingSpace::stash_axis, SettingSpace::state_axis, SettingSpace::gradient_axis}) {
    if (place(space, axis, part.begin[axis]) == place(space, axis, part.end[axis] - 1)) continue;
    divide(axis, [&](std::size_t a, std::size_t b) { return place(space, axis, a) != place(space, axis, b); });
    break;
  }
  for (const auto axis :
       {SettingSpace::code_axis, SettingSpace::load_axis, SettingSpace::weight_axis, SettingSpace::stash_axis,
        SettingSpace::state_axis, SettingSpace::gradient_axis, SettingSpace::prefetch_depth_axis}) {
    if (!out.empty()) break;
    if (part.end[axis] - part.begin[axis] > 1) divide(axis, [](std::size_t, std::size_t) { return true; });
  }
  SUPERSTEP_CHECK(!out.empty(), "an axis that no branch is divided by");
  for (Branch& b : out) b.size = space.size(b.part) * space.caps.size();
  std::erase_if(out, [](const Branch& b) { return b.size == 0; });
  return {std::move(out), 0};
}

}  // namespace superstep
