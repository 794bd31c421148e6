// SPDX-License-Identifier: Apache-2.0
// All commands by name: type words, Enter runs the first that has them all. It lists the actions there are.
#pragma once

#include <QDialog>
#include <QList>
#include <QPointer>
#include <functional>
#include <vector>

class QAction;
class QLabel;
class QLineEdit;
class QListWidget;
class QMenuBar;

namespace superstep::gui {

// An action with the menus it is in: "View › Dark theme".
struct Command {
  QPointer<QAction> action;
  QString name;
};
// Those of the menus, whose submenus are gone into, then those of `others` that no menu has. None is listed twice.
std::vector<Command> commands_of(const QMenuBar& menus, const QList<QAction*>& others);

// What a search finds: a name, what it is and where it is seen, and what goes there.
struct PaletteHit {
  QString name, where;
  std::function<void()> go;
};
using PaletteSearch = std::function<std::vector<PaletteHit>(const QString&)>;

class CommandPalette : public QDialog {
  Q_OBJECT
 public:
  CommandPalette(std::vector<Command> commands, QWidget* parent);
  // Hits stand below the commands; they are looked for from two letters on.
  void setSearch(PaletteSearch search, const QString& hint);

  QLineEdit* field() const { return field_; }
  QListWidget* list() const { return list_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void filter();
  void addHits();
  void runCurrent();

  std::vector<Command> commands_;
  PaletteSearch search_;
  std::vector<PaletteHit> hits_;
  QLabel* count_;
  QLineEdit* field_;
  QListWidget* list_;
};

}  // namespace superstep::gui
