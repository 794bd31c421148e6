// SPDX-License-Identifier: Apache-2.0
// The numbers of pipeline and trace as tables, and times as text.
#pragma once

#include <memory>

#include "gui/models/report_tables.h"
#include "gui/models/timeline.h"

namespace superstep::gui {

using TimelinePointer = std::shared_ptr<const Timeline>;

// Columns of such tables: words; milliseconds, with the decimals that the step deserves.
TableColumn words_column(ColumnTitle title, std::function<QString(int)> text);
TableColumn ms_column(const TimelinePointer& timeline, ColumnTitle title, std::function<std::int64_t(int)> cycles);

// "1 804.6" or "2 391 095": no unit. Milliseconds with the decimals that `shown`, a stretch of the step, deserves.
QString time_text(const Timeline& timeline, std::int64_t cycles, bool in_cycles, std::int64_t shown);
QString time_unit(bool in_cycles);                                  // "ms", "cycles"
QString both_texts(const Timeline& timeline, std::int64_t cycles);  // "0.210 ms  278 250 cycles"

QString lane_name(const Timeline& timeline, const Lane& lane);  // "IPU 1", "IPU 1 loads"

// What each IPU does with the step: a row for every work that there is, cycles, milliseconds and share over all IPUs,
// then cycles of every lane. The last row is the step.
TableContents work_table(const TimelinePointer& timeline);

// Ramps, full cycles, phases, update: from, to, iterations, cycles of one.
TableContents sections_table(const TimelinePointer& timeline);

// The boxes of the section that a lane shows at `time`, in one iteration: name, micro-batch, begin, cycles and what
// they are made of.
TableContents boxes_table(const TimelinePointer& timeline, std::int64_t time);

// Cycles of each cause that are no forward, backward or update, over the IPUs' own lanes, largest first.
struct LostTime {
  Work work;
  std::int64_t cycles = 0;
  int worst_lane = -1;  // where most of it is
};
std::vector<LostTime> lost_time(const Timeline& timeline);
// Over all IPUs' own lanes.
WorkCycles work_of_all(const Timeline& timeline);
std::int64_t ipu_lanes(const Timeline& timeline);

// "bubble 4.0 % of cycles = 8 of 200", empty without a pipeline.
QString bubble_text(const Timeline& timeline, bool in_cycles);

}  // namespace superstep::gui
