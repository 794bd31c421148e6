// SPDX-License-Identifier: Apache-2.0
// Execution of a job on real numbers: the plan's program runs step by step, beside the plain model on the global batch.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/execute/execute.h"
#include "model/training/compare_values.h"
#include "planner/cost/tables.h"

namespace superstep {

// The result of one optimiser step, or of one batch of inference.
struct RunStep {
  std::int64_t step = 0;
  std::optional<double> loss, reference_loss;  // empty for a model without a loss
  double loss_scale = 1;
  std::optional<double> gradient_norm;  // before clipping; empty without clipping
  bool skipped = false;                 // no update, because the loss scale was too large
  // Difference from the plain model: of loss, gradients, weights and optimiser states, or of outputs. Set if the plain
  // model was run.
  Difference difference;
};

// The reason why a run stopped: a value that is not finite.
struct RunFailure {
  std::int64_t step = 0;
  std::string tensor;    // "loss", "gradient of layer0/attention/out", or a weight
  double value = 0;      // the tensor's first value that is not finite
  std::string op, kind;  // the op with the first non-finite result: its name and its kind
  std::string made;      // the op's result
  std::string where;     // the model that failed: "plan" or "plain model"
};

struct RunOutcome {
  std::vector<RunStep> steps;
  bool compared = false;                                                     // the plain model was run too
  Difference difference;                                                     // the largest, over all steps
  std::map<std::pair<CollectiveKind, Term>, Executed::Traffic> collectives;  // of one step and one replica
  // Exact mode: contractions that the plan cuts. Equal cuts of several ops are one entry.
  struct Cut : Executed::Cut {
    std::string op;          // name of the first op
    std::int64_t times = 1;  // number of ops
  };
  std::vector<Cut> cuts;
  std::optional<Executed::Live> live;  // device mode: the most bytes on a tile besides residents and temporaries
  std::optional<RunFailure> failure;
  double plan_seconds = 0, reference_seconds = 0;
  std::vector<std::string> notes;
};

struct RunOptions {
  bool reference = true;                                                // run the plain model too
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// Runs the job as job.run says. `plan` must be legal, and `program` the lowered plan. Throws Error for data, weights or
// checkpoints that do not fit the model. Throws Error too if the values would exceed this computer's memory.
RunOutcome run_job(Tables& tables, const Plan& plan, const Program& program, const RunOptions& options);

}  // namespace superstep
