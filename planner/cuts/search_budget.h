// SPDX-License-Identifier: Apache-2.0
// All budgets of a search: how much each task may take before the search goes on elsewhere. Where a budget ends a
// proof, the result has a bound on the cuts or nodes left open. All other budgets decide only the order of the work,
// and so its speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace superstep {

// Fields named "work" count what cut programmes over phases do, in comparisons of two labels (CutLimits::most_work).
// 1e8 comparisons take about a second.
struct SearchBudget {
  // ---- cuts of one setting into phases: cuts beyond these budgets are left open

  // Cases of the load of IPU groups, each a run of the programme.
  int cases = 400;
  // Cases before labels hold the load instead. A few cases are less work than such labels.
  int few_cases = 40;
  // Cases for a bound by prices, where IPU groups keep data on remote tiles.
  int few_cases_with_remote = 3;
  // Cases divide the remote tile bytes of an IPU group into intervals no finer than the whole over this number.
  std::int64_t remote_steps = 8;
  // Most labels of one partial cut, where Streaming Memory binds. Tried in this order, as few labels often suffice.
  std::array<std::size_t, 3> labels{50, 500, 5000};
  // Most labels of one partial cut, where labels hold the load: longer entries of `labels` are not tried.
  std::size_t labels_with_code = 500;
  // Prices of Streaming Memory that are tried, one after the other, for a bound.
  int prices = 12;
  // Most that a price may add, in multiples of the cycles without a price.
  std::int64_t price_rise = 64;
  // Sets of weights on the memory of IPU groups, tried to prove that no cut fits.
  int infeasibility_steps = 50;

  // Work that a cut programme counts as, besides its comparisons.
  std::int64_t programme_work = 20'000;

  // ---- nodes of the search

  // Work of a whole search without a time limit, all its parts together: a minute or two on one core.
  std::int64_t whole_work = 10'000'000'000;

  // Work for a guessed plan, and for a branch's bound while there is no incumbent. Also replaces reduced_work where a
  // setting uses remote tiles.
  std::int64_t first_work = 4'800'000;
  // Work for a leaf while other settings may be better, and for a bound by prices.
  std::int64_t reduced_work = 250'000'000;
  // Work on leaves of one kind that gave no plan, after which runners-up of that kind are given up.
  std::int64_t vain_work_of_kind = 16'000'000;
  // Work on leaves that gave no plan is credit for closer bounds of branches. The least credit that is spent, and the
  // most that is spent on one branch, while other branches wait.
  std::int64_t least_credit = 1'600'000;
  std::int64_t most_credit = 25'000'000;
  // Fraction of the best score that a runner-up must exceed.
  double runner_up_share = 0.5;
  // Fraction of the best cell's bound. While there is no incumbent, branches with a bound above this come before cells.
  double first_plan_share = 0.85;
  // Branches of a cell from which plans are guessed: those with the highest bounds.
  std::size_t guesses = 4;
  // Cells whose branches are kept for the sweeps of a front.
  int kept_cells = 160;

  // ---- threads: the result is the same for any number of threads

  std::size_t nodes_at_a_time = 16;  // nodes that are worked on side by side
  std::size_t nodes_ahead = 64;      // later nodes that threads may begin instead of waiting
  std::size_t tables_ahead = 8;      // next cells whose tables threads may make instead of waiting

  // ---- fronts of two measures

  // Fractions of a tile's memory: each gives a point of a front against memory.
  std::array<double, 4> memory_shares{0.9, 0.8, 0.65, 0.5};
  // Fraction of the last point's latency that the next point of a front against latency may take.
  double latency_share = 0.5;
  // Most points of a front against latency.
  std::size_t latencies = 10;
  // Fronts of memory against IPUs or power: the memory of a machine's point is within this fraction of the least.
  double near_least_share = 0.01;
  // Fraction of the fastest point's rate: slower points are left out.
  double front_share = 0.05;

  // ---- explanations why nothing fits: more settings seldom come much closer

  // Cells whose plans are listed together, and plans that are cut side by side: fixed for any number of threads.
  std::size_t explained_cells_at_a_time = 8, explained_plans_at_a_time = 8;
  // Cut programmes until the closest plan so far is the answer.
  std::int64_t explained_programmes = 250;
  // Work until the closest plan so far is the answer. Each cut programme counts as stages times the square of units.
  std::int64_t explained_work = 25'000'000;
  // Cut programmes until the search ends, while all cuts that fit are illegal plans.
  std::int64_t explained_illegal = 32;
  // Work for the nearest change that fits: in all, and for the trial of one change. A trial counts as fix_trial at
  // least.
  std::int64_t fix_work = 3'000'000'000, fix_work_per_trial = 1'000'000'000, fix_trial = 30'000'000;

  // ---- parts of a job

  // Fraction of the time left that the proof of one part may take while further parts follow.
  double part_share = 0.85;
};
inline constexpr SearchBudget kBudget{};

// Returns SearchOptions::work_limit for a time limit in seconds: with a time limit none.
inline std::int64_t work_limit_with(double time_limit) { return time_limit > 0 ? 0 : kBudget.whole_work; }

}  // namespace superstep
