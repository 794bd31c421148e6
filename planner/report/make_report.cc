// SPDX-License-Identifier: Apache-2.0
#include "planner/report/make_report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "model/quantity_text.h"
#include "planner/report/efficiency.h"
#include "planner/report/explain_terms.h"
#include "planner/report/report_bands.h"
#include "planner/report/report_columns.h"
#include "planner/report/search_columns.h"
#include "planner/report/sensitive_numbers.h"
#include "planner/report/waterfall.h"
#include "planner/space/software_facts.h"
#include "traces/text_table.h"
#include "traces/verdict.h"

namespace superstep {
namespace {

// Returns the units of an IPU group as text: "embedding, layers 0 to 6, head".
std::string contents_of(const UnitTable& table, const Plan& plan, std::int64_t ipu) {
  const Graph& g = table.facts().graph;
  std::vector<std::string> parts;
  std::int64_t first = -1, last = -1;
  auto flush = [&] {
    if (first < 0) return;
    parts.push_back(first == last ? "layer " + std::to_string(first)
                                  : "layers " + std::to_string(first) + " to " + std::to_string(last));
    first = -1;
  };
  std::set<std::int64_t> seen;
  for (const StageSpan& s : stage_spans(plan, static_cast<std::int64_t>(table.units()))) {
    if (s.ipu != ipu) continue;
    for (std::int64_t u = s.begin; u < s.end; ++u) {
      const Unit& unit = g.units[UnitId(static_cast<std::int32_t>(u))];
      if (unit.layer < 0) {
        flush();
        parts.push_back(unit.name);
      } else if (first >= 0 && unit.layer <= last + 1) {
        last = unit.layer;
      } else {
        flush();
        first = last = unit.layer;
      }
    }
  }
  flush();
  if (parts.size() > 4)
    return parts.front() + ", ... " + parts.back() + " (" + std::to_string(plan.phases.size()) + " phases)";
  std::string text;
  for (const std::string& p : parts) text += (text.empty() ? "" : ", ") + p;
  return text;
}

std::string overflow_text(const Overflow& o) {
  return o.constraint + " on " + o.where + ": over by " + to_text(o.over) + " (" + o.detail + ")";
}

void add_software(const SoftwareVerdict& verdict, report::PlanSummary& out) {
  for (const std::string& name : verdict.accepted_by) out.add_software(software(name).title);
  if (verdict.accepted_by.empty() && verdict.broken)
    out.set_software_refusal(verdict.broken_by + " comes nearest: " + to_text(*verdict.broken));
}

report::PlanSummary summary_of(const Evaluated& e, const CostModel& model) {
  const Machine& m = model.machine();
  report::PlanSummary s;
  s.set_label(e.label);
  s.set_plan_json(to_json(e.plan).dump());
  s.set_samples_per_second(e.samples_per_second);
  s.set_step_time_s(e.step_seconds);
  s.set_global_batch(e.plan.global_batch());
  s.set_fits(e.fits);
  s.set_tile_peak_bytes(e.tile_peak);
  s.set_tile_limit_bytes(m.chip.tile_memory.value);
  s.set_ipu_peak_bytes(e.tile_peak * m.chip.tiles);
  s.set_ddr_bytes_per_ipu(e.ddr_per_ipu);
  s.set_flop_utilisation(e.flop_utilisation);
  s.set_ipus(e.plan.ipus());
  s.set_fit_probability(e.fit_probability);
  std::string overflows;
  for (const Overflow& o : e.overflows) overflows += (overflows.empty() ? "" : "; ") + overflow_text(o);
  s.set_first_overflow(overflows);
  for (const std::string& n : e.not_validated()) s.add_not_validated(n);
  for (double seconds : e.worlds) s.add_step_time_in_worlds_s(seconds);
  s.set_rated_power_w(e.rated_power);
  s.set_time_to_train_s(e.time_to_train);
  return s;
}

void add_ipus(report::Index& index, const Evaluated& e, const UnitTable& table) {
  const Machine& m = table.model().machine();
  for (std::size_t i = 0; i < e.program.ipus(); ++i) {
    const Residents& r = e.timeline.residents[i];
    const Transient& t = e.timeline.transient[i];
    report::IpuClass* c = index.add_ipu_classes();
    c->set_name("IPU " + std::to_string(i));
    c->set_contents(contents_of(table, e.plan, static_cast<std::int64_t>(i)));
    c->set_count(e.plan.tensor_parallel.size() * e.plan.replicas);
    const std::vector<std::tuple<const char*, bool, Bytes>> categories = {{"weights", true, r.weights},
                                                                          {"gradients", true, r.gradients},
                                                                          {"vertex code", true, r.vertex_code},
                                                                          {"exchange code", true, r.exchange_code},
                                                                          {"control code", true, r.control_code},
                                                                          {"IO", true, r.io},
                                                                          {"lent", true, r.lent},
                                                                          {"stash", true, r.stash},
                                                                          {"optimizer state", true, r.optimizer_state},
                                                                          {"activations", false, t.activations},
                                                                          {"temporaries", false, t.temporaries}};
    static const std::set<std::string_view> of_training = {"gradients", "optimizer state"};
    for (const auto& [name, always, bytes] : categories) {
      if (!table.training() && of_training.count(name) > 0) continue;
      report::MemoryCategory* mc = c->add_memory();
      mc->set_name(name);
      mc->set_always_live(always);
      mc->set_bytes_per_tile(bytes.value);
    }
    c->set_tile_peak_bytes(e.timeline.tile_peak(i).value);
    if (e.tile_peak_band > 0) c->set_tile_peak_error_bytes(e.tile_peak_band);
    c->set_tile_limit_bytes(m.chip.tile_memory.value);
    c->set_executable_bytes(e.program.executable(i).value);
    c->set_executable_limit_bytes(m.chip.executable_memory.value);
    c->set_ddr_bytes(e.program.ddr[i].total().value);
    c->set_ddr_limit_bytes(m.streaming_per_ipu().value);
    c->set_busy_s(table.model().seconds(e.timeline.busy[i]).value);
    c->set_peak_step(-1);  // set by add_columns()
    c->set_peak_phase(-1);
  }
}

void add_facts(report::Index& index, Tables& tables, const Evaluated& e) {
  const Job& job = tables.job();
  const Graph& g = tables.table(table_key(e.plan)).facts().graph;
  auto fact = [&](const std::string& name, const std::string& value) {
    report::Fact* f = index.add_facts();
    f->set_name(name);
    f->set_value(value);
  };
  fact("model", job.model.name() + ", " + with_thousands(g.parameters()) + " parameters");
  fact("machine", job.machine.title);
  fact("task", job.task == Task::training ? "training, " + job.optimizer.kind : "inference");
  if (job.model.zoo) {
    if (const auto* spec = std::get_if<TransformerSpec>(&*job.model.zoo))
      fact("sequence length", std::to_string(spec->sequence_length));
    if (const nlohmann::json numbers = numbers_of(*job.model.zoo); numbers.contains("image_size"))
      fact("image size", std::to_string(numbers["image_size"].get<std::int64_t>()));
  }
  if (const double each = job.model.sequences_per_pack; each > 0)
    fact("samples", "packs of " + figure(each) + " sequences: " + figure(each * e.samples_per_second) + " sequences/s");
  else if (job.model.packed)
    fact("samples", "packs of sequences");
  if (e.time_to_train > 0) {
    fact("time to train", to_text(Seconds(e.time_to_train)));
    fact("training", with_thousands(job.goal.samples) + " samples");
  }
  std::string exchanges;
  for (const auto& [key, traffic] : e.timeline.collectives) {
    if (key.second != Term::tensor_collective) continue;
    exchanges += (exchanges.empty() ? "" : ", ") + with_thousands(traffic.count) + " x " +
                 std::string(name_of(key.first)) + " (" + to_text(traffic.bytes) + ")";
  }
  if (!exchanges.empty()) fact("tensor-parallel collectives per IPU and step", exchanges);
}

void add_search(report::Index& index, const SearchResult& s) {
  report::SearchSummary* out = index.mutable_search();
  out->set_explored(s.stats.explored);
  out->set_pruned(s.stats.pruned);
  out->set_feasible(s.stats.feasible);
  out->set_evaluations(s.stats.evaluations);
  out->set_programmes(s.stats.programmes);
  out->set_candidates(std::ssize(s.candidates));
  out->set_seconds(s.stats.seconds);
  out->set_table_seconds(s.stats.table_seconds);
  out->set_proof_seconds(s.stats.proof_seconds);
  out->set_optimal(s.stats.optimal);
  out->set_gap(s.stats.gap);
  if (!s.best.empty() || s.overflows.empty()) return;
  const Overflow& worst = s.overflows.front();
  report::Infeasible* none = index.mutable_infeasible();
  none->set_constraint(worst.constraint);
  const bool both = !worst.where.empty() && !worst.detail.empty();
  none->set_where(worst.where + (both ? ": " : "") + worst.detail);
  none->set_bytes_over(worst.over.value);
  none->set_nearest_fix(s.nearest_fix);
}

void add_efficiency(report::Index& index, const Evaluated& e, Tables& tables) {
  for (const EfficiencyRow& row : efficiency_rows(e, tables)) {
    report::EfficiencyRow* out = index.add_efficiency();
    out->set_unit(row.unit);
    out->set_op(row.op);
    out->set_calls(row.calls);
    out->set_product(row.product);
    out->set_share(row.share);
    out->set_tiles(row.tiles);
    out->set_amp_efficiency(row.amp_efficiency);
    out->set_useful_seconds(row.useful_seconds);
    out->set_seconds(row.seconds);
  }
  for (const PlanChange& change : helpful_changes(e, tables)) {
    report::PlanChange* out = index.add_helpful_changes();
    out->set_field(change.field);
    out->set_from(change.from);
    out->set_to(change.to);
    out->set_step_time_s(change.step_seconds);
    out->set_fits(change.fits);
    out->set_overflow(change.overflow);
  }
}

std::string_view work_of(const Node& n, const Program& program) {
  static constexpr std::string_view kPasses[] = {"forward", "backward", "update"};
  if (n.kind == Node::Kind::step) return text_of(n.step.kind);
  if (n.kind != Node::Kind::call) return "";
  return n.recompute ? "recompute" : kPasses[static_cast<std::size_t>(program.functions[n.function].pass)];
}

// Returns the pipeline lag of a node in micro-batches. A call has its own lag. A step has the lag of the call that it
// serves: the next call, else the call before, if the step moves the call's tensors. Otherwise, as in a sequence of
// streams, all calls of the IPU are of one stage. Then any call's lag will do; `else_lag` if there is no call.
std::int64_t lag_of(const std::vector<Node>& siblings, std::size_t at, std::int64_t else_lag) {
  if (siblings[at].kind != Node::Kind::step) return siblings[at].lag;
  const auto is_call = [](const Node& n) { return n.kind == Node::Kind::call; };
  const auto here = siblings.begin() + static_cast<std::ptrdiff_t>(at);
  const auto next = std::find_if(here, siblings.end(), is_call);
  const auto before = std::find_if(std::make_reverse_iterator(here), siblings.rend(), is_call);
  const auto serves = [&](const Node& call) {
    const auto& units = siblings[at].step.units;
    return std::find(units.begin(), units.end(), call.unit) != units.end();
  };
  if (next != siblings.end() && serves(*next)) return next->lag;
  if (before != siblings.rend() && serves(*before)) return before->lag;
  return next != siblings.end() ? next->lag : before != siblings.rend() ? before->lag : else_lag;
}

// Returns the lag of the first call below the node; -1: no call.
std::int64_t first_lag(const Node& n) {
  if (n.kind == Node::Kind::call) return n.lag;
  for (const Node& c : n.children) {
    if (const std::int64_t lag = first_lag(c); lag >= 0) return lag;
  }
  return -1;
}

// Converts a node of the program. `lag` is the lag of the first call on the node's IPU; -1: the node runs on all IPUs.
report::ProgramNode node_of(const Node& n, const Program& program, const CostModel& model, std::int64_t lag = -1) {
  static constexpr const char* kKinds[] = {"sequence", "repeat", "parallel", "call", "step"};
  if (n.ipu >= 0 && lag < 0) lag = first_lag(n);
  report::ProgramNode out;
  out.set_name(n.name);
  out.set_kind(kKinds[static_cast<std::size_t>(n.kind)]);
  out.set_count(n.kind == Node::Kind::repeat ? n.count : 1);
  out.set_micro_batches(n.kind == Node::Kind::repeat ? n.micro_batches : 0);
  out.set_function(n.kind == Node::Kind::call ? n.function.index : -1);
  out.set_ipu_class(n.ipu);
  out.set_work(std::string(work_of(n, program)));
  out.set_phase(n.phase + 1);
  if (n.kind == Node::Kind::step) out.set_bytes((n.step.tile_bytes * n.step.times).value);
  std::int64_t cycles = 0;
  for (std::size_t i = 0; i < n.children.size(); ++i) {
    *out.add_children() = node_of(n.children[i], program, model, lag);
    report::ProgramNode& child = *out.mutable_children(out.children_size() - 1);
    if (lag >= 0) child.set_lag(lag_of(n.children, i, lag));
    const std::int64_t whole = child.cycles() * child.count();
    cycles = n.kind == Node::Kind::parallel ? std::max(cycles, whole) : cycles + whole;
  }
  if (n.kind == Node::Kind::call) cycles = model.function(program.functions[n.function]).total().value;
  if (n.kind == Node::Kind::step) cycles = model.step(n.step).total().value;
  out.set_cycles(cycles);
  return out;
}

// Returns the program of the whole step. Host input that the program does not hide comes first, as a step of its own.
report::ProgramNode program_of(const Evaluated& e, const CostModel& model) {
  report::ProgramNode root = node_of(e.program.root, e.program, model);
  const std::int64_t unhidden = e.timeline.step.total().value - root.cycles();
  if (unhidden == 0) return root;
  report::ProgramNode wait;
  wait.set_name("host input and output that nothing hides");
  wait.set_kind("step");
  wait.set_count(1);
  wait.set_function(-1), wait.set_ipu_class(-1);
  wait.set_cycles(unhidden);
  wait.set_work(std::string(text_of(StepKind::host)));
  *root.add_children() = wait;
  std::rotate(root.mutable_children()->pointer_begin(), root.mutable_children()->pointer_end() - 1,
              root.mutable_children()->pointer_end());
  root.set_cycles(root.cycles() + unhidden);
  return root;
}

// Adds the machine numbers that sensitivities vary, so that all questions about a machine share one list.
void add_machine_numbers(report::Index& index, const Machine& machine) {
  for (const std::string& pointer : sensitive_numbers(machine)) {
    for (const SourcedRow& row : machine.rows) {
      if (row.pointer != pointer) continue;
      report::Fact* number = index.add_machine_numbers();
      number->set_name(row.pointer);
      number->set_value(row.text);
    }
  }
}

}  // namespace

report::Index make_index(Tables& tables, const ReportParts& parts) {
  const Job& job = tables.job();
  report::Index index;
  index.set_created_by("superstep 0.1.0");
  index.set_title(job.model.name() + ", " + job.machine.title + ", " +
                  (job.task == Task::training ? "training" : "inference"));
  index.set_job_json(parts.job_json.empty() ? job.json().dump() : parts.job_json);
  index.set_machine_name(job.machine.name);
  index.set_machine_title(job.machine.title);
  index.set_model_name(job.model.name());
  index.set_clock_hz(job.machine.chip.clock.value);
  index.set_tiles_per_ipu(job.machine.chip.tiles);
  if (parts.search) add_search(index, *parts.search);
  for (const Evaluated* e : parts.runners_up) *index.add_runners_up() = summary_of(*e, tables.model());
  for (const Evaluated* e : parts.pareto) *index.add_pareto() = summary_of(*e, tables.model());
  for (const Measure m : job.pareto) index.add_pareto_measures(std::string(name_of(m)));
  for (const std::string& n : parts.notes) index.add_notes(n);
  add_machine_numbers(index, job.machine);
  if (!parts.shown) return index;
  const Chip& chip = job.machine.chip;
  index.set_streaming_bytes_per_s(tables.model().streaming_rate(Location::streaming, 1).value);
  index.set_exchange_bytes_per_s(static_cast<double>(parts.shown->program.compute_tiles) *
                                 std::max(chip.exchange.receive.value, chip.exchange.paired_receive.value) *
                                 chip.clock.value);
  const Evaluated& e = *parts.shown;
  const UnitTable& table = tables.table(table_key(e.plan));
  *index.mutable_plan() = summary_of(e, tables.model());
  index.mutable_plan()->set_bet(parts.bet);
  add_software(judge(job, e.plan, tables.facts(e.plan.micro_batch)), *index.mutable_plan());
  add_facts(index, tables, e);
  for (const WaterfallRow& w : waterfall(e, tables.model())) {
    report::WaterfallTerm* t = index.add_waterfall();
    t->set_name(w.name);
    t->set_kind(w.kind);
    t->set_seconds(w.seconds);
    t->set_explanation(w.explanation);
  }
  add_ipus(index, e, table);
  add_explanations(index, e, table);
  *index.mutable_program() = program_of(e, tables.model());
  return index;
}

void write_report(Tables& tables, const ReportParts& parts, const std::string& path) {
  report::Index index = make_index(tables, parts);
  if (parts.shown) add_efficiency(index, *parts.shown, tables);
  ReportWriter writer;
  if (parts.shown)
    add_columns(writer, index, *parts.shown, tables.table(table_key(parts.shown->plan)), tables.job().optimizer);
  if (parts.shown) add_bands(index, *parts.shown, tables);
  if (parts.search) add_search_columns(writer, *parts.search, tables.job().machine);
  writer.finish(std::move(index), path);
}

}  // namespace superstep
