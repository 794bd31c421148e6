// SPDX-License-Identifier: Apache-2.0
#include "gui/views/heatmap.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/paint/draw.h"
#include "gui/widgets/data_table.h"
#include "gui/widgets/elided_combo.h"
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
  overflow_ = new QLabel;
  overflow_->setObjectName("overflow");
  overflow_->setWordWrap(true);
  overflow_->setFont(ui_font(12, QFont::DemiBold));
  layout->addWidget(overflow_);

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
  quantity_->addItems({tr("Memory"), tr("Compute cycles"), tr("Exchange bytes")});
  ipu_ = new ElidedCombo;
  ipu_->setObjectName("ipuClass");
  ipu_->setAccessibleName(tr("IPU"));
  ipu_->setMinimumContentsLength(26);
  ipu_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
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
  row->addWidget(everything);
  row->addStretch(1);
  return row;
}

QWidget* HeatmapView::makePhasePanel() {
  phasePanel_ = new Panel(tr("No phase"));
  auto* table = new DataTable(&phaseTiles_);
  table->setObjectName("phaseTiles");
  phasePanel_->setContent(table);
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
  overflow_->setVisible(!first.isEmpty());
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
    phasePanel_->setSubtitle({});
    return;
  }
  phaseTiles_.setContents(phase_table(heat, phase, session_.units()));
  phasePanel_->setSubtitle(tr("%1 of %2 tiles compute").arg(grouped(active_tiles(*heat, phase)), grouped(heat->tiles)));
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

HeatLegend::HeatLegend(Session& session, const HeatMap& map, QWidget* parent)
    : QWidget(parent), session_(session), map_(map) {
  setFixedHeight(44);
}

void HeatLegend::setMarker(std::int64_t value) {
  if (value == marker_) return;
  marker_ = value;
  update();
}

void HeatLegend::paintEvent(QPaintEvent*) {
  if (map_.phases().empty()) return;
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  const HeatScale scale = map_.scaleNow();
  const bool memory = session_.heatState().quantity == HeatQuantity::memory;
  const HeatLayout layout = map_.layoutNow();
  const QRect bar(layout.map.left(), 10, std::max(120, layout.map.width() * 6 / 10), 12);
  for (int x = 0; x < bar.width(); ++x)
    painter.fillRect(bar.left() + x, bar.top(), 1, bar.height(), viridis((x + 0.5) / bar.width()));
  painter.setPen(theme.secondary);
  painter.drawRect(QRectF(bar).adjusted(-0.5, -0.5, 0.5, 0.5));
  painter.setFont(ui_font(10.5));
  std::vector<QRectF> written;
  for (const double share :
       {0.0, 1.0, 0.5, 0.75, 0.25, 0.625, 0.875}) {  // the first ones have a number, if there is room
    if (!memory && share != 0.5 && share != 0.0 && share != 1.0) continue;
    const double value = share * scale.full;
    const double x = bar.left() + scale.share(value) * bar.width();
    const QString text = memory && session_.units() == Units::kib ? fixed_decimals(value / 1024, 0)
                                                                  : grouped(static_cast<std::int64_t>(value));
    painter.drawLine(QPointF(std::floor(x) + 0.5, bar.bottom() + 1), QPointF(std::floor(x) + 0.5, bar.bottom() + 4));
    const double width = number_width(painter.font(), text);
    if (memory && session_.units() == Units::bytes && share != 0 && share != 0.5 && share != 1) continue;
    const QRectF place(x - width / 2, bar.bottom() + 4, width, 14);
    const QRectF around = place.adjusted(-4, 0, 4, 0);
    if (std::ranges::any_of(written, [&](const QRectF& other) { return other.intersects(around); })) continue;
    written.push_back(place);
    draw_number(painter, place, text, Qt::AlignLeft | Qt::AlignVCenter);
  }
  double x = bar.right() + 22;
  const auto entry = [&](const Fill& fill, const QString& text, const QColor& color) {
    const double width = text_width(painter.font(), text);
    if (x + 22 + width > this->width() - 8) return;
    draw_fill(painter, QRectF(x, bar.top(), 16, bar.height()), fill);
    painter.setPen(color);
    draw_text(painter, QRectF(x + 22, bar.top() - 3, width + 2, 18), text);
    x += 22 + width + 16;
  };
  if (scale.limit >= 0) entry({theme.limit, Hatch::none, {}, {}}, tr("over"), theme.limit);
  entry({theme.track, Hatch::rising, theme.faint, theme.faint}, tr("unused"), theme.secondary);
  painter.setPen(theme.secondary);
  const QRectF note(x, bar.top() - 8, std::max(0.0, this->width() - x - 8), 16);
  const QString about =
      memory ? tr("%1 per tile, fixed scale").arg(unit_name(session_.units())) : tr("scale of this report");
  if (text_width(painter.font(), about) <= note.width()) {  // else it says nothing
    draw_text(painter, note, about);
    if (memory) draw_text(painter, note.translated(0, 15), tr("lower half compressed"));
  }
  if (marker_ != kNoValue) {
    const double at = scale.over(static_cast<double>(marker_))
                          ? bar.right() + 30
                          : bar.left() + scale.share(static_cast<double>(marker_)) * bar.width();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text);
    painter.drawPolygon(QPolygonF({QPointF(at - 5, 2), QPointF(at + 5, 2), QPointF(at, 9)}));
  }
}

QModelIndex HeatmapView::valueAt(QWidget* chart, const QPointF& at) {
  const auto cell = chart == map_ ? map_->cellAt(at) : std::nullopt;
  if (!cell) return {};
  const auto heat = session_.heat();
  int row = 0;  // runs of the phases before it
  for (int i = 0; i < cell->column; ++i)
    row += static_cast<int>(heat->phases[static_cast<std::size_t>(map_->phases()[static_cast<std::size_t>(i)])].runs);
  const int phase = map_->phases()[static_cast<std::size_t>(cell->column)];
  const TileRun* run = heat->run_at(phase, cell->tile);
  if (!run) return {};
  const auto first = heat->phases[static_cast<std::size_t>(phase)].first_run;
  constexpr int kFirstQuantity = 4;  // column
  return tiles_.index(row + static_cast<int>(run - heat->runs.data() - static_cast<std::ptrdiff_t>(first)),
                      kFirstQuantity + static_cast<int>(session_.heatState().quantity));
}

}  // namespace superstep::gui
