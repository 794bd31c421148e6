// SPDX-License-Identifier: Apache-2.0
// Keeps the tables of the models and machines that were asked about last, for further questions about the same models
// and machines.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "planner/cost/tables.h"

namespace superstep {

// A model and a machine, in all partitions and precisions, are a subject. For one thread at a time.
class WarmTables {
 public:
  // `cache`: path of the file of tile plans; empty: none. `most`: how many subjects are kept. Throws Error as
  // FrontCache does.
  explicit WarmTables(const std::string& cache = "", std::size_t most = 4)
      : most_(most), cache_(cache.empty() ? nullptr : std::make_shared<FrontCache>(cache)) {}

  // Tables of a job, and the model that the tables refer to. Both stay valid while the lease is held.
  struct Lease {
    std::shared_ptr<const CostModel> model;
    std::unique_ptr<Tables> tables;  // of the job
  };
  // Returns the tables of a job, made or kept from before. Tables are kept until `most` other subjects were asked
  // about. Throws Error as load_calibration() does.
  Lease lease(const Job& job);
  // Writes the tile plans that were searched so far to the cache, if there is one. Throws Error as FrontCache::save()
  // does.
  void save() const {
    if (cache_) cache_->save();
  }

 private:
  struct Entry {
    std::string key, subject;  // tables_key() and subject_key()
    Lease kept;
  };
  Lease make(const Job& job) const;
  void forget_oldest();

  std::size_t most_;
  std::shared_ptr<FrontCache> cache_;
  std::list<Entry> entries_;  // by last use, the latest first
};

}  // namespace superstep
