// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/painted_text.h"

#include <QFontMetricsF>
#include <QPaintDevice>
#include <QPaintEngine>
#include <QPainter>
#include <QPainterPath>

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

}  // namespace superstep::gui
