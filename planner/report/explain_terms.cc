// SPDX-License-Identifier: Apache-2.0
#include "planner/report/explain_terms.h"

#include "model/quantity_text.h"

namespace superstep {
namespace {

void add_rows(report::Explanation& out, const TermDef& e, const CostModel& model) {
  for (std::string_view pointer : e.machine_rows) {
    for (const SourcedRow& row : model.machine().rows) {
      if (row.pointer != pointer) continue;
      auto* t = out.add_terms();
      t->set_name(row.pointer);
      t->set_value(row.text);
      t->set_source(row.file + ": " + row.source + (row.conflict.empty() ? "" : "; conflict: " + row.conflict));
    }
  }
  for (std::string_view name : e.calibration_rows) {
    for (const Calibration::Row& row : model.calibration().rows) {
      if (row.name != name) continue;
      auto* t = out.add_terms();
      t->set_name("calibration " + row.name);
      t->set_value(row.text);
      t->set_source(row.source + "; fitted to " + row.fitted_to);
    }
  }
}

report::Explanation* start(report::Index& index, const std::string& name, const std::string& value,
                           const std::string& formula) {
  report::Explanation* x = index.add_explanations();
  x->set_name(name);
  x->set_value(value);
  x->set_formula(formula);
  return x;
}

void term(report::Explanation* x, const std::string& name, const std::string& value, const std::string& source) {
  auto* t = x->add_terms();
  t->set_name(name);
  t->set_value(value);
  t->set_source(source);
}

}  // namespace

void add_explanations(report::Index& index, const Evaluated& e, const UnitTable& table_of) {
  const CostModel& model = table_of.model();
  report::Explanation* step = start(index, "step_time_s", to_text(Seconds(e.step_seconds)), "sum of the waterfall");
  for (const report::WaterfallTerm& w : index.waterfall())
    term(step, w.name(), to_text(Seconds(w.seconds())), "waterfall/" + w.name());
  report::Explanation* rate =
      start(index, "samples_per_second", std::to_string(e.samples_per_second), "global batch / step time");
  term(rate, "global batch", std::to_string(e.plan.global_batch()), "micro-batch x accumulation x replicas");
  term(rate, "step time", to_text(Seconds(e.step_seconds)), "step_time_s");
  for (int i = 0; i < kTerms; ++i) {
    const Term t = static_cast<Term>(i);
    if (e.timeline.step[t] == 0) continue;
    const Cycles cycles(e.timeline.step[t]);
    report::Explanation* x = start(index, "waterfall/" + std::string(name_of(t)), to_text(model.seconds(cycles)),
                                   std::string(def_of(t).formula));
    term(x, "cycles per step on the critical path", with_thousands(cycles.value), "lowered program, timed");
    add_rows(*x, def_of(t), model);
  }
  for (const report::IpuClass& c : index.ipu_classes()) {
    report::Explanation* x = start(index, "memory/" + c.name(), to_text(Bytes(c.tile_peak_bytes())),
                                   "always-live + the peak of what is not, fullest tile");
    for (const report::MemoryCategory& m : c.memory()) {
      term(x, m.name(), to_text(Bytes(m.bytes_per_tile())), m.always_live() ? "always live" : "live at the peak");
    }
    term(x, "limit", to_text(Bytes(c.tile_limit_bytes())), "/chip/tile_memory");
    for (const Calibration::Row& row : model.calibration().rows) {
      const bool fixed = row.name == "memory_band";
      if (fixed || row.name == "temporary_band")
        term(x, fixed ? "+- code" : "+- temporaries", row.text + (fixed ? "" : " of the bound"),
             "half of the 95 % band, " + row.source + "; fitted to " + row.fitted_to);
    }
  }
  report::Explanation* ddr =
      start(index, "ddr_bytes_per_ipu", to_text(Bytes(e.ddr_per_ipu)),
            "streamed weights, gradients, state, stored activations and host buffers of the fullest IPU");
  term(ddr, "limit", to_text(model.machine().streaming_per_ipu()), "/streaming/capacity over /ipus_per_machine");
  const Locations& l = e.plan.location;
  for (const auto& [name, place] : {std::pair{"weights", l.weights},
                                    {"gradients", l.gradients},
                                    {"optimizer_state", l.optimizer_state},
                                    {"activations", l.activations},
                                    {"code", l.code}}) {
    if (place != Location::remote_machine && place != Location::remote_ipu) continue;
    const std::string further = std::to_string(lender_stride(e.plan, place, model.machine().ipus_per_machine));
    const bool tiles = place == Location::remote_ipu;
    term(ddr, std::string(name) + " of IPU i",
         std::string(tiles ? "on the tiles of IPU i + " : "in Streaming Memory of the IPU-Machine of IPU i + ") +
             further + ", in another replica, for which this one keeps as much",
         "plan/location/" + std::string(name));
  }
}

}  // namespace superstep
