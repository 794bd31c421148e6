// SPDX-License-Identifier: Apache-2.0
#include "gui/widgets/command_palette.h"

#include <QAction>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "gui/base/theme.h"
#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

constexpr int kKeys = Qt::UserRole;         // the shortcut as text
constexpr int kCommand = Qt::UserRole + 1;  // its place
constexpr int kEnabled = Qt::UserRole + 2;

QString plain(const QString& text) {
  QString out = text;
  return out.replace("&&", QString(QChar(1))).remove('&').replace(QChar(1), '&').remove(QChar(0x2026));
}

class CommandDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const Theme& theme = theme_of(option.widget);
    const QRectF row = option.rect;
    painter->fillRect(row, option.state.testFlag(QStyle::State_Selected) ? theme.accent_fill : theme.panel);
    const QString keys = index.data(kKeys).toString();
    painter->setFont(ui_font(11));
    const double width = keys.isEmpty() ? 0 : text_width(painter->font(), keys) + 16;
    painter->setPen(theme.secondary);
    draw_text(*painter, row.adjusted(0, 0, -10, 0), keys, Qt::AlignRight | Qt::AlignVCenter);
    painter->setFont(ui_font(12));
    painter->setPen(index.data(kEnabled).toBool() ? theme.text : theme.faint);
    draw_text(*painter, row.adjusted(10, 0, -10 - width, 0), index.data().toString());
  }
  QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {200, 26}; }
};

class Collected {
 public:
  void add(const QMenu& menu, const QString& above) {
    for (QAction* action : menu.actions()) {
      if (QMenu* inner = action->menu()) {
        if (action->isVisible()) add(*inner, above + plain(action->text()) + QString::fromUtf8(" › "));
      } else {
        add(action, above);
      }
    }
  }
  void add(QAction* action, const QString& above) {
    const bool named = !action->isSeparator() && action->isVisible() && !action->text().isEmpty();
    if (named && known_.insert(action).second) commands_.push_back({action, above + plain(action->text())});
  }
  std::vector<Command> take() { return std::move(commands_); }

 private:
  std::set<QAction*> known_;
  std::vector<Command> commands_;
};

}  // namespace

std::vector<Command> commands_of(const QMenuBar& menus, const QList<QAction*>& others) {
  Collected out;
  for (QAction* action : menus.actions()) {
    if (QMenu* menu = action->menu()) out.add(*menu, plain(action->text()) + QString::fromUtf8(" › "));
  }
  for (QAction* action : others) out.add(action, {});
  return out.take();
}

CommandPalette::CommandPalette(std::vector<Command> commands, QWidget* parent)
    : QDialog(parent, Qt::Dialog | Qt::FramelessWindowHint), commands_(std::move(commands)) {
  setObjectName("commandPalette");
  setWindowTitle(tr("Commands"));
  setAccessibleName(tr("Commands"));
  field_ = new QLineEdit;
  field_->setObjectName("commandField");
  field_->setAccessibleName(tr("Words of a command"));
  field_->setPlaceholderText(tr("Command, view or report"));
  field_->installEventFilter(this);
  list_ = new QListWidget;
  list_->setObjectName("commandList");
  list_->setAccessibleName(tr("Commands that have the words"));
  list_->setItemDelegate(new CommandDelegate(list_));
  list_->setFrameShape(QFrame::NoFrame);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setUniformItemSizes(true);
  list_->setFocusPolicy(Qt::NoFocus);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(10, 10, 10, 10);
  layout->addWidget(field_);
  layout->addWidget(list_, 1);
  count_ = new QLabel;
  count_->setObjectName("commandCount");
  count_->setFont(ui_font(11));
  count_->hide();
  layout->addWidget(count_);
  connect(field_, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(field_, &QLineEdit::returnPressed, this, &CommandPalette::runCurrent);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::runCurrent);
  resize(560, 380);
  filter();
}

void CommandPalette::filter() {
  const QStringList words = field_->text().split(' ', Qt::SkipEmptyParts);
  list_->clear();
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    const Command& command = commands_[i];
    const bool has_all = command.action && std::all_of(words.begin(), words.end(), [&](const QString& word) {
                           return command.name.contains(word, Qt::CaseInsensitive);
                         });
    if (!has_all) continue;
    auto* item = new QListWidgetItem(command.name, list_);
    QStringList keys;
    for (const QKeySequence& key : command.action->shortcuts()) keys << key.toString(QKeySequence::NativeText);
    item->setData(kKeys, keys.join(", "));
    item->setData(kCommand, static_cast<int>(i));
    item->setData(kEnabled, command.action->isEnabled());
    if (command.action->isCheckable() && command.action->isChecked()) item->setText(command.name + tr(" (on)"));
  }
  addHits();
  if (list_->count() > 0) list_->setCurrentRow(0);
}

void CommandPalette::setSearch(PaletteSearch search, const QString& hint) {
  search_ = std::move(search);
  field_->setPlaceholderText(hint);
  filter();
}

void CommandPalette::addHits() {
  const QString text = field_->text().trimmed();
  hits_ = search_ && text.size() >= 2 ? search_(text) : std::vector<PaletteHit>();
  for (std::size_t i = 0; i < hits_.size(); ++i) {
    auto* item = new QListWidgetItem(hits_[i].name, list_);
    item->setData(kKeys, hits_[i].where);
    item->setData(kCommand, -1 - static_cast<int>(i));
    item->setData(kEnabled, true);
    item->setToolTip(hits_[i].name);
  }
  count_->setVisible(search_ && text.size() >= 2);
  count_->setText(hits_.empty() ? tr("Nothing in the report has this.")
                                : tr("%1 shown; F3 and Shift+F3 go on from one to the next").arg(hits_.size()));
}

// Closed ahead of the command, which may open a window of its own.
void CommandPalette::runCurrent() {
  const QListWidgetItem* item = list_->currentItem();
  if (!item || !item->data(kEnabled).toBool()) return;
  if (const int place = item->data(kCommand).toInt(); place < 0) {
    const std::function<void()> go = hits_[static_cast<std::size_t>(-1 - place)].go;
    accept();
    return go();
  }
  const QPointer<QAction> action = commands_[static_cast<std::size_t>(item->data(kCommand).toInt())].action;
  accept();
  if (action) action->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return QDialog::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  for (const int moves : {Qt::Key_Up, Qt::Key_Down, Qt::Key_PageUp, Qt::Key_PageDown}) {
    if (key != moves) continue;
    QCoreApplication::sendEvent(list_, event);
    return true;
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace superstep::gui
