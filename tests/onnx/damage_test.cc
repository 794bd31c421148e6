// SPDX-License-Identifier: Apache-2.0
// Damaged files give a graph or an Error, and nothing else.
#include <gtest/gtest.h>

#include <random>

#include "model/error.h"
#include "tests/onnx/encoder.h"

namespace superstep::test {
namespace {

// True when the file was refused; anything but a graph or an Error fails the test.
bool refused(const std::string& path) {
  try {
    import_onnx(path, {.micro_batch = 2});
    return false;
  } catch (const Error&) {
    return true;
  }
}

// Both kinds of values, shape arithmetic, attributes, symbolic names.
std::string sample() { return encoder_file({.opset = 11, .hidden = 4, .layers = 1}).bytes(); }

TEST(Damage, TruncationAtAnyPlaceIsRefusedOrHarmless) {
  const std::string bytes = sample();
  const auto folder = fresh_folder();
  int refusals = 0, tried = 0;
  for (std::size_t length = 0; length < bytes.size(); length += 37, ++tried) {
    refusals += refused(write_file(folder / "m.onnx", bytes.substr(0, length)));
  }
  EXPECT_GT(refusals, tried * 9 / 10);
}

TEST(Damage, FlippedBitsNeverCrash) {
  const std::string bytes = sample();
  const auto folder = fresh_folder();
  std::mt19937 random(7);
  int refusals = 0;
  for (int i = 0; i < 700; ++i) {
    std::string damaged = bytes;
    for (unsigned flips = 1 + random() % 3; flips > 0; --flips) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    }
    refusals += refused(write_file(folder / "m.onnx", damaged));
  }
  EXPECT_GT(refusals, 100);
}

// Small numbers in the wrong places: extents, axes, types.
TEST(Damage, ReplacedBytesNeverCrash) {
  const std::string bytes = sample();
  const auto folder = fresh_folder();
  std::mt19937 random(11);
  for (int i = 0; i < 700; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random() % 12);
    refused(write_file(folder / "m.onnx", damaged));
  }
}

}  // namespace
}  // namespace superstep::test
