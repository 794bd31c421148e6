// SPDX-License-Identifier: Apache-2.0
#include "model/execute/run_op.h"

#include "model/error.h"
#include "model/ops/compute.h"

namespace superstep {

namespace {

// The type in which tiles hold what they have of a result.
DType partial_type(const OpCall& call, const Space& space, DType result, const KernelContext& context) {
  if (space.reduction == Reduction::none || result != DType::fp16) return result;
  const bool half = call.def.product && context.partials == numerics::Partials::fp16;
  return half || call.def.summation == Summation::plain ? DType::fp16 : DType::fp32;
}

// Where tiles' results meet: the first to come is taken, the others are combined with it.
struct Meeting {
  Local values;
  std::vector<bool> written;

  explicit Meeting(Local empty)
      : values(std::move(empty)), written(static_cast<std::size_t>(values.values.info.elements())) {}

  void take(const Local& part, Reduction reduction) {
    for_common(part, values, [&](std::int64_t from, std::int64_t to, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(to + i);
        const double value = part.values.at(from + i);
        values.values.set(to + i, written[at] ? combined(values.values.at(to + i), value, reduction) : value);
        written[at] = true;
      }
    });
  }
};

Local tile_copy(const LocalPtr& operand, const TensorInfo& info, const Block& region) {
  Local buffer = poisoned(info.type, region);
  if (operand) copy_overlap(*operand, buffer);
  return buffer;
}

// Integers have no NaN: a block that lacks some of them is lost.
bool lacks_integers(const OpCall& call, const Space& space, const Block& block, const std::vector<LocalPtr>& operands,
                    const std::vector<bool>& given) {
  for (std::size_t k = 0; k < call.in.size(); ++k) {
    if (!given[k] || is_float(call.in[k].type)) continue;
    const Block region = project(space.in[k], call.in[k].shape, block);
    if (volume(region) > 0 && (!operands[k] || !contains(operands[k]->region, region))) return true;
  }
  return false;
}

std::vector<Local> run_block(const OpCall& call, const Space& space, const Block& block,
                             const std::vector<LocalPtr>& operands, const std::vector<bool>& given,
                             const KernelContext& context) {
  std::vector<Local> read(call.in.size());
  std::vector<ConstView> in(call.in.size());
  for (std::size_t k = 0; k < call.in.size(); ++k) {
    if (!given[k]) continue;
    read[k] = tile_copy(operands[k], call.in[k], project(space.in[k], call.in[k].shape, block));
    in[k] = view_of(read[k].values, read[k].region);
  }
  const auto region_of = [&](std::size_t k) { return project(space.out[k], call.out[k].shape, block); };
  std::vector<Local> written;
  if (partial_type(call, space, call.out[0].type, context) == DType::fp32 && call.out[0].type == DType::fp16) {
    written.push_back({{}, region_of(0), compute_node(call, space, block, in, context), nullptr});
    return written;
  }
  std::vector<Array> values = compute_block(call, space, block, in, context);
  for (std::size_t k = 0; k < values.size(); ++k) written.push_back({{}, region_of(k), std::move(values[k]), nullptr});
  return written;
}

// What arrives of a block whose tile does not exist.
std::vector<Local> lost_block(const OpCall& call, const Space& space, const Block& block,
                              const KernelContext& context) {
  std::vector<Local> lost;
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    lost.push_back(poisoned(partial_type(call, space, call.out[k].type, context),
                            project(space.out[k], call.out[k].shape, block)));
  }
  return lost;
}

}  // namespace

Block rank_block(const Space& space, const OpSharding& sharding, TensorParallel mesh, std::int64_t rank) {
  Block block;
  for (const Axis& axis : space.axes) block.push_back({0, axis.extent});
  for (int j = 0; j < 2; ++j) {
    const int a = sharding.axis[static_cast<std::size_t>(j)];
    if (a < 0) continue;
    Range& range = block[static_cast<std::size_t>(a)];
    range = share_of(range, place_on(mesh, rank, j), j == 0 ? mesh.t1 : mesh.t2);
  }
  return block;
}

std::vector<Sharding> raw_results(const Space& space, const OpSharding& sharding) {
  std::vector<Sharding> raw(space.out.size());
  for (std::size_t j = 0; j < 2; ++j) {
    const int axis = sharding.axis[j];
    bool through = false;
    for (const Sharding& s : sharding.in) through = through || s.on[j] == Sharding::partial;
    const bool contracted = axis >= 0 && space.axes[static_cast<std::size_t>(axis)].kind == AxisKind::reduce;
    for (std::size_t k = 0; k < raw.size(); ++k) {
      if (contracted || (axis < 0 && through)) raw[k].on[j] = Sharding::partial;
      for (std::size_t d = 0; axis >= 0 && !contracted && d < space.out[k].size(); ++d) {
        if (space.out[k][d].axis == axis && raw[k].on[j] < 0) raw[k].on[j] = static_cast<std::int8_t>(d);
      }
    }
  }
  return raw;
}

std::vector<Local> run_tiles(const OpCall& call, const Space& space, const Block& mine,
                             const std::vector<TileBlock>& blocks, std::int64_t tiles,
                             const std::vector<LocalPtr>& operands, const KernelContext& context) {
  std::vector<bool> given;
  for (std::size_t k = 0; k < call.in.size(); ++k) given.push_back(call.in[k].shape != Shape{0});
  std::vector<Meeting> results;
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    results.emplace_back(
        poisoned(partial_type(call, space, call.out[k].type, context), project(space.out[k], call.out[k].shape, mine)));
  }
  for (const TileBlock& t : blocks) {
    const bool lost = t.tile >= tiles || lacks_integers(call, space, t.block, operands, given);
    const std::vector<Local> parts =
        lost ? lost_block(call, space, t.block, context) : run_block(call, space, t.block, operands, given, context);
    for (std::size_t k = 0; k < parts.size(); ++k) results[k].take(parts[k], space.reduction);
  }
  std::vector<Local> out;
  for (std::size_t k = 0; k < results.size(); ++k) {
    Local& all = results[k].values;
    if (all.values.info.type != call.out[k].type)
      all.values = rounded(all.values, call.out[k].type, all.region, k, context);
    out.push_back(std::move(all));
  }
  return out;
}

}  // namespace superstep
