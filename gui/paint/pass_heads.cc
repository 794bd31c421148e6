// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/pass_heads.h"

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

QColor pass_color(const std::string& pass) {
  if (pass == "forward") return {0xF9, 0xD9, 0xDD};
  if (pass == "backward" || pass == "recompute and backward") return {0xF0, 0xA5, 0xAE};
  if (pass == "update") return {0xE3, 0xDA, 0xF2};
  return {0xD3, 0xDB, 0xE2};
}

}  // namespace

QString short_pass(const std::string& pass) {
  if (pass == "forward") return "fwd";
  if (pass == "backward" || pass == "recompute and backward") return "bwd";
  return pass == "update" ? "upd" : QString();
}

void draw_pass_head(QPainter& painter, const QRectF& rect, const std::string& pass) {
  if (rect.width() <= 0) return;
  painter.fillRect(rect, pass_color(pass));
  painter.setPen(QColor(0x1B, 0x21, 0x27));
  for (const QString& text : {QString::fromStdString(pass), short_pass(pass)}) {
    if (text.isEmpty() || text_width(painter.font(), text) + 4 > rect.width()) continue;
    return draw_text(painter, rect, text, Qt::AlignCenter);
  }
}

std::string short_layer(const std::string& name) {
  const std::string first = name.substr(0, name.find('/'));
  const bool numbered = first.starts_with("layer") && first.size() > 5;
  return numbered ? "L" + first.substr(5) : first;
}

}  // namespace superstep::gui
