// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/column_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QShortcut>
#include <QSortFilterProxyModel>
#include <QToolButton>
#include <cmath>

#include "gui/base/format.h"
#include "gui/base/theme.h"
#include "gui/models/search_pattern.h"
#include "gui/models/table_model.h"
#include "gui/paint/draw.h"
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

namespace {

// Draws what count_rows() counts at its right, ahead of the button that clears it.
class FilterField : public QLineEdit {
 public:
  void setRows(QSortFilterProxyModel* rows) {
    rows_ = rows;
    const auto changed = [this] { showCount(); };
    connect(rows, &QAbstractItemModel::modelReset, this, changed);
    connect(rows, &QAbstractItemModel::rowsInserted, this, changed);
    connect(rows, &QAbstractItemModel::rowsRemoved, this, changed);
    connect(this, &QLineEdit::textChanged, this, changed);
  }

 protected:
  void paintEvent(QPaintEvent* event) override {
    QLineEdit::paintEvent(event);
    if (count_.isEmpty()) return;
    QPainter painter(this);
    painter.setFont(ui_font(10));
    painter.setPen(theme_of(this).faint);
    draw_text(painter, QRectF(width() - kClear - width_, 0, width_, height()), count_,
              Qt::AlignRight | Qt::AlignVCenter);
  }

 private:
  static constexpr int kClear = 26;  // the button
  QSortFilterProxyModel* rows_ = nullptr;
  QString count_;
  double width_ = 0;

  void showCount() {
    const bool filters = !text().isEmpty() && rows_->sourceModel();
    count_ = filters
                 ? QObject::tr("%1 of %2").arg(grouped(rows_->rowCount()), grouped(rows_->sourceModel()->rowCount()))
                 : QString();
    width_ = filters ? std::ceil(text_width(ui_font(10), count_)) : 0;
    setTextMargins(0, 0, filters ? static_cast<int>(width_) + 6 : 0, 0);
    setAccessibleDescription(count_);
    update();
  }
};

}  // namespace

void count_rows(QLineEdit* field, QSortFilterProxyModel* rows) { static_cast<FilterField*>(field)->setRows(rows); }

void set_filter(QSortFilterProxyModel& rows, const QString& text) {
  rows.setFilterRegularExpression(search_pattern(text));
}

QLineEdit* filter_field(const QString& object, const QString& accessible, const QString& hint, QWidget* view) {
  auto* field = new FilterField;
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
