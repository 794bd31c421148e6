// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/pass_heads.h"

#include <gtest/gtest.h>

namespace superstep::gui {
namespace {

TEST(PassHeads, LayersAreShort) {
  EXPECT_EQ(short_layer("layer19/ffn_up backward"), "L19");
  EXPECT_EQ(short_layer("embedding/words forward"), "embedding");
  EXPECT_EQ(short_layer("layer"), "layer");
}

TEST(PassHeads, PassesHaveAShortWord) {
  EXPECT_EQ(short_pass("recompute and backward"), "bwd");
  EXPECT_EQ(short_pass("forward"), "fwd");
  EXPECT_TRUE(short_pass("load").isEmpty());
}

}  // namespace
}  // namespace superstep::gui
