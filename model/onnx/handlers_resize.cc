// SPDX-License-Identifier: Apache-2.0
// Resampling along axes, each a product with a matrix that is known when importing: so it splits, and has a
// gradient, as products do. Nearest pixels are a lookup.
#include <algorithm>
#include <cmath>
#include <optional>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

struct Tap {
  std::int64_t from = 0;
  double weight = 1;
};

// What the results along one axis are made of.
struct AxisTaps {
  std::vector<std::vector<Tap>> taps;
  std::vector<bool> outside;  // takes the extrapolation value
  bool any_outside() const { return std::find(outside.begin(), outside.end(), true) != outside.end(); }
};

struct ResizeRule {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

struct AxisSize {
  std::int64_t from = 1, to = 1;
  double scale = 1;  // as given: `to` is a whole number, from * scale need not be
  double roi_begin = 0, roi_end = 1;
};

double source_of(const ResizeRule& rule, const AxisSize& a, double i) {
  const double last = static_cast<double>(a.from) - 1, wide = a.scale * static_cast<double>(a.from);
  if (rule.coordinates == "align_corners") return wide == 1 ? 0 : i * last / (wide - 1);
  if (rule.coordinates == "asymmetric") return i / a.scale;
  if (rule.coordinates == "tf_crop_and_resize") {
    if (wide == 1) return (a.roi_begin + a.roi_end) * last / 2;
    return a.roi_begin * last + i * (a.roi_end - a.roi_begin) * last / (wide - 1);
  }
  if (rule.coordinates == "pytorch_half_pixel" && a.to == 1) return 0;
  if (rule.coordinates == "tf_half_pixel_for_nn") return (i + 0.5) / a.scale;
  if (rule.coordinates == "half_pixel_symmetric") {
    const double beside = static_cast<double>(a.from) / 2 * (1 - static_cast<double>(a.to) / wide);
    return beside + (i + 0.5) / a.scale - 0.5;
  }
  return (i + 0.5) / a.scale - 0.5;
}

double nearest_place(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// Keys' cubic kernel at a distance.
double cubic_weight(double distance, double a) {
  const double d = std::abs(distance);
  if (d < 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

// The pixels around x; those outside are the ones at the border, or left out. `scale`: of the axis. An antialiasing
// filter is wider by its inverse where there are fewer results than pixels.
std::vector<Tap> taps_at(const ResizeRule& rule, double x, std::int64_t extent, double scale) {
  std::vector<Tap> taps;
  const auto put = [&](double place, double weight) {
    const auto at = static_cast<std::int64_t>(place);
    const bool inside = at >= 0 && at < extent;
    if (inside || !rule.exclude_outside) taps.push_back({std::clamp<std::int64_t>(at, 0, extent - 1), weight});
  };
  if (rule.mode == "nearest") {
    put(nearest_place(rule.nearest, x), 1);
    return taps;
  }
  const double low = std::floor(x), t = x - low;
  if (rule.antialias && scale < 1) {
    const double reach = rule.mode == "linear" ? 1 : 2, first = std::floor(-reach / scale) + 1;
    for (double k = first; k <= 1 - first; ++k) {
      const double distance = (k - t) * scale;
      put(low + k, rule.mode == "linear" ? std::max(0.0, 1 - std::abs(distance)) : cubic_weight(distance, rule.cubic));
    }
  } else if (rule.mode == "linear") {
    put(low, 1 - t);
    put(low + 1, t);
  } else {
    for (int k = -1; k <= 2; ++k) put(low + k, cubic_weight(k - t, rule.cubic));
  }
  double sum = 0;
  for (const Tap& tap : taps) sum += tap.weight;
  for (Tap& tap : taps) tap.weight /= sum;
  return taps;
}

AxisTaps axis_taps(const ResizeRule& rule, const AxisSize& a) {
  AxisTaps all;
  for (std::int64_t i = 0; i < a.to; ++i) {
    const double x = source_of(rule, a, static_cast<double>(i));
    const bool outside = rule.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(a.from - 1));
    all.outside.push_back(outside);
    all.taps.push_back(outside ? std::vector<Tap>{{0, 1}} : taps_at(rule, x, a.from, a.scale));
  }
  return all;
}

TensorId resample(GraphBuilder& b, TensorId x, std::int64_t axis, const AxisTaps& all) {
  const std::int64_t from = b.info(x).shape[static_cast<std::size_t>(axis)];
  const auto to = static_cast<std::int64_t>(all.taps.size());
  bool lookup = true, same = from == to;
  std::vector<std::int64_t> places;
  for (const std::vector<Tap>& taps : all.taps) {
    std::int64_t place = -1;
    for (const Tap& tap : taps) {
      if (tap.weight == 0) continue;
      lookup = lookup && place < 0 && tap.weight == 1;
      place = tap.from;
    }
    same = same && place == static_cast<std::int64_t>(places.size());
    places.push_back(place);
  }
  if (lookup && same) return x;
  if (lookup) return gather_axis(b, x, integer_constant(b, {to}, places), axis);
  const DType type = b.info(x).type;
  if (!is_float(type)) Node::not_supported("interpolation of " + std::string(name_of(type)));
  constexpr std::int64_t kLargest = 1 << 24;
  if (from * to > kLargest)
    Node::not_supported("interpolation between " + std::to_string(from) + " and " + std::to_string(to) + " places");
  Array matrix(TensorInfo{type, {from, to}});
  for (std::int64_t i = 0; i < to; ++i) {
    for (const Tap& tap : all.taps[static_cast<std::size_t>(i)]) {
      matrix.set(tap.from * to + i, matrix.at(tap.from * to + i) + tap.weight);
    }
  }
  return axis_from_last(b, times_matrix(b, axis_last(b, x, axis), std::move(matrix)), axis);
}

TensorId with_extrapolation(GraphBuilder& b, TensorId y, std::int64_t axis, const AxisTaps& all, double value) {
  std::vector<double> outside(all.outside.begin(), all.outside.end());
  const auto n = static_cast<std::int64_t>(outside.size());
  const TensorId mask = b.constant(Array::from(DType::boolean, {n}, outside));
  const std::size_t after = b.info(y).shape.size() - static_cast<std::size_t>(axis) - 1;
  return b.one("where", {with_ones(b, mask, 1, after), b.scalar(b.info(y).type, value), y});
}

Results resample_all(Node& n, const ResizeRule& rule, const std::vector<AxisSize>& sizes) {
  GraphBuilder& b = n.b;
  TensorId y = n.in(0);
  std::vector<AxisTaps> all;
  for (const AxisSize& size : sizes) {
    if (size.from == 0 || size.to < 0) Node::fail("from " + to_text(n.shape(0)));
    checked_shape({size.to}, "result");
    all.push_back(axis_taps(rule, size));
  }
  for (std::size_t d = 0; d < sizes.size(); ++d) y = resample(b, y, static_cast<std::int64_t>(d), all[d]);
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (all[d].any_outside()) y = with_extrapolation(b, y, static_cast<std::int64_t>(d), all[d], rule.extrapolation);
  }
  return {y};
}

std::vector<double> known_numbers(const Node& n, std::size_t i, std::string_view what) {
  if (!n.has(i)) return {};
  return n.values(i, what).values();
}

// Numbers of the axes that the node names, and `fallback` for the others.
std::vector<double> of_all_axes(const std::vector<double>& given, const std::vector<std::int64_t>& axes,
                                const std::vector<double>& fallback) {
  if (given.empty() || axes.empty()) return given;
  if (given.size() != axes.size())
    Node::fail(std::to_string(given.size()) + " scales or sizes for " + std::to_string(axes.size()) + " axes");
  std::vector<double> all = fallback;
  for (std::size_t i = 0; i < axes.size(); ++i) all[static_cast<std::size_t>(axes[i])] = given[i];
  return all;
}

// Sizes that keep the shape of what the axes span: none larger, or none smaller, than is given.
void keep_aspect_ratio(const std::string& policy, const std::vector<std::int64_t>& axes, const Shape& shape,
                       std::vector<double>& scales, std::vector<double>& sizes) {
  if (policy != "not_larger" && policy != "not_smaller") Node::fail("keep_aspect_ratio_policy \"" + policy + "\"");
  std::vector<std::int64_t> spanned = axes;
  for (std::size_t d = 0; axes.empty() && d < shape.size(); ++d) spanned.push_back(static_cast<std::int64_t>(d));
  double scale = policy == "not_larger" ? HUGE_VAL : 0;
  for (const std::int64_t axis : spanned) {
    const auto d = static_cast<std::size_t>(axis);
    const double own = sizes[d] / static_cast<double>(shape[d]);
    scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  scales.assign(shape.size(), 1);
  for (const std::int64_t axis : spanned) {
    const auto d = static_cast<std::size_t>(axis);
    scales[d] = scale;
    sizes[d] = std::floor(scale * static_cast<double>(shape[d]) + 0.5);
  }
}

// Along all axes, from scales or, where given, from sizes.
std::vector<AxisSize> axis_sizes(const Node& n, std::vector<double> scales, std::vector<double> sizes,
                                 const std::vector<std::int64_t>& axes = {}, const std::string& policy = "stretch") {
  const Shape& shape = n.shape(0);
  scales = of_all_axes(scales, axes, std::vector<double>(shape.size(), 1));
  sizes = of_all_axes(sizes, axes, std::vector<double>(shape.begin(), shape.end()));
  const bool keeps = !sizes.empty() && sizes.size() == shape.size() && policy != "stretch";
  if (keeps) keep_aspect_ratio(policy, axes, shape, scales, sizes);
  const std::vector<double>& given = sizes.empty() ? scales : sizes;
  if (given.size() != shape.size()) {
    Node::fail(std::to_string(given.size()) + " scales or sizes for " + to_text(shape) +
               ", expected one per dimension");
  }
  std::vector<AxisSize> all;
  constexpr double kMost = 1 << 20;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto from = static_cast<double>(shape[d]);
    const double to = sizes.empty() ? std::floor(from * scales[d]) : sizes[d];
    if (!(to >= 0 && to <= kMost)) Node::fail("dimension " + std::to_string(d) + " becomes " + std::to_string(to));
    all.push_back({shape[d], static_cast<std::int64_t>(to), sizes.empty() || keeps ? scales[d] : to / from});
  }
  return all;
}

Results resize(Node& n) {
  const bool first = n.opset < 11;  // operands x, scales; since 11 x, roi, scales, sizes
  ResizeRule rule;
  rule.mode = n.text_attribute("mode", "nearest");
  rule.coordinates = n.text_attribute("coordinate_transformation_mode", first ? "asymmetric" : "half_pixel");
  rule.nearest = n.text_attribute("nearest_mode", first ? "floor" : "round_prefer_floor");
  rule.cubic = n.number_attribute("cubic_coeff_a", -0.75);
  rule.exclude_outside = n.integer_attribute("exclude_outside", 0) != 0;
  rule.extrapolation = n.number_attribute("extrapolation_value", 0);
  rule.antialias = n.integer_attribute("antialias", 0) != 0;
  std::vector<std::int64_t> axes = n.integers_attribute("axes");
  for (std::int64_t& axis : axes) axis = n.axis(axis, n.rank(0));
  if (rule.mode != "nearest" && rule.mode != "linear" && rule.mode != "cubic") Node::fail("mode \"" + rule.mode + "\"");
  std::vector<AxisSize> sizes = axis_sizes(n, known_numbers(n, first ? 1 : 2, "scales"),
                                           first ? std::vector<double>{} : known_numbers(n, 3, "sizes"), axes,
                                           n.text_attribute("keep_aspect_ratio_policy", "stretch"));
  if (rule.coordinates == "tf_crop_and_resize") {
    std::vector<double> roi = known_numbers(n, 1, "roi");
    if (roi.size() == 2 * axes.size() && !axes.empty()) {
      const auto middle = roi.begin() + std::ssize(axes);
      const std::vector<double> ends = of_all_axes({middle, roi.end()}, axes, std::vector<double>(sizes.size(), 1));
      roi = of_all_axes({roi.begin(), middle}, axes, std::vector<double>(sizes.size(), 0));
      roi.insert(roi.end(), ends.begin(), ends.end());
    }
    if (roi.size() != 2 * sizes.size()) Node::fail("roi has " + std::to_string(roi.size()) + " elements");
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      sizes[d].roi_begin = roi[d];
      sizes[d].roi_end = roi[sizes.size() + d];
    }
  }
  return resample_all(n, rule, sizes);
}

// Before Resize: asymmetric coordinates; scales an attribute until operator set 9.
Results upsample(Node& n) {
  ResizeRule rule;
  rule.mode = n.text_attribute("mode", "nearest");
  rule.coordinates = "asymmetric";
  rule.nearest = "floor";
  if (rule.mode == "bilinear") rule.mode = "linear";
  if (rule.mode != "nearest" && rule.mode != "linear") Node::fail("mode \"" + rule.mode + "\"");
  return resample_all(n, rule,
                      axis_sizes(n, n.opset < 9 ? n.numbers_attribute("scales") : known_numbers(n, 1, "scales"), {}));
}

constexpr Handler kResizeHandlers[] = {{"Resize", 10, 4, resize}, {"Upsample", 7, 2, upsample}};

}  // namespace

std::span<const Handler> resize_handlers() { return kResizeHandlers; }

}  // namespace superstep::onnx_import
