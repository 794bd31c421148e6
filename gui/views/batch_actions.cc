// SPDX-License-Identifier: Apache-2.0
// What can be done on the batch page.
#include <QAction>
#include <QFileDialog>
#include <QFileInfo>

#include "gui/models/batch_export.h"
#include "gui/session/export.h"
#include "gui/views/batch.h"
#include "model/error.h"

namespace superstep::gui {

QAction* BatchView::makeAction(const QString& text, const char* name, const QString& tip, const QKeySequence& key) {
  auto* action = new QAction(text, this);
  action->setObjectName(name);
  action->setToolTip(key.isEmpty() ? tip : QString("%1 (%2)").arg(tip, key.toString(QKeySequence::NativeText)));
  action->setShortcut(key);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  addAction(action);
  return action;
}

void BatchView::makeActions() {
  const auto of_selected = [this](void (BatchQueue::*act)(int)) {
    return [this, act] {
      for (const int id : selected()) (queue_.*act)(id);
    };
  };
  Actions& a = actions_;
  a.add = makeAction(tr("Add…"), "batchAdd", tr("Add jobs and sweeps to the queue"), {});
  a.run = makeAction(tr("Run"), "batchRun", tr("Plan what waits, or start nothing more"), QKeySequence(Qt::Key_R));
  a.cancel = makeAction(tr("Cancel"), "batchCancel", tr("End the selected rows that run"), {});
  a.cancel_all = makeAction(tr("Cancel all"), "batchCancelAll", tr("End all that run, and start nothing more"), {});
  a.rerun = makeAction(tr("Run again"), "batchRerun", tr("Queue the selected rows again"), {});
  a.remove = makeAction(tr("Remove"), "batchRemove", tr("Take the selected rows out of the queue"), Qt::Key_Delete);
  a.up = makeAction(tr("↑"), "batchUp", tr("Run the selected row earlier"), QKeySequence(Qt::CTRL | Qt::Key_Up));
  a.down = makeAction(tr("↓"), "batchDown", tr("Run the selected row later"), QKeySequence(Qt::CTRL | Qt::Key_Down));
  a.clear = makeAction(tr("Clear ended"), "batchClear", tr("Take out all rows that have ended; files stay"), {});
  a.open = makeAction(tr("Open"), "batchOpen", tr("Open the report of the selected row (Enter)"), {});
  a.compare = makeAction(tr("Compare"), "batchCompare", tr("Open the reports of the selected rows side by side"), {});
  a.output = makeAction(tr("Write to…"), "batchOutput", tr("Choose the file that the selected row writes"), {});
  connect(a.add, &QAction::triggered, this, &BatchView::chooseFiles);
  connect(a.run, &QAction::triggered, this, [this] { queue_.isOn() ? queue_.pause() : queue_.run(); });
  connect(a.cancel, &QAction::triggered, this, of_selected(&BatchQueue::cancel));
  connect(a.cancel_all, &QAction::triggered, &queue_, &BatchQueue::cancelAll);
  connect(a.rerun, &QAction::triggered, this, of_selected(&BatchQueue::rerun));
  connect(a.remove, &QAction::triggered, this, of_selected(&BatchQueue::remove));
  connect(a.up, &QAction::triggered, this, [this] {
    for (const int id : selected()) queue_.move(id, -1);
  });
  connect(a.down, &QAction::triggered, this, [this] {
    const auto ids = selected();
    for (auto id = ids.rbegin(); id != ids.rend(); ++id) queue_.move(*id, 1);
  });
  connect(a.clear, &QAction::triggered, &queue_, &BatchQueue::clearEnded);
  connect(a.open, &QAction::triggered, this, &BatchView::openReport);
  connect(a.compare, &QAction::triggered, this, &BatchView::compare);
  connect(a.output, &QAction::triggered, this, &BatchView::chooseOutput);
}

void BatchView::openReport() {
  const QStringList paths = reports();
  if (paths.isEmpty() || !session_.open(paths.first())) return;
  emit viewWanted("summary");
}

void BatchView::planItem(int item) {
  const std::vector<int> ids = selected();
  if (ids.size() != 1) return;
  const QString sweep = queue_.find(ids[0])->path;
  for (const BatchItem& planned : queue_.items()) {
    if (planned.path != sweep || planned.of_sweep != item || planned.state != BatchState::done) continue;
    if (session_.open(planned.output)) emit viewWanted("summary");
    return;
  }
  queue_.addItem(sweep, item);
  queue_.run();
}

void BatchView::compare() {
  CompareState state = session_.compareState();
  state.reports.clear();
  for (const QString& path : reports().mid(0, static_cast<qsizetype>(kMostCompared))) {
    if (session_.open(path)) state.reports.push_back(session_.current());
  }
  if (state.reports.size() < 2) return;
  session_.setCurrent(state.reports.front());
  session_.setCompareState(state);
  emit viewWanted("compare");
}

void BatchView::chooseFiles() {
  const QStringList paths =
      QFileDialog::getOpenFileNames(this, tr("Add jobs and sweeps"), {}, tr("Jobs and sweeps (*.json);;All files (*)"));
  const QString left_out = queue_.addAll(paths);
  if (!left_out.isEmpty()) emit session_.failed(left_out);
}

void BatchView::chooseFolder() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("Write reports into"), queue_.folder());
  if (!folder.isEmpty()) queue_.setFolder(folder);
}

void BatchView::chooseOutput() {
  const std::vector<int> ids = selected();
  if (ids.size() != 1) return;
  const bool job = queue_.find(ids[0])->kind == BatchKind::job;
  const QString path = QFileDialog::getSaveFileName(this, tr("Write to"), queue_.find(ids[0])->output,
                                                    job ? tr("Reports (*.ssr)") : tr("Results (*.sqlite)"), nullptr,
                                                    job ? QFileDialog::Options() : QFileDialog::DontConfirmOverwrite);
  if (path.isEmpty()) return;
  queue_.setOutput(ids[0], QFileInfo(path).suffix().isEmpty() ? path + (job ? ".ssr" : ".sqlite") : path);
  queue_.rerun(ids[0]);
}

void BatchView::chooseExport(const QString& ending) {
  const QString path = QFileDialog::getSaveFileName(this, tr("Write the results"), "batch." + ending);
  if (!path.isEmpty()) exportTo(QFileInfo(path).suffix().isEmpty() ? path + '.' + ending : path);
}

void BatchView::exportTo(const QString& path) {
  try {
    if (is_batch_format(path)) {
      write_batch(queue_.items(), path);
    } else if (QFileInfo(path).suffix().toLower() == "csv") {
      export_view(session_, *find_view("batch"), path);
    } else {
      throw Error(path.toStdString(), "the ending says the format, expected one of: csv, md, json, xml");
    }
  } catch (const Error& error) {
    emit session_.failed(QString::fromUtf8(error.what()));
  }
}

}  // namespace superstep::gui
