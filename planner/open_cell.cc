// SPDX-License-Identifier: Apache-2.0
#include "planner/open_cell.h"

#include <algorithm>
#include <set>

namespace superstep {
namespace {

// Settings that differ in one of the first fields have no bound in common, or are of different tables.
constexpr std::size_t kRootFields = 9, kProportion = kRootFields - 1;

template <class E>
std::int64_t number(E e) {
  return static_cast<std::int64_t>(e);
}

// Of everything in a table that a bound on temporary memory may change, with the update of this plan's shards.
std::uint64_t fingerprint(const UnitTable& t, const Plan& plan) {
  std::uint64_t h = 0;
  const auto add = [&](auto v) { h = (h ^ static_cast<std::uint64_t>(v)) * 0x9E3779B97F4A7C15ULL; };
  const auto add_function = [&](const Footprint& f, Cycles cycles) {
    for (std::int64_t v :
         {cycles.value, f.peak.value, f.peak_keeping.value, f.kept.value, f.crossing.value, f.exchange_code.value})
      add(v);
    add(std::hash<VertexSet>{}(f.vertices));
  };
  const GroupShape group = shard_group(plan, plan.replicated_tensor_sharding.optimizer_state);
  for (std::int32_t unit_class : *t.classes()) add(unit_class);
  for (std::size_t u : t.first_of_class()) {
    if (u == t.units()) continue;
    const UnitRow& r = t.row(u);
    add_function(r.forward, r.forward_cycles.total());
    add_function(r.backward, r.backward_cycles.total());
    if (t.training() && r.parameters > 0) add_function(t.update(u, group), t.update_cycles(u, group));
  }
  return h;
}

}  // namespace

std::string kind_of(const Plan& p) {
  return std::to_string(p.tensor_parallel.t1) + "x" + std::to_string(p.tensor_parallel.t2) + " p" +
         std::to_string(p.pipeline_stages) + " s" + (p.phased() ? "phased" : std::string(name_of(p.schedule))) + " o" +
         std::string(name_of(p.location.optimizer_state)) + " a" + std::string(name_of(p.location.activations));
}

OpenCell::Fields OpenCell::fields_of(const Plan& p, bool phased) {
  const auto& rts = p.replicated_tensor_sharding;
  const Locations& at = p.location;
  return {phased, number(p.schedule), number(p.phase_order), p.phase_groups, number(at.code), p.prefetch_depth,
          p.activation_sharding == ActivationSharding::throughout, p.io_tiles,
          static_cast<std::int64_t>(p.available_memory_proportion * 1e9),
          // What the tables do not depend on.
          number(at.activations) * 4 + number(p.activation_sharding), number(p.load), number(at.weights), rts.weights,
          number(at.gradients) * (std::int64_t{1} << 32) + rts.gradients, number(at.optimizer_state),
          rts.optimizer_state};
}

OpenCell::OpenCell(Tables& tables, PinnedCuts& cuts, const std::vector<Plan>& plans) {
  std::vector<std::pair<Fields, const Plan*>> ordered;
  for (const Plan& p : plans) ordered.push_back({fields_of(p, cuts.searches_phases(p)), &p});
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  // A looser bound on temporary memory that changes no tile plan makes the same setting again.
  std::set<std::pair<Fields, std::uint64_t>> seen;
  for (const auto& [fields, plan] : ordered) {
    const UnitTable& table = tables.table(table_key(*plan));
    cuts.prepare(*plan, table);
    Fields same = fields;
    same[kProportion] = 0;
    if (!seen.insert({same, fingerprint(table, *plan)}).second) {
      ++equal_;
      continue;
    }
    settings_.emplace_back(table, *plan, tables.job().optimizer, fields[0] != 0);
    fields_.push_back(fields);
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const bool next =
        i == 0 || !std::equal(fields_[i].begin(), fields_[i].begin() + kRootFields, fields_[i - 1].begin());
    if (next) roots_.push_back({i, i});
    roots_.back().end = i + 1;
  }
}

std::vector<OpenCell::Branch> OpenCell::children(const Branch& branch) const {
  const Fields &first = fields_[branch.begin], &last = fields_[branch.end - 1];
  const auto depth = std::mismatch(first.begin(), first.end(), last.begin()).first - first.begin();
  std::vector<Branch> out;
  for (std::size_t i = branch.begin; i < branch.end; ++i) {
    const auto field = static_cast<std::size_t>(depth);
    if (out.empty() || fields_[i][field] != fields_[i - 1][field]) out.push_back({i, i});
    out.back().end = i + 1;
  }
  return out;
}

Setting OpenCell::relaxed(const Branch& branch) const {
  Setting bound = settings_[branch.begin];
  for (std::size_t i = branch.begin + 1; i < branch.end; ++i) bound.relax(settings_[i]);
  return bound;
}

std::vector<std::string> OpenCell::kinds(const Branch& branch) const {
  std::set<std::string> kinds;
  for (std::size_t i = branch.begin; i < branch.end; ++i) kinds.insert(kind_of(settings_[i].plan()));
  return {kinds.begin(), kinds.end()};
}

}  // namespace superstep
