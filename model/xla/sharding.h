// SPDX-License-Identifier: Apache-2.0
// Sharding annotations of a program's parameters.
#pragma once

#include "model/xla/facts.h"
#include "model/xla/hlo_file.h"

namespace superstep::xla_import {

// Into how many parts an annotation cuts each dimension; empty where it cuts none. Throws Error on an annotation of
// another rank.
Extents parts_of(const hlo_file::OpSharding& sharding, const hlo_file::ShapeProto& shape);

// Fills in the degrees that the annotations mean. Throws Error where two inputs are cut into different numbers of parts
// along the samples. Weights may be cut differently: the most parts count.
void add_degrees(const std::string& path, int batch_dimension, ProgramFacts& facts);

}  // namespace superstep::xla_import
