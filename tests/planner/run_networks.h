// SPDX-License-Identifier: Apache-2.0
// Imported networks on numbers under the plans of run_networks.json, beside the plain model.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "planner/run/run.h"

namespace superstep::test {

struct NetworkRun {
  std::string name;  // of the plan in the file
  std::string optimizer, label;
  bool fp32 = true;
  bool nodes = true;  // every contraction that is cut is cut at a node of its tree
  RunOutcome outcome;
};

struct NetworkCase {
  std::string list;  // a key of the file
  std::int64_t chunk = 16;
  std::int64_t micro_batch_times = 1;  // than in the file
};

// `folder` has train.onnx and test_data_set_0. An Error names the plan.
std::vector<NetworkRun> run_network(const NetworkCase& as, const std::string& folder);

// At least `nodes` of the runs are cut at nodes alone, and these have the plain model's bits; the others are within
// 1e-5 after one step. Failed expectations name network and plan.
void expect_plain(const std::string& network, const std::vector<NetworkRun>& runs, std::size_t nodes);

}  // namespace superstep::test
