// SPDX-License-Identifier: Apache-2.0
#include "planner/run/run.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "model/error.h"
#include "model/graph/statistics.h"
#include "model/numerics/blas.h"
#include "model/numerics/team.h"
#include "model/training/checkpoint.h"
#include "model/training/data_set.h"
#include "model/training/initial_values.h"
#include "model/training/non_finite.h"
#include "model/training/trainer.h"
#include "planner/search/search.h"

namespace superstep {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Calls f. Adds `place` to an Error without a place.
template <class F>
auto with_place(const std::string& place, F f) {
  try {
    return f();
  } catch (const Error& e) {
    throw e.where.empty() ? Error(place, e.what()) : e;
  }
}

void check_memory(const Job& job, const Graph& graph, const Plan& plan) {
  double bytes = 0;
  for (const Tensor& tensor : graph.tensors) {
    const bool samples = tensor.kind == TensorKind::activation || tensor.kind == TensorKind::input;
    const auto times = samples ? plan.global_batch() / graph.micro_batch : std::int64_t{1};
    bytes += static_cast<double>(tensor.info.bytes().value) * static_cast<double>(times);
  }
  const double has = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  constexpr double kGiB = 0x1p30;
  if (bytes <= has) return;
  throw Error(job.source, "running " + job.model.name() + " on numbers takes about " +
                              std::to_string(std::llround(bytes / kGiB)) + " GiB for a global batch of " +
                              std::to_string(plan.global_batch()) + ", found " +
                              std::to_string(std::llround(has / kGiB)) +
                              " GiB of memory, expected more; a smaller batch, fewer layers or less hidden take less");
}

// Throws Error for statistics groups over several replicas with several micro-batches. In the plain model a group's
// samples follow each other; in such a plan they do not.
void check_groups(const Job& job, const Graph& graph, const Plan& plan) {
  if (plan.gradient_accumulation == 1 || replicas_of_group(graph) == 1) return;
  throw Error(job.source + "#/plan/gradient_accumulation",
              "found " + std::to_string(plan.gradient_accumulation) + " with statistics groups of " +
                  std::to_string(graph.statistics_group) + " samples over " + std::to_string(replicas_of_group(graph)) +
                  " replicas; run takes such groups with gradient_accumulation 1 only (estimate and plan take more)");
}

// Returns the graph of the model on the global batch. Without a statistics group of its own, the model gets the plan's
// group: a micro-batch.
Graph plain_model(Job job, const Plan& plan) {
  if (job.model.zoo) {
    if (std::int64_t* group = statistics_group_of(*job.model.zoo); group && *group == 0) *group = plan.micro_batch;
  }
  return build_graph(job, plan.global_batch());
}

const numerics::Blas* chosen_blas(const Job& job) {
  if (!job.run.openblas) return nullptr;
  try {
    return &numerics::Blas::found();
  } catch (const std::runtime_error& e) {
    throw Error(job.source + "#/run/engine", std::string("found \"openblas\", but it cannot be loaded: ") + e.what() +
                                                 "; expected \"own\", or an installed OpenBLAS (Debian: "
                                                 "libopenblas0-pthread)");
  }
}

int thread_count(int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

class Session {
 public:
  Session(Tables& tables, const Plan& plan, const Program& program, const RunOptions& options)
      : job_(tables.job()),
        plan_(plan),
        program_(program),
        options_(options),
        table_(tables.table(table_key(plan))),
        graph_(tables.facts(plan.micro_batch).graph),
        identity_(identity_of(graph_, job_.optimizer)),
        split_{job_.run.instances, plan.replicas, plan.gradient_accumulation, plan.micro_batch},
        team_(thread_count(options.threads)),
        blas_(chosen_blas(job_)) {
    check_memory(job_, graph_, plan);
    if (plan.replicas % split_.instances != 0)
      throw Error(job_.source + "#/run/instances", "found " + std::to_string(split_.instances) +
                                                       ", expected a divisor of the plan's " +
                                                       std::to_string(plan.replicas) + " replicas");
    check_groups(job_, graph_, plan);
    const std::int64_t fixed = job_.model.fixed_batch;
    has_plain_ = fixed == 0 || fixed == plan.global_batch();
    if (has_plain_)
      plain_ = plain_model(job_, plan);
    else
      out_.notes.push_back("not compared with the plain model, which takes all " + std::to_string(plan.global_batch()) +
                           " samples at once: " + job_.model.name() + " was exported for " + std::to_string(fixed) +
                           (fixed == 1 ? " sample" : " samples") + " and works with no other number");
  }

  RunOutcome run() {
    const DataSet data = samples();
    const TrainingState start = first_state();
    Trainer planned(
        graph_, [this](const auto& feeds, const auto& context) { return execute_step(feeds, arithmetic(context)); },
        start, job_.optimizer.clip_norm);
    Trainer plain(
        has_plain_ ? plain_ : graph_,
        [this](const auto& feeds, const auto& context) {
          return evaluate(plain_, feeds, arithmetic(context), outcomes(plain_));
        },
        start, job_.optimizer.clip_norm);
    out_.compared = compares();
    for (std::int64_t s = 0; s < job_.run.steps && !out_.failure; ++s) {
      if (options_.progress)
        options_.progress(static_cast<double>(s) / static_cast<double>(job_.run.steps),
                          "step " + std::to_string(planned.state().step));
      step(planned, plain, read_batch(data, split_, planned.state().step));
      if (!out_.failure) write_state(planned.state(), s + 1);
    }
    return std::move(out_);
  }

 private:
  bool compares() const { return options_.reference && has_plain_; }
  DataSet samples() const {
    if (job_.run.data != "random") return DataSet::open(graph_, job_.run.data);
    return DataSet::random(graph_, static_cast<std::uint64_t>(job_.run.seed), job_.run.samples);
  }

  LossScale loss_scale() const {
    return job_.run.automatic_loss_scale ? LossScale::found_while_training() : LossScale{.factor = job_.run.loss_scale};
  }

  TrainingState first_state() const {
    const auto seed = static_cast<std::uint64_t>(job_.run.seed);
    TrainingState state;
    if (!job_.run.resume.empty()) {
      state = read_checkpoint(job_.run.resume, identity_, seed);
      if (!job_.run.automatic_loss_scale || !state.loss_scale.automatic) state.loss_scale = loss_scale();
      return with_place(job_.run.resume, [&] { return Trainer(graph_, {}, state).state(); });
    }
    const WeightSource source = job_.run.random_weights ? WeightSource::drawn
                                : job_.model.zoo        ? WeightSource::stored_or_drawn
                                                        : WeightSource::stored;
    state.tensors = with_place(job_.model.zoo ? job_.source : job_.model.onnx, [&] {
      if (source != WeightSource::stored) return initial_values(graph_, source, seed);
      return initial_values(build_graph(job_, plan_.micro_batch, WeightValues::read), source, seed);
    });
    state.seed = seed;
    state.loss_scale = loss_scale();
    return state;
  }

  // Executes one optimiser step, or one batch of inference, under the plan.
  Values execute_step(const Values& feeds, KernelContext context) {
    context.blas = blas_;
    const bool exact = job_.run.mode == RunMode::exact;
    Executed executed =
        execute(program_, table_, plan_, feeds, context, exact ? Arithmetic::exact : Arithmetic::device);
    out_.collectives = std::move(executed.collectives);
    out_.cuts = listed(executed.cuts);
    for (const auto& [at, live] : executed.live) {
      if (!out_.live) out_.live.emplace();
      out_.live->held = std::max(out_.live->held, live.held);
      out_.live->costed = std::max(out_.live->costed, live.costed);
    }
    return std::move(executed.values);
  }

  KernelContext arithmetic(KernelContext context) {
    context.chunk = job_.run.chunk;
    context.rounding = job_.run.rounding;
    context.overflow = job_.run.overflow;
    context.team = &team_;
    return context;
  }

  std::vector<RunOutcome::Cut> listed(const std::map<OpId, Executed::Cut>& cuts) const {
    std::vector<RunOutcome::Cut> list;
    for (const auto& [op, cut] : cuts) {
      const auto same = [&](const RunOutcome::Cut& c) { return static_cast<const Executed::Cut&>(c) == cut; };
      if (const auto at = std::find_if(list.begin(), list.end(), same); at != list.end())
        ++at->times;
      else
        list.push_back({cut, graph_.ops[op].name, 1});
    }
    return list;
  }

  void step(Trainer& planned, Trainer& plain, const NamedValues& inputs) {
    const TrainingState before = planned.state();
    StepResult here, there;
    out_.plan_seconds += seconds_of([&] { here = planned.step(inputs); });
    if (compares()) out_.reference_seconds += seconds_of([&] { there = plain.step(inputs); });
    RunStep& row = out_.steps.emplace_back();
    row.step = here.step;
    row.loss_scale = here.loss_scale;
    row.skipped = here.skipped;
    if (job_.optimizer.clip_norm > 0) row.gradient_norm = here.gradient_norm;
    if (const auto at = here.results.find("loss"); at != here.results.end()) row.loss = at->second.at(0);
    if (const auto at = there.results.find("loss"); at != there.results.end()) row.reference_loss = at->second.at(0);
    if (!here.not_finite.empty()) return fail(before, here, inputs, "plan");
    if (!there.not_finite.empty()) return fail(plain.state(), there, inputs, "plain model");
    if (!compares()) return;
    leave_out_scalars(here, there);
    row.difference.add(compare_values(here.results, there.results));
    Difference gradients = compare_values(here.gradients, there.gradients);
    gradients.max_abs /= here.loss_scale;
    row.difference.add(gradients);
    row.difference.add(compare_values(planned.state().tensors, plain.state().tensors));
    out_.difference.add(row.difference);
  }

  // Removes outputs that are not lists of samples: a plan has one such output per micro-batch.
  void leave_out_scalars(StepResult& here, StepResult& there) {
    std::erase_if(there.results, [&](const auto& entry) {
      const auto at = here.results.find(entry.first);
      if (at != here.results.end() && at->second.info == entry.second.info) return false;
      here.results.erase(entry.first);
      const std::string note = entry.first + " is not compared: it is no list of samples";
      if (std::find(out_.notes.begin(), out_.notes.end(), note) == out_.notes.end()) out_.notes.push_back(note);
      return true;
    });
  }

  // Records the failure. The first non-finite value is looked for in the plain model, from the state before the step.
  void fail(const TrainingState& before, const StepResult& result, const NamedValues& inputs,
            const std::string& where) {
    RunFailure f{.step = result.step, .tensor = result.not_finite, .value = result.value, .where = where};
    out_.failure = f;
    if (!has_plain_) return;
    const Trainer plain(plain_, {}, before);
    const NonFinite origin =
        find_non_finite(plain_, plain.feeds(inputs), plain.context(), {result_named(plain_, result.not_finite)});
    if (origin.found()) {
      f.op = origin.op, f.kind = origin.kind, f.made = origin.tensor;
    } else if (const TensorId t = result_named(graph_, result.not_finite); graph_.tensors[t].producer.valid()) {
      const Op& op = graph_.ops[graph_.tensors[t].producer];
      f.op = op.name, f.kind = op.def->name, f.made = graph_.tensors[t].name;
      out_.notes.push_back("the plain model is finite there: it is the plan's types and order that overflow");
    }
    out_.failure = f;
  }

  void write_state(const TrainingState& state, std::int64_t done) const {
    const std::int64_t every = job_.run.checkpoint_every;
    const bool due = done == job_.run.steps || (every > 0 && done % every == 0);
    if (!job_.run.checkpoint.empty() && due) write_checkpoint(job_.run.checkpoint, state, identity_);
  }

  const Job& job_;
  const Plan& plan_;
  const Program& program_;
  const RunOptions& options_;
  const UnitTable& table_;
  const Graph& graph_;  // graph of a micro-batch
  Graph plain_;         // graph of the global batch, if has_plain_
  bool has_plain_ = true;
  const TrainingIdentity identity_;
  const BatchSplit split_;
  numerics::Team team_;
  const numerics::Blas* blas_;  // null: the project's own products
  RunOutcome out_;
};

}  // namespace

RunOutcome run_job(Tables& tables, const Plan& plan, const Program& program, const RunOptions& options) {
  return Session(tables, plan, program, options).run();
}

}  // namespace superstep
