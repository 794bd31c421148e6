// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/verdict_banner.h"

#include <QHelpEvent>
#include <QLabel>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/base/format.h"
#include "gui/base/theme.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr int kLimitRow = 29;

QLabel* wrapping_label(double pixels, QFont::Weight weight, const char* name) {
  auto* label = new QLabel;
  label->setObjectName(name);
  label->setFont(ui_font(pixels, weight));
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace

VerdictBanner::VerdictBanner(QWidget* parent)
    : QFrame(parent),
      sentence_(wrapping_label(19, QFont::DemiBold, "verdict")),
      losses_(wrapping_label(12, QFont::Normal, "losses")),
      validation_(wrapping_label(12, QFont::Normal, "validation")) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(22, 12, 16, 12);
  layout->setSpacing(5);
  layout->addWidget(sentence_);
  layout->addWidget(losses_);
  layout->addWidget(validation_);
  recolor();
}

QString VerdictBanner::text() const { return whole_; }

void VerdictBanner::setIndex(const report::Index& index) {
  fit_ = fit_of(index);
  // What the overflow is made of is read below the answer.
  whole_ = for_viewer(verdict_sentence(index));
  QString sentence = whole_, losses = for_viewer(losses_sentence(index));
  const qsizetype parts = sentence.lastIndexOf(" (");
  if (parts > 0 && sentence.endsWith(").") && !index.plan().first_overflow().empty()) {
    losses.prepend(sentence.mid(parts + 2).chopped(2) + '\n');
    sentence = sentence.left(parts) + '.';
  }
  sentence_->setText(sentence);
  losses_->setText(losses);
  const std::string missing = validation_sentence(index);
  QString validation = QString::fromStdString(missing);
  validated_ = index.has_plan() && missing.empty();
  if (validated_) validation = tr("✓ Every mechanism of this plan is covered by a measured point.");
  if (!index.has_plan()) validation = for_viewer(search_sentence(index));
  validation_->setText(validation);
  losses_->setVisible(!losses_->text().isEmpty());
  validation_->setVisible(!validation.isEmpty());
  recolor();
}

void VerdictBanner::recolor() {
  const Theme& theme = theme_of(this);
  const auto color = [](QLabel* label, const QColor& c) {
    if (label->styleSheet() != "color: " + c.name()) label->setStyleSheet("color: " + c.name());
  };
  color(sentence_, theme.text);
  color(losses_, theme.secondary);
  color(validation_, validated_ ? theme.fits : fit_ == Fit::infeasible ? theme.secondary : theme.tight);
  update();
}

void VerdictBanner::changeEvent(QEvent* event) {
  QFrame::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) recolor();
}

void VerdictBanner::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  painter.fillRect(rect(), theme.panel);
  painter.setPen(theme.frame);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
  painter.fillRect(QRect(0, 0, 5, height()), fit_color(theme, fit_));
}

KeyNumbers::KeyNumbers(QWidget* parent) : QWidget(parent) {
  setObjectName("keyNumbers");
  setFixedHeight(84);
}

void KeyNumbers::setNumbers(std::vector<KeyNumber> numbers) {
  numbers_ = std::move(numbers);
  setVisible(!numbers_.empty());
  update();
}

QRectF KeyNumbers::box(int i) const {
  const auto n = static_cast<double>(numbers_.size());
  const double width = (this->width() - 12 * (n - 1)) / n;
  const double left = std::round(i * (width + 12));
  return {left, 0, std::round(i * (width + 12) + width) - left, double(height())};
}

void KeyNumbers::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  for (int i = 0; i < static_cast<int>(numbers_.size()); ++i) {
    const KeyNumber& number = numbers_[static_cast<std::size_t>(i)];
    const QRectF r = box(i);
    painter.fillRect(r, theme.panel);
    painter.setPen(theme.frame);
    painter.drawRect(r.adjusted(0.5, 0.5, -0.5, -0.5));
    const QRectF inner = r.adjusted(12, 0, -10, 0);
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(11.5));
    draw_text(painter, QRectF(inner.left(), 8, inner.width(), 16), number.name);
    painter.setPen(number.warns ? theme.over : theme.text);
    double size = 23;  // less where the unit would have to be cut
    const double room = inner.width() - 6 - std::ceil(text_width(ui_font(11.5), number.unit));
    while (size > 15 && number_width(ui_font(size, QFont::DemiBold), number.value) > room) size -= 0.5;
    painter.setFont(ui_font(size, QFont::DemiBold));
    const double width = number_width(painter.font(), number.value);
    draw_number(painter, QRectF(inner.left(), 25, width, 30), number.value, Qt::AlignLeft | Qt::AlignVCenter);
    painter.setPen(theme.secondary);
    painter.setFont(ui_font(11.5));
    draw_text(painter, QRectF(inner.left() + width + 6, 30, inner.width() - width - 6, 22), number.unit);
    paintBelow(painter, number, inner);
  }
}

// What is said beside a band stands in the first line, where it has room; the tip says it in any case.
void KeyNumbers::paintBelow(QPainter& painter, const KeyNumber& number, const QRectF& inner) const {
  const Theme& theme = theme_of(this);
  const QRectF track(inner.left(), 57, inner.width(), 3), line(inner.left(), 62, inner.width(), 16);
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(10.5));
  if (!number.band) {
    draw_text(painter, line, number.below);
    if (number.share < 0) return;
    painter.fillRect(track, theme.track);
    painter.fillRect(QRectF(track.topLeft(), QSizeF(track.width() * std::min(1.0, number.share), 3)),
                     number.warns ? theme.limit : QColor(0x7F, 0x9E, 0xA3));
    return;
  }
  draw_number(painter, line, number.band->text, Qt::AlignLeft | Qt::AlignVCenter);
  draw_number(painter, line, tr("95 %"));
  const double name = text_width(ui_font(11.5), number.name);
  if (text_width(painter.font(), number.below) + name + 12 < inner.width())
    draw_text(painter, QRectF(inner.left(), 8, inner.width(), 16), number.below, Qt::AlignRight | Qt::AlignVCenter);
  const auto& [low, at, high, text] = *number.band;
  const double spread = std::max(high - low, 1e-12);
  const auto x = [&](double value) { return track.left() + ((value - low) / spread * 0.5 + 0.25) * track.width(); };
  painter.fillRect(track, theme.track);
  painter.fillRect(QRectF(x(low), track.top(), x(high) - x(low), track.height()), QColor(0x7F, 0x9E, 0xA3));
  painter.fillRect(QRectF(std::round(x(at)) - 1, track.top() - 3, 2, 9), theme.text);
}

bool KeyNumbers::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (int i = 0; i < static_cast<int>(numbers_.size()); ++i) {
    const KeyNumber& n = numbers_[static_cast<std::size_t>(i)];
    if (box(i).contains(help->pos()))
      QToolTip::showText(help->globalPos(),
                         n.name + "\n" + n.value + " " + n.unit + "\n" + n.below +
                             (n.band ? "\n" + tr("95 % band") + " " + n.band->text : QString()),
                         this);
  }
  return true;
}

LimitBars::LimitBars(QWidget* parent) : QWidget(parent) { setObjectName("limitBars"); }

void LimitBars::setLimits(std::vector<KeyNumber> limits) {
  limits_ = std::move(limits);
  updateGeometry();
  update();
}

QSize LimitBars::minimumSizeHint() const { return {220, 10 + kLimitRow * static_cast<int>(limits_.size())}; }

void LimitBars::paintEvent(QPaintEvent*) {
  const Theme& theme = theme_of(this);
  QPainter painter(this);
  double y = 6;
  for (const KeyNumber& limit : limits_) {
    const QRectF row(12, y, width() - 24, 18);
    painter.setFont(ui_font(11));
    const double unit = text_width(painter.font(), limit.unit);
    painter.setPen(theme.secondary);
    draw_number(painter, row, limit.unit);
    painter.setFont(ui_font(12, QFont::DemiBold));
    painter.setPen(limit.warns ? theme.over : theme.text);
    const double value = number_width(painter.font(), limit.value);
    draw_number(painter, row.adjusted(0, 0, -unit - 6, 0), limit.value);
    painter.setFont(ui_font(12));
    painter.setPen(theme.text);
    draw_text(painter, row.adjusted(0, 0, -unit - value - 16, 0), limit.name);
    const QRectF track(12, y + 19, row.width(), 3);
    painter.fillRect(track, theme.track);
    painter.fillRect(QRectF(track.topLeft(), QSizeF(track.width() * std::clamp(limit.share, 0.0, 1.0), 3)),
                     limit.warns ? theme.limit : QColor(0x4B, 0x8F, 0x7C));
    y += kLimitRow;
  }
}

}  // namespace superstep::gui
