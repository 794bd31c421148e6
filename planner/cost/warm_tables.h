// SPDX-License-Identifier: Apache-2.0
// Tables of the models and machines that were asked about last, for the next question about one of them.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "planner/cost/tables.h"

namespace superstep {

class WarmTables {
 public:
  // `cache`: file of tile plans; empty: none. Throws Error as FrontCache does.
  explicit WarmTables(const std::string& cache = "", std::size_t most = 4)
      : most_(most), cache_(cache.empty() ? nullptr : std::make_shared<FrontCache>(cache)) {}

  struct Lent {
    std::shared_ptr<const CostModel> model;
    std::unique_ptr<Tables> tables;  // of the job
  };
  // Kept until `most` other models or machines were asked about, in any partition and precision; who holds them may go
  // on. Throws Error as load_calibration does.
  Lent lend(const Job& job);
  // What was searched so far, for later runs. Throws Error as FrontCache::save() does.
  void save() const {
    if (cache_) cache_->save();
  }

 private:
  struct Entry {
    std::string key, subject;  // a model and a machine in all partitions and precisions are a subject
    Lent kept;
  };
  Lent make(const Job& job) const;
  void forget_oldest();

  std::size_t most_;
  std::shared_ptr<FrontCache> cache_;
  std::list<Entry> entries_;  // the latest first
};

}  // namespace superstep
