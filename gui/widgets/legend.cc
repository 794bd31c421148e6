// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/legend.h"

#include <QPainter>
#include <cmath>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr int kRow = 18;
constexpr int kMargin = 12;
constexpr int kSwatch = 11;
constexpr int kGap = 13;

int entry_width(const QString& text) {
  return kSwatch + 6 + static_cast<int>(std::ceil(text_width(ui_font(11), text)));
}

}  // namespace

// Sets its own height: with heightForWidth() a scroll area would scroll what is above it too early.
Legend::Legend(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed); }

void Legend::setEntries(std::vector<LegendEntry> entries) {
  entries_ = std::move(entries);
  setFixedHeight(neededHeight(width()));
  update();
}

void Legend::resizeEvent(QResizeEvent*) {
  if (height() != neededHeight(width())) setFixedHeight(neededHeight(width()));
}

std::vector<QPoint> Legend::placed(int width) const {
  std::vector<QPoint> out;
  int x = kMargin;
  int y = 3;
  for (const LegendEntry& entry : entries_) {
    const int need = entry_width(entry.text);
    if (x > kMargin && x + need > width - kMargin) {
      x = kMargin;
      y += kRow;
    }
    out.emplace_back(x, y);
    x += need + kGap;
  }
  return out;
}

int Legend::neededHeight(int width) const {
  const auto places = placed(width);
  return places.empty() ? 0 : places.back().y() + kRow + 5;
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(ui_font(11));
  painter.setPen(theme_of(this).text);
  const auto places = placed(width());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Fill fill = entries_[i].fill;
    if (!fill.outline.isValid()) fill.outline = QColor(0, 0, 0, 60);
    draw_fill(painter, QRectF(places[i].x(), places[i].y() + 3, kSwatch, kSwatch), fill);
    draw_text(painter, QRectF(places[i].x() + kSwatch + 6, places[i].y(), width(), kRow), entries_[i].text);
  }
}

}  // namespace superstep::gui
