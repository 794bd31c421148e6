// SPDX-License-Identifier: Apache-2.0
// The op families, one file each, for registry.cc.
#pragma once

#include <vector>

#include "model/graph/op_def.h"

namespace superstep::ops {

std::vector<const OpDef*> unary_ops();
std::vector<const OpDef*> binary_ops();
std::vector<const OpDef*> random_ops();
std::vector<const OpDef*> reduce_ops();
std::vector<const OpDef*> matmul_ops();
std::vector<const OpDef*> layout_ops();
std::vector<const OpDef*> join_ops();
std::vector<const OpDef*> gather_ops();
std::vector<const OpDef*> pick_ops();
std::vector<const OpDef*> conv_ops();
std::vector<const OpDef*> pool_ops();
std::vector<const OpDef*> scatter_ops();
std::vector<const OpDef*> sample_ops();
std::vector<const OpDef*> rare_ops();

}  // namespace superstep::ops
