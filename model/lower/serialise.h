// SPDX-License-Identifier: Apache-2.0
// Plan::serialisation: which ops a factor runs in parts, and along which axes that is possible.
//
// embedding: lookups in weight tables and their gradients, in parts of the features. head: products with the unit's
// largest weight. attention: products of activations with each other (scores, context). feed_forward: all products.
// Products run in parts of their columns or of their contraction, gradients of weights in parts of their columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/lower/lower_unit.h"

namespace superstep {

constexpr std::int64_t kMostParts = 4096;  // that a factor may ask for

// In how many parts the op is to run; 0: the tile planner decides.
std::int64_t forced_parts(const GraphFacts& facts, const Serialisation& factors, OpId op);

// The axis of a lookup's space that its parts cut.
std::size_t feature_axis(const Space& space);

// The factors from `least` to `most` that a kind of op, as plans name it, can have on one IPU. What one IPU cannot run
// in equal parts, shares of several cannot be either.
std::vector<std::int64_t> possible_factors(const GraphFacts& facts, std::string_view kind, std::int64_t least,
                                           std::int64_t most);

// Why the factors cannot be had, in words; empty: they can.
std::string check_serialisation(const GraphFacts& facts, const Plan& plan);

}  // namespace superstep
