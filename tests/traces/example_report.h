// SPDX-License-Identifier: Apache-2.0
// Reports made up in memory, consistent in themselves: waterfall terms sum to the step time, memory
// categories to the peak, variables to their category, and the fullest run of tiles has the peak.
// The numbers are of a plausible size and mean nothing.
#pragma once

#include <filesystem>

#include "traces/report_io.h"

namespace superstep {

enum class Example {
  tight,         // BERT-Large, p=4 r=4: four IPU classes, tight
  does_not_fit,  // the same with a larger micro-batch: the last IPU is over
  deeper,        // p=8 r=2: eight IPU classes, fits, slower
  infeasible,    // no plan of the space fits
  empty,         // an index without anything
};

struct ExampleReport {
  report::Index index;
  ReportWriter columns;
};

ExampleReport example_report(Example which);

// Writes it into `folder` as "<word>.ssr" and returns the path.
std::filesystem::path write_example(Example which, const std::filesystem::path& folder);

// A folder of its own for a test, removed with it.
struct TemporaryFolder {
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace superstep
