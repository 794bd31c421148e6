// SPDX-License-Identifier: Apache-2.0
// Jobs and sweeps in the order in which they run, some at once, each as `superstep plan` or `superstep sweep` in a
// child process of its own. Nothing starts before run(). Items are named by their id. Knows no widget.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <map>
#include <vector>

#include "gui/batch/child.h"
#include "gui/batch/item.h"

namespace superstep::gui {

class BatchQueue : public QObject {
  Q_OBJECT
 public:
  explicit BatchQueue(QObject* parent = nullptr);
  ~BatchQueue() override;

  // By default `superstep` beside the viewer; `arguments` come before those of the command.
  void setProgram(const QString& program, const QStringList& arguments);
  // What a child is started with; as text the command line that does the same.
  QStringList arguments(const BatchItem& item) const;
  QString commandText(const BatchItem& item) const;

  const std::vector<BatchItem>& items() const { return items_; }
  const BatchItem* find(int id) const;  // null: no such item
  int placeOf(int id) const;            // -1: no such item

  // A file that is there already and has ended waits again. Returns its id; throws Error when it is neither a job nor a
  // sweep.
  int add(const QString& path);
  // This item of a sweep as a job, so that there is a report of it.
  int addItem(const QString& sweep, int item);
  // The same with several files and folders. What cannot be queued is left out, and said: in the result, empty: all.
  QString addAll(const QStringList& paths);
  void remove(int id);  // one that runs is cancelled
  void move(int id, int by);
  void clearEnded();
  void rerun(int id);
  void cancel(int id);
  void cancelAll();                             // those that run; the others wait
  void setOutput(int id, const QString& path);  // chosen by somebody: may be replaced

  bool isOn() const { return on_; }  // what waits is started
  void run();
  void pause();  // those that run go on
  int running() const { return static_cast<int>(children_.size()); }
  int count(BatchState state) const;

  int atOnce() const { return atOnce_; }
  void setAtOnce(int children);
  static int mostAtOnce();
  const QString& folder() const { return folder_; }  // of results; empty: beside the files
  void setFolder(const QString& folder);

  // Keeps the list in this file from now on, and takes over what it holds. What ran when it was written waits.
  void remember(const QString& settings_file);

 signals:
  void added(int place);
  void removed(int place);
  void moved(int from, int to);
  void changed(int place);
  void stateChanged();  // isOn(), running(), how many wait, folder, how many at once
  void finished();      // nothing is left to do

 private:
  struct Running {
    BatchChild* child = nullptr;
    QElapsedTimer elapsed, silent;
    qint64 output_before = 0;                             // when it was last written, 0: not there
    std::shared_ptr<std::vector<BatchResult>> rows = {};  // of a sweep, as they come
  };
  BatchItem* at(int id);
  int append(BatchItem item);
  void proceed();  // starts what may start
  void start(BatchItem& item);
  void ended(int id, const BatchEnd& end);
  void drop(int id);  // its child
  void tick();
  void tell(int id);
  void save() const;
  void restore();

  QString program_;
  QStringList arguments_;
  std::vector<BatchItem> items_;
  std::map<int, Running> children_;
  QTimer timer_;
  QString folder_, settingsFile_;
  int lastId_ = 0;
  int atOnce_ = 1;
  bool on_ = false;
};

}  // namespace superstep::gui
