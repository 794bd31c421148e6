// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/pipeline_layout.h"

#include <algorithm>
#include <map>
#include <set>

namespace superstep::gui {
namespace {

constexpr std::int64_t kKept = 4;
constexpr double kOverview = 14;
constexpr double kHeads = 20;

std::int64_t ipus_of(const Timeline& timeline) {
  return std::count_if(timeline.lanes.begin(), timeline.lanes.end(), [](const Lane& l) { return l.name.empty(); });
}
double streams_of(const Timeline& timeline) {
  const auto ipus = static_cast<double>(std::max<std::int64_t>(1, ipus_of(timeline)));
  return static_cast<double>(timeline.lanes.size()) / ipus - 1;
}

}  // namespace

double PipelineLayout::least_height(const Timeline& timeline) {
  const auto ipus = static_cast<double>(ipus_of(timeline));
  return kTop + kOverview + kHeads + kAxis + ipus * (kLeastPitch + streams_of(timeline) * kStream) + 4;
}

PipelineLayout PipelineLayout::of(const Timeline& timeline, double width, double height) {
  PipelineLayout out;
  const double plot = std::max(60.0, width - kLeft - kRight);
  out.overview = {kLeft, kTop, plot, kOverview};
  out.heads = {kLeft, out.overview.bottom() + 4, plot, kHeads - 4};
  const double top = out.heads.bottom() + 2;
  const auto ipus = static_cast<double>(std::max<std::int64_t>(1, ipus_of(timeline)));
  const double room = (height - top - kAxis) / ipus;
  const double stream = std::clamp(room / 6, kStream, 2 * kStream);
  const double streams = streams_of(timeline) * stream;
  const double pitch = std::clamp(room, kLeastPitch + streams, kMostPitch + streams);
  const double gap = pitch > 44 + streams ? 10 : 6;
  double y = top, next = top;
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    const bool beside_one = !timeline.lanes[i].name.empty();
    if (!beside_one) {
      std::size_t beside = i + 1;
      while (beside < timeline.lanes.size() && !timeline.lanes[beside].name.empty()) ++beside;
      const double own = pitch - gap - static_cast<double>(beside - i - 1) * stream;
      out.rows.push_back({static_cast<int>(i), {kLeft, next, plot, own}, false});
      y = next + own;
      next += pitch;
    } else {
      out.rows.push_back({static_cast<int>(i), {kLeft, y + 1, plot, stream - 1}, true});
      y += stream;
    }
  }
  out.lanes = {kLeft, top, plot, std::max(0.0, next - top - gap)};
  out.axis = {kLeft, out.lanes.bottom() + 2, plot, kAxis - 2};
  return out;
}

const PipelineLayout::Row* PipelineLayout::row_at(double y) const {
  for (const Row& row : rows) {
    if (y >= row.rect.top() && y < row.rect.bottom()) return &row;
  }
  return nullptr;
}

const PipelineLayout::Row* PipelineLayout::row_of(int lane) const {
  for (const Row& row : rows) {
    if (row.lane == lane) return &row;
  }
  return nullptr;
}

std::vector<CriticalRun> critical_path(const Timeline& timeline, std::int64_t from, std::int64_t to,
                                       std::int64_t least) {
  struct Stretch {
    std::int64_t from, to;
    bool unknown;
  };
  std::map<int, std::vector<Stretch>> waiting;  // by lane, in order: where it is not the critical one
  std::set<std::int64_t> edges{from, to};
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    if (!timeline.lanes[i].name.empty()) continue;
    auto& stretches = waiting[static_cast<int>(i)];
    timeline.lanes[i].visit(from, to, least, Lane::Depth::boxes, [&](const Slice& s) {
      const bool unknown = s.node < 0 && s.to - s.from > 3 * least;
      if (!unknown && s.work != Work::imbalance && s.work != Work::no_part) return;
      stretches.push_back({std::max(s.from, from), std::min(s.to, to), unknown});
      edges.insert({stretches.back().from, stretches.back().to});
    });
  }
  std::vector<CriticalRun> out;
  int lane = -1;
  for (auto end = edges.rbegin(); std::next(end) != edges.rend(); ++end) {
    const std::int64_t begin = *std::next(end);
    const auto state = [&](int of) -> const Stretch* {
      for (auto& stretches = waiting[of]; !stretches.empty(); stretches.pop_back()) {
        if (stretches.back().from < *end) return stretches.back().to > begin ? &stretches.back() : nullptr;
      }
      return nullptr;
    };
    bool unknown = false;
    int free = -1;
    for (const auto& each : waiting) {
      const Stretch* s = state(each.first);
      unknown = unknown || (s && s->unknown);
      if (!s && (free < 0 || each.first == lane)) free = each.first;
    }
    lane = unknown ? -1 : free;
    if (!out.empty() && out.back().lane == lane) {
      out.back().from = begin;
    } else {
      out.push_back({lane, begin, *end});
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<TimeFold> folds_of(const Timeline& timeline) {
  std::vector<TimeFold> out;
  for (const Section& s : timeline.sections) {
    if (!s.equal || s.count <= 2 * kKept + 2) continue;
    out.push_back({s.from + kKept * s.cycle, s.to - kKept * s.cycle, static_cast<double>(s.cycle)});
  }
  return out;
}

}  // namespace superstep::gui
