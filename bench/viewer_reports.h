// SPDX-License-Identifier: Apache-2.0
// Reports as large as any that the viewer must open, made up but whole.
#pragma once

#include <cstdint>
#include <filesystem>

namespace superstep {

// Four IPUs, each of which calls functions of 10,000 steps one after another: `steps` slices of the trace in all.
void write_long_trace(const std::filesystem::path& path, std::int64_t steps);

// One IPU of 1472 tiles, in three to nine classes that differ from phase to phase.
void write_wide_heat_map(const std::filesystem::path& path, std::int64_t phases);

}  // namespace superstep
