// SPDX-License-Identifier: Apache-2.0
// What the op files share for inference and iteration spaces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep::ops {

// Returns the name of an axis, "d0", "d1", ..., by a small letter and a number. Throws Error for a number above 63.
std::string_view axis_name(char letter, std::size_t number);

// NumPy broadcasting; throws Error when the shapes do not go together.
Shape broadcast(const Shape& a, const Shape& b);

// How an operand of `shape` follows axes that are the dimensions of `space` (aligned at the end;
// extents of 1 stay where they are).
Projection aligned(const Shape& shape, const Shape& space);

// One parallel axis per dimension, dimension d following axis first + d.
std::vector<Axis> axes_of(const Shape& shape, char letter = 'd', AxisKind kind = AxisKind::parallel);
Projection identity(std::size_t rank, int first_axis = 0);

// An axis counted from the end when negative; throws Error when out of range.
std::int64_t resolve_axis(std::int64_t axis, std::size_t rank);

DType parse_type(const std::string& name);  // throws Error

// Of products: linear in each operand by itself.
bool linear_in_one(const OpCall& call, std::uint32_t set);

// A result that has the operand's type and shape.
std::vector<TensorInfo> same_as_first(const OpCall& call);

}  // namespace superstep::ops
