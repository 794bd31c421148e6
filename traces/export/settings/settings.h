// SPDX-License-Identifier: Apache-2.0
// A report's plan as settings of other IPU software (targets: PopTorch, PopART, TensorFlow, PopXL, PopRun, V-IPU). A
// field that a target cannot express is refused, with a pin that the target can express. Sources:
// docs/reference/exports.md.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/software/rules.h"
#include "traces/report_io.h"

namespace superstep::exports {

struct StageSettings {
  std::int64_t ipu = 0;              // within the replica
  std::int64_t phase = 0;            // of phased execution, from 1; 0: not phased
  std::string recompute;             // none, layer, stage
  std::vector<std::string> units;    // "layer3/ffn_up"
  std::vector<std::int64_t> layers;  // by unit: layer; -1: in no layer
  std::vector<std::int64_t> runs;    // by unit: number of the recompute checkpoint, mostly the layer; -1: none
  // Returns the last unit of each run of units that share a checkpoint, without the last run. Empty unless recompute is
  // "layer".
  std::vector<std::string> checkpoints() const;
};

// The plan of a report. Fields are as in a job (data/jobs/schema.json).
struct PlanSettings {
  std::string where;                  // path of the report
  std::vector<std::string> headline;  // description of the plan and its predictions, one line each without line ends
  std::string model;                  // "bert-large"; empty: a model that is not in the zoo
  bool training = true;
  std::int64_t t1 = 1, t2 = 1, pipeline_stages = 1, replicas = 1, micro_batch = 1, gradient_accumulation = 1;
  std::string schedule, phase_order, activation_sharding;
  std::string load;  // load schedule of weights
  std::vector<StageSettings> stages;
  std::int64_t phases = 1, phase_groups = 1;
  std::map<std::string, std::int64_t> shards;    // shard degrees: weights, gradients, optimizer_state
  std::map<std::string, std::string> location;   // weights, gradients, optimizer_state, activations, code
  std::map<std::string, std::string> precision;  // "fp16" or "fp32" by class of data
  // Factors of embedding, head, attention, feed_forward; 0: the tile planner decides.
  std::map<std::string, std::int64_t> serialisation;
  std::int64_t io_tiles = 0, prefetch_depth = 1, instances = 1;
  double available_memory_proportion = 0;          // the least proportion that any op has
  std::map<std::int64_t, double> ipu_proportions;  // by IPU of the pipeline; empty: no stage has a bound of its own
  nlohmann::json optimizer;                        // as in the job
  bool stochastic_rounding = false;                // as in the job's run
  bool automatic_loss_scaling = false;             // as in the job's run
  double loss_scaling = 0;                         // as in the job's run; 0: not given
  std::int64_t streaming_bytes_per_ipu = 0;        // Streaming Memory held for an IPU
  PlanFacts facts;                                 // what rules of software ask about

  std::int64_t count(const char* fact) const { return facts.at(fact); }
  std::int64_t tensor_parallel() const { return t1 * t2; }
  std::int64_t ipus() const { return t1 * t2 * pipeline_stages * replicas; }
  std::int64_t global_batch() const { return micro_batch * gradient_accumulation * replicas; }
  bool phased() const { return phases > 1; }
};

// Returns the JSON object of a report's plan or job (`what`). Throws Error if the text is no JSON object.
nlohmann::json read_object(const std::string& text, const std::string& where, const char* what);

// Returns the plan of a report. Throws Error if the report has no plan, or a plan that cannot be read.
PlanSettings read_settings(const ReportFile& report);

// Returns PopART's RecomputationType: the fact "recomputation".
std::string recomputation_type(const PlanSettings& plan);

// Throws Unsupported if the plan breaks rules of a software (data/software); the message names each.
void check_rules(const PlanSettings& plan, const char* software);

// Returns the headline and the version of the software as comment lines that begin with "#".
std::string comment_lines(const PlanSettings& plan, const char* software);

// Returns the batches that one call runs in inference: as many as the plan has, and enough to fill its pipeline.
std::int64_t batches_per_call(const PlanSettings& plan);

}  // namespace superstep::exports
