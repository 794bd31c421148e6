// SPDX-License-Identifier: Apache-2.0
// The option --dim NAME=N: values of open dimensions of an ONNX file.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <map>
#include <string>

namespace superstep {

using Dimensions = std::map<std::string, std::int64_t>;

// Adds --dim to a command. Values go to `out`, which must live as long as `sub`.
void add_dimensions(CLI::App& sub, Dimensions& out);

}  // namespace superstep
