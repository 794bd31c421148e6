// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/brute_force.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/software/rules.h"
#include "planner/cuts/pinned_cuts.h"
#include "planner/job/check_pins.h"
#include "planner/search/branch.h"
#include "planner/search/cell_bound.h"
#include "planner/search/search.h"
#include "planner/space/software_facts.h"
#include "planner/space/space.h"
#include "planner/space/space_count.h"
#include "tests/planner/all_cuts.h"
#include "tests/planner/world.h"

namespace superstep::test {
namespace {

using nlohmann::json;

constexpr double kOfInterest = 0.5;  // of the best rate: runners-up are faster

constexpr double kMostTries = 5e5;

json text(const std::string& value) { return {{"value", value}, {"source", "drawn"}}; }

// ---- what is drawn

json draw_model(Draw& draw, bool toy) {
  const bool encoder = draw.chance(25);
  json model = {{"zoo", encoder ? "bert-base" : "gpt2-small"}};
  model["layers"] = draw.of<std::int64_t>({1, 1, 1, 2, 2, 3});
  model["hidden"] = toy ? draw.of<std::int64_t>({12, 16, 24}) : draw.of<std::int64_t>({48, 64, 128, 256});
  model["heads"] = draw.of<std::int64_t>({2, 4, 3});
  if (model["hidden"].get<std::int64_t>() % model["heads"].get<std::int64_t>() != 0) model["heads"] = 4;
  model["ffn"] = model["hidden"].get<std::int64_t>() * draw.of<std::int64_t>({2, 4});
  model["vocabulary"] = toy ? draw.of<std::int64_t>({20, 32, 64}) : draw.of<std::int64_t>({100, 500, 4000});
  model["sequence_length"] = toy ? 8 : draw.of<std::int64_t>({16, 32, 64});
  model["positions"] = model["sequence_length"];
  if (encoder) model["masked_tokens"] = 4;
  return model;
}

// The same with an encoder and a decoder, whose units at both ends and in the middle share a weight.
json with_decoder(json model) {
  model["zoo"] = "t5-small";
  model["layers"] = 1;
  model["target_length"] = model["sequence_length"].get<std::int64_t>() / 2;
  model.erase("positions");
  model.erase("masked_tokens");
  return model;
}

// One to eight IPUs, also five or seven; tiles, code and Streaming Memory from ample to too little.
json draw_machine(Draw& draw, bool toy) {
  const auto ipus = draw.of<std::int64_t>({1, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8});
  json o;
  o["ipus"] = {{"value", ipus}, {"source", "drawn"}};
  o["ipus_per_machine"] = {{"value", ipus % 4 == 0 ? 4 : ipus}, {"source", "drawn"}};
  const auto kib = [](std::int64_t n) { return text(std::to_string(n) + " KiB"); };
  const std::int64_t tile = toy ? draw.of<std::int64_t>({20, 24, 28, 32, 36, 40, 48, 64, 96})
                                : draw.of<std::int64_t>({40, 48, 56, 64, 80, 100, 160, 624});
  o["chip"]["tile_memory"] = kib(tile);
  o["chip"]["executable_memory"] = kib(draw.chance(30) ? tile / 2 : tile);
  if (draw.chance(40)) o["streaming"]["capacity"] = kib(draw.of<std::int64_t>({0, 32, 128, 512, 1024, 4096}));
  if (draw.chance(30)) o["streaming"]["ipu_rate"] = text(toy ? "100 kB/s" : "100 MB/s");
  if (draw.chance(30)) o["links"]["rate"] = text(toy ? "100 kB/s" : "500 MB/s");
  return {{"base", toy ? "toy" : draw.of<std::string>({"ipu-pod64", "bow-pod64"})}, {"override", o}};
}

template <class T>
void maybe(Draw& draw, std::int64_t percent, json& at, const char* key, const std::vector<T>& values) {
  if (draw.chance(percent)) at[key] = draw.of(values);
}

json draw_pins(Draw& draw, bool training) {
  json plan = json::object();
  maybe<json>(draw, 80, plan, "available_memory_proportion",
              {0.05,
               0.1,
               0.25,
               0.4,
               {0.08, 0.4},
               {{"min", 0.1}, {"max", 0.12}},
               {{"live", "unit"}, {"proportion", 0.3}},
               {{"live", "layer"}, {"proportion", {{"min", 0.2}, {"max", 0.6}}}}});
  maybe<json>(draw, 50, plan, "io_tiles", {0, 1, 2, 32, {{"min", 0}, {"max", 32}}});
  maybe<json>(draw, 40, plan, "micro_batch", {1, 2, {1, 4}, {{"min", 2}}});
  maybe<json>(draw, 20, plan, "tensor_parallel", {1, 2, {{"min", 1}, {"max", 3}}});
  maybe<json>(draw, 25, plan, "pipeline_stages", {1, 2, 3, {1, 2}, {{"min", 2}}});
  maybe<json>(draw, 10, plan, "replicas", {1, 2, {{"min", 2}}});
  maybe<json>(draw, 30, plan, "placement", {"t-p-r", "p-t-r", {"t-p-r", "r-p-t"}, {"p-r-t", "r-t-p"}});
  maybe<json>(draw, 15, plan, "schedule", {"sequential", "grouped", {"interleaved", "grouped"}});
  maybe<json>(draw, 20, plan, "phases", {1, 2, 3, {1, 2}, {2, 4}, {{"min", 2}, {"max", 3}}, {{"min", 3}}});
  maybe<json>(draw, 10, plan, "phase_order", {"phase_outer", "micro_batch_outer"});
  maybe<json>(draw, 10, plan, "phase_groups", {1, 2});
  maybe<json>(draw, 15, plan, "load",
              {"on_demand", "preload", {{"weights", "preload"}}, {{"code", {"on_demand", "preload"}}}});
  maybe<json>(draw, 20, plan, "activation_sharding", {"none", "stored", "throughout", {"none", "throughout"}});
  if (training) maybe<json>(draw, 30, plan, "recompute", {"layer", "stage", "none", {"layer", "stage"}});
  const json head = {{"head", 2}}, products = {{"attention", 2}, {"feed_forward", 4}}, odd = {{"embedding", 3}};
  maybe<json>(draw, 8, plan, "serialisation", {head, products, odd});
  json& at = plan["location"] = json::object();
  maybe<json>(draw, 15, at, "weights", {"in_processor", "streaming", {"in_processor", "streaming"}});
  maybe<json>(draw, 15, at, "optimizer_state", {"in_processor", "streaming"});
  maybe<json>(draw, 15, at, "activations", {"in_processor", "streaming"});
  maybe<json>(draw, 25, at, "gradients", {"in_processor", "streaming", {"in_processor", "streaming"}});
  maybe<json>(draw, 10, at, "code", {"in_processor", "streaming"});
  json& degrees = plan["replicated_tensor_sharding"] = json::object();
  maybe<json>(draw, 10, degrees, "weights", {1, 2, {1, 2}});
  maybe<json>(draw, 10, degrees, "gradients", {1, 2, {1, 2}});
  maybe<json>(draw, 10, degrees, "optimizer_state", {1, 2, {{"min", 2}}});
  maybe<json>(draw, 30, degrees, "groups", {"consecutive", "orthogonal"});
  maybe<json>(draw, 70, plan, "prefetch_depth", {1, 1, 2, {1, 2}});
  return plan;
}

json draw_job(Draw& draw) {
  const bool toy = draw.chance(60), training = draw.chance(80);
  json job = {{"model", draw_model(draw, toy)}, {"machine", draw_machine(draw, toy)}};
  job["task"] = training ? "training" : "inference";
  if (training) job["optimizer"] = {{"kind", draw.of<std::string>({"sgd", "sgd_momentum", "adam"})}};
  job["plan"] = draw_pins(draw, training);
  if (draw.chance(85))
    job["batch"] = {{"global", draw.of<std::int64_t>({1, 2, 4, 6, 8, 12, 16, 30, 35, 48})}};
  else
    job["plan"]["gradient_accumulation"] = draw.of<json>({1, 4, {2, 12}});
  return job;
}

// Legal plans, and how many times all cuts there are have to be looked through for them. Of a job whose pins contradict
// each other or the machine there are none.
struct Size {
  double plans = 0, tries = 0;
};
Size size_of_space(const json& as_json) {
  try {
    const Job job = read_job(as_json, "drawn job");
    const std::int64_t m = cells(job).front().micro_batch;
    const Graph graph = build_graph(job, m);
    const auto units = static_cast<std::int64_t>(graph.units.size());
    check_pins(job, units);
    const SpaceCount count = count_space(job, graph);
    return {std::pow(10, count.log10_with_cuts),
            static_cast<double>(count.points) * std::pow(3, static_cast<double>(units - 1))};
  } catch (const Error&) {
    return {};
  }
}

// ---- all plans

double score(const World& world, std::int64_t global_batch, std::int64_t cycles) {
  return world.job.goal.score(global_batch, static_cast<double>(cycles) / world.job.machine.chip.clock.value);
}

bool breaks_a_rule(World& world, const Software& rules, const Plan& plan) {
  return !broken_rules(rules, plan_facts(world.job, plan, world.tables.facts(plan.micro_batch))).empty();
}

void try_setting(World& world, const Setting& setting, const PinnedCuts& cuts, const Software* rules, BruteForce& all) {
  for_each_cut(setting, cuts, [&](const Cuts& c) {
    const Plan plan = with_cuts(setting.plan(), c);
    if (!world.problem(plan).empty() || (rules && breaks_a_rule(world, *rules, plan))) return;
    ++all.plans;
    const Estimate e = evaluate(setting, plan);
    if (!e.fits(setting)) return;
    all.fitting.push_back({plan.global_batch(), e.cycles, e.tile_peak,
                           SettingSpace::just(plan, setting.phased(), world.tables.training()).execution()});
    BruteForce::Best& kind = all.by_kind[kind_of(plan)];
    if (const double of_plan = score(world, plan.global_batch(), e.cycles); of_plan > kind.score)
      kind = {of_plan, superstep::to_json(plan)};
  });
}

// With each of these bounds on temporary memory that make another table.
template <class F>
void for_each_cap(World& world, Plan plan, const Caps& caps, const F& f) {
  const Chip& chip = world.job.machine.chip;
  for (std::int64_t cap = caps.range.most; cap >= caps.range.least;) {
    plan.available_memory_proportion = proportion_of(Caps{{cap, cap}, caps.lives}, chip);
    f(plan, world.table(plan));
    const SettingSpace space = SettingSpace::just(plan, plan.phased(), world.tables.training());
    cap = caps_of(world.table(plan), space).range.least - 1;
  }
}

// From the loosest down, which are the plan's, whatever they may count; pinned ones as they are.
template <class F>
void for_each_cap(World& world, const Plan& plan, const F& f) {
  if (!frees_caps(world.job, false)) return f(plan, world.table(plan));
  Caps caps = free_caps(world.job);
  for (const Live live : kLives) {
    if (!free_caps(world.job).may_count(live)) continue;
    caps.count(live);
    for_each_cap(world, plan, caps, f);
  }
}

BruteForce try_cell(World& world, PinnedCuts& cuts, const Software* rules, const Cell& cell) {
  BruteForce all;
  for (const Plan& plan : settings(world.job, cell, false)) {
    for_each_cap(world, plan, [&](const Plan& capped, const UnitTable& table) {
      cuts.prepare(capped);
      const std::int64_t plans = all.plans;
      try_setting(world, Setting(table, capped, world.job.optimizer, cuts.searches_phases(capped)), cuts, rules, all);
      if (&table != &world.table(plan)) all.plans = plans;  // what is counted is counted once for all bounds
    });
  }
  CellBounds bounds(world.tables);
  bounds.prepare({cell}, 1);
  std::map<Execution, std::int64_t> bound_on;
  for (const Execution execution : kExecutions) {
    bound_on[execution] = bounds.bound_without_tables(cell, execution);
    using Step = CellBounds::Step;
    for (const Step step : {Step::times, Step::room, Step::all_room})
      bound_on[execution] = std::max(bound_on[execution], bounds.bound_of_step(cell, execution, step).least);
  }
  for (const BruteForce::Fitting& f : all.fitting) {
    const std::int64_t least = bound_on[f.execution];
    if (f.cycles < least)
      all.beyond_bounds = "t=" + std::to_string(cell.mesh.size()) + " p=" + std::to_string(cell.stages) +
                          " m=" + std::to_string(cell.micro_batch) + " g=" + std::to_string(cell.accumulation) + ": " +
                          std::to_string(f.cycles) + " cycles, bound " + std::to_string(least) + "\n";
  }
  return all;
}

// ---- what is compared

// Every number and plan of a result; no times.
json to_json(const SearchResult& r) {
  json j;
  const auto put = [](json& at, const std::vector<Candidate>& list) {
    at = json::array();
    for (const Candidate& c : list) {
      const Estimate& e = c.estimate;
      at.push_back({superstep::to_json(c.plan), c.samples_per_second, e.cycles, e.tile_peak, e.executable, e.ddr});
    }
  };
  put(j["best"], r.best);
  put(j["pareto"], r.pareto);
  j["stats"] = {r.stats.explored,   r.stats.pruned,  r.stats.feasible, r.stats.evaluations,
                r.stats.programmes, r.stats.optimal, r.stats.gap};
  return j;
}

std::string scores_text(const std::vector<double>& rates) {
  std::string s;
  for (double r : rates) s += (s.empty() ? "" : ", ") + std::to_string(r);
  return "[" + s + "]";
}

// Of the best kinds there are, as many as are listed.
std::vector<double> expected_scores(const BruteForce& all, std::int64_t top) {
  std::vector<double> rates;
  for (const auto& [kind, best] : all.by_kind) {
    if (best.score > kOfInterest * all.best()) rates.push_back(best.score);
  }
  std::sort(rates.begin(), rates.end(), std::greater<>());
  if (static_cast<std::int64_t>(rates.size()) > top) rates.resize(static_cast<std::size_t>(top));
  return rates;
}

// Up to the last bits: the same cycles per sample of two batches are rates that rounding may tell apart.
bool equal_scores(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::abs(x - y) <= 1e-12 * y; });
}

// The higher the better.
double measured(const BruteForce::Fitting& f, Measure m) {
  if (m == Measure::latency) return -static_cast<double>(f.cycles);
  if (m == Measure::memory) return -static_cast<double>(f.tile_peak);
  return static_cast<double>(f.global_batch) / static_cast<double>(f.cycles);
}

// Points of the front that some plan is better than in what the front was traced for, and no worse in the other.
std::string beaten_points(const Job& job, const SearchResult& found, const BruteForce& all) {
  auto [traced, limited] = job.pareto;
  if (traced == Measure::memory || limited == Measure::throughput) std::swap(traced, limited);
  std::string out;
  for (const Candidate& c : found.pareto) {
    const BruteForce::Fitting point{c.plan.global_batch(), c.estimate.cycles, c.estimate.tile_peak};
    for (const BruteForce::Fitting& f : all.fitting) {
      const double a = measured(f, traced), b = measured(point, traced);
      if (a - b <= 1e-12 * std::abs(b) || measured(f, limited) < measured(point, limited)) continue;
      out += "\nthe front has " + label(c.plan) + " with " + std::to_string(point.cycles) + " cycles and " +
             std::to_string(point.tile_peak) + " bytes, a plan of batch " + std::to_string(f.global_batch) + " has " +
             std::to_string(f.cycles) + " and " + std::to_string(f.tile_peak);
      break;
    }
  }
  return out;
}

std::string differences(const Job& job, const SearchResult& found, const BruteForce& all, std::int64_t top) {
  std::vector<double> rates;
  for (const Candidate& c : found.best) rates.push_back(score(job, c));
  std::string out = beaten_points(job, found, all);
  if (!found.stats.optimal) out += "not proved, gap " + std::to_string(found.stats.gap) + "; ";
  if (equal_scores(rates, expected_scores(all, top))) return out;
  out += "the search found " + scores_text(rates) + ", all plans give " + scores_text(expected_scores(all, top));
  for (const Candidate& c : found.best)
    out += "\nfound " + kind_of(c.plan) + " at " + std::to_string(score(job, c)) + ": " +
           superstep::to_json(c.plan).dump();
  for (const auto& [kind, best] : all.by_kind)
    out += "\nof all " + kind + " at " + std::to_string(best.score) + ": " + best.plan.dump();
  return out;
}

}  // namespace

json draw_small_job(std::uint64_t seed, double most_plans) {
  Draw draw(seed), kind(seed + 2'000'000);
  const bool decodes = kind.chance(15);
  for (;;) {
    json job = draw_job(draw);
    if (decodes) job["model"] = with_decoder(job["model"]);
    const Size size = size_of_space(job);
    if (size.plans < 1 || size.plans > most_plans || size.tries > kMostTries) continue;
    Draw question(seed + 1'000'000);  // a stream of its own
    if (question.chance(job.contains("batch") ? 10 : 60)) job["objective"] = "latency";
    maybe<json>(question, 40, job, "pareto",
                {{"throughput", "latency"}, {"latency", "memory"}, {"memory", "throughput"}});
    return job;
  }
}

double BruteForce::best() const {
  double best = 0;
  for (const auto& [kind, found] : by_kind) best = std::max(best, found.score);
  return best;
}

void BruteForce::add(const BruteForce& other) {
  plans += other.plans;
  fitting.insert(fitting.end(), other.fitting.begin(), other.fitting.end());
  beyond_bounds += other.beyond_bounds;
  for (const auto& [kind, found] : other.by_kind) {
    if (Best& mine = by_kind[kind]; found.score > mine.score) mine = found;
  }
}

BruteForce try_all(const json& job) {
  json without_rules = job;
  without_rules["software"] = kAnySoftware;
  World world(without_rules);
  PinnedCuts cuts(world.tables, false);
  const Software* rules = job.contains("software") ? &software(job["software"]) : nullptr;
  BruteForce all;
  for (const Cell& cell : cells(world.job)) all.add(try_cell(world, cuts, rules, cell));
  return all;
}

Agreement compare_search(const json& job) {
  Agreement out;
  out.all = try_all(job);
  SearchOptions options{.find_fix = false};
  options.threads = 1;
  World one(job), two(job);
  const SearchResult found = search(one.tables, options);
  options.threads = 2;
  const std::string first = to_json(found).dump(), second = to_json(search(two.tables, options)).dump();
  out.differences = out.all.beyond_bounds + differences(one.job, found, out.all, options.top);
  if (first != second) out.differences += "\none thread gave " + first + "\ntwo gave " + second;
  out.phased = !found.best.empty() && found.best[0].plan.phased();
  out.pruned = found.stats.pruned > 0;
  return out;
}

Agreements expect_agreement(std::uint64_t first_seed, std::int64_t jobs, double most_plans,
                            const std::string& software) {
  Agreements sum;
  for (std::uint64_t seed = first_seed; seed < first_seed + static_cast<std::uint64_t>(jobs); ++seed) {
    json job = draw_small_job(seed, most_plans);
    if (!software.empty()) job["software"] = software;
    Agreement a;
    try {
      a = compare_search(job);
    } catch (const Error& e) {
      a.differences = e.what();
    }
    EXPECT_EQ(a.differences, "") << "seed " << seed << " job " << job.dump();
    if (software.empty()) {  // what rules exclude of cuts is not counted
      const double legal = size_of_space(job).plans;
      EXPECT_NEAR(legal, static_cast<double>(a.all.plans), 1e-9 * legal) << "seed " << seed << " job " << job.dump();
    }
    ++sum.jobs;
    sum.plans += a.all.plans;
    sum.infeasible += a.all.fitting.empty() ? 1 : 0;
    sum.tight += !a.all.fitting.empty() && std::ssize(a.all.fitting) < a.all.plans ? 1 : 0;
    sum.phased += a.phased ? 1 : 0;
    sum.pruned += a.pruned ? 1 : 0;
  }
  return sum;
}

}  // namespace superstep::test
