// SPDX-License-Identifier: Apache-2.0
// Where the samples go from the operands of one op to its results. Places come as sets: of a micro-batch of one
// sample several dimensions of extent 1 may be the samples' until another operand decides.
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph/samples.h"
#include "model/ops/op.h"

namespace superstep {

using SamplePlaces = std::vector<SamplePlace>;  // ascending
SamplePlaces common(const SamplePlaces& a, const SamplePlaces& b);

// The axes that run over the samples, if they are in one of `dimensions` of operand `k`. An axis is left out when
// a step of it is not one element or a run within one sample: slices, windows, looked-up rows, whole dimensions.
SamplePlaces axes_of_operand(const OpCall& call, const Space& space, std::size_t k, const SamplePlaces& dimensions);

// Those of `dimensions` of operand `k` that one of `axes` runs over.
SamplePlaces dimensions_of_operand(const OpCall& call, const Space& space, std::size_t k,
                                   const SamplePlaces& dimensions, const SamplePlaces& axes);

// The dimensions of result `k` that hold the samples if one of `axes` runs over them.
SamplePlaces dimensions_of_result(const OpCall& call, const Space& space, std::size_t k, const SamplePlaces& axes);

// The same for a reshape: the elements before the samples in `from` are before them in `to`.
SamplePlaces reshaped_dimensions(const Shape& from, const Shape& to, const SamplePlaces& dimensions,
                                 std::int64_t samples);

// Samples are outermost among the reduce axes when they are at `axis`.
bool outermost_reduced(const Space& space, SamplePlace axis);

}  // namespace superstep
