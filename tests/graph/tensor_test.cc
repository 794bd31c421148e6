// SPDX-License-Identifier: Apache-2.0
#include "model/graph/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace superstep {
namespace {

TEST(Half, StoringADoubleRoundsOnce) {
  // 1 + 2^-11 + 2^-40 is above halfway; rounded to float first it would be halfway and go down.
  std::byte data[2];
  store_element(data, DType::fp16, 0, 1.0 + 0x1p-11 + 0x1p-40);
  EXPECT_EQ(load_element(data, DType::fp16, 0), 1.0 + 0x1p-10);
  store_element(data, DType::fp16, 0, -(1.0 + 0x1p-11 - 0x1p-40));
  EXPECT_EQ(load_element(data, DType::fp16, 0), -1.0);
  store_element(data, DType::fp16, 0, 1e300);
  EXPECT_EQ(load_element(data, DType::fp16, 0), std::numeric_limits<double>::infinity());
}

TEST(Array, HoldsValuesOfEveryType) {
  for (std::size_t i = 0; i < kDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (type == DType::boolean) continue;
    const Array a = Array::from(type, {2, 2}, {0, 1, 7, 96});
    EXPECT_EQ(a.values(), (std::vector<double>{0, 1, 7, 96})) << name_of(type);
    EXPECT_EQ(static_cast<std::int64_t>(a.data.size()), 4 * size_of(type));
  }
  EXPECT_EQ(Array::from(DType::boolean, {3}, {0, 2, -1}).values(), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(Array::from(DType::uint8, {2}, {300, -5}).values(), (std::vector<double>{255, 0}));
  EXPECT_EQ(Array::from(DType::int32, {2}, {-1.9, 1.9}).values(), (std::vector<double>{-1, 1}));
}

TEST(Array, CopiesMovesAndComparesBits) {
  const Array a = Array::from(DType::fp32, {3}, {1, -0.0, 2});
  Array b = a, c = Array(TensorInfo{DType::fp32, {3}});
  EXPECT_TRUE(a == b);
  EXPECT_EQ(c.values(), (std::vector<double>{0, 0, 0}));
  b.set(1, 0);
  EXPECT_FALSE(a == b) << "0 is not -0";
  c = std::move(b);
  EXPECT_EQ(c.at(2), 2);
  EXPECT_TRUE(b.data.empty());  // NOLINT(bugprone-use-after-move)
  b = a;
  EXPECT_TRUE(a == b);
  EXPECT_NE(a.data.data(), b.data.data());
}

TEST(Shape, ReadsAndMultiplies) {
  EXPECT_EQ(to_text(Shape{2, 512, 1024}), "[2, 512, 1024]");
  EXPECT_EQ(to_text(Shape{}), "[]");
  EXPECT_EQ(volume(Shape{}), 1);
  EXPECT_EQ(volume(Shape{3, 0, 4}), 0);
  EXPECT_EQ((TensorInfo{DType::fp16, {3, 5}}.bytes()), Bytes(30));
}

}  // namespace
}  // namespace superstep
