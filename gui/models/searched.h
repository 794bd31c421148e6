// SPDX-License-Identifier: Apache-2.0
// What was searched: every plan that was found, and all combinations of t, p, r, their placement, groups of shards, m
// and g with bound and fate. Reports of earlier versions and of plans that were given have neither.
#pragma once

#include "gui/models/landscape.h"

namespace superstep::gui {

// Plans with the numbers of the tables that the search goes by; they all fit. Throws Error when the columns disagree.
std::vector<LandscapePlan> found_plans(const ReportFile& report);
// "2 000 of 5 678 found plans drawn". Empty: the report has none.
QString sampling_sentence(const report::Index& index, std::size_t drawn);

struct SearchedCells {
  TextColumn tensor_parallel, placement, shard_groups, fate;
  std::vector<std::int64_t> pipeline_stages, replicas, micro_batch, gradient_accumulation;
  std::vector<double> settings, bound;

  std::size_t size() const { return settings.size(); }
  double total(const char* of_fate) const;  // settings in cells of that fate
};
SearchedCells load_cells(const ReportFile& report);
// Where every setting went, from `cells` and the search's own counts. Empty: no cells.
QString account_sentence(const report::Index& index, const SearchedCells& cells);
inline constexpr int kCellSettings = 7;  // column
inline constexpr int kCellBound = 8;
inline constexpr int kCellFate = 9;
TableContents cells_table(std::shared_ptr<const SearchedCells> cells);

// The cell a plan is of; -1: none.
int cell_of(const SearchedCells& cells, const LandscapePlan& plan);

}  // namespace superstep::gui
