// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/elided_combo.h"

#include <QStylePainter>

#include "gui/paint/draw.h"

namespace superstep::gui {

void ElidedCombo::paintEvent(QPaintEvent*) {
  QStylePainter painter(this);
  painter.setPen(palette().color(QPalette::Text));
  QStyleOptionComboBox option;
  initStyleOption(&option);
  painter.drawComplexControl(QStyle::CC_ComboBox, option);
  const int room = style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, this).width();
  const QString whole = option.currentText;
  option.currentText = elided(QFontMetricsF(font()), whole, room - 4);
  if (option.currentText != whole && toolTip() != whole) setToolTip(whole);
  painter.drawControl(QStyle::CE_ComboBoxLabel, option);
}

}  // namespace superstep::gui
