// SPDX-License-Identifier: Apache-2.0
// Export of a report's model as an ONNX file that records where the plan puts each node (model/onnx/annotate.h).
#pragma once

#include <iosfwd>

#include "traces/export/formats.h"

namespace superstep {

// Writes the model, built anew from the report's job. An ONNX file that the job names is looked for in the current
// folder, then beside the report. Throws Error if the file is missing or if its units differ from the report's units.
void write_onnx(const exports::ReportPointer& report, const exports::Options& options, std::ostream& out);

}  // namespace superstep
