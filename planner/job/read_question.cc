// SPDX-License-Identifier: Apache-2.0
#include "planner/job/read_question.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/error.h"

namespace superstep {
namespace {

constexpr std::int64_t kMostSamples = 1'000'000'000'000'000;

// Names in the order of Measure, whose first three values are the values of Objective.
const std::vector<std::string> kMeasures = {"throughput", "time_to_train", "latency", "memory", "ipus", "power"};
const std::vector<std::string> kObjectives(kMeasures.begin(), kMeasures.begin() + 3);

template <class E>
E value_of(const std::string& name) {
  return static_cast<E>(std::find(kMeasures.begin(), kMeasures.end(), name) - kMeasures.begin());
}

std::int64_t read_training(JsonReader r, const Job& job) {
  if (job.task == Task::inference) throw Error(r.here(), "found with task inference, expected it with training alone");
  if (r.has("samples") == r.has("tokens"))
    throw Error(r.here(), "found " + describe(r.value()) + ", expected exactly one of samples and tokens");
  std::int64_t samples = r.integer_or("samples", 1, kMostSamples, 0);
  if (samples == 0) {
    const std::int64_t tokens = r.integer("tokens", 1, kMostSamples);
    const auto* spec = job.model.zoo ? std::get_if<TransformerSpec>(&*job.model.zoo) : nullptr;
    if (spec == nullptr)
      throw Error(r.at("tokens"), "found with " + job.model.name() + ", whose samples are no sequences of tokens of " +
                                      "one length; expected samples");
    samples = ceil_div(tokens, spec->sequence_length);
  }
  r.finish();
  return samples;
}

std::array<Measure, 2> read_pareto(JsonReader& r, std::array<Measure, 2> fallback) {
  const nlohmann::json* given = r.raw_or_null("pareto");
  if (given == nullptr) return fallback;
  std::array<Measure, 2> out{};
  const std::string where = r.at("pareto");
  if (!given->is_array() || given->size() != 2)
    throw Error(where, "found " + describe(*given) + ", expected two of" + name_hint("", kMeasures));
  for (std::size_t i = 0; i < 2; ++i) {
    const nlohmann::json& v = (*given)[i];
    const std::string name = v.is_string() ? v.get<std::string>() : "";
    if (std::find(kMeasures.begin(), kMeasures.end(), name) == kMeasures.end())
      throw Error(where + "/" + std::to_string(i), "found " + describe(v) + name_hint(name, kMeasures));
    out[i] = value_of<Measure>(name);
  }
  if (out[0] == out[1]) throw Error(where, "found " + describe(*given) + ", expected two measures that differ");
  return out;
}

// Reads limits.ipus: the most IPUs, or a range.
IntegerPin read_ipus(JsonReader& r) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  IntegerPin out;
  if (!r.raw("ipus").is_object()) {
    out.high = r.integer("ipus", 1, kMost);
    return out;
  }
  JsonReader range = r.object("ipus");
  if (!range.has("min") && !range.has("max")) throw Error(r.at("ipus"), "found {}, expected min, max or both");
  out.low = range.integer_or("min", 1, kMost, 1);
  out.high = range.integer_or("max", 1, kMost, kMost);
  range.finish();
  if (out.low > out.high)
    throw Error(r.at("ipus"), "min " + std::to_string(out.low) + " is above max " + std::to_string(out.high));
  return out;
}

constexpr double kLeastFit = 0.5, kMostFit = 0.9999;  // below, a plan would be recommended that likely does not fit

void read_limits(JsonReader r, Job& job) {
  if (r.has("ipus")) job.ipus = read_ipus(r);
  job.fit_probability = r.number_or("fit_probability", kLeastFit, kMostFit, job.fit_probability);
  const std::int64_t none = std::numeric_limits<std::int64_t>::max();
  const std::int64_t ddr = r.integer_or("ddr_bytes_per_ipu", 0, none, none);
  Machine& m = job.machine;
  if (ddr < m.streaming_per_ipu().value) m.streaming.capacity = Bytes(ddr * m.ipus_per_machine);
  r.finish();
}

}  // namespace

std::string_view name_of(Measure measure) { return kMeasures[static_cast<std::size_t>(measure)]; }

void read_question(JsonReader& r, Job& job) {
  job.goal.objective = value_of<Objective>(r.name_or("objective", kObjectives, kObjectives[0]));
  if (r.has("train_for")) job.goal.samples = read_training(r.object("train_for"), job);
  if (job.goal.objective == Objective::time_to_train && job.task == Task::inference)
    throw Error(r.at("objective"), "found time_to_train with task inference, expected throughput or latency");
  const Measure objective = static_cast<Measure>(job.goal.objective);
  job.pareto = read_pareto(r, {objective, Measure::memory});
  const bool of_objective = objective == Measure::time_to_train;
  if ((of_objective || std::ranges::count(job.pareto, Measure::time_to_train) > 0) && !r.has("train_for"))
    throw Error(r.at(of_objective ? "objective" : "pareto"),
                "found time_to_train without train_for, expected the samples or tokens to train for");
  if (r.has("limits")) read_limits(r.object("limits"), job);
}

}  // namespace superstep
