// SPDX-License-Identifier: Apache-2.0
#include "planner/evaluate.h"

#include <algorithm>

namespace superstep {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// What evaluate() adds up per IPU group.
struct PerIpu {
  std::int64_t forward = 0, backward = 0, always = 0, transient = 0, update = 0, ddr = 0, lent = 0, weights = 0;
  std::int64_t peak = 0, code = 0;  // phases: the fullest, and the most code that comes with one
  std::uint64_t rows = 0;
};

Recompute mode_of(const Plan& plan, std::size_t stage) {
  return plan.recompute[std::min(stage, plan.recompute.size() - 1)];
}

std::int64_t stage_end(const Setting& s, const Plan& plan, std::size_t stage) {
  return stage + 1 < plan.stages.size() ? plan.stages[stage + 1] : s.units();
}

Estimate evaluate_pipeline(const Setting& s, const Plan& plan) {
  thread_local std::vector<PerIpu> ipus;
  ipus.assign(at(plan.pipeline_stages), {});
  const std::size_t stages = plan.stages.size();
  const auto last = static_cast<std::int64_t>(stages) - 1;
  std::int64_t serial = 0, widest = 0, copies = 0;
  for (std::size_t i = 0; i < stages; ++i) {
    Range other{};
    for (std::size_t k = 0; k < stages && stages > at(plan.pipeline_stages); ++k) {
      if (k != i && plan.stage_ipu[k] == plan.stage_ipu[i]) other = {plan.stages[k], stage_end(s, plan, k)};
    }
    const Setting::Stage x = s.stage(plan.stages[i], stage_end(s, plan, i), last - static_cast<std::int64_t>(i),
                                     mode_of(plan, i), true, other);
    PerIpu& ipu = ipus[at(plan.stage_ipu[i])];
    ipu.forward += x.forward;
    ipu.backward += x.backward;
    ipu.always += x.always;
    ipu.transient = std::max(ipu.transient, x.transient);
    ipu.update += x.update;
    ipu.ddr += x.ddr;
    ipu.weights += x.weights;
    ipu.rows |= x.rows;
    serial += x.forward + x.backward;
    if (i > 0 && plan.stage_ipu[i] != plan.stage_ipu[i - 1]) {
      widest = std::max(widest, s.copy_cycles(plan.stages[i]));
      copies += s.copy_cycles(plan.stages[i]);
    }
  }
  const bool training = s.table().training(), serially = plan.schedule == Schedule::sequential || last == 0;
  Estimate e;
  std::int64_t forward = 0, backward = 0, both = 0, update = 0, weights = 0;
  for (const PerIpu& ipu : ipus) {
    forward = std::max(forward, ipu.forward);
    backward = std::max(backward, ipu.backward);
    both = std::max(both, ipu.forward + ipu.backward);
    update = std::max(update, ipu.update);
    weights = std::max(weights, ipu.weights);
    const std::int64_t code = s.code(ipu.rows);
    e.executable = std::max(e.executable, code);
    e.tile_peak = std::max(e.tile_peak, ipu.always + ipu.transient + code);
    e.ddr = std::max(e.ddr, ipu.ddr);
  }
  std::int64_t cycle = serially ? serial : plan.schedule == Schedule::interleaved ? forward + backward : both;
  cycle += serially ? copies * (training ? 2 : 1) : widest;
  cycle += s.micro_batch_fixed() + (last > 0 ? s.cycle_fixed() : 0);
  const std::int64_t drain = serially ? 0 : training ? 2 * last : last;
  e.cycles = (plan.gradient_accumulation + drain) * cycle + s.whole_weights_cycles(weights) +
             (training ? update + s.update_fixed() : 0);
  return e;
}

// Weights that stage i borrows from another phase on its own IPU stand outside of it once.
std::int64_t lent_elsewhere(const Setting& s, const Plan& plan, std::size_t i,
                            std::int64_t (Setting::*borrowed)(std::int64_t) const) {
  std::int64_t bytes = 0;
  const std::int64_t begin = plan.stages[i], end = stage_end(s, plan, i);
  for (std::int64_t u = begin; u < end; ++u) {
    const std::int64_t lender = s.lender(u);
    if (lender < 0 || (lender >= begin && lender < end)) continue;
    const auto at_lender = std::upper_bound(plan.stages.begin(), plan.stages.end(), lender) - plan.stages.begin() - 1;
    if (plan.stage_ipu[at(at_lender)] == plan.stage_ipu[i]) bytes += (s.*borrowed)(u);
  }
  return bytes;
}

Estimate evaluate_phases(const Setting& s, const Plan& plan) {
  thread_local std::vector<PerIpu> ipus;
  ipus.assign(at(plan.pipeline_stages), {});
  const bool training = s.table().training(), overlap = s.moves_overlap(), preload = s.overlapped();
  const std::int64_t g = plan.phase_order == PhaseOrder::phase_outer ? plan.gradient_accumulation : 1;
  const std::size_t phases = plan.phases.size();
  std::int64_t total = 0, before = 0;
  Estimate e;
  std::int64_t previous_backward = 0;
  for (std::size_t j = 0; j < phases; ++j) {
    const std::size_t first = at(plan.phases[j]), end = j + 1 < phases ? at(plan.phases[j + 1]) : plan.stages.size();
    const auto depth = static_cast<std::int64_t>(end - first);
    std::int64_t forward = 0, backward = 0, widest = 0, load = 0, update = 0, spill = 0;
    for (std::size_t i = first; i < end; ++i) {
      Setting::Stage x = s.stage(plan.stages[i], stage_end(s, plan, i), static_cast<std::int64_t>(end - 1 - i),
                                 mode_of(plan, i), i == first);
      s.leave_phase(x, stage_end(s, plan, i), i + 1 == end && j + 1 < phases);
      forward = std::max(forward, x.busy_forward(overlap));
      backward = std::max(backward, x.busy_backward(overlap));
      load = std::max(load, s.load_cycles(x));
      update = std::max(update, x.update);
      if (plan.phase_order != PhaseOrder::phase_outer) spill = std::max(spill, s.spill_cycles(x.weights));
      if (i > first) widest = std::max(widest, s.copy_cycles(plan.stages[i]));
      PerIpu& ipu = ipus[at(plan.stage_ipu[i])];
      const std::int64_t own_code = s.code_moves() ? s.code(x.rows) : 0;
      ipu.peak = std::max(ipu.peak, x.always + x.transient + own_code);
      ipu.code = std::max(ipu.code, own_code);
      ipu.ddr += x.ddr - lent_elsewhere(s, plan, i, &Setting::borrowed_ddr);
      ipu.lent += x.lent - lent_elsewhere(s, plan, i, &Setting::borrowed_lent);
      ipu.rows |= x.rows;
    }
    const std::int64_t per_cycle = widest + s.micro_batch_fixed() + (depth > 1 ? s.cycle_fixed() : 0);
    const std::int64_t work_forward = (g + depth - 1) * (forward + per_cycle),
                       work_backward = (g + depth - 1) * (backward + per_cycle);
    // Loads hide behind the neighbouring phase, or stand alone; the last phase stays for its backward.
    if (preload) {
      if (j == 0)
        e.cycles += load;  // once: the first phase is still there when the next micro-batch begins
      else
        total += std::max(before, load);
      if (training && j > 0) total += std::max(work_backward, previous_backward);
    } else {
      total += load + work_forward;
      if (training) total += work_backward + (j + 1 < phases ? load : 0);
    }
    if (training) total += plan.phase_order == PhaseOrder::phase_outer ? update + s.update_fixed() : spill;
    if (training && plan.phase_order != PhaseOrder::phase_outer) e.cycles += update + s.update_fixed();
    before = work_forward;
    previous_backward = load;
    if (preload && j + 1 == phases) total += work_forward;
    if (preload && training && j == 0) total += work_backward;
  }
  if (plan.phase_order != PhaseOrder::phase_outer) total *= plan.gradient_accumulation;
  e.cycles += total;
  for (const auto& [owner, borrower] : s.table().facts().tied) {
    const Tie tie = place_tie(plan, owner, borrower);  // in one phase they are copied, not stored
    if (tie.same_phase && !tie.together()) ipus[at(tie.borrower_ipu)].ddr -= s.tied_gradient_ddr(borrower);
  }
  for (const PerIpu& ipu : ipus) {
    const std::int64_t shared_code = s.code_moves() ? 0 : s.code(ipu.rows);  // stays through all phases
    e.executable = std::max(e.executable, ipu.code + shared_code);
    e.tile_peak = std::max(e.tile_peak, ipu.peak + ceil_div(ipu.lent, s.lending_tiles()) + shared_code);
    e.ddr = std::max(e.ddr, ipu.ddr);
  }
  return e;
}

}  // namespace

Estimate evaluate(const Setting& setting, const Plan& plan) {
  Estimate e = plan.phased() ? evaluate_phases(setting, plan) : evaluate_pipeline(setting, plan);
  for (const auto& [owner, borrower] : setting.table().facts().tied)
    e.cycles += setting.tied_cycles(place_tie(plan, owner, borrower));
  e.cycles = setting.with_host(e.cycles, plan.gradient_accumulation);
  return e;
}

}  // namespace superstep
