// SPDX-License-Identifier: Apache-2.0
// The queue over restarts.
#include <QFileInfo>
#include <QSettings>

#include "gui/batch/queue.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

struct StateName {
  BatchState state;
  const char* name;
};
// One that waits or ran has no name: it waits again.
constexpr StateName kStates[] = {
    {BatchState::done, "done"}, {BatchState::failed, "failed"}, {BatchState::cancelled, "cancelled"}};

QString name_of(BatchState state) {
  for (const StateName& s : kStates) {
    if (s.state == state) return s.name;
  }
  return {};
}

BatchState state_of(const QString& name) {
  for (const StateName& s : kStates) {
    if (name == s.name) return s.state;
  }
  return BatchState::waiting;
}

// What is done needs its report: read again. The results of a sweep come from running it again, which takes a moment.
void take_result(BatchItem& item) {
  if (item.state != BatchState::done) return;
  item.state = BatchState::waiting;
  if (item.kind == BatchKind::sweep) return;
  try {
    item.result = result_of_report(item.output);
    item.state = BatchState::done;
  } catch (const Error&) {
    item.seconds = 0;
  }
}

}  // namespace

void BatchQueue::remember(const QString& settings_file) {
  settingsFile_ = settings_file;
  restore();
}

void BatchQueue::save() const {
  if (settingsFile_.isEmpty()) return;
  QSettings settings(settingsFile_, QSettings::IniFormat);
  settings.clear();
  settings.setValue("folder", folder_);
  settings.setValue("at_once", atOnce_);
  settings.beginWriteArray("items", static_cast<int>(items_.size()));
  for (int i = 0; i < static_cast<int>(items_.size()); ++i) {
    const BatchItem& item = items_[static_cast<std::size_t>(i)];
    settings.setArrayIndex(i);
    settings.setValue("path", item.path);
    settings.setValue("sweep", item.kind == BatchKind::sweep);
    settings.setValue("of_sweep", item.of_sweep);
    settings.setValue("output", item.output);
    settings.setValue("chosen", item.chosen);
    settings.setValue("ours", item.ours);
    settings.setValue("state", name_of(item.state));
    settings.setValue("seconds", item.seconds);
    settings.setValue("message", item.message);
  }
  settings.endArray();
}

void BatchQueue::restore() {
  QSettings settings(settingsFile_, QSettings::IniFormat);
  folder_ = settings.value("folder").toString();
  atOnce_ = std::clamp(settings.value("at_once", 1).toInt(), 1, mostAtOnce());
  const int size = settings.beginReadArray("items");
  for (int i = 0; i < size; ++i) {
    settings.setArrayIndex(i);
    BatchItem item;
    item.path = settings.value("path").toString();
    if (item.path.isEmpty()) continue;
    item.id = ++lastId_;
    item.kind = settings.value("sweep").toBool() ? BatchKind::sweep : BatchKind::job;
    item.of_sweep = settings.value("of_sweep", -1).toInt();
    item.output = settings.value("output").toString();
    item.chosen = settings.value("chosen").toBool();
    item.ours = settings.value("ours").toBool();
    item.state = state_of(settings.value("state").toString());
    item.seconds = settings.value("seconds").toDouble();
    item.message = settings.value("message").toString();
    take_result(item);
    items_.push_back(std::move(item));
    emit added(static_cast<int>(items_.size()) - 1);
  }
  settings.endArray();
  emit stateChanged();
}

}  // namespace superstep::gui
