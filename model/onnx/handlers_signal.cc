// SPDX-License-Identifier: Apache-2.0
// Windows and Fourier transforms: windows are known when importing, transforms are products with known matrices.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

constexpr double kTurn = 2 * std::numbers::pi;

DType output_type(Node& n) { return type_named(n, "output_datatype", n.context.float_type(DType::fp32)); }

constexpr double kLongestSignal = 1 << 20;

// a - b cos(2 pi i / n) + c cos(4 pi i / n)
Results cosine_window(Node& n, double a, double b, double c) {
  const double size = n.number(0, "size");
  if (!(size >= 0 && size <= kLongestSignal)) Node::fail("a window of " + std::to_string(size) + " elements");
  const bool periodic = n.integer_attribute("periodic", 1) != 0;
  const DType type = output_type(n);
  const double turns = periodic ? size : size - 1;
  std::vector<double> values;
  for (double i = 0; i < size; ++i) {
    const double at = turns > 0 ? kTurn * i / turns : 0;
    values.push_back(a - b * std::cos(at) + c * std::cos(2 * at));
  }
  return {n.b.constant(Array::from(type, {static_cast<std::int64_t>(values.size())}, values))};
}

Results hann(Node& n) { return cosine_window(n, 0.5, 0.5, 0); }
Results hamming(Node& n) { return cosine_window(n, 25.0 / 46, 21.0 / 46, 0); }
Results blackman(Node& n) { return cosine_window(n, 0.42, 0.5, 0.08); }

// Triangles between frequencies that lie evenly on the mel scale, over the bins of a transform.
Results mel_weights(Node& n) {
  const double mels = n.number(0, "num_mel_bins"), length = n.number(1, "dft_length"),
               rate = n.number(2, "sample_rate");
  const double low = n.number(3, "lower_edge_hertz"), high = n.number(4, "upper_edge_hertz");
  if (!(mels >= 1 && length >= 1 && mels <= kLongestSignal && length <= kLongestSignal &&
        mels * length <= kLongestSignal && rate > 0)) {
    Node::fail("mel bins of a transform of " + std::to_string(length));
  }
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const auto hertz = [](double m) { return 700 * (std::pow(10, m / 2595) - 1); };
  const auto columns = static_cast<std::int64_t>(mels), rows = static_cast<std::int64_t>(length) / 2 + 1;
  std::vector<double> edges;
  const double step = (mel(high) - mel(low)) / (mels + 2);
  for (double i = 0; i < mels + 2; ++i) edges.push_back(std::floor((length + 1) * hertz(mel(low) + i * step) / rate));
  Array weights(TensorInfo{output_type(n), {rows, columns}});
  const auto put = [&](double row, std::int64_t column, double value) {
    if (row >= 0 && row < static_cast<double>(rows))
      weights.set(static_cast<std::int64_t>(row) * columns + column, value);
  };
  for (std::int64_t c = 0; c < columns; ++c) {
    const double left = edges[static_cast<std::size_t>(c)], middle = edges[static_cast<std::size_t>(c) + 1],
                 right = edges[static_cast<std::size_t>(c) + 2];
    if (middle == left) put(middle, c, 1);
    for (double row = left; row <= middle && middle > left; ++row) put(row, c, (row - left) / (middle - left));
    for (double row = middle; row < right; ++row) put(row, c, (right - row) / (right - middle));
  }
  return {n.b.constant(std::move(weights))};
}

struct Transform {
  std::int64_t length;  // samples: what is missing is zero, what is more is left out
  std::int64_t bins;
  bool inverse;
};

// x [..., n, 1 or 2] real or complex over dimension -2, to [..., bins, 2].
TensorId transformed(GraphBuilder& b, TensorId x, const Transform& t) {
  const TensorInfo info = b.info(x);
  const auto rank = static_cast<std::int64_t>(info.shape.size());
  const std::int64_t samples = std::min(info.shape[info.shape.size() - 2], t.length), parts = info.shape.back();
  if (parts != 1 && parts != 2) Node::fail("operand 0 has shape " + to_text(info.shape) + ", expected real or complex");
  if (static_cast<double>(samples * parts) * static_cast<double>(t.bins) > 16 * kLongestSignal) {
    Node::not_supported("a transform of " + std::to_string(t.length) + " samples");
  }
  // Row (sample, part), column (bin, part).
  Array matrix(TensorInfo{info.type, {samples * parts, t.bins * 2}});
  const double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
  for (std::int64_t s = 0; s < samples; ++s) {
    for (std::int64_t k = 0; k < t.bins; ++k) {
      const double angle =
          (t.inverse ? kTurn : -kTurn) * static_cast<double>(s * k % t.length) / static_cast<double>(t.length);
      const double real = std::cos(angle) * scale, imaginary = std::sin(angle) * scale;
      const std::int64_t row = s * parts * t.bins * 2 + 2 * k;
      matrix.set(row, real);
      matrix.set(row + 1, imaginary);
      if (parts == 1) continue;
      matrix.set(row + t.bins * 2, -imaginary);
      matrix.set(row + t.bins * 2 + 1, real);
    }
  }
  Shape flat(info.shape.begin(), info.shape.end() - 2), result = flat;
  flat.push_back(samples * parts);
  result.insert(result.end(), {t.bins, 2});
  const TensorId rows = b.reshape(b.slice(x, rank - 2, 0, samples), flat);
  return b.reshape(times_matrix(b, rows, std::move(matrix)), result);
}

// x [..., bins, 2], the first half of the bins of a real signal, to [..., length, 1]: bins that the other half mirrors
// count twice.
TensorId real_signal(GraphBuilder& b, TensorId x, std::int64_t length) {
  const TensorInfo info = b.info(x);
  const auto rank = static_cast<std::int64_t>(info.shape.size());
  if (info.shape.back() != 2) Node::fail("operand 0 has shape " + to_text(info.shape) + ", expected complex bins");
  const std::int64_t bins = std::min(info.shape[info.shape.size() - 2], length / 2 + 1);
  if (static_cast<double>(bins * length) > 8 * kLongestSignal)
    Node::not_supported("a transform of " + std::to_string(length) + " samples");
  Array matrix(TensorInfo{info.type, {bins * 2, length}});
  for (std::int64_t k = 0; k < bins; ++k) {
    const double share = (k == 0 || 2 * k == length ? 1 : 2) / static_cast<double>(length);
    for (std::int64_t s = 0; s < length; ++s) {
      const double angle = kTurn * static_cast<double>(s * k % length) / static_cast<double>(length);
      matrix.set(2 * k * length + s, share * std::cos(angle));
      matrix.set((2 * k + 1) * length + s, -share * std::sin(angle));
    }
  }
  Shape flat(info.shape.begin(), info.shape.end() - 2), result = flat;
  flat.push_back(bins * 2);
  result.insert(result.end(), {length, 1});
  const TensorId rows = b.reshape(b.slice(x, rank - 2, 0, bins), flat);
  return b.reshape(times_matrix(b, rows, std::move(matrix)), result);
}

Results dft(Node& n) {
  GraphBuilder& b = n.b;
  if (n.rank(0) < 2) Node::fail("operand 0 has shape " + to_text(n.shape(0)));
  std::int64_t axis = n.opset < 20 ? n.integer_attribute("axis", 1) : -2;
  if (n.opset >= 20 && n.has(2)) axis = static_cast<std::int64_t>(n.number(2, "axis"));
  axis = n.axis(axis, n.rank(0));
  if (axis == n.rank(0) - 1) Node::fail("a transform over the real and imaginary part");
  const bool inverse = n.integer_attribute("inverse", 0) != 0, half = n.integer_attribute("onesided", 0) != 0;
  std::int64_t length = n.shape(0)[static_cast<std::size_t>(axis)];
  if (inverse && half) length = 2 * (length - 1);
  if (n.has(1)) length = static_cast<std::int64_t>(n.number(1, "dft_length"));
  if (length < 1 || static_cast<double>(length) > kLongestSignal) Node::fail("dft_length " + std::to_string(length));
  // The transformed axis next to the parts, and back.
  std::vector<std::int64_t> order, back(n.shape(0).size());
  for (std::int64_t d = 0; d < n.rank(0); ++d) {
    if (d != axis) order.push_back(d);
  }
  order.insert(order.end() - 1, axis);
  for (std::size_t d = 0; d < order.size(); ++d)
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  const TensorId x = b.transpose(n.in(0), order);
  if (inverse && half) return {b.transpose(real_signal(b, x, length), back)};
  const Transform t{length, half ? length / 2 + 1 : length, inverse};
  return {b.transpose(transformed(b, x, t), back)};
}

// Transforms of windows that follow each other by a step: x [batch, samples, 1 or 2] to [batch, frames, bins, 2].
Results stft(Node& n) {
  GraphBuilder& b = n.b;
  TensorId x = n.in(0);
  if (n.rank(0) == 2) x = with_ones(b, x, 2, 1);
  const Shape shape = b.info(x).shape;
  if (shape.size() != 3) Node::fail("operand 0 has shape " + to_text(shape) + ", expected [batch, samples, 1 or 2]");
  const auto step = static_cast<std::int64_t>(n.number(1, "frame_step"));
  std::int64_t length = n.has(2) ? n.b.info(n.in(2)).elements() : 0;
  if (n.has(3)) length = static_cast<std::int64_t>(n.number(3, "frame_length"));
  const bool half = n.integer_attribute("onesided", 1) != 0;
  if (step < 1 || length < 1 || length > shape[1]) {
    Node::fail("frames of " + std::to_string(length) + " by " + std::to_string(step) + " over " + to_text(shape));
  }
  const std::int64_t frames = (shape[1] - length) / step + 1;
  std::vector<std::int64_t> places;
  for (std::int64_t f = 0; f < frames; ++f) {
    for (std::int64_t i = 0; i < length; ++i) places.push_back(f * step + i);
  }
  TensorId cut = gather_axis(b, x, integer_constant(b, {frames, length}, places), 1);
  if (n.has(2)) cut = b.binary("mul", cut, with_ones(b, n.in(2), 1, 1));
  return {transformed(b, cut, {length, half ? length / 2 + 1 : length, false})};
}

constexpr Handler kSignalHandlers[] = {
    {"BlackmanWindow", 17, 1, blackman}, {"DFT", 17, 3, dft},   {"HammingWindow", 17, 1, hamming},
    {"HannWindow", 17, 1, hann},         {"STFT", 17, 4, stft}, {"MelWeightMatrix", 17, 5, mel_weights},
};

}  // namespace

std::span<const Handler> signal_handlers() { return kSignalHandlers; }

}  // namespace superstep::onnx_import
