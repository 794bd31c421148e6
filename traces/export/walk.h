// SPDX-License-Identifier: Apache-2.0
// The walk over slices that all exports of time share. Tracks come one after the other. Slices of a track come in
// order, and inner slices between the begin and the end of their outer slice. The slices are of the viewer's timeline,
// so an export shows the same as the execution trace.
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
  std::int64_t from = 0, to = 0;   // cycles from the start of the step
  std::string name;                // "forward", "layer0/attention forward", "layer0/attention forward/query", "ramp-up"
  std::string_view category;       // kind of work: "compute", "waiting"
  std::int64_t micro_batch = -1;   // -1: of no micro-batch
  std::int64_t memory_bytes = -1;  // call: peak bytes of the fullest tile; -1: not known
  std::int64_t bytes = 0;          // transfer outside of calls: bytes per IPU
  std::int64_t step = -1;          // superstep: row of the step columns; -1: no superstep
  std::string_view term = {};      // superstep: name of its waterfall term
};

// A sequence of slices: of an IPU class, of a stream beside its work, or of the parts of the step.
struct Track {
  int ipu_class = -1;   // -1: parts of the step
  std::string process;  // "IPU 0"
  std::string name;     // "program", "activations", "weights"
  int lane = -1;        // index of the timeline's lane; -1: parts of the step
};

// Bytes held from a time on, in cycles from the start of the step.
struct MemoryPoint {
  std::int64_t at = 0, bytes = 0;
};

struct Trace {
  trace::Timeline timeline;
  std::vector<Track> tracks;
  std::string title;

  using Take = std::function<void(const TraceSlice&)>;
  // Calls begin(slice) and end(slice) for every slice that overlaps [options.from, options.to). Waiting is a slice too,
  // but not the time in which a stream has nothing to move. Throws Error if the visits of all tracks together exceed
  // options.most_slices.
  void visit(const Track& track, const Options& options, const Take& begin, const Take& end) const;
  // Returns the bytes held in Streaming Memory for an IPU, one point per change. Empty: the report does not say.
  std::vector<MemoryPoint> streaming_memory(int ipu_class) const;
  mutable std::int64_t taken = 0;  // slices visited so far

 private:
  friend Trace make_trace(const ReportPointer& report, const Options& options);
  std::map<std::pair<int, std::string>, std::int64_t> peaks_;  // peak bytes per tile of calls, by IPU class and name
  void take(const Options& options, const TraceSlice& slice, const Take& begin) const;
  void inside(const trace::Lane& lane, const trace::Slice& slice, const Options& options, const Take& begin,
              const Take& end) const;
  TraceSlice named(const trace::Lane& lane, const trace::Slice& slice) const;
};

// Makes the trace of a report. Throws Error if the report has no program.
Trace make_trace(const ReportPointer& report, const Options& options);

}  // namespace superstep::exports
