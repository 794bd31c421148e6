// SPDX-License-Identifier: Apache-2.0
#include "gui/views/summary.h"

#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/key_numbers.h"
#include "gui/models/tile_fill.h"
#include "gui/views/summary_numbers.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/fill_histogram.h"
#include "gui/widgets/fit_bars.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/verdict_banner.h"
#include "gui/widgets/waterfall_chart.h"
#include "model/quantity_text.h"

namespace superstep::gui {
namespace {

constexpr int kLeastSummaryWidth = 1100;  // narrower columns would cut their names; beside docks it scrolls

QLabel* text_label(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setAlignment(Qt::AlignTop);
  label->setFont(ui_font(11.5));
  label->setContentsMargins(12, 9, 12, 9);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

// The chart takes the height there is; a `compact` one no more than it asks for.
QWidget* with_legend(QWidget* chart, Legend* legend, bool compact) {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(chart, compact ? 0 : 1);
  layout->addWidget(legend);
  if (compact) layout->addStretch(1);
  return page;
}

}  // namespace

SummaryView::SummaryView(Session& session, QWidget* parent) : View(parent), session_(session) {
  setProperty("leastWidth", kLeastSummaryWidth);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  verdict_ = new VerdictBanner;
  numbers_ = new KeyNumbers;
  layout->addWidget(verdict_);
  layout->addWidget(numbers_);
  auto* columns = new QHBoxLayout;
  columns->setSpacing(12);
  columns->addWidget(makeWaterfall(), 480);
  columns->addWidget(makeFit(), 350);
  columns->addWidget(makePlans(), 392);
  layout->addLayout(columns, 1);
  connect(&session_, &Session::reportChanged, this, &SummaryView::rebuild);
  connect(&session_, &Session::unitsChanged, this, &SummaryView::rebuild);
  connect(&session_, &Session::selectionChanged, this, &SummaryView::showSelection);
  rebuild();
}

QWidget* SummaryView::makeWaterfall() {
  chart_ = new WaterfallChart(waterfall_);
  kinds_ = new Legend;
  waterfallPanel_ = new Panel(tr("From ideal to predicted"));
  waterfallPanel_->setScrollingContent(with_legend(chart_, kinds_, false));
  waterfallPanel_->setTable(new DataTable(&waterfall_));
  waterfallPanel_->setMinimumWidth(300);
  connect(chart_, &WaterfallChart::termClicked, this, [this](const QString& term) {
    Selection selection = session_.selection();
    selection.term = selection.term == term ? QString() : term;
    session_.select(selection);
  });
  return waterfallPanel_;
}

QWidget* SummaryView::makeFit() {
  bars_ = new FitBars(fit_);
  categories_ = new Legend;
  fitPanel_ = new Panel(tr("Does it fit?"));
  fitPanel_->setScrollingContent(with_legend(bars_, categories_, true));
  fitPanel_->setTable(new DataTable(&fit_));
  connect(bars_, &FitBars::classClicked, this, [this](int ipu_class) {
    Selection selection = session_.selection();
    selection.ipu_class = ipu_class;
    session_.select(selection);
  });
  auto* other = limitsPanel_ = new Panel(tr("Other limits"));
  limits_ = new LimitBars;
  other->setSubtitle(tr("use of limit"));
  other->setContent(limits_);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(fitPanel_, 100);
  layout->addWidget(makeFill(), 1);
  layout->addWidget(other);
  return page;
}

QWidget* SummaryView::makeFill() {
  histogram_ = new FillHistogram;
  fillPanel_ = new Panel(tr("Tiles at their peak"));
  fillPanel_->setContent(histogram_);
  fillPanel_->setMaximumHeight(154);
  fillPanel_->setTable(new DataTable(&fillTable_));
  connect(histogram_, &FillHistogram::binClicked, this, &SummaryView::selectBin);
  connect(histogram_, &FillHistogram::binOpened, this, [this](int bin) {
    selectBin(bin);
    emit viewWanted("heatmap");
  });
  return fillPanel_;
}

// Its fullest tile, in the phase of its peak.
void SummaryView::selectBin(int bin) {
  const TilePeak& peak = fill_->peaks[static_cast<std::size_t>(fill_->bins[static_cast<std::size_t>(bin)].fullest)];
  Selection selection = session_.selection();
  selection.ipu_class = peak.ipu_class, selection.tile = peak.first, selection.phase = peak.phase;
  session_.select(selection);
}

// The tiles of a report with millions of runs are left to the heat map.
void SummaryView::showFill() {
  constexpr std::uint64_t kMostRuns = 2'000'000;
  const ReportPointer report = session_.report();
  std::uint64_t runs = 0;
  for (const auto& column : report->index().columns()) {
    if (column.name() == "tile.first") runs = column.rows();
  }
  const auto heat = runs > kMostRuns ? std::make_shared<const HeatData>() : session_.heat();
  fill_ = std::make_shared<const TileFill>(tile_fill(*heat, report->index()));
  histogram_->setFill(fill_, session_.units());
  fillTable_.setContents(tile_fill_table(report, fill_, session_.units()));
  fullest_.setContents(fullest_tiles_table(report, fill_, heat, session_.units()));
  fillPanel_->setSubtitle(unit_name(session_.units()) + QString::fromUtf8(" · ") +
                          fullest_sentence(*fill_, report->index()));
  fillPanel_->setVisible(!fill_->bins.empty());
}

QWidget* SummaryView::makePlans() {
  auto* runners = new Panel(tr("Runners-up"));
  plansTable_ = new DataTable(&plans_);
  plansTable_->setWideColumn(1, 186);
  plansTable_->setEmptyText(tr("There is no plan, so none came second."));
  runnersPanel_ = runners;
  runners->setMinimumWidth(396);  // the plan is named in full
  runners->setContent(plansTable_);
  auto* changes = new Panel(tr("What would help"));
  changes->setSubtitle(tr("one field changed, samples/s"));
  changesTable_ = new DataTable(&changes_);
  changesTable_->setWideColumn(1, 186);
  changesTable_->setEmptyText(tr("No plan that differs in one field is faster."));
  changes->setContent(changesTable_);
  changesTable_->setSelectionMode(QAbstractItemView::MultiSelection);  // a click ticks, another one takes it back
  changesTable_->setToolTip(
      tr("Enter or a double click tries the change in the what-if. Click several to try them "
         "together"));
  connect(changesTable_, &QAbstractItemView::activated, this,
          [this](const QModelIndex& row) { tryChanges({row.row()}); });
  tryTogether_ = new QToolButton;
  tryTogether_->setObjectName("tryTogether");
  tryTogether_->setAccessibleName(tr("Cost the chosen changes together in the what-if"));
  tryTogether_->setToolTip(tryTogether_->accessibleName());
  changes->setCorner(tryTogether_);
  const auto count = [this] {
    const auto rows = changesTable_->selectionModel()->selectedRows().size();
    tryTogether_->setText(rows > 1 ? tr("Try %1 together").arg(rows) : tr("Try"));
    tryTogether_->setEnabled(rows > 0);
  };
  connect(changesTable_->selectionModel(), &QItemSelectionModel::selectionChanged, this, count);
  connect(&changes_, &QAbstractItemModel::modelReset, this, count);
  connect(tryTogether_, &QToolButton::clicked, this, [this] {
    std::vector<int> rows;
    for (const QModelIndex& row : changesTable_->selectionModel()->selectedRows()) rows.push_back(row.row());
    std::sort(rows.begin(), rows.end());
    tryChanges(rows);
  });
  count();
  auto* notes = new Panel(tr("Search and notes"));
  notes_ = text_label("notes");
  notes->setScrollingContent(notes_);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(runners, 5);
  layout->addWidget(changes, 4);
  layout->addWidget(notes, 4);
  return page;
}

void SummaryView::tryChanges(const std::vector<int>& changes) {
  const report::Index& index = session_.report()->index();
  const auto known = [&](int change) { return change >= 0 && change < index.helpful_changes_size(); };
  if (changes.empty() || !std::all_of(changes.begin(), changes.end(), known)) return;
  const std::string plan = changed_plan(index, changes);
  if (!plan.empty()) session_.setTrial(plan, changes);
  emit viewWanted("whatif");
}

void SummaryView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const report::Index& index = report->index();
  const Units units = session_.units();
  verdict_->setIndex(index);
  numbers_->setNumbers(key_numbers(index, units));
  keyNumbers_.setContents(key_numbers_table(report));
  waterfall_.setContents(waterfall_table(report));
  fit_.setContents(fit_table(report, units));
  plans_.setContents(plans_table(report, units));
  changes_.setContents(changes_table(report));
  bars_->setReport(report, units);
  kinds_->setEntries(kinds_of(index));
  categories_->setEntries(memory_legend(index));
  auto limits = other_limits(index);
  limitsPanel_->setVisible(!limits.empty());
  limits_->setLimits(std::move(limits));
  runnersPanel_->setSubtitle(tr("%1 to spare").arg(unit_name(units)));
  plansTable_->setColumnHidden(5, true);  // the step time is in the CSV
  plansTable_->fitColumns();
  changesTable_->setColumnHidden(3, true);  // as the step time of the plans
  changesTable_->fitColumns();
  if (index.waterfall_size() > 0) {
    const double total = waterfall_seconds(index);
    waterfallPanel_->setSubtitle(tr("ms per step, sums to %1").arg(milliseconds(total, total)));
  } else {
    waterfallPanel_->setSubtitle({});
  }
  const bool errors = index.ipu_classes_size() > 0 && index.ipu_classes(0).has_tile_peak_error_bytes();
  fitPanel_->setSubtitle(
      errors ? tr("fullest tiles, ± %1").arg(tile_bytes_text(index.ipu_classes(0).tile_peak_error_bytes(), units))
             : tr("fullest tile of each IPU, %1").arg(unit_name(units)));
  notes_->setText(notes_text(index));
  chart_->setBand(step_time_band(index));
  showFill();
  showSelection();
  emit statusChanged();
}

void SummaryView::showSelection() {
  chart_->setSelectedTerm(session_.selection().term);
  bars_->setSelectedClass(session_.selection().ipu_class);
  histogram_->setSelected(session_.selection().ipu_class, session_.selection().tile);
}

std::vector<NamedTable> SummaryView::tables() const {
  return {{"Waterfall", &waterfall_},   {"Fit", &fit_},     {"Tiles at their peak", &fillTable_},
          {"Fullest tiles", &fullest_}, {"Plans", &plans_}, {"Changes", &changes_},
          {"Key numbers", &keyNumbers_}};
}

QString SummaryView::statusText() const {
  const ReportPointer report = session_.report();
  if (!report) return {};
  QString text = tr("All times and sizes are estimated");
  if (report->index().clock_hz() > 0)
    text += " · " + tr("clock %1").arg(for_viewer(to_text(Hertz(report->index().clock_hz()))));
  return text + " · " + QString::fromStdString(report->index().created_by());
}

QString SummaryView::unitsText() const { return tr("units %1, ms").arg(unit_name(session_.units())); }

QModelIndex SummaryView::valueAt(QWidget* chart, const QPointF& at) {
  constexpr int kMs = 2, kPeak = 3;  // columns
  if (chart == histogram_) {
    const int bin = histogram_->binAt(at);
    for (int row = 0; row < fillTable_.rowCount(); ++row) {
      if (fillTable_.index(row, 0).data(kSourceRole).toInt() == bin) return fillTable_.index(row, kFillCount);
    }
    return {};
  }
  if (chart == chart_) return waterfall_.index(chart_->layoutNow().row_at(at.y()), kMs);
  return chart == bars_ ? fit_.index(bars_->rowAt(at.y()), kPeak) : QModelIndex();
}

}  // namespace superstep::gui
