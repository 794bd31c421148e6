// SPDX-License-Identifier: Apache-2.0
#include "gui/models/liveness_tables.h"

#include <algorithm>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {

TableContents liveness_table(const ReportPointer& report, std::shared_ptr<const Liveness> liveness,
                             std::shared_ptr<const Steps> steps, std::shared_ptr<const HeatData> heat, Units units,
                             std::shared_ptr<const Placement> placement) {
  const auto at = [=](int row) -> const LivenessPoint& { return liveness->points[static_cast<std::size_t>(row)]; };
  const auto bytes = [=](const ColumnTitle& title, auto of_row) {
    return TableColumn{title + ", " + unit_name(units), true, [=](int row) { return tile_bytes(of_row(row), units); },
                       [=](int row) { return exact(of_row(row)); }};
  };
  const auto of_step = [=](int row, const PackedTexts& column) {
    return at(row).step < 0 ? QString() : text(column[static_cast<std::size_t>(at(row).step)]);
  };
  TableContents out;
  out.rows = static_cast<int>(liveness->points.size());
  out.columns = {
      {{"Program step", means::kProgramStep},
       true,
       [](int row) { return grouped(row); },
       [](int row) { return exact(row); }},
      {{"Phase", means::kPhaseName},
       false,
       [=, keep = report](int row) { return text(heat->phases[static_cast<std::size_t>(at(row).phase)].name); }},
      {{"Superstep", means::kStepName}, false, [=](int row) { return of_step(row, steps->name); }},
      {{"Kind", means::kStepKind}, false, [=](int row) { return of_step(row, steps->kind); }},
      bytes({"Resident", means::kResident}, [=](int row) { return at(row).resident_bytes; }),
      bytes({"Live in the step", means::kLive}, [=](int row) { return at(row).live_bytes; }),
      bytes({"Total", means::kLiveTotal}, [=](int row) { return at(row).total(); }),
  };
  if (placement) {
    const auto top = [=](int row) { return placement->top[static_cast<std::size_t>(row)]; };
    out.columns.push_back(bytes({"Highest address", means::kTop}, top));
    out.columns.push_back(bytes({"Gaps", means::kGaps}, [=](int row) { return top(row) - at(row).total(); }));
  }
  out.strong = [=](int row) { return row == liveness->peak; };
  return out;
}

namespace {

struct PointLine {
  QString name, memory;  // of a category's colour; empty: a sum
  std::int64_t bytes;
};

void add_standing(std::vector<PointLine>& lines, const report::IpuClass& ipu, const Liveness& liveness, int point) {
  const LivenessPoint& p = liveness.points[static_cast<std::size_t>(point)];
  if (const auto* stands = liveness.stands_at(point)) {
    lines.push_back({QObject::tr("Resident"), {}, p.resident_bytes});
    for (std::size_t c = 0; c < stands->size(); ++c) {
      if ((*stands)[c] == 0) continue;
      const std::string& name = liveness.categories[c];
      const bool kept = name == "activations";
      lines.push_back({kept ? QObject::tr("kept by earlier calls") : text(name), text(name), (*stands)[c]});
    }
    return;
  }
  if (liveness.tile < 0 && p.resident_bytes >= liveness.always_live) {
    lines.push_back({QObject::tr("Always live"), {}, liveness.always_live});
    for (const auto& m : ipu.memory()) {
      if (m.always_live()) lines.push_back({text(m.name()), text(m.name()), m.bytes_per_tile()});
    }
    lines.push_back({QObject::tr("kept by earlier calls"), "activations", liveness.kept(point)});
  } else {
    lines.push_back({QObject::tr("Resident"), {}, p.resident_bytes});
  }
}

}  // namespace

TableContents liveness_point_table(const ReportPointer& report, std::shared_ptr<const Liveness> liveness, int point,
                                   Units units) {
  auto lines = std::make_shared<std::vector<PointLine>>();
  if (point < 0 || point >= static_cast<int>(liveness->points.size())) return {};
  const LivenessPoint& p = liveness->points[static_cast<std::size_t>(point)];
  add_standing(*lines, report->index().ipu_classes(liveness->ipu_class), *liveness, point);
  lines->push_back({QObject::tr("Live in the step"), {}, p.live_bytes});
  if (p.temporary_bytes >= 0) {
    lines->push_back({QObject::tr("results"), "activations", p.live_bytes - p.temporary_bytes});
    lines->push_back({QObject::tr("temporaries"), "temporaries", p.temporary_bytes});
  } else {
    lines->push_back({QObject::tr("not told apart"), "temporaries", p.live_bytes});
  }
  lines->push_back({QObject::tr("Total"), {}, p.total()});
  lines->push_back({QObject::tr("To spare"), {}, liveness->limit - p.total()});
  const auto line = [lines](int row) -> const PointLine& { return (*lines)[static_cast<std::size_t>(row)]; };
  const auto share = [=, limit = liveness->limit](int row) {
    return limit > 0 ? static_cast<double>(line(row).bytes) / static_cast<double>(limit) : 0.0;
  };
  const auto memory = [=](int row) { return line(row).memory; };
  TableContents out;
  out.rows = static_cast<int>(lines->size());
  out.columns = {
      {.title = {"Category", means::kCategory}, .text = [=](int row) { return line(row).name; }, .memory = memory},
      {.title = {"", means::kLimitShare}, .exact = share, .memory = memory, .share = share},
      {{unit_name(units), means::kPointBytes},
       true,
       [=](int row) { return tile_bytes(line(row).bytes, units); },
       [=](int row) { return exact(line(row).bytes); }},
      {{"% of limit", means::kLimitShare},
       true,
       [=](int row) { return fixed_decimals(share(row) * 100, 1); },
       [=](int row) { return share(row) * 100; }}};
  if (units == Units::kib) {
    out.columns.push_back({{"Bytes", means::kPointBytes},
                           true,
                           [=](int row) { return grouped(line(row).bytes); },
                           [=](int row) { return exact(line(row).bytes); }});
  }
  out.strong = [=](int row) { return line(row).memory.isEmpty(); };
  return out;
}

TableContents lifetimes_table(std::shared_ptr<const Lifetimes> lifetimes, int at, bool without_always, int mark,
                              Units units, std::shared_ptr<const Placement> placement) {
  auto rows = std::make_shared<std::vector<int>>(lifetimes->at(at, without_always));
  const auto of = [=](int row) -> const Lifetime& {
    return lifetimes->rows[static_cast<std::size_t>((*rows)[static_cast<std::size_t>(row)])];
  };
  const auto category = [=](int row) { return text(of(row).category); };
  const int points = std::max(1, lifetimes->points);
  const auto always = [=](int row) { return of(row).first == 0 && of(row).last == points - 1; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"Variable", means::kVariable}, false, [=](int row) { return text(of(row).name); }},
                 {.title = {"Category", means::kCategory}, .text = category, .memory = category},
                 {{unit_name(units), means::kVariableBytes},
                  true,
                  [=](int row) { return tile_bytes(of(row).bytes, units); },
                  [=](int row) { return exact(of(row).bytes); }}};
  if (units == Units::kib) {
    out.columns.push_back({{"Bytes", means::kVariableBytes},
                           true,
                           [=](int row) { return grouped(of(row).bytes); },
                           [=](int row) { return exact(of(row).bytes); }});
  }
  out.columns.push_back(
      {{"Always", means::kAlways}, false, [=](int row) { return QString(always(row) ? "yes" : ""); }});
  out.columns.push_back({{"First step", means::kFirstStep},
                         true,
                         [=](int row) { return grouped(of(row).first); },
                         [=](int row) { return exact(of(row).first); }});
  out.columns.push_back({{"Last step", means::kLastStep},
                         true,
                         [=](int row) { return grouped(of(row).last); },
                         [=](int row) { return exact(of(row).last); }});
  if (placement) {
    const auto address = [=](int row) {
      return placement->address[static_cast<std::size_t>((*rows)[static_cast<std::size_t>(row)])];
    };
    out.columns.push_back({{"Address", means::kAddress},
                           true,
                           [=](int row) { return grouped(address(row)); },
                           [=](int row) { return exact(address(row)); }});
  }
  TableColumn lane{.title = {"Lifetime, steps", means::kLifetime}, .memory = category};
  lane.exact = [=](int row) { return exact(of(row).last - of(row).first + 1); };
  lane.span = [=](int row) {
    const double all = points;
    return Span{of(row).first / all, (of(row).last + 1) / all, mark < 0 ? -1 : (mark + 0.5) / all};
  };
  out.columns.push_back(std::move(lane));
  out.source = [=](int row) { return (*rows)[static_cast<std::size_t>(row)]; };
  return out;
}

}  // namespace superstep::gui
