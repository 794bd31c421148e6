// SPDX-License-Identifier: Apache-2.0
#include "gui/session/session.h"

#include <QFileInfo>
#include <QThread>
#include <algorithm>

#include "gui/batch/queue.h"
#include "gui/models/steps.h"
#include "model/error.h"

namespace superstep::gui {

Session::Session(QObject* parent) : QObject(parent), batch_(std::make_unique<BatchQueue>()) {}

ReportPointer Session::load(const QString& path) {
  try {
    return std::make_shared<const ReportFile>(ReportFile::open(path.toStdString()));
  } catch (const Error& error) {
    emit failed(QString::fromUtf8(error.what()));
    return nullptr;
  }
}

bool Session::open(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  ReportPointer report = load(path);
  if (!report) return false;
  auto at = std::find_if(reports_.begin(), reports_.end(), [&](const Open& open) { return open.path == absolute; });
  if (at == reports_.end()) at = reports_.insert(reports_.end(), Open{absolute, {}, {}, {}, {}, {}, {}});
  *at = {absolute, std::move(report), {}, {}, {}, {}, {}};
  current_ = static_cast<int>(at - reports_.begin());
  auto& compared = compareState_.reports;
  const bool stands = std::find(compared.begin(), compared.end(), current_) != compared.end();
  constexpr std::size_t kJoinByThemselves = 4;  // more are added one by one
  if (!stands && compared.size() < kJoinByThemselves) compared.push_back(current_);
  forget();
  emit reportChanged();
  return true;
}

bool Session::reload() { return current_ >= 0 && open(reports_[static_cast<std::size_t>(current_)].path); }

void Session::setCurrent(int report) {
  if (report == current_ || report < 0 || report >= static_cast<int>(reports_.size())) return;
  current_ = report;
  forget();
  emit reportChanged();
}

void Session::forget() {
  trial_.clear(), trialChanges_.clear();
  history_.assign(1, Selection{});
  place_ = 0;
  heatState_ = HeatState{heatState_.quantity, 0, {}};
  timeState_.pipeline = timeState_.trace = {};
  // The IPU of the fullest tile is the one to look at first.
  const auto& classes = report()->index().ipu_classes();
  const auto fullest = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
    return a.tile_peak_bytes() < b.tile_peak_bytes();
  });
  if (fullest != classes.end()) heatState_.ipu_class = static_cast<int>(fullest - classes.begin());
}

QStringList Session::paths() const {
  QStringList out;
  for (const Open& open : reports_) out << open.path;
  return out;
}

ReportPointer Session::report() const { return reportAt(current_); }

ReportPointer Session::reportAt(int report) const {
  return report < 0 || report >= static_cast<int>(reports_.size()) ? nullptr
                                                                   : reports_[static_cast<std::size_t>(report)].report;
}

template <class Data, class Load>
std::shared_ptr<const Data> Session::loaded(int report, std::shared_ptr<const Data> Open::*place, Load read) {
  if (!reportAt(report)) return std::make_shared<const Data>();
  Open& open = reports_[static_cast<std::size_t>(report)];
  if (open.*place) return open.*place;
  try {
    open.*place = std::make_shared<const Data>(read(*open.report));
  } catch (const Error& error) {
    open.*place = std::make_shared<const Data>();
    emit failed(QString::fromUtf8(error.what()));
  }
  return open.*place;
}

std::shared_ptr<const HeatData> Session::heatAt(int report) { return loaded(report, &Open::heat, load_heat); }
std::shared_ptr<const Variables> Session::variables() { return loaded(current_, &Open::variables, load_variables); }
std::shared_ptr<const Results> Session::results() { return loaded(current_, &Open::results, load_results); }
// Steps and trace share what both have.
std::shared_ptr<const Steps> Session::steps() {
  return loaded(current_, &Open::steps, [&](const ReportFile& report) {
    const auto& trace = reports_[static_cast<std::size_t>(current_)].trace;
    return load_steps(report, trace ? trace->steps.get() : nullptr);
  });
}
std::shared_ptr<const Graph> Session::graph() { return loaded(current_, &Open::graph, load_graph); }

std::shared_ptr<const Timeline> Session::timeline() {
  const ReportPointer open = report();
  return loaded(current_, &Open::timeline, [&](const ReportFile&) { return make_timeline(open); });
}

namespace {

std::uint64_t steps_of(const ReportFile& report) {
  for (const auto& column : report.index().columns()) {
    if (column.name() == "step.cycles") return column.rows();
  }
  return 0;
}

Timeline read_trace(const ReportPointer& report, const Steps* known) {
  return make_timeline(report, std::make_shared<const StepTrace>(load_step_trace(*report, known)));
}

}  // namespace

std::shared_ptr<const Timeline> Session::trace() {
  const ReportPointer report = this->report();
  if (report && steps_of(*report) > readsAside_) {
    const Open& open = reports_[static_cast<std::size_t>(current_)];
    if (!open.trace && !reader_) readTrace(open);
    if (!open.trace) return std::make_shared<const Timeline>();
  }
  return loaded(current_, &Open::trace, [&](const ReportFile&) {
    return read_trace(report, reports_[static_cast<std::size_t>(current_)].steps.get());
  });
}

// With a handle of its own: ReportFile is not for several threads. A file that was replaced meanwhile is another
// report.
void Session::readTrace(const Open& open) {
  struct Result {
    std::shared_ptr<const Timeline> trace = std::make_shared<const Timeline>();
    QString error;
  };
  auto result = std::make_shared<Result>();
  const ReportPointer shown = open.report;
  reader_ = QThread::create([result, shown, steps = open.steps] {
    try {
      const auto own = std::make_shared<const ReportFile>(ReportFile::open(shown->path()));
      if (own->index().SerializeAsString() != shown->index().SerializeAsString()) {
        throw Error(shown->path().string(), "has changed since it was opened: reload it (F5)");
      }
      result->trace = std::make_shared<const Timeline>(read_trace(own, steps.get()));
    } catch (const std::exception& error) {
      result->error = QString::fromUtf8(error.what());
    }
  });
  connect(reader_, &QThread::finished, this, [this, result, shown] {
    reader_->deleteLater();
    reader_ = nullptr;
    for (Open& each : reports_) {
      if (each.report == shown) each.trace = result->trace;
    }
    if (!result->error.isEmpty()) emit failed(result->error);
    emit traceRead();
  });
  reader_->start();
}

Session::~Session() {
  if (!reader_) return;
  reader_->wait();
  delete reader_;
}

void Session::select(const Selection& selection) {
  if (selection == this->selection()) return;
  history_.resize(place_ + 1);
  history_.push_back(selection);
  ++place_;
  emit selectionChanged();
}

void Session::goBack() {
  if (!canGoBack()) return;
  --place_;
  emit selectionChanged();
}

void Session::goForward() {
  if (!canGoForward()) return;
  ++place_;
  emit selectionChanged();
}

void Session::setHeatState(const HeatState& state) {
  if (state == heatState_) return;
  heatState_ = state;
  emit heatStateChanged();
}

void Session::setCompareState(const CompareState& state) {
  if (state == compareState_) return;
  compareState_ = state;
  emit compareStateChanged();
}

void Session::setTimeState(const TimeState& state) {
  if (state == timeState_) return;
  timeState_ = state;
  emit timeStateChanged();
}

void Session::setTrial(const std::string& plan_json, std::vector<int> changes) {
  trial_ = plan_json;
  trialChanges_ = std::move(changes);
  emit trialChanged();
}

void Session::setUnits(Units units) {
  if (units == units_) return;
  units_ = units;
  emit unitsChanged();
}

void Session::setColorMap(const QString& name) {
  if (name == colorMap_) return;
  colorMap_ = name;
  emit colorMapChanged();
}

void Session::setFilter(const QString& text) {
  if (text == filter_) return;
  filter_ = text;
  emit filterChanged();
}

}  // namespace superstep::gui
