// SPDX-License-Identifier: Apache-2.0
// A micro-batch's way through the IPUs: what works on it when, and the copies that take it from one IPU to the next.
#pragma once

#include <vector>

#include "gui/models/pipeline_tables.h"

namespace superstep::gui {

struct PathBox {
  int lane = -1;
  Slice slice;
};

// A copy between stages: one step of the program moves what all IPUs send, in both directions at once.
struct CopyArrow {
  int from_lane = -1, to_lane = -1;
  std::int64_t micro_batch = -1;
  Work work = Work::forward;      // of the box whose result is sent: activations; backward: gradients
  std::int64_t from = 0, to = 0;  // when the step runs
  std::int64_t bytes = 0;         // that one IPU moves in it, at the widest boundary
};

// Boxes of the IPUs' own lanes that work on the micro-batch, in order of time, in the run of the pipeline that `time`
// is in. Empty: nothing works on it there.
std::vector<PathBox> path_of(const Timeline& timeline, std::int64_t micro_batch, std::int64_t time);
// Between boxes that follow one another on different lanes.
std::vector<CopyArrow> copies_along(const Timeline& timeline, const std::vector<PathBox>& path);
// All copies that run in [from, to), in order; from the boxes of `reach` cycles around.
std::vector<CopyArrow> copies_in(const Timeline& timeline, std::int64_t from, std::int64_t to, std::int64_t reach);

// Boxes and copies in order.
TableContents path_table(const TimelinePointer& timeline, std::int64_t micro_batch, std::int64_t time);
// Of the round that `time` is in.
TableContents copies_table(const TimelinePointer& timeline, std::int64_t time);

}  // namespace superstep::gui
