// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/given_plans.h"

#include <time.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "model/cost/cost.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/parallel.h"
#include "planner/job/partitions.h"
#include "planner/job/plan_fields.h"
#include "planner/search/search.h"

namespace superstep {
namespace {

using nlohmann::json;
// Returns seconds of processor time of this thread; other threads may share the core.
double core_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Returns a job without the fields that differ from plan to plan. Equal questions are read once.
json question_of(const json& line) {
  json question = line;
  for (const char* key : {"$schema", "description", "plan"}) question.erase(key);
  const json::json_pointer precision("/plan/precision");
  if (line.contains(precision)) question["plan"]["precision"] = line.at(precision);
  return question;
}

// Returns the part of a plan that determines a Setting: all fields but the cuts. Stages stay if they have bounds of
// their own.
Plan without_cuts(Plan plan) {
  if (plan.stage_proportions.empty()) plan.stages.clear();
  plan.stage_ipu.clear();
  plan.recompute = {Recompute::none};
  plan.phases = plan.phased() ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0};
  return plan;
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
    for (const json::json_pointer& list : lists_of(line)) not_one_value(where + "#" + list.to_string(), "several");
    const Question& question = question_for(line, where);
    const Plan plan = plan_of(read_pins(line["plan"], where, "/plan"), where);
    check(plan, question, where);
    GivenSetting& setting = setting_for(*question.world, plan);
    setting.lines.push_back(number);
    setting.cuts.add(plan);
  }

 private:
  struct Question {
    GivenJob* world = nullptr;
    std::int64_t global_batch = 0;  // 0: free
  };

  const Question& question_for(const json& line, const std::string& where) {
    const json question = question_of(line);
    const auto [at, fresh] = questions_.try_emplace(question.dump());
    if (!fresh) return at->second;
    try {
      Job job = read_job(question, where);
      at->second.global_batch = job.global_batch;
      GivenJob*& world = worlds_[tables_key(job)];
      if (world == nullptr) world = out_.worlds.emplace_back(std::make_unique<GivenJob>(std::move(job))).get();
      at->second.world = world;
    } catch (...) {
      questions_.erase(at);
      throw;
    }
    return at->second;
  }

  static void check(const Plan& plan, const Question& question, const std::string& where) {
    if (question.global_batch > 0 && plan.global_batch() != question.global_batch)
      throw Error(where + "#/batch/global", "found " + std::to_string(question.global_batch) +
                                                ", expected replicas x micro_batch x gradient_accumulation = " +
                                                std::to_string(plan.global_batch()));
    Tables& tables = question.world->tables;
    const std::string problem =
        check_plan(plan, tables.facts(plan.micro_batch), question.world->job.machine, tables.training());
    if (!problem.empty()) throw Error(where + "#/plan", problem);
  }

  GivenSetting& setting_for(GivenJob& world, const Plan& plan) {
    const auto [at, fresh] = settings_.try_emplace({&world, to_json(without_cuts(plan)).dump()}, out_.settings.size());
    if (fresh) out_.settings.push_back({&world, plan, {}, {}});
    return out_.settings[at->second];
  }

  GivenPlans& out_;
  std::map<std::string, Question> questions_;
  std::map<std::string, GivenJob*> worlds_;  // by tables_key()
  std::map<std::pair<const GivenJob*, std::string>, std::size_t> settings_;
};

Setting make_setting(const GivenSetting& g) {
  return Setting(g.world->tables.table(table_key(g.plan)), g.plan, g.world->job.optimizer, g.plan.phased());
}

double ratio(std::int64_t a, std::int64_t b) {
  return b == 0 ? (a == 0 ? 1 : 1e9) : static_cast<double>(a) / static_cast<double>(b);
}

GivenCheck check_one(GivenJob& world, const Plan& plan, const GivenEstimate& given) {
  const Estimate& estimate = given.estimate;
  const Program program = lower(world.tables.table(table_key(plan)), plan, world.job.optimizer);
  const Timeline timeline = cost(program, world.model);
  std::int64_t peak = 0, executable = 0, ddr = 0;
  for (std::size_t i = 0; i < program.ipus(); ++i) {
    peak = std::max(peak, timeline.tile_peak(i).value);
    executable = std::max(executable, program.executable(i).value);
    ddr = std::max(ddr, program.ddr[i].total().value);
  }
  return {given.line, ratio(estimate.cycles, timeline.step.total().value), ratio(estimate.tile_peak, peak),
          ratio(estimate.executable, executable), ratio(estimate.ddr, ddr)};
}

}  // namespace

GivenJob::GivenJob(Job of_line)
    : job(std::move(of_line)), model(job.machine, load_calibration(job.machine.calibration)), tables(job, model) {}

void GivenCuts::add(const Plan& plan) {
  begins_.push_back(words_.size());
  const auto append = [&](const auto& list) {
    words_.push_back(static_cast<std::int32_t>(list.size()));
    for (const auto value : list) words_.push_back(static_cast<std::int32_t>(value));
  };
  append(plan.stages);
  append(plan.stage_ipu);
  append(plan.phases);
  append(plan.recompute);
}

void GivenCuts::put_into(Plan& plan, std::size_t i) const {
  const std::int32_t* words = words_.data() + begins_[i];
  const auto take = [&]<class T>(std::vector<T>& list) {
    list.resize(static_cast<std::size_t>(*words));
    std::transform(words + 1, words + 1 + list.size(), list.begin(), [](std::int32_t w) { return static_cast<T>(w); });
    words += 1 + list.size();
  };
  take(plan.stages);
  take(plan.stage_ipu);
  take(plan.phases);
  take(plan.recompute);
}

std::size_t GivenPlans::size() const {
  std::size_t plans = 0;
  for (const GivenSetting& s : settings) plans += s.cuts.size();
  return plans;
}

GivenPlans read_given_plans(std::istream& lines, const std::string& name) {
  GivenPlans given;
  LineReader reader(given);
  std::string text;
  for (std::int64_t number = 1; std::getline(lines, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    reader.read(text, name + " line " + std::to_string(number), number);
  }
  if (given.settings.empty()) throw Error(name, "found no line, expected a job with a plan in full on each");
  return given;
}

GivenPass evaluate_given(const GivenPlans& given) {
  // Settings that are made together. The clock is read once per group, because its own time would count.
  constexpr std::size_t kSettings = 64;
  GivenPass pass;
  pass.estimates.resize(given.size());
  auto next = pass.estimates.begin();
  for (std::size_t begin = 0; begin < given.settings.size(); begin += kSettings) {
    const std::size_t count = std::min(kSettings, given.settings.size() - begin);
    const GivenSetting* chosen = &given.settings[begin];
    std::vector<Setting> settings;
    std::vector<Evaluator> evaluators;
    std::vector<Plan> plans;
    settings.reserve(count);
    evaluators.reserve(count);
    for (std::size_t k = 0; k < count; ++k) {  // the time of tables is not measured
      chosen[k].world->tables.table(table_key(chosen[k].plan));
      plans.push_back(chosen[k].plan);
    }
    double start = core_seconds();
    for (std::size_t k = 0; k < count; ++k) {
      settings.push_back(make_setting(chosen[k]));
      evaluators.emplace_back(settings.back());
    }
    pass.setting_seconds += core_seconds() - start;
    const auto first = next;
    start = core_seconds();
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < chosen[k].cuts.size(); ++i, ++next) {
        chosen[k].cuts.put_into(plans[k], i);
        next->estimate = evaluators[k](plans[k]);
      }
    }
    pass.evaluation_seconds += core_seconds() - start;
    next = first;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < chosen[k].cuts.size(); ++i, ++next) {
        next->line = chosen[k].lines[i];
        next->fits = next->estimate.fits(settings[k]);
        next->step_seconds = chosen[k].world->model.seconds(Cycles(next->estimate.cycles)).value;
        next->samples_per_second = static_cast<double>(plans[k].global_batch()) / next->step_seconds;
      }
    }
  }
  return pass;
}

bool GivenCheck::agrees() const {
  const auto near = [](double r) { return r >= 0.99 && r <= 1.01; };
  return near(time) && memory >= 1 && memory <= 1.03 && executable >= 1 && near(ddr);
}

std::vector<GivenCheck> check_given(const GivenPlans& given, const GivenPass& pass, std::size_t sample, int threads) {
  const std::size_t plans = given.size(), count = std::min(sample, plans);
  std::vector<GivenCheck> checks(count);
  parallel_for(count, threads, [&](std::size_t k) {
    const std::size_t number = k * plans / count;
    std::size_t i = number;
    auto setting = given.settings.begin();
    for (; i >= setting->cuts.size(); ++setting) i -= setting->cuts.size();
    Plan plan = setting->plan;
    setting->cuts.put_into(plan, i);
    checks[k] = check_one(*setting->world, plan, pass.estimates[number]);
  });
  return checks;
}

}  // namespace superstep
