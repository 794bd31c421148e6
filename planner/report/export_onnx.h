// SPDX-License-Identifier: Apache-2.0
// A report's model as an ONNX file that says where the plan puts its nodes (model/onnx/annotate.h).
#pragma once

#include <iosfwd>

#include "traces/export/formats.h"

namespace superstep {

// The model is built again from the report's job. An ONNX file that the job names is looked for in the current folder,
// then beside the report. Throws Error when it is not there, or when its units are no longer those of the report.
void write_onnx(const exports::ReportPointer& report, const exports::Options& options, std::ostream& out);

}  // namespace superstep
