// SPDX-License-Identifier: Apache-2.0
#include "gui/views/landscape.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>

#include "gui/widgets/data_table.h"
#include "gui/widgets/legend.h"
#include "gui/widgets/panel.h"
#include "gui/widgets/scatter_chart.h"
#include "model/error.h"

namespace superstep::gui {

LandscapeView::LandscapeView(Session& session, QWidget* parent) : View(parent), session_(session) {
  chart_ = new ScatterChart;
  legend_ = new Legend;
  auto* chart = new QWidget;
  auto* chart_layout = new QVBoxLayout(chart);
  chart_layout->setContentsMargins(0, 6, 0, 0);
  chart_layout->setSpacing(2);
  chart_layout->addWidget(chart_, 1);
  chart_layout->addWidget(legend_);
  panel_ = new Panel(tr("Plan landscape"));
  panel_->setContent(chart);
  auto* twin = new DataTable(&table_);
  twin->setWideColumn(1, 180);
  panel_->setTable(twin);
  connect(chart_, &ScatterChart::planClicked, this, &LandscapeView::select);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(12);
  layout->addWidget(makeControls());
  layout->addWidget(panel_, 62);
  layout->addWidget(makeLower(), 38);
  connect(&session_, &Session::reportChanged, this, &LandscapeView::rebuild);
  connect(&session_, &Session::unitsChanged, this, &LandscapeView::rebuild);
  rebuild();
}

QWidget* LandscapeView::makeControls() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  const auto combo = [&](const QString& text, const char* name, const QString& accessible) {
    auto* box = new QComboBox;
    box->setObjectName(name);
    box->setAccessibleName(accessible);
    layout->addWidget(new QLabel(text));
    layout->addWidget(box, 100);
    connect(box, &QComboBox::currentIndexChanged, this, &LandscapeView::applyAxes);
    return box;
  };
  // Filled when all are there, since filling the first changes its index.
  x_ = combo(tr("x"), "axisX", tr("Quantity on the horizontal axis"));
  y_ = combo(tr("y"), "axisY", tr("Quantity on the vertical axis"));
  color_ = combo(tr("Colour"), "colorBy", tr("What the colour of a dot says"));
  for (const LandscapeAxis& axis : landscape_axes()) {
    for (QComboBox* box : {x_, y_}) {
      const QSignalBlocker quiet(box);
      box->addItem(tr(axis.title));
    }
  }
  for (const LandscapeColor& color : landscape_colors()) {
    const QSignalBlocker quiet(color_);
    color_->addItem(tr(color.title));
  }
  // As wide as the longest entry where there is room, narrower in a small window.
  for (QComboBox* box : {x_, y_, color_}) {
    box->setMaximumWidth(box->sizeHint().width());
    box->view()->setMinimumWidth(box->sizeHint().width());
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(9);
    box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }
  {
    const QSignalBlocker quiet_x(x_), quiet_y(y_);
    x_->setCurrentIndex(kTileAxis);
    y_->setCurrentIndex(kThroughputAxis);
  }
  auto* line = new QCheckBox(tr("Pareto line"));
  line->setObjectName("paretoLine");
  line->setAccessibleName(tr("Draw the line of plans that none is better than in both throughput and tile memory"));
  line->setChecked(true);
  connect(line, &QCheckBox::toggled, chart_, &ScatterChart::setParetoLine);
  layout->addWidget(line);
  layout->addStretch(1);
  layout->addWidget(new QLabel(tr("Table")));
  list_ = new QComboBox;
  list_->setObjectName("listShown");
  list_->setAccessibleName(tr("Which table stands below"));
  list_->addItems({tr("plans"), tr("searched")});
  connect(list_, &QComboBox::currentIndexChanged, this, [this](int list) { lists_->setCurrentIndex(list); });
  layout->addWidget(list_);
  pins_ = new QToolButton;
  pins_->setText(tr("Copy pins"));
  pins_->setObjectName("copyPins");
  pins_->setAccessibleName(tr("Copy the selected plan as the pins of a job"));
  pins_->setToolTip(pins_->accessibleName());
  pins_->setFocusPolicy(Qt::StrongFocus);
  connect(pins_, &QToolButton::clicked, this, &LandscapeView::copyPins);
  layout->addWidget(pins_);
  try_ = new QToolButton;
  try_->setText(tr("What-if"));
  try_->setObjectName("tryPlan");
  try_->setAccessibleName(tr("Cost the selected plan in the what-if view, beside the shown one"));
  try_->setToolTip(try_->accessibleName());
  try_->setFocusPolicy(Qt::StrongFocus);
  connect(try_, &QToolButton::clicked, this, &LandscapeView::tryPlan);
  layout->addWidget(try_);
  return row;
}

QWidget* LandscapeView::makeLower() {
  tableView_ = new DataTable(&sorted_);
  tableView_->setObjectName("plansTable");
  tableView_->setAccessibleName(tr("Plans"));
  tableView_->setEmptyText(tr("There is no plan to list."));
  tableView_->setWideColumn(1, 214);
  tableView_->setSelectionMode(QAbstractItemView::SingleSelection);
  connect(tableView_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) {
            if (current.isValid() && !following_) select(current.data(kSourceRole).toInt());
          });
  auto* plans = new Panel(tr("Plans"));
  plans->setSubtitle(tr("shown, runners-up, Pareto front, and found on the way"));
  plans->setContent(tableView_);
  lists_ = new QStackedWidget;
  lists_->addWidget(plans);
  lists_->addWidget(makeCells());
  auto* changes = new Panel(tr("What would help"));
  changes->setSubtitle(tr("one field changed, samples/s"));
  changesView_ = new DataTable(&changes_);
  changesView_->setWideColumn(1, 150);
  changesView_->setEmptyText(tr("No plan that differs in one field is faster."));
  changes->setContent(changesView_);
  auto* page = new QWidget;
  auto* layout = new QHBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(lists_, 76);
  layout->addWidget(changes, 24);
  return page;
}

QWidget* LandscapeView::makeCells() {
  cellsView_ = new DataTable(&sortedCells_);
  cellsView_->setObjectName("cellsTable");
  cellsView_->setAccessibleName(tr("Combinations of t, p, r, m and g that were searched"));
  cellsView_->setEmptyText(tr("The report does not say what was searched: plan the job again, or the plan was given."));
  cellsView_->setWideColumn(kCellFate, 90);
  account_ = new QLabel;
  account_->setObjectName("account");
  account_->setWordWrap(true);
  account_->setContentsMargins(12, 6, 12, 6);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(account_);
  layout->addWidget(cellsView_, 1);
  auto* panel = new Panel(tr("What was searched"));
  panel->setSubtitle(tr("all settings of each t, p, r, m, g"));
  panel->setContent(page);
  return panel;
}

// Damaged columns leave the rest of the view as it is.
void LandscapeView::readSearched() {
  auto plans = std::make_shared<std::vector<LandscapePlan>>(landscape_plans(session_.report()->index()));
  auto cells = std::make_shared<SearchedCells>();
  QString account;
  sampling_.clear();
  try {
    std::vector<LandscapePlan> found = found_plans(*session_.report());
    sampling_ = sampling_sentence(session_.report()->index(), found.size());
    plans->insert(plans->end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    *cells = load_cells(*session_.report());
    account = account_sentence(session_.report()->index(), *cells);
  } catch (const Error& error) {
    account = tr("What was searched cannot be read: %1").arg(QString::fromUtf8(error.what()));
  }
  plans_ = plans;
  cells_ = cells;
  account_->setText(account);
  account_->setVisible(!account.isEmpty());
}

void LandscapeView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const report::Index& index = report->index();
  following_ = true;
  readSearched();
  const bool first = table_.columnCount() == 0;
  table_.setContents(landscape_table(report, plans_, session_.units()));
  changes_.setContents(changes_table(report));
  changesView_->setColumnHidden(3, true);  // the step time; it is in the CSV
  changesView_->fitColumns();
  cellTable_.setContents(cells_table(cells_));
  cellsView_->fitColumns();
  chart_->setPlans(report, plans_);
  if (first) {
    tableView_->setSortable(kLandscapeThroughput, Qt::DescendingOrder);
    cellsView_->setSortable(kCellBound, Qt::DescendingOrder);
  }
  following_ = false;
  pins_->setEnabled(false);
  try_->setEnabled(false);
  const std::string searched = search_sentence(index);
  const auto plans = static_cast<std::int64_t>(plans_->size());
  const QString in_report = plans == 1 ? tr("1 plan in the report") : tr("%1 plans in the report").arg(grouped(plans));
  panel_->setSubtitle(sampling_.isEmpty() ? in_report : sampling_);
  panel_->setNote(searched.empty() ? tr("The plan was given, not searched.")
                                   : for_viewer(searched.substr(0, searched.find(':'))) + tr(" searched"));
  applyAxes();
  emit statusChanged();
}

void LandscapeView::applyAxes() {
  const ScatterChart::Axes axes{x_->currentIndex(), y_->currentIndex(), color_->currentIndex()};
  if (axes.x < 0 || axes.y < 0 || axes.color < 0) return;
  chart_->setAxes(axes);
  const LandscapeColor& color = landscape_colors()[static_cast<std::size_t>(axes.color)];
  std::vector<LegendEntry> entries;
  const QStringList& values = chart_->colorClasses().names;
  for (int i = 0; i < values.size(); ++i) {
    const Fill fill{ScatterChart::valueColor(i), Hatch::none, {}, QColor(0, 0, 0, 110)};
    const QString name = QString(color.title).section(' ', -1);
    const QString said = color.field ? name + " = " + values[i] : values[i];
    entries.push_back({fill, values[i].isEmpty() ? tr("not said") : said});
  }
  legend_->setEntries(std::move(entries));
}

void LandscapeView::select(int plan) {
  if (plan < 0 || plan >= static_cast<int>(plans_->size())) return;
  chart_->setSelected(plan);
  pins_->setEnabled(true);
  try_->setEnabled(!session_.report()->index().job_json().empty());
  following_ = true;
  const QModelIndex row = sorted_.mapFromSource(table_.index(plan, 0));
  if (tableView_->currentIndex().row() != row.row()) {
    tableView_->setCurrentIndex(row);
    tableView_->scrollTo(row);
  }
  const int cell = cell_of(*cells_, (*plans_)[static_cast<std::size_t>(plan)]);
  if (cell >= 0) {
    const QModelIndex at = sortedCells_.mapFromSource(cellTable_.index(cell, 0));
    cellsView_->setCurrentIndex(at);
    cellsView_->scrollTo(at);
  }
  following_ = false;
}

void LandscapeView::copyPins() {
  if (chart_->selected() < 0) return;
  const auto& plan = *(*plans_)[static_cast<std::size_t>(chart_->selected())].summary;
  QApplication::clipboard()->setText(QString::fromStdString(plan.plan_json()));
}

void LandscapeView::tryPlan() {
  if (chart_->selected() < 0) return;
  session_.setTrial((*plans_)[static_cast<std::size_t>(chart_->selected())].summary->plan_json());
  emit viewWanted("whatif");
}

QString LandscapeView::statusText() const {
  return tr(
      "All numbers are estimated · each dot is a plan of this report; a ring: shown, a bold edge: Pareto front, small: "
      "found on the way");
}

QString LandscapeView::unitsText() const { return tr("units %1, ms").arg(unit_name(session_.units())); }

QModelIndex LandscapeView::valueAt(QWidget* chart, const QPointF& at) {
  constexpr int kThroughput = 3;  // column
  const int plan = chart == chart_ ? chart_->planAt(at) : -1;
  return plan < 0 ? QModelIndex() : table_.index(plan, kThroughput);
}

QStringList LandscapeView::pages() const { return {"plans", "searched"}; }
int LandscapeView::page() const { return lists_->currentIndex(); }
void LandscapeView::showPage(int page) {
  list_->setCurrentIndex(page);
  lists_->setCurrentIndex(page);
}

}  // namespace superstep::gui
