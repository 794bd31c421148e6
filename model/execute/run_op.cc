// SPDX-License-Identifier: Apache-2.0
#include "model/execute/run_op.h"

#include "model/error.h"
#include "model/execute/compute.h"

namespace superstep {

namespace {

void fill(Array& array, double value) {
  for (std::int64_t i = 0; i < array.info.elements(); ++i) array.set(i, value);
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

bool contains(const Block& outer, const Block& inner) {
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (inner[d].begin < outer[d].begin || inner[d].end > outer[d].end) return false;
  }
  return true;
}

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
  std::vector<Local> read, written;
  std::vector<ConstView> in;
  std::vector<View> out;
  for (std::size_t k = 0; k < call.in.size(); ++k) {
    if (given[k])
      read.push_back(tile_copy(operands[k], call.in[k], project(space.in[k], call.in[k].shape, block)));
    else
      read.emplace_back();
  }
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    written.push_back(poisoned(call.out[k].type, project(space.out[k], call.out[k].shape, block)));
    if (space.reduction != Reduction::none) fill(written.back().values, identity_of(space.reduction));
  }
  for (std::size_t k = 0; k < read.size(); ++k) {
    in.push_back(given[k] ? ConstView{call.in[k].type, read[k].region, read[k].values.data.data()} : ConstView{});
  }
  for (Local& w : written) out.push_back({w.values.info.type, w.region, w.values.data.data()});
  call.def.kernel(call, block, in, out, context);
  return written;
}

// What arrives of a block whose tile does not exist.
std::vector<Local> lost_block(const OpCall& call, const Space& space, const Block& block) {
  std::vector<Local> lost;
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    lost.push_back(poisoned(call.out[k].type, project(space.out[k], call.out[k].shape, block)));
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
    results.emplace_back(poisoned(call.out[k].type, project(space.out[k], call.out[k].shape, mine)));
  }
  for (const TileBlock& t : blocks) {
    const bool lost = t.tile >= tiles || lacks_integers(call, space, t.block, operands, given);
    const std::vector<Local> parts =
        lost ? lost_block(call, space, t.block) : run_block(call, space, t.block, operands, given, context);
    for (std::size_t k = 0; k < parts.size(); ++k) results[k].take(parts[k], space.reduction);
  }
  std::vector<Local> out;
  for (Meeting& m : results) out.push_back(std::move(m.values));
  return out;
}

}  // namespace superstep
