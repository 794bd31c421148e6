// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/data_table.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <cmath>

#include "gui/base/theme.h"
#include "gui/models/table_model.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr int kRowHeight = 23;
constexpr int kCellMargin = 8;
constexpr int kCellSwatch = 10;
constexpr int kMeasuredRows = 300;  // of long tables, for column widths

class CellDelegate : public QStyledItemDelegate {
 public:
  CellDelegate(QObject* parent, bool striped) : QStyledItemDelegate(parent), striped_(striped) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme& theme = theme_of(option.widget);
    const bool strong = index.data(kStrongRole).toBool();
    const QRect cell = option.rect;
    const bool selected = option.state.testFlag(QStyle::State_Selected);
    painter->fillRect(cell, selected                      ? theme.accent_fill
                            : strong                      ? theme.title_row
                            : striped_ && index.row() % 2 ? theme.odd_row
                                                          : theme.panel);
    if (selected && index.column() == 0)
      painter->fillRect(QRect(cell.left(), cell.top(), 3, cell.height()), theme.accent);
    QRectF inner = QRectF(cell).adjusted(kCellMargin, 0, -kCellMargin, 0);
    if (index.data(kShareRole).isValid()) {
      draw_share(*painter, inner, index, theme, strong);
      return;
    }
    if (const QVariant span = index.data(kSpanRole); span.isValid()) {
      draw_span(*painter, inner, span.value<Span>(), index, theme);
      return;
    }
    if (const auto fill = swatch(index)) {
      draw_fill(*painter, QRectF(inner.left(), inner.center().y() - kCellSwatch / 2.0, kCellSwatch, kCellSwatch),
                *fill);
      inner.setLeft(inner.left() + kCellSwatch + 7);
    }
    const QVariant better = index.data(kBetterRole);
    painter->setPen(better.isValid() ? difference_color(theme, better.toInt()) : theme.text);
    painter->setFont(ui_font(12, strong ? QFont::DemiBold : QFont::Normal));
    const auto alignment = Qt::Alignment(index.data(Qt::TextAlignmentRole).toInt());
    const QString text = index.data().toString();
    if (alignment.testFlag(Qt::AlignRight)) {
      draw_number(*painter, inner, text);
    } else if (index.data(kBothEndsRole).toBool()) {
      draw_text(*painter, inner, elided_middle(QFontMetricsF(painter->font()), text, inner.width()));
    } else {
      draw_text(*painter, inner, text);
    }
  }

  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
    if (index.data(kShareRole).isValid() || index.data(kSpanRole).isValid()) return {72, kRowHeight};
    const QFont font = ui_font(12, index.data(kStrongRole).toBool() ? QFont::DemiBold : QFont::Normal);
    double width = number_width(font, index.data().toString()) + 2 * kCellMargin + 2;
    if (swatch(index)) width += kCellSwatch + 7;
    return {static_cast<int>(std::ceil(width)), kRowHeight};
  }

 private:
  static std::optional<Fill> swatch(const QModelIndex& index) {
    const QString memory = index.data(kMemoryRole).toString();
    if (!memory.isEmpty()) return fill_of_memory(memory.toStdString());
    const QString kind = index.data(kKindRole).toString();
    if (!kind.isEmpty()) return fill_of_kind(kind.toStdString());
    return std::nullopt;
  }

  static void draw_share(QPainter& painter, const QRectF& inner, const QModelIndex& index, const Theme& theme,
                         bool strong) {
    if (strong) return;
    const QRectF track(inner.left(), inner.center().y() - 3, inner.width(), 6);
    painter.fillRect(track, theme.track);
    const double share = std::clamp(index.data(kShareRole).toDouble(), 0.0, 1.0);
    const QString memory = index.data(kMemoryRole).toString();
    const Fill fill = memory.isEmpty() ? Fill{theme.accent, Hatch::none, {}, {}} : fill_of_memory(memory.toStdString());
    draw_fill(painter, QRectF(track.topLeft(), QSizeF(track.width() * share, track.height())), fill);
  }

  // At least two pixels wide, so that what lives for one step of many is seen.
  static void draw_span(QPainter& painter, const QRectF& inner, const Span& span, const QModelIndex& index,
                        const Theme& theme) {
    const QRectF track(inner.left(), inner.center().y() - 3, inner.width(), 6);
    painter.fillRect(track, theme.track);
    const double from = track.left() + span.from * track.width();
    const double wide = std::max(2.0, (span.to - span.from) * track.width());
    const Fill fill = fill_of_memory(index.data(kMemoryRole).toString().toStdString());
    draw_fill(painter, QRectF(std::min(from, track.right() - wide), track.top(), wide, track.height()), fill);
    if (span.mark < 0) return;
    painter.fillRect(QRectF(std::floor(track.left() + span.mark * track.width()), track.top() - 4, 1, 14), theme.text);
  }

  bool striped_;
};

}  // namespace

QAbstractItemDelegate* make_cell_delegate(QObject* parent, bool striped) { return new CellDelegate(parent, striped); }

DataTable::DataTable(QAbstractItemModel* model, QWidget* parent) : QTableView(parent) {
  setItemDelegate(make_cell_delegate(this, true));
  setModel(model);
  setShowGrid(false);
  setWordWrap(false);
  setFrameShape(QFrame::NoFrame);
  setSelectionBehavior(SelectRows);
  setHorizontalScrollMode(ScrollPerPixel);
  setVerticalScrollMode(ScrollPerPixel);
  verticalHeader()->hide();
  verticalHeader()->setDefaultSectionSize(kRowHeight);
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  horizontalHeader()->setHighlightSections(false);
  horizontalHeader()->setFixedHeight(kRowHeight + 1);
  horizontalHeader()->setFont(ui_font(11, QFont::Medium));
  horizontalHeader()->setMinimumSectionSize(24);
  connect(model, &QAbstractItemModel::modelReset, this, &DataTable::fitColumns);
  fitColumns();
}

void DataTable::setEmptyText(const QString& text) {
  emptyText_ = text;
  viewport()->update();
}

void DataTable::paintEvent(QPaintEvent* event) {
  QTableView::paintEvent(event);
  if (emptyText_.isEmpty() || model()->rowCount() > 0) return;
  QPainter painter(viewport());
  draw_empty(painter, theme_of(this), viewport()->rect(), emptyText_);
}

void DataTable::setWideColumn(int column, int least) {
  wideColumn_ = column;
  leastWidth_ = least;
  fitColumns();
}

void DataTable::setSortable(int column, Qt::SortOrder order) {
  setSortingEnabled(true);
  sortByColumn(column, order);
  fitColumns();
}

void DataTable::fitColumns() {
  if (!model()) return;
  const int columns = model()->columnCount();
  const int rows = std::min(model()->rowCount(), kMeasuredRows);
  int used = 0;
  std::vector<int> widths(static_cast<std::size_t>(columns));
  for (int c = 0; c < columns; ++c) {
    if (isColumnHidden(c)) continue;
    const bool titled = !model()->headerData(c, Qt::Horizontal).toString().isEmpty();
    int width = titled ? horizontalHeader()->sectionSizeHint(c) + 8 : 0;
    for (int r = 0; r < rows; ++r) {
      width = std::max(width, itemDelegate()->sizeHint({}, model()->index(r, c)).width());
    }
    widths[static_cast<std::size_t>(c)] = std::min(width, 420);
    used += widths[static_cast<std::size_t>(c)];
  }
  // The wide column takes what is left, and gives (to a point) what is missing; then a scroll bar comes.
  if (wideColumn_ < columns) {
    auto& wide = widths[static_cast<std::size_t>(wideColumn_)];
    wide = std::max(std::min(wide, leastWidth_), wide + viewport()->width() - used);
  }
  for (int c = 0; c < columns; ++c) {
    if (!isColumnHidden(c)) setColumnWidth(c, widths[static_cast<std::size_t>(c)]);
  }
}

QString DataTable::copiedText() const {
  QStringList lines;
  QStringList heads;
  for (int c = 0; c < model()->columnCount(); ++c) heads << exact_heading(*model(), c);
  lines << heads.join('\t');
  QModelIndexList rows = selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end());
  for (const QModelIndex& row : rows) {
    QStringList cells;
    for (int c = 0; c < model()->columnCount(); ++c) cells << row.siblingAtColumn(c).data(kExactRole).toString();
    lines << cells.join('\t');
  }
  return lines.join('\n') + '\n';
}

void DataTable::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(copiedText());
    return;
  }
  QTableView::keyPressEvent(event);
}

void DataTable::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fitColumns();
}

void DataTable::changeEvent(QEvent* event) {
  QTableView::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) viewport()->update();
}

}  // namespace superstep::gui
