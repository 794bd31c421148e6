// SPDX-License-Identifier: Apache-2.0
// The small references on numbers under all plans of run_networks.json.
#include <gtest/gtest.h>

#include "tests/planner/run_networks.h"

namespace superstep::test {
namespace {

void expect_all(const std::string& list, const std::string& network) {
  expect_plain(network, run_network({.list = list, .chunk = 1}, SUPERSTEP_REFERENCES "/" + network), 9);
}

// One step is a chunk, so that the borders of these few tokens are nodes as well.
TEST(RunNetworks, EncoderHasThePlainModelsBits) { expect_all("plans", "encoder_h16"); }
TEST(RunNetworks, LstmHasThePlainModelsBits) { expect_all("plans", "lstm_h10"); }
TEST(RunNetworks, ExpertsHaveThePlainModelsBits) { expect_all("plans", "experts_h8"); }
TEST(RunNetworks, GraphConvolutionsHaveThePlainModelsBits) { expect_all("plans", "graph_h8"); }
// Known gap: where half is rounded stochastically, so is each micro-batch's sum.
TEST(RunNetworks, ASharedViewOfAWeightHasThePlainModelsBitsInFloats) {
  std::size_t same = 0;
  for (const NetworkRun& r : run_network({.list = "plans", .chunk = 1}, SUPERSTEP_REFERENCES "/shared_h6")) {
    EXPECT_FALSE(r.outcome.failure) << r.name;
    if (!r.nodes || !r.fp32) continue;
    EXPECT_TRUE(r.outcome.difference.identical) << r.name;
    ++same;
  }
  EXPECT_GE(same, 5u);
}
TEST(RunNetworks, LlamaHasThePlainModelsBits) { expect_all("plans", "llama_h16"); }
TEST(RunNetworks, ConvolutionsHaveThePlainModelsBits) { expect_all("one_micro_batch", "images_w8"); }

}  // namespace
}  // namespace superstep::test
