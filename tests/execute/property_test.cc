// SPDX-License-Identifier: Apache-2.0
// Any small network under any legal plan computes what the plain model does.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "random_pair.h"

#include "planner/job/plan_json.h"

namespace superstep {
namespace {

// SUPERSTEP_PAIRS, SUPERSTEP_FIRST_SEED: few in the quick test, 2,000 in the long one (CMakeLists.txt).
// Shrunk to the same kind of failure: of values, or an error.
void tell(const Pair& pair, const std::string& wrong) {
  const std::string kind = wrong.substr(0, wrong.find(':'));
  const Pair least = smallest(pair, [&](const Pair& p) { return try_pair(p).wrong.rfind(kind, 0) == 0; });
  ADD_FAILURE() << "seed " << pair.seed << ": " << wrong << "\nsmallest: " << try_pair(least).wrong << "\n"
                << to_json(least).dump() << "\nonce more: SUPERSTEP_PROPERTY_SEED=" << pair.seed
                << " execute_property_test --gtest_filter=*PairsCompute*";
}

struct Counts {
  int pairs = 0, cuts = 0, nodes = 0, failures = 0, drawn_illegal = 0;
};

Counts run_pairs(std::uint64_t first, int pairs) {
  constexpr int kTold = 3;
  Counts counts;
  std::map<std::string, int> illegal;
  for (std::uint64_t seed = first; counts.pairs < pairs && counts.failures < kTold; ++seed) {
    const Pair pair = draw_pair(seed, &illegal);
    const Verdict verdict = try_pair(pair);
    ++counts.pairs;
    counts.cuts += verdict.cuts > 0;
    counts.nodes += verdict.nodes;
    if (verdict.wrong.empty()) continue;
    ++counts.failures;
    tell(pair, verdict.wrong);
  }
  for (const auto& [why, times] : illegal) counts.drawn_illegal += times;
  std::cout << counts.pairs << " pairs, " << counts.cuts << " with contractions over split axes, " << counts.nodes
            << " cut at nodes only; " << counts.drawn_illegal << " plans drawn were illegal:\n";
  for (const auto& [why, times] : illegal) std::cout << "  " << times << " " << why << "\n";
  return counts;
}

void expect_counts(const Counts& counts, int pairs) {
  EXPECT_EQ(counts.pairs, pairs);
  EXPECT_GE(2 * counts.cuts, counts.pairs);
  EXPECT_GE(2 * counts.nodes, counts.pairs);
}

// With SUPERSTEP_PROPERTY_SEED that pair alone, to look into a failure.
TEST(ExecuteProperty, PairsComputeWhatThePlainModelDoes) {
  if (const char* seed = std::getenv("SUPERSTEP_PROPERTY_SEED")) {
    EXPECT_EQ(run_pairs(std::strtoull(seed, nullptr, 10), 1).failures, 0);
    return;
  }
  expect_counts(run_pairs(SUPERSTEP_FIRST_SEED, SUPERSTEP_PAIRS), SUPERSTEP_PAIRS);
}

// Each found another fault.
TEST(ExecuteProperty, PairsThatFailedBefore) {
  for (std::uint64_t seed : {16,   22,   24,   55,   56,   77,    93,    293,   348,   368,   441,   531,  577,  867,
                             1000, 1195, 1213, 1252, 1382, 1391,  1477,  1660,  1692,  1730,  1785,  1849, 1869, 2112,
                             2184, 2488, 3017, 3059, 7031, 14050, 18150, 37583, 40056, 45623, 48916, 52677})
    EXPECT_EQ(run_pairs(seed, 1).failures, 0);
}

bool has_softmax(const Pair& pair) {
  for (const NodeSpec& n : pair.graph.nodes) {
    if (n.kind == "softmax") return true;
  }
  return false;
}

// An executor that were wrong about softmax in a pipeline would be caught, and told by the least job that has both.
TEST(Shrinking, LeavesOnlyWhatTheFailureNeeds) {
  const auto fails = [](const Pair& pair) { return has_softmax(pair) && pair.plan.stages.size() > 1; };
  int found = 0;
  for (std::uint64_t seed = 0; found < 5; ++seed) {
    const Pair pair = draw_pair(seed);
    if (!fails(pair)) continue;
    ++found;
    const Pair least = smallest(pair, fails);
    SCOPED_TRACE(to_json(least).dump());
    Plan plain = plain_plan(2, {}, 2);
    plain.schedule = least.plan.schedule;
    EXPECT_EQ(least.graph.nodes.size(), 2u);  // an input and the softmax
    EXPECT_EQ(least.graph.nodes[1].kind, "softmax");
    EXPECT_FALSE(least.graph.training());
    EXPECT_EQ(least.graph.type, DType::fp32);
    EXPECT_EQ(to_json(least.plan), to_json(plain));
    EXPECT_EQ(least.chunk, 1);
  }
}

}  // namespace
}  // namespace superstep
