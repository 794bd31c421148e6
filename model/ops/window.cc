// SPDX-License-Identifier: Apache-2.0
#include "model/ops/window.h"

#include <algorithm>

#include "model/error.h"
#include "model/ops/kernel.h"
#include "model/ops/space.h"

namespace superstep::ops {

namespace {

Extents three(const std::vector<std::int64_t>& values, std::size_t dims, std::int64_t fallback, const char* name) {
  Extents result{fallback, fallback, fallback};
  if (values.empty()) return result;
  if (values.size() != dims) throw Error("", std::string(name) + " wants one number per spatial dimension");
  std::copy(values.begin(), values.end(), result.begin() + static_cast<std::ptrdiff_t>(kSpatial - dims));
  return result;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

}  // namespace

Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

std::vector<AttrSpec> window_attributes() {
  const std::vector<std::int64_t> none;
  return {{"strides", none}, {"dilations", none}, {"pads_begin", none}, {"pads_end", none}};
}

Windows make_windows(const Attributes& attrs, const Shape& from, const Shape& window) {
  Windows w;
  w.dims = from.size();
  if (w.dims < 1 || w.dims > kSpatial || window.size() != w.dims) {
    throw Error("", "window " + to_text(window) + " over spatial extents " + to_text(from));
  }
  w.from = three(from, w.dims, 1, "spatial extents");
  w.window = three(window, w.dims, 1, "window");
  w.stride = three(attrs.integers("strides"), w.dims, 1, "strides");
  w.dilation = three(attrs.integers("dilations"), w.dims, 1, "dilations");
  w.pad = three(attrs.integers("pads_begin"), w.dims, 0, "pads_begin");
  const Extents after = three(attrs.integers("pads_end"), w.dims, 0, "pads_end");
  for (std::size_t d = 0; d < kSpatial; ++d) {
    const std::int64_t room = w.from[d] + w.pad[d] + after[d] - (w.window[d] - 1) * w.dilation[d] - 1;
    if (room < 0 || w.stride[d] < 1) throw Error("", "window " + to_text(window) + " does not fit " + to_text(from));
    w.to[d] = room / w.stride[d] + 1;
  }
  return w;
}

DimMap stepped(const Windows& w, std::size_t d, int axis) {
  return {.axis = axis, .stride = w.stride[d], .span = w.stride[d]};
}

DimMap reach(const Windows& w, std::size_t d, int axis) {
  const std::int64_t across = (w.window[d] - 1) * w.dilation[d];
  return {.axis = axis, .stride = w.stride[d], .span = w.stride[d] + 2 * across, .offset = -across};
}

// Element x lies in windows y with x = y stride + k dilation - pad.
DimMap touching(const Windows& w, std::size_t d, int axis) {
  const std::int64_t across = (w.window[d] - 1) * w.dilation[d];
  const std::int64_t low = -floor_div(across - w.pad[d], w.stride[d]);  // of step 0, rounded up
  const std::int64_t high = floor_div(w.stride[d] - 1 + w.pad[d], w.stride[d]);
  return {.axis = axis, .span = std::max<std::int64_t>(high + 1 - low, 0), .offset = low};
}

std::int64_t steps(const Windows& w, std::size_t d) { return ceil_div(w.from[d], w.stride[d]); }

namespace {
// Of the plane at (a, b), or of a place in it, in a view.
std::int64_t place_in(const Block& region, std::int64_t a, std::int64_t b, const Extents& x) {
  const std::size_t dims = region.size() - 2;
  std::int64_t place = (a - region[0].begin) * region[1].extent() + b - region[1].begin;
  for (std::size_t d = 0; d < dims; ++d)
    place = place * region[2 + d].extent() + x[kSpatial - dims + d] - region[2 + d].begin;
  return place;
}
}  // namespace

Plane::Plane(const Block& region) : range_(spatial_ranges(region, 2, region.size() - 2)) {
  values_.resize(static_cast<std::size_t>(range_[0].extent() * range_[1].extent() * range_[2].extent()));
}

void Plane::load(const ConstView& view, std::int64_t a, std::int64_t b) {
  const std::int64_t first = place_in(view.region, a, b, {range_[0].begin, range_[1].begin, range_[2].begin});
  load_row(view.data, view.type, first, 1, std::ssize(values_), values_.data());
}

void Plane::store(const View& view, std::int64_t a, std::int64_t b) const {
  const double* row = values_.data();
  const std::int64_t n = range_[2].extent();
  for (std::int64_t i = range_[0].begin; i < range_[0].end; ++i) {
    for (std::int64_t j = range_[1].begin; j < range_[1].end; ++j, row += n)
      store_row(view.data, view.type, place_in(view.region, a, b, {i, j, range_[2].begin}), 1, n, row);
  }
}

void Plane::clear() { std::fill(values_.begin(), values_.end(), 0.0); }

bool Plane::holds(const Extents& x) const {
  for (std::size_t d = 0; d < kSpatial; ++d)
    if (x[d] < range_[d].begin || x[d] >= range_[d].end) return false;
  return true;
}

std::array<Range, kSpatial> spatial_ranges(const Block& block, std::size_t first, std::size_t dims) {
  std::array<Range, kSpatial> ranges{{{0, 1}, {0, 1}, {0, 1}}};
  for (std::size_t d = 0; d < dims; ++d) ranges[kSpatial - dims + d] = block[first + d];
  return ranges;
}

}  // namespace superstep::ops
