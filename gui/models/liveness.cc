// SPDX-License-Identifier: Apache-2.0
#include "gui/models/liveness.h"

#include <algorithm>

#include "gui/models/operations.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }
QVariant exact(std::int64_t value) { return QVariant::fromValue(static_cast<qlonglong>(value)); }

// The rows of the step columns that a function has.
std::pair<std::int64_t, std::int64_t> steps_of(const report::Index& index, const Steps& steps, int function) {
  if (function < 0) return {0, 0};
  const report::Function& f = index.functions(function);
  const auto rows = static_cast<std::int64_t>(steps.name.size());
  const std::int64_t first = std::clamp<std::int64_t>(f.first_step(), 0, rows);
  return {first, std::clamp<std::int64_t>(first + f.steps(), first, rows)};
}

}  // namespace

std::int64_t Liveness::kept(int point) const {
  return std::max<std::int64_t>(0, points[static_cast<std::size_t>(point)].resident_bytes - always_live);
}

Liveness liveness_of(const report::Index& index, const Steps& steps, const HeatData& heat, int ipu_class) {
  Liveness out;
  if (ipu_class < 0 || ipu_class >= index.ipu_classes_size()) return out;
  out.ipu_class = ipu_class;
  out.always_live = always_live_bytes(index.ipu_classes(ipu_class));
  out.limit = index.ipu_classes(ipu_class).tile_limit_bytes();
  const std::vector<int> functions = phase_functions(index, heat);
  for (const int phase : heat.phases_of(ipu_class)) {
    const std::int64_t highest = heat.largest(phase, HeatQuantity::memory);
    const auto [first, end] = steps_of(index, steps, functions[static_cast<std::size_t>(phase)]);
    if (first == end) {
      out.points.push_back({phase, -1, highest, 0});
      continue;
    }
    // A phase is as high as its highest superstep on top of what stands there.
    std::int64_t most = 0;
    for (std::int64_t s = first; s < end; ++s) most = std::max(most, steps.live_bytes[static_cast<std::size_t>(s)]);
    for (std::int64_t s = first; s < end; ++s) {
      out.points.push_back({phase, s, highest - most, steps.live_bytes[static_cast<std::size_t>(s)]});
    }
  }
  for (std::size_t i = 0; i < out.points.size(); ++i) {
    if (out.peak < 0 || out.points[i].total() > out.points[static_cast<std::size_t>(out.peak)].total()) {
      out.peak = static_cast<int>(i);
    }
  }
  return out;
}

TableContents liveness_table(const ReportPointer& report, std::shared_ptr<const Liveness> liveness,
                             std::shared_ptr<const Steps> steps, std::shared_ptr<const HeatData> heat, Units units) {
  const auto at = [=](int row) -> const LivenessPoint& { return liveness->points[static_cast<std::size_t>(row)]; };
  const auto bytes = [=](const QString& title, auto get) {
    return TableColumn{title + ", " + unit_name(units), true, [=](int row) { return tile_bytes(get(at(row)), units); },
                       [=](int row) { return exact(get(at(row))); }};
  };
  const auto of_step = [=](int row, const PackedTexts& column) {
    return at(row).step < 0 ? QString() : text(column[static_cast<std::size_t>(at(row).step)]);
  };
  TableContents out;
  out.rows = static_cast<int>(liveness->points.size());
  out.columns = {
      {"Program step", true, [](int row) { return grouped(row); }, [](int row) { return exact(row); }},
      {"Phase", false,
       [=, keep = report](int row) { return text(heat->phases[static_cast<std::size_t>(at(row).phase)].name); }},
      {"Superstep", false, [=](int row) { return of_step(row, steps->name); }},
      {"Kind", false, [=](int row) { return of_step(row, steps->kind); }},
      bytes("Resident", [](const LivenessPoint& p) { return p.resident_bytes; }),
      bytes("Live in the step", [](const LivenessPoint& p) { return p.live_bytes; }),
      bytes("Total", [](const LivenessPoint& p) { return p.total(); }),
  };
  out.strong = [=](int row) { return row == liveness->peak; };
  return out;
}

TableContents liveness_point_table(const ReportPointer& report, std::shared_ptr<const Liveness> liveness, int point,
                                   Units units) {
  struct Line {
    QString name, memory;  // of a category's colour; empty: a sum
    std::int64_t bytes;
  };
  auto lines = std::make_shared<std::vector<Line>>();
  if (point < 0 || point >= static_cast<int>(liveness->points.size())) return {};
  const LivenessPoint& p = liveness->points[static_cast<std::size_t>(point)];
  const report::IpuClass& ipu = report->index().ipu_classes(liveness->ipu_class);
  if (p.resident_bytes >= liveness->always_live) {
    lines->push_back({"Always live", {}, liveness->always_live});
    for (const auto& m : ipu.memory()) {
      if (m.always_live()) lines->push_back({text(m.name()), text(m.name()), m.bytes_per_tile()});
    }
  } else {
    lines->push_back({"Resident in this phase", {}, p.resident_bytes});
  }
  lines->push_back({"Not always live", {}, liveness->kept(point) + p.live_bytes});
  lines->push_back({"kept by earlier calls", "activations", liveness->kept(point)});
  lines->push_back({"live in this superstep", "temporaries", p.live_bytes});
  lines->push_back({"Total", {}, p.total()});
  lines->push_back({"To spare", {}, liveness->limit - p.total()});
  const auto line = [lines](int row) -> const Line& { return (*lines)[static_cast<std::size_t>(row)]; };
  const auto share = [=, limit = liveness->limit](int row) {
    return limit > 0 ? static_cast<double>(line(row).bytes) / static_cast<double>(limit) : 0.0;
  };
  const auto memory = [=](int row) { return line(row).memory; };
  TableContents out;
  out.rows = static_cast<int>(lines->size());
  out.columns = {{.title = "Category", .text = [=](int row) { return line(row).name; }, .memory = memory},
                 {.title = "", .exact = share, .memory = memory, .share = share},
                 {unit_name(units), true, [=](int row) { return tile_bytes(line(row).bytes, units); },
                  [=](int row) { return exact(line(row).bytes); }},
                 {"% of limit", true, [=](int row) { return fixed_decimals(share(row) * 100, 1); }, share}};
  if (units == Units::kib) {
    out.columns.push_back({"Bytes", true, [=](int row) { return grouped(line(row).bytes); },
                           [=](int row) { return exact(line(row).bytes); }});
  }
  out.strong = [=](int row) { return line(row).memory.isEmpty(); };
  return out;
}

}  // namespace superstep::gui
