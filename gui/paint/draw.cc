// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/draw.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {
namespace {

constexpr double kHatchPitch = 5;

// Parallel lines cut to the rectangle by arithmetic, so that no clip ends up in an SVG.
void draw_rising(QPainter& painter, const QRectF& r, bool falling) {
  for (double at = kHatchPitch; at < r.width() + r.height(); at += kHatchPitch) {
    const double x1 = std::min(at, r.width());
    const double y1 = at - x1;
    const double y2 = std::min(at, r.height());
    const double x2 = at - y2;
    const auto point = [&](double x, double y) {
      return falling ? QPointF(r.right() - x, r.top() + y) : QPointF(r.left() + x, r.top() + y);
    };
    painter.drawLine(point(x1, y1), point(x2, y2));
  }
}

bool digits_are_equal(const QFontMetricsF& metrics) {
  const double zero = metrics.horizontalAdvance('0');
  for (char digit = '1'; digit <= '9'; ++digit) {
    if (std::abs(metrics.horizontalAdvance(QChar(digit)) - zero) > 0.01) return false;
  }
  return true;
}

bool is_of_number(QChar c) { return c.isDigit() || c == '.' || c == QChar(0x202F) || c == QChar(0x2212); }

double advance(const QFontMetricsF& metrics, QChar c) {
  return metrics.horizontalAdvance(c.isDigit() ? QChar('0') : c);
}

}  // namespace

void draw_fill(QPainter& painter, const QRectF& rect, const Fill& fill) {
  if (rect.isEmpty()) return;
  painter.save();
  painter.fillRect(rect, fill.color);
  painter.setPen(QPen(fill.line, 1));
  if (fill.hatch == Hatch::rising || fill.hatch == Hatch::falling) {
    painter.setRenderHint(QPainter::Antialiasing);
    draw_rising(painter, rect, fill.hatch == Hatch::falling);
  } else if (fill.hatch == Hatch::level) {
    for (double y = rect.top() + 2.5; y < rect.bottom(); y += kHatchPitch) {
      painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right(), y));
    }
  } else if (fill.hatch == Hatch::upright) {
    for (double x = rect.left() + 2.5; x < rect.right(); x += kHatchPitch) {
      painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()));
    }
  }
  if (fill.outline.isValid() && rect.width() >= 3) {
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(fill.outline, 1, fill.outline_style));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  painter.restore();
}

void draw_text(QPainter& painter, const QRectF& rect, const QString& text, Qt::Alignment alignment) {
  const QFontMetricsF metrics(painter.font());
  painter.drawText(rect, static_cast<int>(alignment) | Qt::TextSingleLine, elided(metrics, text, rect.width() + 0.5));
}

QString elided(const QFontMetricsF& metrics, const QString& text, double width) {
  const QString cut = metrics.elidedText(text, Qt::ElideRight, width);
  qsizetype kept = cut.size() - 1;  // without the ellipsis
  if (cut == text || kept <= 0 || kept >= text.size()) return cut;
  if (!is_of_number(text[kept - 1])) return cut;
  const auto is_name = [&](qsizetype at) { return at > 0 && (text[at - 1].isLetter() || text[at - 1] == '='); };
  qsizetype begin = kept;
  while (begin > 0 && is_of_number(text[begin - 1])) --begin;
  return is_name(begin) ? cut : text.left(begin) + QChar(0x2026);
}

QString elided_middle(const QFontMetricsF& metrics, const QString& text, double width) {
  if (metrics.horizontalAdvance(text) <= width) return text;
  const QStringList words = text.split(' ');
  const auto with = [&](qsizetype head, qsizetype tail) {
    return words.mid(0, head).join(' ') + ' ' + QChar(0x2026) + ' ' + words.mid(words.size() - tail).join(' ');
  };
  qsizetype head = 1, tail = 1;
  if (words.size() < 3 || metrics.horizontalAdvance(with(head, tail)) > width) return elided(metrics, text, width);
  for (bool grown = true; grown && head + tail < words.size();) {
    grown = false;
    for (qsizetype* end : {&head, &tail}) {
      ++*end;
      const bool fits = head + tail < words.size() && metrics.horizontalAdvance(with(head, tail)) <= width;
      if (fits) grown = true;
      if (!fits) --*end;
    }
  }
  return with(head, tail);
}

double text_width(const QFont& font, const QString& text) { return QFontMetricsF(font).horizontalAdvance(text); }

double number_width(const QFont& font, const QString& text) {
  const QFontMetricsF metrics(font);
  double width = 0;
  for (const QChar c : text) width += advance(metrics, c);
  return width;
}

void draw_empty(QPainter& painter, const Theme& theme, const QRectF& rect, const QString& text) {
  painter.setPen(theme.secondary);
  painter.setFont(ui_font(12));
  painter.drawText(rect.adjusted(24, 0, -24, 0), Qt::AlignCenter | Qt::TextWordWrap, text);
}

void draw_number(QPainter& painter, const QRectF& rect, const QString& text, Qt::Alignment alignment) {
  const QFontMetricsF metrics(painter.font());
  const double width = number_width(painter.font(), text);
  double x = rect.left();
  if (alignment.testFlag(Qt::AlignRight)) x = rect.right() - width;
  if (alignment.testFlag(Qt::AlignHCenter)) x = rect.center().x() - width / 2;
  double y = rect.center().y() + (metrics.ascent() - metrics.descent()) / 2;
  if (alignment.testFlag(Qt::AlignTop)) y = rect.top() + metrics.ascent();
  if (alignment.testFlag(Qt::AlignBottom)) y = rect.bottom() - metrics.descent();
  if (digits_are_equal(metrics)) {
    painter.drawText(QPointF(x, y), text);
    return;
  }
  for (const QChar c : text) {
    const double slack = (advance(metrics, c) - metrics.horizontalAdvance(c)) / 2;
    painter.drawText(QPointF(x + slack, y), QString(c));
    x += advance(metrics, c);
  }
}

namespace {
QString chip_text(Fit fit) {
  return QString::fromUtf8(fit_sign(fit)) + "  " + (fit == Fit::tight ? "tight" : fit_words(fit));
}
QFont chip_font() { return ui_font(11, QFont::Medium); }
}  // namespace

double chip_width(Fit fit) { return std::ceil(text_width(chip_font(), chip_text(fit))) + 14; }

void draw_chip(QPainter& painter, const QPointF& top_left, const Theme& theme, Fit fit) {
  const QRectF rect(top_left, QSizeF(chip_width(fit), 18));
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(fit_fill(theme, fit));
  painter.drawRoundedRect(rect, 3, 3);
  painter.setPen(fit_color(theme, fit));
  painter.setFont(chip_font());
  painter.drawText(rect, Qt::AlignCenter, chip_text(fit));
  painter.restore();
}

void draw_selection(QPainter& painter, const QRectF& rect) {
  painter.save();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(Qt::white, 1));
  painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
  painter.setPen(QPen(Qt::black, 2));
  painter.drawRect(rect.adjusted(-1, -1, 1, 1));
  painter.restore();
}

void draw_tip(QPainter& painter, const QRectF& within, const QRectF& at, const QStringList& lines, const Theme& theme) {
  constexpr double kRow = 17;
  const QFont font = ui_font(11), strong = ui_font(11.5, QFont::DemiBold);
  double width = 150;
  for (const QString& line : lines) {
    const QString value = line.section('\t', 1);
    width = std::max(
        width, text_width(strong, line.section('\t', 0, 0)) + (value.isEmpty() ? 2 : number_width(strong, value) + 24));
  }
  width = std::min(width + 20, within.width() - 8);
  QRectF box(at.right() + 14, at.center().y() + 14, width, kRow * static_cast<double>(lines.size()) + 12);
  if (box.right() > within.right()) box.moveRight(at.left() - 14);
  if (box.left() < within.left()) box.moveLeft(within.left() + 4);
  if (box.bottom() > within.bottom()) box.moveBottom(at.center().y() - 14);
  if (box.top() < within.top()) box.moveTop(within.top() + 2);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.tip_fill);
  painter.drawRoundedRect(box, 4, 4);
  for (int i = 0; i < lines.size(); ++i) {
    const QRectF row(box.left() + 10, box.top() + 6 + i * kRow, box.width() - 20, kRow);
    painter.setFont(i == 0 ? strong : font);
    painter.setPen(i == 0 ? theme.tip_text : theme.tip_label);
    draw_text(painter, row, lines[i].section('\t', 0, 0));
    painter.setPen(theme.tip_text);
    painter.setFont(strong);
    draw_number(painter, row, lines[i].section('\t', 1));
  }
  painter.restore();
}

}  // namespace superstep::gui
