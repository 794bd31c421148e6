// SPDX-License-Identifier: Apache-2.0
// Tabulates what each value of a field adds to a setting's numbers. Settings, and bounds on many settings, are sums of
// these additions.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cost/setting.h"
#include "planner/space/setting_space.h"

namespace superstep {

// True if moving bytes at `rate` takes no longer than at `than`. Rates are bytes per second. At rate 0 nothing moves,
// which takes no time.
inline bool no_slower(double rate, double than) { return rate == 0 || (than != 0 && rate >= than); }
// True if a collective of any number of bytes takes no more cycles by `a` than by `b`.
inline bool no_slower(const LinearCycles& a, const LinearCycles& b) {
  return a.fixed <= b.fixed && a.per_byte <= b.per_byte;
}

// The additions of all values of a SettingSpace. Tables and costs must outlive this object.
class SettingParts {
 public:
  // Tabulates a space with one bound on temporary memory: setting() is exact for single values.
  SettingParts(const UnitTable& table, const ShardCosts& costs, SettingSpace space, const OptimizerSpec& optimizer)
      : SettingParts(table, table, costs, std::move(space), optimizer) {}
  // Tabulates a space with several bounds on temporary memory: setting() is always a bound. `fastest` is a table with
  // the least time of all these bounds (TableKey::least_proportion). `tightest` is the table of the tightest bound,
  // which has the least memory.
  SettingParts(const UnitTable& fastest, const UnitTable& tightest, const ShardCosts& costs, SettingSpace space,
               const OptimizerSpec& optimizer);

  // Drops values that another value of the same kind (kind_of()) dominates. The other value is no worse in each number
  // and in effects between fields, and goes with the same values of other fields. Each cut of a setting with a dropped
  // value also fits with the dominating value, and is no slower.
  void drop_dominated();
  // For a space whose shard groups matter (SettingSpace::groups_matter). Drops values with which no setting is faster
  // than the same setting with consecutive groups, which belongs to another space. `usual`: costs of collectives over
  // consecutive groups.
  void drop_idle_groups(const ShardCosts& usual);

  const SettingSpace& space() const { return space_; }
  bool exact() const { return tightest_ == base_.table_; }  // true if made from one table

  // Returns the setting of a subset with one value in each list. For other subsets, returns a bound: each number is the
  // least over the subset. At least one combination of values must be legal.
  Setting setting(const SettingSpace::Subset& subset) const;

 private:
  using Axis = SettingSpace::Axis;
  SettingSpace space_;
  const UnitTable* tightest_;           // differs from base_.table_: all settings are bounds
  Setting base_;                        // the numbers from the table and the common fields
  std::vector<std::size_t> unit_;       // one unit of each class; the last entry is the end of the model
  std::vector<std::int64_t> of_class_;  // by class: number of units
  // By axis: what each value adds, ordered by value, class and number (numbers_of()). Empty for loads and codes.
  std::array<std::vector<std::int64_t>, SettingSpace::kAxes> adds_;
  std::vector<std::vector<CodeOfRow>> code_;  // by state, then row: code of all passes
  const ShardCosts* costs_;                   // costs of collectives over replicas
  // Index in costs_ of the degree of each weight, gradient and state. For gradients, the degree that the update finds.
  std::vector<std::size_t> weight_degree_, gradient_degree_, state_degree_;
  std::vector<LinearCycles> load_;     // by weight: cycles to load whole weights, by bytes per IPU
  LinearCycles join_all_, join_rest_;  // cycles to join shards of a stash: over t, over t2
  // Where a value of the gradient field puts accumulators.
  struct Accumulators {
    std::int64_t shards = 1;
    double rate = 0;      // bytes per second to their place; 0: in the processor
    bool joined = false;  // true if each tile reserves a place for whole gradients of the largest unit
  };
  std::vector<Accumulators> accumulators_;         // by gradient
  std::array<double, 4> rates_{};                  // by location: see rate()
  std::vector<std::vector<std::int64_t>> update_;  // by state and class: cycles of the update, collectives excluded
  // For bounds: memory, cycles and code of updates, by the fastest table and by the tightest. A state that is no worse
  // by both tables counts as no worse for all bounds on temporary memory between the two.
  struct AtEnds {
    std::vector<std::int64_t> numbers;
    std::vector<CodeOfRow> code;
  };
  std::vector<AtEnds> at_ends_;  // by state

  // ---- construction
  UnitNumbers base_numbers(std::size_t unit) const;
  UnitNumbers stash_numbers(const Plan& plan, std::size_t unit) const;
  UnitNumbers weight_numbers(const Plan& plan, const LinearCycles& gather, std::size_t unit) const;
  UnitNumbers gradient_numbers(const Plan& plan, const LinearCycles& scatter, std::size_t unit) const;
  // Costs of updates where replicas share a state, from the base's table and from the tightest; null in inference.
  struct Updates {
    const UnitTable::Updates *base = nullptr, *tightest = nullptr;
  };
  UnitNumbers state_numbers(const Plan& plan, const Updates& updates, std::int64_t state_bytes, std::size_t unit) const;
  UnitNumbers prefetch_numbers(const Plan& plan, std::size_t unit) const;
  // Returns how many numbers each value of an axis adds.
  std::size_t added(Axis axis) const;
  void tabulate(std::int64_t state_bytes);
  void tabulate_state(const Storage& state, const Updates& updates, std::int64_t state_bytes);
  // Returns the code by row: of both passes and of updates. `updates`: null in inference.
  std::vector<CodeOfRow> code_with(const UnitTable& table, const UnitTable::Updates* updates) const;
  AtEnds at_ends(const Storage& state, const Updates& updates, std::int64_t state_bytes) const;
  // Return cycles by bytes, for the values with these indices. scatter(): spreads gradients over replicas. reduce():
  // brings gradients to the state's shards. join(): brings new weights from the state's shards to the weights' shards.
  const LinearCycles& scatter(std::size_t gradient) const;
  const LinearCycles& reduce(std::size_t state, std::size_t gradient) const;
  const LinearCycles& join(std::size_t state, std::size_t weight) const;
  // Returns bytes per second to and from a location; 0: in the processor.
  double rate(Location where) const { return rates_[static_cast<std::size_t>(where)]; }
  std::int64_t streaming(std::int64_t bytes, Location where) const;  // cycles

  // ---- bounds
  // Adds to each number the least that any value of the subset adds.
  void add_least(Setting& setting, Axis axis, const SettingSpace::Subset& subset) const;
  void add_updates(Setting& setting, const SettingSpace::Subset& subset) const;
  void set_scalars(Setting& setting, const SettingSpace::Subset& subset) const;
  // Lower bounds on updates with one state.
  struct LeastUpdate {
    bool legal = false;                // true if the subset has degrees that go together with the state's degree
    double fixed = 0;                  // cycles once per update
    std::vector<std::int64_t> cycles;  // by class
  };
  LeastUpdate least_update(std::size_t state, const SettingSpace::Subset& subset) const;
  std::int64_t reduce_cycles(std::size_t state, std::size_t gradient, std::size_t unit_class) const;
  std::int64_t join_cycles(std::size_t state, std::size_t weight, std::size_t unit_class) const;
  bool joins_gradients(const Storage& gradient) const;

  // ---- dominance: true if value `a` is no worse than value `b`
  bool no_worse(Axis axis, std::size_t a, std::size_t b) const;
  bool no_more(Axis axis, std::size_t a, std::size_t b) const;  // in each number that is tabulated
  bool no_worse_stash(std::size_t a, std::size_t b) const;
  bool no_worse_weight(std::size_t a, std::size_t b) const;
  bool no_worse_gradient(std::size_t a, std::size_t b) const;
  bool no_worse_state(std::size_t a, std::size_t b) const;
  bool no_worse_code(Location a, Location b) const;
  bool has_lenders() const;
  // Cycles of an update of one unit of a class, where consecutive replicas share the work.
  struct UpdateSums {
    std::int64_t usually = 0, slowest = 0;  // by the fastest table, by the table of the tightest bound
    std::int64_t more = 0;                  // cycles that orthogonal groups take beyond `usually`
    bool no_faster = false;                 // true if orthogonal groups are no faster at any bound between the two
  };
  // Costs with consecutive groups.
  struct Usual {
    const ShardCosts& costs;
    std::vector<UpdateSums> sums;  // by class, for one state; empty: not yet computed
  };
  std::vector<UpdateSums> update_sums(std::size_t state) const;
  // True if a setting with these values may be faster than the same setting with consecutive groups.
  bool groups_help(Usual& usual, std::size_t weight, std::size_t gradient, std::size_t state) const;
  bool groups_help_updates(Usual& usual, std::size_t weight, std::size_t gradient, std::size_t state) const;
  void erase(Axis axis, std::size_t value);
};

}  // namespace superstep
