// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_item.h"

#include <nlohmann/json.hpp>

#include "model/error.h"

namespace superstep {

using nlohmann::json;

SweepItem item_of(const Sweep& sweep, const SweepWork& work, std::size_t item, const SweepOptions& options) {
  return {static_cast<std::int64_t>(item),
          work.keys[item],
          grid_of(sweep, item),
          sweep.job(item),
          sweep.job_source,
          options.time_limit,
          options.threads};
}

SweepRow plan_item(const SweepItem& item, const std::function<void(double share, const std::string& what)>& progress) {
  if (key_of(item.job, item.source) != item.key)
    throw Error(item.source, "item " + std::to_string(item.item) +
                                 " has other numbers here than where the sweep is read: expected the same files of the "
                                 "machine, the calibration and the model on all computers");
  ManyOptions options = item_options(item.time_limit, item.threads);
  options.progress = [&](const ManyProgress& p) { progress(p.share, p.what); };
  SweepRow row;
  plan_jobs(
      1, [&](std::size_t) { return read_job(item.job, item.source); }, options,
      [&](std::size_t, const PlannedJob& planned, double seconds) {
        row = row_of(item.item, item.key, item.grid, planned, seconds);
      });
  return row;
}

json to_json(const SweepItem& i) {
  return {{"item", i.item},          {"key", i.key},        {"grid", i.grid}, {"job", i.job}, {"source", i.source},
          {"seconds", i.time_limit}, {"threads", i.threads}};
}

SweepItem item_from(const json& j) {
  return {j.at("item"), j.at("key"), j.at("grid"), j.at("job"), j.at("source"), j.at("seconds"), j.at("threads")};
}

json to_json(const SweepRow& r) {
  return {{"item", r.item},
          {"key", r.key},
          {"grid", r.grid},
          {"status", static_cast<int>(r.status)},
          {"reason", r.reason},
          {"label", r.label},
          {"fits", r.fits},
          {"plan", r.plan},
          {"global_batch", r.global_batch},
          {"samples_per_second", r.samples_per_second},
          {"step_time", {r.step_seconds, r.step_band.low, r.step_band.high}},
          {"bytes", {r.tile_peak, r.ddr_per_ipu}},
          {"gap", r.gap},
          {"seconds", r.seconds}};
}

SweepRow row_from(const json& j) {
  SweepRow r;
  r.item = j.at("item");
  r.key = j.at("key");
  r.grid = j.at("grid");
  r.status = static_cast<PlanStatus>(j.at("status").get<int>());
  r.reason = j.at("reason");
  r.label = j.at("label");
  r.fits = j.at("fits");
  r.plan = j.at("plan");
  r.global_batch = j.at("global_batch");
  r.samples_per_second = j.at("samples_per_second");
  r.step_seconds = j.at("step_time").at(0);
  r.step_band.low = j.at("step_time").at(1);
  r.step_band.high = j.at("step_time").at(2);
  r.tile_peak = j.at("bytes").at(0);
  r.ddr_per_ipu = j.at("bytes").at(1);
  r.gap = j.at("gap");
  r.seconds = j.at("seconds");
  return r;
}

}  // namespace superstep
