// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/images.h"

namespace superstep::zoo {

namespace {

constexpr std::int64_t kColours = 3;
// Of the ImageNet training set, red, green, blue, with pixels from 0 to 1: torchvision and MLPerf's reference.
constexpr double kMean[] = {0.485, 0.456, 0.406}, kDeviation[] = {0.229, 0.224, 0.225};
constexpr double kBrightest = 255;  // pixel of 8 bits

TensorId colours(GraphBuilder& b, DType type, const double (&values)[kColours]) {
  Array array(TensorInfo{type, {kColours, 1, 1}});
  for (std::int64_t c = 0; c < kColours; ++c) array.set(c, values[c]);
  return b.constant(std::move(array));
}

}  // namespace

const std::vector<std::string>& pixel_names() {
  static const std::vector<std::string> names = {"normalised", "uint8"};
  return names;
}

Pixels read_pixels(JsonReader& r, Pixels fallback) {
  const std::string name = r.name_or("pixels", pixel_names(), pixel_names()[static_cast<std::size_t>(fallback)]);
  return name == "uint8" ? Pixels::uint8 : Pixels::normalised;
}

// (pixel / 255 - mean) / deviation as one factor and one term for each colour.
TensorId images(GraphBuilder& b, std::int64_t micro_batch, std::int64_t size, Pixels pixels, DType type) {
  const Shape shape{micro_batch, kColours, size, size};
  if (pixels == Pixels::normalised) return b.input("images", type, shape);
  const TensorId bytes = b.input("images", DType::uint8, shape);
  double factor[kColours], term[kColours];
  for (std::int64_t c = 0; c < kColours; ++c) {
    factor[c] = 1 / (kBrightest * kDeviation[c]);
    term[c] = -kMean[c] / kDeviation[c];
  }
  GraphBuilder::Scope scope(b, "normalise");
  return b.binary("add", b.binary("mul", b.cast(bytes, type), colours(b, type, factor)), colours(b, type, term));
}

}  // namespace superstep::zoo
