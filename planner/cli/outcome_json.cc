// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "planner/cli/outcome.h"
#include "planner/report/waterfall.h"
#include "traces/band.h"
#include "traces/compare.h"

namespace superstep {
namespace {

using nlohmann::json;

json memory_json(const Evaluated& e, const Machine& m) {
  json ipus = json::array();
  for (std::size_t i = 0; i < e.program.ipus(); ++i) {
    const Residents& r = e.timeline.residents[i];
    const Transient& t = e.timeline.transient[i];
    ipus.push_back({{"ipu", i},
                    {"tile_peak_bytes", e.timeline.tile_peak(i).value},
                    {"always_live",
                     {{"weights", r.weights.value},
                      {"gradients", r.gradients.value},
                      {"optimizer_state", r.optimizer_state.value},
                      {"stash", r.stash.value},
                      {"vertex_code", r.vertex_code.value},
                      {"exchange_code", r.exchange_code.value},
                      {"control_code", r.control_code.value},
                      {"io", r.io.value},
                      {"lent", r.lent.value}}},
                    {"not_always_live", {{"activations", t.activations.value}, {"temporaries", t.temporaries.value}}},
                    {"ddr_bytes", e.program.ddr[i].total().value}});
  }
  return {{"tile_peak_bytes", e.tile_peak},
          {"tile_limit_bytes", m.chip.tile_memory.value},
          {"ipu_peak_bytes", e.tile_peak * m.chip.tiles},
          {"ddr_bytes_per_ipu", e.ddr_per_ipu},
          {"ipus", ipus}};
}

json plan_result(const Evaluated& e, const Tables& tables, const SoftwareVerdict& software) {
  json rows = json::array();
  for (const WaterfallRow& w : waterfall(e, tables.model()))
    rows.push_back({{"name", w.name}, {"kind", w.kind}, {"seconds", w.seconds}});
  json collectives = json::array();
  for (const auto& [key, traffic] : e.timeline.collectives) {
    collectives.push_back({{"kind", name_of(key.first)},
                           {"term", name_of(key.second)},
                           {"count", traffic.count},
                           {"bytes", traffic.bytes.value}});
  }
  json j = {{"plan", to_json(e.plan)},
            {"label", e.label},
            {"samples_per_second", e.samples_per_second},
            {"step_time_s", e.step_seconds},
            {"step_time_band_s", {band_of(e.worlds).low, band_of(e.worlds).high}},
            {"global_batch", e.plan.global_batch()},
            {"flop_utilisation", e.flop_utilisation},
            {"fits", e.fits},
            {"memory", memory_json(e, tables.job().machine)},
            {"waterfall", rows},
            {"collectives", collectives},
            {"not_validated", e.not_validated()},
            {"software", software.accepted_by},
            {"fit_probability", e.fit_probability},
            {"evidence", json::array()}};
  for (const Mechanism& m : e.unmeasured)
    j["evidence"].push_back(
        {{"mechanism", m.name}, {"grade", m.grade}, {"relative_band", m.relative_band}, {"why", m.why}});
  if (const double each = tables.job().model.sequences_per_pack; each > 0)
    j["sequences_per_second"] = each * e.samples_per_second;
  if (e.time_to_train > 0) j["time_to_train_s"] = e.time_to_train;
  for (const Overflow& o : e.overflows) j["overflows"].push_back(to_json(o));
  return j;
}

json summary(const Evaluated& e) {
  json j = {{"label", e.label},
            {"plan", to_json(e.plan)},
            {"samples_per_second", e.samples_per_second},
            {"step_time_s", e.step_seconds},
            {"fits", e.fits},
            {"tile_peak_bytes", e.tile_peak},
            {"ipus", e.plan.ipus()},
            {"rated_power_w", e.rated_power}};
  if (e.time_to_train > 0) j["time_to_train_s"] = e.time_to_train;
  return j;
}

}  // namespace

json to_json(const Overflow& o) {
  json parts = json::object();
  for (const auto& [name, bytes] : o.parts) parts[name] = bytes.value;
  json j = {{"constraint", o.constraint},
            {"where", o.where},
            {"bytes_over", o.over.value},
            {"detail", o.detail},
            {"bytes_per_ipu", parts}};
  if (o.ipu >= 0) j["ipu"] = o.ipu;
  if (!o.during.empty()) j.update({{"during", o.during}, {"op", o.op}, {"step", o.step}});
  return j;
}

json to_json(const Outcome& o) {
  json j;
  if (const Evaluated* e = o.shown(); e && (o.estimated || !o.best.empty()))
    j["best"] = plan_result(*e, *o.tables, o.software);
  if (o.fastest) {
    const SoftwareVerdict software = judge(o.job(), o.fastest->plan, o.tables->facts(o.fastest->plan.micro_batch));
    j["fastest_by_model"] = plan_result(*o.fastest, *o.tables, software);
    j["fastest_by_model"]["probability_faster"] = probability_better(o.job().goal, *o.fastest, o.best[0]);
  }
  j["runners_up"] = json::array();
  for (std::size_t i = 1; i < o.best.size(); ++i) {
    j["runners_up"].push_back(summary(o.best[i]));
    const double sure = probability_better(o.job().goal, o.best[0], o.best[i]);
    j["runners_up"].back().update({{"probability_best_is_faster", sure}, {"tie", sure < kSure}});
  }
  j["pareto"] = json::array();
  for (const Evaluated& e : o.pareto) j["pareto"].push_back(summary(e));
  const SearchStats& s = o.search.stats;
  j["search"] = {{"explored", s.explored},           {"pruned", s.pruned},           {"feasible", s.feasible},
                 {"evaluations", s.evaluations},     {"programmes", s.programmes},   {"seconds", s.seconds},
                 {"table_seconds", s.table_seconds}, {"optimal", s.optimal},         {"gap", s.gap},
                 {"kinds_left", s.kinds_left},       {"points_left", s.points_left}, {"stopped", s.stopped},
                 {"proof_seconds", s.proof_seconds}};
  j["space"] = json::object();
  for (const SpaceField& f : o.space) j["space"][f.name] = f.values;
  if (o.best.empty() && !o.estimated) {
    j["infeasible"] = o.search.overflows.empty() ? json::object() : to_json(o.search.overflows.front());
    j["infeasible"]["nearest_fix"] = o.search.nearest_fix;
    for (const Overflow& other : o.search.overflows) j["infeasible"]["all"].push_back(to_json(other));
    if (o.closest) j["closest"] = plan_result(*o.closest, *o.tables, o.software);
  }
  j["notes"] = o.notes;
  return j;
}

}  // namespace superstep
