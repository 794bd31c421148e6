// SPDX-License-Identifier: Apache-2.0
// Cells of CSV (RFC 4180), the same for what the command line and the viewer write.
#pragma once

#include <string>
#include <string_view>

namespace superstep::exports {

std::string csv_cell(std::string_view text);  // quoted where it must be
std::string csv_cell(double value);           // as many digits as tell it from its neighbours

}  // namespace superstep::exports
