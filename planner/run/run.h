// SPDX-License-Identifier: Apache-2.0
// A job on numbers: its plan's program executed step by step, beside the plain model on the global batch.
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

struct RunStep {
  std::int64_t step = 0;
  std::optional<double> loss, reference_loss;  // of a model with a loss
  double loss_scale = 1;
  std::optional<double> gradient_norm;  // before clipping, where gradients are clipped
  bool skipped = false;                 // no update: the loss scale was too large
  Difference difference;  // of loss, gradients, weights and optimizer states, or of outputs; with a reference
};

// What stopped a run.
struct RunFailure {
  std::int64_t step = 0;
  std::string tensor;    // "loss", "gradient of layer0/attention/out", or a weight
  double value = 0;      // its first one that is not finite
  std::string op, kind;  // where that began: the op's name and what it is
  std::string made;      // the op's result
  std::string where;     // "plan", "plain model"
};

struct RunOutcome {
  std::vector<RunStep> steps;
  bool compared = false;
  Difference difference;                                                     // of all steps
  std::map<std::pair<CollectiveKind, Term>, Executed::Traffic> collectives;  // of one step and replica
  // Exact mode: contractions that the plan cuts, by op, equal ones together.
  struct Cut : Executed::Cut {
    std::string op;          // the first one
    std::int64_t times = 1;  // so many ops
  };
  std::vector<Cut> cuts;
  std::optional<Executed::Live> live;  // device mode: the most that stands on a tile beside residents and temporaries
  std::optional<RunFailure> failure;
  double plan_seconds = 0, reference_seconds = 0;
  std::vector<std::string> notes;
};

struct RunOptions {
  bool reference = true;
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// As job.run says. `plan` is legal and `program` it lowered. Throws Error on data, weights or checkpoints that do not
// fit the model, and where the values would not fit this computer's memory.
RunOutcome run_job(Tables& tables, const Plan& plan, const Program& program, const RunOptions& options);

}  // namespace superstep
