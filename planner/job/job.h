// SPDX-License-Identifier: Apache-2.0
// What a run is asked to do: model, machine, batch, objective, and the plan fields that are pinned.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/lower/plan.h"
#include "model/machine/machine.h"
#include "model/ops/op.h"
#include "model/zoo/zoo.h"
#include "planner/job/goal.h"
#include "planner/job/plan_json.h"

namespace superstep {

enum class Task : std::uint8_t { training, inference };

// What plans are compared by: the goals, and what they cost. Power is the rated power of the IPUs that are used.
enum class Measure : std::uint8_t { throughput, time_to_train, latency, memory, ipus, power };
std::string_view name_of(Measure measure);

// What a pinned field may be: one or several values, or anything between two ends.
struct IntegerPin {
  std::vector<std::int64_t> values;  // empty: a range
  std::int64_t low = 1, high = INT64_MAX;
  bool allows(std::int64_t v) const;
  std::int64_t least() const { return values.empty() ? low : std::ranges::min(values); }
  std::int64_t most() const { return values.empty() ? high : std::ranges::max(values); }
  friend bool operator==(const IntegerPin&, const IntegerPin&) = default;
};
inline bool allows(const std::optional<IntegerPin>& pin, std::int64_t v) { return !pin || pin->allows(v); }

struct ProportionRange {
  double low = 0, high = 1;
  friend auto operator<=>(const ProportionRange&, const ProportionRange&) = default;
};

// Pinned plan fields; what is absent is searched.
struct Pins {
  std::vector<TensorParallel> tensor_parallel;  // empty: free
  std::vector<Placement> placement;             // empty: free, as all lists
  std::optional<IntegerPin> pipeline_stages, replicas, micro_batch, gradient_accumulation, io_tiles;
  std::optional<std::vector<std::int64_t>> stages, stage_ipu, phases;  // of lists of cuts the first
  std::optional<std::vector<std::int64_t>> layers_per_stage;
  std::optional<IntegerPin> phase_count;  // phases as numbers, not beside their cuts
  std::vector<Schedule> schedule;
  std::vector<Recompute> recompute;  // one for all stages, or one each
  std::vector<PhaseOrder> phase_order;
  std::optional<IntegerPin> phase_groups, prefetch_depth;
  std::optional<IntegerPin> rts_weights, rts_gradients, rts_optimizer_state;
  std::vector<ShardGroups> rts_groups;
  std::vector<ActivationSharding> activation_sharding;
  std::vector<Location> weights, gradients, optimizer_state, activations, code;  // empty: free
  std::vector<LoadSchedule> load_weights, load_code;
  Precision precision;  // always given; defaults are fp16 with fp32 moments; of lists the first (job_parts.h)
  std::vector<Proportion> available_memory_proportion;  // empty: free, or ranges
  std::optional<ProportionRange> proportion_range;
  std::optional<Live> live;                   // of those ranges, or free ones
  std::vector<Proportion> stage_proportions;  // of each of the pinned stages; empty: all have the same
  Serialisation serialisation;                // of lists the first

  // Of a cut, as what is pinned stage by stage says; 0: nothing does.
  std::int64_t stage_count() const;
  // Whether it is that of a pipeline: a stage for each of its IPU groups, or one more that returns to the first.
  bool allow_pipeline(std::int64_t ipu_groups) const {
    const std::int64_t n = stage_count();
    return n == 0 || n == ipu_groups || (ipu_groups > 1 && n == ipu_groups + 1);
  }
  bool has_stages() const { return stages || layers_per_stage; }
  bool has_stage_modes() const { return recompute.size() > 1; }
  bool phased() const { return phase_count || phases; }  // their number or cuts are pinned
  bool may_be_one_phase() const { return phases ? phases->size() == 1 : allows(phase_count, 1); }
  bool one_phase() const { return phases ? phases->size() == 1 : phase_count && phase_count->most() == 1; }
};

struct ModelChoice {
  std::optional<ZooSpec> zoo;
  std::string onnx;                   // path; empty for the zoo
  int batch_dimension = -1;           // of the inputs of an ONNX file; -1: found by the import
  std::int64_t statistics_group = 0;  // samples, of an ONNX file with batch norm in training mode; 0: its own batch
  bool packed = false;
  std::string name() const;
};

// How a job is executed on numbers. Read and checked with every job; only `run` uses it, but for scales_loss(), which
// adds to the graph.
enum class RunMode : std::uint8_t { exact, device };
struct RunChoice {
  std::string data = "random";  // drawn by the seed; otherwise a folder with input_K.pb
  std::int64_t samples = 0;     // random data: how many there are before they come again; 0: without end
  std::int64_t instances = 1;   // host programs that read the data, each for an equal run of replicas
  bool random_weights = false;  // also those that the model's file has
  std::int64_t steps = 1, seed = 0;
  RunMode mode = RunMode::exact;
  bool openblas = false;                  // device mode: products by OpenBLAS
  std::int64_t chunk = 256;               // exact mode: elements of a contraction that are summed in index order
  Rounding rounding = Rounding::nearest;  // to fp16
  numerics::Overflow overflow = numerics::Overflow::nan;
  double loss_scale = 1;
  bool automatic_loss_scale = false;
  std::string checkpoint, resume;     // files; empty: none
  std::int64_t checkpoint_every = 0;  // steps; 0: at the end alone
  bool scales_loss() const { return automatic_loss_scale || loss_scale != 1; }
};

struct Job {
  std::string source;   // file the job came from
  nlohmann::json json;  // as given
  ModelChoice model;
  Machine machine;
  Task task = Task::training;
  OptimizerSpec optimizer;
  std::int64_t global_batch = 0;  // 0: free (the micro-batches of one step are chosen by gradient_accumulation)
  Goal goal;
  std::array<Measure, 2> pareto = {Measure::throughput, Measure::memory};
  std::optional<IntegerPin> ipus;  // of the partitions that are searched; not given: all, of which estimate takes one
  Pins pins;
  RunChoice run;
};

// Whether the pins leave plans in phases: where modes are pinned by stage, stages have to be as well.
bool may_be_phased(const Job& job);

// Reads and checks a job; see data/jobs/schema.json. Throws Error with file and JSON pointer.
Job load_job(const std::string& path);
Job read_job(const nlohmann::json& json, const std::string& name);
// Whether a field of cuts is pinned to several.
bool is_list_of_cuts(const nlohmann::json& pin);
// Of an object: whether its members have pins of their own; a range, or a bound that counts what is live, is one pin.
bool has_members(const nlohmann::json& pin);
// Pins alone, as a job's "plan" has them; messages point into `name`, below `pointer`.
Pins read_pins(const nlohmann::json& plan, const std::string& name, const std::string& pointer = "");
// Throws Error where a training job does not say how many samples a step has.
void check_batch(const Job& job);

// Samples of a statistics group of the job's model; 0: it has no batch norm in training mode, or none of known size.
std::int64_t statistics_group(const Job& job);

// The forward graph for `micro_batch` samples, extended by gradients and optimiser for training.
Graph build_graph(const Job& job, std::int64_t micro_batch);

}  // namespace superstep
