// SPDX-License-Identifier: Apache-2.0
// Sliding windows over up to three spatial dimensions, for convolution and pooling.
#pragma once

#include <array>
#include <vector>

#include "model/graph/op_def.h"

namespace superstep::ops {

constexpr std::size_t kSpatial = 3;
using Extents = std::array<std::int64_t, kSpatial>;

// Windows as three dimensions, those that the op does not have being of extent 1 and first.
struct Windows {
  std::size_t dims = 0;  // that the op has
  Extents from{1, 1, 1}, to{1, 1, 1}, window{1, 1, 1};
  Extents stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  std::size_t first() const { return kSpatial - dims; }

  // The element of `from` that place k of window y covers; may lie outside.
  std::int64_t source(std::size_t d, std::int64_t y, std::int64_t k) const {
    return y * stride[d] + k * dilation[d] - pad[d];
  }
};

Shape spatial(const Shape& shape);  // the extents behind the first two

// The attributes that windows are read from: strides, dilations, pads_begin, pads_end (empty: 1, 1, 0, 0).
std::vector<AttrSpec> window_attributes();

// Windows of `window` over `from`; throws Error where an attribute does not fit or nothing is left.
Windows make_windows(const Attributes& attrs, const Shape& from, const Shape& window);

// The map of a result dimension of gradients with respect to `from`: steps of `stride` elements.
DimMap stepped(const Windows& w, std::size_t d, int axis);
// ... of `from` itself as far as windows that touch such a step reach.
DimMap reach(const Windows& w, std::size_t d, int axis);
// ... and of the windows that touch it.
DimMap touching(const Windows& w, std::size_t d, int axis);
std::int64_t steps(const Windows& w, std::size_t d);

// The values of a region at one place of its two dimensions before the spatial ones, in double.
class Plane {
 public:
  explicit Plane(const Block& region);
  // Of a view of a region that the plane is one of.
  void load(const ConstView& view, std::int64_t a, std::int64_t b);
  void store(const View& view, std::int64_t a, std::int64_t b) const;
  void clear();

  // In coordinates of the whole tensor.
  bool holds(const Extents& x) const;
  double& at(const Extents& x) { return values_[index(x)]; }
  double at(const Extents& x) const { return values_[index(x)]; }

 private:
  std::array<Range, kSpatial> range_;
  std::vector<double> values_;

  std::size_t index(const Extents& x) const {
    return static_cast<std::size_t>(((x[0] - range_[0].begin) * range_[1].extent() + x[1] - range_[1].begin) *
                                        range_[2].extent() +
                                    x[2] - range_[2].begin);
  }
};

// The range along three spatial axes from `first` on.
std::array<Range, kSpatial> spatial_ranges(const Block& block, std::size_t first, std::size_t dims);

}  // namespace superstep::ops
