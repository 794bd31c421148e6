// SPDX-License-Identifier: Apache-2.0
#include "model/lower/tile_plan.h"

#include <algorithm>
#include <array>

#include "model/error.h"
#include "model/lower/product_reading.h"
#include "model/ops/amp_vertex.h"
#include "model/ops/amp_window_vertex.h"
#include "model/ops/conv.h"
#include "model/ops/matmul.h"

namespace superstep {
namespace {

// Input bytes received over input bytes used, for windows larger than one position (cost study, 4.2: 3 x 3).
constexpr double kHalo = 1.35;

// The fewest parts, at most `limit`, with the smallest share ceil(n / parts). Part counts that make the same
// share are one class: `fewest_parts(n, parts - 1)` is the next one, with larger shares; 0: none.
std::int64_t fewest_parts(std::int64_t n, std::int64_t limit) {
  return limit < 1 ? 0 : ceil_div(n, ceil_div(n, std::min(n, limit)));
}

// The cuts of an axis that make different shares: most parts first, each the fewest that make its share.
class AxisCuts {
 public:
  struct Cut {
    std::int64_t parts, share;
  };
  AxisCuts(std::int64_t extent, std::int64_t tiles) : tiles_(tiles), first_(static_cast<std::size_t>(tiles) + 1) {
    auto end = first_.end();
    for (std::int64_t parts = fewest_parts(extent, tiles); parts > 0; parts = fewest_parts(extent, parts - 1)) {
      const auto begin = first_.begin() + parts;
      std::fill(begin, end, static_cast<std::uint32_t>(cuts_.size()));
      end = begin;
      cuts_.push_back({parts, ceil_div(extent, parts)});
    }
    first_[0] = static_cast<std::uint32_t>(cuts_.size());
  }
  // Those that `others` parts of other axes leave tiles for.
  std::span<const Cut> beside(std::int64_t others) const {
    return std::span(cuts_).subspan(first_[static_cast<std::size_t>(tiles_ / others)]);
  }

 private:
  std::int64_t tiles_;
  std::vector<Cut> cuts_;
  std::vector<std::uint32_t> first_;  // cut by the number of tiles that there are for it
};

struct Pricer {
  const Chip& chip;
  const Calibration& calibration;
  Reading reading;
  AmpVertex vertex;
  AmpWindowVertex window_vertex;
  std::int64_t chip_tiles, operand_size, partial_size, channels, inputs_spread, weights_spread;
  double per_byte, per_paired_byte;  // cycles to receive one

  Pricer(const ProductShape& s, const Reading& how, std::int64_t tiles, const Chip& c, const Calibration& k)
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

  // What a tile has of the product.
  AmpShare share_of(const ProductShape& s, const ProductSplit& p) const {
    return {ceil_div(s.batch, p.batch), ceil_div(s.rows, p.rows), ceil_div(ceil_div(s.columns, channels), p.columns),
            ceil_div(reading.blocks, p.contracted)};
  }

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

  std::int64_t input_bytes(const AmpShare& s) const {
    const std::int64_t all = s.groups * s.rows * s.contracted * reading.depth * operand_size;
    return reading.received == 1 ? all : static_cast<std::int64_t>(static_cast<double>(all) * reading.received);
  }
  std::int64_t weight_bytes(const AmpShare& s) const { return s.blocks() * reading.depth * channels * operand_size; }

  // Elements of operands that a tile copies into the arrangement that the vertex reads. One a cycle, as the vendor's
  // planner takes it (poplibs, ConvPlan), and as packing for the matrix unit was measured (hardware.md section 3).
  std::int64_t copied(const AmpShare& s) const {
    return static_cast<std::int64_t>(reading.copied *
                                     static_cast<double>(s.groups * s.rows * s.contracted * reading.depth));
  }
  Cycles arrange(std::int64_t elements) const { return chip.vertex_launch + Cycles(elements); }

  // Time and temporary memory alone, for splits that the front will mostly refuse.
  struct Quick {
    std::int64_t total, temporary;
  };
  // No less than this, as quick() says with `any_pm`; without its divisions. `least`: cycles of the vertex.
  Quick least(const AmpShare& share, const ProductSplit& split, std::int64_t least) const {
    const std::int64_t inputs_in = std::max<std::int64_t>(0, input_bytes(share) - inputs_spread),
                       weights_in = std::max<std::int64_t>(0, weight_bytes(share) - weights_spread),
                       copies = copied(share);
    double total = static_cast<double>(weights_in) * per_byte +
                   static_cast<double>(inputs_in) * (split.columns % 2 == 0 ? per_paired_byte : per_byte) +
                   static_cast<double>(copies) * calibration.vector_factor;
    std::int64_t own = 0;
    double partials_in = 0;
    if (split.contracted > 1) {
      const std::int64_t results = share.groups * share.rows * share.columns * channels;
      const double part = 1 / static_cast<double>(split.contracted);
      own = results * partial_size;
      partials_in = static_cast<double>(own) * (1 - part);
      // add_partials() of results / parts elements, without what it rounds up: (2 parts + 8) / 8 cycles for each.
      total += partials_in * per_byte + static_cast<double>(results) * (0.25 + part) * calibration.vector_factor +
               static_cast<double>(chip.exchange.piece.value * (split.contracted - 1));
    }
    constexpr std::int64_t kRounded = 4;  // cycles that quick() may round down
    return {least + static_cast<std::int64_t>(total) - kRounded,
            own + std::max(inputs_in + weights_in + copies * operand_size, static_cast<std::int64_t>(partials_in))};
  }
  // `any_pm`: a bound for every split of the rows with shares no smaller than this one's; what already lies on the tile
  // then counts as if pm were 1.
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

  ProductPlan price(const ProductShape& s, const ProductSplit& split) const {
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

  Cycles cost(const ProductPlan& p) const {
    const ExchangeFabric& x = chip.exchange;
    Cycles c = p.rows_useful + p.rows_padding + p.fixed + transfer_time(p.plain_bytes, x.receive) +
               transfer_time(p.paired_bytes, x.paired_receive) + 2 * x.superstep;
    if (p.arrange.value > 0) c += scaled(p.arrange, calibration.vector_factor) + x.superstep;
    if (p.pk > 1)
      c += transfer_time(p.partial_bytes, x.receive) + x.piece * (p.pk - 1) +
           scaled(p.reduce, calibration.vector_factor) + 2 * x.superstep;
    return c;
  }
};

// Keeps the strict front of (total, temporary) while points arrive in any order. Of those that need no more than
// `enough` it may keep the fastest alone.
class Front {
 public:
  explicit Front(Bytes enough = Bytes(0)) : enough_(enough.value) {}
  void offer(const ProductPlan& p) {
    const Point point{p.temporary.value, p.total.value};
    const auto place = std::ranges::lower_bound(points_, point.temporary, {}, &Point::temporary);
    if (place != points_.end() && place->temporary == point.temporary && place->total <= point.total) return;
    if (place != points_.begin() && std::prev(place)->total <= point.total) return;
    const auto end = std::find_if(place, points_.end(), [&](const Point& q) { return q.total < point.total; });
    const auto i = place - points_.begin(), n = end - place;
    plans_.erase(plans_.begin() + i, plans_.begin() + i + n);
    points_.insert(points_.erase(place, end), point);
    plans_.insert(plans_.begin() + i, p);
    if (point.temporary <= enough_) most_ = std::min(most_, point.total);
  }
  // A point is known that is no slower with no more memory. Either may be a little low.
  bool refuses(std::int64_t total, std::int64_t temporary) const {
    if (total > most_) return true;
    const auto more = std::ranges::upper_bound(points_, temporary, {}, &Point::temporary);
    return more != points_.begin() && std::prev(more)->total <= total;
  }
  std::int64_t fastest() const { return points_.empty() ? INT64_MAX : points_.back().total; }
  bool empty() const { return points_.empty(); }
  std::vector<ProductPlan> take() const { return {plans_.rbegin(), plans_.rend()}; }

 private:
  struct Point {
    std::int64_t temporary, total;
  };
  std::int64_t enough_, most_ = INT64_MAX;
  std::vector<Point> points_;  // of the plans, memory ascending: all that a refusal looks at
  std::vector<ProductPlan> plans_;
};

// Points slower than this times the fastest serve nobody: a leaner serialisation is cheaper.
constexpr double kSlowest = 4.0;

void search(const ProductShape& s, const Reading& reading, std::int64_t tiles, const Chip& chip,
            const Calibration& calibration, std::int64_t times, bool split_contracted, bool swapped, Front& front) {
  const Pricer pricer(s, reading, tiles, chip, calibration);
  const AxisCuts groups(s.batch, tiles), columns(ceil_div(s.columns, pricer.channels), tiles),
      contracted(reading.blocks, tiles), rows(s.rows, tiles);
  const auto slowest = [&] { return kSlowest * static_cast<double>(front.fastest()); };
  for (const auto [pg, g] : groups.beside(1)) {
    for (const auto [pn, nb] : columns.beside(pg)) {
      for (const auto [pk, kb] : contracted.beside(pg * pn)) {
        // Shares of the rows grow, and time and memory with them: the first that is out ends the run.
        for (const auto [pm, m] : rows.beside(pg * pn * pk)) {
          const AmpShare share{g, m, nb, kb};
          const std::int64_t least = pricer.least_cycles(share);
          if (static_cast<double>(least * times) > slowest()) break;
          const ProductSplit split{pg, pm, pn, pk};
          const auto refused = [&](const Pricer::Quick& q) { return front.refuses(q.total * times, q.temporary); };
          if (refused(pricer.least(share, split, least)) || refused(pricer.quick(share, split, true))) break;
          if (refused(pricer.quick(share, split, false))) continue;
          ProductPlan p = pricer.price(s, split);
          p.times = times;
          p.split_contracted = split_contracted;
          p.swapped = swapped;
          p.total = p.total * times;
          if (times > 1 && split_contracted) {  // each further run adds into the result
            const std::int64_t results = ceil_div(s.batch * s.rows * s.columns, tiles);
            const Cycles accumulate =
                scaled(add_partials(1, results, chip.workers), calibration.vector_factor) + chip.exchange.superstep;
            p.total += accumulate * (times - 1);
          }
          front.offer(p);
        }
      }
    }
  }
}

// A convolution whose channels share nothing, cut into groups of channels, positions, and for the gradient of the
// weights the positions that are summed.
class DepthwisePricer {
 public:
  DepthwisePricer(const ProductShape& s, std::int64_t tiles, const Chip& c, const Calibration& k)
      : shape_(s),
        conv_(*s.depthwise),
        tiles_(tiles),
        chip_(c),
        vertex_(c.workers, s.partials),
        pricer_(s, plain_reading(s, c), tiles, c, k) {}

  void offer_all(Front& front) const {
    const bool slides = chip_.amp.fp16_16_macs_per_cycle >= kSlidingRate && conv_.share.stride <= vertex_.kMostStride &&
                        !conv_.weight_gradient;
    if (slides) offer_all(vertex_.slic_channels(), true, front);
    offer_all(vertex_.vmac_channels(), false, front);
  }

 private:
  static constexpr std::int64_t kSlidingRate = 64;  // of a matrix unit that has SLIC with 16 units: Mk2 and later
  const ProductShape& shape_;
  const DepthwiseConv& conv_;
  std::int64_t tiles_;
  const Chip& chip_;
  DepthwiseVertex vertex_;
  Pricer pricer_;

  void offer_all(std::int64_t together, bool sliding, Front& front) const {
    const DepthwiseShare& s = conv_.share;
    const std::int64_t packs = ceil_div(s.channels, together);
    const std::int64_t summed = conv_.weight_gradient ? s.window_rows : s.positions;
    for (std::int64_t pg = fewest_parts(packs, tiles_); pg > 0; pg = fewest_parts(packs, pg - 1)) {
      for (std::int64_t cut = fewest_parts(summed, tiles_ / pg); cut > 0; cut = fewest_parts(summed, cut - 1))
        front.offer(price(together * ceil_div(packs, pg), pg, cut, sliding));
    }
  }

  ProductPlan price(std::int64_t channels, std::int64_t pg, std::int64_t cut, bool sliding) const {
    DepthwiseShare mine = conv_.share;
    mine.channels = std::min(channels, mine.channels);
    std::int64_t& positions = conv_.weight_gradient ? mine.window_rows : mine.positions;
    const auto part = static_cast<double>(ceil_div(positions, cut)) / static_cast<double>(positions);
    positions = ceil_div(positions, cut);
    ProductPlan p;
    p.pg = pg;
    (conv_.weight_gradient ? p.pk : p.pm) = cut;
    const DepthwiseCycles cycles = sliding ? vertex_.slic(mine) : vertex_.vmac(mine);
    const double macs = products(conv_.share) / static_cast<double>(tiles_);
    const auto peak = static_cast<double>(chip_.amp.fp16_16_macs_per_cycle);
    p.rows_useful = Cycles(std::min(cycles.loop, static_cast<std::int64_t>(std::llround(macs / peak))));
    p.rows_padding = Cycles(cycles.loop) - p.rows_useful;
    p.fixed = Cycles(cycles.total - cycles.loop);
    receive(mine, part, p);
    p.total = pricer_.cost(p);
    return p;
  }

  static double products(const DepthwiseShare& s) {
    return static_cast<double>(s.channels) * static_cast<double>(s.positions) * static_cast<double>(s.window_rows) *
           static_cast<double>(s.window_columns);
  }

  // The spatial operand with its halo, and weights or, for their gradient, the result's; less an even share of each.
  void receive(const DepthwiseShare& mine, double part, ProductPlan& p) const {
    const std::int64_t size = size_of(shape_.operands);
    const std::int64_t results = mine.channels * mine.positions;
    const std::int64_t window = conv_.share.window_rows * conv_.share.window_columns;
    const std::int64_t second = conv_.weight_gradient ? mine.window_rows * mine.window_columns : window;
    const std::int64_t second_whole = conv_.weight_gradient ? window : second;
    const bool wide = conv_.weight_gradient ? conv_.share.positions > 1 : window > 1;
    const auto inputs =
        static_cast<std::int64_t>(static_cast<double>(mine.channels * conv_.read * size) * part * (wide ? kHalo : 1.0));
    const std::int64_t others = mine.channels * second * size;
    const std::int64_t inputs_in = inputs - std::min(inputs, conv_.share.channels * conv_.read * size / tiles_);
    const std::int64_t others_in = others - std::min(others, conv_.share.channels * second_whole * size / tiles_);
    p.plain_bytes = Bytes(inputs_in + others_in);
    Bytes own(0);
    if (p.pk > 1) {
      const std::int64_t added = ceil_div(results, p.pk);
      own = Bytes(results * size_of(shape_.partials));
      p.partial_bytes = Bytes((p.pk - 1) * added * size_of(shape_.partials));
      p.reduce = add_partials(p.pk, added, chip_.workers);
    }
    p.temporary = own + std::max(p.plain_bytes, p.partial_bytes);
  }
};

ProductShape swap_roles(ProductShape s) {
  std::swap(s.rows, s.columns);
  return s;
}

constexpr std::array<std::int64_t, 14> kTimes = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

// Which parts a degree of serialisation may make of an axis.
enum class Parts : std::uint8_t { of_whole_blocks, equal, any };

bool may_cut(std::int64_t axis, std::int64_t times, std::int64_t block, Parts parts) {
  if (times == 1 || parts == Parts::any) return true;
  return parts == Parts::equal ? axis % times == 0 : axis >= times * block;
}

// Adds the points of one degree of serialisation: columns in parts, or the contraction with accumulation.
void add_level(const ProductShape& shape, std::int64_t times, Parts parts, std::int64_t tiles, const Chip& chip,
               const Calibration& calibration, Front& front) {
  for (bool split_contracted : {false, true}) {
    if (times == 1 && split_contracted) continue;
    ProductShape part = shape;
    std::int64_t& axis = split_contracted ? part.contracted : part.columns;
    if (!may_cut(axis, times, chip.amp.block_channels, parts)) continue;
    axis = ceil_div(axis, times);
    for (const Reading& reading : readings(part, chip, split_contracted))
      search(part, reading, tiles, chip, calibration, times, split_contracted, false, front);
    if (part.halo != 1 || part.window) continue;
    const ProductShape turned = swap_roles(part);
    search(turned, plain_reading(turned, chip), tiles, chip, calibration, times, split_contracted, true, front);
  }
}

}  // namespace

Cycles add_partials(std::int64_t parts, std::int64_t elements, std::int64_t workers) {
  return Cycles(33 + workers * (20 + (2 * parts + 8) * ceil_div(elements, 8 * workers)));
}

ProductPlan product_plan(const ProductShape& shape, const ProductSplit& split, std::int64_t tiles, const Chip& chip,
                         const Calibration& calibration) {
  SUPERSTEP_CHECK(split.parts() > 0 && split.parts() <= tiles, "a product split into more parts than there are tiles");
  ProductPlan best;
  best.total = Cycles(INT64_MAX);
  for (const Reading& reading : readings(shape, chip, false)) {
    const ProductPlan p = Pricer(shape, reading, tiles, chip, calibration).price(shape, split);
    if (p.total < best.total) best = p;
  }
  return best;
}

std::vector<ProductPlan> product_front(const ProductShape& shape, std::int64_t tiles, const Chip& chip,
                                       const Calibration& calibration, Bytes enough) {
  SUPERSTEP_CHECK(shape.batch > 0 && shape.rows > 0 && shape.columns > 0 && shape.contracted > 0 && tiles > 0,
                  "empty matrix product");
  Front front(enough);
  if (shape.depthwise) DepthwisePricer(shape, tiles, chip, calibration).offer_all(front);
  for (std::int64_t times : kTimes) add_level(shape, times, Parts::of_whole_blocks, tiles, chip, calibration, front);
  return front.take();
}

std::vector<ProductPlan> product_front_in(std::int64_t times, const ProductShape& shape, std::int64_t tiles,
                                          const Chip& chip, const Calibration& calibration) {
  Front front;
  for (Parts parts : {Parts::equal, Parts::any}) {  // the shares of IPUs that round up may have no equal parts
    if (front.empty()) add_level(shape, times, parts, tiles, chip, calibration, front);
  }
  return front.take();
}

ProductShape product_shape(const OpCall& call, std::span<const std::int64_t> local_extents, DType partials) {
  ProductShape s;
  s.operands = call.in[0].type;
  s.partials = s.operands == DType::fp16 ? partials : DType::fp32;
  auto product = [&](const std::vector<int>& axes) {
    std::int64_t n = 1;
    for (int a : axes) n *= local_extents[static_cast<std::size_t>(a)];
    return n;
  };
  if (call.def.name != "matmul") {
    const ConvAxes axes = conv_axes(call);
    s.batch = local_extents[static_cast<std::size_t>(axes.groups)];
    s.rows = product(axes.rows), s.columns = product(axes.columns), s.contracted = product(axes.contracted);
    s.depthwise = depthwise_conv(call, local_extents);
    // Each input is received once, with its halo, not once per position of the window.
    const ConvWindow window = conv_window(call, local_extents);
    s.distinct = static_cast<double>(window.new_places()) / static_cast<double>(window.places());
    if (s.distinct < 1) s.halo = kHalo * s.distinct;
    if (window.fills_badly(AmpWindowVertex(Amp{}, 1, s.operands, s.partials).depth())) s.window = window;
    return s;
  }
  const MatmulAxes axes = matmul_axes(call);
  s.batch = product(axes.batch), s.rows = product(axes.rows), s.columns = product(axes.columns);
  s.contracted = local_extents[static_cast<std::size_t>(axes.contracted)];
  return s;
}

}  // namespace superstep
