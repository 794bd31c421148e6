// SPDX-License-Identifier: Apache-2.0
// The larger reference networks, where they lie beside the repository, under all plans of run_networks.json:
// docs/results/run-networks.md is written from here.
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=RunNetworks.*
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/planner/run_networks.h"

namespace superstep::test {
namespace {

std::string digits(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string row(const NetworkRun& r) {
  std::string losses;
  for (const RunStep& step : r.outcome.steps)
    losses += (losses.empty() ? "" : ", ") + digits("%.5f", step.loss.value());
  std::int64_t cuts = 0, at_nodes = 0;
  for (const auto& c : r.outcome.cuts) cuts += c.times, at_nodes += c.nodes ? c.times : 0;
  const std::string distance =
      r.outcome.difference.identical ? "the same" : digits("%.1e", r.outcome.steps.at(0).difference.max_abs);
  return "| " + r.name + " | " + r.label + " | " + r.optimizer + " | " + losses + " | " + distance + " | " +
         std::to_string(at_nodes) + " of " + std::to_string(cuts) + (r.nodes ? "" : ": no") + " |\n";
}

std::string section(const std::string& network, const std::vector<NetworkRun>& runs) {
  const auto nodes = std::count_if(runs.begin(), runs.end(), [](const NetworkRun& r) { return r.nodes; });
  std::string text = "## " + network + "\n\n" + std::to_string(nodes) + " of " + std::to_string(runs.size()) +
                     " plans are cut at nodes alone.\n\n"
                     "| | plan | optimizer | losses | bits | cuts at nodes |\n|---|---|---|---|---|---|\n";
  for (const NetworkRun& r : runs) text += row(r);
  return text;
}

const std::string kPage = SUPERSTEP_SOURCE "/docs/results/run-networks.md";

std::string page() {
  std::ifstream in(kPage, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Puts a network's section in the place of its old one, or at the end.
void update(const std::string& network, const std::string& section) {
  std::string text = page();
  const std::size_t from = std::min(text.find("## " + network + "\n"), text.size());
  const std::size_t next = text.find("\n## ", from);
  const std::size_t to = next == std::string::npos ? text.size() : next;
  const bool first = from > 0 && text.substr(from - 1, 1) == "\n" && text.substr(from - 2, 1) != "\n";
  text.replace(from, to - from, (first ? "\n" : "") + section);
  std::ofstream(kPage, std::ios::binary) << text;
}

void expect_all(const NetworkCase& as, const std::string& network) {
  const std::string folder = SUPERSTEP_REFERENCE_NETWORKS "/" + network;
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "there is no folder " << folder;
  const std::vector<NetworkRun> runs = run_network(as, folder);
  EXPECT_GE(runs.size(), 12U);
  expect_plain(network, runs, 9);
  const std::string expected = section(network, runs);
  if (std::getenv("SUPERSTEP_UPDATE") != nullptr) update(network, expected);
  EXPECT_NE(page().find(expected), std::string::npos) << "docs/results/run-networks.md is old; now:\n" << expected;
}

TEST(RunNetworks, BertHasThePlainModelsBits) { expect_all({.list = "plans"}, "bert_l2_h128"); }
TEST(RunNetworks, GptHasThePlainModelsBits) { expect_all({.list = "plans"}, "gpt2_l2_h128"); }
// A step of the sequence is a product of its own, over samples: a chunk of them in each micro-batch.
TEST(RunNetworks, LstmHasThePlainModelsBits) { expect_all({.list = "plans", .micro_batch_times = 16}, "lstm_l2_h48"); }

TEST(RunNetworks, ConvolutionsHaveThePlainModelsBits) { expect_all({.list = "one_micro_batch"}, "resnet50_w8"); }

}  // namespace
}  // namespace superstep::test
