// SPDX-License-Identifier: Apache-2.0
// What a search leaves in a report: plans that were found, and cells whose settings add up to the summary's.
#pragma once

#include "tests/traces/example_report.h"

namespace superstep {

inline void add_search_example(ExampleReport& example, int found = 40) {
  std::vector<std::string> labels, plans;
  std::vector<double> rates, seconds;
  std::vector<std::int64_t> peaks, ddr, ipus, one, stages, replicas, micro, accumulation;
  for (int i = 0; i < found; ++i) {
    const int p = 1 << (i % 4), m = 1 + i % 3;
    const std::string g = std::to_string(1536 / (16 / p) / m);
    labels.push_back("t=1 p=" + std::to_string(p) + " r=" + std::to_string(16 / p) + " m=" + std::to_string(m));
    plans.push_back("{\"tensor_parallel\": 1, \"pipeline_stages\": " + std::to_string(p) +
                    ", \"replicas\": " + std::to_string(16 / p) + ", \"micro_batch\": " + std::to_string(m) +
                    ", \"gradient_accumulation\": " + g + ", \"recompute\": \"layer\", \"phases\": [0]}");
    rates.push_back(300 + 10.5 * i);
    seconds.push_back(1536 / rates.back());
    peaks.push_back((400 + (i * 37) % 220) * 1024);
    ddr.push_back(i * 1048576);
    ipus.push_back(16);
    one.push_back(1);
    stages.push_back(p);
    replicas.push_back(16 / p);
    micro.push_back(m);
    accumulation.push_back(std::stoi(g));
  }
  ReportWriter& columns = example.columns;
  columns.add_texts("candidate.label", labels);
  columns.add_texts("candidate.plan", plans);
  columns.add_reals("candidate.samples_per_second", "per second", rates);
  columns.add_reals("candidate.step_time", "seconds", seconds);
  columns.add_integers("candidate.tile_peak", "bytes", peaks);
  columns.add_integers("candidate.ddr", "bytes", ddr);
  columns.add_integers("candidate.ipus", "index", ipus);
  example.index.mutable_search()->set_candidates(5678);
  example.index.mutable_search()->set_explored(700);
  example.index.mutable_search()->set_pruned(4300);

  const auto integers = [&](const char* name, std::vector<std::int64_t> values) {
    columns.add_integers(name, "index", values);
  };
  columns.add_texts("cell.tensor_parallel", std::vector<std::string>{"1", "1", "4x4"});
  columns.add_texts("cell.placement", std::vector<std::string>{"t-p-r", "p-r-t", "t-p-r"});
  columns.add_texts("cell.shard_groups", std::vector<std::string>{"consecutive", "orthogonal", "consecutive"});
  columns.add_texts("cell.fate", std::vector<std::string>{"opened", "excluded", "does not fit"});
  columns.add_reals("cell.settings", "index", std::vector<double>{2000, 2500, 500});
  columns.add_reals("cell.bound", "per second", std::vector<double>{950.5, 300.25, 0});
  integers("cell.pipeline_stages", {4, 2, 1});
  integers("cell.replicas", {4, 8, 1});
  integers("cell.micro_batch", {1, 1, 1});
  integers("cell.gradient_accumulation", {384, 192, 1536});
}

}  // namespace superstep
