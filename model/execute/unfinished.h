// SPDX-License-Identifier: Apache-2.0
// In exact mode: results that lack summands, which other IPUs, replicas or micro-batches have. They are kept unrounded,
// as far as they go, and joined where the program joins them, so that the sum is the plain model's to the last bit.
#pragma once

#include <span>
#include <vector>

#include "model/execute/pieces.h"

namespace superstep {

// What the parts, of one region of one result, have together.
UnfinishedPtr joined(std::span<const UnfinishedPtr> parts);
UnfinishedPtr part_of(const UnfinishedPtr& whole, const Block& region);
UnfinishedPtr put_together(const std::vector<UnfinishedPtr>& pieces, const Block& region);

bool complete(const Unfinished& sums);
// True if all operands are complete.
bool whole_operands(const Unfinished::Applied& applied);
// Of a result that all samples share.
ResultPlace place_of(const Graph& graph, TensorId t);

}  // namespace superstep
