// SPDX-License-Identifier: Apache-2.0
// Swatches with names, in as many rows as the width needs.
#pragma once

#include <QWidget>
#include <vector>

#include "gui/theme.h"

namespace superstep::gui {

struct LegendEntry {
  Fill fill;
  QString text;
};

class Legend : public QWidget {
  Q_OBJECT
 public:
  explicit Legend(QWidget* parent = nullptr);
  void setEntries(std::vector<LegendEntry> entries);

  QSize sizeHint() const override { return {200, neededHeight(width())}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int neededHeight(int width) const;
  std::vector<QPoint> placed(int width) const;  // top left of every entry

  std::vector<LegendEntry> entries_;
};

}  // namespace superstep::gui
