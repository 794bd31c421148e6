// SPDX-License-Identifier: Apache-2.0
// Configurations of other programs as jobs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

struct ConfigurationRequest {
  std::vector<std::string> files;  // their keys are taken together; a later file wins
  std::string name;                // of a file's several configurations; empty: the file has one
  std::string machine;             // empty: the smallest IPU-POD with as many IPUs as the plan uses
  std::vector<std::pair<std::string, std::string>> more;  // keys that are set before the configuration is read
};

struct ImportedJob {
  nlohmann::ordered_json job;         // with "notes": what was assumed, and what no job can say
  std::string format;                 // of the configuration
  std::vector<std::string> no_equal;  // keys that no job can express, and keys that are not known
};

// Returns the job of a configuration. Throws Error if no format has its keys, if the file has several configurations
// and none is named, or if the zoo has no such network.
ImportedJob import_configuration(const ConfigurationRequest& request);

}  // namespace superstep
