// SPDX-License-Identifier: Apache-2.0
#include "model/lower/tile_plan.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "model/error.h"

namespace superstep {
namespace {

// Smallest part counts, one per distinct share ceil(n / parts), up to `limit` parts.
std::vector<std::int64_t> part_classes(std::int64_t n, std::int64_t limit) {
  std::vector<std::int64_t> parts;
  for (std::int64_t p = 1; p <= std::min(n, limit);) {
    const std::int64_t share_size = ceil_div(n, p);
    const std::int64_t least = ceil_div(n, share_size);
    parts.push_back(least);
    if (share_size == 1) break;
    p = ceil_div(n, share_size - 1);
  }
  return parts;
}

std::int64_t macs_per_cycle(const Amp& amp, DType operands, DType partials) {
  if (operands != DType::fp16) return amp.fp32_macs_per_cycle;
  return partials == DType::fp16 ? amp.fp16_16_macs_per_cycle : amp.fp16_32_macs_per_cycle;
}

// Adding `parts` partial sums of n elements on one tile: the vendor's add-reduce vertex with float or
// half accumulators (single contiguous input), 8 elements per worker and pass.
Cycles add_partials(std::int64_t parts, std::int64_t elements, std::int64_t workers) {
  return Cycles(33 + workers * (20 + (2 * parts + 8) * ceil_div(elements, 8 * workers)));
}

struct Pricer {
  const Chip& chip;
  const Calibration& calibration;
  std::int64_t chip_tiles, operand_size, partial_size, channels, row_cycles;

  Pricer(const ProductShape& s, std::int64_t tiles, const Chip& c, const Calibration& k)
      : chip(c), calibration(k), chip_tiles(tiles), operand_size(size_of(s.operands)), partial_size(size_of(s.partials)), channels(c.amp.block_channels),
        row_cycles(channels * channels / macs_per_cycle(c.amp, s.operands, s.partials)) {}

  // Cycles that no choice of the other operand's split avoids: multiplying and weight loads.
  std::int64_t multiply(std::int64_t g, std::int64_t r, std::int64_t nb, std::int64_t kb) const {
    return g * nb * kb * (row_cycles * chip.workers * ceil_div(r, chip.workers) + chip.amp.block_fixed.value);
  }

  ProductPlan price(const ProductShape& s, std::int64_t pg, std::int64_t pm, std::int64_t pn, std::int64_t pk) const {
    const std::int64_t g = ceil_div(s.batch, pg), r = ceil_div(s.rows, pm);
    const std::int64_t nb = ceil_div(ceil_div(s.columns, channels), pn), kb = ceil_div(ceil_div(s.contracted, channels), pk);
    ProductPlan p;
    p.pg = pg, p.pm = pm, p.pn = pn, p.pk = pk;
    const std::int64_t blocks = g * nb * kb;
    const std::int64_t rows_all = blocks * row_cycles * chip.workers * ceil_div(r, chip.workers);
    const double useful_macs = static_cast<double>(s.batch) * static_cast<double>(s.rows) * static_cast<double>(s.columns) *
                               static_cast<double>(s.contracted) / static_cast<double>(chip_tiles);
    const double rate = static_cast<double>(channels * channels) / static_cast<double>(row_cycles);
    p.rows_useful = Cycles(std::min(rows_all, static_cast<std::int64_t>(std::llround(useful_macs / rate))));
    p.rows_padding = Cycles(rows_all) - p.rows_useful;
    p.fixed = Cycles(chip.amp.block_fixed.value * blocks) + chip.amp.call_fixed;
    const auto inputs = static_cast<std::int64_t>(static_cast<double>(g * r * kb * channels * operand_size) * s.halo);
    const std::int64_t weights = blocks * channels * channels * operand_size;
    // Of what several tiles need an equal share already lies on the tile, but never more than an even
    // spread of the tensor leaves there.
    const std::int64_t inputs_spread = s.batch * s.rows * s.contracted * operand_size / chip_tiles;
    const std::int64_t weights_spread = s.batch * s.contracted * s.columns * operand_size / chip_tiles;
    const Bytes inputs_in(inputs - std::min(inputs / pn, inputs_spread)), weights_in(weights - std::min(weights / pm, weights_spread));
    p.plain_bytes = weights_in;
    (pn % 2 == 0 ? p.paired_bytes : p.plain_bytes) += inputs_in;
    const std::int64_t results = g * r * nb * channels;
    if (pk > 1) {
      p.partial_bytes = Bytes(results * partial_size);
      p.reduce = add_partials(pk, ceil_div(results, pk), chip.workers);
    }
    // Operands beside the tile's own partial sums; then those beside the ones it receives to add.
    const Bytes own = pk > 1 ? Bytes(results * partial_size) : Bytes(0);
    p.temporary = own + std::max(inputs_in + weights_in, p.partial_bytes);
    p.total = cost(p);
    return p;
  }

  Cycles cost(const ProductPlan& p) const {
    const ExchangeFabric& x = chip.exchange;
    Cycles c = p.rows_useful + p.rows_padding + p.fixed + transfer_time(p.plain_bytes, x.receive) +
               transfer_time(p.paired_bytes, x.paired_receive) + 2 * x.superstep;
    if (p.pk > 1) c += transfer_time(p.partial_bytes, x.receive) + scaled(p.reduce, calibration.vector_factor) + 2 * x.superstep;
    return c;
  }
};

// Keeps the strict front of (total, temporary) while points arrive in any order.
class Front {
 public:
  void offer(const ProductPlan& p) {
    auto it = points_.lower_bound(p.temporary.value);  // first that needs at least as much memory
    if (it != points_.end() && it->first == p.temporary.value && it->second.total <= p.total) return;
    if (it != points_.begin() && std::prev(it)->second.total <= p.total) return;
    while (it != points_.end() && it->second.total >= p.total) it = points_.erase(it);
    points_.insert_or_assign(p.temporary.value, p);
  }
  Cycles fastest() const { return points_.empty() ? Cycles(INT64_MAX) : points_.rbegin()->second.total; }
  std::vector<ProductPlan> take() const {
    std::vector<ProductPlan> out;
    for (auto it = points_.rbegin(); it != points_.rend(); ++it) out.push_back(it->second);
    return out;
  }

 private:
  std::map<std::int64_t, ProductPlan> points_;
};

// Points slower than this times the fastest serve nobody: a leaner serialisation is cheaper.
constexpr double kSlowest = 4.0;

void search(const ProductShape& s, std::int64_t tiles, const Chip& chip, const Calibration& calibration, std::int64_t times,
            bool split_contracted, bool swapped, Front& front) {
  const Pricer pricer(s, tiles, chip, calibration);
  const std::int64_t nblocks = ceil_div(s.columns, pricer.channels), kblocks = ceil_div(s.contracted, pricer.channels);
  for (std::int64_t pg : part_classes(s.batch, tiles)) {
    const std::int64_t g = ceil_div(s.batch, pg);
    for (std::int64_t pn : part_classes(nblocks, tiles / pg)) {
      const std::int64_t nb = ceil_div(nblocks, pn);
      for (std::int64_t pk : part_classes(kblocks, tiles / (pg * pn))) {
        const std::int64_t kb = ceil_div(kblocks, pk);
        const std::int64_t most = tiles / (pg * pn * pk);
        for (std::int64_t pm : part_classes(s.rows, most)) {
          const std::int64_t least = pricer.multiply(g, ceil_div(s.rows, pm), nb, kb) * times;
          if (static_cast<double>(least) > kSlowest * static_cast<double>(front.fastest().value)) continue;
          ProductPlan p = pricer.price(s, pg, pm, pn, pk);
          p.times = times;
          p.split_contracted = split_contracted;
          p.swapped = swapped;
          p.total = p.total * times;
          if (times > 1 && split_contracted) {  // each further run adds into the result
            const std::int64_t results = ceil_div(s.batch * s.rows * s.columns, tiles);
            const Cycles accumulate = scaled(add_partials(1, results, chip.workers), calibration.vector_factor) + chip.exchange.superstep;
            p.total += accumulate * (times - 1);
          }
          front.offer(p);
        }
      }
    }
  }
}

ProductShape swap_roles(ProductShape s) {
  std::swap(s.rows, s.columns);
  return s;
}

}  // namespace

std::vector<ProductPlan> product_front(const ProductShape& shape, std::int64_t tiles, const Chip& chip, const Calibration& calibration) {
  SUPERSTEP_CHECK(shape.batch > 0 && shape.rows > 0 && shape.columns > 0 && shape.contracted > 0 && tiles > 0, "empty matrix product");
  Front front;
  // Parts of a large product one after the other: columns, or the contraction with accumulation.
  const Bytes lean(chip.tile_memory.value / 16);
  for (std::int64_t times : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32}) {
    for (bool split_contracted : {false, true}) {
      if (times == 1 && split_contracted) continue;
      ProductShape part = shape;
      std::int64_t& axis = split_contracted ? part.contracted : part.columns;
      if (times > 1 && axis < times * chip.amp.block_channels) continue;
      axis = ceil_div(axis, times);
      search(part, tiles, chip, calibration, times, split_contracted, false, front);
      if (part.halo == 1) search(swap_roles(part), tiles, chip, calibration, times, split_contracted, true, front);
    }
    const std::vector<ProductPlan> so_far = front.take();
    if (!so_far.empty() && so_far.back().temporary <= lean) break;
  }
  return front.take();
}

SharePlan share_plan(const OpCall& call, std::span<const std::int64_t> local_extents, std::int64_t tiles, const Chip& chip) {
  const Space space = call.def.space(call);
  std::int64_t parallel = 1, reduce = 1;
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (space.axes[a].kind == AxisKind::parallel) parallel *= local_extents[a];
    if (space.axes[a].kind == AxisKind::reduce) reduce *= local_extents[a];
  }
  // Innermost axes fill first, as a flattened contiguous share does.
  auto share_extents = [&](std::int64_t parallel_share, std::int64_t reduce_share) {
    std::vector<std::int64_t> extents(local_extents.begin(), local_extents.end());
    for (std::size_t n = extents.size(); n-- > 0;) {
      if (space.axes[n].kind == AxisKind::whole) continue;
      std::int64_t& left = space.axes[n].kind == AxisKind::parallel ? parallel_share : reduce_share;
      extents[n] = std::min(extents[n], left);
      left = ceil_div(left, extents[n]);
    }
    return extents;
  };
  const TileCosts costs{chip.workers, chip.vertex_launch, chip.amp};
  const std::int64_t result_size = call.out.empty() ? 2 : size_of(call.out[0].type);
  SharePlan best;
  Cycles least(INT64_MAX);
  for (std::int64_t q = 1; q <= std::min(reduce, tiles); q *= 2) {
    SharePlan p;
    p.reduce_parts = q;
    p.parallel_parts = std::min(parallel, std::max<std::int64_t>(1, tiles / q));
    const std::int64_t mine = ceil_div(parallel, p.parallel_parts);
    const auto extents = share_extents(mine, ceil_div(reduce, q));
    p.vector = call.def.cycles(costs, call, extents);
    Cycles total = p.vector;
    if (q > 1) {
      const std::int64_t joined = ceil_div(parallel, std::min(tiles, parallel));
      p.partial_bytes = Bytes(joined * q * std::max<std::int64_t>(4, result_size));
      p.join = add_partials(q, joined, chip.workers);
      total += transfer_time(p.partial_bytes, chip.exchange.receive) + p.join + 2 * chip.exchange.superstep;
    }
    if (total < least) {
      least = total;
      best = p;
    }
  }
  return best;
}

struct ProductFronts::State {
  Chip chip;
  std::int64_t tiles;
  Calibration calibration;
  std::shared_mutex mutex;
  std::map<ProductShape, std::vector<ProductPlan>> fronts;
  std::atomic<std::int64_t> searches = 0;
};

ProductFronts::ProductFronts(const Chip& chip, std::int64_t tiles, const Calibration& calibration) : state_(new State) {
  state_->chip = chip;
  state_->tiles = tiles;
  state_->calibration = calibration;
}
ProductFronts::~ProductFronts() = default;

const ProductPlan& ProductFronts::fastest(const ProductShape& shape, Bytes cap) {
  const std::vector<ProductPlan>* front = nullptr;
  {
    std::shared_lock lock(state_->mutex);
    const auto it = state_->fronts.find(shape);
    if (it != state_->fronts.end()) front = &it->second;
  }
  if (!front) {
    std::vector<ProductPlan> made = product_front(shape, state_->tiles, state_->chip, state_->calibration);
    std::unique_lock lock(state_->mutex);
    ++state_->searches;
    front = &state_->fronts.try_emplace(shape, std::move(made)).first->second;  // map nodes stay put
  }
  SUPERSTEP_CHECK(!front->empty(), "no tile plan for a product of " + std::to_string(shape.rows) + " x " + std::to_string(shape.contracted) +
                                       " x " + std::to_string(shape.columns) + ", batch " + std::to_string(shape.batch) + ", tiles " + std::to_string(state_->tiles));
  for (const ProductPlan& p : *front) {
    if (p.temporary <= cap) return p;
  }
  return front->back();
}

std::int64_t ProductFronts::searches() const { return state_->searches; }

}  // namespace superstep
