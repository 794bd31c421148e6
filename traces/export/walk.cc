// SPDX-License-Identifier: Apache-2.0
#include "traces/export/walk.h"

#include <algorithm>

#include "model/error.h"
#include "traces/damaged.h"

namespace superstep::exports {

using trace::Lane;
using trace::LaneNode;
using trace::Slice;
using trace::Work;

namespace {

bool counted(const Options& options, std::int64_t from, std::int64_t to) {
  return from < options.to && to > options.from;
}

std::map<std::pair<int, std::string>, std::int64_t> peaks_of(const ReportFile& report) {
  std::map<std::pair<int, std::string>, std::int64_t> out;
  if (!report.has_column("heat.phase") || !report.has_column("tile.memory_bytes")) return out;
  const TextColumn name = report.column_texts("heat.phase");
  const auto ipu = report.column_integers("heat.phase_ipu_class");
  const auto phase = report.column_integers("tile.phase"), bytes = report.column_integers("tile.memory_bytes");
  check_rows(report, "heat.*", name.size(), ipu);
  check_rows(report, "tile.*", phase.size(), bytes);
  for (std::size_t row = 0; row < phase.size(); ++row) {
    const auto p = static_cast<std::size_t>(phase[row]);
    if (phase[row] < 0 || p >= name.size()) damaged(report, "tiles of no phase");
    std::int64_t& most = out[{static_cast<int>(ipu[p]), name[p]}];
    most = std::max(most, bytes[row]);
  }
  return out;
}

}  // namespace

Trace make_trace(const ReportPointer& report, const Options& options) {
  Trace out;
  std::shared_ptr<const trace::StepTrace> steps;
  if (options.detail == Detail::steps) {
    steps = std::make_shared<const trace::StepTrace>(trace::load_step_trace(*report));
    if (steps->rows() == 0) steps = nullptr;
  }
  out.timeline = trace::make_timeline(report, steps);
  if (out.timeline.empty()) {
    throw Error(report->path().string(), "has no program, so there is no time to export");
  }
  const report::Index& index = report->index();
  out.title = index.title() + (index.plan().label().empty() ? "" : ", " + index.plan().label());
  out.tracks.push_back({-1, "step", "parts", -1});
  for (std::size_t i = 0; i < out.timeline.lanes.size(); ++i) {
    const Lane& lane = out.timeline.lanes[i];
    out.tracks.push_back({lane.ipu_class, index.ipu_classes(lane.ipu_class).name(),
                          lane.name.empty() ? "program" : lane.name, static_cast<int>(i)});
  }
  out.peaks_ = peaks_of(*report);
  return out;
}

TraceSlice Trace::named(const Lane& lane, const Slice& slice) const {
  TraceSlice out{slice.from, slice.to};
  out.category = slice.step >= 0     ? timeline.steps->kind[static_cast<std::size_t>(slice.step)]
                 : waits(slice.work) ? "waiting"
                                     : kind_text(slice.work);
  out.micro_batch = slice.micro_batch;
  const LaneNode& node = lane.node(slice.node);
  const bool is_leaf = node.kind == LaneNode::Kind::leaf && node.source != nullptr && !waits(slice.work);
  if (slice.step >= 0) {
    out.name = trace::name_of_step(timeline, lane, slice);
    out.step = slice.step;
    out.term = timeline.steps->term[static_cast<std::size_t>(slice.step)];
  } else if (is_leaf) {
    out.name = node.source->name();
    out.bytes = node.source->bytes();
    const auto peak = node.function < 0 ? peaks_.end() : peaks_.find({lane.ipu_class, out.name});
    if (peak != peaks_.end()) out.memory_bytes = peak->second;
  } else {
    out.name = name_of(slice.work);
  }
  return out;
}

void Trace::take(const Options& options, const TraceSlice& slice, const Take& begin) const {
  if (++taken > options.most_slices) {
    throw Error(timeline.report->path().string(),
                "has more than " + std::to_string(options.most_slices) +
                    " slices of this detail, which what opens the file would not survive; choose a coarser --detail, "
                    "or a stretch with --cycles FROM-TO");
  }
  begin(slice);
}

void Trace::inside(const Lane& lane, const Slice& slice, const Options& options, const Take& begin,
                   const Take& end) const {
  if (options.detail == Detail::passes || waits(slice.work) || slice.node < 0) return;
  const bool is_box = lane.node(slice.node).kind == LaneNode::Kind::box;
  if (!is_box && (options.detail != Detail::steps || !lane.steps || lane.node(slice.node).function < 0)) return;
  lane.visit(slice.from, slice.to, 1, is_box ? Lane::Depth::leaves : Lane::Depth::steps, [&](const Slice& s) {
    const TraceSlice part = named(lane, s);
    take(options, part, begin);
    if (is_box) inside(lane, s, options, begin, end);
    end(part);
  });
}

void Trace::visit(const Track& track, const Options& options, const Take& begin, const Take& end) const {
  if (track.lane < 0) {
    for (const trace::Section& s : timeline.sections) {
      if (!counted(options, s.from, s.to)) continue;
      const TraceSlice slice{s.from, s.to, s.name, "part"};
      take(options, slice, begin);
      end(slice);
    }
    return;
  }
  const Lane& lane = timeline.lanes[static_cast<std::size_t>(track.lane)];
  lane.visit(options.from, std::min(options.to, lane.cycles()), 1, Lane::Depth::boxes, [&](const Slice& s) {
    if (s.work == Work::idle) return;
    const TraceSlice slice = named(lane, s);
    take(options, slice, begin);
    inside(lane, s, options, begin, end);
    end(slice);
  });
}

std::vector<MemoryPoint> Trace::streaming_memory(int ipu_class) const {
  const ReportFile& report = *timeline.report;
  if (!report.has_column("ddr.bytes") || !report.has_column("stream.begin")) return {};
  const auto of = report.column_integers("stream.ipu_class"), begin = report.column_integers("stream.begin");
  const auto holder = report.column_integers("ddr.ipu_class"), bytes = report.column_integers("ddr.bytes");
  const auto first = report.column_integers("ddr.first"), last = report.column_integers("ddr.last");
  check_rows(report, "stream.*", begin.size(), of);
  check_rows(report, "ddr.*", bytes.size(), holder, first, last);
  std::vector<MemoryPoint> out;
  std::int64_t stretch = 0;
  for (std::size_t row = 0; row < of.size(); ++row) {
    if (of[row] != ipu_class) continue;
    std::int64_t held = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (holder[i] == ipu_class && first[i] <= stretch && stretch <= last[i]) held += bytes[i];
    }
    ++stretch;
    if (out.empty() || out.back().bytes != held) out.push_back({begin[row], held});
  }
  return out;
}

}  // namespace superstep::exports
