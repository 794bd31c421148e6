// SPDX-License-Identifier: Apache-2.0
// Keeps tile plans of products in a file, so that later runs need not search them again.
#pragma once

#include <memory>
#include <string>

#include "model/lower/product_fronts.h"

namespace superstep {

// A SQLite database of product fronts. Fronts that another build of the program has stored are deleted. Any number of
// processes may use the same file.
class FrontCache {
 public:
  // Opens the file, or makes a new one. Throws Error when the file is of another kind, or cannot be read.
  explicit FrontCache(const std::string& path);
  ~FrontCache();
  FrontCache(const FrontCache&) = delete;
  FrontCache& operator=(const FrontCache&) = delete;

  // Returns the fronts of one chip, number of compute tiles and calibration.
  std::shared_ptr<FrontStore> of(const Chip& chip, std::int64_t tiles, const Calibration& calibration);
  // Writes all new fronts. Writes nothing if another build has begun to use the file. Throws Error on failure.
  void save();

 private:
  struct State;
  class Store;
  std::shared_ptr<State> state_;
};

}  // namespace superstep
