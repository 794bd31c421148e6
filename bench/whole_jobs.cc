// SPDX-License-Identifier: Apache-2.0
#include "bench/whole_jobs.h"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "planner/report/evaluated.h"
#include "planner/search/search.h"

namespace superstep {
namespace {

// Jobs 1, 2 and 4 that the planner was first built for, and the two that leave everything free.
constexpr const char* kJobs[] = {"bert-large-pod16", "bert-large-pod16-free", "gpt3-175b-pod256",
                                 "gpt3-175b-pod256-batch128", "gpt-1t-64000"};

// Most memory this process ever had. getrusage() would also count that of whoever started it.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024;
  }
  return 0;
}

void whole_job(benchmark::State& state, const std::string& command) {
  for (auto _ : state) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> child(popen(command.c_str(), "r"), pclose);
    std::string text;
    for (int c = 0; child && (c = std::fgetc(child.get())) != EOF;) text += static_cast<char>(c);
    const nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
    if (!result.is_object()) return state.SkipWithError("the job failed");
    for (const auto& [key, value] : result.items()) state.counters[key] = value.get<double>();
  }
}

}  // namespace

void register_whole_jobs(const std::string& program) {
  for (const char* job : kJobs) {
    const std::string name = job;
    const std::string command = std::string("'").append(program).append("' --job ").append(name);
    benchmark::RegisterBenchmark(std::string("job/").append(name).c_str(), whole_job, command)
        ->Unit(benchmark::kSecond)
        ->Iterations(1)
        ->UseRealTime();
  }
}

int run_whole_job(const std::string& name) {
  const Job job = load_job(SUPERSTEP_SOURCE "/data/jobs/" + name + ".json");
  const CostModel model(job.machine, load_calibration());
  Tables tables(job, model);
  SearchOptions options;
  options.time_limit = 50;  // as the command line has it
  const SearchResult r = search(tables, options);
  if (!r.best.empty()) benchmark::DoNotOptimize(evaluate_in_full(tables, r.best[0].plan));
  std::cout << nlohmann::json{
      {"explored", r.stats.explored}, {"pruned", r.stats.pruned},           {"feasible", r.stats.feasible},
      {"gap", r.stats.gap},           {"optimal", r.stats.optimal ? 1 : 0}, {"table_s", r.stats.table_seconds},
      {"peak_MiB", peak_mib()}};
  return 0;
}

}  // namespace superstep
