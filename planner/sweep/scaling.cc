// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/scaling.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/machine/load_machine.h"
#include "planner/sweep/plan_job.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr std::array<ScalingKind, 2> kKinds = {ScalingKind::strong, ScalingKind::weak};

// Returns a machine's name without the number at its end; empty if there is no such number.
std::string family_of(const std::string& machine) {
  std::size_t end = machine.size();
  while (end > 0 && std::isdigit(static_cast<unsigned char>(machine[end - 1])) != 0) --end;
  return end == machine.size() ? "" : machine.substr(0, end);
}

// Returns the machine's name as the job gives the name. Throws Error for a partition of a machine.
std::string machine_name(const Job& job) {
  const json& machine = job.json().at("machine");
  if (machine.is_string()) return machine.get<std::string>();
  if (machine.contains("partition"))
    throw Error(job.source + "#/machine/partition", "found a part of a machine, expected whole ones to scale over");
  return machine.at("base").get<std::string>();
}

std::map<std::int64_t, std::string> family(const Job& job) {
  const std::string name = machine_name(job), stem = family_of(name);
  std::map<std::int64_t, std::string> members;
  for (const std::string& other : machine_names()) {
    if (!stem.empty() && family_of(other) == stem) members[std::stoll(other.substr(stem.size()))] = other;
  }
  const auto has = [&](const auto& member) { return member.second == name; };
  if (members.size() < 2 || std::none_of(members.begin(), members.end(), has))
    throw Error(job.source + "#/machine", "found \"" + name +
                                              "\", expected a machine of a family with several sizes, such as "
                                              "ipu-pod16 or bow-pod16");
  return members;
}

std::vector<std::int64_t> sizes_to_plan(const Job& job, const ScalingOptions& options) {
  std::vector<std::int64_t> all = sizes_of_family(job), wanted = options.ipus.empty() ? all : options.ipus;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (std::int64_t n : wanted) {
    if (std::find(all.begin(), all.end(), n) != all.end()) continue;
    std::string list;
    for (std::int64_t known : all) list += (list.empty() ? "" : ", ") + std::to_string(known);
    throw Error("--sizes", "found " + std::to_string(n) + ", expected some of " + list);
  }
  return wanted;
}

void plan_size(ScaledSize& size, const Job& job, const SearchOptions& options) {
  const PlannedJob planned = plan_job(job, options);
  size.failure = planned.reason;
  size.plan = planned.plan;
  size.fits = planned.fits;
  size.samples_per_second = planned.samples_per_second;
  size.step_seconds = planned.step_seconds;
  size.step_band = planned.step_band;
  size.gap = planned.gap;
  size.not_validated = planned.not_validated;
}

SearchOptions search_options(const ScalingOptions& options) {
  SearchOptions out;
  out.top = 1;
  out.time_limit = options.time_limit;
  out.pareto = out.find_fix = false;
  out.threads = options.threads;
  out.progress = options.progress;
  return out;
}

// Returns the planned size. Strong and weak scaling coincide on the job's own machine, which is planned once; `before`
// holds the sizes planned so far.
ScaledSize sized(const Job& job, ScalingKind kind, std::int64_t ipus, const std::vector<ScaledSize>& before,
                 const ScalingOptions& options) {
  ScaledSize size;
  size.kind = kind;
  size.ipus = ipus;
  size.machine = family(job).at(ipus);
  size.rated_power = load_machine(size.machine).rated_power;
  try {
    const Job scaled = read_job(scaled_job(job, kind, ipus), job.source);
    size.rated_power = scaled.machine.rated_power;
    size.global_batch = scaled.global_batch;
    for (const ScaledSize& s : before) {
      if (s.ipus != ipus || s.global_batch != size.global_batch) continue;
      size = s;
      size.kind = kind;
      return size;
    }
    plan_size(size, scaled, search_options(options));
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& e) {
    size.failure = without_file(e.what(), job.source);
  }
  return size;
}

void compare_with_smallest(std::vector<ScaledSize>& sizes) {
  const ScaledSize* base = nullptr;
  for (ScaledSize& s : sizes) {
    if (!s.failure.empty()) continue;
    if (base == nullptr || base->kind != s.kind) base = &s;
    s.speed_up = s.samples_per_second / base->samples_per_second;
    s.efficiency = s.speed_up * static_cast<double>(base->ipus) / static_cast<double>(s.ipus);
  }
}

json row_json(const ScaledSize& s) {
  json j = {{"machine", s.machine},
            {"ipus", s.ipus},
            {"global_batch", s.global_batch},
            {"rated_power_w", s.rated_power.value}};
  if (!s.failure.empty()) {
    j["failure"] = s.failure;
    return j;
  }
  j.update({{"plan", to_json(s.plan)},
            {"label", label(s.plan)},
            {"fits", s.fits},
            {"samples_per_second", s.samples_per_second},
            {"step_time_s", s.step_seconds},
            {"step_time_band_s", {s.step_band.low, s.step_band.high}},
            {"gap", s.gap},
            {"speed_up", s.speed_up},
            {"efficiency", s.efficiency},
            {"samples_per_joule", s.samples_per_joule()},
            {"not_validated", s.not_validated}});
  return j;
}

}  // namespace

const char* name_of(ScalingKind kind) { return kind == ScalingKind::strong ? "strong" : "weak"; }

std::vector<std::int64_t> sizes_of_family(const Job& job) {
  std::vector<std::int64_t> sizes;
  for (const auto& [ipus, name] : family(job)) sizes.push_back(ipus);
  return sizes;
}

json scaled_job(const Job& job, ScalingKind kind, std::int64_t ipus) {
  json scaled = job.json();
  json& machine = scaled["machine"];
  (machine.is_string() ? machine : machine["base"]) = family(job).at(ipus);
  if (scaled.contains("plan")) {
    for (const char* key : {"replicas", "gradient_accumulation", "replicated_tensor_sharding"})
      scaled["plan"].erase(key);
  }
  scaled["limits"]["ipus"] = {{"min", ipus}, {"max", ipus}};  // each size is planned as a whole
  if (kind == ScalingKind::strong) return scaled;
  const std::int64_t samples = job.global_batch * ipus;
  if (samples % job.machine.ipus != 0)
    throw Error(job.source + "#/batch/global", "found " + std::to_string(job.global_batch) + " on " +
                                                   std::to_string(job.machine.ipus) + " IPUs, of which " +
                                                   std::to_string(ipus) + " would have no whole share");
  scaled["batch"]["global"] = samples / job.machine.ipus;
  return scaled;
}

Scaling scale(const Job& job, const ScalingOptions& options) {
  if (job.global_batch == 0)
    throw Error(job.source + "#/batch/global",
                "found none, expected the samples of a step, which scaling keeps or grows");
  const std::vector<std::int64_t> sizes = sizes_to_plan(job, options);
  Scaling out{job.model.name(), family_of(machine_name(job)), {}};
  const double count = static_cast<double>(sizes.size() * kKinds.size());
  for (ScalingKind kind : kKinds) {
    for (std::int64_t ipus : sizes) {
      const auto done = static_cast<double>(out.sizes.size());
      const std::string where = family(job).at(ipus) + ", " + name_of(kind) + ": ";
      ScalingOptions here = options;
      if (options.progress)
        here.progress = [&](double share, const std::string& what) {
          options.progress((done + share) / count, where + what);
        };
      out.sizes.push_back(sized(job, kind, ipus, out.sizes, here));
    }
  }
  compare_with_smallest(out.sizes);
  return out;
}

LinePlot plot_of(const Scaling& scaling) {
  LinePlot plot{scaling.model + " over sizes of " + scaling.family, "IPUs", "samples/s", {}, {}};
  for (const ScaledSize& s : scaling.sizes) plot.x_ticks.push_back(static_cast<double>(s.ipus));
  std::sort(plot.x_ticks.begin(), plot.x_ticks.end());
  plot.x_ticks.erase(std::unique(plot.x_ticks.begin(), plot.x_ticks.end()), plot.x_ticks.end());
  std::vector<PlotSeries> ideals;
  for (ScalingKind kind : kKinds) {
    PlotSeries found{
        kind == ScalingKind::strong ? "strong: the batch of the job" : "weak: the batch grows with the IPUs",
        {},
        false};
    PlotSeries ideal{std::string("ideal ") + name_of(kind), {}, true};
    for (const ScaledSize& s : scaling.sizes) {
      if (s.kind != kind || !s.failure.empty()) continue;
      const auto ipus = static_cast<double>(s.ipus);
      found.points.push_back({ipus, s.samples_per_second});
      ideal.points.push_back({ipus, s.samples_per_second / s.efficiency});
    }
    plot.series.push_back(std::move(found));
    ideals.push_back(std::move(ideal));
  }
  plot.series.insert(plot.series.end(), ideals.begin(), ideals.end());
  return plot;
}

json to_json(const Scaling& scaling) {
  json j = {{"model", scaling.model}, {"family", scaling.family}};
  for (ScalingKind kind : kKinds) {
    j[name_of(kind)] = json::array();
    for (const ScaledSize& s : scaling.sizes) {
      if (s.kind == kind) j[name_of(kind)].push_back(row_json(s));
    }
  }
  return j;
}

}  // namespace superstep
