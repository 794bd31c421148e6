// SPDX-License-Identifier: Apache-2.0
// Views of a report as pictures, by the viewer in a process of its own: the planner builds without Qt.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

namespace superstep {

// Beside this program. Throws Error where it was not built.
std::filesystem::path viewer_program();

// `ending` is "svg" or "png". Throws Error with what the viewer says.
void write_picture(const std::filesystem::path& report, const std::string& view, const std::string& ending,
                   std::ostream& out);

}  // namespace superstep
