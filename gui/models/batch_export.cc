// SPDX-License-Identifier: Apache-2.0
#include "gui/models/batch_export.h"

#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QXmlStreamWriter>
#include <algorithm>

#include "gui/base/format.h"
#include "model/error.h"

namespace superstep::gui {
namespace {

const char* word_of(BatchState state) {
  switch (state) {
    case BatchState::waiting:
      return "waiting";
    case BatchState::running:
      return "running";
    case BatchState::done:
      return "done";
    case BatchState::failed:
      return "failed";
    case BatchState::cancelled:
      break;
  }
  return "cancelled";
}

// The words that scripts know from the command line.
QJsonObject result_json(const BatchResult& r) {
  QJsonObject out{{"fits", fit_word(r.fit)}};
  if (r.item >= 0) out["item"] = r.item;
  if (!r.grid.isEmpty()) out["grid"] = r.grid;
  if (!r.verdict.isEmpty()) out["verdict"] = r.verdict;
  if (r.label.isEmpty()) return out;
  out["label"] = r.label;
  out["samples_per_second"] = r.samples_per_second;
  out["step_time_s"] = r.step_time_s;
  if (r.utilisation >= 0) out["flop_utilisation"] = r.utilisation;
  if (r.tile_peak_bytes >= 0) out["tile_peak_bytes"] = static_cast<qint64>(r.tile_peak_bytes);
  if (r.tile_limit_bytes > 0) out["tile_limit_bytes"] = static_cast<qint64>(r.tile_limit_bytes);
  if (r.gap >= 0) out["gap"] = r.gap;
  return out;
}

QJsonObject item_json(const BatchItem& item) {
  QJsonObject out{{"job", item.path},
                  {"kind", item.kind == BatchKind::job ? "job" : "sweep"},
                  {"state", word_of(item.state)},
                  {"seconds", item.seconds}};
  if (!item.output.isEmpty()) out["output"] = item.output;
  if (!item.message.isEmpty()) out["message"] = item.message;
  if (item.result) out["best"] = result_json(*item.result);
  if (item.rows) {
    QJsonArray rows;
    for (const BatchResult& row : *item.rows) rows.append(result_json(row));
    out["items"] = rows;
  }
  return out;
}

QString cell(QString text) { return text.replace('|', "\\|").replace('\n', ' '); }

QString markdown_row(const QStringList& cells) { return "| " + cells.join(" | ") + " |\n"; }

QStringList plan_cells(const BatchResult& r) {
  if (r.label.isEmpty()) return {"", "", "", fit_words(r.fit), "", cell(r.verdict)};
  return {fixed_decimals(r.samples_per_second, 1),
          milliseconds(r.step_time_s, r.step_time_s),
          r.tile_peak_bytes < 0 ? QString() : tile_bytes(r.tile_peak_bytes, Units::kib),
          fit_words(r.fit),
          cell(r.label),
          r.gap < 0 ? QString() : fixed_decimals(r.gap * 100, 2)};
}

enum class Case { passed, failure, error, skipped };

struct TestCase {
  QString name;
  double seconds = 0;
  Case outcome = Case::passed;
  QString message;
};

TestCase case_of(const BatchResult& r) {
  if (r.failed) return {r.grid, 0, Case::error, r.verdict};
  if (r.label.isEmpty() || r.fit == Fit::does_not_fit || r.fit == Fit::infeasible)
    return {r.grid, 0, Case::failure, r.verdict.isEmpty() ? QString(fit_words(r.fit)) : r.verdict};
  return {r.grid, 0, Case::passed, {}};
}

TestCase case_of(const BatchItem& item) {
  TestCase out{item.name(), item.seconds, Case::skipped, word_of(item.state)};
  if (item.state == BatchState::failed) out.outcome = Case::error, out.message = item.message;
  if (item.state != BatchState::done || !item.result) return out;
  const TestCase of_plan = case_of(*item.result);
  out.outcome = of_plan.outcome;
  out.message = of_plan.message;
  return out;
}

// XML 1.0 has no place for most control characters.
QString printable(QString text) {
  for (QChar& c : text) {
    if (c.unicode() < 0x20 && c != '\n' && c != '\t') c = QChar(0xFFFD);
  }
  return text;
}

void write_case(QXmlStreamWriter& xml, const QString& suite, const TestCase& test) {
  xml.writeStartElement("testcase");
  xml.writeAttribute("classname", suite);
  xml.writeAttribute("name", printable(test.name));
  xml.writeAttribute("time", QString::number(test.seconds, 'f', 3));
  const char* element = test.outcome == Case::failure ? "failure" : test.outcome == Case::error ? "error" : "skipped";
  if (test.outcome != Case::passed) {
    xml.writeStartElement(element);
    xml.writeAttribute("message", printable(test.message.section('\n', 0, 0)));
    if (test.message.contains('\n')) xml.writeCharacters(printable(test.message));
    xml.writeEndElement();
  }
  xml.writeEndElement();
}

void write_suite(QXmlStreamWriter& xml, const QString& name, const std::vector<TestCase>& tests) {
  const auto count = [&](Case outcome) {
    return QString::number(
        std::count_if(tests.begin(), tests.end(), [=](const auto& t) { return t.outcome == outcome; }));
  };
  double seconds = 0;
  for (const TestCase& test : tests) seconds += test.seconds;
  xml.writeStartElement("testsuite");
  xml.writeAttribute("name", name);
  xml.writeAttribute("tests", QString::number(tests.size()));
  xml.writeAttribute("failures", count(Case::failure));
  xml.writeAttribute("errors", count(Case::error));
  xml.writeAttribute("skipped", count(Case::skipped));
  xml.writeAttribute("time", QString::number(seconds, 'f', 3));
  for (const TestCase& test : tests) write_case(xml, name, test);
  xml.writeEndElement();
}

}  // namespace

QByteArray batch_markdown(const std::vector<BatchItem>& items) {
  QString out = markdown_row({"job", "state", "time, s", "samples/s", "step, ms", "fullest tile, KiB", "fit", "plan",
                              "gap, % or why not"}) +
                "|---|---|---:|---:|---:|---:|---|---|---|\n";
  for (const BatchItem& item : items) {
    const QStringList first{cell(item.name()), state_text(item), fixed_decimals(item.seconds, 1)};
    const QStringList none{"", "", "", "", "", cell(item.message)};
    out += markdown_row(first + (item.result && !item.rows ? plan_cells(*item.result) : none));
    if (!item.rows) continue;
    for (const BatchResult& row : *item.rows)
      out += markdown_row(QStringList{cell(item.name() + ", " + row.grid), "", ""} + plan_cells(row));
  }
  return out.toUtf8();
}

QByteArray batch_json(const std::vector<BatchItem>& items) {
  QJsonArray jobs;
  for (const BatchItem& item : items) jobs.append(item_json(item));
  return QJsonDocument(QJsonObject{{"jobs", jobs}}).toJson(QJsonDocument::Indented);
}

QByteArray batch_junit(const std::vector<BatchItem>& items) {
  QByteArray out;
  QXmlStreamWriter xml(&out);
  xml.setAutoFormatting(true);
  xml.setAutoFormattingIndent(2);
  xml.writeStartDocument();
  xml.writeStartElement("testsuites");
  std::vector<TestCase> jobs;
  for (const BatchItem& item : items) {
    if (!item.rows) jobs.push_back(case_of(item));
  }
  write_suite(xml, "jobs", jobs);
  for (const BatchItem& item : items) {
    if (!item.rows) continue;
    std::vector<TestCase> tests;
    for (const BatchResult& row : *item.rows) tests.push_back(case_of(row));
    write_suite(xml, item.name(), tests);
  }
  xml.writeEndElement();
  xml.writeEndDocument();
  return out;
}

namespace {

struct Format {
  const char* ending;
  QByteArray (*text)(const std::vector<BatchItem>& items);
};
constexpr Format kFormats[] = {{"md", batch_markdown}, {"json", batch_json}, {"xml", batch_junit}};

const Format* format_of(const QString& path) {
  const QString ending = QFileInfo(path).suffix().toLower();
  for (const Format& format : kFormats) {
    if (ending == format.ending) return &format;
  }
  return nullptr;
}

}  // namespace

bool is_batch_format(const QString& path) { return format_of(path) != nullptr; }

void write_batch(const std::vector<BatchItem>& items, const QString& path) {
  const Format* format = format_of(path);
  if (!format) throw Error(path.toStdString(), "the ending says the format, expected one of: md, json, xml");
  const QByteArray bytes = format->text(items);
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
    throw Error(path.toStdString(), "cannot be written: " + file.errorString().toStdString());
  }
}

bool batch_passed(const std::vector<BatchItem>& items) {
  return std::all_of(items.begin(), items.end(), [](const BatchItem& item) {
    if (!item.rows) return case_of(item).outcome == Case::passed;
    return std::all_of(item.rows->begin(), item.rows->end(),
                       [](const BatchResult& row) { return case_of(row).outcome == Case::passed; });
  });
}

}  // namespace superstep::gui
