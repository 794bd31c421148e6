// SPDX-License-Identifier: Apache-2.0
// Follows the samples of a micro-batch through one op, from dimensions of operands over axes to dimensions of results.
// Places come as sets. In a micro-batch of one sample, several dimensions of extent 1 may hold the sample until another
// operand decides.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/op_def.h"
#include "model/graph/sample_place.h"

namespace superstep {

using SamplePlaces = std::vector<SamplePlace>;  // ascending, without repetition
// Returns the places in both sets.
SamplePlaces common(const SamplePlaces& a, const SamplePlaces& b);

// Returns the axes that run over the samples if one of `dimensions` of operand `k` holds the samples. An axis counts
// only if each of its steps is one element, or a run within one sample. Slices, windows, looked-up rows and whole
// dimensions therefore give no axis.
SamplePlaces axes_of_operand(const OpCall& call, const Space& space, std::size_t k, const SamplePlaces& dimensions);

// Returns the subset of `dimensions` of operand `k` that one of `axes` runs over.
SamplePlaces dimensions_of_operand(const OpCall& call, const Space& space, std::size_t k,
                                   const SamplePlaces& dimensions, const SamplePlaces& axes);

// Returns the dimensions of result `k` that hold the samples if one of `axes` runs over the samples.
SamplePlaces dimensions_of_result(const OpCall& call, const Space& space, std::size_t k, const SamplePlaces& axes);

// Returns the dimensions of a reshaped tensor that hold the samples if one of `dimensions` of the operand does. A
// reshape keeps the row-major order, so as many elements lie before the samples in `to` as in `from`.
SamplePlaces reshaped_dimensions(const Shape& from, const Shape& to, const SamplePlaces& dimensions,
                                 std::int64_t samples);

// True if samples at `axis` are outermost among the reduce axes.
bool outermost_reduced(const Space& space, SamplePlace axis);

}  // namespace superstep
