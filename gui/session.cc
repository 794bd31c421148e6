// SPDX-License-Identifier: Apache-2.0
#include "gui/session.h"

#include <QFileInfo>
#include <algorithm>

#include "model/error.h"

namespace superstep::gui {

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
  if (at == reports_.end()) at = reports_.insert(reports_.end(), Open{absolute, {}, {}, {}, {}});
  *at = {absolute, std::move(report), {}, {}, {}};
  current_ = static_cast<int>(at - reports_.begin());
  auto& compared = compareState_.reports;
  const bool stands = std::find(compared.begin(), compared.end(), current_) != compared.end();
  if (!stands && compared.size() < kMostCompared) compared.push_back(current_);
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
  trial_.clear();
  history_.assign(1, Selection{});
  place_ = 0;
  heatState_ = HeatState{heatState_.quantity, 0, {}};
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
std::shared_ptr<const Steps> Session::steps() { return loaded(current_, &Open::steps, load_steps); }

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

void Session::setTrial(const std::string& plan_json) {
  trial_ = plan_json;
  emit trialChanged();
}

void Session::setUnits(Units units) {
  if (units == units_) return;
  units_ = units;
  emit unitsChanged();
}

void Session::setFilter(const QString& text) {
  if (text == filter_) return;
  filter_ = text;
  emit filterChanged();
}

}  // namespace superstep::gui
