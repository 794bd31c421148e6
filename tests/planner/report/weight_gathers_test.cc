// SPDX-License-Identifier: Apache-2.0
#include "planner/report/weight_gathers.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/planner/world.h"

namespace superstep {
namespace {

using test::World;

Plan sharded(std::int64_t t, std::int64_t micro_batch) {
  Plan plan;
  plan.tensor_parallel = {t, 1};
  plan.micro_batch = micro_batch;
  plan.gradient_accumulation = 4;
  plan.activation_sharding = ActivationSharding::throughout;
  return plan;
}

std::string note(const nlohmann::json& numbers, const Plan& plan) {
  World world(test::small_job("gpt2-small", numbers, "ipu-pod16"));
  return weight_gathers_note(world.tables, plan);
}

TEST(WeightGathers, AreSaidWithTheBytesOfEitherWay) {
  const nlohmann::json narrow = {{"layers", 2}, {"hidden", 256}, {"heads", 4}, {"sequence_length", 1024}};
  const std::string text = note(narrow, sharded(4, 16));
  EXPECT_NE(text.find("weights of up to 1.5 MiB are gathered for each use"), std::string::npos) << text;
  EXPECT_NE(text.find(" instead of "), std::string::npos) << text;
}

TEST(WeightGathers, AreRefusedWhereTheyDoNotStandOnTheTiles) {
  // Weights of 1.1 GB would travel for 2.4 GB of activations; the chip has 0.9 GB.
  const nlohmann::json wide = {{"layers", 1}, {"hidden", 11776},         {"ffn", 47104},
                               {"heads", 92}, {"sequence_length", 2048}, {"vocabulary", 1024}};
  const std::string text = note(wide, sharded(4, 64));
  EXPECT_NE(text.find("would take less time still"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 224.2 MiB of a gathered weight may stand on the tiles"), std::string::npos) << text;
}

TEST(WeightGathers, AreNotWorthAWordWhereActivationsAreSmaller) {
  EXPECT_EQ(note({{"layers", 2}, {"sequence_length", 128}}, sharded(4, 1)), "");
  EXPECT_EQ(note({{"layers", 2}}, sharded(1, 16)), "");
}

}  // namespace
}  // namespace superstep
