// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/phase_sum.h"

#include "model/lower/placement.h"

namespace superstep {

PhaseStage phase_stage(const Setting& s, Range units, Recompute mode, bool first, bool leaves) {
  Setting::Stage x = s.stage(units.begin, units.end, 0, mode, first);
  s.leave_phase(x, units.end, leaves);
  PhaseStage out;
  out.forward = static_cast<double>(x.busy_forward(s.moves_overlap()));
  out.backward = static_cast<double>(x.busy_backward(s.moves_overlap()));
  out.update = static_cast<double>(x.update);
  out.spill = s.plan().phase_order == PhaseOrder::phase_outer ? 0 : s.spill_cycles(x.weights);
  out.copy = first ? 0 : static_cast<double>(s.copy_cycles(units.begin));
  out.code = s.code_moves() ? s.code(x.rows) : 0;
  const Setting::Loads loads = s.loads(x, out.code);
  out.load = static_cast<double>(s.weights_come_ahead() ? loads.ahead : loads.at_once);
  out.code_load = s.weights_come_ahead() ? loads.at_once : loads.ahead;
  out.waiting = s.waiting(x, out.code);
  out.peak = x.always + x.transient + out.code;
  out.ddr = x.ddr;
  out.remote_tile = x.remote_tile;
  out.rows = x.rows;
  return out;
}

void take_off_shared(const Setting& s, const Plan& plan, std::vector<PhaseIpu>& ipus) {
  for (const std::int64_t u : s.table().borrowers()) {
    const std::size_t i = stage_of(plan, u);
    if (!s.borrows(u, plan.stages[i])) continue;
    PhaseIpu& ipu = ipus[static_cast<std::size_t>(plan.stage_ipu[i])];
    s.table().for_holders(u, [&](std::int64_t holder) {
      if (plan.stage_ipu[stage_of(plan, holder)] != plan.stage_ipu[i]) return true;
      ipu.ddr -= s.borrowed_ddr(u);
      ipu.remote_tile -= s.borrowed_remote_tile(u);
      return false;
    });
  }
  const GraphFacts& facts = s.table().facts();
  for (std::size_t k = 0; k < facts.tied.size(); ++k) {
    const Tie tie = place_tie(plan, facts, k);
    if (tie.same_phase && !tie.together)
      ipus[static_cast<std::size_t>(tie.borrower_ipu)].ddr -= s.tied_gradient_ddr(tie.borrower);
  }
}

}  // namespace superstep
