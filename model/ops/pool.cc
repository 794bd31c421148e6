// SPDX-License-Identifier: Apache-2.0
// max_pool(x) and average_pool(x) over windows of the spatial dimensions, and their gradients, which
// are made per element of x: the windows that touch it are looked at again (the first of equal
// maxima gets the gradient), so that nothing but x is kept from the forward pass.
//
// Sums are in double, of forward windows in the order of their places, of gradients in that of the windows, which no
// cut changes: neither is ever split.
//
// Axes: n, c, then y0, ... and, forward, the window k0, ..., always whole. Of the gradients a step of y
// is `stride` positions of x.
#include <algorithm>
#include <limits>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"
#include "model/ops/window.h"

namespace superstep::ops {

namespace {

constexpr std::size_t kPositions = 2;

Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

void check_rank(const OpCall& call) {
  if (call.in[0].shape.size() < 3) throw Error("", "pooling of " + to_text(call.in[0].shape) + ": rank below 3");
}

Windows forward_windows(const OpCall& call) {
  check_rank(call);
  return make_windows(call.attrs, spatial(call.in[0].shape), call.attrs.integers("window"));
}

std::vector<TensorInfo> infer(const OpCall& call) {
  const Windows w = forward_windows(call);
  TensorInfo result = call.in[0];
  for (std::size_t d = 0; d < w.dims; ++d) result.shape[kPositions + d] = w.to[w.first() + d];
  return {result};
}

Space space(const OpCall& call) {
  const Windows w = forward_windows(call);
  Space s;
  s.axes = {{"n", call.in[0].shape[0]}, {"c", call.in[0].shape[1]}};
  for (std::size_t d = w.first(); d < kSpatial; ++d) s.axes.push_back({axis_name('y', d - w.first()), w.to[d]});
  Projection x = identity(2);
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    const int axis = static_cast<int>(kPositions + d - w.first()), window = static_cast<int>(s.axes.size());
    s.axes.push_back({axis_name('k', d - w.first()), w.window[d], AxisKind::whole});
    x.push_back(
        {.axis = axis, .stride = w.stride[d], .offset = -w.pad[d], .window_axis = window, .dilation = w.dilation[d]});
  }
  s.in = {x};
  s.out = {identity(kPositions + w.dims)};
  s.linear = call.def.name == "average_pool" ? 1 : 0;
  return s;
}

// Calls visit(x0, x1, x2) for the elements of the window at y, in order.
template <class Visit>
void each_element(const Windows& w, const Extents& y, Visit&& visit) {
  const auto inside = [&](std::size_t d, std::int64_t x) { return x >= 0 && x < w.from[d]; };
  for (std::int64_t k0 = 0; k0 < w.window[0]; ++k0) {
    const std::int64_t x0 = w.source(0, y[0], k0);
    for (std::int64_t k1 = 0; inside(0, x0) && k1 < w.window[1]; ++k1) {
      const std::int64_t x1 = w.source(1, y[1], k1);
      for (std::int64_t k2 = 0; inside(1, x1) && k2 < w.window[2]; ++k2) {
        const std::int64_t x2 = w.source(2, y[2], k2);
        if (inside(2, x2)) visit(x0, x1, x2);
      }
    }
  }
}

// Elements that an average divides by: all of the window, or those inside.
double divisor(const OpCall& call, const Windows& w, const Extents& y) {
  if (call.attrs.integer("count_include_pad")) {
    return static_cast<double>(w.window[0] * w.window[1] * w.window[2]);
  }
  double count = 0;
  each_element(w, y, [&](std::int64_t, std::int64_t, std::int64_t) { ++count; });
  return count;
}

template <class Visit>
void each_point(const Range& n, const Range& c, const std::array<Range, kSpatial>& y, Visit&& visit) {
  for (std::int64_t a = n.begin; a < n.end; ++a) {
    for (std::int64_t b = c.begin; b < c.end; ++b) {
      for (std::int64_t y0 = y[0].begin; y0 < y[0].end; ++y0) {
        for (std::int64_t y1 = y[1].begin; y1 < y[1].end; ++y1) {
          for (std::int64_t y2 = y[2].begin; y2 < y[2].end; ++y2) visit(a, b, Extents{y0, y1, y2});
        }
      }
    }
  }
}

void kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
            const KernelContext&) {
  const Windows w = forward_windows(call);
  const bool is_max = call.def.name == "max_pool";
  const Block written = project(identity(kPositions + w.dims), call.out[0].shape, block);
  const Volume x = load_volume(in[0]);
  Volume result(written);
  std::size_t next = 0;
  each_point(block[0], block[1], spatial_ranges(block, kPositions, w.dims),
             [&](std::int64_t n, std::int64_t c, const Extents& y) {
               double value = is_max ? -std::numeric_limits<double>::infinity() : 0;
               each_element(w, y, [&](std::int64_t x0, std::int64_t x1, std::int64_t x2) {
                 const double v = x.values[static_cast<std::size_t>(x.at(n, c, x0, x1, x2))];
                 value = is_max ? (v > value || v != v ? v : value) : value + v;
               });
               result.values[next++] = is_max ? value : value / divisor(call, w, y);
             });
  store_volume(result, written, out[0], Reduction::none);
}

// Gradients: max_pool_grad(x, dy), average_pool_grad(dy); "spatial" are the extents of x.

Windows gradient_windows(const OpCall& call) {
  check_rank(call);
  return make_windows(call.attrs, call.attrs.integers("spatial"), call.attrs.integers("window"));
}

std::vector<TensorInfo> gradient_infer(const OpCall& call) {
  const Windows w = gradient_windows(call);
  TensorInfo result = call.in.back();
  for (std::size_t d = 0; d < w.dims; ++d) {
    if (result.shape[kPositions + d] != w.to[w.first() + d]) throw Error("", "gradient of another pooling");
    result.shape[kPositions + d] = w.from[w.first() + d];
  }
  return {result};
}

Space gradient_space(const OpCall& call) {
  const Windows w = gradient_windows(call);
  Space s;
  s.axes = {{"n", call.in[0].shape[0]}, {"c", call.in[0].shape[1]}};
  Projection x = identity(2), dy = identity(2), dx = identity(2);
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    const int axis = static_cast<int>(s.axes.size());
    s.axes.push_back({axis_name('y', d - w.first()), steps(w, d)});
    x.push_back(reach(w, d, axis));
    dy.push_back(touching(w, d, axis));
    dx.push_back(stepped(w, d, axis));
  }
  if (call.in.size() == 2) s.in = {x, dy};
  if (call.in.size() == 1) s.in = {dy};
  s.out = {dx};
  s.linear = call.in.size() == 2 ? 2 : 1;
  return s;
}

void gradient_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                     const KernelContext&) {
  const Windows w = gradient_windows(call);
  const Space s = gradient_space(call);
  const bool is_max = call.in.size() == 2;
  const Block written = project(s.out[0], call.out[0].shape, block);
  const auto target = spatial_ranges(written, kPositions, w.dims);
  const auto windows = spatial_ranges(project(s.in.back(), call.in.back().shape, block), kPositions, w.dims);
  const Volume x = load_volume(in[0]), dy = load_volume(in.back());
  Volume result(written);
  const auto add = [&](std::int64_t n, std::int64_t c, const Extents& at, double value) {
    for (std::size_t d = 0; d < kSpatial; ++d) {
      if (at[d] < target[d].begin || at[d] >= target[d].end) return;
    }
    result.values[static_cast<std::size_t>(result.at(n, c, at[0], at[1], at[2]))] += value;
  };
  each_point(block[0], block[1], windows, [&](std::int64_t n, std::int64_t c, const Extents& y) {
    const double value = dy.values[static_cast<std::size_t>(dy.at(n, c, y[0], y[1], y[2]))];
    if (is_max) {
      Extents best{-1, -1, -1};
      double maximum = 0;
      each_element(w, y, [&](std::int64_t x0, std::int64_t x1, std::int64_t x2) {
        const double v = x.values[static_cast<std::size_t>(x.at(n, c, x0, x1, x2))];
        if (best[0] >= 0 && !(v > maximum)) return;
        maximum = v;
        best = {x0, x1, x2};
      });
      add(n, c, best, value);
    } else {
      const double part = value / divisor(call, w, y);
      each_element(w, y, [&](std::int64_t x0, std::int64_t x1, std::int64_t x2) { add(n, c, {x0, x1, x2}, part); });
    }
  });
  store_volume(result, written, out[0], Reduction::none);
}

// Per window row 30, per vector of channels 3, gradients 5.
Cycles pool_cycles(const TileCosts& costs, std::int64_t elements, std::int64_t channels, std::int64_t window,
                   DType type, std::int64_t per_vector) {
  const std::int64_t rows = ceil_div(elements, costs.workers);
  return costs.launch + Cycles(costs.workers * rows * (30 + window * per_vector * ceil_div(channels, lanes(type))));
}

Cycles cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const std::size_t dims = (extents.size() - 2) / 2;
  std::int64_t elements = extents[0], window = 1;
  for (std::size_t d = 0; d < dims; ++d) elements *= extents[kPositions + d];
  for (std::size_t d = 0; d < dims; ++d) window *= extents[kPositions + dims + d];
  return pool_cycles(costs, elements, extents[1], window, call.in[0].type, 3);
}

Cycles gradient_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  std::int64_t elements = extents[0];
  for (std::size_t d = kPositions; d < extents.size(); ++d) elements *= extents[d];
  return pool_cycles(costs, elements, extents[1], volume(call.attrs.integers("window")), call.in[0].type, 5);
}

std::vector<TensorId> gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const Op& op = b.graph().ops[id];
  const TensorId x = op.inputs[0];
  if (!b.wants(x)) return {TensorId{}};
  const bool is_max = op.def->name == "max_pool";
  Attributes attrs = op.attrs;
  attrs.set("spatial", spatial(b.info(x).shape));
  if (is_max) return {b.one("max_pool_grad", {x, out_grads[0]}, std::move(attrs))};
  return {b.one("average_pool_grad", {out_grads[0]}, std::move(attrs))};
}

OpDef make_forward(std::string_view name) {
  OpDef def;
  def.name = name;
  def.attrs = window_attributes();
  def.attrs.push_back({"window", std::vector<std::int64_t>{}});
  if (name == "average_pool") def.attrs.push_back({"count_include_pad", std::int64_t{0}});
  def.infer = infer;
  def.space = space;
  def.kernel = kernel;
  def.cycles = cycles;
  def.gradient = gradient;
  return def;
}

OpDef make_gradient(std::string_view name, std::string_view of, int operands) {
  OpDef def = make_forward(of);
  def.name = name;
  def.attrs.push_back({"spatial", std::vector<std::int64_t>{}});
  def.min_inputs = def.max_inputs = operands;
  def.infer = gradient_infer;
  def.space = gradient_space;
  def.kernel = gradient_kernel;
  def.cycles = gradient_cycles;
  def.gradient = nullptr;
  return def;
}

}  // namespace

std::vector<const OpDef*> pool_ops() {
  static const OpDef defs[] = {make_forward("max_pool"), make_forward("average_pool"),
                               make_gradient("max_pool_grad", "max_pool", 2),
                               make_gradient("average_pool_grad", "average_pool", 1)};
  std::vector<const OpDef*> all;
  for (const OpDef& def : defs) all.push_back(&def);
  return all;
}

}  // namespace superstep::ops
