// SPDX-License-Identifier: Apache-2.0
#include "gui/batch/queue.h"

#include <QDateTime>
#include <QFileInfo>
#include <QThread>
#include <algorithm>

#include "gui/base/child_program.h"
#include "gui/batch/files.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

constexpr int kTick = 500;     // ms
constexpr int kMostNamed = 4;  // files that were left out, by name

qint64 written(const QString& path) {
  const QFileInfo file(path);
  return file.exists() ? file.lastModified().toMSecsSinceEpoch() : 0;
}

QString quoted(const QString& argument) {
  static const QString plain = "-_./=:,+";
  const bool simple = !argument.isEmpty() && std::all_of(argument.begin(), argument.end(), [](QChar c) {
    return (c.unicode() < 128 && c.isLetterOrNumber()) || plain.contains(c);
  });
  return simple ? argument : '\'' + QString(argument).replace('\'', "'\\''") + '\'';
}

// superstep's own words; the rest is how the viewer listens.
QStringList command(const BatchItem& item, const QString& output) {
  QStringList out{item.kind == BatchKind::job ? "plan" : "sweep", item.path};
  if (item.of_sweep >= 0) out << "--item" << QString::number(item.of_sweep);
  return out << "-o" << output;
}

}  // namespace

BatchQueue::BatchQueue(QObject* parent) : QObject(parent) {
  setProgram(child_program(), {});
  timer_.setInterval(kTick);
  connect(&timer_, &QTimer::timeout, this, &BatchQueue::tick);
}

BatchQueue::~BatchQueue() = default;

void BatchQueue::setProgram(const QString& program, const QStringList& arguments) {
  program_ = program;
  arguments_ = arguments;
}

// Those that run share the cores.
QStringList BatchQueue::arguments(const BatchItem& item) const {
  QStringList out = command(item, item.output) << QStringList{"--progress", "json"};
  out << (item.kind == BatchKind::job ? QStringList{"--quiet"} : QStringList{"--json", "-"});
  if (atOnce_ > 1) out << "--threads" << QString::number(std::max(1, mostAtOnce() / atOnce_));
  return out;
}

QString BatchQueue::commandText(const BatchItem& item) const {
  QString out = "superstep";
  for (const QString& word : command(item, item.output.isEmpty() ? free_output(item, folder_, {}) : item.output))
    out += ' ' + quoted(word);
  return out;
}

int BatchQueue::mostAtOnce() { return std::max(1, QThread::idealThreadCount()); }

BatchItem* BatchQueue::at(int id) {
  const int place = placeOf(id);
  return place < 0 ? nullptr : &items_[static_cast<std::size_t>(place)];
}

const BatchItem* BatchQueue::find(int id) const {
  const int place = placeOf(id);
  return place < 0 ? nullptr : &items_[static_cast<std::size_t>(place)];
}

int BatchQueue::placeOf(int id) const {
  const auto at = std::find_if(items_.begin(), items_.end(), [=](const BatchItem& item) { return item.id == id; });
  return at == items_.end() ? -1 : static_cast<int>(at - items_.begin());
}

int BatchQueue::count(BatchState state) const {
  return static_cast<int>(
      std::count_if(items_.begin(), items_.end(), [=](const BatchItem& item) { return item.state == state; }));
}

int BatchQueue::add(const QString& path) {
  BatchItem item;
  item.path = QFileInfo(path).absoluteFilePath();
  item.kind = kind_of_file(item.path);
  return append(std::move(item));
}

int BatchQueue::addItem(const QString& sweep, int item_of_sweep) {
  BatchItem item;
  item.path = sweep;
  item.of_sweep = item_of_sweep;
  return append(std::move(item));
}

int BatchQueue::append(BatchItem item) {
  for (const BatchItem& other : items_) {
    if (other.path != item.path || other.of_sweep != item.of_sweep) continue;
    const int id = other.id;
    rerun(id);
    return id;
  }
  item.id = ++lastId_;
  items_.push_back(std::move(item));
  emit added(static_cast<int>(items_.size()) - 1);
  emit stateChanged();
  save();
  proceed();
  return lastId_;
}

QString BatchQueue::addAll(const QStringList& paths) {
  const QStringList files = json_files(paths);
  if (files.isEmpty() && !paths.isEmpty()) return tr("%1 holds no JSON files.").arg(paths.join(", "));
  QStringList messages;
  for (const QString& file : files) {
    try {
      add(file);
    } catch (const Error& error) {
      messages << QString::fromUtf8(error.what());
    }
  }
  const auto more = messages.size() - kMostNamed;
  if (more > 0) {
    messages.resize(kMostNamed);
    messages << tr("and %1 more that are neither jobs nor sweeps").arg(more);
  }
  return messages.join('\n');
}

void BatchQueue::remove(int id) {
  const int place = placeOf(id);
  if (place < 0) return;
  drop(id);
  items_.erase(items_.begin() + place);
  emit removed(place);
  emit stateChanged();
  save();
  proceed();
}

void BatchQueue::move(int id, int by) {
  const int from = placeOf(id);
  const int to = std::clamp(from + by, 0, static_cast<int>(items_.size()) - 1);
  if (from < 0 || to == from) return;
  const auto first = items_.begin() + std::min(from, to), last = items_.begin() + std::max(from, to) + 1;
  to > from ? std::rotate(first, first + 1, last) : std::rotate(first, last - 1, last);
  emit moved(from, to);
  save();
}

void BatchQueue::clearEnded() {
  for (int place = static_cast<int>(items_.size()) - 1; place >= 0; --place) {
    const BatchItem& item = items_[static_cast<std::size_t>(place)];
    if (item.ended()) remove(item.id);
  }
}

void BatchQueue::rerun(int id) {
  BatchItem* item = at(id);
  if (!item || !item->ended()) return;
  item->state = BatchState::waiting;
  item->progress = {};
  item->seconds = item->silent_seconds = 0;
  item->message.clear();
  item->result.reset();
  item->rows.reset();
  tell(id);
  emit stateChanged();
  save();
  proceed();
}

void BatchQueue::cancel(int id) {
  BatchItem* item = at(id);
  if (!item || item->state != BatchState::running) return;
  drop(id);
  item->state = BatchState::cancelled;
  item->ours = written(item->output) != 0;
  tell(id);
  emit stateChanged();
  save();
  proceed();
}

void BatchQueue::cancelAll() {
  on_ = false;
  while (!children_.empty()) cancel(children_.begin()->first);
  emit stateChanged();
}

void BatchQueue::setOutput(int id, const QString& path) {
  BatchItem* item = at(id);
  if (!item || item->state == BatchState::running) return;
  item->output = QFileInfo(path).absoluteFilePath();
  item->chosen = true;
  tell(id);
  save();
}

void BatchQueue::run() {
  on_ = true;
  emit stateChanged();
  proceed();
}

void BatchQueue::pause() {
  on_ = false;
  emit stateChanged();
}

void BatchQueue::setAtOnce(int children) {
  atOnce_ = std::clamp(children, 1, mostAtOnce());
  emit stateChanged();
  save();
  proceed();
}

void BatchQueue::setFolder(const QString& folder) {
  folder_ = folder.isEmpty() ? QString() : QFileInfo(folder).absoluteFilePath();
  emit stateChanged();
  save();
}

void BatchQueue::proceed() {
  if (!on_) return;
  for (BatchItem& item : items_) {
    if (running() >= atOnce_) return;
    if (item.state == BatchState::waiting) return start(item);
  }
  if (!children_.empty()) return;
  on_ = false;
  emit stateChanged();
  emit finished();
}

// The name is taken when it is needed: what was written since counts. A file that is not ours is never replaced.
void BatchQueue::start(BatchItem& item) {
  if (!item.chosen && !item.ours) {
    QStringList taken;
    for (const BatchItem& other : items_) {
      if (other.id != item.id) taken << other.output;
    }
    item.output = free_output(item, folder_, taken);
  }
  item.state = BatchState::running;
  item.progress = {};
  item.rows.reset();
  const int id = item.id;
  Running& running = children_[id];
  running.output_before = written(item.output);
  running.elapsed.start();
  running.silent.start();
  BatchChild* child = running.child = new BatchChild(this);
  connect(child, &BatchChild::progressed, this, [this, id](const BatchProgress& progress) {
    if (BatchItem* running_item = at(id)) running_item->progress = progress;
    if (const auto at = children_.find(id); at != children_.end()) at->second.silent.start();
    tell(id);
  });
  connect(child, &BatchChild::itemEnded, this, [this, id](const QJsonObject& row) {
    BatchItem* running_item = at(id);
    const auto its = children_.find(id);
    if (!running_item || its == children_.end()) return;
    if (!its->second.rows) running_item->rows = its->second.rows = std::make_shared<std::vector<BatchResult>>();
    its->second.rows->push_back(sweep_row(row));  // seen with the next line of progress
  });
  connect(child, &BatchChild::ended, this, [this, id](const BatchEnd& end) { ended(id, end); });
  child->start(program_, arguments_ + arguments(item));
  timer_.start();
  tell(id);
  emit stateChanged();
  save();
  proceed();
}

void BatchQueue::ended(int id, const BatchEnd& end) {
  BatchItem* item = at(id);
  const auto child = children_.find(id);
  if (!item || child == children_.end()) return;
  item->seconds = static_cast<double>(child->second.elapsed.elapsed()) / 1000;
  const qint64 now = written(item->output);
  item->ours = now != 0;
  conclude(*item, end, now != 0 && now != child->second.output_before);
  drop(id);
  tell(id);
  emit stateChanged();
  save();
  proceed();
}

// Deleted later: it may be what is speaking.
void BatchQueue::drop(int id) {
  const auto child = children_.find(id);
  if (child == children_.end()) return;
  child->second.child->disconnect(this);
  child->second.child->kill();
  child->second.child->deleteLater();
  children_.erase(child);
  if (children_.empty()) timer_.stop();
}

void BatchQueue::tick() {
  for (const auto& [id, running] : children_) {
    BatchItem* item = at(id);
    item->seconds = static_cast<double>(running.elapsed.elapsed()) / 1000;
    item->silent_seconds = static_cast<double>(running.silent.elapsed()) / 1000;
    tell(id);
  }
}

void BatchQueue::tell(int id) {
  const int place = placeOf(id);
  if (place >= 0) emit changed(place);
}

}  // namespace superstep::gui
