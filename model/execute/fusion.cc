// SPDX-License-Identifier: Apache-2.0
#include "model/execute/fusion.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace superstep {

namespace {

constexpr std::int64_t kSmall = 1 << 15;  // elements that are not worth a slice

// The axis that a dimension follows one to one.
std::optional<std::size_t> axis_followed(const DimMap& map, std::int64_t extent, const Space& space) {
  if (map.axis < 0 || map.stride != 1 || map.span != 1 || map.offset != 0 || map.window_axis >= 0) return {};
  const auto axis = static_cast<std::size_t>(map.axis);
  return space.axes[axis].extent == extent ? std::optional(axis) : std::nullopt;
}

std::optional<std::size_t> dimension_of(const Projection& projection, const Shape& shape, const Space& space,
                                        std::size_t axis) {
  for (std::size_t d = 0; d < projection.size(); ++d)
    if (axis_followed(projection[d], shape[d], space) == axis) return d;
  return {};
}

// Contractions have blocks of their own for the cache; fp16 is rounded in a pass of its own.
bool can_be_fused(const OpCall& call) {
  return call.def.core && call.out.size() == 1 && call.out[0].type != DType::fp16 &&
         call.def.summation != Summation::contraction;
}

class Fuser {
 public:
  Fuser(const Graph& graph, const std::vector<OpId>& ops) : graph_(graph), ops_(ops), placed_(ops.size()) {}

  std::vector<Fusion> run() {
    std::vector<Fusion> steps;
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      if (placed_[i]) continue;
      const Attempt best = best_from(i);
      for (std::size_t j : best.before) steps.push_back({{ops_[j]}});
      steps.push_back(best.fusion);
      for (const auto& some : {best.before, best.members})
        for (std::size_t j : some) placed_[j] = true;
    }
    return steps;
  }

 private:
  struct Attempt {
    Fusion fusion;
    std::vector<std::size_t> members, before;  // places in ops_; ops to run first
  };
  const Graph& graph_;
  const std::vector<OpId>& ops_;
  std::vector<bool> placed_;
  std::map<OpId, std::optional<Space>> spaces_;  // none: it can not be fused

  const std::optional<Space>& space_of(OpId op) {
    const auto [at, is_new] = spaces_.try_emplace(op);
    if (is_new) {
      const CallOf call(graph_, op);
      if (can_be_fused(*call)) at->second = call->def.space(*call);
    }
    return at->second;
  }

  std::int64_t largest_of(OpId op) const {
    std::int64_t most = 0;
    for (const auto& side : {graph_.ops[op].inputs, graph_.ops[op].outputs})
      for (TensorId t : side)
        if (t.valid()) most = std::max(most, graph_.info(t).elements());
    return most;
  }

  // The axis that gives the longest fusion.
  Attempt best_from(std::size_t first) {
    Attempt best{{{ops_[first]}}, {first}, {}};
    if (largest_of(ops_[first]) < kSmall || !space_of(ops_[first])) return best;
    for (std::size_t axis = 0; axis < space_of(ops_[first])->axes.size(); ++axis) {
      Attempt attempt = gather(first, axis);
      if (attempt.fusion.size() > best.fusion.size()) best = std::move(attempt);
    }
    return best;
  }

  // What follows the first op until something large that takes no part.
  Attempt gather(std::size_t first, std::size_t axis) {
    std::map<TensorId, std::size_t> cut;  // results, and which dimension of them
    std::set<TensorId> later;             // what is known after the fusion only
    Attempt attempt;
    const auto reads = [&](const Op& op, const auto& some) {
      return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return some.contains(t); });
    };
    for (std::size_t i = first; i < ops_.size(); ++i) {
      if (placed_[i]) continue;
      const Op& op = graph_.ops[ops_[i]];
      const bool waits = reads(op, later);
      if (i > first) axis = axis_of(ops_[i], cut).value_or(kNone);
      const std::optional<std::size_t> dimension = waits || axis == kNone ? std::nullopt : cut_result(ops_[i], axis);
      if (dimension) {
        cut[op.outputs[0]] = *dimension;
        attempt.fusion.push_back({ops_[i], axis});
        attempt.members.push_back(i);
      } else if (i == first || largest_of(ops_[i]) >= kSmall) {
        break;
      } else if (waits || reads(op, cut)) {
        later.insert(op.outputs.begin(), op.outputs.end());
      } else {
        attempt.before.push_back(i);
      }
    }
    // Those after the last member need not go before it.
    while (!attempt.before.empty() && attempt.before.back() > attempt.members.back()) attempt.before.pop_back();
    return attempt;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // The axis of an op that all its cut operands follow.
  std::optional<std::size_t> axis_of(OpId op, const std::map<TensorId, std::size_t>& cut) {
    const std::optional<Space>& space = space_of(op);
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; space && i < graph_.ops[op].inputs.size(); ++i) {
      const auto at = cut.find(graph_.ops[op].inputs[i]);
      if (at == cut.end()) continue;
      const std::int64_t extent = graph_.info(at->first).shape[at->second];
      const std::optional<std::size_t> followed = axis_followed(space->in[i][at->second], extent, *space);
      if (!followed || (axis && axis != followed)) return {};
      axis = followed;
    }
    return axis;
  }

  // The dimension of the result of an op that its axis cuts, if it may.
  std::optional<std::size_t> cut_result(OpId op, std::size_t axis) {
    const std::optional<Space>& space = space_of(op);
    if (!space || space->axes[axis].kind != AxisKind::parallel || space->axes[axis].extent < 2) return {};
    return dimension_of(space->out[0], graph_.info(graph_.ops[op].outputs[0]).shape, *space, axis);
  }
};

}  // namespace

std::vector<Fusion> fuse(const Graph& graph, const std::vector<OpId>& ops) { return Fuser(graph, ops).run(); }

}  // namespace superstep
