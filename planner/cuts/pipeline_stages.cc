// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts/pipeline_stages.h"

#include <algorithm>
#include <numeric>

#include "model/error.h"

namespace superstep {

PipelineStages::PipelineStages(const Setting& s, const CutRules& rules)
    : s_(s), rules_(rules), runs_(s.table().runs()), training_(s.table().training()), code_(s) {
  const Plan& p = s.plan();
  SUPERSTEP_CHECK(!rules.wrap || p.pipeline_stages > 1,
                  "a last stage returns to the first IPU group only where there are others");
  count_ = p.pipeline_stages + (rules.wrap ? 1 : 0);
  serial_ = p.schedule == Schedule::sequential || count_ == 1;
  rounds_ = p.gradient_accumulation + (serial_ ? 0 : (training_ ? 2 : 1) * (count_ - 1));
  fixed_ = s.micro_batch_fixed() + (count_ > 1 ? s.cycle_fixed() : 0);
  if (training_) update_fixed_ = s.update_fixed();
  keeping_is_fastest_ = !s.stash_moves() && p.activation_sharding == ActivationSharding::none;
  for (auto& of_modes : index_) {
    for (const bool last : {false, true}) {
      for (const Recompute mode : modes_of(last)) of_modes[static_cast<std::size_t>(mode)].assign(runs_.count(), -1);
    }
  }
  const std::int64_t n = s.units();
  work_.reserve(static_cast<std::size_t>(n) + 1);
  work_.push_back(0);
  for (std::int64_t u = 0; u < n; ++u) work_.push_back(work_.back() + s.work(u, u + 1));
  std::int64_t update = 0;
  for (std::int64_t u = 0; u < n; ++u) {
    update += s.update(u);
    least_update_ = std::max(least_update_, s.update(u));
  }
  least_update_ = std::max(least_update_, update / p.pipeline_stages);
  for (std::int64_t u = 1; u < n && count_ > 1; ++u)
    least_copy_ = u == 1 ? s.copy_cycles(u) : std::min(least_copy_, s.copy_cycles(u));
  if (serial_) least_copy_ *= count_ - 1;
  if (training_) find_borrowers();
  if (rules.wrap) find_places();
}

void PipelineStages::find_borrowers() {
  const std::vector<TiedUnit>& tied = s_.table().facts().tied;
  for (const TiedUnit& t : tied) {
    const std::int64_t before = t.before < 0 ? t.owner : tied[static_cast<std::size_t>(t.before)].borrower;
    borrowers_.push_back({t.borrower, before, t.owner, s_.tied_cycles({t.owner, t.borrower, 0, 1})});
  }
}

void PipelineStages::keep_within(const CutLimits& limits) {
  limits_ = limits;
  for (Known& known : known_) find_farthest(known);
  work_before_last_.clear();
  work_before_last_.reserve(work_.size());
  work_before_last_.push_back(0);
  std::int64_t kept = 0;  // units [.., kept) are in some stage that fits and recomputes nothing
  for (std::int64_t u = 0; u < s_.units(); ++u) {
    kept = end_of_keeping(u, kept);
    work_before_last_.push_back(work_before_last_.back() + work(u, u + 1) + (u < kept ? 0 : s_.again(u)));
  }
}

// Returns where the longest stage from unit `begin` on ends that recomputes nothing, fits and is not the last; at least
// `end`. Stages are tried just before the last stage, where their stash is the smallest.
std::int64_t PipelineStages::end_of_keeping(std::int64_t begin, std::int64_t end) {
  if (std::ranges::find(rules_.modes, Recompute::none) == rules_.modes.end()) return end;
  for (std::int64_t v = std::max(begin, end) + 1; v <= s_.units(); end = v++) {
    if (known({begin, v}, false, Recompute::none).farthest < 1) break;
  }
  return end;
}

void PipelineStages::find_places() {
  const auto larger = [](const Setting::Places& a, const Setting::Places& b) {
    return Setting::Places{std::max(a.weights, b.weights), std::max(a.gradients, b.gradients)};
  };
  const auto n = static_cast<std::size_t>(s_.units());
  std::vector<Setting::Places> of;  // by unit
  for (std::int64_t u = 0; u < s_.units(); ++u) of.push_back(s_.places(u, u + 1));
  places_up_to_.resize(n + 1);
  places_from_.resize(n + 1);
  for (std::size_t u = 0; u < n; ++u) places_up_to_[u + 1] = larger(places_up_to_[u], of[u]);
  for (std::size_t u = n; u-- > 0;) places_from_[u] = larger(places_from_[u + 1], of[u]);
}

std::int32_t PipelineStages::add_known(Range units, bool last, Recompute mode) {
  known_.push_back({s_.stage_without_stash(units.begin, units.end, last, mode), last});
  find_farthest(known_.back());
  return static_cast<std::int32_t>(known_.size()) - 1;
}

// Bisects for the farthest place from the pipeline's end: stashes are no smaller farther from the end.
void PipelineStages::find_farthest(Known& known) {
  const std::int64_t code = code_(known.stage.rows), most = known.last ? 0 : count_ - 1;
  std::int64_t farthest = -1, beyond = most + 1;
  for (std::int64_t at = most; beyond - farthest > 1; at = std::midpoint(farthest, beyond))
    (fits(known.stage, code, s_.stash_of(known.stage, at)) ? farthest : beyond) = at;
  known.farthest = farthest;
}

Setting::Stage PipelineStages::first_stage(std::int64_t end, std::int64_t w, Recompute mode) {
  const Range own{0, end};
  Setting::Stage x = known(own, false, mode).stage;
  s_.stand_beside(x, own, places_up_to_[static_cast<std::size_t>(end)], {w, s_.units()},
                  places_from_[static_cast<std::size_t>(w)]);
  s_.add_stash(x, count_ - 1);
  return x;
}

Setting::Stage PipelineStages::last_stage(std::int64_t w, std::int64_t end, Recompute mode) {
  const Range own{w, s_.units()};
  Setting::Stage x = known(own, true, mode).stage;
  s_.stand_beside(x, own, places_from_[static_cast<std::size_t>(w)], {0, end},
                  places_up_to_[static_cast<std::size_t>(end)]);
  s_.add_stash(x, 0);
  return x;
}

bool PipelineStages::may_return(std::int64_t w) {
  return std::ranges::any_of(modes_of(true), [&](Recompute mode) {
    const Setting::Stage x = leanest(w, mode);
    return fits(x, code_(x.rows));
  });
}

void PipelineStages::finish(Cuts& cuts) const {
  cuts.phases = {0};
  cuts.stage_ipu.clear();
  for (std::int64_t i = 0; i < std::ssize(cuts.stages); ++i) cuts.stage_ipu.push_back(i % s_.plan().pipeline_stages);
  cuts.cycles = evaluate(s_, with_cuts(s_.plan(), cuts)).cycles;
}

Setting::Stage together(Setting::Stage x, const Setting::Stage& y) {
  x.forward += y.forward, x.backward += y.backward, x.always += y.always, x.update += y.update, x.ddr += y.ddr,
      x.weights += y.weights;
  x.transient = std::max(x.transient, y.transient);
  x.rows |= y.rows;
  return x;
}

}  // namespace superstep
