// SPDX-License-Identifier: Apache-2.0
#include "gui/models/trace_tables.h"

#include <algorithm>
#include "gui/models/meanings.h"
#include "gui/models/steps.h"

namespace superstep::gui {
namespace {

QString ipu_name(const Timeline& trace, const Lane& lane) {
  return QString::fromStdString(trace.report->index().ipu_classes(lane.ipu_class).name());
}

LaneCounts counts_below(const Lane& lane, int at) {
  const LaneNode& n = lane.node(at);
  LaneCounts out;
  if (n.kind == LaneNode::Kind::leaf) {
    if (n.function >= 0 && lane.steps)
      out.supersteps = lane.steps->functions[static_cast<std::size_t>(n.function)].steps;
    if (n.work == Work::load || n.work == Work::store || n.work == Work::host) out.stream_bytes = n.source->bytes();
    if (n.work == Work::copy || n.work == Work::collective) out.link_bytes = n.source->bytes();
    return out;
  }
  for (const int child : n.children) {
    const LaneCounts each = counts_below(lane, child);
    out.supersteps += each.supersteps;
    out.stream_bytes += each.stream_bytes;
    out.link_bytes += each.link_bytes;
  }
  const bool repeats = n.kind == LaneNode::Kind::repeat;
  const std::int64_t times = !repeats ? 1 : n.source->ramp() ? 0 : n.micro_batches;
  return {out.supersteps * times, out.stream_bytes * times, out.link_bytes * times};
}

}  // namespace

std::int64_t Proportion::of(const WorkCycles& sums) const {
  if (work == Work::imbalance) return sums.waiting();
  if (work == Work::copy) return sums[Work::copy] + sums[Work::collective];
  if (work == Work::load) return sums[Work::load] + sums[Work::store] + sums[Work::host];
  if (work == Work::compute) {
    return sums[Work::compute] + sums[Work::forward] + sums[Work::recompute] + sums[Work::backward] +
           sums[Work::update];
  }
  return sums[work];
}

const std::vector<Proportion>& proportions() {
  static const std::vector<Proportion> all{{"compute", Work::compute},   {"internal exchange", Work::exchange},
                                           {"sync", Work::sync},         {"links", Work::copy},
                                           {"DDR and host", Work::load}, {"fixed", Work::fixed},
                                           {"waiting", Work::imbalance}};
  return all;
}

TileUse tile_use(const HeatData& heat, int ipu_class, std::int64_t step_cycles) {
  double used = 0, slowest = 0, active = 0, time = 0;
  for (std::size_t p = 0; p < heat.phases.size(); ++p) {
    const HeatPhase& phase = heat.phases[p];
    if (phase.ipu_class != ipu_class) continue;
    double sum = 0, most = 0;
    for (std::size_t i = phase.first_run; i < phase.first_run + phase.runs; ++i) {
      const TileRun& run = heat.runs[i];
      sum += static_cast<double>(run.count) * static_cast<double>(run.compute_cycles);
      most = std::max(most, static_cast<double>(run.compute_cycles));
    }
    used += sum * static_cast<double>(phase.repeats);
    slowest += most * static_cast<double>(phase.repeats);
    const double cycles = static_cast<double>(phase.cycles) * static_cast<double>(phase.repeats);
    active += cycles * static_cast<double>(active_tiles(heat, static_cast<int>(p)));
    time += cycles;
  }
  const auto tiles = static_cast<double>(std::max<std::int64_t>(1, heat.tiles));
  TileUse out;
  if (time > 0) out.active_tiles = active / time;
  if (slowest > 0) out.balance = used / (tiles * slowest);
  if (step_cycles > 0) out.parallel_efficiency = used / (tiles * static_cast<double>(step_cycles));
  return out;
}

LaneCounts lane_counts(const Lane& lane) { return lane.root < 0 ? LaneCounts{} : counts_below(lane, lane.root); }

TableContents proportions_table(const TimelinePointer& trace, const std::shared_ptr<const HeatData>& heat) {
  struct Ipu {
    WorkCycles sums;
    TileUse use;
    LaneCounts counts;
  };
  TableContents out;
  if (trace->empty()) return out;
  auto ipus = std::make_shared<std::vector<Ipu>>();
  std::vector<QString> names;
  for (const Lane& lane : trace->lanes) {
    if (!lane.name.empty()) {  // what streams beside an IPU counts to it
      ipus->back().counts.stream_bytes += lane_counts(lane).stream_bytes;
      ipus->back().counts.link_bytes += lane_counts(lane).link_bytes;
      continue;
    }
    names.push_back(ipu_name(*trace, lane));
    ipus->push_back({lane.sums(0, trace->cycles), tile_use(*heat, lane.ipu_class, trace->cycles), lane_counts(lane)});
  }
  const int parts = static_cast<int>(proportions().size());
  constexpr int kOthers = 7;
  out.rows = 2 * parts + kOthers;
  const double cycles = static_cast<double>(trace->cycles);
  TableColumn name{{"Share of each IPU", means::kProportion}};
  name.text = [parts](int row) {
    static constexpr const char* kNames[kOthers] = {"step, cycles",       "tile balance, %", "parallel efficiency, %",
                                                    "active tiles, mean", "supersteps",      "StreamCopy, MiB",
                                                    "GlobalExchange, MiB"};
    if (row < parts) return QString(proportions()[static_cast<std::size_t>(row)].name) + ", %";
    if (row < parts + kOthers) return QString(kNames[row - parts]);
    return QString(proportions()[static_cast<std::size_t>(row - parts - kOthers)].name) + ", cycles";
  };
  name.kind = [parts](int row) {
    if (row >= parts && row < parts + kOthers) return QString();
    const Work work = proportions()[static_cast<std::size_t>(row < parts ? row : row - parts - kOthers)].work;
    return QString::fromLatin1(kind_text(work).data());
  };
  out.columns.push_back(std::move(name));
  out.strong = [parts](int row) { return row == parts; };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = [ipus, i, parts, cycles](int row) -> QVariant {
      const Ipu& ipu = (*ipus)[i];
      constexpr double kMib = 1024.0 * 1024;
      if (row < parts) {
        return static_cast<double>(proportions()[static_cast<std::size_t>(row)].of(ipu.sums)) / cycles * 100;
      }
      if (row >= parts + kOthers) {
        return QVariant::fromValue<qint64>(proportions()[static_cast<std::size_t>(row - parts - kOthers)].of(ipu.sums));
      }
      switch (row - parts) {
        case 0:
          return QVariant::fromValue<qint64>(ipu.sums.total());
        case 1:
          return ipu.use.balance * 100;
        case 2:
          return ipu.use.parallel_efficiency * 100;
        case 3:
          return ipu.use.active_tiles;
        case 4:
          return QVariant::fromValue<qint64>(ipu.counts.supersteps);
        case 5:
          return static_cast<double>(ipu.counts.stream_bytes) / kMib;
        default:
          return static_cast<double>(ipu.counts.link_bytes) / kMib;
      }
    };
    TableColumn column{{names[i], means::kProportionValue}, true};
    column.text = [value](int row) {
      const QVariant v = value(row);
      return v.userType() == QMetaType::Double ? fixed_decimals(v.toDouble(), 1) : grouped(v.toLongLong());
    };
    column.exact = value;
    out.columns.push_back(std::move(column));
  }
  return out;
}

QString step_name(const Timeline& timeline, const Lane& lane, const Slice& slice) {
  return QString::fromStdString(name_of_step(timeline, lane, slice));
}

TableContents trace_table(const TimelinePointer& trace, int lane_number, std::int64_t from, std::int64_t to, int most) {
  auto slices = std::make_shared<std::vector<Slice>>();
  TableContents out;
  if (lane_number < 0 || trace->empty()) return out;
  const Lane* lane = &trace->lanes[static_cast<std::size_t>(lane_number)];
  // Stop before too many: steps shorter than the window's share of `most` are joined.
  lane->visit(from, to, std::max<std::int64_t>(1, (to - from) / most), Lane::Depth::steps,
              [&](const Slice& s) { slices->push_back(s); });
  out.rows = static_cast<int>(slices->size());
  const auto at = [slices](int row) -> const Slice& { return (*slices)[static_cast<std::size_t>(row)]; };
  // Keeps the timeline, and with it the lane, alive.
  const auto sums = [trace, lane, at](int row) { return lane->sums(at(row).from, at(row).to); };
  const auto text = [](ColumnTitle title, std::function<QString(int)> value) {
    return TableColumn{.title = std::move(title), .numeric = false, .text = std::move(value)};
  };
  const auto cycles = [](ColumnTitle title, std::function<std::int64_t(int)> value) {
    TableColumn column{std::move(title), true};
    column.text = [value](int row) { return grouped(value(row)); };
    column.exact = [value](int row) { return QVariant::fromValue<qint64>(value(row)); };
    return column;
  };
  out.columns.push_back(text({"Step", means::kTraceStep}, [trace, lane, at](int row) {
    const Slice& s = at(row);
    if (s.node < 0) return QStringLiteral("(several short ones)");
    if (waits(s.work)) return QStringLiteral("waits: ") + name_of(s.work).data();
    if (s.step >= 0) return step_name(*trace, *lane, s);
    const report::ProgramNode* source = lane->node(s.node).source;
    return source ? QString::fromStdString(source->name()) : QString();
  }));
  out.columns.push_back(text({"Part of", means::kTraceCall}, [lane, at, trace](int row) {
    const Slice& s = at(row);
    if (s.node < 0 || s.step < 0) return QString();
    return QString::fromStdString(lane->node(s.node).source->name());
  }));
  TableColumn batch{{"Micro-batch", means::kMicroBatch}, true};
  batch.text = [at](int row) { return at(row).micro_batch < 0 ? QString() : grouped(at(row).micro_batch); };
  batch.exact = [at](int row) { return QVariant::fromValue<qint64>(at(row).micro_batch); };
  out.columns.push_back(std::move(batch));
  TableColumn begin{{"From, ms", means::kFromMs}, true};
  begin.text = [trace, at](int row) { return fixed_decimals(trace->seconds(at(row).from) * 1e3, 4); };
  begin.exact = [trace, at](int row) { return trace->seconds(at(row).from) * 1e3; };
  out.columns.push_back(std::move(begin));
  TableColumn us{{"µs", means::kTakesUs}, true};
  us.text = [trace, at](int row) { return fixed_decimals(trace->seconds(at(row).to - at(row).from) * 1e6, 2); };
  us.exact = [trace, at](int row) { return trace->seconds(at(row).to - at(row).from) * 1e6; };
  out.columns.push_back(std::move(us));
  out.columns.push_back(cycles({"Cycles", means::kTakesCycles}, [at](int row) { return at(row).to - at(row).from; }));
  out.columns.push_back(cycles({"Compute", means::kStepCompute}, [sums](int row) { return sums(row)[Work::compute]; }));
  out.columns.push_back(
      cycles({"Exchange", means::kStepExchange}, [sums](int row) { return sums(row)[Work::exchange]; }));
  out.columns.push_back(cycles({"Sync", means::kStepSync}, [sums](int row) { return sums(row)[Work::sync]; }));
  if (!lane->steps || lane->steps->tiles.empty()) return out;
  const auto tiles = [lane, at, trace](int row) -> std::int64_t {  // -1: not one step
    return at(row).step < 0 ? -1 : lane->steps->tiles[static_cast<std::size_t>(at(row).step)];
  };
  TableColumn active{{"Active tiles", means::kStepTiles}, true};
  active.text = [tiles](int row) { return tiles(row) < 0 ? QString() : tiles_text(tiles(row)); };
  active.exact = [tiles](int row) {
    return tiles(row) < 0 ? QVariant(QString()) : QVariant::fromValue<qint64>(tiles(row));
  };
  out.columns.push_back(std::move(active));
  return out;
}

}  // namespace superstep::gui
