// SPDX-License-Identifier: Apache-2.0
// Perfetto's TrackEvent packets, written one by one: the file may be larger than memory.
#include <ostream>
#include <unordered_map>

#include "traces/export/time.h"
#include "traces/track_event.pb.h"

namespace superstep::exports {
namespace {

constexpr int kBegin = 1, kEnd = 2, kCounter = 4;
constexpr int kNamesAnew = 1, kNeedsNames = 2;
constexpr int kByRank = 3, kBytes = 3;
constexpr std::uint32_t kSequence = 1;
constexpr std::uint64_t kRoot = 1;

class PerfettoWriter {
 public:
  PerfettoWriter(const Trace& trace, const Options& options, std::ostream& out)
      : trace_(trace), options_(options), out_(out) {}

  void write() {
    perfetto::TracePacket root = packet(kNamesAnew);
    describe(root, kRoot, trace_.title, 0, 0);
    root.mutable_track_descriptor()->set_description(time_note(trace_, options_));
    put(root);
    int ipu_class = -2;
    std::uint64_t parent = kRoot;
    for (const Track& track : trace_.tracks) {
      if (track.ipu_class != ipu_class) {
        ipu_class = track.ipu_class;
        parent = descriptor(track.process, kRoot);
        memory_ = ipu_class < 0 ? 0 : counter("tile memory, fullest tile", parent);
        if (ipu_class >= 0) streaming_memory(ipu_class, parent);
      }
      slices(track, descriptor(track.name, parent));
    }
  }

 private:
  const Trace& trace_;
  const Options& options_;
  std::ostream& out_;
  std::unordered_map<std::string, std::uint64_t> names_;
  std::uint64_t tracks_ = kRoot;
  std::uint64_t memory_ = 0;  // track of the IPU's tile memory
  std::int64_t shown_ = -1;   // its value

  perfetto::TracePacket packet(int flags) const {
    perfetto::TracePacket p;
    p.set_trusted_packet_sequence_id(kSequence);
    p.set_sequence_flags(static_cast<std::uint32_t>(flags));
    return p;
  }
  void put(const perfetto::TracePacket& p) {
    // A packet is field 1 of the trace; traces that follow one another are one trace.
    perfetto::Trace one;
    *one.add_packet() = p;
    one.SerializeToOstream(&out_);
  }
  void describe(perfetto::TracePacket& p, std::uint64_t uuid, const std::string& name, std::uint64_t parent, int rank) {
    auto& d = *p.mutable_track_descriptor();
    d.set_uuid(uuid), d.set_name(name), d.set_sibling_order_rank(rank), d.set_child_ordering(kByRank);
    if (parent != 0) d.set_parent_uuid(parent);
  }
  std::uint64_t descriptor(const std::string& name, std::uint64_t parent, bool counts = false) {
    const std::uint64_t uuid = ++tracks_;
    perfetto::TracePacket p = packet(kNeedsNames);
    describe(p, uuid, name, parent, static_cast<int>(uuid));
    if (counts) p.mutable_track_descriptor()->mutable_counter()->set_unit(kBytes);
    put(p);
    return uuid;
  }
  std::uint64_t counter(const std::string& name, std::uint64_t parent) {
    shown_ = -1;
    return descriptor(name, parent, true);
  }
  perfetto::TracePacket event(int type, std::uint64_t track, std::int64_t cycles) const {
    perfetto::TracePacket p = packet(kNeedsNames);
    p.set_timestamp(static_cast<std::uint64_t>(nanoseconds(trace_, options_, cycles)));
    p.mutable_track_event()->set_type(type);
    p.mutable_track_event()->set_track_uuid(track);
    return p;
  }
  void count(std::uint64_t track, std::int64_t at, std::int64_t value) {
    perfetto::TracePacket p = event(kCounter, track, at);
    p.mutable_track_event()->set_counter_value(value);
    put(p);
  }
  void streaming_memory(int ipu_class, std::uint64_t parent) {
    const std::vector<MemoryPoint> points = trace_.streaming_memory(ipu_class);
    if (points.empty()) return;
    const std::uint64_t track = descriptor("Streaming Memory", parent, true);
    for (const MemoryPoint& point : points) count(track, point.at, point.bytes);
  }
  void begin(const TraceSlice& slice, std::uint64_t track) {
    if (slice.memory_bytes >= 0 && slice.memory_bytes != shown_) {
      count(memory_, slice.from, shown_ = slice.memory_bytes);
    }
    perfetto::TracePacket p = event(kBegin, track, slice.from);
    const auto [name, is_new] = names_.emplace(slice.name, names_.size() + 1);
    if (is_new) {
      auto& told = *p.mutable_interned_data()->add_event_names();
      told.set_iid(name->second), told.set_name(slice.name);
    }
    auto& e = *p.mutable_track_event();
    e.set_name_iid(name->second);
    e.add_categories(std::string(slice.category));
    const auto add = [&](const char* what) -> perfetto::DebugAnnotation& {
      auto& a = *e.add_debug_annotations();
      a.set_name(what);
      return a;
    };
    add("cycles").set_int_value(slice.to - slice.from);
    add("us").set_double_value(microseconds(trace_, slice.to - slice.from));
    if (slice.micro_batch >= 0) add("micro_batch").set_int_value(slice.micro_batch);
    if (slice.bytes > 0) add("bytes").set_int_value(slice.bytes);
    if (slice.memory_bytes >= 0) add("tile_bytes").set_int_value(slice.memory_bytes);
    if (!slice.term.empty()) add("waterfall_term").set_string_value(std::string(slice.term));
    put(p);
  }
  void slices(const Track& track, std::uint64_t uuid) {
    trace_.visit(
        track, options_, [&](const TraceSlice& s) { begin(s, uuid); },
        [&](const TraceSlice& s) { put(event(kEnd, uuid, s.to)); });
  }
};

}  // namespace

void write_perfetto(const ReportPointer& report, const Options& options, std::ostream& out) {
  const Trace trace = make_trace(report, options);
  PerfettoWriter(trace, options, out).write();
}

}  // namespace superstep::exports
