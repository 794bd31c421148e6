// SPDX-License-Identifier: Apache-2.0
// Costs tabulated once per block: graphs by micro-batch, shardings by mesh, unit tables by key, all
// built when first asked for, by any number of threads.
#pragma once

#include <memory>

#include "model/lower/unit_table.h"
#include "planner/job.h"

namespace superstep {

class Tables {
 public:
  // `collapse`: see TableKey.
  Tables(const Job& job, const CostModel& model, bool collapse = true);
  ~Tables();

  const GraphFacts& facts(std::int64_t micro_batch);
  const UnitTable& table(const TableKey& key);
  bool training() const;
  std::int64_t statistics_group();  // of the job's model
  const Job& job() const { return job_; }
  const CostModel& model() const { return model_; }
  std::int64_t searches() const;  // tile-plan searches run

 private:
  struct State;
  const Job& job_;
  const CostModel& model_;
  bool collapse_;
  std::unique_ptr<State> state_;
};

}  // namespace superstep
