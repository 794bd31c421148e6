// SPDX-License-Identifier: Apache-2.0
// Time and temporary memory of a split of a product over tiles, and lower bounds for sets of splits. For the search for
// tile plans alone (tile_plan.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/cost/calibration.h"
#include "model/lower/product_plan.h"
#include "model/lower/product_reading.h"
#include "model/machine/machine.h"
#include "model/ops/amp_vertex.h"
#include "model/ops/amp_window_vertex.h"

namespace superstep {

// Returns the fewest parts whose share ceil(n / parts) is the smallest that at most `limit` parts can have; 0 if
// `limit` is less than 1. Part counts with equal shares are equivalent. fewest_parts(n, parts - 1) gives the next
// larger share.
inline std::int64_t fewest_parts(std::int64_t n, std::int64_t limit) {
  return limit < 1 ? 0 : ceil_div(n, ceil_div(n, std::min(n, limit)));
}

// The cuts of an axis with different shares, most parts first. Each cut has the fewest parts that give its share.
class AxisCuts {
 public:
  struct Cut {
    std::int64_t parts, share;
  };
  AxisCuts(std::int64_t extent, std::int64_t tiles);
  // Returns the cuts with few enough parts for the tiles, if the other axes are cut into `others` parts.
  std::span<const Cut> beside(std::int64_t others) const {
    return std::span(cuts_).subspan(first_[static_cast<std::size_t>(tiles_ / others)]);
  }

 private:
  std::int64_t tiles_;
  std::vector<Cut> cuts_;
  std::vector<std::uint32_t> first_;  // by number of tiles for the axis: index of the first cut that is possible
};

// Prices the splits of one product that is read in one way.
struct ProductPricer {
  const Chip& chip;
  const Calibration& calibration;
  Reading reading;
  AmpVertex vertex;
  AmpWindowVertex window_vertex;
  // chip_tiles: compute tiles. operand_size, partial_size: bytes of an operand element and of a partial sum. channels:
  // of a weight block. inputs_spread, weights_spread: bytes of an operand on a tile if it is spread evenly.
  std::int64_t chip_tiles, operand_size, partial_size, channels, inputs_spread, weights_spread;
  double per_byte, per_paired_byte;  // cycles to receive a byte, at the plain and at the paired rate

  ProductPricer(const ProductShape& s, const Reading& how, std::int64_t tiles, const Chip& c, const Calibration& k)
      : chip(c),
        calibration(k),
        reading(how),
        vertex(c.amp, c.workers, s.operands, s.partials),
        window_vertex(c.amp, c.workers, s.operands, s.partials),
        chip_tiles(tiles),
        operand_size(size_of(s.operands)),
        partial_size(size_of(s.partials)),
        channels(c.amp.block_channels),
        inputs_spread(static_cast<std::int64_t>(static_cast<double>(s.batch * s.rows * s.contracted * operand_size) *
                                                s.distinct) /
                      tiles),
        weights_spread(s.batch * s.contracted * s.columns * operand_size / tiles),
        per_byte(1 / c.exchange.receive.value),
        per_paired_byte(1 / c.exchange.paired_receive.value) {}

  // Returns the busiest tile's share of the product.
  AmpShare share_of(const ProductShape& s, const ProductSplit& p) const {
    return {ceil_div(s.batch, p.batch), ceil_div(s.rows, p.rows), ceil_div(ceil_div(s.columns, channels), p.columns),
            ceil_div(reading.blocks, p.contracted)};
  }

  // cycles() returns the cycles of the vertex call for a share, and row_work() those of multiplying alone. The result
  // of least_cycles() is a lower bound on cycles() of any share with as many groups and blocks and no fewer rows.
  std::int64_t window_cycles(const AmpShare& s) const {
    return window_vertex.cycles(*reading.window, {s.groups, s.rows, s.columns, s.contracted});
  }
  std::int64_t cycles(const AmpShare& s) const { return reading.window ? window_cycles(s) : vertex.cycles(s); }
  std::int64_t least_cycles(const AmpShare& s) const {
    return reading.window ? window_cycles(s) : vertex.least_cycles(s);
  }
  std::int64_t row_work(const AmpShare& s) const {
    return reading.window ? window_vertex.row_work({s.groups, s.rows, s.columns, s.contracted}) : vertex.row_work(s);
  }

  // Bytes of operands that a share needs, whether received or already on the tile.
  std::int64_t input_bytes(const AmpShare& s) const {
    const std::int64_t all = s.groups * s.rows * s.contracted * reading.depth * operand_size;
    return reading.received == 1 ? all : static_cast<std::int64_t>(static_cast<double>(all) * reading.received);
  }
  std::int64_t weight_bytes(const AmpShare& s) const { return s.blocks() * reading.depth * channels * operand_size; }

  // Returns the number of operand elements that a tile copies into the arrangement that the vertex reads.
  std::int64_t copied(const AmpShare& s) const {
    return static_cast<std::int64_t>(reading.copied *
                                     static_cast<double>(s.groups * s.rows * s.contracted * reading.depth));
  }
  // Returns the cycles of copying, at one element per cycle. The vendor's planner takes the same rate (poplibs,
  // ConvPlan), and packing for the matrix unit was measured at this rate (hardware.md section 3).
  Cycles arrange(std::int64_t elements) const { return chip.vertex_launch + Cycles(elements); }

  static constexpr std::int64_t kRounded = 4;  // most cycles that quick() loses by rounding down
  // Time and temporary memory alone, since the front refuses most splits.
  struct Quick {
    std::int64_t total, temporary;  // cycles; bytes per tile
  };
  // Lower bounds for the partial sums of a tile: cycles to receive and add the sums, and bytes of own and received
  // sums.
  struct Partials {
    double cycles = 0;
    std::int64_t own = 0, received = 0;
  };
  // Returns lower bounds if the contraction is cut into `fewest` to `most` parts. `columns_by_rows`: columns of weight
  // blocks times rows of a share, or fewer. Adding takes add_partials() of results / parts elements without its
  // rounding: (2 parts + 8) / 8 cycles per element.
  Partials least_partials(std::int64_t columns_by_rows, std::int64_t fewest, std::int64_t most) const {
    const auto results = static_cast<double>(columns_by_rows * channels);
    const std::int64_t own = columns_by_rows * channels * partial_size;
    const double received = static_cast<double>(own) * (1 - 1 / static_cast<double>(fewest));
    const double added = results * (0.25 + 1 / static_cast<double>(most)) * calibration.vector_factor;
    return {received * per_byte + added + static_cast<double>(chip.exchange.piece.value * (fewest - 1)), own,
            static_cast<std::int64_t>(received)};
  }
  // Returns a lower bound on quick() with `any_pm`, computed without divisions. `least`: cycles of the vertex.
  Quick least(const AmpShare& share, const ProductSplit& split, std::int64_t least) const {
    const std::int64_t inputs_in = std::max<std::int64_t>(0, input_bytes(share) - inputs_spread),
                       weights_in = std::max<std::int64_t>(0, weight_bytes(share) - weights_spread),
                       copies = copied(share);
    double total = static_cast<double>(weights_in) * per_byte +
                   static_cast<double>(inputs_in) * (split.columns % 2 == 0 ? per_paired_byte : per_byte) +
                   static_cast<double>(copies) * calibration.vector_factor;
    Partials partials;
    if (split.contracted > 1)
      partials = least_partials(share.groups * share.rows * share.columns, split.contracted, split.contracted);
    return {least + static_cast<std::int64_t>(total + partials.cycles) - kRounded,
            partials.own + std::max(inputs_in + weights_in + copies * operand_size, partials.received)};
  }
  // A set of splits whose cuts of columns and of weight blocks (the contraction) lie between two cuts each.
  struct Between {
    // groups: of a tile's share. work: lower bound on columns x rows x weight blocks of a group of the share.
    std::int64_t groups, work;
    AxisCuts::Cut least_columns, most_columns, least_blocks, most_blocks;  // cuts with the least and the most share
    bool paired = true;  // false: no split of the set receives inputs at the paired rate
  };
  // Returns a lower bound on quick() for all splits of the set.
  Quick least(const ProductShape& s, const Between& b) const {
    const std::int64_t blocks = b.groups * std::max(b.least_columns.share * b.least_blocks.share, b.work / s.rows);
    AmpShare share;  // one group and row: `contracted` counts rows x weight blocks of all groups, then weight blocks
    share.contracted = b.groups * (b.work / b.most_columns.share);
    const std::int64_t inputs_in = std::max<std::int64_t>(0, input_bytes(share) - inputs_spread),
                       copies = copied(share);
    share.contracted = blocks;
    const std::int64_t weights_in = std::max<std::int64_t>(0, weight_bytes(share) - weights_spread);
    double total = static_cast<double>(weights_in) * per_byte +
                   static_cast<double>(inputs_in) * (b.paired ? per_paired_byte : per_byte) +
                   static_cast<double>(copies) * calibration.vector_factor;
    Partials partials;
    if (b.most_blocks.parts > 1)
      partials = least_partials(b.groups * std::max(b.least_columns.share, b.work / b.most_blocks.share),
                                b.most_blocks.parts, b.least_blocks.parts);
    const std::int64_t multiplied = reading.window ? 0 : vertex.least_cycles(blocks, b.groups * b.work);
    return {multiplied + static_cast<std::int64_t>(total + partials.cycles) - kRounded,
            partials.own + std::max(inputs_in + weights_in + copies * operand_size, partials.received)};
  }
  // Returns time and temporary memory of a split. `any_pm`: a lower bound for every split of the rows whose shares are
  // no smaller. Weights that already lie on the tile then count as if rows were in one part (pm = 1).
  Quick quick(const AmpShare& share, const ProductSplit& split, bool any_pm) const {
    const std::int64_t inputs = input_bytes(share), weights = weight_bytes(share);
    const std::int64_t inputs_in = inputs - std::min(inputs / split.columns, inputs_spread),
                       weights_in = weights - std::min(any_pm ? weights : weights / split.rows, weights_spread);
    std::int64_t total = (any_pm ? least_cycles(share) : cycles(share)) + 2 * chip.exchange.superstep.value;
    const auto received = split.columns % 2 == 0
                              ? static_cast<double>(weights_in) / chip.exchange.receive.value +
                                    static_cast<double>(inputs_in) / chip.exchange.paired_receive.value
                              : static_cast<double>(weights_in + inputs_in) / chip.exchange.receive.value;
    total += static_cast<std::int64_t>(received);
    std::int64_t own = 0, copies = 0, partials_in = 0;
    if (reading.copied > 0) {
      copies = copied(share);
      total += scaled(arrange(copies), calibration.vector_factor).value + chip.exchange.superstep.value;
    }
    if (split.contracted > 1) {
      const std::int64_t results = share.groups * share.rows * share.columns * channels,
                         added = ceil_div(results, split.contracted);
      own = results * partial_size;
      partials_in = (split.contracted - 1) * added * partial_size;
      total += static_cast<std::int64_t>(static_cast<double>(partials_in) / chip.exchange.receive.value) +
               scaled(add_partials(split.contracted, added, chip.workers), calibration.vector_factor).value +
               chip.exchange.piece.value * (split.contracted - 1) + 2 * chip.exchange.superstep.value;
    }
    return {total, own + std::max(inputs_in + weights_in + copies * operand_size, partials_in)};
  }

  // Returns the plan of a split, with all its numbers.
  ProductPlan price(const ProductShape& s, const ProductSplit& split) const;
  // Returns the total cycles of one run of a plan.
  Cycles cost(const ProductPlan& p) const;
};

}  // namespace superstep
