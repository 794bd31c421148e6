// SPDX-License-Identifier: Apache-2.0
#include "gui/main_window.h"

#include <QApplication>
#include <QComboBox>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/base/theme.h"
#include "gui/batch/files.h"
#include "gui/batch/queue.h"
#include "gui/session/export.h"
#include "gui/session/share.h"
#include "gui/session/view.h"
#include "gui/widgets/chips.h"
#include "gui/widgets/side_bar.h"
#include "gui/widgets/start_page.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

// Asks for the room of the page that is shown, not of the largest one.
class Pages : public QStackedWidget {
 public:
  Pages() { connect(this, &QStackedWidget::currentChanged, this, &QWidget::updateGeometry); }
  // Beside docks a view scrolls that says with its property how narrow it may become; pictures have the size asked for.
  QSize minimumSizeHint() const override {
    const QWidget* page = currentWidget();
    if (!page) return {};
    return page->minimumSizeHint()
        .expandedTo(page->minimumSize())
        .expandedTo({page->property("leastWidth").toInt(), 0});
  }
  // Lines that wrap ask for the height they would like best.
  int heightForWidth(int) const override { return minimumSizeHint().height(); }
};

bool is_what_if(int view) { return std::string_view(all_views()[static_cast<std::size_t>(view)].id) == "whatif"; }

}  // namespace

MainWindow::MainWindow(Session& session, const Preferences& preferences, const QString& demo_folder)
    : session_(session), preferences_(preferences), demos_(demo_folder), views_(all_views().size(), nullptr) {
  setWindowTitle(tr("Superstep"));
  setAcceptDrops(true);
  resize(1440, 900);
  makeMenus();
  makeToolBar();
  makeCentre();
  statusLeft_ = new ElidedLabel;
  statusRight_ = new QLabel;
  for (QLabel* label : {statusLeft_, statusRight_}) {
    label->setFont(ui_font(11));
    label->setContentsMargins(10, 0, 10, 0);
  }
  statusBar()->setSizeGripEnabled(false);
  statusBar()->setFixedHeight(24);
  statusBar()->addWidget(statusLeft_, 1);
  statusBar()->addPermanentWidget(statusRight_);
  connect(&session_, &Session::reportChanged, this, &MainWindow::showReport);
  connect(&session_, &Session::reportChanged, this, &MainWindow::loadMarks);
  connect(&session_, &Session::reportChanged, this, [this] { found_.clear(); });
  connect(&session_, &Session::failed, this, &MainWindow::setMessage);
  connect(&session_, &Session::selectionChanged, this, &MainWindow::showStatus);
  connect(&demos_, &DemoMaker::made, this, &MainWindow::openDemo);
  connect(&demos_, &DemoMaker::failed, this, [this](const QString& message) {
    showStatus();
    setMessage(message);
  });
  session_.setUnits(preferences_.units());
  if (!preferences_.colorMap().isEmpty()) session_.setColorMap(preferences_.colorMap());
  connect(&session_, &Session::colorMapChanged, this, [this] { preferences_.setColorMap(session_.colorMap()); });
  showRecent();
  showReport();
  viewList_->setFocus();
}

StartPage* MainWindow::makeStartPage() {
  auto* page = new StartPage;
  connect(page, &StartPage::chooseRequested, this, &MainWindow::chooseReport);
  connect(page, &StartPage::openRequested, this, &MainWindow::openFiles);
  connect(page, &StartPage::demoRequested, this, &MainWindow::makeDemo);
  return page;
}

QWidget* MainWindow::makeMessageBar() {
  messageBar_ = new QWidget;
  messageBar_->setObjectName("messageBar");
  messageText_ = new QLabel;
  messageText_->setObjectName("message");
  messageText_->setWordWrap(true);
  messageText_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* close = new QPushButton(tr("Close"));
  close->setObjectName("closeMessage");
  connect(close, &QPushButton::clicked, this, [this] { setMessage({}); });
  auto* layout = new QHBoxLayout(messageBar_);
  layout->setContentsMargins(12, 12, 12, 0);
  layout->addWidget(messageText_, 1);
  layout->addWidget(close, 0, Qt::AlignTop);
  messageBar_->hide();
  return messageBar_;
}

void MainWindow::makeCentre() {
  viewList_ = new ViewList;
  auto* side = new SideBar;
  auto* side_layout = new QVBoxLayout(side);
  side_layout->setContentsMargins(0, 6, 0, 0);
  side_layout->addWidget(viewList_, 1);
  side_layout->addWidget(new SelectionCard(session_));
  connect(viewList_, &QListWidget::currentRowChanged, this, [this](int row) {
    if (row >= 0) showView(row);
  });
  pages_ = new Pages;
  startPage_ = makeStartPage();
  pages_->addWidget(startPage_);
  auto* right = new QVBoxLayout;
  right->setSpacing(0);
  right->addWidget(makeMessageBar());
  // Beside docks there may be less room than a view needs.
  auto* room = new QScrollArea;
  room->setWidgetResizable(true);
  room->setFrameShape(QFrame::NoFrame);
  room->setFocusPolicy(Qt::NoFocus);
  room->setWidget(pages_);
  right->addWidget(room, 1);
  auto* centre = new QWidget;
  auto* layout = new QHBoxLayout(centre);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(side);
  layout->addLayout(right, 1);
  setCentralWidget(centre);
}

void MainWindow::showView(int view) {
  if (view < 0 || view >= static_cast<int>(views_.size())) return;
  current_ = view;
  viewList_->setCurrentRow(view);
  if (!canShow()) {
    pages_->setCurrentWidget(startPage_);
    showStatus();
    return;
  }
  if (is_what_if(view)) {
    whatIfDock_->hide();  // it comes out of its dock
  } else {
    besideWhatIf_ = view;
  }
  View* page = viewOf(view);
  pages_->setCurrentWidget(page);
  page->setFocus();
  showStatus();
}

View* MainWindow::viewOf(int row) {
  View*& view = views_[static_cast<std::size_t>(row)];
  if (view) return view;
  view = all_views()[static_cast<std::size_t>(row)].make(session_, nullptr);
  pages_->addWidget(view);
  connect(view, &View::statusChanged, this, &MainWindow::showStatus);
  connect(view, &View::viewWanted, this, [this](const QString& id) {
    const ViewDef* wanted = find_view(id.toStdString());
    if (!wanted) return;
    const int wanted_row = static_cast<int>(wanted - all_views().data());
    if (is_what_if(wanted_row) && !whatIfDock_->isHidden()) return whatIfDock_->raise();
    showView(wanted_row);
  });
  return view;
}

bool MainWindow::canShow() const {
  return session_.report() || all_views()[static_cast<std::size_t>(current_)].without_report;
}

void MainWindow::showReport() {
  const ReportPointer report = session_.report();
  reportsAction_->setVisible(report != nullptr);
  if (report) {
    setMessage({});
    const QStringList paths = session_.paths();
    reports_->clear();
    for (const QString& path : paths) reports_->addItem(QFileInfo(path).fileName());
    for (int i = 0; i < paths.size(); ++i) reports_->setItemData(i, paths[i], Qt::ToolTipRole);
    reports_->setCurrentIndex(session_.current());
    showOpenReports();
    setWindowTitle(QFileInfo(paths[session_.current()]).fileName() + " – Superstep");
    preferences_.addRecent(paths[session_.current()]);
    showRecent();
  }
  static_cast<Chips*>(chips_)->setReport(report);
  showView(current_);
  showStatus();
}

void MainWindow::showStatus() {
  back_->setEnabled(session_.canGoBack());
  forward_->setEnabled(session_.canGoForward());
  for (QAction* action : needReport_) action->setEnabled(action == reload_ ? session_.report() != nullptr : canShow());
  const View* view = canShow() ? views_[static_cast<std::size_t>(current_)] : nullptr;
  statusLeft_->setText(view ? view->statusText() : tr("No report"));
  statusRight_->setText(view ? view->unitsText() : QString());
}

QString MainWindow::message() const { return messageText_->text(); }

void MainWindow::setMessage(const QString& text) {
  const Theme& theme = theme_of(this);
  messageText_->setStyleSheet(QString("background: %1; color: %2; border-left: 5px solid %2; padding: 6px 10px;")
                                  .arg(theme.over_fill.name(), theme.over.name()));
  messageText_->setText(text);
  messageBar_->setVisible(!text.isEmpty());
}

void MainWindow::chooseReport() {
  openFiles(QFileDialog::getOpenFileNames(
      this, tr("Open reports, queue jobs"), {},
      tr("Superstep reports, jobs and sweeps (*.ssr *.superstep *.json);;Reports (*.ssr);;All files (*)")));
}

void MainWindow::openFiles(const QStringList& paths) {
  QStringList queued, messages;
  const auto failed = connect(&session_, &Session::failed, this, [&](const QString& text) { messages << text; });
  for (const QString& path : paths) {
    if (can_be_queued(path)) {
      queued << path;
    } else if (is_share(path)) {
      const QString message = openShared(path);
      if (!message.isEmpty()) messages << message;
    } else {
      session_.open(path);
    }
  }
  if (!queued.isEmpty()) {
    const ViewDef* batch = find_view("batch");
    showView(static_cast<int>(batch - all_views().data()));
    const QString left_out = session_.batch().addAll(queued);
    if (!left_out.isEmpty()) messages << left_out;
  }
  disconnect(failed);
  if (!messages.isEmpty()) setMessage(messages.join('\n'));  // what opened later hid them
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (session_.report()) {
    QStringList paths;
    for (const QString& path : session_.paths()) paths << QFileInfo(path).absoluteFilePath();
    preferences_.setLastSession({paths, all_views()[static_cast<std::size_t>(current_)].id, saveState()});
  }
  QMainWindow::closeEvent(event);
}

void MainWindow::reopenSession() {
  const Preferences::LastSession last = preferences_.lastSession();
  openFiles(last.reports);
  session_.setCurrent(0);
  restoreState(last.docks);
  if (const ViewDef* view = find_view(last.view.toStdString())) showView(static_cast<int>(view - all_views().data()));
}

void MainWindow::showRecent() {
  const QStringList paths = preferences_.recent();
  constexpr qsizetype kAtOnce = 8;  // the others one menu deeper
  startPage_->setRecent(paths.mid(0, kAtOnce));
  recentMenu_->clear();
  recentMenu_->setEnabled(!paths.isEmpty());
  QMenu* menu = recentMenu_;
  for (qsizetype i = 0; i < paths.size(); ++i) {
    if (i == kAtOnce) {
      menu = recentMenu_->addMenu(tr("&More…"));
      menu->setObjectName("moreRecentMenu");
    }
    QAction* action = menu->addAction(QString(paths[i]).replace('&', "&&"));
    connect(action, &QAction::triggered, this, [this, path = paths[i]] { openFiles({path}); });
  }
  recentMenu_->addSeparator();
  connect(recentMenu_->addAction(tr("&Clear the list")), &QAction::triggered, this, [this] {
    preferences_.clearRecent();
    showRecent();
  });
}

void MainWindow::makeDemo(const Demo& demo) {
  demos_.make(demo);
  if (const Demo* making = demos_.making())
    statusLeft_->setText(tr("Making the demo's reports: %1").arg(making->title));
}

void MainWindow::openDemo(const Demo& demo, const QStringList& reports) {
  openFiles(reports);
  CompareState compared = session_.compareState();
  compared.reports.clear();
  for (const QString& report : reports)
    compared.reports.push_back(static_cast<int>(session_.paths().indexOf(QFileInfo(report).absoluteFilePath())));
  session_.setCurrent(compared.reports[0]);
  session_.setCompareState(compared);
  showView(static_cast<int>(find_view(demo.view) - all_views().data()));
}

void MainWindow::chooseExport(const QString& ending) {
  const QString path = QFileDialog::getSaveFileName(
      this, tr("Export this view"), QString("%1.%2").arg(all_views()[static_cast<std::size_t>(current_)].id, ending));
  if (!path.isEmpty()) exportTo(QFileInfo(path).suffix().isEmpty() ? path + '.' + ending : path);
}

bool MainWindow::exportTo(const QString& path) {
  try {
    const View* view = shownView();
    export_view(session_, all_views()[static_cast<std::size_t>(current_)], path, kExportSize, view ? view->page() : -1);
  } catch (const Error& error) {
    setMessage(QString::fromUtf8(error.what()));
    return false;
  }
  statusLeft_->setText(tr("Wrote %1").arg(path));
  return true;
}

void MainWindow::setTheme(const QString& name) {
  preferences_.setTheme(name);
  apply_theme(*qApp, theme_named(name));
  back_->setIcon(icon_pixmap("back", theme_of(this).secondary, 16, devicePixelRatioF()));
  forward_->setIcon(icon_pixmap("forward", theme_of(this).secondary, 16, devicePixelRatioF()));
  setMessage(message());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
  }
  openFiles(paths);
}

}  // namespace superstep::gui
