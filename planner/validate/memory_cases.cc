// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/memory_cases.h"

#include <limits>
#include <mutex>

#include "model/error.h"
#include "model/parallel.h"
#include "planner/infeasible/evaluate_pinned.h"

namespace superstep {
namespace {

void estimate(JudgedCase& out) {
  const Job job = read_job(out.given.job, out.given.job_file);
  check_batch(job);
  const CostModel model(job.machine, load_calibration(job.machine.calibration));
  Tables tables(job, model);
  const Evaluated e = evaluate_pinned(tables, 1);
  out.model = job.model.name();
  out.machine = job.machine.name;
  out.plan = e.label;
  out.tile_peak = e.tile_peak;
  out.tile_limit = job.machine.chip.tile_memory.value;
  out.fit_probability = e.fit_probability;
  if (!e.overflows.empty()) out.overflow = e.overflows.front().constraint + " on " + e.overflows.front().where;
}

}  // namespace

std::vector<JudgedCase> judge_memory(const std::vector<MemoryCase>& cases, const ValidateOptions& options) {
  std::vector<JudgedCase> out(cases.size());
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(cases.size(), options.threads, [&](std::size_t i) {
    out[i].given = cases[i];
    try {
      estimate(out[i]);
    } catch (const Error& e) {
      out[i].failure = cases[i].placed(e.what());
      out[i].unsupported = dynamic_cast<const Unsupported*>(&e) != nullptr;
    }
    const std::lock_guard lock(mutex);
    ++done;
    if (options.progress) options.progress(static_cast<double>(done) / static_cast<double>(cases.size()), cases[i].id);
  });
  return out;
}

double brier_score(const std::vector<JudgedCase>& cases) {
  double sum = 0;
  int count = 0;
  for (const JudgedCase& c : cases) {
    if (!c.failure.empty()) continue;
    const double difference = c.fit_probability - (c.given.ran ? 1 : 0);
    sum += difference * difference;
    ++count;
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace superstep
