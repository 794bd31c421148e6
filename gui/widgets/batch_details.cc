// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/batch_details.h"

#include <QPlainTextEdit>
#include <QVBoxLayout>

#include "gui/base/theme.h"
#include "gui/models/batch_table.h"
#include "gui/widgets/data_table.h"

namespace superstep::gui {
namespace {

constexpr int kTextHeight = 66;  // three lines above the items of a sweep

QString text_of(const BatchItem& item, const QString& command) {
  QStringList lines;
  const bool is_job = item.kind == BatchKind::job;
  QString head = BatchDetails::tr("%1 %2: %3").arg(is_job ? "Job" : "Sweep", item.name(), state_text(item));
  if (item.seconds > 0) head += BatchDetails::tr(" after %1 s").arg(fixed_decimals(item.seconds, 1));
  lines << head;
  if (item.rows && item.message.isEmpty()) {
    if (item.result) lines[0] += BatchDetails::tr(". Fastest: %1").arg(item.result->grid);
  } else {
    const QString said = !item.message.isEmpty() ? item.message
                         : item.result           ? item.result->verdict
                                                 : detail_text(item);
    if (!said.isEmpty()) lines << said;
    if (item.ours) lines << BatchDetails::tr("%1: %2").arg(is_job ? "Report" : "Results", item.output);
  }
  lines << BatchDetails::tr("The same by hand: %1").arg(command);
  if (item.rows) lines << BatchDetails::tr("Enter or a double click on an item plans it as a job of its own.");
  return lines.join('\n');
}

}  // namespace

BatchDetails::BatchDetails(QWidget* parent) : QWidget(parent) {
  text_ = new QPlainTextEdit;
  text_->setObjectName("batchDetails");
  text_->setAccessibleName(tr("The selected row in full"));
  text_->setReadOnly(true);
  text_->setFrameShape(QFrame::NoFrame);
  text_->setTabChangesFocus(true);
  text_->setPlaceholderText(tr("Select a row to read its messages in full."));
  text_->document()->setDocumentMargin(10);
  table_ = new DataTable(&sorted_);
  table_->setObjectName("sweepItems");
  table_->setAccessibleName(tr("Items of the selected sweep"));
  table_->setWideColumn(1, 220);
  table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  connect(table_, &QAbstractItemView::activated, this, [this](const QModelIndex& index) {
    emit itemWanted((*shown_)[static_cast<std::size_t>(index.data(kSourceRole).toInt())].item);
  });
  table_->hide();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(text_, 1);
  layout->addWidget(table_, 3);
}

void BatchDetails::show(const BatchItem* item, const QString& command, Units units) {
  const QString text = item ? text_of(*item, command) : QString();
  text_->setMinimumHeight(item && item->rows ? kTextHeight : 0);
  text_->setMaximumHeight(item && item->rows ? kTextHeight : QWIDGETSIZE_MAX);
  if (text != text_->toPlainText()) text_->setPlainText(text);  // or a selection in it would be lost
  const auto rows = item ? item->rows : nullptr;
  const std::size_t count = rows ? rows->size() : 0;
  if (rows == shown_ && count == shownRows_ && units == units_) return;
  const QModelIndex current = rows == shown_ ? table_->currentIndex() : QModelIndex();
  const int kept =
      current.isValid() ? current.data(kSourceRole).toInt() : -1;  // rows of a sweep that runs come at the end
  const bool first = rows_.columnCount() == 0;
  shown_ = rows;
  shownRows_ = count;
  units_ = units;
  rows_.setContents(sweep_table(rows, units));
  if (first && rows) table_->setSortable(kSweepThroughput, Qt::DescendingOrder);
  for (int row = 0; kept >= 0 && row < sorted_.rowCount(); ++row) {
    if (sorted_.index(row, 0).data(kSourceRole).toInt() == kept) table_->selectRow(row);
  }
  table_->setVisible(rows != nullptr);
  table_->fitColumns();
}

QString BatchDetails::text() const { return text_->toPlainText(); }

}  // namespace superstep::gui
