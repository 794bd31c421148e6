// SPDX-License-Identifier: Apache-2.0
#include "gui/models/batch_table.h"

#include <QFileInfo>
#include <array>
#include "gui/models/meanings.h"

namespace superstep::gui {
namespace {

using Text = QString (*)(const BatchResult& result, Units units);
using Exact = QVariant (*)(const BatchResult& result, Units units);  // in the unit of the title

// A number of a plan; an empty cell where it is not known.
struct PlanColumn {
  const char* title;
  Meaning meaning;
  bool numeric;
  bool in_bytes;
  Text text;
  Exact exact;
};

QVariant known(bool is, double value) { return is ? QVariant(value) : QVariant(QString()); }
QVariant known_bytes(bool is, std::int64_t value, Units units) {
  if (!is) return QString();
  return units == Units::bytes ? QVariant(qlonglong{value}) : QVariant(static_cast<double>(value) / 1024);
}
bool has_spare(const BatchResult& r) { return r.tile_peak_bytes >= 0 && r.tile_limit_bytes > 0; }

QString plan_text(const BatchResult& r) { return r.label.isEmpty() ? r.verdict : r.label; }

constexpr std::array<PlanColumn, 8> kPlanColumns{{
    {"Fit", means::kFit, false, false,
     [](const BatchResult& r, Units) {
       return r.failed ? QString("failed") : QString::fromUtf8(fit_sign(r.fit)) + ' ' + fit_words(r.fit);
     },
     [](const BatchResult& r, Units) { return QVariant(r.failed ? "failed" : fit_words(r.fit)); }},
    {"Plan, or why not", means::kPlanOrWhy, false, false, [](const BatchResult& r, Units) { return plan_text(r); },
     [](const BatchResult& r, Units) { return QVariant(plan_text(r)); }},
    {"samples/s", means::kThroughput, true, false,
     [](const BatchResult& r, Units) { return r.label.isEmpty() ? "" : fixed_decimals(r.samples_per_second, 1); },
     [](const BatchResult& r, Units) { return known(!r.label.isEmpty(), r.samples_per_second); }},
    {"Step, ms", means::kStepMs, true, false,
     [](const BatchResult& r, Units) { return r.label.isEmpty() ? "" : milliseconds(r.step_time_s, r.step_time_s); },
     [](const BatchResult& r, Units) { return known(!r.label.isEmpty(), r.step_time_s * 1e3); }},
    {"% of peak", means::kUtilisation, true, false,
     [](const BatchResult& r, Units) { return r.utilisation < 0 ? "" : fixed_decimals(r.utilisation * 100, 1); },
     [](const BatchResult& r, Units) { return known(r.utilisation >= 0, r.utilisation * 100); }},
    {"Tile", means::kBatchTile, true, true,
     [](const BatchResult& r, Units units) {
       return r.tile_peak_bytes < 0 ? "" : tile_bytes(r.tile_peak_bytes, units);
     },
     [](const BatchResult& r, Units units) { return known_bytes(r.tile_peak_bytes >= 0, r.tile_peak_bytes, units); }},
    {"Spare", means::kBatchSpare, true, true,
     [](const BatchResult& r, Units units) {
       return has_spare(r) ? tile_bytes(r.tile_limit_bytes - r.tile_peak_bytes, units) : QString();
     },
     [](const BatchResult& r, Units units) {
       return known_bytes(has_spare(r), r.tile_limit_bytes - r.tile_peak_bytes, units);
     }},
    {"Gap, %", means::kGap, true, false,
     [](const BatchResult& r, Units) { return r.gap < 0    ? ""
                                              : r.gap == 0 ? "0"
                                                           : fixed_decimals(r.gap * 100, 2); },
     [](const BatchResult& r, Units) { return known(r.gap >= 0, r.gap * 100); }},
}};
constexpr int kSweepFit = 2;  // column
constexpr int kFirstPlanColumn = kBatchFit;
static_assert(kFirstPlanColumn + static_cast<int>(kPlanColumns.size()) == kBatchOutput);

bool bad(const BatchResult& r) { return r.failed || r.fit == Fit::does_not_fit || r.fit == Fit::infeasible; }

const PlanColumn* plan_column(int column) {
  const bool is = column >= kFirstPlanColumn && column < kBatchOutput;
  return is ? &kPlanColumns[static_cast<std::size_t>(column - kFirstPlanColumn)] : nullptr;
}

QString title_of(const PlanColumn& column, Units units) {
  return column.in_bytes ? QString("%1, %2").arg(column.title, unit_name(units)) : QString(column.title);
}

QString title_of(int column, Units units) {
  if (const PlanColumn* plan = plan_column(column)) return title_of(*plan, units);
  constexpr std::array kFirst{"#", "Job", "State", "Progress", "Time, s"};
  if (column < kFirstPlanColumn) return kFirst[static_cast<std::size_t>(column)];
  return "Report";
}

const Meaning& meaning_of(int column) {
  if (const PlanColumn* plan = plan_column(column)) return plan->meaning;
  static constexpr std::array<Meaning, 5> kFirst{means::kPlace, means::kJob, means::kBatchState, means::kProgress,
                                                 means::kBatchTime};
  static constexpr Meaning kLast = means::kReportFile;
  return column < kFirstPlanColumn ? kFirst[static_cast<std::size_t>(column)] : kLast;
}

bool is_numeric(int column) {
  const PlanColumn* plan = plan_column(column);
  return plan ? plan->numeric : column == kBatchPlace || column == 4;
}

QVariant exact_of(const BatchItem& item, int place, int column, Units units) {
  if (column == kBatchPlan) return detail_text(item);
  if (const PlanColumn* plan = plan_column(column))
    return item.result ? plan->exact(*item.result, units) : QVariant(QString());
  switch (column) {
    case kBatchPlace:
      return place + 1;
    case kBatchJob:
      return item.name();
    case kBatchState:
      return state_text(item);
    case 3:
      return item.state == BatchState::done ? 1.0 : item.progress.share;
    case 4:
      return item.seconds;
    default:
      return item.output;
  }
}

QString text_of(const BatchItem& item, int place, int column, Units units) {
  if (column == kBatchPlan) return detail_text(item);
  if (const PlanColumn* plan = plan_column(column)) return item.result ? plan->text(*item.result, units) : QString();
  if (column == 3) return {};
  if (column == 4) return item.state == BatchState::waiting ? QString() : fixed_decimals(item.seconds, 1);
  if (column == kBatchOutput) return QFileInfo(item.output).fileName();
  return exact_of(item, place, column, units).toString();
}

QString tip_of(const BatchItem& item) {
  QStringList lines{item.path, detail_text(item)};
  if (item.result && !item.rows) lines << item.result->verdict;
  lines.removeDuplicates();
  return lines.join('\n').trimmed();
}

// Failures and what does not fit stand out; the words say it too.
QVariant better_of(const BatchItem& item, int column) {
  if (column == kBatchState && item.state == BatchState::failed) return -1;
  if (column == kBatchFit && item.result && bad(*item.result)) return -1;
  return {};
}

}  // namespace

BatchModel::BatchModel(BatchQueue& queue, QObject* parent) : QAbstractTableModel(parent), queue_(queue) {
  for (const BatchItem& item : queue_.items()) rows_.push_back({item, static_cast<int>(rows_.size())});
  connect(&queue_, &BatchQueue::added, this, [this](int place) {
    beginInsertRows({}, place, place);
    rows_.insert(rows_.begin() + place, {queue_.items()[static_cast<std::size_t>(place)], place});
    endInsertRows();
    renumber();
  });
  connect(&queue_, &BatchQueue::removed, this, [this](int place) {
    beginRemoveRows({}, place, place);
    rows_.erase(rows_.begin() + place);
    endRemoveRows();
    renumber();
  });
  connect(&queue_, &BatchQueue::moved, this, [this](int from, int to) {
    beginMoveRows({}, from, from, {}, to > from ? to + 1 : to);
    const Row row = rows_[static_cast<std::size_t>(from)];
    rows_.erase(rows_.begin() + from);
    rows_.insert(rows_.begin() + to, row);
    endMoveRows();
    renumber();
  });
  connect(&queue_, &BatchQueue::changed, this, [this](int place) {
    rows_[static_cast<std::size_t>(place)].item = queue_.items()[static_cast<std::size_t>(place)];
    emit dataChanged(index(place, 0), index(place, columnCount() - 1));
  });
}

void BatchModel::renumber() {
  for (int row = 0; row < rowCount(); ++row) {
    int& place = rows_[static_cast<std::size_t>(row)].place;
    if (place == row) continue;
    place = row;
    emit dataChanged(index(row, kBatchPlace), index(row, kBatchPlace));
  }
}

void BatchModel::setUnits(Units units) {
  units_ = units;
  emit headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int BatchModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}
int BatchModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kBatchOutput + 1; }

QVariant BatchModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const auto& [item, place] = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return text_of(item, place, index.column(), units_);
    case Qt::ToolTipRole:
      return index.column() == kBatchOutput ? item.output : tip_of(item);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter | (is_numeric(index.column()) ? Qt::AlignRight : Qt::AlignLeft));
    case kExactRole:
      return exact_of(item, place, index.column(), units_);
    case kShareRole:
      return index.column() == 3 ? exact_of(item, place, 3, units_) : QVariant();
    case kBetterRole:
      return better_of(item, index.column());
    case kSourceRole:
      return item.id;
    case kExplanationRole:
      return QVariant::fromValue(explanation_of(meaning_of(index.column())));
    default:
      return {};
  }
}

QVariant BatchModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  if (role == Qt::DisplayRole || role == kExactTitleRole) return title_of(section, units_);
  if (role == kExplanationRole) return QVariant::fromValue(explanation_of(meaning_of(section)));
  if (role != Qt::TextAlignmentRole) return {};
  return QVariant::fromValue(Qt::AlignVCenter | (is_numeric(section) ? Qt::AlignRight : Qt::AlignLeft));
}

TableContents sweep_table(std::shared_ptr<const std::vector<BatchResult>> rows, Units units) {
  if (!rows) return {};
  const auto at = [rows](int row) -> const BatchResult& { return (*rows)[static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns.push_back({{"Item", means::kItem},
                         true,
                         [=](int row) { return QString::number(at(row).item); },
                         [=](int row) { return QVariant(at(row).item); }});
  out.columns.push_back({{"Values", means::kValues}, false, [=](int row) { return at(row).grid; }});
  for (const PlanColumn& column : kPlanColumns) {
    if (column.title == QString("% of peak") || column.title == QString("Spare")) continue;  // a sweep does not say
    out.columns.push_back({.title = {title_of(column, units), column.meaning},
                           .numeric = column.numeric,
                           .text = [=](int row) { return column.text(at(row), units); },
                           .exact = [=](int row) { return column.exact(at(row), units); },
                           .better = {}});
  }
  out.columns[kSweepFit].better = [=](int row) { return bad(at(row)) ? -1 : 0; };
  out.tip = [=](int row) { return at(row).grid + '\n' + at(row).verdict; };
  return out;
}

}  // namespace superstep::gui
