// SPDX-License-Identifier: Apache-2.0
#include "model/error.h"

#include <algorithm>
#include <vector>

namespace superstep {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": " + message + " (" + condition + ")");
}

std::string nearest_name(std::string_view found, std::span<const std::string> valid) {
  // A third of the letters may be wrong; beyond that a suggestion is more often noise than help. Longer text is no
  // mistyped name, and would only cost time.
  if (found.size() > 100) return "";
  std::size_t best = std::max<std::size_t>(1, found.size() / 3) + 1;
  std::string nearest;
  for (const std::string& name : valid) {
    const std::size_t distance = edit_distance(found, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  if (!nearest.empty() || found.size() < 4) return nearest;
  // A part of a name is meant too: "pod16" for "ipu-pod16".
  for (const std::string& name : valid) {
    if (name.find(found) != std::string::npos) return name;
  }
  return "";
}

std::string name_hint(std::string_view found, std::span<const std::string> valid) {
  if (valid.empty()) return "";
  const std::string nearest = nearest_name(found, valid);
  if (!nearest.empty()) return " (did you mean \"" + nearest + "\"?)";
  std::string hint = " (expected one of: ";
  for (std::size_t i = 0; i < valid.size(); ++i) hint += (i == 0 ? "" : ", ") + valid[i];
  return hint + ")";
}

}  // namespace superstep
