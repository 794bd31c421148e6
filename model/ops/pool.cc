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

void check_rank(const OpCall& call) {
  if (call.in[0].shape.size() < 3) throw Error("", "pooling of " + to_text(call.in[0].shape) + ": rank below 3");
}

Windows forward_windows(const OpCall& call) {
  check_rank(call);
  return make_windows(call.attrs, spatial(call.in[0].shape), call.attrs.integers("window"));
}

std::vector<TensorInfo> infer_pool(const OpCall& call) {
  const Windows w = forward_windows(call);
  TensorInfo result = call.in[0];
  for (std::size_t d = 0; d < w.dims; ++d) result.shape[kPositions + d] = w.to[w.first() + d];
  return {result};
}

Space pool_space(const OpCall& call) {
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

// Which places of the window at y are elements, per dimension.
using Taps = std::array<Range, kSpatial>;
Range taps_inside(const Windows& w, std::size_t d, std::int64_t y) {
  const std::int64_t first = w.source(d, y, 0);
  return {first >= 0 ? 0 : ceil_div(-first, w.dilation[d]),
          first >= w.from[d] ? 0 : std::min(w.window[d], ceil_div(w.from[d] - first, w.dilation[d]))};
}

// Calls visit(x) for the elements of the window at y, in order.
template <class Visit>
void each_element(const Windows& w, const Extents& y, const Taps& taps, Visit&& visit) {
  Extents x;
  for (std::int64_t i = taps[0].begin; i < taps[0].end; ++i) {
    x[0] = w.source(0, y[0], i);
    for (std::int64_t j = taps[1].begin; j < taps[1].end; ++j) {
      x[1] = w.source(1, y[1], j);
      x[2] = w.source(2, y[2], taps[2].begin);
      for (std::int64_t k = taps[2].begin; k < taps[2].end; ++k, x[2] += w.dilation[2]) visit(x);
    }
  }
}

// Elements that an average divides by: all of the window, or those inside.
double divisor(const OpCall& call, const Windows& w, const Taps& taps) {
  std::int64_t count = 1;
  const bool all = call.attrs.integer("count_include_pad") != 0;
  for (std::size_t d = 0; d < kSpatial; ++d) count *= all ? w.window[d] : std::max<std::int64_t>(taps[d].extent(), 0);
  return static_cast<double>(count);
}

// Calls visit(y, taps) for the windows at y, in order.
template <class Visit>
void each_window(const Windows& w, const std::array<Range, kSpatial>& y, Visit&& visit) {
  std::vector<Range> last;
  for (std::int64_t k = y[2].begin; k < y[2].end; ++k) last.push_back(taps_inside(w, 2, k));
  for (std::int64_t i = y[0].begin; i < y[0].end; ++i) {
    for (std::int64_t j = y[1].begin; j < y[1].end; ++j) {
      Taps taps{taps_inside(w, 0, i), taps_inside(w, 1, j)};
      for (std::int64_t k = y[2].begin; k < y[2].end; ++k) {
        taps[2] = last[static_cast<std::size_t>(k - y[2].begin)];
        visit(Extents{i, j, k}, taps);
      }
    }
  }
}

// Calls run(n, c) for the member's share of a block's planes.
template <class Run>
void each_plane(const Block& block, int member, int members, Run&& run) {
  const std::int64_t count = block[0].extent() * block[1].extent();
  for (std::int64_t i = count * member / members; i < count * (member + 1) / members; ++i)
    run(block[0].begin + i / block[1].extent(), block[1].begin + i % block[1].extent());
}

// The last NaN if there is one. Without branches, which could not be foretold, where there is none.
double largest(const Plane& x, const Windows& w, const Extents& y, const Taps& taps) {
  double value = -std::numeric_limits<double>::infinity();
  bool nan = false;
  each_element(w, y, taps, [&](const Extents& at) {
    const double v = x.at(at);
    value = v > value ? v : value;
    nan |= v != v;
  });
  if (nan) each_element(w, y, taps, [&](const Extents& at) { value = x.at(at) != x.at(at) ? x.at(at) : value; });
  return value;
}

double sum(const Plane& x, const Windows& w, const Extents& y, const Taps& taps) {
  double value = 0;
  each_element(w, y, taps, [&](const Extents& at) { value += x.at(at); });
  return value;
}

void pool_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                 const KernelContext& context) {
  const Windows w = forward_windows(call);
  const bool is_max = call.def.name == "max_pool";
  const Block written = project(identity(kPositions + w.dims), call.out[0].shape, block);
  const auto windows = spatial_ranges(block, kPositions, w.dims);
  numerics::Team& team = team_of(context, static_cast<double>(volume(block)));
  team.run([&](int member, numerics::Workspace&) {
    Plane x(in[0].region), result(written);
    each_plane(block, member, team.size(), [&](std::int64_t n, std::int64_t c) {
      x.load(in[0], n, c);
      each_window(w, windows, [&](const Extents& y, const Taps& taps) {
        result.at(y) = is_max ? largest(x, w, y, taps) : sum(x, w, y, taps) / divisor(call, w, taps);
      });
      result.store(out[0], n, c);
    });
  });
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

// The first of the largest elements; places that are none where there is none.
Extents place_of_largest(const Plane& x, const Windows& w, const Extents& y, const Taps& taps) {
  Extents best{-1, -1, -1};
  for (const Range& range : taps)
    if (range.extent() <= 0) return best;
  for (std::size_t d = 0; d < kSpatial; ++d) best[d] = w.source(d, y[d], taps[d].begin);
  double maximum = x.at(best);
  each_element(w, y, taps, [&](const Extents& at) {
    const double v = x.at(at);
    const bool more = v > maximum;
    maximum = more ? v : maximum;
    for (std::size_t d = 0; d < kSpatial; ++d) best[d] = more ? at[d] : best[d];
  });
  return best;
}

void gradient_kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
                     const KernelContext& context) {
  const Windows w = gradient_windows(call);
  const Space s = gradient_space(call);
  const bool is_max = call.in.size() == 2;
  const Block written = project(s.out[0], call.out[0].shape, block);
  const auto windows = spatial_ranges(project(s.in.back(), call.in.back().shape, block), kPositions, w.dims);
  numerics::Team& team = team_of(context, static_cast<double>(volume(block)));
  team.run([&](int member, numerics::Workspace&) {
    Plane x(in[0].region), dy(in.back().region), result(written);
    const auto add = [&](const Extents& at, double value) {
      if (result.holds(at)) result.at(at) += value;
    };
    each_plane(block, member, team.size(), [&](std::int64_t n, std::int64_t c) {
      if (is_max) x.load(in[0], n, c);
      dy.load(in.back(), n, c);
      result.clear();
      each_window(w, windows, [&](const Extents& y, const Taps& taps) {
        if (is_max) return add(place_of_largest(x, w, y, taps), dy.at(y));
        const double part = dy.at(y) / divisor(call, w, taps);
        each_element(w, y, taps, [&](const Extents& at) { add(at, part); });
      });
      result.store(out[0], n, c);
    });
  });
}

// Images lie with groups of channels innermost (kGroup, where there are so many). A row of results has one place of the
// window after the other added to all of it: 30 to begin, per vector of channels 3, gradients 5.
Cycles pool_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents,
                   std::int64_t window, std::int64_t per_vector) {
  constexpr std::int64_t kGroup = 16, kPerRow = 30;
  const std::size_t last = kPositions + (call.in[0].shape.size() - kPositions) - 1;
  std::int64_t elements = 1;
  for (std::size_t d = 0; d <= last; ++d) elements *= extents[d];
  const DType type = call.in[0].type;
  const std::int64_t channels = std::min(kGroup, call.in[0].shape[1]);
  const std::int64_t filled = ceil_div(channels, lanes(type)) * lanes(type);  // of a group, in whole vectors
  const std::int64_t vectors = ceil_div(elements * filled / channels, lanes(type));
  const std::int64_t rows = ceil_div(elements, channels * extents[last]);
  return costs.launch +
         Cycles(costs.workers * window *
                (kPerRow * ceil_div(rows, costs.workers) + per_vector * ceil_div(vectors, costs.workers)));
}

Cycles forward_pool_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  return pool_cycles(costs, call, extents, volume(call.attrs.integers("window")), 3);
}

Cycles pool_gradient_cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  return pool_cycles(costs, call, extents, volume(call.attrs.integers("window")), 5);
}

std::vector<TensorId> pool_gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
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
  def.activation = name == "max_pool";
  def.infer = infer_pool;
  def.space = pool_space;
  def.kernel = pool_kernel;
  def.cycles = forward_pool_cycles;
  def.gradient = pool_gradient;
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
  def.cycles = pool_gradient_cycles;
  def.activation = false;
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
