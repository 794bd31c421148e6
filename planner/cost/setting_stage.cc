// SPDX-License-Identifier: Apache-2.0
// Time and memory of a setting's stages: sums and maxima over their units.
#include <algorithm>

#include "planner/cost/setting.h"

namespace superstep {

std::int64_t Setting::block_end(std::int64_t unit, std::int64_t end, Recompute mode) const {
  if (mode == Recompute::stage) return end;
  std::int64_t v = unit + 1;
  const std::int64_t checkpoint = table_->checkpoint(static_cast<std::size_t>(unit));
  while (v < end && checkpoint >= 0 && table_->checkpoint(static_cast<std::size_t>(v)) == checkpoint) ++v;
  return v;
}

void Setting::add_time(Stage& s, std::int64_t begin, std::int64_t end, bool is_last, Recompute mode, bool first) const {
  for (std::int64_t u = begin; u < end; ++u) {
    const UnitNumbers& p = at(u);
    s.forward += p.forward + p.host;
    s.update += p.update;
    if (training_) s.backward += p.backward;
  }
  const bool direct = is_last && goes_back_at_once_;
  if (training_ && !phased_ && mode == Recompute::none && !direct) s.backward += at(begin).join;
  for (std::int64_t x = begin; training_ && mode != Recompute::none && x < end;) {
    const std::int64_t y = block_end(x, end, mode);
    if (!(y == end && direct)) {
      if (!phased_) s.backward += at(x).join;
      // The last unit of a block gathers its weights once, for the recompute and the backward pass.
      for (std::int64_t u = x; u < y; ++u) s.backward += at(u).again + (u + 1 < y ? at(u).gather : 0);
    }
    x = y;
  }
  if (!phased_) return;
  // Counts the moves of the boundary in front of the stage. The first stage of a phase loads its input; other stages
  // stash theirs. leave_phase() adds what the last stage stores.
  const UnitNumbers& in = at(begin);
  const bool begins = begin == 0;
  if (first)
    s.move_forward += begins ? 0 : in.move + in.join;
  else if (training_)
    s.move_forward += in.move;
  if (training_) {
    s.move_backward += in.move + in.join + (first && !begins ? in.move : 0);
  }
}

Setting::Places Setting::places(std::int64_t begin, std::int64_t end) const {
  Places out;
  for (std::int64_t u = begin; u < end; ++u) {
    out.weights = std::max(out.weights, at(u).joined_weights);
    out.gradients = std::max(out.gradients, at(u).gradient);
  }
  return {joins_weights_ ? out.weights : 0, joins_gradients_ ? out.gradients : 0};
}

void Setting::stand_beside(Stage& s, Range own, const Places& places, Range other, const Places& there) const {
  // The stages take turns, so the larger place of the two serves both.
  if (other.begin < own.begin)
    s.always -= std::min(places.weights, there.weights) + std::min(places.gradients, there.gradients);
  for (const std::int64_t u : table_->borrowers()) {
    if (u < own.begin || u >= own.end || !borrows(u, own.begin)) continue;
    bool stands = false;
    table_->for_holders(u, [&](std::int64_t holder) {
      stands = holder >= other.begin && holder < other.end;
      return !stands;
    });
    if (!stands) continue;
    const UnitNumbers& p = at(u);
    s.always -= p.borrowed_resident;
    s.ddr -= p.borrowed_ddr + p.tied_ddr;
    s.remote_tile -= p.borrowed_remote_tile;
    s.weights -= p.borrowed;
  }
}

void Setting::add_memory(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode, bool first) const {
  for (std::int64_t u = begin; u < end; ++u) {
    const UnitNumbers& p = at(u);
    s.always += p.resident + p.host_waiting;
    s.weights += p.weights;
    s.ddr += p.ddr;
    s.remote_tile += p.remote_tile;
    s.rows |= std::uint64_t{1} << p.row;
    s.entry += p.feed;
    s.entry_ipu += p.feed_ipu;
    if (borrows(u, begin)) {
      s.always += p.borrowed_resident;
      s.ddr += p.borrowed_ddr + p.tied_ddr;
      s.remote_tile += p.borrowed_remote_tile;
      s.weights += p.borrowed;
    }
    s.transient = std::max({s.transient, p.forward_peak, p.update_peak});
  }
  if (joins_weights_ || joins_gradients_) {
    const Places own = places(begin, end);
    s.always += own.weights + own.gradients;
  }
  if (training_)
    add_entry(s, begin, end, mode);
  else if (phased_ && first)
    add_stored_boundary(s, begin);
}

std::int64_t Setting::remote_tile() const {
  std::int64_t bytes = 0;
  for (std::int64_t u = 0; u < n_; ++u) bytes += at(u).remote_tile;
  return bytes;
}

std::int64_t Setting::least_stored_boundary() const {
  if (!stash_remote_tile_ || n_ < 2) return 0;
  std::int64_t least = INT64_MAX;
  for (std::int64_t u = 1; u < n_; ++u) least = std::min(least, at(u).boundary_ipu);
  return least * stored_micro_batches();
}

// Phased: adds the boundary in front of a stage, for all micro-batches that are stored at once.
void Setting::add_stored_boundary(Stage& s, std::int64_t begin) const {
  if (stash_remote_tile_) s.remote_tile += at(begin).boundary_ipu * stored_micro_batches();
  if (stash_ddr_) s.ddr += at(begin).boundary_ipu * stored_micro_batches();
}

// Adds the stash entry that a micro-batch leaves for its backward pass, and the peak of the recompute and the backward
// pass. Without phases, adds the cycles in which the entry leaves the tiles and comes back.
void Setting::add_entry(Stage& s, std::int64_t begin, std::int64_t end, Recompute mode) const {
  for (std::int64_t x = begin; x < end;) {
    const std::int64_t y = block_end(x, end, mode == Recompute::none ? Recompute::layer : mode);
    std::int64_t held = 0;
    if (mode == Recompute::none) {
      for (std::int64_t u = x; u < y; ++u) {
        const UnitNumbers& p = at(u);
        s.transient = std::max(s.transient, p.backward_peak);
        s.entry += p.kept + (u + 1 < end ? p.crossing : 0);
        s.entry_ipu += p.kept_ipu + (u + 1 < end ? p.crossing_ipu : 0);
      }
    } else {
      s.entry += at(x).boundary;
      s.entry_ipu += at(x).boundary_ipu;
      for (std::int64_t u = x; u < y; ++u) {
        s.transient = std::max(s.transient, held + at(u).keeping_peak);
        held += at(u).kept + (u + 1 < y ? at(u).crossing : 0);
      }
      for (std::int64_t u = y; u-- > x;) {
        s.transient = std::max(s.transient, held + at(u).backward_peak);
        held -= at(u).kept + (u + 1 < y ? at(u).crossing : 0);
      }
    }
    x = y;
  }
  if (mode == Recompute::none) s.entry += at(begin).boundary, s.entry_ipu += at(begin).boundary_ipu;
  if (phased_) return add_stored_boundary(s, begin);
  const std::int64_t move = moved(s.entry_ipu, stash_rate_);
  s.forward += move;
  s.backward += move;
}

Setting::Stage Setting::stage_without_stash(std::int64_t begin, std::int64_t end, bool is_last, Recompute mode,
                                            bool first) const {
  Stage s;
  add_time(s, begin, end, is_last, mode, first);
  add_memory(s, begin, end, mode, first);
  return s;
}

Setting::Stage Setting::stage(std::int64_t begin, std::int64_t end, std::int64_t from_end, Recompute mode,
                              bool first) const {
  Stage s = stage_without_stash(begin, end, from_end == 0, mode, first);
  add_stash(s, from_end);
  return s;
}

}  // namespace superstep
