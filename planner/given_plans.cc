// SPDX-License-Identifier: Apache-2.0
#include "planner/given_plans.h"

#include <time.h>

#include <algorithm>
#include <numeric>

#include "model/cost/cost.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "planner/parallel.h"
#include "planner/search.h"

namespace superstep {
namespace {

using nlohmann::json;
// Seconds that a core gave to this thread: others may be busy on the same one.
double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Fields of a plan out of pins, each of which must leave one value.
class PinnedInFull {
 public:
  PinnedInFull(const Pins& pins, std::string where) : pins_(pins), where_(std::move(where)) {}

  Plan plan() const {
    Plan p;
    p.tensor_parallel = only(pins_.tensor_parallel, "tensor_parallel");
    p.pipeline_stages = only(pins_.pipeline_stages, "pipeline_stages");
    p.replicas = only(pins_.replicas, "replicas");
    if (!pins_.placement.empty()) p.placement = only(pins_.placement, "placement");
    p.micro_batch = only(pins_.micro_batch, "micro_batch");
    p.gradient_accumulation = only(pins_.gradient_accumulation, "gradient_accumulation");
    p.stages = given(pins_.stages, "stages");
    p.stage_ipu = given(pins_.stage_ipu, "stage_ipu");
    p.schedule = only(pins_.schedule, "schedule");
    p.recompute = only(pins_.recompute, "recompute");
    p.phases = given(pins_.phases, "phases");
    p.phase_order = only(pins_.phase_order, "phase_order");
    p.phase_groups = only(pins_.phase_groups, "phase_groups");
    p.replicated_tensor_sharding = {only(pins_.rts_weights, "replicated_tensor_sharding/weights"),
                                    only(pins_.rts_gradients, "replicated_tensor_sharding/gradients"),
                                    only(pins_.rts_optimizer_state, "replicated_tensor_sharding/optimizer_state")};
    if (!pins_.rts_groups.empty())
      p.replicated_tensor_sharding.groups = only(pins_.rts_groups, "replicated_tensor_sharding/groups");
    p.activation_sharding = only(pins_.activation_sharding, "activation_sharding");
    p.location = {only(pins_.weights, "location/weights"), only(pins_.gradients, "location/gradients"),
                  only(pins_.optimizer_state, "location/optimizer_state"),
                  only(pins_.activations, "location/activations"), only(pins_.code, "location/code")};
    p.io_tiles = only(pins_.io_tiles, "io_tiles");
    p.load = {only(pins_.load_weights, "load/weights"), only(pins_.load_code, "load/code")};
    p.prefetch_depth = only(pins_.prefetch_depth, "prefetch_depth");
    p.precision = pins_.precision;
    p.available_memory_proportion = only(pins_.available_memory_proportion, "available_memory_proportion");
    p.serialisation = pins_.serialisation;
    return p;
  }

 private:
  [[noreturn]] void fail(const char* field, const char* found) const {
    throw Error(
        where_ + "#/plan/" + field,
        std::string("found ") + found + ", expected one value: a plan in full, as superstep plan --json has it");
  }
  template <class T>
  const T& only(const std::vector<T>& values, const char* field) const {
    if (values.size() != 1) fail(field, values.empty() ? "none" : "several");
    return values[0];
  }
  std::int64_t only(const std::optional<IntegerPin>& pin, const char* field) const {
    if (!pin) fail(field, "none");
    if (pin->values.empty()) fail(field, "a range");
    return only(pin->values, field);
  }
  std::vector<std::int64_t> given(const std::optional<std::vector<std::int64_t>>& list, const char* field) const {
    if (!list) fail(field, "no list");
    return *list;
  }

  const Pins& pins_;
  const std::string where_;
};

// A job without what differs from plan to plan, for reading it once.
json question_of(const json& line) {
  json question = line;
  for (const char* key : {"$schema", "description", "plan"}) question.erase(key);
  const json::json_pointer precision("/plan/precision");
  if (line.contains(precision)) question["plan"]["precision"] = line.at(precision);
  return question;
}

class LineReader {
 public:
  explicit LineReader(GivenPlans& out) : out_(out) {}

  void read(const std::string& text, const std::string& where, std::int64_t number) {
    const json line = parse_json_text(text, where);
    if (!line.is_object()) throw Error(where, "found " + describe(line) + ", expected a job");
    if (!line.contains("plan") || !line["plan"].is_object())
      throw Error(where + "#/plan", line.contains("plan")
                                        ? "found " + describe(line["plan"]) + ", expected a plan in full"
                                        : "found none, expected a plan in full");
    const Question& question = question_for(line, where);
    GivenPlan given{number, question.world, {}};
    given.plan = PinnedInFull(read_pins(line["plan"], where, "/plan"), where).plan();
    check(given, question, where);
    out_.plans.push_back(std::move(given));
  }

 private:
  struct Question {
    GivenWorld* world = nullptr;
    std::int64_t global_batch = 0;  // 0: free
  };

  const Question& question_for(const json& line, const std::string& where) {
    const json question = question_of(line);
    const auto [at, fresh] = questions_.try_emplace(question.dump());
    if (!fresh) return at->second;
    try {
      Job job = read_job(question, where);
      at->second.global_batch = job.global_batch;
      GivenWorld*& world = worlds_[tables_key(job)];
      if (world == nullptr) world = out_.worlds.emplace_back(std::make_unique<GivenWorld>(std::move(job))).get();
      at->second.world = world;
    } catch (...) {
      questions_.erase(at);
      throw;
    }
    return at->second;
  }

  static void check(const GivenPlan& given, const Question& question, const std::string& where) {
    const Plan& plan = given.plan;
    if (question.global_batch > 0 && plan.global_batch() != question.global_batch)
      throw Error(where + "#/batch/global", "found " + std::to_string(question.global_batch) +
                                                ", expected replicas x micro_batch x gradient_accumulation = " +
                                                std::to_string(plan.global_batch()));
    Tables& tables = given.world->tables;
    const std::string problem =
        check_plan(plan, tables.facts(plan.micro_batch), given.world->job.machine, tables.training());
    if (!problem.empty()) throw Error(where + "#/plan", problem);
  }

  GivenPlans& out_;
  std::map<std::string, Question> questions_;
  std::map<std::string, GivenWorld*> worlds_;  // by tables_key
};

// What a Setting is made of: all but the cuts.
Plan without_cuts(Plan plan) {
  plan.stages.clear();
  plan.stage_ipu.clear();
  plan.recompute = {Recompute::none};
  plan.phases = plan.phased() ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0};
  return plan;
}

// Brings plans with one setting together, settings in the order in which they come first.
void group_by_setting(GivenPlans& given) {
  std::map<std::pair<const GivenWorld*, std::string>, std::size_t> numbers;
  std::vector<std::size_t> setting_of, order(given.plans.size());
  for (const GivenPlan& g : given.plans)
    setting_of.push_back(
        numbers.try_emplace({g.world, to_json(without_cuts(g.plan)).dump()}, numbers.size()).first->second);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return setting_of[a] < setting_of[b]; });
  std::vector<GivenPlan> plans;
  plans.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || setting_of[order[i]] != setting_of[order[i - 1]]) given.settings.push_back(i);
    plans.push_back(std::move(given.plans[order[i]]));
  }
  given.plans = std::move(plans);
}

Setting setting_of(const GivenPlan& g) {
  return Setting(g.world->tables.table(table_key(g.plan)), g.plan, g.world->job.optimizer, g.plan.phased());
}

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? (a == 0 ? 1 : 1e9) : static_cast<double>(a) / static_cast<double>(b);
}

GivenCheck check_one(const GivenPlan& g, const Estimate& estimate, std::size_t number) {
  const UnitTable& table = g.world->tables.table(table_key(g.plan));
  const Program program = lower(table, g.plan, g.world->job.optimizer);
  const Timeline timeline = cost(program, g.world->model);
  std::int64_t peak = 0, executable = 0, ddr = 0;
  for (std::size_t i = 0; i < program.ipus(); ++i) {
    peak = std::max(peak, timeline.tile_peak(i).value);
    executable = std::max(executable, program.executable(i).value);
    ddr = std::max(ddr, program.ddr[i].total().value);
  }
  return {number, ratio(estimate.cycles, timeline.step.total().value), ratio(estimate.tile_peak, peak),
          ratio(estimate.executable, executable), ratio(estimate.ddr, ddr)};
}

// Plans that differ on every line are more than caches hold. The empty statement keeps compilers from leaving out a
// call that changes nothing.
void bring_near(const void* data, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(static_cast<const char*>(data) + i);
  asm volatile("");
}

// The plan behind plan i, and where the one behind that has its cuts.
void bring_near(const std::vector<GivenPlan>& plans, std::size_t i) {
  if (i + 2 < plans.size()) bring_near(&plans[i + 2], sizeof(GivenPlan));
  if (i + 1 >= plans.size()) return;
  const Plan& next = plans[i + 1].plan;
  for (const std::vector<std::int64_t>* cuts : {&next.stages, &next.stage_ipu, &next.phases})
    bring_near(cuts->data(), cuts->size() * sizeof(std::int64_t));
  bring_near(next.recompute.data(), next.recompute.size() * sizeof(Recompute));
}

}  // namespace

GivenWorld::GivenWorld(Job of_line)
    : job(std::move(of_line)), model(job.machine, load_calibration(job.machine.calibration)), tables(job, model) {}

GivenPlans read_given_plans(std::istream& lines, const std::string& name) {
  GivenPlans given;
  LineReader reader(given);
  std::string text;
  for (std::int64_t number = 1; std::getline(lines, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    reader.read(text, name + " line " + std::to_string(number), number);
  }
  if (given.plans.empty()) throw Error(name, "found no line, expected a job with a plan in full on each");
  group_by_setting(given);
  return given;
}

GivenPass evaluate_given(const GivenPlans& given) {
  constexpr std::size_t kSettings = 64;  // that are ready at a time: a clock read between them would count
  GivenPass pass;
  pass.estimates.resize(given.plans.size());
  const auto end_of = [&](std::size_t s) { return s < given.settings.size() ? given.settings[s] : given.plans.size(); };
  for (std::size_t s = 0; s < given.settings.size(); s += kSettings) {
    const std::size_t end = std::min(s + kSettings, given.settings.size());
    for (std::size_t k = s; k < end; ++k) {  // tables are not what is measured
      const GivenPlan& first = given.plans[given.settings[k]];
      first.world->tables.table(table_key(first.plan));
    }
    std::vector<Setting> settings;
    std::vector<Evaluator> evaluators;
    settings.reserve(end - s);
    evaluators.reserve(end - s);
    double start = core_seconds();
    for (std::size_t k = s; k < end; ++k) {
      settings.push_back(setting_of(given.plans[given.settings[k]]));
      evaluators.emplace_back(settings.back());
    }
    pass.setting_seconds += core_seconds() - start;
    start = core_seconds();
    for (std::size_t k = s; k < end; ++k) {
      for (std::size_t i = given.settings[k]; i < end_of(k + 1); ++i) {
        bring_near(given.plans, i);
        pass.estimates[i].estimate = evaluators[k - s](given.plans[i].plan);
      }
    }
    pass.evaluation_seconds += core_seconds() - start;
    for (std::size_t k = s; k < end; ++k) {
      for (std::size_t i = given.settings[k]; i < end_of(k + 1); ++i)
        pass.estimates[i].fits = pass.estimates[i].estimate.fits(settings[k - s]);
    }
  }
  for (std::size_t i = 0; i < given.plans.size(); ++i) {
    const GivenPlan& g = given.plans[i];
    GivenEstimate& e = pass.estimates[i];
    e.step_seconds = g.world->model.seconds(Cycles(e.estimate.cycles)).value;
    e.samples_per_second = static_cast<double>(g.plan.global_batch()) / e.step_seconds;
  }
  return pass;
}

bool GivenCheck::agrees() const {
  const auto near = [](double r) { return r >= 0.99 && r <= 1.01; };
  return near(time) && memory >= 1 && memory <= 1.03 && executable >= 1 && near(ddr);
}

std::vector<GivenCheck> check_given(const GivenPlans& given, const GivenPass& pass, std::size_t sample, int threads) {
  const std::size_t count = std::min(sample, given.plans.size());
  std::vector<GivenCheck> checks(count);
  parallel_for(count, threads, [&](std::size_t k) {
    const std::size_t i = k * given.plans.size() / count;
    checks[k] = check_one(given.plans[i], pass.estimates[i].estimate, i);
  });
  return checks;
}

}  // namespace superstep
