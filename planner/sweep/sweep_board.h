// SPDX-License-Identifier: Apache-2.0
// Items of a sweep among ranks of which any but the first may die: who plans what, and what is left.
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
  int threads = 1;  // to plan it on
};

// An item is finished once, however many ranks have planned it. One that a rank held when it was lost is handed out
// again; lost twice, it may be what its ranks died of, and is given up. Deterministic: no clock, ties to the first
// rank.
class SweepBoard {
 public:
  SweepBoard(const std::vector<std::size_t>& items, int ranks);

  // The rank takes items from now on, up to so many threads at a time. One that was lost and is heard of again, too.
  void join(int rank, int threads);
  // What to begin now: each item on one thread, on more only where fewer items wait than threads. An item that was lost
  // before goes to rank 0, with which all would end, only where no other is left.
  std::vector<SweepOrder> hand_out();
  // False: it was finished before, by another rank.
  bool finish(int rank, std::size_t item);
  // The rank gets nothing more. What it held and is not finished: waiting again, or given up.
  std::vector<std::size_t> lose(int rank);

  bool done() const;                                           // nothing waits, and no rank plans what is not finished
  bool idle() const;                                           // no rank plans anything
  std::set<std::size_t> given_up() const { return dropped_; }  // by item

 private:
  struct Rank {
    bool here = false;
    int threads = 0;
    std::map<std::size_t, int> held;  // item: threads
    int free() const;
  };
  int best_rank(std::size_t item) const;  // -1: none now
  int threads_for(int rank, std::size_t waiting) const;

  std::vector<Rank> ranks_;
  std::deque<std::size_t> waiting_;
  std::map<std::size_t, int> losses_;
  std::set<std::size_t> finished_, dropped_;
};

}  // namespace superstep
