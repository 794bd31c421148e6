// SPDX-License-Identifier: Apache-2.0
// All benchmarks as one table; --benchmark_out=FILE writes them as JSON as well. bench/run starts it.
#include <benchmark/benchmark.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "bench/whole_jobs.h"
#include "model/quantity_text.h"
#include "traces/text_table.h"

namespace {

using superstep::TextTable;

class TableReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override {
    table_.headings = {"what", "time", "plans/s and core", "peak MiB", "and"};
    table_.left_columns = {4};
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      std::string more;
      std::map<std::string, std::string> own = {{"plans/s", ""}, {"peak_MiB", ""}};
      for (const auto& [name, counter] : run.counters) {
        const std::string value = superstep::figure(counter.value);
        if (const auto column = own.find(name); column != own.end())
          column->second = value;
        else
          more += (more.empty() ? "" : ", ") + name + " " + value;
      }
      // Whole jobs by the clock on the wall; what is short by the processor's, which others on the computer disturb
      // less.
      const bool job = run.benchmark_name().starts_with("job/");
      const double seconds = (job ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime()) /
                             benchmark::GetTimeUnitMultiplier(run.time_unit);
      rates_[name_of(run)] = 1 / seconds;
      std::cerr << name_of(run) << " done\n";
      table_.add({name_of(run), run.error_occurred ? "failed" : to_text(superstep::Seconds(seconds)), own["plans/s"],
                  own["peak_MiB"], run.error_occurred ? run.error_message : more});
    }
  }
  void Finalize() override {
    std::cout << table_.to_string({.columns = 180});
    compare("evaluate_bert_large_pipeline", "lower_and_time_bert_large_pipeline");
    compare("evaluate_gpt3_phases", "lower_and_time_gpt3_phases");
  }

 private:
  TextTable table_;
  std::map<std::string, double> rates_;

  // Without how often it was run: "job/gpt-1t-64000/iterations:1/real_time".
  static std::string name_of(const Run& run) {
    const std::string name = run.benchmark_name();
    return name.substr(0, name.find("/iterations:"));
  }
  void compare(const std::string& mine, const std::string& other) const {
    if (!rates_.contains(mine) || !rates_.contains(other)) return;
    std::cout << mine << " is " << superstep::figure(rates_.at(mine) / rates_.at(other)) << " times as fast as "
              << other << " in this run.\n";
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--job") return superstep::run_whole_job(argv[2]);
  superstep::register_whole_jobs(std::filesystem::canonical("/proc/self/exe").string());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  TableReporter table;
  benchmark::RunSpecifiedBenchmarks(&table);
  benchmark::Shutdown();
}
