// SPDX-License-Identifier: Apache-2.0
// Operators over images: AffineGrid, CenterCropPad, Col2Im, DeformConv.
#include <algorithm>

#include "model/onnx/handlers.h"
#include "model/ops/window.h"

namespace superstep::onnx_import {

namespace {

using Numbers = std::vector<std::int64_t>;

// theta [n, 2, 3] or [n, 3, 4] applied to the places of an image of size [n, c, y, x] or [n, c, z, y, x], each from -1
// to 1, x first.
Results affine_grid(Node& n) {
  const Numbers size = n.integers(1, "size");
  const std::size_t dims = size.size() < 3 ? 0 : size.size() - 2;
  const bool corners = n.integer_attribute("align_corners", 0) != 0;
  const auto columns = static_cast<std::int64_t>(dims) + 1;
  if (dims != 2 && dims != 3) Node::fail("size " + to_text(size) + ", expected 4 or 5 extents");
  if (n.shape(0) != Shape{size[0], columns - 1, columns})
    Node::fail("theta " + to_text(n.shape(0)) + " for a grid of " + to_text(size));
  checked_shape(size, "size");
  const Shape places(size.begin() + 2, size.end());
  Array grid(TensorInfo{n.type(0), {volume(places), columns}});
  for (std::int64_t row = 0; row < volume(places); ++row) {
    std::int64_t rest = row;
    for (std::size_t d = dims; d-- > 0;) {
      const std::int64_t at = rest % places[d], last = places[d] - 1;
      rest /= places[d];
      const double steps = static_cast<double>(corners ? 2 * at - last : 2 * at + 1 - places[d]);
      const auto whole = static_cast<double>(corners ? std::max<std::int64_t>(last, 1) : places[d]);
      grid.set(row * columns + static_cast<std::int64_t>(dims - 1 - d), corners && last == 0 ? -1 : steps / whole);
    }
    grid.set(row * columns + columns - 1, 1);
  }
  Shape result{size[0]};
  result.insert(result.end(), places.begin(), places.end());
  result.push_back(columns - 1);
  return {n.b.reshape(n.b.matmul(n.b.constant(std::move(grid)), n.in(0), false, true), result)};
}

// Of each dimension the middle, or zeros around it.
Results center_crop_pad(Node& n) {
  Numbers all;
  for (std::int64_t d = 0; d < n.rank(0); ++d) all.push_back(d);
  const Numbers axes = n.integers_attribute("axes", all), wanted = n.integers(1, "shape");
  if (axes.size() != wanted.size()) Node::fail("shape " + to_text(wanted) + " for axes " + to_text(axes));
  Numbers before(all.size()), after(all.size());
  TensorId x = n.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = n.axis(axes[i], n.rank(0));
    const auto d = static_cast<std::size_t>(axis);
    const std::int64_t extent = n.shape(0)[d], first = (extent - wanted[i]) / 2;
    if (wanted[i] < extent) x = n.b.slice(x, axis, first, first + wanted[i]);
    if (wanted[i] > extent) {
      before[d] = (wanted[i] - extent) / 2;
      after[d] = wanted[i] - extent - before[d];
    }
  }
  return {with_zeros(n.b, x, before, after)};
}

// x [n, c * places of a window, windows]: each value added where its place of its window lies in the image. That is the
// gradient of a convolution, with weights of one 1 each.
Results col_to_im(Node& n) {
  const Numbers image = n.integers(1, "image_shape"), window = n.integers(2, "block_shape");
  const std::size_t dims = image.size();
  const Numbers strides = n.integers_attribute("strides", Numbers(dims, 1));
  const Numbers dilations = n.integers_attribute("dilations", Numbers(dims, 1));
  const Numbers pads = n.integers_attribute("pads", Numbers(2 * dims, 0));
  const Shape x = n.shape(0);
  const std::int64_t places = volume(checked_shape(window, "block_shape"));
  if (window.size() != dims || strides.size() != dims || dilations.size() != dims || pads.size() != 2 * dims)
    Node::fail("windows " + to_text(window) + " over an image of " + to_text(image));
  if (x.size() != 3 || places < 1 || x[1] % places != 0)
    Node::fail("operand 0 has shape " + to_text(x) + ", expected [n, c * " + std::to_string(places) + ", windows]");
  Attributes attrs;
  attrs.set("strides", strides);
  attrs.set("dilations", dilations);
  attrs.set("pads_begin", Numbers(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(dims)));
  attrs.set("pads_end", Numbers(pads.begin() + static_cast<std::ptrdiff_t>(dims), pads.end()));
  const ops::Windows w = ops::make_windows(attrs, image, window);
  Shape columns{x[0], x[1]}, weights{x[1], 1};
  for (std::size_t d = 0; d < dims; ++d) columns.push_back(w.to[w.first() + d]);
  if (volume(columns) != volume(x)) Node::fail("operand 0 has shape " + to_text(x) + ", expected " + to_text(columns));
  weights.insert(weights.end(), window.begin(), window.end());
  Array ones(TensorInfo{n.type(0), weights});
  for (std::int64_t row = 0; row < x[1]; ++row) ones.set(row * places + row % places, 1);
  attrs.set("groups", x[1] / places);
  attrs.set("spatial", image);
  return {n.b.one("conv_input_grad", {n.b.reshape(n.in(0), columns), n.b.constant(std::move(ones))}, std::move(attrs))};
}

// The product of weights and the pixels that each window reads where its offsets say.
Results deform_conv(Node& n) {
  GraphBuilder& b = n.b;
  if (n.rank(0) != 4 || n.rank(1) != 4)
    Node::not_supported("windows of " + to_text(n.shape(1)) + ", only of 2 dimensions");
  const Shape x = n.shape(0), w = n.shape(1);
  const Numbers pads = n.integers_attribute("pads", Numbers(4, 0)), window{w[2], w[3]};
  if (pads.size() != 4 || n.integers_attribute("kernel_shape", window) != window)
    Node::fail("windows of " + to_text(w) + " with pads " + to_text(pads));
  Attributes attrs;
  attrs.set("window", window);
  attrs.set("strides", n.integers_attribute("strides", Numbers(2, 1)));
  attrs.set("dilations", n.integers_attribute("dilations", Numbers(2, 1)));
  attrs.set("pads_begin", Numbers{pads[0], pads[1]});
  attrs.set("pads_end", Numbers{pads[2], pads[3]});
  attrs.set("offset_groups", n.integer_attribute("offset_group", 1));
  const std::int64_t groups = n.integer_attribute("group", 1);
  if (groups < 1 || x[1] % groups != 0 || w[0] % groups != 0 || w[1] != x[1] / groups)
    Node::fail("weights " + to_text(w) + " for " + to_text(x) + " in " + std::to_string(groups) + " groups");
  const TensorId mask = n.has(4) ? n.in(4) : b.scalar(n.type(0), 1);
  const TensorId columns = b.one("deform_columns", {n.in(0), n.in(2), mask}, std::move(attrs));
  const Shape size = b.info(columns).shape;  // [n, c, places of the window, y, x]
  const std::int64_t inner = x[1] / groups * size[2];
  const TensorId rows = b.reshape(n.in(1), {1, groups, w[0] / groups, inner});
  const TensorId y = b.matmul(rows, b.reshape(columns, {x[0], groups, inner, size[3] * size[4]}));
  const TensorId image = b.reshape(y, {x[0], w[0], size[3], size[4]});
  return {n.has(3) ? b.binary("add", image, with_ones(b, n.in(3), 1, 2)) : image};
}

constexpr Handler kImageHandlers[] = {
    {"AffineGrid", 20, 2, affine_grid},
    {"CenterCropPad", 18, 2, center_crop_pad},
    {"Col2Im", 18, 3, col_to_im},
    {"DeformConv", 19, 5, deform_conv},
};

}  // namespace

std::span<const Handler> image_handlers() { return kImageHandlers; }

}  // namespace superstep::onnx_import
