// SPDX-License-Identifier: Apache-2.0
#include "model/lower/variables.h"

#include <algorithm>
#include <utility>

#include "model/lower/residents.h"

namespace superstep {
namespace {

using NamedParts = std::vector<std::pair<std::string, Bytes>>;

class VariableList {
 public:
  VariableList(const Holdings& h, std::int64_t ipu, std::int64_t phase) : h_(h), ipu_(ipu), phase_(phase) {}
  std::vector<Variable> take() { return std::move(list_); }

  void one(std::string name, std::string_view category, Bytes bytes) {
    if (bytes.value > 0) list_.push_back({std::move(name), category, bytes});
  }
  // `total` in proportion to the parts. Sharded or summed before they were rounded up, they need not sum to it: bytes
  // are dealt out by running sums, so that none is lost.
  void split(std::string_view category, Bytes total, const NamedParts& parts) {
    Bytes all(0), before(0), dealt(0);
    for (const auto& [name, bytes] : parts) all += bytes;
    for (const auto& [name, bytes] : parts) {
      before += bytes;
      const auto upto = static_cast<std::int64_t>(static_cast<__int128>(total.value) * before.value / all.value);
      one(name, category, Bytes(upto) - dealt);
      dealt = Bytes(upto);
    }
    if (all.value == 0) one(std::string(category), category, total);
  }
  void weights(Bytes total) {
    NamedParts parts;
    const GraphFacts& facts = h_.table.facts();
    each_unit([&](std::size_t u) {
      for (TensorId w : facts.weights[u]) add_tensor(parts, w);
      if (!h_.borrows(u, ipu_, phase_)) return;
      for (TensorId w : facts.borrowed[u]) add_tensor(parts, w);
    });
    if (h_.plan.replicated_tensor_sharding.weights > 1 && !h_.plan.phased()) {
      const Bytes largest = largest_weights(h_, ipu_);
      one("weights of the unit that runs, joined", "weights", largest);
      total -= largest;
    }
    split("weights", total, parts);
  }
  void gradients(Bytes total) {
    const bool shards = h_.plan.replicated_tensor_sharding.gradients > 1,
               away = h_.plan.location.gradients != Location::in_processor;
    if (!h_.plan.phased() && (shards || away)) {
      const Bytes largest = std::min(total, largest_gradient(h_, ipu_));
      one("gradients of the unit that runs", "gradients", largest);
      total -= largest;
    }
    if (total.value > 0) split("gradients", total, per_parameter(" gradients", true));
  }
  void optimizer_state(Bytes total) {
    if (total.value > 0) split("optimizer state", total, per_parameter(" optimizer state", false));
  }
  void io(Bytes total) {
    NamedParts parts;
    each_unit([&](std::size_t u) {
      for (TensorId t : h_.table.facts().feeds[u]) add_tensor(parts, t);
      for (TensorId t : h_.table.facts().results[u]) add_tensor(parts, t);
    });
    split("IO", total, parts);
  }
  void stash(Bytes total) {
    static constexpr const char* kNames[] = {" input", " kept for backward", " host input"};
    NamedParts parts;
    for (const StageSpan& s : h_.spans) {
      if (s.ipu != ipu_) continue;
      const std::int64_t depth = stash_depth(h_.plan.schedule, s.from_end);
      const bool elsewhere = h_.plan.location.activations != Location::in_processor;
      const std::int64_t entries = elsewhere ? std::min<std::int64_t>(depth, 2) : depth;
      for (const StashPart& part : h_.stash_parts(s, true)) {
        parts.push_back({unit_name(static_cast<std::size_t>(part.unit)) + kNames[static_cast<std::size_t>(part.kind)] +
                             ", " + std::to_string(entries) + (entries == 1 ? " entry" : " entries"),
                         part.bytes * entries});
      }
    }
    if (total.value > 0) split("stash", total, parts);
  }

 private:
  const Holdings& h_;
  std::int64_t ipu_, phase_;
  std::vector<Variable> list_;

  template <class F>
  void each_unit(F f) const {
    h_.for_units(ipu_, phase_, f);
  }
  std::string unit_name(std::size_t u) const { return h_.table.facts().graph.units[UnitId(u)].name; }
  void add_tensor(NamedParts& parts, TensorId t) const {
    parts.push_back(
        {h_.table.facts().graph.tensors[t].name, per_tile(h_.table.facts(), h_.table.sharding(), t, h_.table.tiles())});
  }
  NamedParts per_parameter(const char* what, bool with_borrowed) const {
    NamedParts parts;
    each_unit([&](std::size_t u) {
      const UnitRow& row = h_.table.row(u);
      const bool borrows = with_borrowed && h_.borrows(u, ipu_, phase_);
      parts.push_back({unit_name(u) + what, Bytes(row.parameters + (borrows ? row.borrowed_parameters : 0))});
    });
    return parts;
  }
};

}  // namespace

std::vector<Variable> resident_variables(const Holdings& h, std::int64_t ipu, std::int64_t phase, const Residents& r) {
  VariableList list(h, ipu, h.plan.phased() ? phase : -1);
  list.weights(r.weights);
  list.gradients(r.gradients);
  list.one("vertex code", "vertex code", r.vertex_code);
  list.one("exchange code", "exchange code", r.exchange_code);
  list.one("control code", "control code", r.control_code);
  list.io(r.io);
  list.one("lent to another IPU", "lent", r.lent);
  list.stash(r.stash);
  // The state of all phases stays, whichever of them runs.
  VariableList state(h, ipu, -1);
  state.optimizer_state(r.optimizer_state);
  std::vector<Variable> all = list.take(), rest = state.take();
  all.insert(all.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return all;
}

}  // namespace superstep
