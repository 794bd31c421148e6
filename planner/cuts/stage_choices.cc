// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/stage_choices.h"

#include <limits>
#include <set>

namespace superstep {
namespace {

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

StageChoices::StageChoices(const Setting& setting, PipelineStages& ways)
    : s_(setting), ways_(ways), grouped_(setting.plan().schedule == Schedule::grouped) {}

void StageChoices::open(Range stages, Range units, std::int64_t best) {
  stages_ = stages, units_ = units;
  const std::size_t places = index(s_.units()) + 1;
  choices_.assign(index(count()), std::vector<std::vector<Choice>>(places));
  std::vector<bool> reached(places, false);
  for (std::int64_t u = units.begin; u <= (stages.begin > 0 ? units.end - count() : units.begin); ++u)
    reached[index(u)] = true;
  for (std::int64_t k = 0; k < count(); ++k) {
    std::vector<bool> next(places, false);
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      if (!reached[index(u)] || ways_.pinned_other(stages.begin + k, u)) continue;
      collect(k, u, best);
      for (const Choice& c : at(k, u)) next[index(c.end)] = true;
    }
    reached = std::move(next);
  }
  tabulate();
}

void StageChoices::collect(std::int64_t k, std::int64_t u, std::int64_t best) {
  const std::int64_t g = s_.plan().gradient_accumulation, beside = ways_.beside(0, 0, 0);
  if (beside >= best) return;
  const std::int64_t most = (best - beside - 1) / g;  // each IPU does its work for each micro-batch
  const std::int64_t behind = count() - 1 - k, from_end = ways_.count() - 1 - stages_.begin - k;
  for (std::int64_t v = behind == 0 ? units_.end : u + 1; v <= units_.end - behind; ++v) {
    if (ways_.work({u, v}, from_end) > most) return;
    const bool may_go_on = ways_.for_each({u, v}, from_end, most, [&](const Setting::Stage& x, Recompute mode) {
      const std::int64_t weights = s_.weights_move() ? x.weights : 0;
      choices_[index(k)][index(u)].push_back({{x.forward, x.backward}, v, x.update, weights, mode});
    });
    if (!may_go_on) return;
  }
}

// A stage is one of those before the boundary behind it, f + w no less than its passes, and one of those behind the
// boundary in front of it, where x and y, or x twice, are no less than its passes. Charged to each boundary that way
// the sum is no more than what all boundaries take.
void StageChoices::tabulate() {
  const std::int64_t in_front = grouped_ ? 2 : 1;
  const std::size_t places = index(s_.units()) + 1;
  least_.assign(index(count()) + 1, std::vector<Least>(places));
  least_[index(count())][index(units_.end)] = {0, 0, 0, 0, 0};
  std::set<std::int64_t> xs, ys;
  for (std::int64_t k = count(); k-- > 0;) {
    const bool ends_model = stages_.begin + k + 1 == ways_.count();
    for (std::int64_t u = units_.begin; u < units_.end; ++u) {
      Least& here = least_[index(k)][index(u)];
      for (const Choice& c : at(k, u)) {
        const Least& then = least(k + 1, c.end);
        if (then.added == kNever) continue;
        const StageCap p = takes(c);
        const std::int64_t behind = ends_model ? 0 : c.both();
        here.x = std::min(here.x, std::max(p.x, then.x));
        here.y = std::min(here.y, std::max(p.y, then.y));
        here.cycle = std::min(here.cycle, std::max(c.both(), then.cycle));
        here.added = std::min(here.added, in_front * c.both() + behind + then.added);
        here.added_behind = std::min(here.added_behind, behind + then.added);
        xs.insert(p.x), ys.insert(p.y);
      }
    }
  }
  xs_.assign(xs.begin(), xs.end());
  ys_.assign(ys.begin(), ys.end());
}

StageChoices::Stages StageChoices::evenest(std::int64_t unit, std::int64_t cap) const {
  struct Best {
    double squares = std::numeric_limits<double>::infinity();
    const Choice* choice = nullptr;
  };
  const std::size_t places = index(s_.units()) + 1;
  std::vector<std::vector<Best>> best(index(count()) + 1, std::vector<Best>(places));
  best[index(count())][index(units_.end)].squares = 0;
  for (std::int64_t k = count(); k-- > 0;) {
    for (std::int64_t u = unit; u < units_.end; ++u) {
      Best& here = best[index(k)][index(u)];
      for (const Choice& c : at(k, u)) {
        const auto time = static_cast<double>(c.both());
        const double squares = time * time + best[index(k) + 1][index(c.end)].squares;
        if (c.both() <= cap && squares < here.squares) here = {squares, &c};
      }
    }
  }
  Stages stages;
  for (std::int64_t k = 0, u = unit; k < count(); ++k) {
    const Choice* choice = best[index(k)][index(u)].choice;
    if (choice == nullptr) return {};
    stages.emplace_back(u, choice);
    u = choice->end;
  }
  return stages;
}

}  // namespace superstep
