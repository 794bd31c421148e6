// SPDX-License-Identifier: Apache-2.0
#include "model/ops/conv.h"

#include <algorithm>

#include "model/error.h"
#include "model/ops/elementwise.h"
#include "model/ops/families.h"
#include "model/ops/window.h"

namespace superstep {

namespace {

using namespace ops;

enum class Role { forward, weight_grad, input_grad };

Role role_of(const OpCall& call) {
  return call.def.name == "conv"              ? Role::forward
         : call.def.name == "conv_input_grad" ? Role::input_grad
                                              : Role::weight_grad;
}

// Which operand or result plays which part; shapes of the three tensors of the convolution.
struct Geometry {
  Role role = Role::forward;
  Shape x, w, y;
  std::int64_t groups = 1;
  Windows windows;
  std::int64_t out_channels() const { return w[0] / groups; }  // of a group
  std::int64_t in_channels() const { return w[1]; }
};

Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

Shape joined(std::int64_t a, std::int64_t b, const Shape& rest) {
  Shape shape{a, b};
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

Geometry geometry(const OpCall& call) {
  Geometry g;
  g.role = role_of(call);
  g.groups = call.attrs.integer("groups");
  const Shape &first = call.in[0].shape, &second = call.in[1].shape;
  if (first.size() < 3 || second.size() != first.size() || g.groups < 1) {
    throw Error("", std::string(call.def.name) + " of " + to_text(first) + " and " + to_text(second));
  }
  if (g.role == Role::forward) {
    g.x = first;
    g.w = second;
  } else if (g.role == Role::weight_grad) {
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

std::vector<TensorInfo> infer(const OpCall& call) {
  const Geometry g = geometry(call);
  const DType type = call.in[0].type;
  if (g.role == Role::forward) return {{type, g.y}};
  const Shape& dy = call.in[g.role == Role::weight_grad ? 1 : 0].shape;
  if (dy != g.y) throw Error("", "gradient " + to_text(dy) + " of a convolution to " + to_text(g.y));
  return {{type, g.role == Role::weight_grad ? g.w : g.x}};
}

constexpr int kN = 0, kG = 1, kO = 2, kC = 3, kPositions = 4;

// A channel dimension: by group where there are several, else by its own axis.
DimMap channels(const Geometry& g, int axis, std::int64_t per_group) {
  if (g.groups > 1) return {.axis = kG, .stride = per_group, .span = per_group};
  return {.axis = axis};
}

Space space(const OpCall& call) {
  const Geometry g = geometry(call);
  const Windows& w = g.windows;
  const auto kind = [&](bool reduced) { return reduced ? AxisKind::reduce : AxisKind::parallel; };
  const auto channel_kind = [&](bool reduced) { return g.groups > 1 ? AxisKind::whole : kind(reduced); };
  Space s;
  s.axes = {{"n", g.x[0], kind(g.role == Role::weight_grad)},
            {"g", g.groups, AxisKind::parallel},
            {"o", g.out_channels(), channel_kind(g.role == Role::input_grad)},
            {"c", g.in_channels(), channel_kind(g.role == Role::forward)}};
  const int windows = kPositions + static_cast<int>(w.dims);
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    const std::int64_t extent = g.role == Role::input_grad ? steps(w, d) : w.to[d];
    s.axes.push_back({axis_name('y', d - w.first()), extent, kind(g.role == Role::weight_grad)});
  }
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    s.axes.push_back({axis_name('k', d - w.first()), w.window[d], kind(g.role != Role::weight_grad)});
  }

  Projection x{{.axis = kN}, channels(g, kC, g.in_channels())};
  Projection y{{.axis = kN}, channels(g, kO, g.out_channels())};
  Projection k{channels(g, kO, g.out_channels()), {.axis = kC}};
  for (std::size_t d = w.first(); d < kSpatial; ++d) {
    const int i = static_cast<int>(d - w.first());
    if (g.role == Role::input_grad) {
      x.push_back(stepped(w, d, kPositions + i));
      y.push_back(touching(w, d, kPositions + i));
    } else {
      x.push_back({.axis = kPositions + i,
                   .stride = w.stride[d],
                   .offset = -w.pad[d],
                   .window_axis = windows + i,
                   .dilation = w.dilation[d]});
      y.push_back({.axis = kPositions + i});
    }
    k.push_back({.axis = windows + i});
  }
  if (g.role == Role::forward) s.in = {x, k}, s.out = {y};
  if (g.role == Role::weight_grad) s.in = {x, y}, s.out = {k};
  if (g.role == Role::input_grad) s.in = {y, k}, s.out = {x};
  s.reduction = Reduction::sum;
  s.linear = 1;
  return s;
}

// The points of a block: channels and window as given, positions of y and limits of x.
struct Points {
  Range n, group, o, c;
  std::array<Range, kSpatial> y, k, x;
};

Points points_of(const Geometry& g, const Block& block) {
  const Windows& w = g.windows;
  Points p{block[kN], block[kG], block[kO], block[kC], {}, {}, {}};
  p.y = spatial_ranges(block, kPositions, w.dims);
  p.k = spatial_ranges(block, kPositions + w.dims, w.dims);
  for (std::size_t d = 0; d < kSpatial; ++d) {
    p.x[d] = {0, w.from[d]};
    if (g.role != Role::input_grad || d < w.first()) continue;
    const DimMap window = touching(w, d, 0);
    p.x[d] = {p.y[d].begin * w.stride[d], std::min(p.y[d].end * w.stride[d], w.from[d])};
    p.y[d] = {std::max<std::int64_t>(p.y[d].begin + window.offset, 0),
              std::min(p.y[d].end - 1 + window.offset + window.span, w.to[d])};
  }
  return p;
}

// Window positions y of [y.begin, y.end) whose element for window place k lies in the range.
Range inside(const Windows& w, std::size_t d, const Range& y, std::int64_t k, const Range& x) {
  Range r = y;
  while (r.begin < r.end && w.source(d, r.begin, k) < x.begin) ++r.begin;
  while (r.begin < r.end && w.source(d, r.end - 1, k) >= x.end) --r.end;
  return r;
}

// Calls row(n, output channel, input channel, channel in its group, k, y0, y1, range of y2).
template <class Row>
void visit(const Geometry& g, const Points& p, Row&& row) {
  const Windows& w = g.windows;
  for (std::int64_t k0 = p.k[0].begin; k0 < p.k[0].end; ++k0) {
    for (std::int64_t k1 = p.k[1].begin; k1 < p.k[1].end; ++k1) {
      for (std::int64_t k2 = p.k[2].begin; k2 < p.k[2].end; ++k2) {
        const Extents k{k0, k1, k2};
        const Range y0 = inside(w, 0, p.y[0], k0, p.x[0]), y1 = inside(w, 1, p.y[1], k1, p.x[1]);
        const Range y2 = inside(w, 2, p.y[2], k2, p.x[2]);
        if (y2.begin >= y2.end) continue;
        for (std::int64_t n = p.n.begin; n < p.n.end; ++n) {
          for (std::int64_t group = p.group.begin; group < p.group.end; ++group) {
            for (std::int64_t o = p.o.begin; o < p.o.end; ++o) {
              for (std::int64_t c = p.c.begin; c < p.c.end; ++c) {
                for (std::int64_t a = y0.begin; a < y0.end; ++a) {
                  for (std::int64_t b = y1.begin; b < y1.end; ++b) {
                    row(n, group * g.out_channels() + o, group * g.in_channels() + c, c, k, a, b, y2);
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

void kernel(const OpCall& call, const Block& block, std::span<const ConstView> in, std::span<const View> out,
            const KernelContext&) {
  const Geometry g = geometry(call);
  const Space s = space(call);
  const Windows& w = g.windows;
  const Block written = project(s.out[0], call.out[0].shape, block);
  Volume first = load_volume(in[0]), second = load_volume(in[1]), result(written);
  Volume& x = g.role == Role::input_grad ? result : first;
  Volume& y = g.role == Role::forward ? result : g.role == Role::weight_grad ? second : first;
  Volume& f = g.role == Role::weight_grad ? result : second;
  const std::int64_t step = w.stride[2] * x.step[2];
  visit(g, points_of(g, block),
        [&](std::int64_t n, std::int64_t o, std::int64_t channel, std::int64_t c, const Extents& k, std::int64_t y0,
            std::int64_t y1, const Range& y2) {
          double* px = x.values.data() +
                       x.at(n, channel, w.source(0, y0, k[0]), w.source(1, y1, k[1]), w.source(2, y2.begin, k[2]));
          double* py = y.values.data() + y.at(n, o, y0, y1, y2.begin);
          double& factor = f.values[static_cast<std::size_t>(f.at(o, c, k[0], k[1], k[2]))];
          const std::int64_t count = y2.extent();
          if (g.role == Role::forward) {
            for (std::int64_t i = 0; i < count; ++i) py[i * y.step[2]] += factor * px[i * step];
          } else if (g.role == Role::input_grad) {
            for (std::int64_t i = 0; i < count; ++i) px[i * step] += factor * py[i * y.step[2]];
          } else {
            for (std::int64_t i = 0; i < count; ++i) factor += px[i * step] * py[i * y.step[2]];
          }
        });
  store_volume(result, written, out[0], Reduction::sum);
}

// The product for the given extents of all axes. A step of x takes part in window / stride products.
MatmulDims product_of(const Geometry& g, std::span<const std::int64_t> extents) {
  const Windows& w = g.windows;
  std::int64_t positions = extents[kN], taps = 1, per_step = 1;
  for (std::size_t i = 0; i < w.dims; ++i) {
    const std::int64_t stride = g.role == Role::input_grad ? w.stride[w.first() + i] : 1;
    positions *= extents[kPositions + i];
    taps *= ceil_div(extents[kPositions + w.dims + i], stride);
    per_step *= stride;
  }
  const std::int64_t groups = extents[kG], o = extents[kO], c = extents[kC];
  if (g.role == Role::forward) return {groups, positions, o, c * taps};
  if (g.role == Role::weight_grad) return {groups, c * taps, o, positions};
  return {groups, positions, c * per_step, o * taps};
}

// Channels that share nothing are multiplied by the vector unit: per worker 25, per window row
// 19 + 3 (width - 1) for 8 channels, 61 for the supervisor (facts/hardware.md 2.5, VMAC).
Cycles depthwise_cycles(const TileCosts& costs, const Geometry& g, std::span<const std::int64_t> extents) {
  const std::size_t dims = g.windows.dims;
  std::int64_t rows = extents[kN] * ceil_div(extents[kG], 8);
  for (std::size_t i = 0; i < dims; ++i) rows *= extents[kPositions + i];
  for (std::size_t i = 0; i + 1 < dims; ++i) rows *= extents[kPositions + dims + i];
  const std::int64_t per_row = 19 + 3 * (extents[kPositions + 2 * dims - 1] - 1);
  return costs.launch + Cycles(61 + costs.workers * (25 + ceil_div(rows, costs.workers) * per_row));
}

Cycles cycles(const TileCosts& costs, const OpCall& call, std::span<const std::int64_t> extents) {
  const Geometry g = geometry(call);
  const Cycles by_matrix = matrix_unit_cycles(costs, call.in[0].type, product_of(g, extents));
  if (g.out_channels() != 1 || g.in_channels() != 1) return by_matrix;
  return std::min(by_matrix, depthwise_cycles(costs, g, extents));
}

Attributes gradient_attributes(const Attributes& forward, const char* extra, Shape value) {
  Attributes attrs = forward;
  attrs.set(extra, std::move(value));
  return attrs;
}

std::vector<TensorId> gradient(GraphBuilder& b, OpId id, std::span<const TensorId> out_grads) {
  const TensorId x = b.graph().ops[id].inputs[0], w = b.graph().ops[id].inputs[1];
  const Attributes attrs = b.graph().ops[id].attrs;
  std::vector<TensorId> grads(2);
  if (b.wants(x)) {
    grads[0] =
        b.one("conv_input_grad", {out_grads[0], w}, gradient_attributes(attrs, "spatial", spatial(b.info(x).shape)));
  }
  if (b.wants(w)) {
    grads[1] =
        b.one("conv_weight_grad", {x, out_grads[0]}, gradient_attributes(attrs, "window", spatial(b.info(w).shape)));
  }
  return grads;
}

OpDef make(std::string_view name, const char* extra) {
  OpDef def;
  def.name = name;
  def.attrs = window_attributes();
  def.attrs.push_back({"groups", std::int64_t{1}});
  if (extra) def.attrs.push_back({extra, std::vector<std::int64_t>{}});
  def.min_inputs = def.max_inputs = 2;
  def.infer = infer;
  def.space = space;
  def.kernel = kernel;
  def.cycles = cycles;
  def.gradient = extra ? nullptr : gradient;
  def.uses_amp = true;
  def.vertex_code = Bytes(4096);  // as matmul
  return def;
}

}  // namespace

ConvDims conv_dims(const OpCall& call) {
  const Geometry g = geometry(call);
  std::vector<std::int64_t> extents;
  for (const Axis& axis : space(call).axes) extents.push_back(axis.extent);
  ConvDims dims{product_of(g, extents), {}, {}};
  for (std::size_t d = g.windows.first(); d < kSpatial; ++d) {
    dims.window.push_back((g.windows.window[d] - 1) * g.windows.dilation[d] + 1);
    dims.stride.push_back(g.windows.stride[d]);
  }
  return dims;
}

ConvAxes conv_axes(const OpCall& call) {
  const Geometry g = geometry(call);
  std::vector<int> positions{kN}, taps;
  for (int i = 0; i < static_cast<int>(g.windows.dims); ++i) {
    positions.push_back(kPositions + i);
    taps.push_back(kPositions + static_cast<int>(g.windows.dims) + i);
  }
  const auto with_taps = [&](int channel) {
    std::vector<int> all{channel};
    all.insert(all.end(), taps.begin(), taps.end());
    return all;
  };
  if (g.role == Role::forward) return {kG, positions, {kO}, with_taps(kC)};
  if (g.role == Role::weight_grad) return {kG, with_taps(kC), {kO}, positions};
  return {kG, positions, {kC}, with_taps(kO)};
}

namespace ops {
std::vector<const OpDef*> conv_ops() {
  static const OpDef defs[] = {make("conv", nullptr), make("conv_input_grad", "spatial"),
                               make("conv_weight_grad", "window")};
  return {&defs[0], &defs[1], &defs[2]};
}
}  // namespace ops

}  // namespace superstep
