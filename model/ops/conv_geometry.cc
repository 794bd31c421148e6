// SPDX-License-Identifier: Apache-2.0
#include "model/ops/conv_geometry.h"

#include "model/error.h"
#include "model/ops/space.h"

namespace superstep::ops {

namespace {

ConvRole role_of(const OpCall& call) {
  return call.def.name == "conv"              ? ConvRole::forward
         : call.def.name == "conv_input_grad" ? ConvRole::input_grad
                                              : ConvRole::weight_grad;
}

Shape joined(std::int64_t a, std::int64_t b, const Shape& rest) {
  Shape shape{a, b};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

// A channel dimension: by group where there are several, else by its own axis.
DimMap channels(const ConvGeometry& g, int axis, std::int64_t per_group) {
  if (g.groups > 1) return {.axis = kConvG, .stride = per_group, .span = per_group};
  return {.axis = axis};
}

}  // namespace

ConvGeometry conv_geometry(const OpCall& call) {
  ConvGeometry g;
  g.role = role_of(call);
  g.groups = call.attrs.integer("groups");
  const Shape &first = call.in[0].shape, &second = call.in[1].shape;
  if (first.size() < 3 || second.size() != first.size() || g.groups < 1) {
    throw Error("", std::string(call.def.name) + " of " + to_text(first) + " and " + to_text(second));
  }
  if (g.role == ConvRole::forward) {
    g.x = first;
    g.w = second;
  } else if (g.role == ConvRole::weight_grad) {
    g.x = first;
    g.w = joined(second[1], first[1] / g.groups, call.attrs.integers("window"));
  } else {
    g.w = second;
    g.x = joined(first[0], second[1] * g.groups, call.attrs.integers("spatial"));
  }
  if (g.x[1] != g.w[1] * g.groups || g.w[0] % g.groups != 0) {
    throw Error("", "channels of " + to_text(g.x) + " and " + to_text(g.w) + " do not make " +
                        std::to_string(g.groups) + " groups");
  }
  g.windows = make_windows(call.attrs, spatial(g.x), spatial(g.w));
  g.y = g.x;
  g.y[1] = g.w[0];
  for (std::size_t d = 0; d < g.windows.dims; ++d) g.y[2 + d] = g.windows.to[g.windows.first() + d];
  return g;
}

Space conv_space(const OpCall& call) {
  const ConvGeometry g = conv_geometry(call);
  const Windows& w = g.windows;
  const auto kind = [&](bool reduced) { return reduced ? AxisKind::reduce : AxisKind::parallel; };
  const auto channel_kind = [&](bool reduced) { return g.groups > 1 ? AxisKind::whole : kind(reduced); };
  // Places of the window are steps of the contraction within each channel, so that they are cut only where the channels
  // before them could be.
  const std::int64_t contracted = g.role == ConvRole::forward ? g.in_channels() : g.out_channels();
  const AxisKind window_kind = g.role == ConvRole::weight_grad  ? AxisKind::parallel
                               : g.groups > 1 && contracted > 1 ? AxisKind::whole
                                                                : AxisKind::reduce;
  Space s;
  s.axes = {{"n", g.x[0], kind(g.role == ConvRole::weight_grad)},
            {"g", g.groups, AxisKind::parallel},
            {"o", g.out_channels(), channel_kind(g.role == ConvRole::input_grad)},
            {"c", g.in_channels(), channel_kind(g.role == ConvRole::forward)}};
  const int windows = kConvPositions + static_cast<int>(w.dims);
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    const std::int64_t extent = g.role == ConvRole::input_grad ? steps(w, d) : w.to[d];
    s.axes.push_back({axis_name('y', d - w.first()), extent, kind(g.role == ConvRole::weight_grad)});
  }
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    s.axes.push_back({axis_name('k', d - w.first()), w.window[d], window_kind});
  }

  Projection x{{.axis = kConvN}, channels(g, kConvC, g.in_channels())};
  Projection y{{.axis = kConvN}, channels(g, kConvO, g.out_channels())};
  Projection k{channels(g, kConvO, g.out_channels()), {.axis = kConvC}};
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    const int i = static_cast<int>(d - w.first());
    if (g.role == ConvRole::input_grad) {
      x.push_back(stepped(w, d, kConvPositions + i));
      y.push_back(touching(w, d, kConvPositions + i));
    } else {
      x.push_back({.axis = kConvPositions + i,
                   .stride = w.stride[d],
                   .offset = -w.pad[d],
                   .window_axis = windows + i,
                   .dilation = w.dilation[d]});
      y.push_back({.axis = kConvPositions + i});
    }
    k.push_back({.axis = windows + i});
  }
  if (g.role == ConvRole::forward) s.in = {x, k}, s.out = {y};
  if (g.role == ConvRole::weight_grad) s.in = {x, y}, s.out = {k};
  if (g.role == ConvRole::input_grad) s.in = {y, k}, s.out = {x};
  s.reduction = Reduction::sum;
  s.linear = 1;
  return s;
}

}  // namespace superstep::ops
