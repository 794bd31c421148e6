// SPDX-License-Identifier: Apache-2.0
#include "planner/search/front.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace superstep {
namespace {

using Sweep = BestFirst::Sweep;

bool is_rate(Measure m) { return m == Measure::throughput || m == Measure::time_to_train; }

Goal goal_of(Measure m, const Goal& job) {
  if (m == Measure::latency) return {Objective::latency, 0};
  return is_rate(m) ? Goal{Objective::throughput, 0} : job;
}

// Traces a front of two measures on one machine. IPUs and power are the same for all plans of a machine. A front with
// one of these measures ends at the best plan of the other measure. For memory, the end is within
// kBudget.near_least_share of the least.
class Front {
 public:
  Front(BestFirst& space, const Job& job, const Candidate& best, FrontBoard* board, std::size_t part)
      : space_(space), job_(job), board_(board), part_(part), out_{best} {}

  std::vector<Candidate> trace() {
    const auto [a, b] = job_.pareto;
    const bool memory = a == Measure::memory || b == Measure::memory;
    const Measure other = a == Measure::memory || a == Measure::ipus || a == Measure::power ? b : a;
    const Goal goal = goal_of(other, job_.goal);
    if (goal.objective != job_.goal.objective) {
      learn(0, 1);
      out_.assign(1, fastest({goal, true}).value_or(out_[0]));
    } else {
      tell(out_[0]);
    }
    if (memory && !is_rate(other) && other != Measure::latency)
      least_memory(goal);
    else if (memory)
      against_memory(goal);
    else if ((is_rate(a) && b == Measure::latency) || (is_rate(b) && a == Measure::latency))
      rate_against_latency();
    return std::move(out_);
  }

 private:
  BestFirst& space_;
  const Job& job_;
  FrontBoard* const board_;
  const std::size_t part_;
  std::vector<Candidate> out_;

  // Steps on the board: step 0 is the best point of the other measure, the next steps are the points against memory. A
  // point that needs no sweep is a step as well, so that all parts count alike.
  void learn(std::size_t first, std::size_t end) {
    if (board_ != nullptr) space_.know(board_->before(part_, first, end));
  }
  void tell(std::optional<Candidate> found) {
    if (board_ != nullptr) board_->add(part_, std::move(found));
  }

  // Runs a sweep and returns its best plan; nullopt: no plan is within the sweep's limits.
  std::optional<Candidate> fastest(const Sweep& sweep) {
    constexpr double kRest = 1 - BestFirst::kFirstSweep;
    space_.report(
        BestFirst::kFirstSweep + kRest * static_cast<double>(out_.size()) / static_cast<double>(kBudget.latencies),
        "tracing the front");
    space_.sweep(sweep);
    const std::vector<Candidate> all = space_.best();
    const std::optional<Candidate> best = all.empty() ? std::nullopt : std::optional(all[0]);
    tell(best);
    return best;
  }

  void against_memory(const Goal& goal) {
    for (std::size_t i = 0; i < kBudget.memory_shares.size(); ++i) {
      const double tile = static_cast<double>(job_.machine.chip.tile_memory.value);
      const auto most = static_cast<std::int64_t>(kBudget.memory_shares[i] * tile);
      if (out_.back().estimate.tile_peak <= most) {
        tell({});
        continue;
      }
      learn(i + 1, i + 2);
      std::optional<Candidate> best = fastest({goal, true, most});
      if (!best || best->samples_per_second < kBudget.front_share * out_[0].samples_per_second) break;
      out_.push_back(*std::move(best));
    }
  }

  // Halves the memory limit until no plan of interest fits, then bisects. Needs no points of other parts: parts do not
  // share points where IPUs count.
  void least_memory(const Goal& goal) {
    std::int64_t none = 0;  // bytes per tile within which no plan of interest fits
    const auto close = [&](std::int64_t most) {
      return static_cast<double>(most - none) <= kBudget.near_least_share * most;
    };
    while (!close(out_.back().estimate.tile_peak)) {
      const std::int64_t most = none + (out_.back().estimate.tile_peak - none) / 2;
      std::optional<Candidate> best = fastest({goal, true, most, true});
      if (best && best->samples_per_second >= kBudget.front_share * out_[0].samples_per_second)
        out_.push_back(*std::move(best));
      else
        none = most;
    }
  }

  void rate_against_latency() {
    if (job_.global_batch > 0) return;  // the batch is fixed: the time of a step decides both measures
    learn(0, FrontBoard::kEnd);
    const Goal rate{Objective::throughput, 0};
    const std::optional<Candidate> quickest = fastest({{Objective::latency, 0}, true});
    out_.assign(1, fastest({rate, true}).value_or(out_[0]));
    while (out_.size() < kBudget.latencies) {
      const auto below =
          static_cast<std::int64_t>(kBudget.latency_share * static_cast<double>(out_.back().estimate.cycles));
      std::optional<Candidate> best = fastest({.goal = rate, .front = true, .below_cycles = below});
      if (!best) break;
      out_.push_back(std::move(*best));
    }
    if (!quickest || quickest->estimate.cycles >= out_.back().estimate.cycles) return;
    // The last point: the best rate among plans with the least latency.
    if (auto best = fastest({.goal = rate, .front = true, .below_cycles = quickest->estimate.cycles + 1}))
      out_.push_back(std::move(*best));
  }
};

}  // namespace

std::vector<Candidate> trace_front(BestFirst& space, const Job& job, const Candidate& best, FrontBoard* board,
                                   std::size_t part) {
  return Front(space, job, best, board, part).trace();
}

}  // namespace superstep
