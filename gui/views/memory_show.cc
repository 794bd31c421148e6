// SPDX-License-Identifier: Apache-2.0
// What the widgets of the memory view show of the report, the selection and the point of the cursor.
#include <QButtonGroup>
#include <QCheckBox>
#include <QComboBox>
#include <QLineEdit>
#include <QStackedWidget>
#include <algorithm>

#include "gui/models/liveness_tables.h"
#include "gui/models/streaming_memory.h"
#include "gui/models/variables.h"
#include "gui/views/memory.h"
#include "gui/views/summary_numbers.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/liveness_chart.h"
#include "gui/widgets/memory_columns.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/phase_lanes.h"
#include "gui/widgets/streaming_chart.h"
#include "model/error.h"
#include "traces/verdict.h"

namespace superstep::gui {

int MemoryView::shownClass() const {
  const ReportPointer report = session_.report();
  const auto& classes = report->index().ipu_classes();
  const int selected = session_.selection().ipu_class;
  if (selected >= 0 && selected < classes.size()) return selected;
  const auto fullest = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.tile_peak_bytes() < b.tile_peak_bytes();
  });
  return fullest == classes.end() ? -1 : static_cast<int>(fullest - classes.begin());
}

void MemoryView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const Units units = session_.units();
  all_.setContents(memory_table(report, -1, units));
  columns_->setReport(report, units);
  columnsPanel_->setSubtitle(tr("%1 per tile").arg(unit_name(units)));
  legend_->setEntries(memory_legend(report->index()));
  ipus_->clear();
  for (const auto& ipu : report->index().ipu_classes()) ipus_->addItem(QString::fromStdString(ipu.name()));
  ipus_->setEnabled(ipus_->count() > 0);
  builtClass_ = -2;
  showSelection();
  emit statusChanged();
}

void MemoryView::showSelection() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const int shown = shownClass();
  if (shown != builtClass_ || shownTile() != builtTile_) {
    builtClass_ = shown;
    builtTile_ = shownTile();
    ipus_->setCurrentIndex(shown);
    const bool in_list = std::any_of(listed_.begin(), listed_.end(), [&](const auto& l) {
      return l->tile == builtTile_ && l->ipu_class == builtClass_;
    });
    if (!in_list) listed_.clear();
    if (!tile_->hasFocus() && !in_list) tile_->setText(builtTile_ < 0 ? QString() : QString::number(builtTile_));
    rebuildLiveness();
    rebuildStreaming();
  }
  columns_->setSelected(shown, session_.selection().category);
  const int point = selectedPoint();
  chart_->setCursor(point);
  showPoint(point);
}

void MemoryView::rebuildStreaming() {
  const ReportPointer report = session_.report();
  const PhaseRows phases = phases_of_report(report);
  phases_.setContents(streaming_table(report, phases));
  lanes_->setPhases(report, phases);
  auto memory = std::make_shared<const StreamingMemory>();
  try {
    memory = std::make_shared<const StreamingMemory>(load_streaming_memory(*report, builtClass_));
  } catch (const Error& error) {
    emit session_.failed(QString::fromUtf8(error.what()));
  }
  stretches_.setContents(memory->stretches.empty() ? streaming_table(report, phases) : streaming_memory_table(memory));
  held_.setContents(held_table(memory));
  lanes_->setVisible(!phases->empty() || memory->stretches.empty());
  streams_->setVisible(!memory->stretches.empty() || !phases->empty());
  streams_->setMemory(memory);
  const QString ipu =
      builtClass_ < 0 ? QString() : QString::fromStdString(report->index().ipu_classes(builtClass_).name());
  lanesPanel_->setSubtitle(ipu.isEmpty() ? QString() : tr("ms; below for %1").arg(ipu));
  heldPanel_->setSubtitle(ipu.isEmpty() ? QString()
                                        : tr("%1 · at most %2 bytes of %3")
                                              .arg(ipu, grouped(memory->most_held()),
                                                   grouped(report->index().ipu_classes(builtClass_).ddr_bytes())));
}

void MemoryView::rebuildLiveness() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const Units units = session_.units();
  const report::Index& index = report->index();
  const auto heat = session_.heat();
  const auto of_tile = [&](std::int64_t tile) {
    return std::make_shared<const Liveness>(
        liveness_of(index, *session_.steps(), *heat, builtClass_, session_.variables().get(), tile));
  };
  const auto fullest = of_tile(-1);
  liveness_ = builtTile_ < 0 ? fullest : of_tile(builtTile_);
  chart_->setData({report, liveness_, session_.steps(), session_.heat()}, units);
  std::vector<std::int64_t> maximum;
  for (const LivenessPoint& p : fullest->points) maximum.push_back(p.total());
  chart_->setLine(showMax_->isChecked() && builtTile_ >= 0 ? maximum : std::vector<std::int64_t>{}, false);
  placement_ = nullptr;  // of what was shown before
  rebuildVariables();
  showGaps();
}

bool MemoryView::gapsKnown() const { return builtTile_ < 0 && !lifetimes_->rows.empty(); }

void MemoryView::enableOptions() {
  const bool shown = pages_->currentIndex() == 0;
  alwaysLive_->setEnabled(shown);
  tile_->setEnabled(shown);
  showMax_->setEnabled(shown && builtTile_ >= 0);
  gaps_->setEnabled(shown && gapsKnown());
}

void MemoryView::showGaps() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const Units units = session_.units();
  const report::Index& index = report->index();
  enableOptions();
  placement_ = gapsKnown() && gaps_->isChecked() ? std::make_shared<const Placement>(place(*lifetimes_)) : nullptr;
  if (builtTile_ < 0) chart_->setLine(placement_ ? placement_->top : std::vector<std::int64_t>{}, true);
  steps_.setContents(liveness_table(report, liveness_, session_.steps(), session_.heat(), units, placement_));
  rebuildLegend();
  showLifetimes();
  const QString tile = builtTile_ < 0 ? tr("fullest tile")
                       : showsList()  ? tr("tile %1 (of %2 listed)").arg(grouped(builtTile_)).arg(listed_.size())
                                      : tr("tile %1").arg(grouped(builtTile_));
  chartPanel_->setSubtitle(builtClass_ < 0
                               ? QString()
                               : tr("%1 of %2, %3, %4 steps")
                                         .arg(tile, QString::fromStdString(index.ipu_classes(builtClass_).name()),
                                              unit_name(units), grouped(liveness_->points.size())) +
                                     gapsText());
}

// "; 601.2 of 624.0 with gaps: fits".
QString MemoryView::gapsText() const {
  if (!placement_) return {};
  const std::int64_t total = placement_->total(), limit = liveness_->limit;
  const auto bytes = [&](std::int64_t value) { return tile_bytes(value, session_.units()); };
  return tr("; %1 of %2 with gaps: %3").arg(bytes(total), bytes(limit), tr(fit_words(fit_in(total, limit))));
}

// What is drawn, in the order of the stack.
void MemoryView::rebuildLegend() {
  const ReportPointer report = session_.report();
  std::vector<LegendEntry> entries;
  const bool told = !liveness_->stands.empty(), split = !session_.steps()->temporary_bytes.empty();
  for (std::size_t c = 0; told && alwaysLive_->isChecked() && c < liveness_->categories.size(); ++c) {
    const std::string& name = liveness_->categories[c];
    if (name != "activations") entries.push_back({fill_of_memory(name), QString::fromStdString(name)});
  }
  if (!told && liveness_->tile >= 0) entries.push_back({fill_of(TermKind::total), tr("resident")});
  if (!told && liveness_->tile < 0 && builtClass_ >= 0 && alwaysLive_->isChecked()) {
    const MemoryStack stack = memory_stack(report->index().ipu_classes(builtClass_));
    for (const auto* category : stack.categories) {
      if (category->always_live() && category->bytes_per_tile() > 0)
        entries.push_back({fill_of_memory(category->name()), QString::fromStdString(category->name())});
    }
  }
  const bool phased = std::any_of(liveness_->points.begin(), liveness_->points.end(),
                                  [&](const auto& p) { return p.resident_bytes < liveness_->always_live; });
  if (phased && !told && liveness_->tile < 0 && alwaysLive_->isChecked())
    entries.push_back({fill_of(TermKind::total), tr("resident in a phase that holds less")});
  entries.push_back(
      {fill_of_memory("activations"), split ? tr("results and what is kept") : tr("kept by earlier calls")});
  entries.push_back({fill_of_memory("temporaries"), split ? tr("temporaries") : tr("live in the superstep")});
  const Theme& theme = theme_of(this);
  if (placement_) entries.push_back({{theme.panel, Hatch::rising, theme.secondary, theme.secondary}, tr("gaps")});
  chartLegend_->setEntries(liveness_->points.empty() ? std::vector<LegendEntry>{} : entries);
}

// Of several the fullest is drawn and selected.
void MemoryView::chooseTiles(const QString& text) {
  const ReportPointer report = session_.report();
  if (!report) return;
  const auto tiles = tiles_of_list(text, report->index().tiles_per_ipu());
  if (tiles.empty() && !text.isEmpty()) return;  // not yet typed to the end
  listed_.clear();
  for (const std::int64_t tile : tiles.size() > 1 ? tiles : std::vector<std::int64_t>()) {
    listed_.push_back(std::make_shared<const Liveness>(liveness_of(report->index(), *session_.steps(), *session_.heat(),
                                                                   shownClass(), session_.variables().get(), tile)));
  }
  const auto peak = [](const auto& l) {
    return l->peak < 0 ? 0 : l->points[static_cast<std::size_t>(l->peak)].total();
  };
  const auto fullest =
      std::max_element(listed_.begin(), listed_.end(), [&](const auto& a, const auto& b) { return peak(a) < peak(b); });
  Selection selection = session_.selection();
  selection.tile = tiles.empty() ? -1 : fullest == listed_.end() ? tiles[0] : (*fullest)->tile;
  if (selection == session_.selection()) return showSelection();
  session_.select(selection);
}

std::int64_t MemoryView::shownTile() const {
  const std::int64_t tile = session_.selection().tile;
  return tile >= 0 && tile < session_.report()->index().tiles_per_ipu() ? tile : -1;
}

int MemoryView::selectedPoint() const {
  const Selection& selection = session_.selection();
  const auto& points = liveness_->points;
  const std::string op = selection.op.toStdString();
  const auto of_phase = [&](const LivenessPoint& p) { return p.phase == selection.phase; };
  // Where the cursor is, if that is what is selected; else the first that is; else the first of the phase.
  const auto matches = [&](const LivenessPoint& p) {
    return of_phase(p) && p.step >= 0 && session_.steps()->name[static_cast<std::size_t>(p.step)] == op;
  };
  const auto at = static_cast<std::size_t>(chart_->cursor());
  if (chart_->cursor() >= 0 && at < points.size() && matches(points[at])) return chart_->cursor();
  auto found = std::find_if(points.begin(), points.end(), matches);
  if (found == points.end()) found = std::find_if(points.begin(), points.end(), of_phase);
  return found == points.end() ? -1 : static_cast<int>(found - points.begin());
}

void MemoryView::choosePoint(int point) {
  const LivenessPoint& p = liveness_->points[static_cast<std::size_t>(point)];
  Selection selection = session_.selection();
  selection.ipu_class = builtClass_;
  selection.phase = p.phase;
  if (p.step >= 0) selection.op = QString::fromStdString(session_.steps()->name[static_cast<std::size_t>(p.step)]);
  if (selection == session_.selection()) return showPoint(point);
  session_.select(selection);
}

void MemoryView::showPoint(int point) {
  const ReportPointer report = session_.report();
  if (builtClass_ < 0) {
    peak_.setContents({});
    peakPanel_->setSubtitle({});
    return;
  }
  listedTiles_.setContents(tiles_side_by_side(report, showsList() ? listed_ : TileLiveness(), point, session_.units()));
  peakTables_->setCurrentIndex(showsList() ? 1 : 0);
  const bool peak = builtTile_ < 0 && (point < 0 || point == liveness_->peak);
  if (point < 0) point = liveness_->peak;
  peak_.setContents(peak ? memory_table(report, builtClass_, session_.units())
                         : liveness_point_table(report, liveness_, point, session_.units()));
  peakPanel_->setTitle(showsList() && chart_->cursor() < 0 ? tr("Each at its peak")
                       : peak                              ? tr("At the peak")
                                                           : tr("At step %1").arg(grouped(point)));
  const auto& ipu = report->index().ipu_classes(builtClass_);
  peakPanel_->setSubtitle(QString::fromStdString(ipu.name() + ", " + ipu.contents()));
  if (which_->currentIndex() < 2) showLifetimes();
}

void MemoryView::rebuildVariables() {
  const ReportPointer report = session_.report();
  const report::Index& index = report->index();
  if (builtClass_ < 0) {
    variables_.setContents({});
    variablesPanel_->setSubtitle({});
    return;
  }
  const auto variables = session_.variables();
  auto lifetimes = std::make_shared<Lifetimes>();
  if (variables->have_lifetimes()) {
    const auto heat = session_.heat();
    const Liveness fullest = liveness_of(index, *session_.steps(), *heat, builtClass_);
    *lifetimes = lifetimes_of(index, fullest, *session_.steps(), *heat, *variables, *session_.results());
  }
  lifetimes_ = std::move(lifetimes);
  which_->setVisible(!lifetimes_->rows.empty());
  if (!lifetimes_->rows.empty()) return showLifetimes();
  const QString name = QString::fromStdString(index.ipu_classes(builtClass_).name());
  variables_.setContents(variables_table(report, variables, builtClass_, session_.units()));
  if (!variablesTable_->isSortingEnabled()) variablesTable_->setSortable(3, Qt::DescendingOrder);
  variablesTable_->setWideColumn(variables_.columnCount() - 1);
  variablesPanel_->setSubtitle(tr("%1 on %2, sorted by size").arg(grouped(variables_.rowCount()), name));
}

void MemoryView::showLifetimes() {
  if (lifetimes_->rows.empty()) return;
  const int point = chart_->cursor() >= 0 ? chart_->cursor() : liveness_->peak;
  const int which = which_->currentIndex();
  variables_.setContents(
      lifetimes_table(lifetimes_, which == 2 ? -1 : point, which == 1, point, session_.units(), placement_));
  if (!variablesTable_->isSortingEnabled()) variablesTable_->setSortable(2, Qt::DescendingOrder);
  variablesTable_->setWideColumn(variables_.columnCount() - 1);
  variablesPanel_->setTitle(which == 2   ? tr("Variables")
                            : which == 1 ? tr("Not always live at step %1").arg(grouped(point))
                            : chart_->cursor() < 0 || point == liveness_->peak
                                ? tr("Variables live at the peak")
                                : tr("Variables live at step %1").arg(grouped(point)));
  variablesPanel_->setSubtitle(
      tr("%1 of %2 · fullest tile of %3 · select rows to draw their lifetimes")
          .arg(grouped(variables_.rowCount()), grouped(lifetimes_->rows.size()),
               QString::fromStdString(session_.report()->index().ipu_classes(builtClass_).name())));
}

void MemoryView::markSelected() {
  std::vector<LivenessChart::Mark> marks;
  for (const QModelIndex& row : variablesTable_->selectionModel()->selectedRows()) {
    const int at = row.data(kSourceRole).toInt();
    if (at < 0 || at >= std::ssize(lifetimes_->rows)) continue;
    const Lifetime& of = lifetimes_->rows[static_cast<std::size_t>(at)];
    marks.push_back({of.first, of.last, of.category});
  }
  chart_->setMarks(std::move(marks));
}

QString MemoryView::statusText() const {
  const ReportPointer report = session_.report();
  if (!report || report->index().ipu_classes_size() == 0) return {};
  const auto& ipu = report->index().ipu_classes(std::max(0, shownClass()));
  return tr("All sizes are estimated · limit %1 per tile, of which %2 can hold code")
      .arg(tile_bytes_text(ipu.tile_limit_bytes(), session_.units()),
           tile_bytes_text(ipu.executable_limit_bytes(), session_.units()));
}

QString MemoryView::unitsText() const { return tr("units %1").arg(unit_name(session_.units())); }

QModelIndex MemoryView::valueAt(QWidget* chart, const QPointF& at) {
  constexpr int kTotal = 6, kMean = 6, kTakes = 2, kBytes = 2;  // columns
  if (chart == chart_) return steps_.index(chart_->layoutNow().point_at(at.x()), kTotal);
  if (chart == streams_) return stretches_.index(streams_->stretchAt(at.x()), kMean);
  if (chart == lanes_) return phases_.index(lanes_->layoutNow().phase_at(at.x()), kTakes);
  const int ipu = chart == columns_ ? columns_->layoutNow().column_at(at.x()) : -1;
  if (ipu < 0) return {};
  const QString category = columns_->categoryAt(at);
  const QString name = QString::fromStdString(session_.report()->index().ipu_classes(ipu).name());
  for (int row = all_.rowCount() - 1; row >= 0; --row) {  // the last of an IPU is its fullest tile
    const bool same = category.isEmpty() || all_.index(row, 1).data(kMemoryRole).toString() == category;
    if (same && all_.index(row, 0).data().toString() == name) return all_.index(row, kBytes);
  }
  return {};
}

// The last one is the first with gaps, where there are any to show.
QStringList MemoryView::pages() const {
  QStringList names = {"liveness", "totals", "streaming"};
  if (gapsKnown()) names << "gaps";
  return names;
}
int MemoryView::page() const {
  const int shown = pages_->currentIndex();
  return shown == 0 && gaps_->isChecked() ? 3 : shown;
}
void MemoryView::showPage(int page) {
  if (page % 3 == 0) gaps_->setChecked(page == 3);
  segment_->button(page % 3)->click();
}

}  // namespace superstep::gui
