// SPDX-License-Identifier: Apache-2.0
// Where the samples go from the operands of one op to its results. Dimensions and axes come as sets, one bit each:
// of a micro-batch of one sample several dimensions of extent 1 may be the samples' until another operand decides.
#pragma once

#include <cstdint>

#include "model/ops/op.h"

namespace superstep {

using DimensionSet = std::uint64_t;

// The space of an op, with an axis also for leading dimensions of matrix products that have extent 1.
Space space_with_unit_axes(const OpCall& call);

// Axes that run over the samples, if they are in one of `dimensions` of operand `k`. An axis is left out when a
// step of it is not one sample or a run within one: slices, windows, looked-up rows, dimensions taken as a whole.
DimensionSet sample_axes(const OpCall& call, const Space& space, std::size_t k, DimensionSet dimensions);

// The dimensions of operand `k` whose axis is in `axes`.
DimensionSet dimensions_on(const OpCall& call, const Space& space, std::size_t k, DimensionSet dimensions,
                           DimensionSet axes);

// The dimensions of result `k` that hold the samples if one of `axes` runs over them.
DimensionSet result_dimensions(const OpCall& call, const Space& space, std::size_t k, DimensionSet axes);

// The same for a reshape, in which samples stay outermost: what lies before them in `from` lies before them in `to`.
DimensionSet reshaped_dimensions(const Shape& from, const Shape& to, DimensionSet dimensions, std::int64_t samples);

// Samples are outermost among the reduce axes when `axis` runs over them.
bool outermost_reduced(const Space& space, int axis);

}  // namespace superstep
