// SPDX-License-Identifier: Apache-2.0
// Tile plans of products kept in a file, so that later runs need not search them again.
#pragma once

#include <memory>
#include <string>

#include "model/lower/product_fronts.h"

namespace superstep {

// A database of SQLite. What another build of the program searched counts for nothing and is thrown away. Any number of
// processes may use the same file.
class FrontCache {
 public:
  // Throws Error when the file is of another kind, or cannot be read.
  explicit FrontCache(const std::string& path);
  ~FrontCache();
  FrontCache(const FrontCache&) = delete;
  FrontCache& operator=(const FrontCache&) = delete;

  std::shared_ptr<FrontStore> of(const Chip& chip, std::int64_t tiles, const Calibration& calibration);
  // Writes what is new. Throws Error when it cannot.
  void save();

 private:
  struct State;
  class Store;
  std::shared_ptr<State> state_;
};

}  // namespace superstep
