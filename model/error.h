// SPDX-License-Identifier: Apache-2.0
// Whose fault it is decides the device: the user's (Error), ours (SUPERSTEP_CHECK). An expected
// outcome, such as a plan that does not fit, is a value and never comes here.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace superstep {

// Bad input. `where` is a file with a JSON pointer or byte offset, or a command-line option; the
// message says what was found and what was expected. Caught in exactly two places: the command
// line's main and the viewer's load.
struct Error : std::runtime_error {
  Error(std::string place, const std::string& message)
      : std::runtime_error(place.empty() ? message : place + ": " + message), where(std::move(place)) {}
  std::string where;
};

// A model with ops we do not have, or not where they are asked for: well-formed input that we fail. Exit code 1.
struct Unsupported : Error {
  using Error::Error;
};

// A broken invariant of ours. Exit code 3.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);

// The name in `valid` nearest to `found` by edit distance; empty when none is near enough to be meant.
std::string nearest_name(std::string_view found, std::span<const std::string> valid);
// " (did you mean \"x\"?)", or " (expected one of: a, b)" when nothing is near; empty for no names.
std::string name_hint(std::string_view found, std::span<const std::string> valid);

}  // namespace superstep

#define SUPERSTEP_CHECK(condition, message)                                               \
  do {                                                                                    \
    if (!(condition)) ::superstep::fail_check(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
