// SPDX-License-Identifier: Apache-2.0
#include "gui/views/heatmap.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/base/theme.h"
#include "gui/models/tile_tables.h"
#include "gui/widgets/chip_grid.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/heat_legend.h"
#include "gui/widgets/heat_map.h"
#include "gui/widgets/layer_map.h"
#include "gui/widgets/panel.h"

namespace superstep::gui {
namespace {

constexpr int kLeastMapWidth = 930;  // narrower maps have no room for the numbers of their scale

QString quantity_title(HeatQuantity quantity, bool by_layers) {
  const QString of = by_layers ? HeatmapView::tr("layer and phase, fullest tile") : HeatmapView::tr("tile and phase");
  const QString most = by_layers ? HeatmapView::tr("layer and phase, most of a tile") : of;
  switch (quantity) {
    case HeatQuantity::memory:
      return HeatmapView::tr("Memory live per %1").arg(of);
    case HeatQuantity::compute:
      return HeatmapView::tr("Compute cycles per %1").arg(most);
    case HeatQuantity::exchange:
      return HeatmapView::tr("Exchange bytes per %1").arg(most);
    case HeatQuantity::idle:
      return HeatmapView::tr("Cycles without compute per %1").arg(most);
    case HeatQuantity::error:
      return HeatmapView::tr("How unsure the time of each phase is");
  }
  return {};
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
  layerMap_ = new LayerMap(session, *map_);
  maps_ = new QStackedWidget;
  maps_->addWidget(map_);
  maps_->addWidget(layerMap_);
  chart_layout->addWidget(maps_, 1);
  chart_layout->addWidget(legend_);
  mapPanel_ = new Panel(quantity_title(HeatQuantity::memory, false));
  setProperty("leastWidth", kLeastMapWidth);
  mapPanel_->setContent(chart);
  twins_ = new QStackedWidget;
  for (TableModel* model : {&tiles_, &layers_}) {
    auto* twin = new DataTable(model);
    twin->setWideColumn(1);
    twins_->addWidget(twin);
  }
  mapPanel_->setTable(twins_);
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
    mapPanel_->setSubtitle(page() == 1 ? QString() : map_->sharingText());
    legend_->update();
    emit statusChanged();
  });
  connect(map_, &HeatMap::hovered, this, [this](int phase, qint64 tile) {
    const TileRun* run = session_.heat()->run_at(phase, tile);
    legend_->setMarker(
        run ? value_of(session_.heat()->phases[static_cast<std::size_t>(phase)], *run, session_.heatState().quantity)
            : kNoValue);
  });
  connect(layerMap_, &LayerMap::hovered, legend_, &HeatLegend::setMarker);
  setFocusProxy(map_);
  rebuild();
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
  if (session_.heatState().quantity == HeatQuantity::error && !session_.heat()->has_errors()) {
    HeatState state = session_.heatState();
    state.quantity = HeatQuantity::memory;
    session_.setHeatState(state);
  }
  map_->refresh();
  layersOf_ = nullptr;
  refreshState();
}

// Of the IPUs that are shown, made when first looked at.
void HeatmapView::showLayers() {
  const HeatState& state = session_.heatState();
  maps_->setCurrentIndex(state.by_layers ? 1 : 0);
  twins_->setCurrentIndex(maps_->currentIndex());
  setFocusProxy(maps_->currentWidget());
  if (!state.by_layers || (layersOf_ == session_.heat() && layersClass_ == state.ipu_class)) return;
  layersOf_ = session_.heat(), layersClass_ = state.ipu_class;
  auto layers = std::make_shared<const LayerHeat>(layer_heat(layersOf_, layersOf_->phases_of(layersClass_)));
  layerMap_->setLayers(layers);
  layers_.setContents(layers_table(session_.report(), layers));
}

// What is seen of the map moves many times a second, and changes no table.
void HeatmapView::followState() {
  HeatState state = session_.heatState();
  state.window = {};
  if (state != shown_) return refreshState();
  mapPanel_->setSubtitle(page() == 1 ? QString() : map_->sharingText());
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
  width_->setCurrentIndex(state.by_cycles ? 1 : 0);
  rows_->setCurrentIndex(state.by_layers ? 1 : 0);
  quantity_->setItemData(static_cast<int>(HeatQuantity::error),
                         session_.heat()->has_errors() ? QVariant() : QVariant(0),
                         Qt::UserRole - 1);  // what QComboBox takes for its flags
  chip_->update();
  showLayers();
  mapPanel_->setTitle(quantity_title(state.quantity, state.by_layers));
  const auto heat = session_.heat();
  const auto phases = heat->phases_of(state.ipu_class);
  if (phases.empty()) {
    tiles_.setContents({});
  } else {
    tiles_.setContents(tiles_table(report, heat, phases));
  }
  mapPanel_->setSubtitle(page() == 1 ? QString() : map_->sharingText());
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

std::vector<NamedTable> HeatmapView::tables() const {
  if (page() == 1) return {{"Layers", &layers_}, {"Tiles", &tiles_}};
  return {{"Tiles", &tiles_}};
}

int HeatmapView::page() const { return session_.heatState().by_layers ? 1 : 0; }

void HeatmapView::showPage(int page) { change(&HeatState::by_layers, page == 1); }

QString HeatmapView::statusText() const {
  const auto heat = session_.heat();
  if (heat->phases.empty()) return {};
  if (page() == 1) {
    return tr("All values are estimated · %1 layers × %2 phases · largest of the tiles")
        .arg(grouped(layerMap_->layers().grid.columns.size()), grouped(layerMap_->layers().grid.rows.size()));
  }
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
  if (chart == layerMap_) {
    const auto of = layerMap_->cellAt(at);
    return of ? layers_.index(layers_table_row(layerMap_->layers(), of->row, of->column),
                              kLayerQuantity + static_cast<int>(session_.heatState().quantity))
              : QModelIndex();
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
  const HeatQuantity quantity = session_.heatState().quantity;
  constexpr int kFirstQuantity = 4;  // column; the error stands behind the active tiles
  return tiles_.index(
      row + static_cast<int>(run - heat->runs.data() - static_cast<std::ptrdiff_t>(first)),
      kFirstQuantity + (quantity == HeatQuantity::error ? kHeatQuantities : static_cast<int>(quantity)));
}

}  // namespace superstep::gui
