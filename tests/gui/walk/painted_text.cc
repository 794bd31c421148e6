// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/walk/painted_text.h"

#include <QAbstractScrollArea>
#include <QRegularExpression>
#include <QScrollBar>
#include <algorithm>

namespace superstep::gui {
namespace {

QString place(QWidget& widget, const PaintedText& t) {
  const QPoint at = t.ink.center().toPoint();
  const QWidget* child = widget.childAt(at);
  if (!child) child = &widget;
  QString name = child->metaObject()->className();
  if (!child->objectName().isEmpty()) name += " " + child->objectName();
  return QString("\"%1\" at %2, %3 in %4").arg(t.text).arg(at.x()).arg(at.y()).arg(name);
}

struct Scrolls {
  bool across = false, down = false;
};

// Whether what is at a place can be moved into sight.
Scrolls scrolls_at(QWidget& widget, const QPointF& at) {
  Scrolls out;
  for (const QWidget* w = widget.childAt(at.toPoint()); w && w != &widget; w = w->parentWidget()) {
    const auto* area = qobject_cast<const QAbstractScrollArea*>(w);
    if (!area) continue;
    out.across = out.across || area->horizontalScrollBar()->minimum() < area->horizontalScrollBar()->maximum();
    out.down = out.down || area->verticalScrollBar()->minimum() < area->verticalScrollBar()->maximum();
  }
  return out;
}

}  // namespace

std::vector<QString> text_faults(QWidget& widget) {
  constexpr double kSlack = 1.5;  // glyphs are rounded to pixels at both ends
  std::vector<QString> out;
  const std::vector<PaintedText> texts = painted_texts(widget);
  static const QRegularExpression half_number(QString::fromUtf8("(^|[ \u202F])[\\d\u202F.]+…$"));
  for (const PaintedText& t : texts) {
    if (half_number.match(t.text).hasMatch()) out.push_back("half a number: " + place(widget, t));
    const QRectF seen = t.ink & t.clip;
    const Scrolls scrolls = scrolls_at(widget, seen.center());
    const bool across = seen.width() < t.ink.width() - kSlack && !scrolls.across;
    const bool down = seen.height() < t.ink.height() - kSlack && !scrolls.down;
    if (across || down) {
      out.push_back(QString("cut: %1: %2 x %3 seen of %4 x %5")
                        .arg(place(widget, t))
                        .arg(seen.width())
                        .arg(seen.height())
                        .arg(t.ink.width())
                        .arg(t.ink.height()));
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const QRectF a = (texts[i].ink & texts[i].clip).adjusted(kSlack, kSlack, -kSlack, -kSlack);
    for (std::size_t k = i + 1; k < texts.size() && a.isValid(); ++k) {
      const QRectF b = texts[k].ink & texts[k].clip;
      if (a.intersects(b.adjusted(kSlack, kSlack, -kSlack, -kSlack))) {
        out.push_back("overlap: " + place(widget, texts[i]) + " and " + place(widget, texts[k]));
      }
    }
  }
  return out;
}

}  // namespace superstep::gui
