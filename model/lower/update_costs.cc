// SPDX-License-Identifier: Apache-2.0
#include "model/lower/update_costs.h"

#include <algorithm>

#include "model/graph/op_def.h"
#include "model/hash.h"

namespace superstep {
namespace {

// Numbers in the order they are added; tensors by their first occurrence.
class Signature {
 public:
  explicit Signature(std::uint64_t from) : hash_(from) {}
  void add(std::int64_t v) { hash_ = mix(hash_, static_cast<std::uint64_t>(v)); }
  void add(TensorId t) { add(t.valid() ? number_.emplace(t, std::ssize(number_)).first->second : -1); }
  void add(const std::array<std::int8_t, 2>& on) { add(on[0]), add(on[1]); }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_;
  std::unordered_map<TensorId, std::int64_t> number_;
};

}  // namespace

CapParts update_slices(Bytes result, GroupShape group, Bytes temporary_cap) {
  return parts_within(4 * share(result, group.size), temporary_cap);
}

UpdateWork::UpdateWork(const UnitContext& c, UnitId unit) {
  const Graph& g = c.facts.graph;
  Signature s(c.facts.update_signatures[static_cast<std::size_t>(unit.index)]);
  s.add(c.sharding.mesh.t1), s.add(c.sharding.mesh.t2);
  const auto add_tensor = [&](TensorId t) {
    if (!t.valid()) return;
    s.add(c.facts.root(t));  // memory is held by what is viewed
    s.add(c.facts.sharding.replaces[static_cast<std::size_t>(t.index)]);
    s.add(c.facts.leaves_unit[static_cast<std::size_t>(t.index)]);
    s.add(c.sharding.of(t).on);
  };
  for (OpId id : g.units[unit].ops[static_cast<std::size_t>(Pass::update)]) {
    const Op& op = g.ops[id];
    const OpSharding& split = c.sharding.of(id);
    s.add(split.axis[0]), s.add(split.axis[1]);
    if (!split.conversions.empty()) s.add(c.rank_stride);
    for (const Conversion& v : split.conversions)
      s.add(static_cast<std::int64_t>(v.kind)), s.add(v.mesh), s.add(v.bytes.value), s.add(v.operand);
    for (TensorId t : op.inputs) add_tensor(t);
    for (TensorId t : op.outputs) add_tensor(t);
    plans_products_ = plans_products_ || op.def->product;
    if (!op.outputs.empty()) results_.push_back(per_tile(c.facts, c.sharding, op.outputs[0], c.tiles));
  }
  s.add(static_cast<std::int64_t>(c.partials));
  base_ = s.value();
}

std::uint64_t UpdateWork::signature(GroupShape group, const UnitContext& c) const {
  Signature s(base_);
  s.add(group.size), s.add(group.stride);
  for (Bytes result : results_) s.add(update_slices(result, group, c.slice_cap(c.temporary_cap)).parts);
  if (plans_products_) s.add(c.temporary_cap.value), s.add(c.least_time_of.least);
  return s.value();
}

std::vector<const UpdateCost*> UpdateCosts::get(std::span<const std::uint64_t> signatures,
                                                const std::function<UpdateCost(std::size_t)>& make) {
  std::vector<Entry*> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t s : signatures) entries.push_back(&entries_[s]);  // nodes stay put
  }
  for (const bool waits : {false, true}) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      Entry& e = *entries[i];
      if (e.made) continue;
      std::unique_lock lock(e.making, std::defer_lock);
      if (waits)
        lock.lock();
      else if (!lock.try_lock())
        continue;
      if (e.made) continue;
      e.cost = make(i);
      e.made = true;
    }
  }
  std::vector<const UpdateCost*> out;
  for (const Entry* e : entries) out.push_back(&e->cost);
  return out;
}

}  // namespace superstep
