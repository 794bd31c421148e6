// SPDX-License-Identifier: Apache-2.0
#include "model/execute/local.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "model/error.h"
#include "model/execute/unfinished.h"
#include "model/ops/compute.h"
#include "model/ops/kernel.h"

namespace superstep {

namespace {

Block overlap(const Block& a, const Block& b) {
  Block both(a.size());
  for (std::size_t d = 0; d < a.size(); ++d) {
    both[d].begin = std::max(a[d].begin, b[d].begin);
    both[d].end = std::max(both[d].begin, std::min(a[d].end, b[d].end));
  }
  return both;
}

}  // namespace

bool contains(const Block& outer, const Block& inner) {
  for (std::size_t d = 0; d < outer.size(); ++d) {
    if (inner[d].begin < outer[d].begin || inner[d].end > outer[d].end) return false;
  }
  return true;
}

void for_common(const Local& from, const Local& to,
                const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& run) {
  SUPERSTEP_CHECK(from.region.size() == to.region.size(), "pieces of tensors of different rank");
  const Block both = overlap(from.region, to.region);
  if (volume(both) == 0) return;
  Projection identity(both.size());
  for (std::size_t d = 0; d < both.size(); ++d) identity[d].axis = static_cast<int>(d);
  const ops::Strided sides[] = {ops::follow(identity, from.region, both), ops::follow(identity, to.region, both)};
  ops::for_each_row(both, sides,
                    [&](std::span<const std::int64_t> first, std::int64_t n) { run(first[0], first[1], n); });
}

double combined(double a, double b, Reduction reduction) {
  if (reduction == Reduction::max) return ops::larger(a, b);
  if (reduction == Reduction::min) return -ops::larger(-a, -b);
  return reduction == Reduction::sum ? a + b : b;
}

Range share_of(Range range, std::int64_t part, std::int64_t parts) {
  const std::int64_t share = ceil_div(range.extent(), parts);
  const std::int64_t begin = std::min(range.end, range.begin + part * share);
  return {begin, std::min(range.end, begin + share)};
}

std::int64_t place_on(TensorParallel mesh, std::int64_t rank, int dimension) {
  return dimension == 0 ? rank / mesh.t2 : rank % mesh.t2;
}

std::vector<std::int64_t> peers_on(TensorParallel mesh, std::int64_t rank, int dimension) {
  std::vector<std::int64_t> peers;
  const std::int64_t size = dimension == 0 ? mesh.t1 : mesh.t2, stride = dimension == 0 ? mesh.t2 : 1;
  const std::int64_t first = rank - place_on(mesh, rank, dimension) * stride;
  for (std::int64_t i = 0; i < size; ++i) peers.push_back(first + i * stride);
  return peers;
}

Block shard_region(const Shape& shape, const Sharding& sharding, TensorParallel mesh, std::int64_t rank) {
  Block region = whole_block(shape);
  for (int j = 0; j < 2; ++j) {
    const std::int8_t d = sharding.on[static_cast<std::size_t>(j)];
    if (d < 0) continue;
    Range& range = region[static_cast<std::size_t>(d)];
    range = share_of(range, place_on(mesh, rank, j), j == 0 ? mesh.t1 : mesh.t2);
  }
  return region;
}

void poison(Array& array, std::int64_t begin, std::int64_t end) {
  const std::int64_t size = size_of(array.info.type);
  if (!is_float(array.info.type)) {
    std::memset(array.data.data() + begin * size, 0x80, static_cast<std::size_t>((end - begin) * size));
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) array.set(i, std::numeric_limits<double>::quiet_NaN());
}

Local poisoned(DType type, Block region, const Sharding& on) {
  Shape shape;
  for (const Range& range : region) shape.push_back(range.extent());
  Local local{on, std::move(region), Array(TensorInfo{type, shape})};
  poison(local.values, 0, local.values.info.elements());
  return local;
}

void copy_overlap(const Local& from, Local& to) {
  SUPERSTEP_CHECK(from.values.info.type == to.values.info.type, "pieces of tensors of different types");
  const std::int64_t size = size_of(from.values.info.type);
  for_common(from, to, [&](std::int64_t source, std::int64_t target, std::int64_t n) {
    std::memcpy(to.values.data.data() + target * size, from.values.data.data() + source * size,
                static_cast<std::size_t>(n * size));
  });
}

void combine_overlap(const Local& from, Local& to, Reduction reduction) {
  for_common(from, to, [&](std::int64_t source, std::int64_t target, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      to.values.set(target + i, combined(to.values.at(target + i), from.values.at(source + i), reduction));
    }
  });
}

Local ring_sum(const std::vector<const Local*>& pieces) {
  Local sum = *pieces[0];
  const auto n = static_cast<std::int64_t>(pieces.size());
  for (std::int64_t k = 0; k < n; ++k) {
    const Range slice = share_of({0, sum.values.info.elements()}, k, n);
    for (std::int64_t i = slice.begin; i < slice.end; ++i) {
      Array& total = sum.values;
      const auto value_of = [&](std::int64_t hop) {
        return pieces[static_cast<std::size_t>((k + hop) % n)]->values.at(i);
      };
      const double own = value_of(0);  // before the slice is overwritten, where it is piece 0's
      total.set(i, value_of(1 % n));
      for (std::int64_t hop = 2; hop <= n; ++hop) total.set(i, total.at(i) + (hop == n ? own : value_of(hop)));
    }
  }
  return sum;
}

Local cut(const Local& from, const Block& region, const Sharding& on) {
  if (from.sums) return {on, region, {}, part_of(from.sums, region)};
  Local part = poisoned(from.values.info.type, region, on);
  copy_overlap(from, part);
  return part;
}

Bytes largest_bytes(const std::vector<LocalPtr>& ranks, DType type) {
  Bytes largest(0);
  for (const LocalPtr& piece : ranks) {
    if (piece) largest = std::max(largest, Bytes(volume(piece->region) * size_of(type)));
  }
  return largest;
}

namespace {

// What the peers of one rank have together.
Local joined_pieces(const std::vector<std::int64_t>& peers, int dimension, Block region, Reduction reduction,
                    const std::vector<LocalPtr>& ranks) {
  const auto j = static_cast<std::size_t>(dimension);
  const auto piece_of = [&](std::int64_t peer) -> const Local& { return *ranks[static_cast<std::size_t>(peer)]; };
  const Local& first = piece_of(peers[0]);
  const bool sums = first.on.on[j] == Sharding::partial;
  Sharding on = first.on;
  on.on[j] = Sharding::replicated;
  const auto unfinished = [&](std::int64_t peer) { return piece_of(peer).sums != nullptr; };
  const auto unrounded = std::count_if(peers.begin(), peers.end(), unfinished);
  if (unrounded > 0 && unrounded < static_cast<std::ptrdiff_t>(peers.size())) {  // some are lost: so is the sum
    const auto lost = std::find_if_not(peers.begin(), peers.end(), unfinished);
    return poisoned(piece_of(*lost).values.info.type, std::move(region), on);
  }
  if (first.sums) {
    std::vector<UnfinishedPtr> parts;
    for (std::int64_t peer : peers) parts.push_back(piece_of(peer).sums);
    const UnfinishedPtr all = sums ? joined(parts) : put_together(std::move(parts), region);
    return {on, std::move(region), {}, all};
  }
  if (sums && reduction == Reduction::sum) {
    std::vector<const Local*> pieces;
    for (std::int64_t peer : peers) pieces.push_back(&piece_of(peer));
    Local all = ring_sum(pieces);
    all.on = on;
    return all;
  }
  Local all = poisoned(first.values.info.type, std::move(region), on);
  for (std::int64_t peer : peers) {
    if (sums && peer != peers[0])
      combine_overlap(piece_of(peer), all, reduction);
    else
      copy_overlap(piece_of(peer), all);
  }
  return all;
}

}  // namespace

void run_collective(TensorParallel mesh, int dimension, std::int8_t target, const Shape& shape, Reduction reduction,
                    const std::function<void(Local&)>& settle, std::vector<LocalPtr>& ranks) {
  const auto j = static_cast<std::size_t>(dimension);
  if (std::find(ranks.begin(), ranks.end(), nullptr) != ranks.end()) return;  // nobody made it: poison stays poison
  std::vector<LocalPtr> after(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto r = static_cast<std::int64_t>(rank);
    const std::vector<std::int64_t> peers = peers_on(mesh, r, dimension);
    if (peers[0] != r) continue;
    Sharding on = ranks[rank]->on;
    on.on[j] = Sharding::replicated;
    Local joined = joined_pieces(peers, dimension, shard_region(shape, on, mesh, r), reduction, ranks);
    settle(joined);
    const auto all = std::make_shared<const Local>(std::move(joined));
    on.on[j] = target;
    for (std::int64_t peer : peers) {
      after[static_cast<std::size_t>(peer)] =
          target == Sharding::replicated
              ? all
              : std::make_shared<const Local>(cut(*all, shard_region(shape, on, mesh, peer), on));
    }
  }
  ranks = std::move(after);
}

}  // namespace superstep
