// SPDX-License-Identifier: Apache-2.0
#include "model/lower/product_reading.h"

namespace superstep {

Reading plain_reading(const ProductShape& s, const Chip& chip) {
  return {
      .blocks = ceil_div(s.contracted, chip.amp.block_channels), .depth = chip.amp.block_channels, .received = s.halo};
}

namespace {

// All places of the window copied beside each other first (the vendor's expandDims): then it is a plain product.
Reading copied_window(const ProductShape& s, const Chip& chip) {
  Reading r = plain_reading(s, chip);
  r.copied = static_cast<double>(s.contracted) / static_cast<double>(r.blocks * r.depth);
  r.received *= r.copied;  // padded as it is copied
  return r;
}

// The window slides over channels that are padded to whole groups (the vendor's Nx1 vertex), `height` rows in a pass;
// `by_row`: places of a row of the window are copied beside each other first, and count as channels.
Reading slid_window(const ProductShape& s, const AmpWindowVertex& vertex, std::int64_t height, bool by_row) {
  const ConvWindow& w = *s.window;
  const std::int64_t channels = w.channels * (by_row ? w.columns : 1);
  Reading r;
  r.window = vertex.window(height, channels, w.rows, by_row ? 1 : w.columns, w.line);
  r.blocks = r.window->passes(), r.depth = vertex.depth();
  const std::int64_t padded = r.window->groups * (r.depth / height);
  const double halo = s.halo / s.distinct, contracted = static_cast<double>(r.blocks * r.depth);
  // Rows are padded as they are copied, channels alone before the exchange.
  r.received = halo * static_cast<double>(w.new_places() * (by_row ? w.channels : padded)) / contracted;
  if (by_row)
    r.copied = halo * static_cast<double>(w.new_rows * channels) / contracted;
  else if (padded != channels)
    r.copied = r.received;
  return r;
}

}  // namespace

std::vector<Reading> readings(const ProductShape& s, const Chip& chip, bool in_parts) {
  if (!s.window) return {plain_reading(s, chip)};
  std::vector<Reading> all{copied_window(s, chip)};
  if (in_parts) return all;
  const AmpWindowVertex vertex(chip.amp, chip.workers, s.operands, s.partials);
  for (bool by_row : {false, true}) {
    if (by_row && s.window->columns == 1) continue;
    Reading best = slid_window(s, vertex, 1, by_row);
    for (std::int64_t height = 2; height <= vertex.kMostHeight; height *= 2) {
      const Reading r = slid_window(s, vertex, height, by_row);
      if (r.blocks < best.blocks) best = r;
    }
    all.push_back(best);
  }
  return all;
}

}  // namespace superstep
