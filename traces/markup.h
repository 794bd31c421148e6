// SPDX-License-Identifier: Apache-2.0
// Escaping of text for SVG, HTML and their attributes.
#pragma once

#include <string>

namespace superstep {

// Returns the text with &, <, > and " written as entities.
inline std::string in_markup(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

}  // namespace superstep
