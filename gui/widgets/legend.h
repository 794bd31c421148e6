// SPDX-License-Identifier: Apache-2.0
// Swatches with names, in as many rows as the width needs. Entries with a key are check boxes: what is not checked is
// to be left out.
#pragma once

#include <QWidget>
#include <set>
#include <vector>

#include "gui/base/theme.h"

namespace superstep::gui {

struct LegendEntry {
  Fill fill;
  QString text;
  int key = -1;  // -1: always shown
};

class Legend : public QWidget {
  Q_OBJECT
 public:
  explicit Legend(QWidget* parent = nullptr);
  void setEntries(std::vector<LegendEntry> entries);  // keys that were hidden stay so
  const std::set<int>& hidden() const { return hidden_; }

  QSize sizeHint() const override { return {200, neededHeight(width())}; }

 signals:
  void hiddenChanged(const std::set<int>& keys);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  int neededHeight(int width) const;
  std::vector<QPoint> placed(int width) const;  // top left of every entry

  void arrange();

  std::vector<LegendEntry> entries_;
  std::vector<QWidget*> boxes_;  // by entry; null: no key
  std::set<int> hidden_;
};

}  // namespace superstep::gui
