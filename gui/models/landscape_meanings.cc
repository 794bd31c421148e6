// SPDX-License-Identifier: Apache-2.0
#include "gui/models/landscape_meanings.h"

#include <span>

#include "gui/models/meanings.h"

namespace superstep::gui {
namespace {

struct Titled {
  const char* title;  // without what follows ", "
  Meaning meaning;
};

constexpr Titled kPlans[]{{"", means::kFit},
                          {"Plan", means::kPlan},
                          {"Is", means::kIs},
                          {"samples/s", means::kThroughput},
                          {"Step", means::kStepMs},
                          {"Tile", means::kTileBytes},
                          {"Spare", means::kSpareBytes},
                          {"DDR", means::kDdrMib},
                          {"Recompute", means::kRecomputeMode},
                          {"Phases", means::kPhases},
                          {"t", means::kTensorParallel},
                          {"p", means::kPipelineStages},
                          {"r", means::kReplicas},
                          {"m", means::kMicroBatchSize},
                          {"g", means::kAccumulation},
                          {"Placement", means::kPlacement},
                          {"IPUs", means::kIpus}};

constexpr Titled kCells[]{
    {"t", means::kTensorParallel},  {"p", means::kPipelineStages}, {"r", means::kReplicas},
    {"m", means::kMicroBatchSize},  {"g", means::kAccumulation},   {"Placement", means::kPlacement},
    {"Settings", means::kSettings}, {"At most", means::kBound},    {"Fate", means::kFate}};

TableContents with(TableContents contents, std::span<const Titled> meanings) {
  for (TableColumn& column : contents.columns) {
    if (column.title.meaning.what) continue;
    for (const Titled& each : meanings) {
      if (column.title.text.section(", ", 0, 0) == each.title) column.title.meaning = each.meaning;
    }
  }
  return contents;
}

}  // namespace

TableContents with_landscape_meanings(TableContents contents) { return with(std::move(contents), kPlans); }
TableContents with_cell_meanings(TableContents contents) { return with(std::move(contents), kCells); }

}  // namespace superstep::gui
