// SPDX-License-Identifier: Apache-2.0
// What a number is, its exact value, how it comes about and where that is documented.
#pragma once

#include <QPersistentModelIndex>
#include <QTextBrowser>
#include <vector>

namespace superstep::gui {

class ExplainPanel : public QTextBrowser {
  Q_OBJECT
 public:
  explicit ExplainPanel(QWidget* parent = nullptr);

  // The first is explained, the others are offered. Empty: says how to get an explanation.
  void setCells(std::vector<QPersistentModelIndex> cells);
  QSize sizeHint() const override { return {380, 320}; }

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showCell(std::size_t cell);
  QString html(const QModelIndex& cell) const;

  std::vector<QPersistentModelIndex> cells_;
  std::size_t shown_ = 0;
};

}  // namespace superstep::gui
