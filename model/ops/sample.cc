// SPDX-License-Identifier: Apache-2.0
// Opaque ops that read pixels at computed places: grid_sample, deform_columns, roi_align, max_pool_places.
#include <algorithm>
#include <array>
#include <cmath>

#include "model/error.h"
#include "model/ops/families.h"
#include "model/ops/opaque.h"
#include "model/ops/window.h"

namespace superstep::ops {

namespace {

// A plane of pixels.
struct PixelPlane {
  const double* data;
  std::int64_t height, width;
  double at(std::int64_t y, std::int64_t x) const { return data[y * width + x]; }
  double or_zero(std::int64_t y, std::int64_t x) const {
    return y >= 0 && y < height && x >= 0 && x < width ? at(y, x) : 0;
  }
};

PixelPlane plane(const Dense& x, std::int64_t n, std::int64_t c) {
  const std::int64_t height = x.shape[2], width = x.shape[3];
  return {x.values.data() + (n * x.shape[1] + c) * height * width, height, width};
}

// grid_sample(x [n, c, h, w], grid [n, h', w', 2]): pixels at places in [-1, 1], (x, y) each.

std::vector<TensorInfo> grid_infer(const OpCall& call) {
  const Shape &x = call.in[0].shape, &grid = call.in[1].shape;
  if (x.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != x[0]) {
    throw Error("", "grid " + to_text(grid) + " over " + to_text(x) + ", expected [n, h, w, 2] over [n, c, h, w]");
  }
  return {{call.in[0].type, {x[0], x[1], grid[1], grid[2]}}};
}

// Mirrored at both ends of [low, high] as often as needed.
double reflected(double at, double low, double high) {
  if (high <= low) return low;
  const double period = 2 * (high - low);
  double distance = std::fmod(std::abs(at - low), period);
  if (distance > high - low) distance = period - distance;
  return low + distance;
}

enum class Outside { zero, border, mirror };

struct Sampler {
  bool corners = false;
  Outside outside = Outside::zero;
  std::string mode;

  double unnormalized(double at, std::int64_t extent) const {
    const auto n = static_cast<double>(extent);
    return corners ? (at + 1) / 2 * (n - 1) : ((at + 1) * n - 1) / 2;
  }

  double inside(double at, std::int64_t extent) const {
    const auto last = static_cast<double>(extent - 1);
    if (outside == Outside::mirror) at = corners ? reflected(at, 0, last) : reflected(at, -0.5, last + 0.5);
    return outside == Outside::zero ? at : std::clamp(at, 0.0, last);
  }

  double pixel(const PixelPlane& p, double y, double x) const {
    return p.or_zero(static_cast<std::int64_t>(inside(y, p.height)), static_cast<std::int64_t>(inside(x, p.width)));
  }

  double sample(const PixelPlane& p, double y, double x) const {
    // Far outside every mode reads the same as just outside; keeps the conversion to integers defined.
    constexpr double kFar = 1e9;
    y = std::clamp(std::isnan(y) ? -1.0 : y, -kFar, kFar);
    x = std::clamp(std::isnan(x) ? -1.0 : x, -kFar, kFar);
    if (mode == "cubic") return cubic(p, y, x);
    y = inside(y, p.height);
    x = inside(x, p.width);
    if (mode == "nearest") return pixel(p, std::nearbyint(y), std::nearbyint(x));
    const double y0 = std::floor(y), x0 = std::floor(x), v = y - y0, u = x - x0;
    const auto iy = static_cast<std::int64_t>(y0), ix = static_cast<std::int64_t>(x0);
    return (1 - v) * ((1 - u) * p.or_zero(iy, ix) + u * p.or_zero(iy, ix + 1)) +
           v * ((1 - u) * p.or_zero(iy + 1, ix) + u * p.or_zero(iy + 1, ix + 1));
  }

  // Keys' kernel with a = -0.75, as PyTorch.
  static std::array<double, 4> weights(double t) {
    constexpr double kA = -0.75;
    const auto near = [](double d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    const auto far = [](double d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
    return {far(t + 1), near(t), near(1 - t), far(2 - t)};
  }

  double cubic(const PixelPlane& p, double y, double x) const {
    const double y0 = std::floor(y), x0 = std::floor(x);
    const auto wy = weights(y - y0), wx = weights(x - x0);
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        sum += wy[static_cast<std::size_t>(i)] * wx[static_cast<std::size_t>(j)] * pixel(p, y0 + i - 1, x0 + j - 1);
      }
    }
    return sum;
  }
};

void grid_sample(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const std::string& padding = call.attrs.text("padding");
  const Sampler s{call.attrs.integer("corners") != 0,
                  padding == "zeros"    ? Outside::zero
                  : padding == "border" ? Outside::border
                                        : Outside::mirror,
                  call.attrs.text("mode")};
  const Dense &x = in[0], &grid = in[1];
  const std::int64_t places = grid.shape[1] * grid.shape[2];
  for (std::int64_t n = 0; n < x.shape[0]; ++n) {
    for (std::int64_t c = 0; c < x.shape[1]; ++c) {
      const PixelPlane p = plane(x, n, c);
      for (std::int64_t i = 0; i < places; ++i) {
        const double* at = grid.values.data() + (n * places + i) * 2;
        out[0].values[static_cast<std::size_t>((n * x.shape[1] + c) * places + i)] =
            s.sample(p, s.unnormalized(at[1], p.height), s.unnormalized(at[0], p.width));
      }
    }
  }
}

// deform_columns(x [n, c, h, w], offsets [n, groups * places * 2, y, x], mask [n, groups * places, y, x] or a number):
// what each place of each window reads, its offset further on, times its mask: [n, c, places, y, x]. Channels of a
// group share offsets, (down, across) each.

struct Deformed {
  Windows w;
  std::int64_t groups, places;
};

Deformed deformed(const OpCall& call) {
  const Shape& x = call.in[0].shape;
  if (x.size() != 4) throw Error("", "deformed windows over " + to_text(x) + ", expected [n, c, h, w]");
  const Shape& window = call.attrs.integers("window");
  return {make_windows(call.attrs, {x[2], x[3]}, window), call.attrs.integer("offset_groups"), volume(window)};
}

std::vector<TensorInfo> deform_infer(const OpCall& call) {
  const Shape &x = call.in[0].shape, &offsets = call.in[1].shape, &mask = call.in[2].shape;
  const Deformed d = deformed(call);
  const std::int64_t height = d.w.to[1], width = d.w.to[2];
  const bool grouped = d.groups > 0 && x[1] % d.groups == 0;
  if (!grouped || offsets != Shape{x[0], d.groups * d.places * 2, height, width} ||
      (!mask.empty() && mask != Shape{x[0], d.groups * d.places, height, width}))
    throw Error("", "offsets " + to_text(offsets) + " and mask " + to_text(mask) + " over " + to_text(x) + " in " +
                        std::to_string(d.groups) +
                        " groups, expected [n, groups * places * 2, h, w] and [n, groups * " + "places, h, w]");
  return {{call.in[0].type, {x[0], x[1], d.places, height, width}}};
}

void deform_columns(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const Deformed d = deformed(call);
  const Dense &x = in[0], &offsets = in[1], &mask = in[2];
  const std::int64_t windows = d.w.to[1] * d.w.to[2], shared = x.shape[1] / d.groups;
  const Sampler s{true, Outside::zero, "linear"};
  double* to = out[0].values.data();
  for (std::int64_t plane_of = 0; plane_of < x.shape[0] * x.shape[1]; ++plane_of) {
    const std::int64_t n = plane_of / x.shape[1], c = plane_of % x.shape[1];
    const PixelPlane p = plane(x, n, c);
    for (std::int64_t k = 0; k < d.places; ++k) {
      const std::int64_t place = (n * d.groups + c / shared) * d.places + k;
      for (std::int64_t i = 0; i < windows; ++i) {
        const auto at = [&](std::size_t dim, std::int64_t window, std::int64_t part) {
          const std::int64_t in_window = dim == 1 ? k / d.w.window[2] : k % d.w.window[2];
          return static_cast<double>(d.w.source(dim, window, in_window)) +
                 offsets.values[static_cast<std::size_t>((place * 2 + part) * windows + i)];
        };
        const double factor =
            mask.shape.empty() ? mask.values[0] : mask.values[static_cast<std::size_t>(place * windows + i)];
        *to++ = factor * s.sample(p, at(1, i / d.w.to[2], 0), at(2, i % d.w.to[2], 1));
      }
    }
  }
}

std::vector<AttrSpec> deform_attributes() {
  std::vector<AttrSpec> attrs = window_attributes();
  attrs.push_back({"window", std::vector<std::int64_t>{}});
  attrs.push_back({"offset_groups", std::int64_t{1}});
  return attrs;
}

// roi_align(x [n, c, h, w], boxes [r, 4], batch indices [r]): each box divided into bins, each bin the mean
// (or maximum) of bilinear samples.

std::vector<TensorInfo> roi_infer(const OpCall& call) {
  const Shape &x = call.in[0].shape, &boxes = call.in[1].shape;
  if (x.size() != 4 || boxes.size() != 2 || boxes[1] != 4 || call.in[2].shape != Shape{boxes[0]}) {
    throw Error("", "boxes " + to_text(boxes) + " with " + to_text(call.in[2].shape) + " over " + to_text(x));
  }
  return {{call.in[0].type, {boxes[0], x[1], call.attrs.integer("height"), call.attrs.integer("width")}}};
}

// Zero more than a pixel outside, else at the nearest place inside.
double bilinear(const PixelPlane& p, double y, double x, bool maximum) {
  if (!(y >= -1 && y <= static_cast<double>(p.height) && x >= -1 && x <= static_cast<double>(p.width))) return 0;
  const auto split = [](double at, std::int64_t extent) {
    at = std::clamp(at, 0.0, static_cast<double>(extent - 1));
    const auto low = static_cast<std::int64_t>(at);
    return std::pair(low, at - static_cast<double>(low));
  };
  const auto [y0, v] = split(y, p.height);
  const auto [x0, u] = split(x, p.width);
  const std::int64_t y1 = std::min(y0 + 1, p.height - 1), x1 = std::min(x0 + 1, p.width - 1);
  const double parts[] = {(1 - v) * (1 - u) * p.at(y0, x0), (1 - v) * u * p.at(y0, x1), v * (1 - u) * p.at(y1, x0),
                          v * u * p.at(y1, x1)};
  // ONNX takes the maximum over the weighted pixels, not over the interpolated samples.
  return maximum ? *std::max_element(parts, parts + 4) : parts[0] + parts[1] + parts[2] + parts[3];
}

void roi_align(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const Dense& x = in[0];
  const std::int64_t height = call.attrs.integer("height"), width = call.attrs.integer("width");
  const std::int64_t ratio = call.attrs.integer("sampling_ratio");
  const double scale = call.attrs.number("spatial_scale");
  const bool half = call.attrs.integer("half_pixel") != 0, maximum = call.attrs.text("mode") == "max";
  double* to = out[0].values.data();
  for (std::int64_t r = 0; r < in[1].shape[0]; ++r) {
    const double* box = in[1].values.data() + r * 4;
    const auto n = static_cast<std::int64_t>(in[2].values[static_cast<std::size_t>(r)]);
    if (n < 0 || n >= x.shape[0]) throw Error("", "a box in image " + std::to_string(n) + " of " + to_text(x.shape));
    const double shift = half ? 0.5 : 0;
    const double left = box[0] * scale - shift, top = box[1] * scale - shift;
    double across = box[2] * scale - shift - left, down = box[3] * scale - shift - top;
    if (!half) {
      across = std::max(across, 1.0);
      down = std::max(down, 1.0);
    }
    constexpr double kMost = 1 << 20;  // pixels of a side
    if (!(std::abs(across) <= kMost && std::abs(down) <= kMost))
      throw Error("", "box " + std::to_string(r) + " is too large");
    const double bin_h = down / static_cast<double>(height), bin_w = across / static_cast<double>(width);
    const std::int64_t samples_y = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(bin_h));
    const std::int64_t samples_x = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(bin_w));
    for (std::int64_t c = 0; c < x.shape[1]; ++c) {
      const PixelPlane p = plane(x, n, c);
      for (std::int64_t bin = 0; bin < height * width; ++bin) {
        double value = maximum ? -HUGE_VAL : 0;
        for (std::int64_t i = 0; i < samples_y * samples_x; ++i) {
          const auto place = [](double start, double size, std::int64_t b, std::int64_t k, std::int64_t count) {
            return start +
                   size * (static_cast<double>(b) + (static_cast<double>(k) + 0.5) / static_cast<double>(count));
          };
          const double sample = bilinear(p, place(top, bin_h, bin / width, i / samples_x, samples_y),
                                         place(left, bin_w, bin % width, i % samples_x, samples_x), maximum);
          value = maximum ? std::max(value, sample) : value + sample;
        }
        const auto count = static_cast<double>(std::max<std::int64_t>(samples_y * samples_x, 1));
        *to++ = maximum ? value : value / count;
      }
    }
  }
}

// max_pool_places(x): where in the whole tensor each maximum stands; rows of pixels in the order of memory, or
// columns, as `columns` says.

std::vector<TensorInfo> places_infer(const OpCall& call) {
  if (call.in[0].shape.size() < 3) throw Error("", "pooling of " + to_text(call.in[0].shape) + ": rank below 3");
  const Windows w = make_windows(call.attrs, Shape(call.in[0].shape.begin() + 2, call.in[0].shape.end()),
                                 call.attrs.integers("window"));
  TensorInfo result{DType::int64, call.in[0].shape};
  for (std::size_t d = 0; d < w.dims; ++d) result.shape[2 + d] = w.to[w.first() + d];
  return {result};
}

void max_pool_places(const OpCall& call, std::span<const Dense> in, std::span<Dense> out) {
  const Shape& shape = in[0].shape;
  const Windows w = make_windows(call.attrs, Shape(shape.begin() + 2, shape.end()), call.attrs.integers("window"));
  const bool columns = call.attrs.integer("columns") != 0;
  const std::int64_t plane_size = w.from[0] * w.from[1] * w.from[2], planes = shape[0] * shape[1];
  std::size_t next = 0;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t y = 0; y < w.to[0] * w.to[1] * w.to[2]; ++y) {
      const Extents at{y / (w.to[1] * w.to[2]), y / w.to[2] % w.to[1], y % w.to[2]};
      double best = -HUGE_VAL;
      std::int64_t found = 0;
      for (std::int64_t k = 0; k < w.window[0] * w.window[1] * w.window[2]; ++k) {
        const Extents window{k / (w.window[1] * w.window[2]), k / w.window[2] % w.window[1], k % w.window[2]};
        Extents x{};
        bool inside = true;
        for (std::size_t d = 0; d < kSpatial; ++d) {
          x[d] = w.source(d, at[d], window[d]);
          inside = inside && x[d] >= 0 && x[d] < w.from[d];
        }
        if (!inside) continue;
        const std::int64_t row_major = (x[0] * w.from[1] + x[1]) * w.from[2] + x[2];
        const double value = in[0].values[static_cast<std::size_t>(p * plane_size + row_major)];
        if (!(value > best)) continue;
        best = value;
        found = columns ? (x[2] * w.from[1] + x[1]) * w.from[0] + x[0] : row_major;
      }
      out[0].values[next++] = static_cast<double>(p * plane_size + found);
    }
  }
}

std::vector<AttrSpec> places_attributes() {
  std::vector<AttrSpec> attrs = window_attributes();
  attrs.push_back({"window", std::vector<std::int64_t>{}});
  attrs.push_back({"columns", std::int64_t{0}});
  return attrs;
}

}  // namespace

std::vector<const OpDef*> sample_ops() {
  static const OpDef defs[] = {
      opaque_op<grid_sample>(
          "grid_sample", 2,
          {{"mode", std::string("linear")}, {"padding", std::string("zeros")}, {"corners", std::int64_t{0}}},
          grid_infer),
      opaque_op<deform_columns>("deform_columns", 3, deform_attributes(), deform_infer),
      opaque_op<roi_align>("roi_align", 3,
                           {{"mode", std::string("avg")},
                            {"height", std::int64_t{1}},
                            {"width", std::int64_t{1}},
                            {"sampling_ratio", std::int64_t{0}},
                            {"spatial_scale", 1.0},
                            {"half_pixel", std::int64_t{1}}},
                           roi_infer),
      opaque_op<max_pool_places>("max_pool_places", 1, places_attributes(), places_infer)};
  return {&defs[0], &defs[1], &defs[2], &defs[3]};
}

}  // namespace superstep::ops
