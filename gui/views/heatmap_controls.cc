// SPDX-License-Identifier: Apache-2.0
// What stands above the heat map: choices, and the line of what does not fit.
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <algorithm>

#include "gui/base/theme.h"
#include "gui/paint/color_map.h"
#include "gui/views/heatmap.h"
#include "gui/widgets/elided_combo.h"
#include "gui/widgets/heat_map.h"

namespace superstep::gui {
namespace {

QLabel* caption(const QString& text) {
  auto* label = new QLabel(text);
  label->setFont(ui_font(11.5));
  return label;
}

QComboBox* choice(const char* name, const QString& accessible, const QStringList& items, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setAccessibleName(accessible);
  box->addItems(items);
  box->setToolTip(tip);
  return box;
}

}  // namespace

void HeatmapView::change(bool HeatState::*what, bool to) {
  HeatState state = session_.heatState();
  state.*what = to;
  if (what == &HeatState::by_cycles) state.window = {};  // other columns
  session_.setHeatState(state);
}

QLayout* HeatmapView::makeControls() {
  quantity_ = new QComboBox;
  quantity_->setObjectName("quantity");
  quantity_->setAccessibleName(tr("Quantity"));
  quantity_->addItems(
      {tr("Memory"), tr("Compute cycles"), tr("Exchange bytes"), tr("Idle cycles"), tr("Error of time")});
  ipu_ = new ElidedCombo;
  ipu_->setObjectName("ipuClass");
  ipu_->setAccessibleName(tr("IPU"));
  ipu_->setMinimumContentsLength(9);
  ipu_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  limits_ = choice("limits", tr("Limits of the colours"), {tr("hardware"), tr("data")},
                   tr("From nothing to the limit of a tile, or from the least to the most of the report"));
  colors_ = new QComboBox;
  colors_->setObjectName("colorMap");
  colors_->setAccessibleName(tr("Colours"));
  for (const ColorMap& map : color_maps()) colors_->addItem(map.name);
  connect(limits_, &QComboBox::activated, this, [this](int i) { change(&HeatState::limits_of_data, i == 1); });
  connect(colors_, &QComboBox::textActivated, &session_, &Session::setColorMap);
  connect(&session_, &Session::colorMapChanged, this, &HeatmapView::refreshState);
  rows_ = choice("rows", tr("Rows"), {tr("tiles"), tr("layers")}, tr("Tiles × phases, or layers × their phases"));
  connect(rows_, &QComboBox::activated, this, [this](int i) { change(&HeatState::by_layers, i == 1); });
  width_ = choice("columnWidth", tr("Width of a column"), {tr("equal"), tr("cycles")},
                  tr("Columns that are all alike, or as wide as they take time in a step"));
  connect(width_, &QComboBox::activated, this, [this](int i) { change(&HeatState::by_cycles, i == 1); });
  auto* everything = new QToolButton;
  everything->setText(tr("Everything"));
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
  row->setSpacing(6);
  for (const auto& [text, box] : {std::pair<QString, QWidget*>{tr("Quantity"), quantity_},
                                  {tr("IPU"), ipu_},
                                  {tr("Rows"), rows_},
                                  {tr("Width"), width_},
                                  {tr("Limits"), limits_},
                                  {tr("Colours"), colors_}}) {
    row->addWidget(caption(text));
    row->addWidget(box);
    row->addSpacing(6);
  }
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

}  // namespace superstep::gui
