// SPDX-License-Identifier: Apache-2.0
#include "model/lower/holdings.h"

#include <algorithm>
#include <set>

#include "model/lower/code_size.h"

namespace superstep {

Holdings::Holdings(const UnitTable& unit_table, const Plan& lowered, const OptimizerSpec& optimizer)
    : table(unit_table),
      plan(lowered),
      spans(stage_spans(plan, static_cast<std::int64_t>(table.units()))),
      state_bytes(state_bytes_per_parameter(optimizer)) {}

std::vector<UnitId> Holdings::units_on(std::int64_t ipu, std::int64_t phase) const {
  std::vector<UnitId> list;
  for_units(ipu, phase, [&](std::size_t u) { list.push_back(UnitId(u)); });
  return list;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Holdings::blocks(const StageSpan& s) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::int64_t u = s.begin; u < s.end; ++u) {
    const bool joins = !out.empty() && (s.recompute == Recompute::stage || same_checkpoint(u - 1, u));
    if (joins)
      out.back().second = u + 1;
    else
      out.push_back({u, u + 1});
  }
  return out;
}

bool Holdings::same_checkpoint(std::int64_t a, std::int64_t b) const {
  const std::int64_t checkpoint = table.checkpoint(static_cast<std::size_t>(a));
  return checkpoint >= 0 && checkpoint == table.checkpoint(static_cast<std::size_t>(b));
}

bool Holdings::borrows(std::size_t unit, std::int64_t ipu, std::int64_t phase) const {
  bool elsewhere = false;
  table.for_holders(static_cast<std::int64_t>(unit), [&](std::int64_t before) {
    const StageSpan& s = span_of(spans, UnitId(static_cast<std::int32_t>(before)));
    elsewhere = s.ipu != ipu || (phase >= 0 && s.phase != phase);
    return elsewhere;
  });
  return elsewhere;
}

Bytes Holdings::sum_of(std::int64_t ipu, std::int64_t phase, Bytes UnitRow::*own, Bytes UnitRow::*borrowed) const {
  Bytes b(0);
  for_units(ipu, phase, [&](std::size_t u) {
    b += table.row(u).*own;
    if (borrowed && borrows(u, ipu, phase)) b += table.row(u).*borrowed;
  });
  return b;
}

Bytes Holdings::weights_of(std::int64_t ipu, std::int64_t phase) const {
  return sum_of(ipu, phase, &UnitRow::weight_bytes, &UnitRow::borrowed_bytes);
}

Bytes Holdings::new_weights_of(std::int64_t ipu, std::int64_t phase) const {
  return sum_of(ipu, phase, &UnitRow::new_weight_bytes, nullptr);
}

Bytes Holdings::weights_tile(std::int64_t ipu, std::int64_t phase) const {
  return sum_of(ipu, phase, &UnitRow::weight_tile, &UnitRow::borrowed_tile);
}

std::int64_t Holdings::parameters_of(std::int64_t ipu, std::int64_t phase, bool with_borrowed) const {
  std::int64_t n = 0;
  for_units(ipu, phase, [&](std::size_t u) {
    n += table.row(u).parameters;
    if (with_borrowed && borrows(u, ipu, phase)) n += table.row(u).borrowed_parameters;
  });
  return n;
}

Bytes Holdings::accumulator_bytes(std::int64_t unit) const {
  const UnitRow& row = table.row(static_cast<std::size_t>(unit));
  return Bytes((row.parameters + row.borrowed_parameters) * size_of(plan.precision.accumulators));
}

Bytes Holdings::stash_boundary(std::int64_t unit, bool tile) const {
  const Boundary& in = table.boundary(static_cast<std::size_t>(unit));
  if (plan.activation_sharding != ActivationSharding::none) return tile ? in.shard_tile : in.shard;
  return tile ? in.tile : in.bytes;
}

std::vector<StashPart> Holdings::stash_parts(const StageSpan& s, bool tile) const {
  std::vector<StashPart> parts;
  if (s.recompute == Recompute::none) {
    parts.push_back({s.begin, StashKind::input, stash_boundary(s.begin, tile)});
    for (std::int64_t u = s.begin; u < s.end; ++u) {
      const Footprint& f = table.row(static_cast<std::size_t>(u)).forward;
      const Bytes kept = f.kept + (u + 1 < s.end ? f.crossing : Bytes(0));
      parts.push_back({u, StashKind::kept, tile ? kept : kept * table.tiles()});
    }
  } else {
    for (const auto& [first, last] : blocks(s)) parts.push_back({first, StashKind::input, stash_boundary(first, tile)});
  }
  for (std::int64_t u = s.begin; u < s.end; ++u) {
    const UnitRow& row = table.row(static_cast<std::size_t>(u));
    parts.push_back({u, StashKind::feed, tile ? row.feed_tile : row.feed_bytes});
  }
  return parts;
}

Bytes Holdings::stash_entry(const StageSpan& s, bool tile) const {
  Bytes b(0);
  for (const StashPart& part : stash_parts(s, tile)) b += part.bytes;
  return b;
}

Bytes Holdings::stored_boundary(std::int64_t unit) const {
  const Boundary& b = table.boundary(static_cast<std::size_t>(unit));
  return plan.activation_sharding != ActivationSharding::none ? b.shard : b.bytes;
}

Residents Holdings::code_of(std::int64_t ipu, std::int64_t phase) const {
  Residents r;
  std::set<std::int32_t> seen;
  VertexSet kinds;
  for_units(ipu, phase, [&](std::size_t u) {
    if (!seen.insert(table.kind(u)).second) return;
    const UnitRow& row = table.row(u);
    kinds |= row.forward.vertices | row.backward.vertices;
    r.exchange_code += row.forward.exchange_code + row.backward.exchange_code;
    if (table.training() && row.parameters > 0) {
      const Footprint& update =
          table.update(u, shard_group(plan, plan.replicated_tensor_sharding.optimizer_state)).footprint;
      kinds |= update.vertices;
      r.exchange_code += update.exchange_code;
    }
  });
  r.vertex_code = vertex_code(kinds);
  r.control_code = table.model().machine().chip.control_code;
  return r;
}

}  // namespace superstep
