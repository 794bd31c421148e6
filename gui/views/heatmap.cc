// SPDX-License-Identifier: Apache-2.0
#include "gui/views/heatmap.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/paint/color_map.h"
#include "gui/theme.h"
#include "gui/widgets/chip_grid.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/heat_legend.h"
#include "gui/widgets/heat_map.h"
#include "gui/widgets/panel.h"

namespace superstep::gui {
namespace {

constexpr int kLeastWidth = 930;  // narrower maps have no room for the numbers of their scale

QString quantity_title(HeatQuantity quantity) {
  switch (quantity) {
    case HeatQuantity::memory:
      return HeatmapView::tr("Memory live per tile and phase");
    case HeatQuantity::compute:
      return HeatmapView::tr("Compute cycles per tile and phase");
    case HeatQuantity::exchange:
      return HeatmapView::tr("Exchange bytes per tile and phase");
    case HeatQuantity::idle:
      return HeatmapView::tr("Cycles without compute per tile and phase");
  }
  return {};
}

QLabel* caption(const QString& text) {
  auto* label = new QLabel(text);
  label->setFont(ui_font(11.5));
  return label;
}

}  // namespace

HeatmapView::HeatmapView(Session& session, QWidget* parent) : View(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(10);
  map_ = new HeatMap(session);
  legend_ = new HeatLegend(session, *map_);
  layout->addLayout(makeControls());
  layout->addWidget(makeOverflow());

  auto* chart = new QWidget;
  auto* chart_layout = new QVBoxLayout(chart);
  chart_layout->setContentsMargins(0, 0, 0, 0);
  chart_layout->setSpacing(0);
  chart_layout->addWidget(map_, 1);
  chart_layout->addWidget(legend_);
  mapPanel_ = new Panel(quantity_title(HeatQuantity::memory));
  setProperty("leastWidth", kLeastWidth);
  mapPanel_->setContent(chart);
  auto* twin = new DataTable(&tiles_);
  twin->setWideColumn(1);
  mapPanel_->setTable(twin);
  auto* columns = new QHBoxLayout;
  columns->setSpacing(12);
  columns->addWidget(mapPanel_, 74);
  columns->addWidget(makePhasePanel(), 26);
  layout->addLayout(columns, 1);

  connect(&session_, &Session::reportChanged, this, &HeatmapView::rebuild);
  connect(&session_, &Session::heatStateChanged, this, &HeatmapView::followState);
  connect(&session_, &Session::unitsChanged, this, &HeatmapView::refreshState);
  connect(&session_, &Session::selectionChanged, this, &HeatmapView::showSelection);
  connect(map_, &HeatMap::layoutChanged, this, [this] {
    mapPanel_->setSubtitle(map_->sharingText());
    legend_->update();
    emit statusChanged();
  });
  connect(map_, &HeatMap::hovered, this, [this](int phase, qint64 tile) {
    const TileRun* run = session_.heat()->run_at(phase, tile);
    legend_->setMarker(run ? value_of(*run, session_.heatState().quantity) : kNoValue);
  });
  setFocusProxy(map_);
  rebuild();
}

QLayout* HeatmapView::makeControls() {
  quantity_ = new QComboBox;
  quantity_->setObjectName("quantity");
  quantity_->setAccessibleName(tr("Quantity"));
  quantity_->addItems({tr("Memory"), tr("Compute cycles"), tr("Exchange bytes"), tr("Idle cycles")});
  ipu_ = new ElidedCombo;
  ipu_->setObjectName("ipuClass");
  ipu_->setAccessibleName(tr("IPU"));
  ipu_->setMinimumContentsLength(26);
  ipu_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  limits_ = new QComboBox;
  limits_->setObjectName("limits");
  limits_->setAccessibleName(tr("Limits of the colours"));
  limits_->addItems({tr("hardware"), tr("data")});
  limits_->setToolTip(tr("From nothing to the limit of a tile, or from the least to the most of the report"));
  colors_ = new QComboBox;
  colors_->setObjectName("colorMap");
  colors_->setAccessibleName(tr("Colours"));
  for (const ColorMap& map : color_maps()) colors_->addItem(map.name);
  connect(limits_, &QComboBox::activated, this, [this](int i) {
    HeatState state = session_.heatState();
    state.limits_of_data = i == 1;
    session_.setHeatState(state);
  });
  connect(colors_, &QComboBox::textActivated, &session_, &Session::setColorMap);
  connect(&session_, &Session::colorMapChanged, this, &HeatmapView::refreshState);
  auto* everything = new QToolButton;
  everything->setText(tr("Show everything"));
  everything->setObjectName("showEverything");
  everything->setToolTip(tr("The whole map (F)"));
  connect(quantity_, &QComboBox::activated, this, [this](int i) {
    HeatState state = session_.heatState();
    state.quantity = static_cast<HeatQuantity>(i);
    session_.setHeatState(state);
  });
  connect(ipu_, &QComboBox::activated, this, [this](int i) {
    HeatState state = session_.heatState();
    state.ipu_class = i - 1;
    state.window = {};
    session_.setHeatState(state);
  });
  connect(everything, &QToolButton::clicked, map_, &HeatMap::showEverything);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(caption(tr("Quantity")));
  row->addWidget(quantity_);
  row->addSpacing(8);
  row->addWidget(caption(tr("IPU")));
  row->addWidget(ipu_);
  row->addSpacing(8);
  row->addWidget(caption(tr("Limits")));
  row->addWidget(limits_);
  row->addSpacing(8);
  row->addWidget(caption(tr("Colours")));
  row->addWidget(colors_);
  row->addSpacing(8);
  row->addWidget(everything);
  row->addStretch(1);
  return row;
}

QWidget* HeatmapView::makeOverflow() {
  overflow_ = new QLabel;
  overflow_->setObjectName("overflow");
  overflow_->setWordWrap(true);
  overflow_->setFont(ui_font(12, QFont::DemiBold));
  overflowRow_ = new QWidget;
  auto* row = new QHBoxLayout(overflowRow_);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(overflow_, 1);
  for (const int step : {-1, 1}) {
    auto* button = new QToolButton;
    button->setText(step < 0 ? tr("Previous") : tr("Next"));
    button->setObjectName(step < 0 ? "previousOverflow" : "nextOverflow");
    button->setToolTip(step < 0 ? tr("The phase before this one in which a tile is over its limit")
                                : tr("The next phase in which a tile is over its limit"));
    connect(button, &QToolButton::clicked, this, [this, step] { goToOverflow(step); });
    row->addWidget(button);
  }
  return overflowRow_;
}

// In program order, of all IPUs; around the ends.
void HeatmapView::goToOverflow(int step) {
  const auto heat = session_.heat();
  const auto& ipus = session_.report()->index().ipu_classes();
  const auto first_over = [&](int phase) -> const TileRun* {
    const HeatPhase& p = heat->phases[static_cast<std::size_t>(phase)];
    const std::int64_t limit = ipus[p.ipu_class].tile_limit_bytes();
    const auto begin = heat->runs.begin() + static_cast<std::ptrdiff_t>(p.first_run);
    const auto end = begin + static_cast<std::ptrdiff_t>(p.runs);
    const auto over = std::find_if(begin, end, [&](const TileRun& run) { return run.memory_bytes > limit; });
    return over == end || limit <= 0 ? nullptr : &*over;
  };
  const auto count = static_cast<int>(heat->phases.size());
  int phase = session_.selection().phase;
  if (phase < 0 || phase >= count) phase = step > 0 ? -1 : count;
  for (int i = 0; i < count; ++i) {
    phase = (phase + step + count) % count;
    const TileRun* over = first_over(phase);
    if (!over) continue;
    HeatState state = session_.heatState();
    const int ipu = heat->phases[static_cast<std::size_t>(phase)].ipu_class;
    if (state.ipu_class >= 0 && state.ipu_class != ipu) state.ipu_class = ipu, state.window = {};
    session_.setHeatState(state);
    return chooseTile(phase, over->first);
  }
}

void HeatmapView::chooseTile(int phase, std::int64_t tile) {
  Selection selection = session_.selection();
  selection.phase = phase, selection.tile = tile;
  selection.ipu_class = session_.heat()->phases[static_cast<std::size_t>(phase)].ipu_class;
  session_.select(selection);
}

QWidget* HeatmapView::makePhasePanel() {
  phasePanel_ = new Panel(tr("No phase"));
  chip_ = new ChipGrid(session_, *map_);
  connect(chip_, &ChipGrid::tileChosen, this, [this](qint64 tile) { chooseTile(chip_->phase(), tile); });
  computing_ = new QLabel;
  computing_->setObjectName("computing");
  computing_->setFont(ui_font(11));
  computing_->setContentsMargins(12, 4, 12, 6);
  auto* table = new DataTable(&phaseTiles_);
  table->setObjectName("phaseTiles");
  table->setMinimumHeight(92);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(chip_, 5);
  layout->addWidget(computing_);
  layout->addWidget(table, 2);
  phasePanel_->setContent(page);
  phasePanel_->setFixedWidth(324);
  return phasePanel_;
}

void HeatmapView::rebuild() {
  const ReportPointer report = session_.report();
  if (!report) return;
  ipu_->clear();
  ipu_->addItem(tr("all"));
  for (const auto& ipu : report->index().ipu_classes()) {
    ipu_->addItem(QString::fromStdString(ipu.name()) + "  " + QString::fromStdString(ipu.contents()));
  }
  const QString first = for_viewer(report->index().plan().first_overflow());
  overflowRow_->setVisible(!first.isEmpty());
  overflow_->setText(tr("First overflow: %1").arg(first));
  map_->refresh();
  refreshState();
}

// What is seen of the map moves many times a second, and changes no table.
void HeatmapView::followState() {
  HeatState state = session_.heatState();
  state.window = {};
  if (state != shown_) return refreshState();
  mapPanel_->setSubtitle(map_->sharingText());
  emit statusChanged();
}

void HeatmapView::refreshState() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const HeatState& state = session_.heatState();
  shown_ = state;
  shown_.window = {};
  const Theme& theme = theme_of(this);
  overflow_->setStyleSheet(QString("background: %1; color: %2; border-left: 5px solid %2; padding: 5px 10px;")
                               .arg(theme.over_fill.name(), theme.over.name()));
  quantity_->setCurrentIndex(static_cast<int>(state.quantity));
  ipu_->setCurrentIndex(state.ipu_class + 1);
  limits_->setCurrentIndex(state.limits_of_data ? 1 : 0);
  colors_->setCurrentText(session_.colorMap());
  chip_->update();
  mapPanel_->setTitle(quantity_title(state.quantity));
  const auto heat = session_.heat();
  const auto phases = heat->phases_of(state.ipu_class);
  if (phases.empty()) {
    tiles_.setContents({});
  } else {
    tiles_.setContents(tiles_table(report, heat, phases));
  }
  mapPanel_->setSubtitle(map_->sharingText());
  legend_->update();
  showSelection();
  emit statusChanged();
}

void HeatmapView::showSelection() {
  const ReportPointer report = session_.report();
  if (!report) return;
  const auto heat = session_.heat();
  const auto phases = heat->phases_of(session_.heatState().ipu_class);
  int phase = session_.selection().phase;
  if (phase < 0 && !phases.empty()) {  // at first the phase of the fullest tile
    phase = *std::max_element(phases.begin(), phases.end(), [&](int a, int b) {
      return heat->largest(a, session_.heatState().quantity) < heat->largest(b, session_.heatState().quantity);
    });
  }
  if (phase < 0 || phase >= static_cast<int>(heat->phases.size())) {
    phaseTiles_.setContents({});
    computing_->clear();
    chip_->setPhase(-1);
    return;
  }
  phaseTiles_.setContents(phase_table(heat, phase, session_.units()));
  chip_->setPhase(phase);
  computing_->setText(tr("%1 of %2 tiles compute").arg(grouped(active_tiles(*heat, phase)), grouped(heat->tiles)));
  phasePanel_->setTitle(QString::fromStdString(heat->phases[static_cast<std::size_t>(phase)].name));
}

QString HeatmapView::statusText() const {
  const auto heat = session_.heat();
  if (heat->phases.empty()) return {};
  const QString sharing = map_->sharingText();
  return tr("All values are estimated · %1 tiles × %2 phases")
             .arg(grouped(heat->tiles), grouped(static_cast<std::int64_t>(map_->phases().size()))) +
         (sharing.isEmpty() ? QString() : " · " + sharing);
}

QString HeatmapView::unitsText() const {
  return session_.heatState().quantity == HeatQuantity::memory ? tr("units %1").arg(unit_name(session_.units()))
                                                               : tr("exact counts");
}

QModelIndex HeatmapView::valueAt(QWidget* chart, const QPointF& at) {
  if (chart == chip_ && chip_->phase() >= 0) {
    const auto column = std::find(map_->phases().begin(), map_->phases().end(), chip_->phase());
    const std::int64_t tile = chip_->tileAt(at);
    if (column == map_->phases().end() || tile < 0) return {};
    return valueOf({static_cast<int>(column - map_->phases().begin()), tile});
  }
  const auto cell = chart == map_ ? map_->cellAt(at) : std::nullopt;
  return cell ? valueOf(*cell) : QModelIndex();
}

QModelIndex HeatmapView::valueOf(const HeatCell& cell) const {
  const auto heat = session_.heat();
  int row = 0;  // runs of the phases before it
  for (int i = 0; i < cell.column; ++i)
    row += static_cast<int>(heat->phases[static_cast<std::size_t>(map_->phases()[static_cast<std::size_t>(i)])].runs);
  const int phase = map_->phases()[static_cast<std::size_t>(cell.column)];
  const TileRun* run = heat->run_at(phase, cell.tile);
  if (!run) return {};
  const auto first = heat->phases[static_cast<std::size_t>(phase)].first_run;
  constexpr int kFirstQuantity = 4;  // column
  return tiles_.index(row + static_cast<int>(run - heat->runs.data() - static_cast<std::ptrdiff_t>(first)),
                      kFirstQuantity + static_cast<int>(session_.heatState().quantity));
}

}  // namespace superstep::gui
