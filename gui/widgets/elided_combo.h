// SPDX-License-Identifier: Apache-2.0
// A list to choose from whose entries may be longer than it: the one shown ends with an ellipsis and is the tool tip.
#pragma once

#include <QComboBox>

namespace superstep::gui {

class ElidedCombo : public QComboBox {
  Q_OBJECT
 public:
  using QComboBox::QComboBox;

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace superstep::gui
