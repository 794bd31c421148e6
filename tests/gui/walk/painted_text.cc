// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/walk/painted_text.h"

#include <QAbstractScrollArea>
#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>
#include <QRegularExpression>
#include <QScrollBar>
#include <algorithm>

namespace superstep::gui {
namespace {

class Engine : public QPaintEngine {
 public:
  Engine() : QPaintEngine(AllFeatures) {}
  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  Type type() const override { return User; }
  void updateState(const QPaintEngineState&) override {}

  void drawTextItem(const QPointF& at, const QTextItem& item) override {
    if (item.text().trimmed().isEmpty()) return;
    const QRectF ink = QFontMetricsF(item.font()).tightBoundingRect(item.text()).translated(at);
    if (ink.isEmpty()) return;
    texts.push_back({item.text(), painter()->deviceTransform().mapRect(ink), clip()});
  }
  void drawPixmap(const QRectF& r, const QPixmap& pixmap, const QRectF&) override {
    if (!pixmap.hasAlpha()) cover(r);
  }
  void drawImage(const QRectF& r, const QImage& image, const QRectF&, Qt::ImageConversionFlags) override {
    if (!image.hasAlphaChannel()) cover(r);
  }
  void drawRects(const QRectF* rects, int n) override {
    for (int i = 0; i < n && opaque(painter()->brush()); ++i) cover(rects[i]);
  }
  // Rounded boxes cover about what their bounds do.
  void drawPath(const QPainterPath& path) override {
    if (opaque(painter()->brush()) && path.contains(path.boundingRect().center())) cover(path.boundingRect());
  }
  void drawPolygon(const QPointF*, int, PolygonDrawMode) override {}

  std::vector<PaintedText> texts;

 private:
  static bool opaque(const QBrush& brush) { return brush.style() == Qt::SolidPattern && brush.isOpaque(); }
  QRectF clip() const {
    QRectF out(-1e6, -1e6, 2e6, 2e6);
    if (!systemClip().isEmpty()) out &= QRectF(systemClip().boundingRect());
    if (painter()->hasClipping()) out &= painter()->deviceTransform().mapRect(painter()->clipBoundingRect());
    return out;
  }
  void cover(const QRectF& r) {
    if (painter()->opacity() < 1) return;
    const QRectF covered = painter()->deviceTransform().mapRect(r) & clip();
    std::erase_if(texts, [&](const PaintedText& t) { return covered.contains((t.ink & t.clip).center()); });
  }
};

class Device : public QPaintDevice {
 public:
  explicit Device(QSize size) : size_(size) {}
  QPaintEngine* paintEngine() const override { return &engine_; }
  const std::vector<PaintedText>& texts() const { return engine_.texts; }

 protected:
  int metric(PaintDeviceMetric what) const override {
    switch (what) {
      case PdmWidth:
        return size_.width();
      case PdmHeight:
        return size_.height();
      case PdmWidthMM:
        return size_.width() * 254 / 960;
      case PdmHeightMM:
        return size_.height() * 254 / 960;
      case PdmNumColors:
        return 1 << 24;
      case PdmDepth:
        return 24;
      case PdmDevicePixelRatio:
        return 1;
      case PdmDevicePixelRatioScaled:
        return static_cast<int>(devicePixelRatioFScale());
      default:
        return 96;
    }
  }

 private:
  QSize size_;
  mutable Engine engine_;
};

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

std::vector<PaintedText> painted_texts(QWidget& widget) {
  Device device(widget.size());
  QPainter painter(&device);
  widget.render(&painter);
  painter.end();
  std::vector<PaintedText> out = device.texts();
  std::erase_if(out, [](const PaintedText& t) {  // a sliver of the next row is no text
    const QRectF seen = t.ink & t.clip;
    return seen.width() <= 1 || seen.height() <= 1;
  });
  return out;
}

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
