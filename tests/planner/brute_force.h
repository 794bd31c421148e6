// SPDX-License-Identifier: Apache-2.0
// Small jobs drawn at random, searched and listed in full.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/space/setting_space.h"

namespace superstep::test {

// A model, machine, batch and pins with at least one legal plan, and no more than `most_plans`.
nlohmann::json draw_small_job(std::uint64_t seed, double most_plans);

// By settings, cuts and modes of recompute, one after the other.
struct BruteForce {
  struct Best {
    double score = 0;  // by the job's goal
    nlohmann::json plan;
  };
  struct Fitting {
    std::int64_t global_batch = 0, cycles = 0, tile_peak = 0;
    Execution execution = Execution::pipeline;
  };
  std::int64_t plans = 0;               // legal ones
  std::vector<Fitting> fitting;         // those that fit
  std::map<std::string, Best> by_kind;  // of those that fit, by kind_of()
  std::string beyond_bounds;            // cells with a plan that is faster than CellBounds say; empty: none
  double best() const;                  // score; 0: none fits
  void add(const BruteForce& other);
};
// Lists all plans of a job. Where it names one software, those that break none of its rules.
BruteForce try_all(const nlohmann::json& job);

struct Agreement {
  BruteForce all;
  bool phased = false, pruned = false;  // the best plan; some settings were left out by bounds
  std::string differences;              // empty: none
};
// Searches with one thread and with two, and compares the best plan and the runners-up with all plans there are.
Agreement compare_search(const nlohmann::json& job);

// Of so many jobs: with no plan that fits, with some that do not, won by phases, with settings that bounds left out.
struct Agreements {
  std::int64_t jobs = 0, plans = 0, infeasible = 0, tight = 0, phased = 0, pruned = 0;
};
// Failed expectations name seed and job. `software`: whose rules the plans keep; empty: no rules.
Agreements expect_agreement(std::uint64_t first_seed, std::int64_t jobs, double most_plans,
                            const std::string& software = "");

}  // namespace superstep::test
