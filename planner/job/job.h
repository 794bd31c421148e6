// SPDX-License-Identifier: Apache-2.0
// What a run is asked to do: model, machine, batch, objective, and the plan fields that are pinned.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph/autodiff.h"
#include "model/graph/op_def.h"
#include "model/machine/machine.h"
#include "model/onnx/import_options.h"
#include "model/program/plan.h"
#include "model/zoo/zoo.h"
#include "planner/job/goal.h"
#include "planner/job/plan_json.h"

namespace superstep {

class OnnxFile;

enum class Task : std::uint8_t { training, inference };

// Measures by which plans are compared: the three objectives, then three costs. Power is the rated power of the used
// IPUs.
enum class Measure : std::uint8_t { throughput, time_to_train, latency, memory, ipus, power };
std::string_view name_of(Measure measure);

// Values that a pin allows for an integer field: a list of values, or a range with both ends included.
struct IntegerPin {
  std::vector<std::int64_t> values;  // empty: the range from low to high
  std::int64_t low = 1, high = INT64_MAX;
  bool allows(std::int64_t v) const;
  std::int64_t least() const { return values.empty() ? low : std::ranges::min(values); }
  std::int64_t most() const { return values.empty() ? high : std::ranges::max(values); }
  friend bool operator==(const IntegerPin&, const IntegerPin&) = default;
};
inline bool allows(const std::optional<IntegerPin>& pin, std::int64_t v) { return !pin || pin->allows(v); }

inline constexpr std::int64_t kRestOfLayers = -1;  // in layers_per_stage: all layers that other stages do not have

struct ProportionRange {
  double low = 0, high = 1;
  friend auto operator<=>(const ProportionRange&, const ProportionRange&) = default;
};

// Pinned plan fields. The search chooses every field that is absent here.
struct Pins {
  std::vector<TensorParallel> tensor_parallel;  // alternatives; empty: free
  std::vector<Placement> placement;             // empty: free, as for every list here
  std::optional<IntegerPin> pipeline_stages, replicas, micro_batch, gradient_accumulation, io_tiles;
  std::optional<std::vector<std::int64_t>> stages, stage_ipu, phases;  // if the job lists several cuts, the first
  std::optional<std::vector<std::int64_t>> layers_per_stage;           // one may be kRestOfLayers
  std::optional<IntegerPin> phase_count;  // the number of phases; absent where `phases` gives their cuts
  std::vector<Schedule> schedule;
  std::vector<Recompute> recompute;  // one mode for all stages, or one mode per stage
  std::vector<PhaseOrder> phase_order;
  std::optional<IntegerPin> phase_groups, prefetch_depth;
  std::optional<IntegerPin> rts_weights, rts_gradients, rts_optimizer_state;
  std::vector<ShardGroups> rts_groups;
  std::vector<ActivationSharding> activation_sharding;
  std::vector<Location> weights, gradients, optimizer_state, activations, code;  // empty: free
  std::vector<LoadSchedule> load_weights, load_code;
  // Number formats. Defaults apply to formats that are not pinned: fp16, with fp32 moments. If the job lists several
  // values, the first is kept here; each value is a job part (space/job_parts.h).
  Precision precision;
  std::vector<Proportion> available_memory_proportion;  // empty: free, or the range below
  std::optional<ProportionRange> proportion_range;
  std::optional<Live> live;                   // tensors that a free or ranged share counts; absent: free
  std::vector<Proportion> stage_proportions;  // one per pinned stage; empty: all stages share one bound
  Serialisation serialisation;                // if the job lists several values, the first

  // Returns the number of stages that the fields pinned stage by stage imply; 0 if no such field is pinned.
  std::int64_t stage_count() const;
  // True if the pinned number of stages suits a pipeline of `ipu_groups` groups. A pipeline has one stage per group, or
  // one stage more that returns to the first group.
  bool allow_pipeline(std::int64_t ipu_groups) const {
    const std::int64_t n = stage_count();
    return n == 0 || n == ipu_groups || (ipu_groups > 1 && n == ipu_groups + 1);
  }
  bool has_stages() const { return stages || layers_per_stage; }
  bool has_stage_modes() const { return recompute.size() > 1; }
  bool phased() const { return phase_count || phases; }  // the number of phases or their cuts are pinned
  bool may_be_one_phase() const { return phases ? phases->size() == 1 : allows(phase_count, 1); }
  bool one_phase() const { return phases ? phases->size() == 1 : phase_count && phase_count->most() == 1; }
};

struct ModelChoice {
  std::optional<ZooSpec> zoo;
  std::string onnx;                      // path of the ONNX file or XLA program; empty: a model of the zoo
  std::shared_ptr<const OnnxFile> file;  // the ONNX file at the path; null: not read yet, or an XLA program
  int batch_dimension = -1;              // batch dimension of an ONNX file's inputs; -1: found by the import
  // Samples per statistics group, for an ONNX file with batch norm in training mode; 0: the batch that the file was
  // exported for.
  std::int64_t statistics_group = 0;
  // Of an ONNX file: values of its open dimensions, by name, and patterns of the names of weights that are not trained.
  std::map<std::string, std::int64_t> dimensions;
  std::vector<std::string> frozen;
  std::vector<std::string> weights;  // of an XLA program: patterns of the names of inputs that are weights
  // Samples that an ONNX file was exported for, if it works with no other number; 0: any number.
  std::int64_t fixed_batch = 0;
  bool packed = false;            // samples are packs of sequences
  double sequences_per_pack = 0;  // the mean; 0: not known
  std::string name() const;
};

// How a job is executed on real numbers. The choice is read and checked with every job. Only `run` uses the choice,
// except for scales_loss(), which adds a loss scale to the graph.
enum class RunMode : std::uint8_t { exact, device };
struct RunChoice {
  std::string data = "random";  // "random": drawn by the seed; otherwise a folder with input_K.pb
  std::int64_t samples = 0;     // random data: samples before the data repeat; 0: no repetition
  std::int64_t instances = 1;   // host programs that read the data, each for an equal share of consecutive replicas
  bool random_weights = false;  // draw all weights, also weights stored in the model's file
  std::int64_t steps = 1, seed = 0;
  RunMode mode = RunMode::exact;
  bool openblas = false;                  // device mode: matrix products by OpenBLAS
  std::int64_t chunk = 1;                 // exact mode: contracted elements that are summed in index order
  Rounding rounding = Rounding::nearest;  // when values are rounded to fp16
  numerics::Overflow overflow = numerics::Overflow::nan;
  double loss_scale = 1;
  bool automatic_loss_scale = false;
  std::string checkpoint, resume;     // paths of files; empty: none
  std::int64_t checkpoint_every = 0;  // steps between two checkpoints; 0: one checkpoint, at the end
  bool scales_loss() const { return automatic_loss_scale || loss_scale != 1; }
};

// Software that a job has where it names none, and the name of the hardware alone, which has no rules.
inline constexpr std::array kUsualSoftware = {"popart", "poptorch", "popxl", "tensorflow"};
inline constexpr const char* kAnySoftware = "any";

struct Job {
  std::string source;                           // file that the job came from, for messages
  std::shared_ptr<const nlohmann::json> given;  // the job as given; not null
  const nlohmann::json& json() const { return *given; }
  ModelChoice model;
  Machine machine;
  Task task = Task::training;
  OptimizerSpec optimizer;
  std::int64_t global_batch = 0;  // samples of a step; 0: free, set by replicas, micro_batch and gradient_accumulation
  Goal goal;
  std::array<Measure, 2> pareto = {Measure::throughput, Measure::memory};
  // IPUs of the partitions that are searched. Absent: every partition is searched; `estimate` uses one partition.
  std::optional<IntegerPin> ipus;
  double fit_probability = 0.95;  // with which a recommended plan fits at least (model/cost/fit_probability.h)
  Pins pins;
  RunChoice run;
  // Software that plans are to run on, by name (model/software); empty: any of kUsualSoftware. A search has one of them
  // (space/job_parts.h). Several names, or none: no rules.
  std::vector<std::string> software;
  bool measured_alone = false;  // plans whose mechanisms are all measured (model/software/evidence.h)
  // True if rules of one software restrict the plans.
  bool is_restricted() const { return software.size() == 1 && software[0] != kAnySoftware; }
};

// True if the machine and the pins allow plans in phases. Recompute modes that are pinned by stage allow phases only if
// stages are pinned too.
bool may_be_phased(const Job& job);

// Reads and checks a job; data/jobs/schema.json describes the format. Throws Error with file and JSON pointer.
Job load_job(const std::string& path);
// The same with values of open dimensions of the model, which replace those of the job.
Job load_job(const std::string& path, const std::map<std::string, std::int64_t>& dimensions);
Job read_job(const nlohmann::json& json, const std::string& name);
// Reads a job again, with changed JSON. What a search chose beside the JSON is kept: the software and measured_alone.
Job read_again(const Job& job, const nlohmann::json& json);
// True if the pin of a field of cuts is a list of alternative cuts.
bool is_list_of_cuts(const nlohmann::json& pin);
// True if a pin is an object whose members are pins of their own. A range, or a bound that counts live tensors, is one
// pin.
bool has_members(const nlohmann::json& pin);
// Reads the pins of a job's "plan" alone. Error messages name the file `name` and JSON pointers below `pointer`.
Pins read_pins(const nlohmann::json& plan, const std::string& name, const std::string& pointer = "");
// Throws Error if a training job does not give the samples of a step.
void check_batch(const Job& job);

// Returns the samples of a statistics group of the job's model. Returns 0 if the model has no batch norm in training
// mode, or only groups of unknown size.
std::int64_t statistics_group(const Job& job);

// Returns what ModelChoice::fixed_batch says of the job's model.
std::int64_t fixed_batch(const Job& job);
// Returns a micro-batch that the job's model works with, pins aside.
std::int64_t some_micro_batch(const Job& job);
// Returns how the job's ONNX file is imported for `micro_batch` samples, without the values of weights.
ImportOptions import_options(const Job& job, std::int64_t micro_batch);

// Whether a graph has the values of weights that an ONNX file stores. Only a run needs them.
enum class WeightValues : std::uint8_t { left_out, read };
// Returns the forward graph for `micro_batch` samples. For training, gradients and the optimiser are added.
Graph build_graph(const Job& job, std::int64_t micro_batch, WeightValues values = WeightValues::left_out);

}  // namespace superstep
