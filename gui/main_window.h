// SPDX-License-Identifier: Apache-2.0
// The window: menu, tool bar, list of views, the view shown, selection card, status bar.
#pragma once

#include <QDir>
#include <QMainWindow>
#include <QString>
#include <vector>

#include "gui/base/preferences.h"
#include "gui/session/demo.h"
#include "gui/session/explain.h"
#include "gui/session/find.h"
#include "gui/session/marks.h"
#include "gui/session/report_export.h"
#include "gui/session/session.h"

class QComboBox;
class QDockWidget;
class QLabel;
class QListWidget;
class QStackedWidget;

namespace superstep::gui {

class ExplainPanel;
class MarksPanel;
class StartPage;
class View;

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  // Jobs and reports of demos go to `demo_folder`.
  explicit MainWindow(Session& session, const Preferences& preferences = Preferences(),
                      const QString& demo_folder = QDir::tempPath() + "/superstep-demo");
  ~MainWindow() override;

  void showView(int view);  // row of all_views(); made when first shown
  int currentView() const { return current_; }
  // Reports are opened, jobs, sweeps and folders of them queued.
  void openFiles(const QStringList& paths);
  // Why the last report could not be opened; empty when it could.
  QString message() const;
  void saveLayout(const QString& name);  // where the docks are; an old one of that name is replaced
  DemoMaker& demoMaker() { return demos_; }
  // What is at a place of the current view.
  void explainAt(const QPoint& at);
  // Writes the current view; a failure is shown as message() and gives false.
  bool exportTo(const QString& path);
  // Has the current report written in another program's format; reportExport() says what came of it.
  void exportAs(const QString& format, const QString& path);
  ReportExport& reportExport() { return reportExport_; }
  bool shareTo(const QString& path);  // the current report with its marks, the view and the layouts; as exportTo()

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void makeMenus();
  void makeReportMenu();
  void makeViewMenu();
  void makeToolsMenu();
  void makeToolBar();
  void makeCentre();
  StartPage* makeStartPage();
  QWidget* makeMessageBar();
  QAction* makeAction(const QString& text, const char* name, const QKeySequence& key);
  bool canShow() const;  // the current view has something to show
  void showReport();
  void showStatus();
  void setMessage(const QString& text);
  void chooseReport();
  void showRecent();
  void reopenSession();
  void makeDemo(const Demo& demo);
  void openDemo(const Demo& demo, const QStringList& reports);
  void chooseExport(const QString& ending);
  void showKeys();
  void setTheme(const QString& name);
  void showOpenReports();
  void makeFind(QMenu* menu);
  void showPalette();
  void showFind();
  void goToFound(std::size_t place);
  void findNext(int step);
  void makeMarks(QMenu* menu);
  void loadMarks();
  void saveMarks();
  void startMark();
  void addMark(const QString& note);
  void goToMark(int mark);
  void exportMarks();
  void makeExportAs(QMenu* menu);
  void makeShare(QMenu* menu);
  QString openShared(const QString& path);  // why it could not be; empty: it is open, or failed() said why
  void makeWhatIf(QMenu* menu);
  void placeWhatIf(bool docked);
  View* viewOf(int row);                          // made when first wanted
  View* viewAround(const QWidget* widget) const;  // that the widget is a part of; null: of none that is shown
  void makeLayouts(QMenu* menu);
  void showLayouts();
  QDockWidget* makeDock(QWidget* widget, const QString& title, const char* name);
  View* shownView() const;  // null: the start page, or none made yet
  void explainHere();
  void explainIn(View& view, const QPoint& at);
  ExplainedPlace placeAt(View& view, const QPoint& at);
  void showTip(QWidget& widget, const QPoint& at);  // of the screen
  void followExplanation(QWidget* widget, const QEvent& event);
  void showExplanation(ExplainedPlace place, const QPoint& beside);

  Session& session_;
  Preferences preferences_;
  DemoMaker demos_;
  ReportExport reportExport_;
  int current_ = 0;
  std::vector<View*> views_;  // null until shown
  QStackedWidget* pages_ = nullptr;
  StartPage* startPage_ = nullptr;
  QMenu* recentMenu_ = nullptr;
  QMenu* reportsMenu_ = nullptr;
  QMenu* layoutsMenu_ = nullptr;
  QByteArray firstLayout_;    // of docks, before any was moved
  std::vector<Found> found_;  // by the last search
  std::size_t foundAt_ = 0;
  std::vector<Mark> marks_;  // of the current report
  TableModel marksTable_;
  MarksPanel* marksPanel_ = nullptr;
  QDockWidget* marksDock_ = nullptr;
  QListWidget* viewList_ = nullptr;
  QComboBox* reports_ = nullptr;
  QAction* reportsAction_ = nullptr;  // shows and hides the combo box
  QWidget* chips_ = nullptr;
  QWidget* messageBar_ = nullptr;
  QLabel* messageText_ = nullptr;
  QLabel* statusLeft_ = nullptr;
  QLabel* statusRight_ = nullptr;
  QAction* reload_ = nullptr;
  QAction* reopen_ = nullptr;  // the reports, the view and the docks of the last time
  QAction* back_ = nullptr;
  QAction* forward_ = nullptr;
  QAction* explain_ = nullptr;
  ExplainPanel* explainPanel_ = nullptr;
  QDockWidget* explainDock_ = nullptr;
  QDockWidget* whatIfDock_ = nullptr;
  int besideWhatIf_ = 0;               // the last view that is another one
  TableModel keyNumbers_, waterfall_;  // whose numbers any view may show
  std::vector<QAction*> needReport_;   // enabled only with a report
};

}  // namespace superstep::gui
