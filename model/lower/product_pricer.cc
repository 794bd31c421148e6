// SPDX-License-Identifier: Apache-2.0
#include "model/lower/product_pricer.h"

#include <cmath>

namespace superstep {

AxisCuts::AxisCuts(std::int64_t extent, std::int64_t tiles)
    : tiles_(tiles), first_(static_cast<std::size_t>(tiles) + 1) {
  auto end = first_.end();
  for (std::int64_t parts = fewest_parts(extent, tiles); parts > 0; parts = fewest_parts(extent, parts - 1)) {
    const auto begin = first_.begin() + parts;
    std::fill(begin, end, static_cast<std::uint32_t>(cuts_.size()));
    end = begin;
    cuts_.push_back({parts, ceil_div(extent, parts)});
  }
  first_[0] = static_cast<std::uint32_t>(cuts_.size());
}

ProductPlan ProductPricer::price(const ProductShape& s, const ProductSplit& split) const {
  const AmpShare share = share_of(s, split);
  ProductPlan p;
  p.pg = split.batch, p.pm = split.rows, p.pn = split.columns, p.pk = split.contracted;
  const std::int64_t rows_all = row_work(share);
  const double useful_macs = static_cast<double>(s.batch) * static_cast<double>(s.rows) *
                             static_cast<double>(s.columns) * static_cast<double>(s.contracted) /
                             static_cast<double>(chip_tiles);
  const double rate = static_cast<double>(channels * channels) / static_cast<double>(vertex.row_cycles());
  p.rows_useful = Cycles(std::min(rows_all, static_cast<std::int64_t>(std::llround(useful_macs / rate))));
  p.rows_padding = Cycles(rows_all) - p.rows_useful;
  p.fixed = Cycles(cycles(share) - rows_all);
  const std::int64_t inputs = input_bytes(share), weights = weight_bytes(share);
  // Of what several tiles need an equal share already lies on the tile, but never more than an even
  // spread of the tensor leaves there.
  const Bytes inputs_in(inputs - std::min(inputs / p.pn, inputs_spread)),
      weights_in(weights - std::min(weights / p.pm, weights_spread));
  p.plain_bytes = weights_in;
  (p.pn % 2 == 0 ? p.paired_bytes : p.plain_bytes) += inputs_in;
  const std::int64_t copies = copied(share);
  if (copies > 0) p.arrange = arrange(copies);
  const std::int64_t results = share.groups * share.rows * share.columns * channels;
  Bytes own(0);
  if (p.pk > 1) {
    const std::int64_t added = ceil_div(results, p.pk);
    own = Bytes(results * partial_size);
    p.partial_bytes = Bytes((p.pk - 1) * added * partial_size);  // its own lie there
    p.reduce = add_partials(p.pk, added, chip.workers);
  }
  // Operands, and their copies, beside the tile's own partial sums; then those beside the ones it receives to add.
  p.temporary = own + std::max(inputs_in + weights_in + Bytes(copies * operand_size), p.partial_bytes);
  p.total = cost(p);
  return p;
}

Cycles ProductPricer::cost(const ProductPlan& p) const {
  const ExchangeFabric& x = chip.exchange;
  Cycles c = p.rows_useful + p.rows_padding + p.fixed + transfer_time(p.plain_bytes, x.receive) +
             transfer_time(p.paired_bytes, x.paired_receive) + 2 * x.superstep;
  if (p.arrange.value > 0) c += scaled(p.arrange, calibration.vector_factor) + x.superstep;
  if (p.pk > 1)
    c += transfer_time(p.partial_bytes, x.receive) + x.piece * (p.pk - 1) +
         scaled(p.reduce, calibration.vector_factor) + 2 * x.superstep;
  return c;
}

}  // namespace superstep
