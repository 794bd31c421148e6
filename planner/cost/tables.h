// SPDX-License-Identifier: Apache-2.0
// The tables of a job: graphs by micro-batch, shardings by mesh, unit tables by key. Each is made when first asked for,
// by any number of threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/lower/unit_table.h"
#include "planner/cost/front_cache.h"
#include "planner/cost/shard_costs.h"
#include "planner/job/job.h"

namespace superstep {

// Returns what a job's tables depend on, as text. Left out are the batch, the objective, all pins but the precision,
// and descriptions for people. Jobs with equal keys may share tables.
std::string tables_key(const Job& job);

// Returns the part of tables_key() that is equal for all partitions of the machine.
std::string family_key(const Job& job);

// Returns the part of tables_key() that is equal for all partitions of the machine and all precisions.
std::string subject_key(const Job& job);

// Returns the part of tables_key() that graphs depend on: everything but the machine.
std::string graph_key(const Job& job);

// Returns the key of the table by which a plan is evaluated.
TableKey table_key(const Plan& plan);

// Safe to share between threads.
class Tables {
 public:
  // `collapse`: see TableKey. `cache`: file of tile plans; null: none. The model must outlive this object.
  Tables(const Job& job, const CostModel& model, bool collapse = true, std::shared_ptr<FrontCache> cache = nullptr);
  // Shares all tables with `warm`, and its model, which must outlive this object too. Both jobs must have equal
  // tables_key().
  Tables(const Job& job, const Tables& warm);
  // Shares with `other`, which may be of another machine, all graphs. Shares fronts of tile plans if chip and
  // calibration are equal. Also takes over tables if both are partitions of one machine with the same domains
  // (have_same_domains()). Both jobs must have equal graph_key().
  Tables(const Job& job, const CostModel& model, const Tables& other);
  ~Tables();

  // Returns the graph of a micro-batch, with its facts.
  const GraphFacts& facts(std::int64_t micro_batch);
  // Floating-point operations of a unit's products, for one micro-batch; backward is 0 in inference.
  struct Flops {
    double forward = 0, backward = 0;
  };
  // Returns the operations by unit.
  const std::vector<Flops>& flops(std::int64_t micro_batch);
  const UnitTable& table(const TableKey& key);
  // Returns the splits that a table would have with another limit on gathered weights, in bytes per tile
  // (ShardRules::gather_limit).
  const GraphSharding& sharding(const TableKey& key, Bytes gather_limit);
  // True if the table has been made.
  bool has(const TableKey& key);
  // True if a thread that makes one of two missing tables would wait for a thread that makes the other. Both tables are
  // then the same, or are made from the same graph, splits or tile plans, which are missing too.
  bool wait_for_each_other(const TableKey& a, const TableKey& b);
  const ShardCosts& shard_costs(const Replicas& replicas);
  bool training() const;
  std::int64_t statistics_group();  // samples: see statistics_group() of job.h
  const Job& job() const { return job_; }
  const CostModel& model() const { return model_; }
  std::int64_t searches() const;  // fronts of tile plans that were searched, by all who share them
  double seconds() const;         // time to make graphs and tables, summed over threads

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
