// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/marks_panel.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QVBoxLayout>

#include "gui/base/theme.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/data_table.h"

namespace superstep::gui {

MarksPanel::MarksPanel(TableModel& model, QWidget* parent) : QWidget(parent) {
  place_ = new ElidedLabel;
  place_->setObjectName("markPlace");
  place_->setFont(ui_font(11.5));
  field_ = new QLineEdit;
  field_->setObjectName("markNote");
  field_->setAccessibleName(tr("Note of a new mark"));
  table_ = new DataTable(&model);
  table_->setObjectName("marks");
  table_->setAccessibleName(tr("Marks"));
  table_->setWideColumn(1, 120);
  table_->setEmptyText(tr("Select something, press M and write a note."));
  table_->installEventFilter(this);
  connect(table_, &QAbstractItemView::activated, this, [this](const QModelIndex& at) { emit wanted(at.row()); });
  connect(table_, &QAbstractItemView::doubleClicked, this, [this](const QModelIndex& at) { emit wanted(at.row()); });
  connect(field_, &QLineEdit::returnPressed, this, [this] {
    emit added(field_->text().trimmed());
    field_->clear();
  });
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(place_);
  layout->addWidget(field_);
  layout->addWidget(table_, 1);
  setPlace({});
}

void MarksPanel::setPlace(const QString& place) {
  place_->setText(place.isEmpty() ? tr("Nothing is selected") : place);
  field_->setEnabled(!place.isEmpty());
  field_->setPlaceholderText(place.isEmpty() ? tr("Click a bar, a tile or a term first") : tr("Note, then Enter"));
}

bool MarksPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Delete) {
    if (table_->currentIndex().isValid()) emit removed(table_->currentIndex().row());
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace superstep::gui
