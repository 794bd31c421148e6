// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/column_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QMenu>
#include <QShortcut>
#include <QToolButton>

#include "gui/models/table_model.h"
#include "gui/widgets/data_table.h"

namespace superstep::gui {
namespace {

QToolButton* named_button(const QString& text, const char* name, const QString& tip) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setObjectName(name);
  button->setAccessibleName(tip);
  button->setToolTip(tip);
  button->setFocusPolicy(Qt::StrongFocus);
  return button;
}

}  // namespace

QToolButton* column_button(DataTable* table) {
  QToolButton* button = named_button(QObject::tr("Columns"), "columns", QObject::tr("Choose the columns shown"));
  auto* menu = new QMenu(button);
  button->setMenu(menu);
  button->setPopupMode(QToolButton::InstantPopup);
  button->setStyleSheet("QToolButton::menu-indicator { image: none; }");
  QObject::connect(menu, &QMenu::aboutToShow, table, [=] {
    menu->clear();
    for (int c = 1; c < table->model()->columnCount(); ++c) {
      QAction* action = menu->addAction(table->model()->headerData(c, Qt::Horizontal).toString());
      action->setCheckable(true);
      action->setChecked(!table->isColumnHidden(c));
      QObject::connect(action, &QAction::toggled, table, [=](bool on) {
        table->setColumnHidden(c, !on);
        table->fitColumns();
      });
    }
  });
  return button;
}

QToolButton* copy_button(DataTable* table) {
  QToolButton* button =
      named_button(QObject::tr("Copy"), "copyTable", QObject::tr("Copy the rows and columns shown as text"));
  QObject::connect(button, &QToolButton::clicked, table,
                   [=] { QApplication::clipboard()->setText(shown_text(*table)); });
  return button;
}

QLineEdit* filter_field(const QString& object, const QString& accessible, const QString& hint, QWidget* view) {
  auto* field = new QLineEdit;
  field->setObjectName(object);
  field->setAccessibleName(accessible);
  field->setPlaceholderText(hint + "  /");
  field->setClearButtonEnabled(true);
  auto* slash = new QShortcut(QKeySequence(Qt::Key_Slash), view);
  slash->setContext(Qt::WidgetWithChildrenShortcut);
  QObject::connect(slash, &QShortcut::activated, field, [field] {
    field->setFocus();
    field->selectAll();
  });
  return field;
}

QString shown_text(const QTableView& table) {
  const QAbstractItemModel& model = *table.model();
  QString out;
  for (int r = -1; r < model.rowCount(); ++r) {
    QStringList cells;
    for (int c = 0; c < model.columnCount(); ++c) {
      if (table.isColumnHidden(c)) continue;
      cells << (r < 0 ? model.headerData(c, Qt::Horizontal) : model.index(r, c).data(kExactRole)).toString();
    }
    out += cells.join('\t') + '\n';
  }
  return out;
}

}  // namespace superstep::gui
