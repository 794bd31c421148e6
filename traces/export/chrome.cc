// SPDX-License-Identifier: Apache-2.0
// Chrome's JSON trace: an object whose list of events is written one by one.
#include <nlohmann/json.hpp>
#include <ostream>

#include "traces/export/time.h"

namespace superstep::exports {
namespace {

using Json = nlohmann::ordered_json;

class ChromeWriter {
 public:
  ChromeWriter(const Trace& trace, const Options& options, std::ostream& out)
      : trace_(trace), options_(options), out_(out) {}

  void write() {
    const Json about = {{"title", trace_.title}, {"time", time_note(trace_, options_)}};
    out_ << "{\"displayTimeUnit\":\"ns\",\"otherData\":" << about.dump() << ",\"traceEvents\":[";
    int pid = 0, tid = 0, ipu_class = -2;
    for (const Track& track : trace_.tracks) {
      if (track.ipu_class != ipu_class) {
        ipu_class = track.ipu_class;
        ++pid, tid = 0, shown_ = -1;
        put({{"ph", "M"}, {"pid", pid}, {"name", "process_name"}, {"args", {{"name", track.process}}}});
        put({{"ph", "M"}, {"pid", pid}, {"name", "process_sort_index"}, {"args", {{"sort_index", pid}}}});
        for (const MemoryPoint& p : trace_.streaming_memory(ipu_class)) count(pid, "Streaming Memory", p.at, p.bytes);
      }
      ++tid;
      put({{"ph", "M"}, {"pid", pid}, {"tid", tid}, {"name", "thread_name"}, {"args", {{"name", track.name}}}});
      trace_.visit(
          track, options_, [&](const TraceSlice& s) { slice(pid, tid, s); }, [](const TraceSlice&) {});
    }
    out_ << "\n]}\n";
  }

 private:
  const Trace& trace_;
  const Options& options_;
  std::ostream& out_;
  bool first_ = true;
  std::int64_t shown_ = -1;

  void put(const Json& event) {
    out_ << (first_ ? "\n" : ",\n") << event.dump();
    first_ = false;
  }
  // In microseconds, as the format has it.
  double time(std::int64_t cycles) const { return static_cast<double>(nanoseconds(trace_, options_, cycles)) / 1e3; }
  double length(const TraceSlice& s) const {
    return static_cast<double>(nanoseconds(trace_, options_, s.to) - nanoseconds(trace_, options_, s.from)) / 1e3;
  }
  void count(int pid, const char* name, std::int64_t at, std::int64_t value) {
    put({{"ph", "C"}, {"pid", pid}, {"name", name}, {"ts", time(at)}, {"args", {{"bytes", value}}}});
  }
  void slice(int pid, int tid, const TraceSlice& s) {
    if (s.memory_bytes >= 0 && s.memory_bytes != shown_) {
      count(pid, "tile memory, fullest tile", s.from, shown_ = s.memory_bytes);
    }
    Json args = {{"cycles", s.to - s.from}, {"us", microseconds(trace_, s.to - s.from)}};
    if (s.micro_batch >= 0) args["micro_batch"] = s.micro_batch;
    if (s.bytes > 0) args["bytes"] = s.bytes;
    if (s.memory_bytes >= 0) args["tile_bytes"] = s.memory_bytes;
    if (!s.term.empty()) args["waterfall_term"] = s.term;
    put({{"ph", "X"},
         {"pid", pid},
         {"tid", tid},
         {"ts", time(s.from)},
         {"dur", length(s)},
         {"name", s.name},
         {"cat", s.category},
         {"args", std::move(args)}});
  }
};

}  // namespace

void write_chrome(const ReportPointer& report, const Options& options, std::ostream& out) {
  const Trace trace = make_trace(report, options);
  ChromeWriter(trace, options, out).write();
}

}  // namespace superstep::exports
