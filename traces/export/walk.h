// SPDX-License-Identifier: Apache-2.0
// The walk that all exports of time share: track by track, slices in order, those inside another one after it begins
// and before it ends. It is the viewer's timeline, so an export shows what the execution trace shows.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/export/formats.h"
#include "traces/timeline/timeline.h"

namespace superstep::exports {

struct TraceSlice {
  std::int64_t from = 0, to = 0;  // cycles from the start of the step
  std::string name;               // "forward", "layer0/attention forward", "layer0/attention forward/query", "ramp-up"
  std::string_view category;      // what the track does: "compute", "waiting"
  std::int64_t micro_batch = -1;
  std::int64_t memory_bytes = -1;  // of a call: on the fullest tile, at its peak
  std::int64_t bytes = 0;          // that a step of the program moves
  std::int64_t step = -1;          // row of the steps
  std::string_view term = {};      // of a superstep: of the waterfall
};

struct Track {
  int ipu_class = -1;   // -1: parts of the step
  std::string process;  // "IPU 0"
  std::string name;     // "program", "activations", "weights"
  int lane = -1;
};

struct MemoryPoint {
  std::int64_t at = 0, bytes = 0;
};

struct Trace {
  trace::Timeline timeline;
  std::vector<Track> tracks;
  std::string title;

  using Take = std::function<void(const TraceSlice&)>;
  // Calls begin and end for every slice that meets the options' stretch. Waiting is a slice; a stream that has nothing
  // to move has none. Throws Error beyond most_slices of all tracks together, which `taken` counts.
  void visit(const Track& track, const Options& options, const Take& begin, const Take& end) const;
  // What is held in Streaming Memory for an IPU, where it changes.
  std::vector<MemoryPoint> streaming_memory(int ipu_class) const;
  mutable std::int64_t taken = 0;

 private:
  friend Trace make_trace(const ReportPointer& report, const Options& options);
  std::map<std::pair<int, std::string>, std::int64_t> peaks_;  // of calls by IPU class and name
  void take(const Options& options, const TraceSlice& slice, const Take& begin) const;
  void inside(const trace::Lane& lane, const trace::Slice& slice, const Options& options, const Take& begin,
              const Take& end) const;
  TraceSlice named(const trace::Lane& lane, const trace::Slice& slice) const;
};

// Throws Error when the report has no program to show.
Trace make_trace(const ReportPointer& report, const Options& options);

}  // namespace superstep::exports
