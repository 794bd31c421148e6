// SPDX-License-Identifier: Apache-2.0
// Files of configurations as JSON: YAML, JSON, and flags of commands in YAML.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

// Reads a file by its ending: .yml and .yaml as YAML, anything else as JSON. Throws Error with file and place.
nlohmann::json read_configuration_file(const std::string& path);

// Returns one YAML document as JSON. Plain scalars have the types of YAML 1.2's core schema, also numbers such as
// 6e-5; keys are texts; "<<" merges mappings, and nearer keys win. Throws Error on a key that comes twice with other
// values, on nesting beyond 200 levels, and on aliases that unfold into more than a million values.
nlohmann::json parse_yaml(const std::string& text, const std::string& name);

// Returns the flags of a command as an object: "python run.py --batch-size 4 --layers 0 4 4 --half" gives
// {"batch_size": 4, "layers": [0, 4, 4], "half": true}. Flags before the script are of other programs and left out.
nlohmann::json parse_flags(std::string_view command);

}  // namespace superstep
