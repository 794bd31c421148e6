// SPDX-License-Identifier: Apache-2.0
#include "op_use.h"

#include <cmath>
#include <set>

#include "model/ops/compute.h"

namespace superstep {

Array random_array(const Operand& operand, std::mt19937& random) {
  Array array(TensorInfo{operand.type, operand.shape});
  std::uniform_real_distribution<double> any(operand.low, operand.high);
  for (std::int64_t i = 0; i < array.info.elements(); ++i) {
    double value = any(random);
    while (is_float(operand.type) && std::abs(value) < 0.1) value = any(random);
    array.set(i, is_float(operand.type) ? value : std::floor(value));
  }
  return array;
}

Call::Call(const OpCase& c, std::uint32_t seed) : def(*find_op(c.op)), attrs(c.attrs) {
  for (const AttrSpec& spec : def.attrs) {
    if (!attrs.find(spec.name)) attrs.set(std::string(spec.name), spec.fallback);
  }
  std::mt19937 random(seed);
  for (const Operand& operand : c.operands) {
    values.push_back(random_array(operand, random));
    in.push_back(values.back().info);
  }
  constants.assign(in.size(), nullptr);
  out = def.infer(call());
}

std::vector<Array> Call::evaluate(const std::vector<Array>& operands) const {
  std::vector<const Array*> pointers;
  for (const Array& operand : operands) pointers.push_back(&operand);
  return evaluate_op(call(), pointers, context());
}

Array cut(const Array& whole, const Block& region) {
  Shape shape;
  for (const Range& r : region) shape.push_back(r.extent());
  Array part(TensorInfo{whole.info.type, shape});
  each_element(region, whole.info.shape, [&](std::int64_t i, std::int64_t at) { part.set(i, whole.at(at)); });
  return part;
}

Parts::Parts(const Call& c, const Space& space, const Block& block) {
  std::vector<Block> regions;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    regions.push_back(project(space.in[i], c.in[i].shape, block));
    values.push_back(cut(c.values[i], regions[i]));
  }
  for (std::size_t i = 0; i < c.in.size(); ++i) views.push_back(view_of(values[i], regions[i]));
}

std::vector<std::vector<Range>> random_grid(const Space& space, std::mt19937& random, bool cut_reductions) {
  std::vector<std::vector<Range>> grid;
  for (const Axis& axis : space.axes) {
    std::set<std::int64_t> cuts{0, axis.extent};
    const bool may = axis.kind == AxisKind::parallel || (axis.kind == AxisKind::reduce && cut_reductions);
    for (int i = 0; may && axis.extent > 1 && i < 2; ++i) {
      cuts.insert(std::uniform_int_distribution<std::int64_t>(1, axis.extent - 1)(random));
    }
    grid.emplace_back();
    for (auto at = cuts.begin(); std::next(at) != cuts.end(); ++at) grid.back().push_back({*at, *std::next(at)});
  }
  return grid;
}

std::vector<Block> blocks_of(const std::vector<std::vector<Range>>& grid) {
  std::vector<Block> blocks{{}};
  for (const std::vector<Range>& ranges : grid) {
    std::vector<Block> next;
    for (const Block& block : blocks) {
      for (const Range& range : ranges) {
        next.push_back(block);
        next.back().push_back(range);
      }
    }
    blocks = std::move(next);
  }
  return blocks;
}

}  // namespace superstep
