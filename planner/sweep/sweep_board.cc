// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_board.h"

#include <algorithm>

namespace superstep {
namespace {

constexpr int kMostLosses = 2;

}  // namespace

SweepBoard::SweepBoard(const std::vector<std::size_t>& items, int ranks)
    : ranks_(static_cast<std::size_t>(ranks)), waiting_(items.begin(), items.end()) {}

int SweepBoard::Rank::free() const {
  if (!here) return 0;
  int used = 0;
  for (const auto& [item, n] : held) used += n;
  return threads - used;
}

void SweepBoard::join(int rank, int threads) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  r.here = true;
  r.threads = threads;
}

int SweepBoard::best_rank(std::size_t item) const {
  const bool others =
      std::any_of(ranks_.begin() + 1, ranks_.end(), [](const Rank& r) { return r.here; }) && losses_.contains(item);
  int best = -1, most = 0;
  for (std::size_t r = others ? 1 : 0; r < ranks_.size(); ++r) {
    if (ranks_[r].free() <= most) continue;
    most = ranks_[r].free();
    best = static_cast<int>(r);
  }
  return best;
}

int SweepBoard::threads_for(int rank, std::size_t waiting) const {
  const int free = ranks_[static_cast<std::size_t>(rank)].free();
  const auto sharing =
      static_cast<std::size_t>(std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.free() > 0; }));
  const std::size_t here = (waiting + sharing - 1) / sharing;  // this rank's part of the waiting items
  return std::max(1, free / static_cast<int>(std::min<std::size_t>(here, static_cast<std::size_t>(free))));
}

std::vector<SweepOrder> SweepBoard::hand_out() {
  std::vector<SweepOrder> orders;
  std::deque<std::size_t> left;
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const std::size_t item = waiting_[i];
    const int rank = best_rank(item);
    if (rank < 0) {
      left.push_back(item);
      if (losses_.contains(item)) continue;  // later items may go to rank 0
      left.insert(left.end(), waiting_.begin() + static_cast<std::ptrdiff_t>(i) + 1, waiting_.end());
      break;
    }
    const int threads = threads_for(rank, waiting_.size() - i);
    ranks_[static_cast<std::size_t>(rank)].held[item] = threads;
    orders.push_back({rank, item, threads});
  }
  waiting_ = std::move(left);
  return orders;
}

bool SweepBoard::finish(int rank, std::size_t item) {
  ranks_[static_cast<std::size_t>(rank)].held.erase(item);
  dropped_.erase(item);
  std::erase(waiting_, item);
  return finished_.insert(item).second;
}

std::vector<std::size_t> SweepBoard::lose(int rank) {
  Rank& r = ranks_[static_cast<std::size_t>(rank)];
  std::vector<std::size_t> lost;
  for (const auto& [item, threads] : r.held) {
    if (!finished_.contains(item)) lost.push_back(item);
  }
  r = {};
  for (auto item = lost.rbegin(); item != lost.rend(); ++item) {
    if (++losses_[*item] < kMostLosses)
      waiting_.push_front(*item);
    else
      dropped_.insert(*item);
  }
  return lost;
}

bool SweepBoard::done() const {
  return waiting_.empty() && std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& r) {
           return std::all_of(r.held.begin(), r.held.end(), [&](const auto& h) { return finished_.contains(h.first); });
         });
}

bool SweepBoard::idle() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.held.empty(); });
}

}  // namespace superstep
