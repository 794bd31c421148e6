// SPDX-License-Identifier: Apache-2.0
#include "gui/views/summary.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/key_numbers.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/fit_bars.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/verdict_banner.h"
#include "gui/widgets/waterfall_chart.h"
#include "model/quantity_text.h"
#include "traces/text_table.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

constexpr int kLeastWidth = 1100;  // narrower columns would cut their names; beside docks it scrolls

QString number_part(const std::string& text) { return for_viewer(text).section(' ', 0, 0); }
QString unit_part(const std::string& text) { return for_viewer(text).section(' ', 1); }

std::vector<KeyNumber> key_numbers(const report::Index& index, Units units) {
  if (!index.has_plan()) return {};
  const auto& plan = index.plan();
  const std::int64_t margin = margin_bytes(plan);
  const std::string ddr = to_text(Bytes(plan.ddr_bytes_per_ipu()));
  const QString power =
      plan.rated_power_w() > 0 ? QString(" · %1").arg(for_viewer(to_text(Watts(plan.rated_power_w())))) : QString();
  const double tile_share = plan.tile_limit_bytes() > 0 ? static_cast<double>(plan.tile_peak_bytes()) /
                                                              static_cast<double>(plan.tile_limit_bytes())
                                                        : -1;
  return {{"Throughput", for_viewer(figure(plan.samples_per_second())), "samples/s",
           for_viewer(with_thousands(plan.ipus())) + " IPUs" + power},
          {"Step time", milliseconds(plan.step_time_s(), plan.step_time_s()), "ms",
           "for " + grouped(plan.global_batch()) + " samples"},
          {"Model FLOP utilisation", fixed_decimals(plan.flop_utilisation() * 100, 1), "% of peak",
           "FP16.16 peak of the IPUs used", plan.flop_utilisation()},
          {"Fullest tile", tile_bytes(plan.tile_peak_bytes(), units),
           "of " + tile_bytes_text(plan.tile_limit_bytes(), units),
           tile_bytes_text(std::abs(margin), units) + (margin < 0 ? " over" : " to spare"), tile_share, margin < 0},
          {"Streaming Memory", number_part(ddr), unit_part(ddr) + " per IPU",
           for_viewer(with_thousands(plan.ddr_bytes_per_ipu())) + " bytes"},
          {"Global batch", grouped(plan.global_batch()), "samples", "per weight update"}};
}

// The largest use of each further limit over the IPU classes.
std::vector<KeyNumber> other_limits(const report::Index& index) {
  struct Use {
    std::int64_t used = 0, limit = 0;
    double share() const { return limit > 0 ? static_cast<double>(used) / static_cast<double>(limit) : 0; }
  };
  Use code;
  Use ddr;
  for (const auto& c : index.ipu_classes()) {
    const Use here{c.executable_bytes(), c.executable_limit_bytes()};
    const Use streaming{c.ddr_bytes(), c.ddr_limit_bytes()};
    if (here.limit > 0 && (code.limit == 0 || here.share() > code.share())) code = here;
    if (streaming.limit > 0 && (ddr.limit == 0 || streaming.share() > ddr.share())) ddr = streaming;
  }
  std::vector<KeyNumber> out;
  if (code.limit > 0) {
    out.push_back({"Code per tile",
                   for_viewer(kib(code.used)),
                   "of " + for_viewer(kib(code.limit)) + " KiB",
                   {},
                   code.share(),
                   code.share() > 1});
  }
  if (ddr.limit > 0) {
    out.push_back({"Streaming Memory per IPU",
                   for_viewer(to_text(Bytes(ddr.used))),
                   "of " + for_viewer(to_text(Bytes(ddr.limit))),
                   {},
                   ddr.share(),
                   ddr.share() > 1});
  }
  return out;
}

std::vector<LegendEntry> kinds_of(const report::Index& index) {
  std::vector<LegendEntry> out;
  std::vector<std::string> seen;
  for (const auto& term : index.waterfall()) {
    if (std::find(seen.begin(), seen.end(), term.kind()) != seen.end()) continue;
    seen.push_back(term.kind());
    out.push_back({fill_of_kind(term.kind()), QString::fromStdString(term.kind())});
  }
  return out;
}

QString notes_text(const report::Index& index) {
  QStringList lines;
  const std::string searched = search_sentence(index);
  lines << (searched.empty() ? SummaryView::tr("The plan was given, not searched.") : for_viewer(searched))
               .toHtmlEscaped();
  for (const auto& fact : index.facts()) {
    lines << "<b>" + QString::fromStdString(fact.name()).toHtmlEscaped() + "</b> " +
                 for_viewer(fact.value()).toHtmlEscaped();
  }
  for (const auto& note : index.notes()) lines << for_viewer(note).toHtmlEscaped();
  return "<p style='margin:0 0 5px 0'>" + lines.join("</p><p style='margin:0 0 5px 0'>") + "</p>";
}

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

std::vector<LegendEntry> memory_legend(const report::Index& index) {
  std::vector<std::string> names;
  for (const auto& c : index.ipu_classes()) {
    for (const auto& m : c.memory()) {
      if (std::find(names.begin(), names.end(), m.name()) == names.end()) names.push_back(m.name());
    }
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return memory_order(a) < memory_order(b); });
  std::vector<LegendEntry> out;
  for (const auto& name : names) out.push_back({fill_of_memory(name), QString::fromStdString(name)});
  return out;
}

SummaryView::SummaryView(Session& session, QWidget* parent) : View(parent), session_(session) {
  setProperty("leastWidth", kLeastWidth);
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
  layout->addWidget(fitPanel_, 1);
  layout->addWidget(other);
  return page;
}

QWidget* SummaryView::makePlans() {
  auto* runners = new Panel(tr("Runners-up"));
  plansTable_ = new DataTable(&plans_);
  plansTable_->setWideColumn(1, 186);
  plansTable_->setEmptyText(tr("No plan fits, so none came second."));
  runnersPanel_ = runners;
  runners->setMinimumWidth(396);  // the plan is named in full
  runners->setContent(plansTable_);
  auto* changes = new Panel(tr("What would help"));
  changes->setSubtitle(tr("one field changed, samples/s"));
  changesTable_ = new DataTable(&changes_);
  changesTable_->setWideColumn(1, 186);
  changesTable_->setEmptyText(tr("No plan that differs in one field is faster."));
  changes->setContent(changesTable_);
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
  fitPanel_->setSubtitle(tr("fullest tile of each IPU, %1").arg(unit_name(units)));
  notes_->setText(notes_text(index));
  showSelection();
  emit statusChanged();
}

void SummaryView::showSelection() {
  chart_->setSelectedTerm(session_.selection().term);
  bars_->setSelectedClass(session_.selection().ipu_class);
}

std::vector<NamedTable> SummaryView::tables() const {
  return {{"Waterfall", &waterfall_},
          {"Fit", &fit_},
          {"Plans", &plans_},
          {"Changes", &changes_},
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
  if (chart == chart_) return waterfall_.index(chart_->layoutNow().row_at(at.y()), kMs);
  return chart == bars_ ? fit_.index(bars_->rowAt(at.y()), kPeak) : QModelIndex();
}

}  // namespace superstep::gui
