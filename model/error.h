// SPDX-License-Identifier: Apache-2.0
// Exceptions: Error for a fault of the user's input, InternalError (SUPERSTEP_CHECK) for a fault of the program. An
// expected outcome, such as a plan that does not fit, is a return value and never an exception.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace superstep {

// Error in the user's input. `where` is a file with a JSON pointer or byte offset, or a command-line option. The
// message says what was found and what was expected. The command line ends with exit code 2.
struct Error : std::runtime_error {
  Error(std::string place, const std::string& message)
      : std::runtime_error(place.empty() ? message : place + ": " + message), where(std::move(place)) {}
  std::string where;
};

// Well-formed input that Superstep cannot handle: a model with an op that Superstep lacks, or a plan that an export
// target cannot express. The command line ends with exit code 1.
struct Unsupported : Error {
  using Error::Error;
};

// A broken invariant of the program. The command line ends with exit code 3.
struct InternalError : std::logic_error {
  using std::logic_error::logic_error;
};

// Throws InternalError for SUPERSTEP_CHECK, with file, line, message and the condition that failed.
[[noreturn]] void fail_check(const char* condition, const char* file, int line, const std::string& message);

// Returns the name in `valid` nearest to `found` by edit distance, else a name that contains `found`. Empty: no name is
// near enough to be meant.
std::string nearest_name(std::string_view found, std::span<const std::string> valid);
// Returns " (did you mean \"x\"?)", or " (expected one of: a, b)" when no name is near. Empty if `valid` is empty.
std::string name_hint(std::string_view found, std::span<const std::string> valid);

}  // namespace superstep

// Throws InternalError with the message unless the condition holds.
#define SUPERSTEP_CHECK(condition, message)                                               \
  do {                                                                                    \
    if (!(condition)) ::superstep::fail_check(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
