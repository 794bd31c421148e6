// SPDX-License-Identifier: Apache-2.0
// Values that are written down in a program.
#pragma once

#include "model/xla/writer.h"

namespace superstep::xla_import {

// The elements in the order of the dimensions, whatever their layout. Throws Refusal where there are not as many as the
// shape says, and on types that are not imported.
onnx_file::TensorProto literal_tensor(const hlo_file::LiteralProto& literal);

// A constant. One element, or one that all elements equal, is a known number.
Value literal_value(const hlo_file::LiteralProto& literal, Writer& w);

}  // namespace superstep::xla_import
