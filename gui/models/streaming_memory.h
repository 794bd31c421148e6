// SPDX-License-Identifier: Apache-2.0
// What lies in Streaming Memory for an IPU over a step, and what moves there and back, stretch by stretch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/report_tables.h"

namespace superstep::gui {

struct StreamStretch {
  std::string name;  // "phase 3 forward"
  std::int64_t begin = 0, cycles = 0;
  std::int64_t load_bytes = 0, load_cycles = 0, store_bytes = 0, store_cycles = 0;
  std::int64_t ahead_bytes = 0;  // of load_bytes, beside the calls of this stretch for a later one
  std::string ahead;             // "phase 4"
};

struct HeldBytes {
  std::string name, category;
  std::int64_t bytes = 0;
  int first = 0, last = 0;  // stretches
};

struct StreamingMemory {
  std::vector<StreamStretch> stretches;
  std::vector<HeldBytes> held;
  std::int64_t cycles = 0;     // of the step
  std::int64_t repeats = 1;    // stretches come so often in a step; the first time is listed
  double clock = 0, roof = 0;  // bytes per second
  std::int64_t held_at(int stretch) const;
  std::int64_t most_held() const;
  double rate(std::int64_t bytes, std::int64_t cycles) const;  // bytes per second
};

// Empty in old reports; throws Error when the columns disagree.
StreamingMemory load_streaming_memory(const ReportFile& report, int ipu_class);

// Stretch, begin and length, held, loaded and stored with their mean rates, share of the roof while it streams, and
// what is loaded ahead.
TableContents streaming_memory_table(std::shared_ptr<const StreamingMemory> memory);
// Name, category, bytes, first and last stretch.
TableContents held_table(std::shared_ptr<const StreamingMemory> memory);

}  // namespace superstep::gui
