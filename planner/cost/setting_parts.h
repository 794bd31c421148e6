// SPDX-License-Identifier: Apache-2.0
// What each value of a field adds to a setting's numbers: settings and bounds on many of them are sums of these.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "planner/cost/setting.h"
#include "planner/space/setting_space.h"

namespace superstep {

// Of two rates; 0, where nothing moves, takes no time at all.
inline bool no_slower(double rate, double than) { return rate == 0 || (than != 0 && rate >= than); }

class SettingParts {
 public:
  SettingParts(const UnitTable& table, const ShardCosts& costs, SettingSpace space, const OptimizerSpec& optimizer)
      : SettingParts(table, table, costs, std::move(space), optimizer) {}
  // Bounds on the settings of a space with several bounds on temporary memory: of a table with the least time of all of
  // them (TableKey::least_proportion), and of the tightest one's, which has the least memory.
  SettingParts(const UnitTable& fastest, const UnitTable& tightest, const ShardCosts& costs, SettingSpace space,
               const OptimizerSpec& optimizer);

  // Leaves out values that another one of the same kind (kind_of()) is no worse than: in each number, in what happens
  // between fields, and in the values of other fields that it goes with. For every cut of a setting with such a value
  // there is one that fits as well and is no slower.
  void drop_dominated();
  // Of a space whose groups matter: leaves out values that no setting is faster with than with consecutive groups,
  // whose collectives cost `usual`; they are settings of another space.
  void drop_idle_groups(const ShardCosts& usual);

  const SettingSpace& space() const { return space_; }
  bool exact() const { return tightest_ == base_.table_; }  // of one table

  // The setting, or of several of them a bound: of each number the least.
  Setting setting(const SettingSpace::Part& part) const;

 private:
  using Axis = SettingSpace::Axis;
  SettingSpace space_;
  const UnitTable* tightest_;           // another one than the base's: all settings are bounds
  Setting base_;                        // what the table and the common fields make
  std::vector<std::size_t> unit_;       // one of each class; its last one is the end
  std::vector<std::int64_t> of_class_;  // units of each class
  // What is added to the numbers of each class, value after value: those that the field adds to class after class.
  // There are none of `loads` and `codes`.
  std::array<std::vector<std::int64_t>, SettingSpace::kAxes> adds_;
  std::vector<std::vector<CodeOfRow>> code_;  // by state: of all passes
  const ShardCosts* costs_;                   // of collectives
  // Where the degrees of weights, gradients and states stand among all; of gradients, as an update finds them.
  std::vector<std::size_t> weight_degree_, gradient_degree_, state_degree_;
  std::vector<LinearCycles> load_;     // by weight
  LinearCycles join_all_, join_rest_;  // shards of a stash, over t and over t2
  struct Accumulators {
    std::int64_t shards = 1;
    double rate = 0;      // bytes per second to where they are; 0: in the processor
    bool joined = false;  // there is a place on each tile for the largest unit's
  };
  std::vector<Accumulators> accumulators_;         // by gradient
  std::array<double, 4> rates_{};                  // by location: see rate()
  std::vector<std::vector<std::int64_t>> update_;  // by state and class: cycles where the state is
  // Of bounds, by state: what updates take with the fastest table and with the tightest, by which states are told
  // apart for all between.
  struct AtEnds {
    std::vector<std::int64_t> numbers;
    std::vector<CodeOfRow> code;
  };
  std::vector<AtEnds> at_ends_;

  // ---- construction
  UnitNumbers base_numbers(std::size_t unit) const;
  UnitNumbers stash_numbers(const Plan& plan, std::size_t unit) const;
  UnitNumbers weight_numbers(const Plan& plan, const LinearCycles& gather, std::size_t unit) const;
  UnitNumbers gradient_numbers(const Plan& plan, const LinearCycles& scatter, std::size_t unit) const;
  // Of training, what those that share a state update: by the base's table and by the tightest.
  struct Updates {
    const UnitTable::Updates *base = nullptr, *tightest = nullptr;
  };
  UnitNumbers state_numbers(const Plan& plan, const Updates& updates, std::int64_t state_bytes, std::size_t unit) const;
  UnitNumbers prefetch_numbers(const Plan& plan, std::size_t unit) const;
  std::size_t added(Axis axis) const;  // by each value
  void tabulate(std::int64_t state_bytes);
  void tabulate_state(const Storage& state, const Updates& updates, std::int64_t state_bytes);
  std::vector<CodeOfRow> code_with(const UnitTable& table, const UnitTable::Updates* updates) const;
  AtEnds at_ends(const Storage& state, const Updates& updates, std::int64_t state_bytes) const;
  const LinearCycles& scatter(std::size_t gradient) const;
  const LinearCycles& reduce(std::size_t state, std::size_t gradient) const;
  const LinearCycles& join(std::size_t state, std::size_t weight) const;
  // Bytes per second from or to outside of the processor; 0: in the processor.
  double rate(Location where) const { return rates_[static_cast<std::size_t>(where)]; }
  std::int64_t streaming(std::int64_t bytes, Location where) const;  // cycles

  // ---- bounds
  void add_least(Setting& setting, Axis axis, const SettingSpace::Part& part) const;
  void add_updates(Setting& setting, const SettingSpace::Part& part) const;
  void set_scalars(Setting& setting, const SettingSpace::Part& part) const;
  struct LeastUpdate {
    bool legal = false;  // the part has degrees that go together with the state's
    double fixed = 0;
    std::vector<std::int64_t> cycles;  // by class
  };
  LeastUpdate least_update(std::size_t state, const SettingSpace::Part& part) const;
  std::int64_t reduce_cycles(std::size_t state, std::size_t gradient, std::size_t unit_class) const;
  std::int64_t join_cycles(std::size_t state, std::size_t weight, std::size_t unit_class) const;
  bool joins_gradients(const Storage& gradient) const;

  // ---- dominance: whether value `a` is no worse than `b`
  bool no_worse(Axis axis, std::size_t a, std::size_t b) const;
  bool no_more(Axis axis, std::size_t a, std::size_t b) const;
  bool no_worse_stash(std::size_t a, std::size_t b) const;
  bool no_worse_weight(std::size_t a, std::size_t b) const;
  bool no_worse_gradient(std::size_t a, std::size_t b) const;
  bool no_worse_state(std::size_t a, std::size_t b) const;
  bool no_worse_code(Location a, Location b) const;
  bool has_lenders() const;
  // Cycles of an update of a unit of a class, where shards are consecutive replicas'.
  struct UpdateSums {
    std::int64_t usually = 0, slowest = 0;  // of the fastest table, and the one with the tightest bound
    std::int64_t more = 0;                  // that orthogonal groups would take beyond `usually`
    bool no_faster = false;                 // orthogonal groups, with whatever bound between the two
  };
  struct Usual {
    const ShardCosts& costs;
    std::vector<UpdateSums> sums;  // by class, of one state; empty: not yet known
  };
  std::vector<UpdateSums> update_sums(std::size_t state) const;
  bool groups_help(Usual& usual, std::size_t weight, std::size_t gradient, std::size_t state) const;
  bool groups_help_updates(Usual& usual, std::size_t weight, std::size_t gradient, std::size_t state) const;
  void erase(Axis axis, std::size_t value);
};

}  // namespace superstep
