// SPDX-License-Identifier: Apache-2.0
// Pictures of a report's views. The viewer draws the pictures in its own process, because the planner builds without
// Qt.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

namespace superstep {

// Returns the path of the viewer, in the folder of this program. Throws Error if the viewer is not there.
std::filesystem::path viewer_program();

// Writes a view of a report to `out`. `ending` is "svg" or "png". Throws Error with the viewer's message if the viewer
// fails.
void write_picture(const std::filesystem::path& report, const std::string& view, const std::string& ending,
                   std::ostream& out);

}  // namespace superstep
