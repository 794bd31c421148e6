// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard_splits.h"

#include <algorithm>
#include <span>

namespace superstep {
namespace {

constexpr int kWhole = -1;    // option: all IPUs do the same
constexpr int kThrough = -2;  // option: partial sums pass through a linear op

int dimension_of(const Projection& projection, int axis) {
  for (std::size_t d = 0; d < projection.size(); ++d) {
    if (projection[d].axis == axis) return static_cast<int>(d);
  }
  return -1;
}

bool in_window(const Space& space, int axis) {
  auto used = [axis](const std::vector<Projection>& operands) {
    for (const Projection& p : operands) {
      for (const DimMap& d : p) {
        if (d.window_axis == axis || (d.axis == axis && d.window_axis >= 0)) return true;
      }
    }
    return false;
  };
  return used(space.in) || used(space.out);
}

// Equal shares of the axis are equal shares of every dimension that follows it: not of one that a slice takes a part
// of, or that a concatenation puts elsewhere.
bool falls_in_shares(const OpCall& call, const Space& space, int axis, std::int64_t parts) {
  const std::int64_t extent = space.axes[static_cast<std::size_t>(axis)].extent;
  const auto all = [&](const std::vector<Projection>& operands, std::span<const TensorInfo> infos) {
    for (std::size_t k = 0; k < operands.size() && k < infos.size(); ++k) {
      for (std::size_t d = 0; d < operands[k].size(); ++d) {
        const DimMap& map = operands[k][d];
        if (map.axis != axis || infos[k].shape == Shape{0}) continue;
        const bool runs = map.stride == 1 || extent % parts == 0;
        if (map.offset != 0 || map.span != map.stride || !runs || extent * map.stride != infos[k].shape[d])
          return false;
      }
    }
    return true;
  };
  return all(space.in, call.in) && all(space.out, call.out);
}

std::vector<int> options(const ShardProblem& p, const OpCall& call, const Space& space,
                         const std::vector<bool>& is_data, int j) {
  std::vector<int> result_options = {kWhole};
  if (p.size(j) == 1) return result_options;
  if (space.linear != 0) result_options.push_back(kThrough);
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    const Axis& axis = space.axes[a];
    if (axis.kind == AxisKind::whole || !divides(axis.extent, p.size(j))) continue;
    if (is_data[a] && !(p.rules.split_activations && j == 0 && axis.extent % p.size(j) == 0)) continue;
    if (axis.kind == AxisKind::reduce && space.reduction == Reduction::none) continue;
    if (in_window(space, static_cast<int>(a)) || !falls_in_shares(call, space, static_cast<int>(a), p.size(j)))
      continue;
    result_options.push_back(static_cast<int>(a));
  }
  return result_options;
}

std::vector<bool> data_axes(const ShardProblem& p, const Space& space, const Op& op) {
  std::vector<bool> is_data(space.axes.size(), false);
  auto mark = [&](const std::vector<Projection>& operands, const std::vector<TensorId>& ids) {
    for (std::size_t k = 0; k < operands.size() && k < ids.size(); ++k) {
      if (!ids[k].valid()) continue;
      const auto& flags = p.facts.data[static_cast<std::size_t>(ids[k].index)];
      for (std::size_t d = 0; d < operands[k].size() && d < flags.size(); ++d) {
        if (operands[k][d].axis >= 0 && flags[d]) is_data[static_cast<std::size_t>(operands[k][d].axis)] = true;
      }
    }
  };
  mark(space.in, op.inputs);
  mark(space.out, op.outputs);
  return is_data;
}

// A Space has bits for 32 operands: those of a longer list, as of concat, are as the 32nd.
bool is_linear_in(const Space& space, std::size_t operand) {
  return (space.linear >> std::min<std::size_t>(operand, 31) & 1U) != 0;
}

void set_need(OpSplit& c, const Space& space, int j, int option) {
  const auto ju = static_cast<std::size_t>(j);
  c.axis[ju] = option >= 0 ? option : -1;
  for (std::size_t k = 0; k < space.in.size(); ++k) {
    std::int8_t need = Sharding::replicated;
    if (option >= 0) {
      const int d = dimension_of(space.in[k], option);
      if (d >= 0) {
        need = static_cast<std::int8_t>(d);
        c.creates[ju] = false;
      }
    } else if (option == kThrough && is_linear_in(space, k)) {
      need = Sharding::partial;
    }
    c.need[k].on[ju] = need;
  }
  for (std::size_t k = 0; k < space.out.size(); ++k) {
    std::int8_t raw = Sharding::replicated;
    if (option == kThrough) raw = Sharding::partial;
    if (option >= 0) {
      const bool contracted = space.axes[static_cast<std::size_t>(option)].kind == AxisKind::reduce;
      const int d = dimension_of(space.out[k], option);
      raw = contracted ? Sharding::partial : (d >= 0 ? static_cast<std::int8_t>(d) : Sharding::replicated);
    }
    c.raw[k].on[ju] = raw;
  }
}

}  // namespace

OpSplits splits_of(const ShardProblem& p, OpId id) {
  const Op& op = p.graph.ops[id];
  const auto& [call, space, extents] = p.facts.uses.of(id);
  const std::vector<bool> is_data =
      op.pass == Pass::update ? std::vector<bool>(space.axes.size(), false) : data_axes(p, space, op);
  OpSplits found{{}, space.reduction};
  for (int first : options(p, *call, space, is_data, 0)) {
    for (int second : options(p, *call, space, is_data, 1)) {
      if (first >= 0 && first == second) continue;
      OpSplit c{
          {-1, -1}, std::vector<Sharding>(space.in.size()), std::vector<Sharding>(space.out.size()), {true, true}, 0};
      set_need(c, space, 0, first);
      set_need(c, space, 1, second);
      OpSharding split;
      split.axis = c.axis;
      if (!op.def->view) c.work = p.work(id, local_extents(extents, split, p.mesh)).value;
      found.splits.push_back(std::move(c));
    }
  }
  return found;
}

}  // namespace superstep
