// SPDX-License-Identifier: Apache-2.0
// A tree whose rows look like those of the tables.
#pragma once

#include <QTreeView>

namespace superstep::gui {

class ProgramTree : public QTreeView {
  Q_OBJECT
 public:
  explicit ProgramTree(QAbstractItemModel* model, QWidget* parent = nullptr);
  void show(const QModelIndex& index);  // opens what is above it, selects it and brings it into sight
  void fitColumns();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;  // Ctrl+C: the current row with its exact values
  void drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

}  // namespace superstep::gui
