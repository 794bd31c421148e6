// SPDX-License-Identifier: Apache-2.0
// A use of an op on values, outside of any graph, and ways to cut it into blocks.
#pragma once

#include <random>
#include <vector>

#include "model/execute/evaluate.h"
#include "op_cases.h"

namespace superstep {

Array random_array(const Operand& operand, std::mt19937& random);

struct Call {
  const OpDef& def;
  Attributes attrs;
  std::vector<TensorInfo> in, out;
  std::vector<Array> values;
  std::vector<const Array*> constants;

  Call(const OpCase& c, std::uint32_t seed);
  OpCall call() const { return {def, attrs, in, out, constants}; }
  std::vector<Array> evaluate(const std::vector<Array>& operands) const;
  static KernelContext context() { return {.seed = 5, .step = 3, .first_sample = 8}; }
};

// Copies between a whole tensor and one region of it.
template <class Copy>
void each_element(const Block& region, const Shape& shape, Copy copy) {
  const std::int64_t n = volume(region);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t rest = i, whole = 0, step = 1;
    for (std::size_t d = region.size(); d-- > 0;) {
      const std::int64_t extent = region[d].extent();
      whole += (region[d].begin + rest % extent) * step;
      rest /= extent;
      step *= shape[d];
    }
    copy(i, whole);
  }
}
Array cut(const Array& whole, const Block& region);

// The parts of a call's operands that a block reads, and views of them.
struct Parts {
  std::vector<Array> values;
  std::vector<ConstView> views;
  Parts(const Call& c, const Space& space, const Block& block);
};

// Ranges that cover each axis; whole axes in one.
std::vector<std::vector<Range>> random_grid(const Space& space, std::mt19937& random, bool cut_reductions);
std::vector<Block> blocks_of(const std::vector<std::vector<Range>>& grid);

}  // namespace superstep
