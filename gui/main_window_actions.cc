// SPDX-License-Identifier: Apache-2.0
// Menus, tool bar and keys of the window.
#include <QActionGroup>
#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMenuBar>
#include <QToolBar>
#include <QToolButton>

#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/session/view.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/elided_combo.h"

namespace superstep::gui {

QAction* MainWindow::makeAction(const QString& text, const char* name, const QKeySequence& key) {
  auto* action = new QAction(text, this);
  action->setObjectName(name);
  action->setShortcut(key);
  addAction(action);
  return action;
}

void MainWindow::makeMenus() {
  makeReportMenu();
  makeViewMenu();
  makeToolsMenu();
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  QAction* keys = makeAction(tr("&Keys…"), "keys", QKeySequence(Qt::Key_Question));
  connect(keys, &QAction::triggered, this, &MainWindow::showKeys);
  help->addAction(keys);
}

void MainWindow::makeReportMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  QAction* open = makeAction(tr("&Open…"), "open", QKeySequence::Open);
  connect(open, &QAction::triggered, this, &MainWindow::chooseReport);
  reload_ = makeAction(tr("&Reload"), "reload", QKeySequence(Qt::Key_F5));
  connect(reload_, &QAction::triggered, &session_, &Session::reload);
  menu->addAction(open);
  recentMenu_ = menu->addMenu(tr("Open &recent"));
  recentMenu_->setObjectName("recentMenu");
  reportsMenu_ = menu->addMenu(tr("Open rep&orts"));
  reportsMenu_->setObjectName("reportsMenu");
  reportsMenu_->setEnabled(false);
  reopen_ = makeAction(tr("Reopen &last session"), "reopenSession", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T));
  reopen_->setEnabled(!preferences_.lastSession().reports.isEmpty());
  connect(reopen_, &QAction::triggered, this, &MainWindow::reopenSession);
  menu->addAction(reopen_);
  QMenu* demo_menu = menu->addMenu(tr("&Demo"));
  for (const Demo& demo : demos()) {
    QAction* action = demo_menu->addAction(demo.title);
    action->setObjectName(QString("openDemo_") + demo.id);
    connect(action, &QAction::triggered, this, [this, &demo] { makeDemo(demo); });
  }
  menu->addAction(reload_);
  menu->addSeparator();
  needReport_.push_back(reload_);
  for (const char* ending : {"png", "svg", "csv"}) {
    const QString upper = QString(ending).toUpper();
    QAction* action = makeAction(tr("Export %1…").arg(upper), qPrintable("export" + upper),
                                 ending == QLatin1String("png") ? QKeySequence(Qt::CTRL | Qt::Key_E) : QKeySequence());
    connect(action, &QAction::triggered, this, [this, ending] { chooseExport(ending); });
    menu->addAction(action);
    needReport_.push_back(action);
  }
  makeExportAs(menu);
  makeShare(menu);
  menu->addSeparator();
  QAction* quit = makeAction(tr("&Quit"), "quit", QKeySequence(Qt::CTRL | Qt::Key_Q));
  connect(quit, &QAction::triggered, this, &QWidget::close);
  menu->addAction(quit);
}

void MainWindow::makeViewMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < static_cast<int>(all_views().size()); ++i) {
    const ViewDef& view = all_views()[static_cast<std::size_t>(i)];
    QAction* action = makeAction(view.title, view.id, QKeySequence(view.shortcut));
    connect(action, &QAction::triggered, this, [this, i] { showView(i); });
    menu->addAction(action);
  }
  menu->addSeparator();
  back_ = makeAction(tr("Selection &back"), "back", QKeySequence(Qt::ALT | Qt::Key_Left));
  forward_ = makeAction(tr("Selection &forward"), "forward", QKeySequence(Qt::ALT | Qt::Key_Right));
  QAction* clear = makeAction(tr("&Clear selection"), "clear", QKeySequence(Qt::Key_Escape));
  connect(back_, &QAction::triggered, &session_, &Session::goBack);
  connect(forward_, &QAction::triggered, &session_, &Session::goForward);
  connect(clear, &QAction::triggered, this, [this] { session_.select({}); });
  menu->addActions({back_, forward_, clear});
  menu->addSeparator();
  QAction* exact = makeAction(tr("Sizes in &bytes instead of KiB"), "bytes", QKeySequence(Qt::CTRL | Qt::Key_B));
  exact->setCheckable(true);
  exact->setChecked(preferences_.units() == Units::bytes);
  connect(exact, &QAction::toggled, this, [this](bool on) {
    session_.setUnits(on ? Units::bytes : Units::kib);
    preferences_.setUnits(session_.units());
  });
  QAction* dark = makeAction(tr("&Dark theme"), "dark", QKeySequence(Qt::CTRL | Qt::Key_D));
  QAction* bright = makeAction(tr("&High contrast"), "contrast", QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D));
  auto* themes = new QActionGroup(this);
  themes->setExclusionPolicy(QActionGroup::ExclusionPolicy::ExclusiveOptional);  // neither: the light one
  for (QAction* theme : {dark, bright}) {
    theme->setCheckable(true);
    theme->setChecked(name_of(theme_of(QApplication::palette())) == theme->objectName());
    themes->addAction(theme);
  }
  for (QAction* theme : {dark, bright}) {
    connect(theme, &QAction::toggled, this, [this, themes] {
      setTheme(themes->checkedAction() ? themes->checkedAction()->objectName() : QString("light"));
    });
  }
  menu->addActions({exact, dark, bright});
}

void MainWindow::makeToolBar() {
  auto* bar = new QToolBar(tr("Report"));
  bar->setObjectName("toolBar");
  bar->setMovable(false);
  bar->setFixedHeight(41);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  addToolBar(bar);
  back_->setIcon(icon_pixmap("back", theme_of(this).secondary, 16, devicePixelRatioF()));
  forward_->setIcon(icon_pixmap("forward", theme_of(this).secondary, 16, devicePixelRatioF()));
  const auto margin = [bar] {
    auto* space = new QWidget;
    space->setFixedWidth(4);
    bar->addWidget(space);
  };
  margin();
  for (QAction* action : {back_, forward_}) {
    bar->addAction(action);
    auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
    button->setToolButtonStyle(Qt::ToolButtonIconOnly);
    button->setAccessibleName(action->text().remove('&'));
    button->setFixedSize(26, 24);
    button->setStyleSheet("padding: 0;");
  }
  reports_ = new ElidedCombo;
  reports_->setObjectName("reports");
  reports_->setAccessibleName(tr("Open reports"));
  reports_->setFixedWidth(230);
  connect(reports_, &QComboBox::activated, &session_, &Session::setCurrent);
  reportsAction_ = bar->addWidget(reports_);
  chips_ = new Chips;
  bar->addWidget(chips_);
  const auto button = [&](const QString& text, const char* action_name) {
    auto* b = new QToolButton;
    b->setText(text);
    b->setAccessibleName(findChild<QAction*>(action_name)->text().remove('&'));
    b->setToolTip(b->accessibleName());
    connect(b, &QToolButton::clicked, findChild<QAction*>(action_name), &QAction::trigger);
    bar->addWidget(b);
  };
  button(tr("Find…"), "find");
  button(tr("Open…"), "open");
  button(tr("What-if"), "showWhatIf");
  button(tr("Export…"), "exportPNG");
  button(tr("?"), "keys");
  margin();
}

void MainWindow::showKeys() {
  auto* sheet = new QDialog(this);
  sheet->setObjectName("keySheet");
  sheet->setWindowTitle(tr("Keys"));
  sheet->setAttribute(Qt::WA_DeleteOnClose);
  auto* grid = new QGridLayout(sheet);
  grid->setContentsMargins(20, 16, 20, 16);
  grid->setHorizontalSpacing(28);
  int row = 0, column = 0;
  const auto add = [&](const QString& key, const QString& meaning) {
    auto* name = new QLabel(key);
    name->setFont(ui_font(12, QFont::DemiBold));
    grid->addWidget(name, row, column);
    grid->addWidget(new QLabel(meaning), row++, column + 1);
  };
  for (const QAction* action : actions()) {
    if (action->shortcut().isEmpty()) continue;
    QStringList keys;
    for (const QKeySequence& key : action->shortcuts()) keys << key.toString(QKeySequence::NativeText);
    add(keys.join(", "), action->text().remove('&').remove(QChar(0x2026)));
  }
  row = 0, column = 2;  // those of single views beside those of the window
  add(tr("W A S D"), tr("Heat map: move"));
  add(tr("Wheel, + −"), tr("Heat map: zoom"));
  add(tr("← → ↑ ↓"), tr("Heat map: next tile of the chip, next layer or phase; summary: next bar of tiles"));
  add(tr("[ ]"), tr("Graph by phase: previous, next phase"));
  add(tr("Space"), tr("Graph by phase: play, pause"));
  add(tr("O"), tr("Graph by phase: ops inside the call, calls"));
  add(tr("/"), tr("Search or filter the table; find in all views"));
  add(tr("Enter, Shift+Enter"), tr("Search: next, previous"));
  add(tr("← →, Home, End"), tr("Liveness: move the cursor; landscape: next plan"));
  add(tr("↑ ↓"), tr("Compare: select a term"));
  add(tr("F"), tr("Show everything"));
  add(tr("W S, Ctrl+wheel"), tr("Pipeline, trace: zoom"));
  add(tr("A D, wheel"), tr("Pipeline, trace: move"));
  add(tr(". ,"), tr("Pipeline, trace: next and previous box or step"));
  add(tr("[ ]"), tr("Pipeline, trace: previous and next part or cycle"));
  add(tr("R, Enter, Del"), tr("Batch: run or pause, open the report, remove"));
  add(tr("Ctrl+↑ Ctrl+↓"), tr("Batch: run earlier, later"));
  add(tr("Ctrl+C"), tr("Table: copy the selected rows, exact values"));
  sheet->show();
}

}  // namespace superstep::gui
