// SPDX-License-Identifier: Apache-2.0
// Cells of CSV (RFC 4180), shared by the command line and the viewer.
#pragma once

#include <string>
#include <string_view>

namespace superstep::exports {

std::string csv_cell(std::string_view text);  // quoted if the text has a comma, a quote or a line break
std::string csv_cell(double value);           // the fewest digits that read back as the same number

}  // namespace superstep::exports
