// SPDX-License-Identifier: Apache-2.0
#include "gui/models/tile_list.h"

#include <QObject>
#include <QRegularExpression>
#include <algorithm>

#include "gui/models/meanings.h"

namespace superstep::gui {

std::vector<std::int64_t> tiles_of_list(const QString& text, std::int64_t tiles) {
  static const QRegularExpression range(QString::fromUtf8("^(\\d+)(?:\\s*[-–]\\s*(\\d+))?$"));
  std::vector<std::int64_t> out;
  for (const QString& part : text.split(',')) {
    const auto match = range.match(part.trimmed());
    if (!match.hasMatch()) return {};
    const qlonglong first = match.captured(1).toLongLong();
    const qlonglong last = match.capturedLength(2) > 0 ? match.captured(2).toLongLong() : first;
    if (last < first || last >= tiles || last - first >= static_cast<qlonglong>(kMostTilesListed)) return {};
    for (qlonglong tile = first; tile <= last; ++tile) out.push_back(tile);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out.size() > kMostTilesListed ? std::vector<std::int64_t>() : out;
}

QString list_of_tiles(const std::vector<std::int64_t>& tiles) {
  QStringList parts;
  for (std::size_t i = 0; i < tiles.size();) {
    std::size_t end = i + 1;
    while (end < tiles.size() && tiles[end] == tiles[end - 1] + 1) ++end;
    parts << (end == i + 1 ? grouped(tiles[i]) : grouped(tiles[i]) + QChar(0x2013) + grouped(tiles[end - 1]));
    i = end;
  }
  return parts.join(", ");
}

TableContents tiles_side_by_side(const ReportPointer& report, TileLiveness tiles, int point, Units units) {
  if (tiles.empty()) return {};
  struct Line {
    QString name, memory;
    std::int64_t (*bytes)(const Liveness&, const LivenessPoint&);
  };
  static const std::vector<Line> lines{
      {QObject::tr("Resident"), {}, [](const Liveness&, const LivenessPoint& p) { return p.resident_bytes; }},
      {QObject::tr("Live in the step"), {}, [](const Liveness&, const LivenessPoint& p) { return p.live_bytes; }},
      {QObject::tr("results"), "activations",
       [](const Liveness&, const LivenessPoint& p) {
         return p.live_bytes - std::max<std::int64_t>(0, p.temporary_bytes);
       }},
      {QObject::tr("temporaries"), "temporaries",
       [](const Liveness&, const LivenessPoint& p) { return std::max<std::int64_t>(0, p.temporary_bytes); }},
      {QObject::tr("Total"), {}, [](const Liveness&, const LivenessPoint& p) { return p.total(); }},
      {QObject::tr("To spare"), {}, [](const Liveness& of, const LivenessPoint& p) { return of.limit - p.total(); }}};
  TableContents out;
  out.rows = static_cast<int>(lines.size());
  const auto line = [](int row) -> const Line& { return lines[static_cast<std::size_t>(row)]; };
  out.columns = {{.title = {QObject::tr("Category"), means::kCategory},
                  .text = [=, keep = report](int row) { return line(row).name; },
                  .memory = [=](int row) { return line(row).memory; }}};
  for (const auto& tile : tiles) {
    const int at = point < 0 ? tile->peak : point;
    if (at < 0 || at >= std::ssize(tile->points)) continue;
    const auto bytes = [=](int row) { return line(row).bytes(*tile, tile->points[static_cast<std::size_t>(at)]); };
    out.columns.push_back(
        {{QObject::tr("Tile %1").arg(grouped(tile->tile)) + ", " + unit_name(units), means::kListedTile},
         true,
         [=](int row) { return tile_bytes(bytes(row), units); },
         [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(bytes(row))); }});
  }
  out.strong = [=](int row) { return line(row).memory.isEmpty(); };
  return out;
}

}  // namespace superstep::gui
