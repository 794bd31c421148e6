// SPDX-License-Identifier: Apache-2.0
// What a search spends before it goes on elsewhere: all budgets in one place. Where a budget ends a proof, what is left
// open is bounded and told; the others decide only the order of the work, and so its speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace superstep {

// Work is counted by cut programmes over phases, in steps of one label (CutLimits::most_work): 1e8 steps take about a
// second.
struct SearchBudget {
  // ---- cuts of one setting into phases. What exceeds these is left open
  int cases = 400;                // of what IPU groups hold, each a run of the programme
  int few_cases = 40;             // before labels hold that instead, which is less work where cases are few
  int few_cases_with_remote = 3;  // for a bound, where other IPUs' tiles hold something
  std::int64_t remote_steps = 8;  // parts into which cases divide what IPU groups hold on other IPUs' tiles
  // Labels of one partial cut, where Streaming Memory binds: one after the other, as few often suffice.
  std::array<std::size_t, 3> labels{50, 500, 5000};
  std::size_t labels_with_code = 500;  // the most of these where labels hold code
  int prices = 12;                     // of Streaming Memory, tried one after the other for a bound
  std::int64_t price_rise = 64;        // the most that a price may add, in multiples of the cycles without it
  int infeasibility_steps = 50;        // weights of memory that are tried, to prove that no cut fits

  // ---- nodes of the search
  std::int64_t first_work = 4'800'000;      // for a guess, and for a branch's bound while no plan is known
  std::int64_t reduced_work = 250'000'000;  // for a leaf while other settings may be better, and for a bound by prices
  std::int64_t vain_work_of_kind = 16'000'000;  // on leaves of a kind without a plan, before runners-up of it are left
  std::int64_t least_credit = 1'600'000;        // vain work on leaves, before as much is spent on a bound of a branch
  std::int64_t most_credit = 25'000'000;        // on one branch: others wait for it
  double runner_up_share = 0.5;                 // of the best score: slower plans are no runners-up
  double first_plan_share = 0.85;  // of the best cell's bound: while no plan is known, branches above it come first
  std::size_t guesses = 4;         // of a cell's branches, those with the highest bounds
  int kept_cells = 160;            // whose branches are kept for the sweeps of a front

  // ---- threads. What is found is the same for any number of them
  std::size_t nodes_at_a_time = 16;  // that are worked on side by side
  std::size_t nodes_ahead = 64;      // that come after these, for threads that would wait
  std::size_t tables_ahead = 8;      // cells whose tables are made by threads that would wait

  // ---- fronts of two measures
  std::array<double, 4> memory_shares{0.9, 0.8, 0.65, 0.5};  // of a tile: a point against memory for each
  double latency_share = 0.5;  // of the latency of the point before it: the next point against latency
  std::size_t latencies = 10;  // points against latency
  double near_least_share =
      0.01;                   // of the least memory: a machine's point of memory against IPUs or power is that near
  double front_share = 0.05;  // of the fastest point: slower points are left out

  // ---- why nothing fits. More settings seldom come much closer
  std::size_t explained_cells_at_a_time = 8, explained_plans_at_a_time = 8;  // as many for any number of threads
  std::int64_t explained_programmes = 250;
  std::int64_t explained_work = 25'000'000;  // stages times squares of units
  std::int64_t explained_illegal = 32;       // cuts that fit and are no plan, while all that fit are such
  double fix_seconds = 30, fix_seconds_per_trial = 10;

  // ---- parts of a job
  double part_share = 0.85;  // of the time that is left, for the proof of a part while others follow
};
inline constexpr SearchBudget kBudget{};

}  // namespace superstep
