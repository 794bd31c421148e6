// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/outcome.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "model/parallel.h"
#include "model/quantity_text.h"
#include "planner/cuts/search_budget.h"
#include "planner/infeasible/explain_infeasible.h"
#include "planner/infeasible/legal_changes.h"
#include "planner/job/partitions.h"
#include "planner/job/pins.h"
#include "planner/job/tell_apart.h"
#include "planner/report/evaluated.h"
#include "planner/report/idle_numbers.h"
#include "planner/report/weight_gathers.h"
#include "planner/search/front.h"
#include "planner/search/part_search.h"
#include "planner/space/job_parts.h"
#include "planner/space/setting_space.h"
#include "planner/space/space.h"
#include "planner/sweep/plan_job.h"
#include "planner/validate/published.h"
#include "planner/validate/recommend.h"
#include "traces/band.h"
#include "traces/compare.h"

namespace superstep {
namespace {

// Lowers and times plans in full, in parallel. Draws their worlds if `drawn`.
std::vector<Evaluated> in_full(Tables& tables, const std::vector<Candidate>& candidates, bool drawn, int threads) {
  std::vector<Evaluated> out(candidates.size());
  parallel_for(out.size(), threads, [&](std::size_t i) {
    out[i] = evaluate_in_full(tables, candidates[i].plan);
    if (drawn) draw_worlds(tables, out[i]);
  });
  return out;
}

// Lowers and times the best plans, and sorts them by full times, which may differ from the tables' order. A best plan
// that does not fit when lowered is an internal error.
void lower_best(Outcome& o, int threads) {
  o.best = in_full(*o.tables, o.search.best, true, threads);
  for (const Evaluated& e : o.best) {
    if (!e.overflows.empty())
      o.notes.push_back("internal: " + label(e.plan) + " fits by the tables but not lowered; please report");
  }
  const std::string first = o.best.empty() ? "" : label(o.best[0].plan);
  std::stable_sort(o.best.begin(), o.best.end(),
                   [](const Evaluated& a, const Evaluated& b) { return a.score > b.score; });
  if (!o.best.empty() && label(o.best[0].plan) != first)
    o.notes.push_back("timed in full, " + label(o.best[0].plan) + " overtakes " + first +
                      ", which the tables had first");
  o.pareto = in_full(*o.tables, o.search.pareto, false, threads);
  if (o.search.fastest) {
    o.fastest = evaluate_in_full(*o.tables, o.search.fastest->plan);
    draw_worlds(*o.tables, *o.fastest);
  }
  if (!o.search.closest) return;
  o.closest = evaluate_in_full(*o.tables, *o.search.closest);
  draw_worlds(*o.tables, *o.closest);
}

void make_labels_distinct(std::vector<Evaluated>& list) {
  std::vector<const Plan*> plans;
  for (const Evaluated& e : list) plans.push_back(&e.plan);
  const std::vector<std::string> labels = distinct_labels(plans);
  for (std::size_t i = 0; i < list.size(); ++i) list[i].label = labels[i];
}

// Returns a note on ops outside the core, whose costs are rough, if they take more than 1 % of the step; empty
// otherwise.
std::string generic_note(const Graph& graph, const Evaluated& e) {
  const double part = e.timeline.generic / e.timeline.step.total();
  if (part <= 0.01) return "";
  std::set<std::string> kinds;
  for (const Function& f : e.program.functions) {
    for (const Step& s : f.steps) {
      if (!s.generic) continue;
      const std::vector<OpId>& ops = graph.units[f.unit].ops[static_cast<std::size_t>(f.pass)];
      kinds.insert(std::string(graph.ops[ops[static_cast<std::size_t>(s.op)]].def->name));
    }
  }
  std::string list;
  for (const std::string& kind : kinds) list += (list.empty() ? "" : ", ") + kind;
  return std::to_string(std::lround(part * 100)) + " % of the step is generic cost (" + list +
         "): all bytes moved and one vector slot per element, on one tile";
}

// Returns a note on runners-up that may be better than the best plan; empty if there are none.
std::string tie_note(const Outcome& o) {
  std::string list;
  for (std::size_t i = 1; i < o.best.size(); ++i) {
    const double sure = probability_better(o.job().goal, o.best[0], o.best[i]);
    if (sure >= kSure) continue;
    list += (list.empty() ? "" : ", ") + o.best[i].label + " (" + figure(sure) + ")";
  }
  return list.empty() ? "" : "a tie, by the probability that the first is better: " + list;
}

// Returns the mechanism that decides between two plans if it is measured: of those of the first alone, the one that is
// known worst. Empty: there is none.
std::string deciding_mechanism(const Evaluated& first, const Evaluated& second) {
  const Mechanism* worst = nullptr;
  for (const Mechanism& m : first.unmeasured) {
    const bool shared = std::ranges::any_of(second.unmeasured, [&](const Mechanism& o) { return o.name == m.name; });
    if (!shared && (!worst || m.relative_band > worst->relative_band)) worst = &m;
  }
  return worst ? worst->name : "";
}

// Returns how the best plan's chance to fit compares with what was asked for, and what could be won by betting; empty:
// the best plan is the fastest, and as likely to fit as was asked for.
std::string fastest_note(const Outcome& o) {
  const auto chance = [](const Evaluated& e) { return percent(e.fit_probability); };
  if (!o.is_likely)
    return "No plan fits with the probability asked for, " + percent(o.asked.fit_probability) +
           ": the one shown fits with " + chance(o.best[0]) + ".";
  if (!o.fastest) return "";
  const std::string decides = deciding_mechanism(*o.fastest, o.best[0]);
  const double published = best_published_rate(o.asked), rate = o.fastest->samples_per_second;
  return "Fastest by the model: " + label(o.fastest->plan) + ", " + figure(rate) + " samples/s" +
         (published > 0 && rate > published ? ", " + percent(rate / published - 1) + " beyond the best published rate"
                                            : "") +
         "; it fits with " + chance(*o.fastest) + " (the best plan with " + chance(o.best[0]) +
         ") and is faster with " + percent(probability_better(o.job().goal, *o.fastest, o.best[0])) +
         (decides.empty() ? "." : "; a measurement of " + decides + " would decide.");
}

// Returns a note that a bound on temporary memory was assumed, and what a search of the bound finds; empty: the plan
// fits, or the job pins the bound.
std::string assumed_bound_note(Outcome& o, const Evaluated& e, int threads) {
  const Pins& pins = o.job().pins;
  if (!o.estimated || e.overflows.empty() || !pins.available_memory_proportion.empty() || pins.proportion_range ||
      !pins.stage_proportions.empty())
    return "";
  nlohmann::json given = o.job().json();
  nlohmann::json pins_in_full = to_json(e.plan);
  for (const char* field : {"available_memory_proportion", "precision"}) pins_in_full.erase(field);
  given = with_pins(given, pins_in_full);
  const Job job = read_again(o.job(), given);
  Tables tables(job, *o.tables);
  SearchOptions options;
  options.top = 1;
  options.runners_up = options.pareto = options.find_fix = false;
  options.threads = threads;
  options.work_limit = kBudget.fix_trial;
  const SearchResult found = search(tables, options);
  const std::string assumed =
      "available_memory_proportion is not pinned: " + nlohmann::json(kUsualProportion).dump() + " is assumed";
  if (found.best.empty()) return found.stats.optimal ? assumed + "; no other bound makes the plan fit" : "";
  return assumed + "; with " + to_json(found.best[0].plan)["available_memory_proportion"].dump() +
         ", which superstep plan finds, it fits at " + figure(found.best[0].samples_per_second) + " samples/s";
}

void add_notes(Outcome& o, int threads) {
  const Evaluated* e = o.shown();
  if (e) o.software = judge(o.job(), e->plan, o.tables->facts(e->plan.micro_batch));
  if (const ModelChoice& model = o.job().model; model.fixed_batch > 0)
    o.notes.push_back(model.name() + " was exported for " + std::to_string(model.fixed_batch) +
                      (model.fixed_batch == 1 ? " sample" : " samples") +
                      " and works with no other number, so that micro_batch is " + std::to_string(model.fixed_batch));
  for (const std::string& n : o.search.notes) o.notes.push_back(n);
  for (std::string& n : left_notes(o.search.stats)) o.notes.push_back(std::move(n));
  if (!e) return;
  if (!e->unmeasured.empty()) {
    std::string list;
    for (const std::string& n : e->not_validated()) list += (list.empty() ? "" : ", ") + n;
    o.notes.push_back("not validated: no measured point covers " + list);
  }
  if (std::string gathers = weight_gathers_note(*o.tables, e->plan, threads); !gathers.empty())
    o.notes.push_back(std::move(gathers));
  if (std::string generic = generic_note(o.tables->facts(e->plan.micro_batch).graph, *e); !generic.empty())
    o.notes.push_back(std::move(generic));
  if (std::string assumed = assumed_bound_note(o, *e, threads); !assumed.empty()) o.notes.push_back(std::move(assumed));
  for (const std::string& pointer : idle_numbers(*o.tables, *e))
    o.notes.push_back(pointer +
                      " has no effect on this plan: neither half of it nor twice as much changes time or memory");
  const Band band = band_of(e->worlds);
  const auto percent_of_step = [&](double seconds) { return signed_fixed(100 * (seconds / e->step_seconds - 1), 0); };
  o.notes.push_back("95 % band of the step time: " + percent_of_step(band.low) + " to " + percent_of_step(band.high) +
                    " %; of the fullest tile: +-" + std::to_string(e->tile_peak_band / 1024) + " KiB");
  if (const std::string ties = tie_note(o); !ties.empty()) o.notes.push_back(ties);
  o.notes.push_back("samples are " + std::string(o.job().model.packed ? "packs of sequences" : "sequences or images"));
}

}  // namespace

ReportParts Outcome::parts() const {
  ReportParts p;
  p.shown = shown();
  p.search = &search;
  for (std::size_t i = 1; i < best.size(); ++i) p.runners_up.push_back(&best[i]);
  for (const Evaluated& e : pareto) p.pareto.push_back(&e);
  p.notes = notes;
  p.bet = fastest_note(*this);
  p.job_json = asked.json().dump();
  if (estimated) p.search = nullptr;
  return p;
}

void save(const WarmTables& warm) {
  try {
    warm.save();
  } catch (const Error& e) {
    std::cerr << "superstep: warning: " << e.what() << "\n";
  }
}

void check_estimated(const Outcome& o) {
  if (!o.estimated || o.shown() != nullptr) return;
  throw Error(o.job().source + "#/plan",
              !o.search.overflows.empty() ? o.search.overflows.front().detail : "the pinned plan is not legal");
}

Outcome solve(const std::string& job_path, const OutcomeOptions& options, const CommonOptions& common) {
  WarmTables warm(common.cache);
  Outcome out = solve(load_job(job_path, options.dimensions), options, common, warm);
  save(warm);
  return out;
}

namespace {

SearchOptions search_options(const Job& job, const OutcomeOptions& options, const CommonOptions& common,
                             WarmTables& warm) {
  SearchOptions out;
  out.explain = options.explains ? explain_infeasible : nullptr;
  out.legal_changes = options.explains ? legal_changes_text : nullptr;
  out.warm = &warm;
  out.top = options.estimate ? 1 : options.top;
  out.time_limit = options.time_limit;
  out.work_limit = work_limit_with(options.time_limit);
  out.runners_up = options.runners_up && !options.estimate;
  out.pareto = (options.pareto || job.json().contains("pareto")) && !options.estimate;
  out.find_fix = options.find_fix && !options.estimate;
  out.fit_probability = options.estimate ? 0 : job.fit_probability;
  out.find_fastest = options.find_fastest;
  out.threads = common.threads;
  out.defaults = options.estimate;
  out.record = options.record;
  out.trace = options.trace;
  out.progress = options.progress ? options.progress : progress_of(common);
  out.stop = options.stop;
  return out;
}

// Returns an outcome with the job's tables, before the search.
Outcome with_tables(const Job& job, WarmTables& warm) {
  Outcome o;
  WarmTables::Lease lease = warm.lease(job);
  o.model = std::move(lease.model);
  o.tables = std::move(lease.tables);
  return o;
}

// Keeps the first plan of each kind.
void keep_first_of_kinds(std::vector<Evaluated>& plans) {
  std::set<std::string> kinds;
  std::erase_if(plans, [&](const Evaluated& e) { return !kinds.insert(kind_of(e.plan)).second; });
}

// Joins the outcomes of two parts. The result is the outcome of the part with the better plan, with the plans, notes
// and cells of the other part added.
Outcome together(Outcome a, Outcome b, std::int64_t top) {
  const auto leads = [](const Outcome& one, const Outcome& other) {
    if (one.best.empty() && other.best.empty())
      return one.fastest && (!other.fastest || one.fastest->score > other.fastest->score);
    return !one.best.empty() && (other.best.empty() || one.best[0].score > other.best[0].score);
  };
  const bool b_leads = leads(b, a);
  if (b_leads) std::swap(a, b);
  const auto append = [](auto& to, auto& from) { std::move(from.begin(), from.end(), std::back_inserter(to)); };
  append(a.best, b.best);
  std::stable_sort(a.best.begin(), a.best.end(),
                   [](const Evaluated& x, const Evaluated& y) { return x.score > y.score; });
  keep_first_of_kinds(a.best);
  if (std::ssize(a.best) > top) a.best.erase(a.best.begin() + top, a.best.end());
  if (b.fastest && (!a.fastest || b.fastest->score > a.fastest->score)) a.fastest = std::move(b.fastest);
  append(a.notes, b.notes);
  append(a.pareto, b.pareto);
  append(a.search.candidates, b.search.candidates);
  append(a.search.cells, b.search.cells);
  return a;
}

// Describes the best plan on a partition as the end of a sentence.
std::string best_of(const Outcome& o, bool stopped) {
  if (o.best.empty()) return stopped ? "none was found in time" : "nothing fits";
  const Evaluated& best = o.best.front();
  return "the best plan, " + label(best.plan) + ", has " +
         (o.job().goal.objective == Objective::latency ? to_text(Seconds(best.step_seconds)) + " a step"
                                                       : figure(best.samples_per_second) + " samples/s");
}

// Adds a note why the best plan uses fewer IPUs than allowed. `legal` is the largest number of IPUs of a legal plan.
// `best` describes the best plan on these IPUs.
void add_fewer_ipus_note(Outcome& o, const Job& job, std::int64_t legal, std::string best) {
  const std::int64_t most = partition_sizes(job).front(), used = o.job().machine.ipus;
  if (o.best.empty() || used == most) return;
  if (legal < most) {
    try {
      cells(on_partition(job, most), o.tables->statistics_group());
    } catch (const Error& e) {
      best = "no plan is legal (" + without_file(e.what(), job.source) + ")";
    }
  }
  const std::string all = std::to_string(most);
  o.search.notes.insert(o.search.notes.begin(),
                        std::to_string(used) + " of " + all + " IPUs: with all " + all + " " + best);
}

// Returns the IPUs that an estimate is for, unless the job limits IPUs: the product of pinned degrees, else all IPUs.
IntegerPin estimated_ipus(const Job& job) {
  const std::int64_t all = job.machine.ipus, used = pinned_ipus(job).value_or(all);
  return {{is_usable(job.machine, used) ? used : all}};
}

// Searches or estimates a job within the rules of its software.
Outcome solve_within(const Job& job, const OutcomeOptions& options, const CommonOptions& common, WarmTables& warm) {
  std::vector<Job> parts = job_parts(job);
  if (options.estimate) parts.erase(parts.begin() + 1, parts.end());
  const SearchOptions of_all = search_options(job, options, common, warm);
  PartSearch search(job, parts.size(), of_all);
  std::vector<Outcome> each;
  std::vector<Tables*> tables;
  for (const Job& part : parts) tables.push_back(each.emplace_back(with_tables(part, warm)).tables.get());
  search.search(tables);
  search.finish([&](std::size_t i, SearchResult found) {
    each[i].search = std::move(found);
    lower_best(each[i], of_all.threads);
  });
  std::optional<Outcome> all;
  std::string best_of_largest;
  bool stopped = false;
  for (Outcome& one : each) {
    const bool largest = one.job().machine.ipus == parts[0].machine.ipus;
    stopped |= one.search.stats.gap > 0;
    all = all ? together(std::move(*all), std::move(one), of_all.top) : std::move(one);
    if (largest) best_of_largest = best_of(*all, stopped);
  }
  if (all->best.empty() && all->fastest) {  // no plan fits with the probability asked for
    all->is_likely = false;
    all->best.push_back(*std::exchange(all->fastest, std::nullopt));
  }
  if (all->fastest && all->fastest->score <= all->best[0].score) all->fastest.reset();
  if (all->best.empty() && parts.size() > 1 && !none_accepted(search.stats(), job)) {
    all = with_tables(parts[0], warm);
    all->search = search.explain(*all->tables);
    lower_best(*all, of_all.threads);
  }
  all->search.stats = search.stats();
  add_fewer_ipus_note(*all, job, parts[0].machine.ipus, best_of_largest);
  all->asked = job;
  all->estimated = options.estimate;
  all->space = space_fields(job, parts, all->tables->statistics_group());
  keep_front(all->pareto, job.pareto);
  make_labels_distinct(all->best);
  make_labels_distinct(all->pareto);
  return std::move(*all);
}

using Progress = std::function<void(double share, const std::string& what)>;

// Returns the progress of a part of the work, which tells it as the whole's. Empty if that of the whole is empty.
Progress part_of(const Progress& whole, double from, double to) {
  if (!whole) return {};
  return [whole, from, to](double share, const std::string& what) { whole(from + (to - from) * share, what); };
}

// Adds to a search of the whole space what a search of a part of it cost. The settings of the part are counted already.
void add_work(SearchStats& whole, const SearchStats& part) {
  whole.evaluations += part.evaluations, whole.programmes += part.programmes;
  whole.seconds += part.seconds, whole.table_seconds += part.table_seconds;
  whole.optimal &= part.optimal, whole.stopped |= part.stopped;
  whole.proof_seconds = whole.optimal ? whole.proof_seconds + part.proof_seconds : 0;
}

// Recommends the best plan whose mechanisms are all measured, if the best plan of all is not surely faster, or too fast
// to be believed. That one then stays as the fastest by the model. `left`: what the search for the best plan of all
// left of the time limit.
void prefer_measured(Outcome& all, Job job, OutcomeOptions options, const TimeLeft& left, const CommonOptions& common,
                     WarmTables& warm) {
  if (all.best.empty() || all.best[0].unmeasured.empty() || all.search.stats.stopped) return;
  job.measured_alone = true;
  options.runners_up = options.find_fastest = options.find_fix = options.explains = options.record = false;
  options.trace = {};
  options.time_limit = left.seconds();
  Outcome sure = solve_within(job, options, common, warm);
  add_work(all.search.stats, sure.search.stats);
  if (sure.best.empty() || !sure.is_likely) return;
  if (is_worth_the_bet(all.asked, all.best[0], sure.best[0])) return;
  sure.fastest = all.fastest && all.fastest->score > all.best[0].score ? std::move(all.fastest) : all.best[0];
  sure.best.resize(1);
  for (Evaluated& e : all.best) sure.best.push_back(std::move(e));
  sure.pareto = std::move(all.pareto);
  sure.space = std::move(all.space);
  keep_first_of_kinds(sure.best);
  sure.search.stats = all.search.stats;
  sure.search.candidates.insert(sure.search.candidates.end(), all.search.candidates.begin(),
                                all.search.candidates.end());
  sure.search.cells = std::move(all.search.cells);
  sure.asked = std::move(all.asked);
  make_labels_distinct(sure.best);
  all = std::move(sure);
}

}  // namespace

Outcome solve(Job job, const OutcomeOptions& options, const CommonOptions& common, WarmTables& warm) {
  check_batch(job);
  if (options.estimate && !job.ipus) job.ipus = estimated_ipus(job);
  if (options.estimate) job.software = {kAnySoftware};
  const TimeLeft left(options.time_limit);
  const auto progress = options.progress ? options.progress : progress_of(common);
  constexpr double kFirst = 0.8;  // share of the work: a search for measured plans may follow
  OutcomeOptions first = options;
  first.progress = part_of(progress, 0, kFirst);
  const auto search = [&](const Job& within) {
    first.time_limit = left.seconds();
    return solve_within(within, first, common, warm);
  };
  Outcome out = search_software_then_hardware(job, search, [&](const Outcome& o) {
    return SearchEnd{!none_accepted(o.search.stats, job), !o.best.empty() || o.search.stats.stopped};
  });
  OutcomeOptions second = options;
  second.progress = part_of(progress, kFirst, 1);
  if (!options.estimate) prefer_measured(out, job, second, left, common, warm);
  clear_progress(common);
  add_notes(out, common.threads);
  return out;
}

}  // namespace superstep
