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

Volume::Volume(const Block& region) {
  const std::vector<std::int64_t> distance = row_major(region);
  for (std::size_t i = 0; i < 2; ++i) {
    outer_begin[i] = region[i].begin;
    outer_step[i] = distance[i];
  }
  const std::size_t dims = region.size() - 2;
  for (std::size_t d = 0; d < dims; ++d) {
    begin[kSpatial - dims + d] = region[2 + d].begin;
    step[kSpatial - dims + d] = distance[2 + d];
  }
  values.assign(static_cast<std::size_t>(volume(region)), 0);
}

Volume load_volume(const ConstView& view) {
  Volume result(view.region);
  load_row(view.data, view.type, 0, 1, volume(view.region), result.values.data());
  return result;
}

void store_volume(const Volume& source, const Block& region, const View& view, Reduction reduction) {
  const Strided target[] = {follow(identity(region.size()), view.region, region)};
  std::size_t next = 0;
  for_each_row(region, target, [&](std::span<const std::int64_t> first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) combine(view.data, view.type, first[0] + i, source.values[next++], reduction);
  });
}

std::array<Range, kSpatial> spatial_ranges(const Block& block, std::size_t first, std::size_t dims) {
  std::array<Range, kSpatial> ranges{{{0, 1}, {0, 1}, {0, 1}}};
  for (std::size_t d = 0; d < dims; ++d) ranges[kSpatial - dims + d] = block[first + d];
  return ranges;
}

}  // namespace superstep::ops
