// SPDX-License-Identifier: Apache-2.0
// Distribution of a sweep's items over ranks. Any rank but rank 0 may die.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <vector>

namespace superstep {

struct SweepOrder {
  int rank = 0;
  std::size_t item = 0;
  int threads = 1;  // threads to plan the item on
};

// Tracks the waiting, held and finished items. An item finishes once, however many ranks have planned the item. An item
// held by a lost rank is handed out again. An item lost twice is given up, because it may be the reason why the ranks
// died. The board is deterministic: no clock, and ties go to the lowest rank.
class SweepBoard {
 public:
  SweepBoard(const std::vector<std::size_t>& items, int ranks);

  // The rank takes items from now on, for up to `threads` threads at a time. A lost rank that reappears joins again.
  void join(int rank, int threads);
  // Returns the items to begin now. An item gets one thread; if fewer items wait than threads are free, an item gets
  // more. An item that was lost before goes to rank 0 only if no other rank is left, because the sweep ends with rank
  // 0.
  std::vector<SweepOrder> hand_out();
  // Returns false if another rank finished the item before.
  bool finish(int rank, std::size_t item);
  // Removes the rank. Returns the unfinished items that the rank held: each waits again or is given up.
  std::vector<std::size_t> lose(int rank);

  bool done() const;                                           // nothing waits, and ranks hold only finished items
  bool idle() const;                                           // no rank holds an item
  std::set<std::size_t> given_up() const { return dropped_; }  // items that were given up

 private:
  struct Rank {
    bool here = false;
    int threads = 0;
    std::map<std::size_t, int> held;  // item and its threads
    int free() const;
  };
  int best_rank(std::size_t item) const;  // -1: no rank is free now
  int threads_for(int rank, std::size_t waiting) const;

  std::vector<Rank> ranks_;
  std::deque<std::size_t> waiting_;
  std::map<std::size_t, int> losses_;
  std::set<std::size_t> finished_, dropped_;
};

}  // namespace superstep
