// SPDX-License-Identifier: Apache-2.0
#include "gui/models/liveness.h"

#include <algorithm>
#include <map>
#include <set>

#include "gui/base/theme.h"
#include "gui/models/meanings.h"
#include "gui/models/operations.h"
#include "gui/models/placement.h"
#include "gui/models/steps.h"
#include "gui/models/table_columns.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

// Categories by bytes that stand in each phase of the IPU class.
void add_stands(Liveness& out, const HeatData& heat, const Variables& variables) {
  if (!variables.have_lifetimes()) return;
  std::set<std::pair<int, std::string>> found;
  for (std::size_t v = 0; v < variables.name.size(); ++v) {
    if (variables.ipu_class[v] == out.ipu_class)
      found.insert({memory_order(variables.category[v]), variables.category[v]});
  }
  std::map<std::string, std::size_t> place;
  for (const auto& [order, category] : found) {
    place[category] = out.categories.size();
    out.categories.push_back(category);
  }
  const auto rows = static_cast<std::int64_t>(heat.phases.size());
  out.stands.resize(heat.phases.size());
  for (const int phase : heat.phases_of(out.ipu_class))
    out.stands[static_cast<std::size_t>(phase)].resize(out.categories.size());
  for (std::size_t v = 0; v < variables.name.size(); ++v) {
    if (variables.ipu_class[v] != out.ipu_class) continue;
    const std::size_t category = place[variables.category[v]];
    const std::int64_t last = std::min(variables.last_phase[v], rows - 1);
    for (std::int64_t p = std::max<std::int64_t>(0, variables.first_phase[v]); p <= last; ++p) {
      auto& of_phase = out.stands[static_cast<std::size_t>(p)];
      if (!of_phase.empty()) of_phase[category] += variables.bytes_per_tile[v];
    }
  }
}

// A step's bytes on the tile: none where it takes no part.
std::int64_t live_of(const Steps& steps, std::int64_t row, bool keeps, std::int64_t tile) {
  const auto s = static_cast<std::size_t>(row);
  if (tile >= 0 && !steps.tiles.empty() && steps.tiles[s] > 0 && tile >= steps.tiles[s]) return 0;
  return steps.live_bytes[s] + (keeps && !steps.keeping_bytes.empty() ? steps.keeping_bytes[s] : 0);
}

void add_phase(Liveness& out, const report::Index& index, const Steps& steps, const HeatData& heat, int phase,
               int function) {
  const HeatPhase& p = heat.phases[static_cast<std::size_t>(phase)];
  const TileRun* run = out.tile < 0 ? nullptr : heat.run_at(phase, out.tile);
  const std::int64_t highest = out.tile < 0 ? heat.largest(phase, HeatQuantity::memory) : run ? run->memory_bytes : 0;
  const auto [first, end] = steps_of_function(index, steps, function);
  if (first == end) {
    out.points.push_back({phase, -1, highest, 0});
    return;
  }
  std::vector<std::int64_t> live;
  for (std::int64_t s = first; s < end; ++s) live.push_back(live_of(steps, s, p.keeps, out.tile));
  // A phase is as high as its highest superstep on top of what stands there.
  const std::int64_t below = highest - *std::max_element(live.begin(), live.end());
  const std::int64_t resident = out.tile < 0 && p.resident_bytes >= 0 ? p.resident_bytes + p.kept_bytes : below;
  for (std::int64_t s = first; s < end; ++s) {
    const std::int64_t bytes = live[static_cast<std::size_t>(s - first)];
    const bool known = !steps.temporary_bytes.empty() && bytes > 0;
    out.points.push_back({phase, s, resident, bytes, known ? steps.temporary_bytes[static_cast<std::size_t>(s)] : -1});
  }
}

}  // namespace

std::pair<std::int64_t, std::int64_t> steps_of_function(const report::Index& index, const Steps& steps, int function) {
  if (function < 0) return {0, 0};
  return steps_of(index.functions(function), steps);
}

std::int64_t Liveness::kept(int point) const {
  return std::max<std::int64_t>(0, points[static_cast<std::size_t>(point)].resident_bytes - always_live);
}

const std::vector<std::int64_t>* Liveness::stands_at(int point) const {
  const auto phase = static_cast<std::size_t>(points[static_cast<std::size_t>(point)].phase);
  return phase < stands.size() && !stands[phase].empty() ? &stands[phase] : nullptr;
}

Liveness liveness_of(const report::Index& index, const Steps& steps, const HeatData& heat, int ipu_class,
                     const Variables* variables, std::int64_t tile) {
  Liveness out;
  if (ipu_class < 0 || ipu_class >= index.ipu_classes_size()) return out;
  out.ipu_class = ipu_class;
  out.tile = tile;
  out.always_live = always_live_bytes(index.ipu_classes(ipu_class));
  out.limit = index.ipu_classes(ipu_class).tile_limit_bytes();
  const std::vector<int> functions = phase_functions(index, heat);
  for (const int phase : heat.phases_of(ipu_class))
    add_phase(out, index, steps, heat, phase, functions[static_cast<std::size_t>(phase)]);
  if (variables && tile < 0) add_stands(out, heat, *variables);
  for (std::size_t i = 0; i < out.points.size(); ++i) {
    if (out.peak < 0 || out.points[i].total() > out.points[static_cast<std::size_t>(out.peak)].total()) {
      out.peak = static_cast<int>(i);
    }
  }
  return out;
}

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

}  // namespace superstep::gui
