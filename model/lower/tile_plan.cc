// SPDX-License-Identifier: Apache-2.0
#include "model/lower/tile_plan.h"

#include <algorithm>
#include <array>
#include <map>

#include "model/error.h"
#include "model/lower/product_pricer.h"
#include "model/ops/conv.h"
#include "model/ops/matmul.h"

namespace superstep {
namespace {

// Input bytes received over input bytes used, for windows larger than one position (cost study, 4.2: 3 x 3).
constexpr double kHalo = 1.35;

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

// Where plans are sought: tiles of a chip. Axes are cut once for all searches that have them.
struct Ground {
  std::int64_t tiles;
  const Chip& chip;
  const Calibration& calibration;
  std::map<std::int64_t, AxisCuts> cuts = {};

  const AxisCuts& cuts_of(std::int64_t extent) { return cuts.try_emplace(extent, extent, tiles).first->second; }
};

// How often a product is done, one part after the other, and whether the parts are of its contraction.
struct Serial {
  std::int64_t times = 1;
  bool split_contracted = false;
};

// All splits of a product, or of its part, that is read in one way.
class SplitSearch {
 public:
  SplitSearch(const ProductShape& s, const Reading& reading, bool swapped, Serial serial, Ground& ground, Front& front)
      : shape_(s),
        tiles_(ground.tiles),
        serial_(serial),
        swapped_(swapped),
        pricer_(s, reading, ground.tiles, ground.chip, ground.calibration),
        groups_(ground.cuts_of(s.batch)),
        columns_(ground.cuts_of(ceil_div(s.columns, pricer_.channels))),
        contracted_(ground.cuts_of(reading.blocks)),
        rows_(ground.cuts_of(s.rows)),
        front_(front) {
    if (serial.times == 1 || !serial.split_contracted) return;
    const std::int64_t results = ceil_div(s.batch * s.rows * s.columns, tiles_);
    add_ = add_in_place(results * size_of(s.operands), ground.chip.workers);
    further_ = (scaled(add_, ground.calibration.vector_factor) + ground.chip.exchange.superstep) * (serial.times - 1);
  }

  void run() {
    for (const Cut& g : groups_.beside(1)) cut_columns(g, columns_.beside(g.parts));
  }

 private:
  using Cut = AxisCuts::Cut;
  using Cuts = std::span<const Cut>;  // most parts, and least shares, first

  const ProductShape& shape_;
  std::int64_t tiles_;
  Serial serial_;
  bool swapped_;
  ProductPricer pricer_;
  const AxisCuts &groups_, &columns_, &contracted_, &rows_;
  Front& front_;
  Cycles add_{0};      // of one run into the results of those before, before the calibrated factor
  Cycles further_{0};  // that all runs take for it

  bool refuses(const ProductPricer::Quick& q) const {
    return front_.refuses(q.total * serial_.times + further_.value, q.temporary);
  }

  // Halves of what is not refused as a whole, in order.
  void cut_columns(const Cut& g, Cuts cuts) {
    if (cuts.empty()) return;
    const std::int64_t blocks = pricer_.reading.blocks;
    if (cuts.size() == 1) return cut_contracted(g, cuts[0], contracted_.beside(g.parts * cuts[0].parts));
    const std::int64_t all = ceil_div(shape_.columns, pricer_.channels) * shape_.rows * blocks;
    if (refuses(pricer_.least(
            shape_, {g.share, all * g.parts / tiles_, cuts.front(), cuts.back(), {tiles_, 1}, {1, blocks}, true})))
      return;
    cut_columns(g, cuts.first(cuts.size() / 2));
    cut_columns(g, cuts.subspan(cuts.size() / 2));
  }
  void cut_contracted(const Cut& g, const Cut& n, Cuts cuts) {
    if (cuts.empty()) return;
    const std::int64_t others = shape_.rows * pricer_.reading.blocks * g.parts * n.parts / tiles_;
    if (refuses(pricer_.least(shape_, {g.share, n.share * others, n, n, cuts.front(), cuts.back(), n.parts % 2 == 0})))
      return;
    if (cuts.size() == 1) return cut_rows(g, n, cuts[0]);
    cut_contracted(g, n, cuts.first(cuts.size() / 2));
    cut_contracted(g, n, cuts.subspan(cuts.size() / 2));
  }

  // Shares of the rows grow, and time and memory with them: the first that is out ends the run.
  void cut_rows(const Cut& g, const Cut& n, const Cut& k) {
    for (const Cut& m : rows_.beside(g.parts * n.parts * k.parts)) {
      const AmpShare share{g.share, m.share, n.share, k.share};
      const ProductSplit split{g.parts, m.parts, n.parts, k.parts};
      const std::int64_t least = pricer_.least_cycles(share);
      if (static_cast<double>(least * serial_.times) > kSlowest * static_cast<double>(front_.fastest())) return;
      if (refuses(pricer_.least(share, split, least)) || refuses(pricer_.quick(share, split, true))) return;
      if (refuses(pricer_.quick(share, split, false))) continue;
      ProductPlan p = pricer_.price(shape_, split);
      p.times = serial_.times;
      p.add = add_;
      p.swapped = swapped_;
      p.total = p.total * serial_.times + further_;
      front_.offer(p);
    }
  }
};

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
  ProductPricer pricer_;

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
enum class AllowedParts : std::uint8_t { of_whole_blocks, equal, any };

bool may_cut(std::int64_t axis, std::int64_t times, std::int64_t block, AllowedParts parts) {
  if (times == 1 || parts == AllowedParts::any) return true;
  return parts == AllowedParts::equal ? axis % times == 0 : axis >= times * block;
}

// Adds the points of one degree of serialisation: columns in parts, or the contraction with accumulation.
void add_level(const ProductShape& shape, std::int64_t times, AllowedParts parts, Ground& ground, Front& front) {
  const Chip& chip = ground.chip;
  for (bool split_contracted : {false, true}) {
    if (times == 1 && split_contracted) continue;
    const Serial serial{times, split_contracted};
    ProductShape part = shape;
    std::int64_t& axis = split_contracted ? part.contracted : part.columns;
    if (!may_cut(axis, times, chip.amp.block_channels, parts)) continue;
    axis = ceil_div(axis, times);
    for (const Reading& reading : readings(part, chip, split_contracted))
      SplitSearch(part, reading, false, serial, ground, front).run();
    if (part.halo != 1 || part.window) continue;
    const ProductShape turned = swap_roles(part);
    SplitSearch(turned, plain_reading(turned, chip), true, serial, ground, front).run();
  }
}

}  // namespace

ProductPlan product_plan(const ProductShape& shape, const ProductSplit& split, std::int64_t tiles, const Chip& chip,
                         const Calibration& calibration) {
  SUPERSTEP_CHECK(split.parts() > 0 && split.parts() <= tiles, "a product split into more parts than there are tiles");
  ProductPlan best;
  best.total = Cycles(INT64_MAX);
  for (const Reading& reading : readings(shape, chip, false)) {
    const ProductPlan p = ProductPricer(shape, reading, tiles, chip, calibration).price(shape, split);
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
  Ground ground{tiles, chip, calibration};
  for (std::int64_t times : kTimes) add_level(shape, times, AllowedParts::of_whole_blocks, ground, front);
  return front.take();
}

std::vector<ProductPlan> product_front_in(std::int64_t times, const ProductShape& shape, std::int64_t tiles,
                                          const Chip& chip, const Calibration& calibration) {
  Front front;
  Ground ground{tiles, chip, calibration};
  for (AllowedParts parts :
       {AllowedParts::equal, AllowedParts::any}) {  // the shares of IPUs that round up may have no equal parts
    if (front.empty()) add_level(shape, times, parts, ground, front);
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
  const ProductDef& def = *call.def.product;
  const ProductAxes axes = def.axes(call);
  s.batch = product(axes.batch), s.rows = product(axes.rows), s.columns = product(axes.columns);
  s.contracted = product(axes.contracted);
  if (!def.convolution) return s;
  const Convolution conv = def.convolution(call, local_extents);
  s.depthwise = conv.depthwise;
  // Each input is received once, with its halo, not once per position of the window.
  const ConvWindow& window = conv.window;
  s.distinct = static_cast<double>(window.new_places()) / static_cast<double>(window.places());
  if (s.distinct < 1) s.halo = kHalo * s.distinct;
  if (window.fills_badly(AmpWindowVertex(Amp{}, 1, s.operands, s.partials).depth())) s.window = window;
  return s;
}

}  // namespace superstep
