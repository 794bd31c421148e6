// SPDX-License-Identifier: Apache-2.0
#include "gui/session/marks.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <algorithm>
#include <array>

#include "gui/models/meanings.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

constexpr qint64 kMostBytes = 16 << 20;

constexpr std::array<std::pair<const char*, QString Mark::*>, 7> kTexts{{{"ipu", &Mark::ipu},
                                                                         {"phase", &Mark::phase},
                                                                         {"term", &Mark::term},
                                                                         {"category", &Mark::category},
                                                                         {"op", &Mark::op},
                                                                         {"view", &Mark::view},
                                                                         {"note", &Mark::note}}};
constexpr std::array<std::pair<const char*, std::int64_t Mark::*>, 3> kMarkNumbers{
    {{"tile", &Mark::tile}, {"time", &Mark::time}, {"micro_batch", &Mark::micro_batch}}};

}  // namespace

bool Mark::isEmpty() const {
  Mark bare = *this;
  bare.view.clear();
  bare.note.clear();
  return bare == Mark{};
}

Mark mark_of_selection(Session& session) {
  Mark out;
  const ReportPointer report = session.report();
  if (!report) return out;
  const Selection& now = session.selection();
  if (now.ipu_class >= 0 && now.ipu_class < report->index().ipu_classes_size())
    out.ipu = QString::fromStdString(report->index().ipu_classes(now.ipu_class).name());
  const auto heat = session.heat();
  if (now.phase >= 0 && now.phase < std::ssize(heat->phases))
    out.phase = QString::fromStdString(heat->phases[static_cast<std::size_t>(now.phase)].name);
  out.term = now.term;
  out.category = now.category;
  out.op = now.op;
  out.tile = now.tile;
  out.time = now.time;
  out.micro_batch = now.micro_batch;
  return out;
}

Selection selection_of(Session& session, const Mark& mark) {
  Selection out{.tile = mark.tile,
                .term = mark.term,
                .category = mark.category,
                .op = mark.op,
                .time = mark.time,
                .micro_batch = mark.micro_batch};
  const ReportPointer report = session.report();
  if (!report) return out;
  for (int i = 0; i < report->index().ipu_classes_size(); ++i) {
    if (QString::fromStdString(report->index().ipu_classes(i).name()) == mark.ipu) out.ipu_class = i;
  }
  const auto heat = session.heat();
  for (int i = 0; i < std::ssize(heat->phases) && out.phase < 0 && !mark.phase.isEmpty(); ++i) {
    const HeatPhase& phase = heat->phases[static_cast<std::size_t>(i)];
    const bool here = out.ipu_class < 0 || phase.ipu_class == out.ipu_class;
    if (here && QString::fromStdString(phase.name) == mark.phase) out.phase = i;
  }
  if (out.tile >= report->index().tiles_per_ipu()) out.tile = -1;
  if (out.time >= session.timeline()->cycles) out.time = out.micro_batch = -1;
  return out;
}

QString place_text(const Mark& mark) {
  QStringList parts;
  for (const QString& part : {mark.ipu, mark.phase, mark.op, mark.term, mark.category}) {
    if (!part.isEmpty() && !parts.contains(part)) parts << part;
  }
  if (mark.tile >= 0) parts.insert(mark.ipu.isEmpty() ? 0 : 1, QObject::tr("tile %1").arg(grouped(mark.tile)));
  if (mark.micro_batch >= 0) parts << QObject::tr("micro-batch %1").arg(grouped(mark.micro_batch));
  if (mark.time >= 0) parts << QObject::tr("at cycle %1").arg(grouped(mark.time));
  return parts.join(QString::fromUtf8(" · "));
}

QString marks_file(const QString& report) { return report + ".marks.json"; }

std::vector<Mark> load_marks(const QString& report) {
  QFile file(marks_file(report));
  std::vector<Mark> out;
  if (!file.exists()) return out;
  const std::string where = file.fileName().toStdString();
  if (!file.open(QIODevice::ReadOnly)) throw Error(where, "cannot be read: " + file.errorString().toStdString());
  const QJsonDocument document = QJsonDocument::fromJson(file.read(kMostBytes));
  if (!document.object()["marks"].isArray()) throw Error(where, "found no marks, expected {\"marks\": [...]}");
  for (const QJsonValue& value : document.object()["marks"].toArray()) {
    const QJsonObject object = value.toObject();
    Mark mark;
    for (const auto& [name, field] : kTexts) mark.*field = object[name].toString();
    for (const auto& [name, field] : kMarkNumbers) mark.*field = object[name].toInteger(-1);
    out.push_back(std::move(mark));
  }
  return out;
}

void save_marks(const QString& report, const std::vector<Mark>& marks) {
  const QString path = marks_file(report);
  if (marks.empty()) {
    QFile::remove(path);
    return;
  }
  QJsonArray list;
  for (const Mark& mark : marks) {
    QJsonObject object;
    for (const auto& [name, field] : kTexts) {
      if (!(mark.*field).isEmpty()) object[name] = mark.*field;
    }
    for (const auto& [name, field] : kMarkNumbers) {
      if (mark.*field >= 0) object[name] = static_cast<qint64>(mark.*field);
    }
    list << object;
  }
  const QByteArray bytes = QJsonDocument(QJsonObject{{"marks", list}}).toJson();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit())
    throw Error(path.toStdString(), "cannot be written, so the marks are lost: " + file.errorString().toStdString());
}

TableContents marks_table(std::shared_ptr<const std::vector<Mark>> marks) {
  const auto at = [marks](int row) -> const Mark& { return (*marks)[static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(marks->size());
  out.columns = {{{"Mark", means::kMark}, false, [=](int row) { return place_text(at(row)); }},
                 {{"Note", means::kNote}, false, [=](int row) { return at(row).note; }},
                 {{"View", means::kMarkView}, false, [=](int row) { return at(row).view; }}};
  out.tip = [=](int row) { return place_text(at(row)) + '\n' + at(row).note; };
  return out;
}

}  // namespace superstep::gui
