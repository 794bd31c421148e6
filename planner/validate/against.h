// SPDX-License-Identifier: Apache-2.0
// Comparison of IPU systems with published results of another system. data/comparisons lists the comparisons.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/units.h"
#include "planner/validate/published.h"
#include "traces/band.h"

namespace superstep {

// The source of a figure. Modelled figures are never stored: a plan is searched when a comparison is read.
enum class Basis : std::uint8_t {
  published,  // measured, by its source
  announced,  // claimed by a vendor, without a configuration
  scaled,     // a published figure times a number of systems
  modelled,   // predicted by the cost model
};
const char* name_of(Basis basis);

// One line of a comparison. An item is the counted thing: an image, a sequence, a whole run.
struct ComparedSystem {
  std::string system;  // "ipu-pod64", "3 x dgx-a100"
  Basis basis = Basis::published;
  std::string id;                          // name of the published figure, or of the modelled jobs
  std::string source;                      // source of the published figure, or label of the modelled plan
  std::optional<double> items_per_second;  // empty: only a ratio was announced, or nothing can be modelled
  std::optional<Band> band;                // 95 % band of items_per_second
  Watts power;                             // rated power; accelerators of a system count by their share
  std::optional<double> speed;             // items per second over the first baseline's
  std::optional<double> thrift;            // items per joule over the first baseline's
  std::string failure;                     // why nothing can be modelled; empty: modelled
  std::vector<std::string> not_validated;
  std::optional<double> joules_per_item() const;  // empty without a rate
};

struct SystemComparison {
  std::string title, item, note;                // item: "image"; note: may be empty
  std::vector<ComparedSystem> baselines, ours;  // baselines: the other system
};

struct AgainstOptions {
  int threads = 0;                                                      // 0: all cores
  std::function<void(double share, const std::string& what)> progress;  // may be empty
};

// Reads the comparisons of a file and plans the modelled jobs; docs/results/comparison.md describes the format.
// `published` holds the points and announced figures that the file names. Throws Error for an invalid file. A job that
// cannot be planned becomes a line with the reason.
std::vector<SystemComparison> read_comparisons(const std::string& file, const PublishedPoints& published,
                                               const AgainstOptions& options);
// Reads data/comparisons/<baseline>.json. Throws Error for a name without a file; the message lists the valid names.
std::vector<SystemComparison> compare_with(const std::string& baseline, const PublishedPoints& published,
                                           const AgainstOptions& options);

nlohmann::json to_json(const std::vector<SystemComparison>& comparisons);

// Returns "2,396 sequences/s"; "13.7 h" if items are runs; "n/a" without a rate.
std::string rate_text(const ComparedSystem& system, const std::string& item);
// Returns "11.7 J" or "364 kWh" per item; "n/a" without a rate.
std::string energy_text(const ComparedSystem& system);

}  // namespace superstep
