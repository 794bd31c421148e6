// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/setting.h"

#include <bit>

#include "model/hash.h"
#include "model/lower/code_size.h"

namespace superstep {
std::size_t Setting::hash() const {
  std::uint64_t h = 0;
  for (const UnitNumbers& u : unit_) {
    for (const std::int64_t n : {u.forward, u.backward, u.move, u.resident, u.weights, u.ddr, u.update})
      h = mix(h, static_cast<std::uint64_t>(n));
  }
  return h;
}

Bytes Setting::least_temporary_cap() const {
  const Chip& chip = table_->model().machine().chip;
  const std::optional<Proportion>& least = table_->key().least_proportion;
  return least ? cap_of(least->share, chip) : plan_.temporary_cap(chip);
}

std::int64_t Setting::work(std::int64_t begin, std::int64_t end) const {
  std::int64_t work = 0;
  for (std::int64_t u = begin; u < end; ++u) {
    const UnitNumbers& p = at(u);
    work += p.forward + p.host + (training_ ? p.backward + (phased_ ? p.again : 0) : 0);
  }
  return work;
}

std::int64_t Setting::moved(std::int64_t bytes, double rate) const {
  if (rate == 0 || bytes == 0) return 0;
  return table_->model().cycles(transfer_time(Bytes(bytes), BytesPerSecond(rate))).value;
}

std::int64_t Setting::tied_cycles(const Tie& tie) const {
  if (!training_ || tie.together) return 0;
  const CostModel& m = table_->model();
  const std::int64_t stage = plan_.strides().stage;
  const GroupShape mesh = mesh_of(plan_);
  const UnitRow& borrower = table_->row(static_cast<std::size_t>(tie.borrower));
  const Bytes gradient(ceil_div(borrower.borrowed_parameters * size_of(plan_.precision.accumulators), spill_shards_));
  std::int64_t cycles =
      tie.same_phase ? m.copy(gradient, stage, mesh).value : 2 * m.streaming(gradient, Location::streaming, 1).value;
  if (tie.owner_ipu == tie.borrower_ipu) return cycles;
  const Bytes weight(ceil_div(borrower.borrowed_bytes.value, weight_shards_));
  cycles += m.copy(weight, stage, mesh).value;
  return cycles + moved(weight.value, new_weights_rate_);
}

Setting::Loads Setting::loads(const Stage& s, std::int64_t code) const {
  Loads loads;
  (weights_ahead_ ? loads.ahead : loads.at_once) += load_.of(s.weights);
  if (code_moves()) (code_ahead_ ? loads.ahead : loads.at_once) += moved(code * tiles_, code_rate_);
  return loads;
}

std::int64_t Setting::weight_load_cycles(std::int64_t weight_bytes) const {
  return moved(ceil_div(weight_bytes, weight_shards_), weights_rate_);
}

std::int64_t Setting::code(std::uint64_t rows) const {
  std::int64_t bytes = table_->model().machine().chip.control_code.value;
  VertexSet kinds;
  for (std::uint64_t left = rows; left != 0; left &= left - 1) {
    const CodeOfRow& row = code_of_row_[static_cast<std::size_t>(std::countr_zero(left))];
    bytes += row.exchange;
    kinds |= row.vertices;
  }
  return bytes + vertex_code(kinds).value;
}

void Setting::leave_phase(Stage& s, std::int64_t end, bool more_phases) const {
  if (!more_phases) return;
  const UnitNumbers& out = at(end);
  s.move_forward += out.move;
  if (training_) s.move_backward += out.move + out.join;
}

PhaseNumbers::Unit Setting::phase_unit(std::int64_t unit, bool first) const {
  const UnitNumbers& p = at(unit);
  PhaseNumbers::Unit out;
  out.resident = p.resident;
  out.forward = p.forward + p.host;
  out.backward = training_ ? p.backward + p.again : 0;
  out.enter_forward = p.move + p.join;
  out.enter_backward = (first ? 1 : 2) * p.move + p.join;
  out.leave_forward = p.move;
  out.leave_backward = p.move + p.join;
  out.update = p.update;
  out.load = static_cast<std::int64_t>(load_.per_byte * static_cast<double>(p.weights));
  return out;
}

std::int64_t Setting::waiting(const Stage& stage, std::int64_t code) const {
  if (!preloads()) return 0;
  const std::int64_t weights = weights_wait_ ? ceil_div(stage.weights, weight_shards_) : 0;
  const std::int64_t moved_code = code_waits_ && (code_ddr_ || code_remote_tile_) ? code * tiles_ : 0;
  return ceil_div(weights + moved_code, plan_.io_tiles);
}

std::int64_t Setting::spill_cycles(std::int64_t weight_bytes) const {
  const std::int64_t accumulators =
      weight_bytes / size_of(plan_.precision.weights) * size_of(plan_.precision.accumulators);
  return scatter_.of(accumulators) + 2 * moved(ceil_div(accumulators, spill_shards_), spill_rate_);
}

std::int64_t Setting::host_bytes() const {
  std::int64_t bytes = 0;
  for (std::int64_t u = 0; u < n_; ++u) bytes += at(u).host_ipu;
  return bytes;
}

std::int64_t Setting::with_host(std::int64_t cycles, std::int64_t micro_batches, std::int64_t hosted) const {
  const Bytes bytes(hosted * micro_batches);
  const CostModel& model = table_->model();
  const Hosted moved{bytes.value, plan_.io_tiles > 0 ? bytes.value : 0};
  return cycles + moved.wait(Cycles(cycles), plan_.pipeline_stages, model).value;
}

}  // namespace superstep
