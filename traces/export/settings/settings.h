// SPDX-License-Identifier: Apache-2.0
// A report's plan in the words of real IPU systems. What a target cannot say is refused, field by field, with the pin
// that it could say. Where a setting is from: docs/reference/exports.md.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "traces/report_io.h"

namespace superstep::exports {

struct StageSettings {
  std::int64_t ipu = 0;                          // within the replica
  std::int64_t phase = 0;                        // of phased execution, from 1; 0: none
  std::string recompute;                         // none, layer, stage
  std::vector<std::string> units;                // "layer3/ffn_up"
  std::vector<std::int64_t> layers;              // of each unit; -1: of none
  std::vector<std::int64_t> runs;                // of units that share a checkpoint, mostly layers; -1: of none
  std::vector<std::string> checkpoints() const;  // of recompute layer: the last units of its runs but the last
};

// Fields are those of a plan in a job (data/jobs/schema.json).
struct PlanSettings {
  std::string where;                  // the report's file
  std::vector<std::string> headline;  // which plan it is and what is predicted of it, without line ends
  std::string model;                  // "bert-large"; empty: not of the zoo
  bool training = true;
  std::int64_t t1 = 1, t2 = 1, pipeline_stages = 1, replicas = 1, micro_batch = 1, gradient_accumulation = 1;
  std::string placement, schedule, phase_order, shard_groups, activation_sharding;
  std::string load;  // of weights
  std::vector<StageSettings> stages;
  std::int64_t phases = 1, phase_groups = 1;
  std::map<std::string, std::int64_t> shards;         // weights, gradients, optimizer_state
  std::map<std::string, std::string> location;        // and activations, code
  std::map<std::string, std::string> precision;       // fp16, fp32
  std::map<std::string, std::int64_t> serialisation;  // embedding, head, attention, feed_forward; 0: as it comes
  bool master_weights = false;
  std::int64_t io_tiles = 0, prefetch_depth = 1, instances = 1;
  double available_memory_proportion = 0;          // the least of all
  std::map<std::int64_t, double> ipu_proportions;  // of IPUs of the pipeline, where stages have their own
  nlohmann::json optimizer;                        // as the job says
  bool stochastic_rounding = false;                // of the job's run
  bool automatic_loss_scaling = false;             // the same
  double loss_scaling = 0;                         // 0: the job does not say

  std::int64_t tensor_parallel() const { return t1 * t2; }
  std::int64_t ipus() const { return t1 * t2 * pipeline_stages * replicas; }
  std::int64_t global_batch() const { return micro_batch * gradient_accumulation * replicas; }
  bool phased() const { return phases > 1; }
  bool sharded() const {
    return shards.at("weights") > 1 || shards.at("gradients") > 1 || shards.at("optimizer_state") > 1;
  }
};

// The plan or job that a report gives as JSON; throws Error where it is no object.
nlohmann::json read_object(const std::string& text, const std::string& where, const char* what);

// Throws Error when the report has no plan, or none that can be read.
PlanSettings read_settings(const ReportFile& report);

// PopART's RecomputationType: "NoRecompute"; "Pipeline": inputs of stages and checkpoints are kept; "RecomputeAll": the
// same of what is no pipeline. Empty: mixed, which it cannot say.
std::string recomputation(const PlanSettings& plan);

// Collects what the target cannot say.
class Refusals {
 public:
  Refusals(const PlanSettings& plan, std::string target) : plan_(plan), target_(std::move(target)) {}
  // `pin` is a value of the field that the target can say; empty: there is none.
  void unless(bool holds, const std::string& field, const std::string& found, const std::string& why,
              const std::string& pin);
  // Replicas side by side, shards in consecutive groups, everything on its own IPU or in Streaming Memory.
  void common();
  void no_tensor_parallel();
  // Shards over all replicas or none: the field's degree.
  void all_or_none(const std::string& why);
  // Throws Unsupported, with all that was found.
  void check() const;

 private:
  const PlanSettings& plan_;
  std::string target_;
  std::vector<std::string> found_;
};

// The headline as lines of a comment, which "#" begins.
std::string comment_lines(const PlanSettings& plan);

}  // namespace superstep::exports
