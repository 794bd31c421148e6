// SPDX-License-Identifier: Apache-2.0
#include "gui/batch/item.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <cmath>

#include "gui/base/format.h"
#include "model/error.h"
#include "traces/report_io.h"

namespace superstep::gui {
namespace {

constexpr double kSilence = 20;     // seconds after which it is worth a word
constexpr int kMostItemText = 300;  // characters of what is no result

QString tr(const char* text) { return QCoreApplication::translate("Batch", text); }

QString grid_text(const QJsonObject& grid);

QString json_text(const QJsonValue& value) {
  if (value.isString()) return value.toString();
  if (value.isObject()) return '(' + grid_text(value.toObject()) + ')';
  if (value.isArray()) return QString::fromUtf8(QJsonDocument(value.toArray()).toJson(QJsonDocument::Compact));
  return value.isNull() ? "null" : value.toVariant().toString();
}

// "/plan/replicas" is "replicas": as in the table of the command line, where it is plain enough.
QString grid_text(const QJsonObject& grid) {
  QStringList parts;
  for (auto at = grid.begin(); at != grid.end(); ++at) parts << at.key().section('/', -1) + ' ' + json_text(at.value());
  return parts.join(", ");
}

Fit fit_from(const QString& word) {
  report::PlanSummary plan;
  plan.set_fits(word.toStdString());
  return fit_of(plan);
}

void conclude_job(BatchItem& item, const BatchEnd& end, bool wrote) {
  if (!wrote || end.exit_code > 1) {
    item.state = BatchState::failed;
    item.message = !end.said.isEmpty()  ? end.said
                   : end.exit_code == 0 ? tr("It ended without writing a report.")
                                        : tr("It ended with exit code %1 and no message.").arg(end.exit_code);
    return;
  }
  item.result = result_of_report(item.output);
  item.state = BatchState::done;
}

void conclude_sweep(BatchItem& item, const BatchEnd& end) {
  if (end.exit_code > 1) {
    item.state = BatchState::failed;
    item.message = !end.said.isEmpty() ? end.said : tr("It ended with exit code %1 and no message.").arg(end.exit_code);
    return;
  }
  auto rows = std::make_shared<const std::vector<BatchResult>>(results_of_sweep(end.output));
  const auto best = std::max_element(rows->begin(), rows->end(), [](const BatchResult& a, const BatchResult& b) {
    return a.samples_per_second < b.samples_per_second;
  });
  if (best != rows->end()) item.result = *best;
  item.rows = std::move(rows);
  item.state = BatchState::done;
}

}  // namespace

QString BatchItem::name() const {
  const QString file = QFileInfo(path).completeBaseName();
  return of_sweep < 0 ? file : file + "-item-" + QString::number(of_sweep);
}

QString state_text(const BatchItem& item) {
  switch (item.state) {
    case BatchState::waiting:
      return tr("waiting");
    case BatchState::running:
      if (item.progress.jobs >= 0) return tr("%1 of %2").arg(item.progress.done).arg(item.progress.jobs);
      return tr("running, %1 %").arg(static_cast<int>(std::floor(item.progress.share * 100)));
    case BatchState::done:
      if (!item.rows) return tr("done");
      return tr("%1 of %2 planned")
          .arg(std::count_if(item.rows->begin(), item.rows->end(), [](const auto& r) { return !r.label.isEmpty(); }))
          .arg(item.rows->size());
    case BatchState::failed:
      return tr("failed");
    case BatchState::cancelled:
      break;
  }
  return tr("cancelled");
}

QString detail_text(const BatchItem& item) {
  if (item.state == BatchState::running) {
    QStringList parts;
    if (!item.progress.what.isEmpty()) parts << item.progress.what;
    if (item.progress.without_plan > 0) parts << tr("%1 without a plan").arg(item.progress.without_plan);
    if (item.progress.seconds_left > 0) {
      parts << tr("%1 s left").arg(fixed_decimals(std::ceil(item.progress.seconds_left), 0));
    }
    if (item.silent_seconds > kSilence) {
      parts << tr("no word for %1 s").arg(fixed_decimals(std::floor(item.silent_seconds), 0));
    }
    return parts.join(" · ");
  }
  if (!item.message.isEmpty()) {
    const QString line = item.message.section('\n', 0, 0);
    return line.startsWith(item.path + '#') ? line.mid(item.path.size()) : line;
  }
  if (item.rows && item.result) {
    return item.result->label.isEmpty() ? tr("no plan")
                                        : tr("item %1: %2").arg(item.result->item).arg(item.result->label);
  }
  if (!item.result) return {};
  return item.result->label.isEmpty() ? item.result->verdict : item.result->label;
}

void conclude(BatchItem& item, const BatchEnd& end, bool wrote) {
  item.message.clear();
  if (!end.by_itself) {
    item.state = BatchState::failed;
    item.message = tr("The child process %1").arg(end.how) + (end.said.isEmpty() ? "." : ":\n" + end.said);
    return;
  }
  try {
    item.kind == BatchKind::job ? conclude_job(item, end, wrote) : conclude_sweep(item, end);
  } catch (const Error& error) {
    item.state = BatchState::failed;
    item.message = QString::fromUtf8(error.what()) + (end.said.isEmpty() ? "" : '\n' + end.said);
  }
}

BatchResult result_of_report(const QString& path) {
  const ReportFile file = ReportFile::open(path.toStdString());
  const report::Index& index = file.index();
  const report::PlanSummary& plan = index.plan();
  BatchResult out;
  out.fit = fit_of(index);
  out.verdict = for_viewer(verdict_sentence(index));
  if (index.has_plan()) {
    out.tile_peak_bytes = plan.tile_peak_bytes();
    out.tile_limit_bytes = plan.tile_limit_bytes();
  }
  if (index.has_infeasible()) {  // the plan in the report is only the one that comes closest
    report::Index reason;
    *reason.mutable_infeasible() = index.infeasible();
    out.fit = Fit::infeasible;
    out.verdict = for_viewer(verdict_sentence(reason));
  }
  if (!index.has_plan() || index.has_infeasible()) return out;
  out.label = QString::fromStdString(plan.label());
  out.samples_per_second = plan.samples_per_second();
  out.step_time_s = plan.step_time_s();
  out.utilisation = plan.flop_utilisation();
  if (index.has_search()) out.gap = index.search().gap();
  return out;
}

BatchResult sweep_row(const QJsonObject& row) {
  BatchResult out;
  out.item = row["item"].toInt(-1);
  out.grid = grid_text(row["grid"].toObject());
  const QString status = row["status"].toString();
  if (status != "planned") {
    out.failed = status != "infeasible";
    out.fit = out.failed ? Fit::unknown : Fit::infeasible;
    out.verdict = row["reason"].toString();
    return out;
  }
  out.label = row["label"].toString();
  out.fit = fit_from(row["fits"].toString());
  out.samples_per_second = row["samples_per_second"].toDouble();
  out.step_time_s = row["step_time_s"].toDouble();
  out.tile_peak_bytes = static_cast<std::int64_t>(row["tile_peak_bytes"].toDouble(-1));
  out.gap = row["gap"].toDouble(-1);
  return out;
}

std::vector<BatchResult> results_of_sweep(const QByteArray& json) {
  const QJsonDocument document = QJsonDocument::fromJson(json);
  if (!document.isObject() || !document.object()["items"].isArray()) {
    const QString found = QString::fromUtf8(json.left(kMostItemText)).trimmed();
    throw Error("", "It wrote what is no result of a sweep: " +
                        (found.isEmpty() ? std::string("nothing") : found.toStdString()));
  }
  std::vector<BatchResult> rows;
  for (const QJsonValue& row : document.object()["items"].toArray()) rows.push_back(sweep_row(row.toObject()));
  return rows;
}

}  // namespace superstep::gui
