// SPDX-License-Identifier: Apache-2.0
// What a widget paints as text, word by word: where it is, what of it is seen. Painted into a device that keeps no
// pixels, so that texts are known as they were drawn, whoever drew them.
#pragma once

#include <QRectF>
#include <QString>
#include <QWidget>
#include <vector>

namespace superstep::gui {

struct PaintedText {
  QString text;
  QRectF ink;   // of its glyphs, in the widget's coordinates
  QRectF clip;  // where painting was allowed
};

// Those that nothing painted later hides.
std::vector<PaintedText> painted_texts(QWidget& widget);

}  // namespace superstep::gui
