// SPDX-License-Identifier: Apache-2.0
// Costs tabulated once per block: graphs by micro-batch, shardings by mesh, unit tables by key, all
// built when first asked for, by any number of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/lower/unit_table.h"
#include "planner/cost/front_cache.h"
#include "planner/cost/shard_costs.h"
#include "planner/job/job.h"

namespace superstep {

// What of a job its tables depend on: all but the batch, the objective, the pins other than the precision, and what is
// said for people. Jobs whose keys are equal may share tables.
std::string tables_key(const Job& job);

// The same for all partitions of its machine.
std::string family_key(const Job& job);

// The same for all partitions of its machine, in any precision.
std::string subject_key(const Job& job);

// What of these the graphs depend on: all but the machine.
std::string graph_key(const Job& job);

// Of the table that a plan is evaluated by.
TableKey table_key(const Plan& plan);

class Tables {
 public:
  // `collapse`: see TableKey.
  // `cache`: of tile plans; none if null.
  Tables(const Job& job, const CostModel& model, bool collapse = true, std::shared_ptr<FrontCache> cache = nullptr);
  // What is tabulated for either job serves both; their keys are equal. The model must outlive this one too.
  Tables(const Job& job, const Tables& warm);
  // For another machine, with the same graphs; the same fronts of tile plans, if chip and calibration are equal; and
  // the same tables, if both are partitions of one machine with the same domains (have_same_domains()). Their graph
  // keys are equal.
  Tables(const Job& job, const CostModel& model, const Tables& other);
  ~Tables();

  const GraphFacts& facts(std::int64_t micro_batch);
  // Of each unit's products; backward 0 in inference.
  struct Flops {
    double forward = 0, backward = 0;
  };
  const std::vector<Flops>& flops(std::int64_t micro_batch);
  const UnitTable& table(const TableKey& key);
  // The splits that a table would have if a gathered weight might take so much of a tile (ShardRules::gather_limit).
  const GraphSharding& sharding(const TableKey& key, Bytes gather_limit);
  bool has(const TableKey& key);
  // Whether who makes one of two tables, neither of them there, waits for who makes the other: they are the same, or
  // made from the same graph, splits or tile plans, which are not there either.
  bool wait_for_each_other(const TableKey& a, const TableKey& b);
  const ShardCosts& shard_costs(const Replicas& replicas);
  bool training() const;
  std::int64_t statistics_group();  // of the job's model
  const Job& job() const { return job_; }
  const CostModel& model() const { return model_; }
  std::int64_t searches() const;  // tile-plan searches run, for whoever shares them
  double seconds() const;         // that graphs and tables took to make, of all threads together

 private:
  GraphSharding make_sharding(const TableKey& key, const ShardRules& rules);
  SharedCosts& shared(std::int64_t tiles);

  struct Graphs;
  struct Fronts;
  struct State;
  const Job job_;
  const CostModel& model_;
  bool collapse_;
  std::shared_ptr<State> state_;
};

}  // namespace superstep
