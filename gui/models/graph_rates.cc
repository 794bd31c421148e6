// SPDX-License-Identifier: Apache-2.0
#include "gui/models/graph_rates.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "gui/models/liveness.h"

namespace superstep::gui {
namespace {

std::unordered_map<std::string, std::int64_t> streams_by_name(const ReportFile& report) {
  std::unordered_map<std::string, std::int64_t> most;
  if (!report.has_column("stream.name")) return most;
  const TextColumn name = report.column_texts("stream.name");
  const auto load = report.column_integers("stream.load_bytes"), store = report.column_integers("stream.store_bytes");
  for (std::size_t i = 0; i < std::min({name.size(), load.size(), store.size()}); ++i) {
    const auto [it, fresh] = most.try_emplace(name[i], 0);
    it->second = std::max(it->second, load[i] + store[i]);
  }
  return most;
}

// By function, of one call.
std::vector<std::int64_t> exchange_of(const report::Index& index, const Steps& steps) {
  std::vector<std::int64_t> out;
  for (int f = 0; f < index.functions_size(); ++f) {
    const auto [first, end] = steps_of_function(index, steps, f);
    std::int64_t bytes = 0;
    for (std::int64_t s = first; s < end; ++s) {
      const auto row = static_cast<std::size_t>(s);
      if (steps.kind[row] == "exchange") bytes += steps.bytes[row];
    }
    out.push_back(bytes);
  }
  return out;
}

}  // namespace

std::vector<PhaseRates> phase_rates(const ReportFile& report, const Phases& phases, const Steps& steps,
                                    const HeatData& heat) {
  const auto streams = streams_by_name(report);
  const auto exchange = exchange_of(report.index(), steps);
  // A pipeline's fill and drain run nothing: a call is as often as it has micro-batches.
  std::unordered_map<std::string, std::int64_t> times;
  for (const HeatPhase& p : heat.phases) times[p.name] = p.repeats;
  std::vector<PhaseRates> out;
  for (const GraphPhase& phase : phases.list) {
    PhaseRates rates;
    const auto found = streams.find(phase.row.name);
    if (found != streams.end() && !phases.calls) rates.stream_bytes = found->second;
    std::map<int, std::int64_t> by_ipu;
    for (const PhaseWork& work : phase.works) {
      if (work.function < 0 || work.function >= std::ssize(exchange)) continue;
      const auto known = times.find(work.name);
      const std::int64_t runs = phases.calls           ? 1
                                : known == times.end() ? work.runs
                                                       : std::min(work.runs, known->second);
      by_ipu[work.ipu_class] += exchange[static_cast<std::size_t>(work.function)] * runs;
    }
    for (const auto& [ipu, bytes] : by_ipu) rates.exchange_bytes = std::max(rates.exchange_bytes, bytes);
    out.push_back(rates);
  }
  return out;
}

}  // namespace superstep::gui
