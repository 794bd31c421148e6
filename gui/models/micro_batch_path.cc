// SPDX-License-Identifier: Apache-2.0
#include "gui/models/micro_batch_path.h"

#include <algorithm>
#include <map>

#include "gui/models/meanings.h"

namespace superstep::gui {
namespace {

bool works(const Slice& s) { return s.node >= 0 && s.micro_batch >= 0 && !waits(s.work) && s.work != Work::idle; }

// The parts of the step around `time` that are one repeat: ramps and full cycles.
std::pair<std::int64_t, std::int64_t> run_of(const Timeline& timeline, std::int64_t time) {
  const Section* at = timeline.section_at(time);
  if (!at) return {0, 0};
  if (at->cycle == 0) return {at->from, at->to};
  const auto& all = timeline.sections;
  auto first = static_cast<std::size_t>(at - all.data()), last = first;
  const auto joins = [](const Section& s) { return s.cycle > 0; };
  while (first > 0 && joins(all[first - 1]) && all[first - 1].to == all[first].from) --first;
  while (last + 1 < all.size() && joins(all[last + 1]) && all[last].to == all[last + 1].from) ++last;
  return {all[first].from, all[last].to};
}

std::int64_t longest_round(const Timeline& timeline, std::int64_t from, std::int64_t to) {
  std::int64_t out = 0;
  for (const Section& s : timeline.sections) {
    if (s.from < to && s.to > from) out = std::max(out, s.beat);
  }
  return out;
}

std::int64_t most_lag(const Timeline& timeline) {
  std::int64_t out = 0;
  for (const Lane& lane : timeline.lanes) {
    for (const LaneNode& node : lane.nodes) out = std::max(out, node.lag);
  }
  return out;
}

void visit_boxes(const Timeline& timeline, std::int64_t from, std::int64_t to,
                 const std::function<void(const PathBox&)>& take) {
  for (std::size_t i = 0; i < timeline.lanes.size(); ++i) {
    if (!timeline.lanes[i].name.empty()) continue;
    timeline.lanes[i].visit(from, to, 1, Lane::Depth::boxes, [&](const Slice& s) {
      if (works(s)) take({static_cast<int>(i), s});
    });
  }
}

bool earlier(const PathBox& a, const PathBox& b) { return a.slice.from < b.slice.from; }

// The copy that the lane runs between the two, if any.
void add_copy(const Timeline& timeline, const PathBox& sender, const PathBox& receiver, std::vector<CopyArrow>& out) {
  if (sender.lane == receiver.lane || receiver.slice.from < sender.slice.to) return;
  const Lane& lane = timeline.lanes[static_cast<std::size_t>(sender.lane)];
  bool found = false;
  lane.visit(sender.slice.to, receiver.slice.from, 1, Lane::Depth::leaves, [&](const Slice& s) {
    if (found || s.work != Work::copy || s.node < 0) return;
    found = true;
    const report::ProgramNode* step = lane.node(s.node).source;
    out.push_back({sender.lane, receiver.lane, sender.slice.micro_batch, sender.slice.work, s.from, s.to,
                   step ? static_cast<std::int64_t>(step->bytes()) : 0});
  });
}

TableColumn count_or_blank(ColumnTitle title, std::function<std::int64_t(int)> value) {
  TableColumn column{std::move(title), true};
  column.text = [value](int row) { return value(row) < 0 ? QString() : grouped(value(row)); };
  column.exact = [value](int row) { return QVariant::fromValue<qint64>(value(row)); };
  return column;
}

QString name_of_lane(const Timeline& timeline, int lane) {
  return lane_name(timeline, timeline.lanes[static_cast<std::size_t>(lane)]);
}

QString sent(const CopyArrow& copy) {
  return copy.work == Work::forward ? QStringLiteral("activations") : QStringLiteral("gradients");
}

}  // namespace

std::vector<PathBox> path_of(const Timeline& timeline, std::int64_t micro_batch, std::int64_t time) {
  std::vector<PathBox> out;
  if (micro_batch < 0 || timeline.empty() || timeline.dated) return out;
  const auto [begin, end] = run_of(timeline, time);
  const auto [round_begin, round_end] = timeline.round_at(time);
  const std::int64_t reach = (most_lag(timeline) + 1) * longest_round(timeline, begin, end);
  visit_boxes(timeline, std::max(begin, round_begin - reach), std::min(end, round_end + reach),
              [&](const PathBox& box) {
                if (box.slice.micro_batch == micro_batch) out.push_back(box);
              });
  std::stable_sort(out.begin(), out.end(), earlier);
  return out;
}

std::vector<CopyArrow> copies_along(const Timeline& timeline, const std::vector<PathBox>& path) {
  std::vector<CopyArrow> out;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) add_copy(timeline, path[i], path[i + 1], out);
  return out;
}

std::vector<CopyArrow> copies_in(const Timeline& timeline, std::int64_t from, std::int64_t to, std::int64_t reach) {
  if (timeline.dated) return {};
  std::map<std::int64_t, std::vector<PathBox>> paths;
  visit_boxes(timeline, from - reach, to + reach, [&](const PathBox& b) { paths[b.slice.micro_batch].push_back(b); });
  std::vector<CopyArrow> out;
  for (auto& [micro_batch, path] : paths) {
    std::stable_sort(path.begin(), path.end(), earlier);
    for (const CopyArrow& copy : copies_along(timeline, path)) {
      if (copy.from < to && copy.to > from) out.push_back(copy);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair(a.from, a.from_lane) < std::pair(b.from, b.from_lane);
  });
  return out;
}

TableContents path_table(const TimelinePointer& timeline, std::int64_t micro_batch, std::int64_t time) {
  struct Row {
    QString lane, what, kind;
    std::int64_t from, to, bytes;
  };
  auto rows = std::make_shared<std::vector<Row>>();
  const std::vector<PathBox> path = path_of(*timeline, micro_batch, time);
  for (const PathBox& box : path) {
    rows->push_back({name_of_lane(*timeline, box.lane), QString::fromLatin1(name_of(box.slice.work).data()),
                     QString::fromLatin1(kind_text(box.slice.work).data()), box.slice.from, box.slice.to, -1});
  }
  for (const CopyArrow& copy : copies_along(*timeline, path)) {
    rows->push_back({name_of_lane(*timeline, copy.from_lane),
                     QString("%1 to %2").arg(sent(copy), name_of_lane(*timeline, copy.to_lane)),
                     QString::fromLatin1(kind_text(Work::copy).data()), copy.from, copy.to, copy.bytes});
  }
  std::stable_sort(rows->begin(), rows->end(), [](const Row& a, const Row& b) { return a.from < b.from; });
  const auto at = [rows](int row) -> const Row& { return (*rows)[static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns.push_back(words_column({"Lane", means::kLane}, [at](int row) { return at(row).lane; }));
  out.columns.push_back(words_column({"Work", means::kWork}, [at](int row) { return at(row).what; }));
  out.columns.back().kind = [at](int row) { return at(row).kind; };
  out.columns.push_back(ms_column(timeline, {"From, ms", means::kFromMs}, [at](int row) { return at(row).from; }));
  out.columns.push_back(
      ms_column(timeline, {"ms", means::kTakesMs}, [at](int row) { return at(row).to - at(row).from; }));
  out.columns.push_back(
      count_or_blank({"Cycles", means::kTakesCycles}, [at](int row) { return at(row).to - at(row).from; }));
  out.columns.push_back(count_or_blank({"Bytes", means::kCopyBytes}, [at](int row) { return at(row).bytes; }));
  return out;
}

TableContents copies_table(const TimelinePointer& timeline, std::int64_t time) {
  const auto [from, to] = timeline->round_at(time);
  const auto rows = std::make_shared<const std::vector<CopyArrow>>(copies_in(*timeline, from, to, to - from));
  const auto at = [rows](int row) -> const CopyArrow& { return (*rows)[static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns.push_back(
      words_column({"Lane", means::kLane}, [=](int row) { return name_of_lane(*timeline, at(row).from_lane); }));
  out.columns.push_back(
      words_column({"To", means::kCopyTo}, [=](int row) { return name_of_lane(*timeline, at(row).to_lane); }));
  out.columns.push_back(words_column({"What", means::kCopied}, [at](int row) { return sent(at(row)); }));
  out.columns.push_back(
      count_or_blank({"Micro-batch", means::kMicroBatch}, [at](int row) { return at(row).micro_batch; }));
  out.columns.push_back(ms_column(timeline, {"From, ms", means::kFromMs}, [at](int row) { return at(row).from; }));
  out.columns.push_back(
      ms_column(timeline, {"ms", means::kTakesMs}, [at](int row) { return at(row).to - at(row).from; }));
  out.columns.push_back(
      count_or_blank({"Cycles", means::kTakesCycles}, [at](int row) { return at(row).to - at(row).from; }));
  out.columns.push_back(count_or_blank({"Bytes", means::kCopyBytes}, [at](int row) { return at(row).bytes; }));
  return out;
}

}  // namespace superstep::gui
