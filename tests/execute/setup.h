// SPDX-License-Identifier: Apache-2.0
// A model lowered on the toy machine and executed, beside the same model evaluated on the global batch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "model/execute/execute.h"
#include "model/lower/lower.h"

namespace superstep {

// The graph for a number of samples, with gradients and an optimizer if it is to be trained.
using MakeGraph = std::function<Graph(std::int64_t samples)>;

// A plan on the toy: everything in fp32, nothing recomputed, stages evenly cut.
Plan plain_plan(std::int64_t units, TensorParallel t = {}, std::int64_t p = 1, std::int64_t r = 1, std::int64_t m = 1,
                std::int64_t g = 1);
// Cuts `units` into `stages` runs of equal length or nearly so, on IPUs 0, 1, ..., then 0 again.
void cut_evenly(Plan& plan, std::int64_t units, std::int64_t stages);

class Lowered {
 public:
  Lowered(const MakeGraph& make, const Plan& plan, const OptimizerSpec& optimizer = {});
  ~Lowered();

  Executed run(Arithmetic arithmetic = Arithmetic::device) const { return run(program, arithmetic); }
  Executed run(const Program& changed, Arithmetic arithmetic = Arithmetic::device) const;
  // The same tensors of the plain graph on the global batch.
  Values reference() const;
  // Empty, or where the two differ by more than `tolerance` of a tensor's largest element. Without updates: of losses,
  // gradients and outputs alone, since an optimizer that divides by the size of a gradient makes a step of rounding.
  std::string difference(const Executed& executed, double tolerance = 1e-5, bool updates = true) const;
  // Empty, or the first tensor whose bits differ.
  std::string unequal_bits(const Executed& executed) const;
  // Empty, or the collectives by kind and purpose, where their number and bytes are not the program's.
  std::string other_collectives(const Executed& executed) const;
  // Empty, or the first op of device mode at which other bytes stand on a tile than were costed.
  std::string other_live_bytes(const Executed& executed) const;
  bool poisoned(const Executed& executed) const;  // NaN in some result

  Graph graph, global;
  Plan plan;
  Program program;
  KernelContext context{.seed = 11, .step = 4, .chunk = 2};  // short chunks, so that small models have several
  const UnitTable& table() const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
  Values feeds_, global_feeds_;        // the same arrays by either graph's ids
  std::map<TensorId, TensorId> same_;  // result of the graph -> of the global graph, which may differ in ops
};

}  // namespace superstep
