// SPDX-License-Identifier: Apache-2.0
#include "gui/models/pipeline_tables.h"

#include <algorithm>

#include "gui/models/meanings.h"

namespace superstep::gui {

TableColumn ms_column(const TimelinePointer& timeline, ColumnTitle title, std::function<std::int64_t(int)> cycles) {
  TableColumn column{std::move(title), true};
  column.text = [timeline, cycles](int row) {
    return fixed_decimals(timeline->seconds(cycles(row)) * 1e3, timeline->seconds(timeline->cycles) < 10 ? 3 : 1);
  };
  column.exact = [timeline, cycles](int row) { return timeline->seconds(cycles(row)) * 1e3; };
  return column;
}

TableColumn words_column(ColumnTitle title, std::function<QString(int)> text) {
  return {.title = std::move(title), .numeric = false, .text = std::move(text)};
}

namespace {

TableColumn number(ColumnTitle title, std::function<std::int64_t(int)> value) {
  TableColumn column{std::move(title), true};
  column.text = [value](int row) { return grouped(value(row)); };
  column.exact = [value](int row) { return QVariant::fromValue<qint64>(value(row)); };
  return column;
}

}  // namespace

QString lane_name(const Timeline& timeline, const Lane& lane) {
  const QString ipu = QString::fromStdString(timeline.report->index().ipu_classes(lane.ipu_class).name());
  return lane.name.empty() ? ipu : ipu + ' ' + QString::fromStdString(lane.name);
}

QString time_text(const Timeline& timeline, std::int64_t cycles, bool in_cycles, std::int64_t shown) {
  if (in_cycles || timeline.clock_hz <= 0) return grouped(cycles);
  const double seconds = timeline.seconds(shown);
  const int decimals = seconds < 1e-4 ? 5 : seconds < 1e-3 ? 4 : seconds < 1e-2 ? 3 : seconds < 0.1 ? 2 : seconds < 20;
  return fixed_decimals(timeline.seconds(cycles) * 1e3, decimals);
}

QString time_unit(bool in_cycles) { return in_cycles ? QStringLiteral("cycles") : QStringLiteral("ms"); }

QString both_texts(const Timeline& timeline, std::int64_t cycles) {
  const QString exact = grouped(cycles) + " cycles";
  return timeline.clock_hz > 0 ? time_text(timeline, cycles, false, cycles) + " ms   " + exact : exact;
}

WorkCycles work_of_all(const Timeline& timeline) {
  WorkCycles sum;
  for (const Lane& lane : timeline.lanes) {
    if (lane.name.empty()) sum += lane.sums(0, timeline.cycles);
  }
  return sum;
}

std::int64_t ipu_lanes(const Timeline& timeline) {
  return std::count_if(timeline.lanes.begin(), timeline.lanes.end(), [](const Lane& l) { return l.name.empty(); });
}

TableContents work_table(const TimelinePointer& timeline) {
  struct Data {
    std::vector<Work> works;
    std::vector<WorkCycles> lanes;
    WorkCycles all;
  };
  auto data = std::make_shared<Data>();
  for (const Lane& lane : timeline->lanes) data->lanes.push_back(lane.sums(0, timeline->cycles));
  data->all = work_of_all(*timeline);
  for (int i = 0; i < kWorks; ++i) {
    const Work work = static_cast<Work>(i);
    if (std::any_of(data->lanes.begin(), data->lanes.end(), [&](const auto& sums) { return sums[work] > 0; })) {
      data->works.push_back(work);
    }
  }
  TableContents out;
  if (timeline->empty()) return out;
  out.rows = static_cast<int>(data->works.size()) + 1;
  const auto total = [data](int row) { return row == static_cast<int>(data->works.size()); };
  const auto of = [data, total](const WorkCycles& sums, int row) {
    return total(row) ? sums.total() : sums[data->works[static_cast<std::size_t>(row)]];
  };
  out.strong = total;
  out.source = [data, total](int row) {
    return total(row) ? -1 : static_cast<int>(data->works[static_cast<std::size_t>(row)]);
  };
  TableColumn name = words_column({"Work", means::kWork}, [data, total](int row) {
    return total(row) ? QStringLiteral("Step of all IPUs")
                      : QString::fromLatin1(name_of(data->works[static_cast<std::size_t>(row)]).data());
  });
  name.kind = [data, total](int row) {
    return total(row) ? QStringLiteral("total")
                      : QString::fromLatin1(kind_text(data->works[static_cast<std::size_t>(row)]).data());
  };
  out.columns.push_back(std::move(name));
  out.columns.push_back(
      ms_column(timeline, {"ms of all", means::kWorkMs}, [data, of](int row) { return of(data->all, row); }));
  TableColumn share{{"%", means::kWorkShare}, true};
  share.text = [data, of](int row) {
    return share_percent(static_cast<double>(of(data->all, row)), static_cast<double>(data->all.total()));
  };
  share.exact = [data, of](int row) {
    return static_cast<double>(of(data->all, row)) / static_cast<double>(data->all.total()) * 100;
  };
  out.columns.push_back(std::move(share));
  out.columns.push_back(
      number({"Cycles of all", means::kWorkCyclesOfAll}, [data, of](int row) { return of(data->all, row); }));
  for (std::size_t i = 0; i < timeline->lanes.size(); ++i) {
    out.columns.push_back(number({lane_name(*timeline, timeline->lanes[i]), means::kWorkCycles},
                                 [data, of, i](int row) { return of(data->lanes[i], row); }));
  }
  return out;
}

TableContents sections_table(const TimelinePointer& timeline) {
  TableContents out;
  out.rows = static_cast<int>(timeline->sections.size());
  const auto at = [timeline](int row) -> const Section& { return timeline->sections[static_cast<std::size_t>(row)]; };
  const auto or_blank = [](TableColumn column, std::function<std::int64_t(int)> value) {
    column.text = [value](int row) { return value(row) == 0 ? QString() : grouped(value(row)); };
    return column;
  };
  const auto count = [at](int row) { return at(row).count; };
  const auto beat = [at](int row) { return at(row).beat; };
  const auto length = [at](int row) { return at(row).to - at(row).from; };
  out.columns.push_back(
      words_column({"Part", means::kPart}, [at](int row) { return QString::fromStdString(at(row).name); }));
  out.columns.push_back(ms_column(timeline, {"From, ms", means::kFromMs}, [at](int row) { return at(row).from; }));
  out.columns.push_back(ms_column(timeline, {"ms", means::kTakesMs}, length));
  out.columns.push_back(number({"Cycles", means::kTakesCycles}, length));
  out.columns.push_back(or_blank(number({"Iterations", means::kIterations}, count), count));
  out.columns.push_back(or_blank(number({"Cycles of one", means::kCyclesOfOne}, beat), beat));
  out.columns.push_back(number({"From, cycles", means::kFromCycles}, [at](int row) { return at(row).from; }));
  return out;
}

TableContents boxes_table(const TimelinePointer& timeline, std::int64_t time) {
  struct Row {
    QString lane;
    Slice slice;
    WorkCycles sums;
  };
  auto rows = std::make_shared<std::vector<Row>>();
  for (const Lane& lane : timeline->lanes) {
    const auto [from, to] = timeline->round_at(time);
    lane.visit(from, to, 1, Lane::Depth::boxes, [&](const Slice& s) {
      if (s.work != Work::idle) rows->push_back({lane_name(*timeline, lane), s, lane.sums(s.from, s.to)});
    });
  }
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  const auto at = [rows](int row) -> const Row& { return (*rows)[static_cast<std::size_t>(row)]; };
  out.columns.push_back(words_column({"Lane", means::kLane}, [at](int row) { return at(row).lane; }));
  TableColumn work = words_column({"Work", means::kWork},
                                  [at](int row) { return QString::fromLatin1(name_of(at(row).slice.work).data()); });
  work.kind = [at](int row) { return QString::fromLatin1(kind_text(at(row).slice.work).data()); };
  out.columns.push_back(std::move(work));
  TableColumn batch{{"Micro-batch", means::kMicroBatch}, true};
  batch.text = [at](int row) { return at(row).slice.micro_batch < 0 ? QString() : grouped(at(row).slice.micro_batch); };
  batch.exact = [at](int row) { return QVariant::fromValue<qint64>(at(row).slice.micro_batch); };
  out.columns.push_back(std::move(batch));
  out.columns.push_back(
      ms_column(timeline, {"From, ms", means::kFromMs}, [at](int row) { return at(row).slice.from; }));
  out.columns.push_back(
      ms_column(timeline, {"ms", means::kTakesMs}, [at](int row) { return at(row).slice.to - at(row).slice.from; }));
  out.columns.push_back(
      number({"Cycles", means::kTakesCycles}, [at](int row) { return at(row).slice.to - at(row).slice.from; }));
  out.columns.push_back(
      number({"of which recompute", means::kRecompute}, [at](int row) { return at(row).sums[Work::recompute]; }));
  return out;
}

std::vector<LostTime> lost_time(const Timeline& timeline) {
  std::vector<LostTime> out;
  for (int i = static_cast<int>(Work::update) + 1; i < static_cast<int>(Work::idle); ++i) {
    LostTime lost{static_cast<Work>(i)};
    std::int64_t most = 0;
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
      if (!timeline.lanes[lane].name.empty()) continue;
      const std::int64_t cycles = timeline.lanes[lane].sums(0, timeline.cycles)[lost.work];
      lost.cycles += cycles;
      if (cycles > most) {
        most = cycles;
        lost.worst_lane = static_cast<int>(lane);
      }
    }
    if (lost.cycles > 0) out.push_back(lost);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.cycles > b.cycles; });
  return out;
}

QString bubble_text(const Timeline& timeline, bool in_cycles) {
  if (timeline.dated)
    return QStringLiteral("an older report, which does not tell ramps from full cycles: write it again");
  if (timeline.bubble_cycles == 0) return {};
  const QString cost =
      time_text(timeline, timeline.bubble_cycles, in_cycles, timeline.bubble_cycles) + ' ' + time_unit(in_cycles);
  if (timeline.bubble_iterations == 0) return QStringLiteral("filling and draining costs %1").arg(cost);
  return QStringLiteral("bubble %1 of %2 cycles = %3 % · costs %4")
      .arg(grouped(timeline.bubble_iterations), grouped(timeline.iterations),
           share_percent(static_cast<double>(timeline.bubble_iterations), static_cast<double>(timeline.iterations)),
           cost);
}

}  // namespace superstep::gui
