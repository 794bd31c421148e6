// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/dimensions.h"

#include <charconv>

namespace superstep {

void add_dimensions(CLI::App& sub, Dimensions& out) {
  const auto read = [&out](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const bool is_number =
        equals != std::string::npos && equals > 0 &&
        std::from_chars(text.data() + equals + 1, end, value) == std::from_chars_result{end, std::errc()} && value > 0;
    if (!is_number) throw CLI::ValidationError("--dim", "found \"" + text + "\", expected NAME=N");
    out[text.substr(0, equals)] = value;
  };
  sub.add_option_function<std::vector<std::string>>(
         "--dim",
         [read](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) read(text);
         },
         "Value of a dimension that the ONNX file leaves open; repeat it for each of them")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
}

}  // namespace superstep
