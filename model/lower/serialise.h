// SPDX-License-Identifier: Apache-2.0
// Plan::serialisation: the ops that each factor runs in parts, and the axes that the parts cut.
//
// embedding: look-ups in weight tables and their gradients, in parts of the features. head: products with the unit's
// largest weight. attention: products of activations with each other (scores, context). feed_forward: all products.
// Products run in parts of their columns or of their contraction, gradients of weights in parts of their columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/lower/unit_context.h"

namespace superstep {

constexpr std::int64_t kMostParts = 4096;  // largest factor that a plan may have

// Returns the number of parts in which the plan runs the op; 0: the tile planner decides.
std::int64_t forced_parts(const GraphFacts& facts, const Serialisation& factors, OpId op);

// Returns the axis of a look-up's space that parts cut.
std::size_t feature_axis(const Space& space);

// Returns the factors from `least` to `most` that are possible for a kind of op without tensor parallelism. `kind` is
// the name of a field of Serialisation. A factor that is impossible on one IPU is impossible for shares of several IPUs
// too.
std::vector<std::int64_t> possible_factors(const GraphFacts& facts, std::string_view kind, std::int64_t least,
                                           std::int64_t most);

// Returns why a factor of the plan is impossible, in words; empty: all are possible.
std::string check_serialisation(const GraphFacts& facts, const Plan& plan);

}  // namespace superstep
