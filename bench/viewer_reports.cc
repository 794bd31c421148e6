// SPDX-License-Identifier: Apache-2.0
#include "bench/viewer_reports.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "traces/report_io.h"

namespace superstep {
namespace {

constexpr double kClock = 1.325e9;
constexpr int kIpus = 4;
constexpr std::int64_t kStepsOfFunction = 10'000;

report::Index frame(const std::string& title, int ipus, std::int64_t cycles) {
  report::Index index;
  index.set_title(title);
  index.set_created_by("bench");
  index.set_machine_name("ipu-pod4");
  index.set_clock_hz(kClock);
  index.set_tiles_per_ipu(1472);
  const double seconds = static_cast<double>(cycles) / kClock;
  auto* plan = index.mutable_plan();
  plan->set_label("t=1 p=4 r=1 m=1 g=1");
  plan->set_samples_per_second(1 / seconds);
  plan->set_step_time_s(seconds);
  plan->set_fits("fits");
  plan->set_tile_limit_bytes(638976);
  plan->set_tile_peak_bytes(600000);
  plan->set_ipus(ipus);
  auto* term = index.add_waterfall();
  term->set_name("compute");
  term->set_kind("compute");
  term->set_seconds(seconds);
  for (int i = 0; i < ipus; ++i) {
    auto* ipu = index.add_ipu_classes();
    ipu->set_name("IPU " + std::to_string(i));
    ipu->set_count(1);
    ipu->set_tile_limit_bytes(638976);
    ipu->set_tile_peak_bytes(600000 - i);
  }
  return index;
}

struct Steps {
  std::vector<std::int64_t> function, cycles, compute, exchange, sync, bytes, live;
  std::vector<std::string> names, kinds, terms;  // by row modulo
};

Steps random_steps(std::int64_t n) {
  std::mt19937_64 random(7);
  Steps s;
  for (auto* column : {&s.function, &s.cycles, &s.compute, &s.exchange, &s.sync, &s.bytes, &s.live}) {
    column->resize(static_cast<std::size_t>(n));
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const bool computes = i % 2 == 1;
    const auto work = static_cast<std::int64_t>(500 + random() % 60'000);
    s.function[i] = static_cast<std::int64_t>(i) / kStepsOfFunction;
    s.compute[i] = computes ? work : 0;
    s.exchange[i] = computes ? 0 : work;
    s.sync[i] = 200;
    s.cycles[i] = work + 200;
    s.bytes[i] = computes ? 0 : work * 1472 * 4;
    s.live[i] = static_cast<std::int64_t>(100'000 + random() % 300'000);
  }
  return s;
}

void add_step_columns(ReportWriter& out, const Steps& s) {
  const std::size_t n = s.cycles.size();
  std::vector<std::string> texts(n);
  for (std::size_t i = 0; i < n; ++i)
    texts[i] = "layer" + std::to_string(i % 3000 / 30) + "/op" + std::to_string(i % 30);
  out.add_texts("step.name", texts);
  for (std::size_t i = 0; i < n; ++i) texts[i] = i % 2 == 1 ? "compute" : "exchange";
  out.add_texts("step.kind", texts);
  for (std::size_t i = 0; i < n; ++i) texts[i] = i % 2 == 1 ? "AMP rows" : "operand exchange";
  out.add_texts("step.term", texts);
  out.add_integers("step.function", "index", s.function);
  out.add_integers("step.cycles", "cycles", s.cycles);
  out.add_integers("step.compute_cycles", "cycles", s.compute);
  out.add_integers("step.exchange_cycles", "cycles", s.exchange);
  out.add_integers("step.sync_cycles", "cycles", s.sync);
  out.add_integers("step.bytes", "bytes", s.bytes);
  out.add_integers("step.live_bytes", "bytes", s.live);
}

// Each IPU calls its part of the functions.
std::int64_t add_program(report::Index& index, const Steps& s) {
  const auto n = static_cast<std::int64_t>(s.cycles.size());
  const std::int64_t functions = n / kStepsOfFunction;
  report::ProgramNode root;
  root.set_name("optimizer step");
  root.set_kind("sequence");
  root.set_count(1);
  root.set_ipu_class(-1);
  root.set_function(-1);
  auto* all = root.add_children();
  *all = root;
  all->clear_children();
  all->set_kind("parallel");
  std::int64_t longest = 0;
  for (int ipu = 0; ipu < kIpus; ++ipu) {
    auto* own = all->add_children();
    own->set_name("IPU " + std::to_string(ipu));
    own->set_kind("sequence");
    own->set_count(1);
    own->set_ipu_class(ipu);
    own->set_function(-1);
    std::int64_t sum = 0;
    for (std::int64_t f = ipu * functions / kIpus; f < (ipu + 1) * functions / kIpus; ++f) {
      auto* call = own->add_children();
      call->set_name("block" + std::to_string(f) + " forward");
      call->set_kind("call");
      call->set_count(1);
      call->set_ipu_class(ipu);
      call->set_function(f);
      call->set_lag(-1);
      call->set_work("forward");
      call->set_cycles(index.functions(static_cast<int>(f)).cycles());
      sum += call->cycles();
    }
    own->set_cycles(sum);
    longest = std::max(longest, sum);
  }
  all->set_cycles(longest);
  root.set_cycles(longest);
  *index.mutable_program() = root;
  return longest;
}

}  // namespace

void write_long_trace(const std::filesystem::path& path, std::int64_t steps) {
  const Steps s = random_steps(steps / kStepsOfFunction * kStepsOfFunction);
  ReportWriter columns;
  add_step_columns(columns, s);
  report::Index index;
  for (std::int64_t f = 0; f < static_cast<std::int64_t>(s.cycles.size()) / kStepsOfFunction; ++f) {
    auto* function = index.add_functions();
    function->set_name("block" + std::to_string(f) + " forward");
    function->set_first_step(f * kStepsOfFunction);
    function->set_steps(kStepsOfFunction);
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < kStepsOfFunction; ++i) {
      sum += s.cycles[static_cast<std::size_t>(f * kStepsOfFunction + i)];
    }
    function->set_cycles(sum);
  }
  const std::int64_t cycles = add_program(index, s);
  report::Index whole = frame("a trace of " + std::to_string(s.cycles.size()) + " slices", kIpus, cycles);
  whole.MergeFrom(index);
  columns.finish(whole, path);
}

void write_wide_heat_map(const std::filesystem::path& path, std::int64_t phases) {
  std::mt19937_64 random(11);
  std::vector<std::string> names, groups;
  std::vector<std::int64_t> ipu, cycles, repeats, phase, first, count, compute, exchange, memory;
  for (std::int64_t p = 0; p < phases; ++p) {
    const bool forward = p < phases / 3;
    names.push_back("layer" + std::to_string(p / 30) + "/op" + std::to_string(p % 30) +
                    (forward ? " forward" : " backward"));
    groups.push_back(forward ? "forward" : "backward");
    ipu.push_back(0);
    cycles.push_back(static_cast<std::int64_t>(1000 + random() % 60'000));
    repeats.push_back(1);
    const auto classes = static_cast<std::int64_t>(3 + random() % 7);
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t from = 1472 * c / classes, to = 1472 * (c + 1) / classes;
      phase.push_back(p);
      first.push_back(from);
      count.push_back(to - from);
      compute.push_back(static_cast<std::int64_t>(random() % 60'000));
      exchange.push_back(static_cast<std::int64_t>(random() % 400'000));
      memory.push_back(static_cast<std::int64_t>(200'000 + random() % 400'000));
    }
  }
  ReportWriter out;
  out.add_texts("heat.phase", names);
  out.add_texts("heat.phase_group", groups);
  out.add_integers("heat.phase_ipu_class", "index", ipu);
  out.add_integers("heat.phase_cycles", "cycles", cycles);
  out.add_integers("heat.phase_repeats", "index", repeats);
  out.add_integers("tile.phase", "index", phase);
  out.add_integers("tile.first", "index", first);
  out.add_integers("tile.count", "index", count);
  out.add_integers("tile.compute_cycles", "cycles", compute);
  out.add_integers("tile.exchange_bytes", "bytes", exchange);
  out.add_integers("tile.memory_bytes", "bytes", memory);
  out.finish(frame("a heat map of " + std::to_string(phases) + " phases", 1, 1'000'000'000), path);
}

}  // namespace superstep
