// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/legend.h"

#include <QCheckBox>
#include <QPainter>
#include <cmath>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr int kLegendRow = 18;
constexpr int kLegendMargin = 12;
constexpr int kLegendSwatch = 11;
constexpr int kGap = 13;

int entry_width(const QString& text) {
  return kLegendSwatch + 6 + static_cast<int>(std::ceil(text_width(ui_font(11), text)));
}

void draw_entry(QPainter& painter, const QPointF& at, const LegendEntry& entry, bool shown, double width) {
  Fill fill = entry.fill;
  if (!fill.outline.isValid()) fill.outline = QColor(0, 0, 0, 60);
  const QRectF swatch(at.x(), at.y() + 3, kLegendSwatch, kLegendSwatch);
  if (shown) {
    draw_fill(painter, swatch, fill);
  } else {
    painter.save();
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(swatch.adjusted(0.5, 0.5, -0.5, -0.5));
    painter.restore();
  }
  draw_text(painter, QRectF(at.x() + kLegendSwatch + 6, at.y(), width, kLegendRow), entry.text);
}

// A tick in a swatch, on whatever colour and hatch it has.
void draw_tick(QPainter& painter, const QPointF& at) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const QPolygonF tick({at + QPointF(2.5, 9), at + QPointF(4.8, 11.5), at + QPointF(9, 5.5)});
  painter.setPen(QPen(QColor(Qt::white), 3.2));
  painter.drawPolyline(tick);
  painter.setPen(QPen(QColor(0x1B, 0x21, 0x27), 1.5));
  painter.drawPolyline(tick);
  painter.restore();
}

class EntryBox : public QCheckBox {
 public:
  EntryBox(LegendEntry entry, QWidget* parent) : QCheckBox(parent), entry_(std::move(entry)) {
    setText(entry_.text);
    setAccessibleName(tr("Show %1").arg(entry_.text));
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme& theme = theme_of(this);
    QPainter painter(this);
    painter.setFont(ui_font(11));
    painter.setPen(isChecked() ? theme.text : theme.faint);
    draw_entry(painter, {2, 0}, entry_, isChecked(), width());
    if (isChecked()) draw_tick(painter, {2, 0});
    if (!hasFocus()) return;
    painter.setPen(theme.accent);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
  bool hitButton(const QPoint&) const override { return true; }

 private:
  LegendEntry entry_;
};

}  // namespace

// Sets its own height: with heightForWidth() a scroll area would scroll what is above it too early.
Legend::Legend(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed); }

void Legend::setEntries(std::vector<LegendEntry> entries) {
  entries_ = std::move(entries);
  for (QWidget* box : boxes_) delete box;
  boxes_.assign(entries_.size(), nullptr);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].key < 0) continue;
    auto* box = new EntryBox(entries_[i], this);
    box->setObjectName("legend" + entries_[i].text);
    box->setChecked(!hidden_.contains(entries_[i].key));
    connect(box, &QCheckBox::toggled, this, [this, key = entries_[i].key](bool on) {
      if (on) hidden_.erase(key);
      if (!on) hidden_.insert(key);
      emit hiddenChanged(hidden_);
    });
    box->show();
    boxes_[i] = box;
  }
  arrange();
  setFixedHeight(neededHeight(width()));
  update();
}

void Legend::arrange() {
  const auto places = placed(width());
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    if (boxes_[i])
      boxes_[i]->setGeometry(places[i].x() - 2, places[i].y(), entry_width(entries_[i].text) + 6, kLegendRow);
  }
}

void Legend::resizeEvent(QResizeEvent*) {
  arrange();
  if (height() != neededHeight(width())) setFixedHeight(neededHeight(width()));
}

std::vector<QPoint> Legend::placed(int width) const {
  std::vector<QPoint> out;
  int x = kLegendMargin;
  int y = 3;
  for (const LegendEntry& entry : entries_) {
    const int need = entry_width(entry.text);
    if (x > kLegendMargin && x + need > width - kLegendMargin) {
      x = kLegendMargin;
      y += kLegendRow;
    }
    out.emplace_back(x, y);
    x += need + kGap;
  }
  return out;
}

int Legend::neededHeight(int width) const {
  const auto places = placed(width);
  return places.empty() ? 0 : places.back().y() + kLegendRow + 5;
}

void Legend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setFont(ui_font(11));
  painter.setPen(theme_of(this).text);
  const auto places = placed(width());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!boxes_[i]) draw_entry(painter, places[i], entries_[i], true, width());
  }
}

}  // namespace superstep::gui
