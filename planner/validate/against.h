// SPDX-License-Identifier: Apache-2.0
// IPU systems against published results of another: data/comparisons says what is set beside what.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/units.h"
#include "planner/validate/published.h"
#include "traces/band.h"

namespace superstep {

// Where a figure comes from. Nothing modelled is written down: it is planned when it is asked for.
enum class Basis : std::uint8_t {
  published,  // measured, by its source
  announced,  // said by a vendor without a configuration
  scaled,     // a published one times so many systems
  modelled,
};
const char* name_of(Basis basis);

// One line of a comparison. An item is what is counted: an image, a sequence, a whole run.
struct ComparedSystem {
  std::string system;  // "ipu-pod64", "3 x dgx-a100"
  Basis basis = Basis::published;
  std::string id;                          // of the published figure; of the job that is modelled
  std::string source;                      // of the published figure; the plan that is modelled
  std::optional<double> items_per_second;  // none: only a ratio was announced, or nothing can be modelled
  std::optional<Band> band;                // of it, 95 %
  Watts power;                             // rated; of single accelerators their share of a system's
  std::optional<double> speed;             // times the first baseline's
  std::optional<double> thrift;            // items per joule, times the first baseline's
  std::string failure;                     // why nothing can be modelled
  std::vector<std::string> not_validated;
  std::optional<double> joules_per_item() const;
};

struct SystemComparison {
  std::string title, item, note;
  std::vector<ComparedSystem> baselines, ours;
};

struct AgainstOptions {
  int threads = 0;
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// What a file lists; docs/results/comparison.md says how it looks. `published`: where its points and announced figures
// are. Throws Error for a file that is wrong; a job that cannot be planned is a line that says why.
std::vector<SystemComparison> read_comparisons(const std::string& file, const PublishedPoints& published,
                                               const AgainstOptions& options);
// data/comparisons/<baseline>.json. Throws Error for a name that has no file, with what there is.
std::vector<SystemComparison> compare_with(const std::string& baseline, const PublishedPoints& published,
                                           const AgainstOptions& options);

nlohmann::json to_json(const std::vector<SystemComparison>& comparisons);

// "2,396 sequences/s"; "13.7 h" where items are runs; "n/a" without a rate.
std::string rate_text(const ComparedSystem& system, const std::string& item);
// "11.7 J", "364 kWh"; "n/a" without a rate.
std::string energy_text(const ComparedSystem& system);

}  // namespace superstep
