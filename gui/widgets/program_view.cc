// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/program_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>

#include "gui/base/theme.h"
#include "gui/models/table_model.h"
#include "gui/widgets/data_table.h"

namespace superstep::gui {
namespace {

constexpr int kLeastName = 200;

}  // namespace

ProgramTree::ProgramTree(QAbstractItemModel* model, QWidget* parent) : QTreeView(parent) {
  setModel(model);
  setItemDelegate(make_cell_delegate(this, false));
  setUniformRowHeights(true);
  setFrameShape(QFrame::NoFrame);
  setIndentation(16);
  setSelectionBehavior(SelectRows);
  setHorizontalScrollMode(ScrollPerPixel);
  header()->setHighlightSections(false);
  header()->setFixedHeight(24);
  header()->setFont(ui_font(11, QFont::Medium));
  header()->setStretchLastSection(false);
  header()->setMinimumSectionSize(24);
  connect(model, &QAbstractItemModel::modelReset, this, &ProgramTree::fitColumns);
}

void ProgramTree::fitColumns() {
  int used = 0;
  for (int c = 1; c < model()->columnCount(); ++c) {
    // Numbers are widest at the root, which has all cycles; names of kinds are short.
    int width = std::max(header()->sectionSizeHint(c) + 8, c == 1 ? 84 : 0);
    width = std::max(width, itemDelegate()->sizeHint({}, model()->index(0, c)).width());
    setColumnWidth(c, width);
    used += width;
  }
  setColumnWidth(0, std::max(kLeastName, viewport()->width() - used));
}

void ProgramTree::show(const QModelIndex& index) {
  for (QModelIndex above = index.parent(); above.isValid(); above = above.parent()) expand(above);
  setCurrentIndex(index);
  scrollTo(index);
}

void ProgramTree::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  fitColumns();
}

void ProgramTree::keyPressEvent(QKeyEvent* event) {
  if (!event->matches(QKeySequence::Copy)) {
    QTreeView::keyPressEvent(event);
    return;
  }
  QStringList heads, cells;
  for (int c = 0; c < model()->columnCount(); ++c) {
    heads << model()->headerData(c, Qt::Horizontal).toString();
    cells << currentIndex().siblingAtColumn(c).data(kExactRole).toString();
  }
  QApplication::clipboard()->setText(heads.join('\t') + '\n' + cells.join('\t') + '\n');
}

void ProgramTree::drawRow(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
  const Theme& theme = theme_of(this);
  const bool selected = selectionModel() && selectionModel()->isRowSelected(index.row(), index.parent());
  painter->fillRect(option.rect, selected ? theme.accent_fill : theme.panel);
  QTreeView::drawRow(painter, option, index);
}

}  // namespace superstep::gui
