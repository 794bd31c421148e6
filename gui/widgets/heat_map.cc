// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/heat_map.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QThread>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/base/format.h"
#include "gui/models/meanings.h"

namespace superstep::gui {

HeatMap::HeatMap(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
  setObjectName("heatMap");
  setProperty("drawsTip", true);
  setAccessibleName(tr("Heat map of tiles and phases"));
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  connect(&session, &Session::heatStateChanged, this, &HeatMap::refresh);
  connect(&session, &Session::unitsChanged, this, qOverload<>(&QWidget::update));
  connect(&session, &Session::colorMapChanged, this, [this] {
    imageIsStale_ = true;
    update();
  });
  connect(&session, &Session::selectionChanged, this, qOverload<>(&QWidget::update));
  refresh();
}

void HeatMap::refresh() {
  const HeatState& state = session_.heatState();
  const auto current = session_.heat();
  const bool other = current != data_ || state.ipu_class != shownClass_;
  if (other) {
    data_ = current;
    shownClass_ = state.ipu_class;
    phases_ = data_->phases_of(shownClass_);
    groups_ = group_spans(*data_, phases_);
    names_ = name_spans(*data_, phases_);
    nameWidths_.assign(names_.size(), -1);
  }
  if (other || state.quantity != shownQuantity_) {
    shownQuantity_ = state.quantity;
    most_ = -1;
    pyramid_.reset();
    buildPyramid();
  }
  if (other || state.by_cycles != (edges_ != nullptr)) {
    edges_ = state.by_cycles ? edges_by_cycles(*data_, phases_) : nullptr;
  }
  imageIsStale_ = true;
  hover_.reset();
  update();
}

HeatMap::~HeatMap() {
  if (!builder_) return;
  builder_->wait();
  delete builder_;
}

// Painted without it meanwhile. One that is no longer wanted when it is done is made again.
void HeatMap::buildPyramid() {
  constexpr std::size_t kMany = 4096;
  if (builder_ || phases_.size() < kMany || data_->tiles > HeatPyramid::kMostTiles) return;
  auto made = std::make_shared<std::shared_ptr<const HeatPyramid>>();
  builder_ = QThread::create([made, heat = data_, phases = phases_, quantity = shownQuantity_] {
    *made = std::make_shared<const HeatPyramid>(HeatPyramid::of(*heat, phases, quantity));
  });
  connect(builder_, &QThread::finished, this,
          [this, made, made_of = data_, ipu_class = shownClass_, quantity = shownQuantity_] {
            builder_->deleteLater();
            builder_ = nullptr;
            if (made_of == data_ && ipu_class == shownClass_ && quantity == shownQuantity_) {
              pyramid_ = *made;
              imageIsStale_ = true;
              update();
            } else {
              buildPyramid();
            }
          });
  builder_->start();
}

std::int64_t HeatMap::largestShown() const {
  if (pyramid_) return pyramid_->largest();
  std::int64_t most = 0;
  for (const int phase : phases_) most = std::max(most, data_->largest(phase, shownQuantity_));
  return most;
}

HeatWindow HeatMap::window() const {
  return session_.heatState().window.resolved(static_cast<int>(phases_.size()), data_->tiles);
}

void HeatMap::setWindow(const HeatWindow& window) {
  HeatState state = session_.heatState();
  const HeatWindow whole = HeatWindow::whole(static_cast<int>(phases_.size()), data_->tiles);
  state.window = window == whole ? HeatWindow{} : window;
  session_.setHeatState(state);
}

void HeatMap::showEverything() { setWindow(HeatWindow::whole(static_cast<int>(phases_.size()), data_->tiles)); }

HeatLayout HeatMap::layoutNow() const { return HeatLayout::of(rect().adjusted(0, 4, 0, -4), window(), edges_); }

std::int64_t HeatMap::limit() const {
  std::int64_t least = 0;
  for (const auto& ipu : session_.report()->index().ipu_classes()) {
    if (ipu.tile_limit_bytes() > 0 && (least == 0 || ipu.tile_limit_bytes() < least)) least = ipu.tile_limit_bytes();
  }
  return least;
}

HeatScale HeatMap::scaleNow() const {
  const HeatQuantity quantity = session_.heatState().quantity;
  const bool limited = quantity == HeatQuantity::memory && session_.report() && limit() > 0;
  const bool of_data = session_.heatState().limits_of_data;
  if (limited && !of_data) return HeatScale::of_memory(limit());
  if (most_ < 0) {
    most_ = 0, least_ = std::numeric_limits<std::int64_t>::max();
    for (const HeatPhase& phase : data_->phases) {
      for (std::size_t i = phase.first_run; i < phase.first_run + phase.runs; ++i) {
        const std::int64_t value = value_of(phase, data_->runs[i], quantity);
        most_ = std::max(most_, value);
        if (value > 0) least_ = std::min(least_, value);
      }
    }
  }
  return of_data ? HeatScale::of_data(least_, most_, limited ? limit() : -1) : HeatScale::linear(most_);
}

std::optional<HeatCell> HeatMap::cellAt(const QPointF& position) const {
  const HeatLayout layout = layoutNow();
  if (phases_.empty() || !QRectF(layout.map).contains(position)) return std::nullopt;
  const int column =
      std::clamp(static_cast<int>(std::floor(layout.phase_at(position.x()))), 0, static_cast<int>(phases_.size()) - 1);
  const auto tile = static_cast<std::int64_t>(std::floor(layout.tile_at(position.y())));
  return HeatCell{column, std::clamp<std::int64_t>(tile, 0, data_->tiles - 1)};
}

QString HeatMap::sharingText() const {
  if (phases_.empty()) return {};
  const HeatLayout layout = layoutNow();
  const double tiles = (layout.window.tile_to - layout.window.tile_from) / layout.map.height();
  const double columns = (layout.window.phase_to - layout.window.phase_from) / layout.map.width();
  if (tiles <= 1 && columns <= 1) return {};
  return columns > 1 ? tr("largest of %1 tiles and %2 phases per pixel")
                           .arg(fixed_decimals(std::max(1.0, tiles), 1), fixed_decimals(columns, 1))
                     : tr("largest of %1 tiles per pixel").arg(fixed_decimals(tiles, 1));
}

QString HeatMap::valueText(std::int64_t value) const {
  switch (session_.heatState().quantity) {
    case HeatQuantity::memory:
      return tile_bytes_text(value, session_.units());
    case HeatQuantity::compute:
    case HeatQuantity::idle:
      return grouped(value) + tr(" cycles");
    case HeatQuantity::exchange:
      return grouped(value) + tr(" bytes");
    case HeatQuantity::error:
      return QString::fromUtf8("± ") + error_percent(value) + " %";
  }
  return {};
}

QString HeatMap::tipText(const HeatCell& cell) const {
  const int phase = phases_[static_cast<std::size_t>(cell.column)];
  const HeatPhase& p = data_->phases[static_cast<std::size_t>(phase)];
  QStringList lines;
  lines << tr("Tile %1").arg(grouped(cell.tile)) + "\t" + QString::fromStdString(p.name);
  const TileRun* run = data_->run_at(phase, cell.tile);
  if (!run) {
    lines << tr("not used in this phase") + "\t";
  } else {
    const std::int64_t over = run->memory_bytes - limit();
    lines << tr("Live") + "\t" + tile_bytes_text(run->memory_bytes, session_.units());
    if (limit() > 0)
      lines << (over > 0 ? tr("Over") : tr("Spare")) + "\t" + tile_bytes_text(std::abs(over), session_.units());
    lines << tr("Bytes") + "\t" + grouped(run->memory_bytes);
    lines << tr("Compute") + "\t" + grouped(run->compute_cycles) + tr(" cycles");
    lines << tr("Idle") + "\t" + grouped(run->idle_cycles) + tr(" cycles");
    lines << tr("Exchange") + "\t" + grouped(run->exchange_bytes) + tr(" bytes");
    lines << tr("Equal tiles") + "\t" + tr("%1 to %2").arg(grouped(run->first), grouped(run->first + run->count - 1));
  }
  lines << tr("Active tiles") + "\t" + tr("%1 of %2").arg(grouped(active_tiles(*data_, phase)), grouped(data_->tiles));
  lines << tr("Phase, cycles") + "\t" + grouped(p.cycles) +
               (p.repeats > 1 ? tr(" × %1").arg(grouped(p.repeats)) : QString());
  if (p.error >= 0)
    lines << tr("Error of its time") + "\t" + tr("± %1 %").arg(error_percent(std::llround(p.error * 1e6)));
  const Meaning* means[kHeatQuantities] = {&means::kTileLive, &means::kTileCompute, &means::kTileExchange,
                                           &means::kTileIdle, &means::kPhaseError};
  lines << QString(means[static_cast<std::size_t>(session_.heatState().quantity)]->what) + '\t';
  lines << tr("E for more") + "\t";
  return lines.join('\n');
}

void HeatMap::resizeEvent(QResizeEvent*) {
  imageIsStale_ = true;
  emit layoutChanged();
}

void HeatMap::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) imageIsStale_ = true;
  QWidget::changeEvent(event);
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || phases_.empty()) return;
  pressedAt_ = event->position();
  pressedWindow_ = window();
  panning_ = false;
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
  if (phases_.empty()) return;
  if (event->buttons().testFlag(Qt::LeftButton)) {
    const QPointF by = event->position() - pressedAt_;
    if (!panning_ && by.manhattanLength() < 5) return;
    panning_ = true;
    const HeatLayout layout = layoutNow();
    const double phases = -by.x() / layout.map.width() * (pressedWindow_.phase_to - pressedWindow_.phase_from);
    const double tiles = -by.y() / layout.map.height() * (pressedWindow_.tile_to - pressedWindow_.tile_from);
    setWindow(pressedWindow_.moved(phases, tiles, static_cast<int>(phases_.size()), data_->tiles));
    return;
  }
  const auto cell = cellAt(event->position());
  if (cell == hover_) return;
  hover_ = cell;
  emit hovered(cell ? phases_[static_cast<std::size_t>(cell->column)] : -1, cell ? cell->tile : -1);
  update();
}

void HeatMap::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || panning_) return;
  const auto cell = cellAt(event->position());
  if (!cell) return;
  Selection selection = session_.selection();
  selection.phase = phases_[static_cast<std::size_t>(cell->column)];
  selection.tile = cell->tile;
  selection.ipu_class = data_->phases[static_cast<std::size_t>(selection.phase)].ipu_class;
  session_.select(selection);
}

void HeatMap::leaveEvent(QEvent*) {
  hover_.reset();
  emit hovered(-1, -1);
  update();
}

void HeatMap::wheelEvent(QWheelEvent* event) {
  if (phases_.empty() || event->angleDelta().y() == 0) return;
  const HeatLayout layout = layoutNow();
  const double factor = std::pow(0.8, event->angleDelta().y() / 120.0);
  setWindow(window().zoomed(factor, layout.across_at(event->position().x()), layout.tile_at(event->position().y()),
                            static_cast<int>(phases_.size()), data_->tiles));
  event->accept();
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
  const HeatWindow now = window();
  const double across = (now.phase_to - now.phase_from) / 4;
  const double down = (now.tile_to - now.tile_from) / 4;
  const int n = static_cast<int>(phases_.size());
  const double x = (now.phase_from + now.phase_to) / 2;
  const double y = (now.tile_from + now.tile_to) / 2;
  if (phases_.empty()) return QWidget::keyPressEvent(event);
  switch (event->key()) {
    case Qt::Key_A:
      return setWindow(now.moved(-across, 0, n, data_->tiles));
    case Qt::Key_D:
      return setWindow(now.moved(across, 0, n, data_->tiles));
    case Qt::Key_W:
      return setWindow(now.moved(0, -down, n, data_->tiles));
    case Qt::Key_S:
      return setWindow(now.moved(0, down, n, data_->tiles));
    case Qt::Key_Plus:
      return setWindow(now.zoomed(0.8, x, y, n, data_->tiles));
    case Qt::Key_Minus:
      return setWindow(now.zoomed(1.25, x, y, n, data_->tiles));
    case Qt::Key_F:
      return showEverything();
    default:
      QWidget::keyPressEvent(event);
  }
}

}  // namespace superstep::gui
