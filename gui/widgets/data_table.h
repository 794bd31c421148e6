// SPDX-License-Identifier: Apache-2.0
// A table of numbers: rows of 24 pixels, colours before categories, digits of equal width, Ctrl+C
// copies the selected rows with their exact values.
#pragma once

#include <QTableView>

namespace superstep::gui {

// How cells are painted, in tables and trees; `striped`: every other row is shaded.
QAbstractItemDelegate* make_cell_delegate(QObject* parent, bool striped);

class DataTable : public QTableView {
  Q_OBJECT
 public:
  explicit DataTable(QAbstractItemModel* model, QWidget* parent = nullptr);

  // The column that takes what width is left and shrinks to `least` where there is none; the others
  // have what their contents need.
  void setWideColumn(int column, int least = 110);
  void setEmptyText(const QString& text);  // shown when there are no rows
  void setSortable(int column, Qt::SortOrder order);
  QString copiedText() const;  // of the selected rows, tabs between cells

 public slots:
  void fitColumns();

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  int wideColumn_ = 0;
  int leastWidth_ = 110;
  QString emptyText_;
};

}  // namespace superstep::gui
