// SPDX-License-Identifier: Apache-2.0
#include "gui/models/whatif.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>
#include <cmath>

#include "gui/models/landscape.h"
#include "gui/models/meanings.h"

namespace superstep::gui {
namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }

QJsonObject object_of(const std::string& json) {
  return QJsonDocument::fromJson(QByteArray::fromStdString(json)).object();
}

// "/links/rate" in an override's layout.
void set_at(QJsonObject& object, const QStringList& path, const QString& value) {
  if (path.size() == 1) {
    object[path[0]] = value;
    return;
  }
  QJsonObject inner = object[path[0]].toObject();
  set_at(inner, path.mid(1), value);
  object[path[0]] = inner;
}

std::string term_value(const report::Index& index, const std::string& pointer) {
  for (const auto& explanation : index.explanations()) {
    for (const auto& term : explanation.terms()) {
      if (term.name() == pointer) return term.value();
    }
  }
  return "";
}

double leading_number(const std::string& quantity, const char* unit) {
  const QStringList parts = text(quantity).split(' ');
  return parts.size() == 2 && parts[1] == unit ? parts[0].toDouble() : 0;
}

QJsonValue changed_machine(const report::Index& index, const QJsonValue& machine, const WhatIf& changes) {
  if (changes.machine.empty()) return machine;
  QJsonObject out = machine.isObject() ? machine.toObject() : QJsonObject{{"base", machine}};
  QJsonObject numbers = out["override"].toObject();
  for (const WhatIfNumber& number : whatif_numbers()) {
    const auto changed = changes.machine.find(number.pointer);
    if (changed == changes.machine.end()) continue;
    const auto put = [&](const char* pointer, double value) {
      set_at(numbers, QString(pointer).mid(1).split('/'), QString("%1 %2").arg(value, 0, 'g', 9).arg(number.unit));
    };
    put(number.pointer, changed->second);
    const double before = machine_number(index, number);
    const double other = number.goes_with ? leading_number(term_value(index, number.goes_with), number.unit) : 0;
    if (before > 0 && other > 0) put(number.goes_with, other * changed->second / before);
  }
  out["override"] = numbers;
  return out;
}

struct TermRow {
  QString name, kind;
  double shown = 0, changed = 0;
};

std::vector<TermRow> term_rows(const report::Index& shown, const report::Index& changed) {
  std::vector<TermRow> rows;
  const auto row = [&](const report::WaterfallTerm& term) -> TermRow& {
    for (TermRow& known : rows) {
      if (known.name == text(term.name())) return known;
    }
    rows.push_back({text(term.name()), text(term.kind())});
    return rows.back();
  };
  for (const auto& term : shown.waterfall()) row(term).shown += term.seconds();
  for (const auto& term : changed.waterfall()) row(term).changed += term.seconds();
  std::erase_if(rows, [](const TermRow& r) { return r.shown == r.changed; });
  TermRow total{"Step time", "total", shown.plan().step_time_s(), changed.plan().step_time_s()};
  rows.push_back(total);
  return rows;
}

struct Figure {
  QString name;
  double shown, changed;
  int decimals;
  int better;  // 1: more is better, -1: less is, 0: neither
};

std::vector<Figure> figures(const report::PlanSummary& a, const report::PlanSummary& b, Units units) {
  const double unit = units == Units::kib ? 1024 : 1;
  const int digits = units == Units::kib ? 1 : 0;
  const QString in = ", " + unit_name(units);
  const auto number = [](std::int64_t v) { return static_cast<double>(v); };
  return {{"samples/s", a.samples_per_second(), b.samples_per_second(), a.samples_per_second() < 10 ? 3 : 1, 1},
          {"Step time, ms", a.step_time_s() * 1e3, b.step_time_s() * 1e3, 1, -1},
          {"% of peak FLOPs", a.flop_utilisation() * 100, b.flop_utilisation() * 100, 1, 1},
          {"Fullest tile" + in, number(a.tile_peak_bytes()) / unit, number(b.tile_peak_bytes()) / unit, digits, -1},
          {"Spare" + in, number(margin_bytes(a)) / unit, number(margin_bytes(b)) / unit, digits, 1},
          {"Streaming Memory per IPU, MiB", number(a.ddr_bytes_per_ipu()) / 1048576,
           number(b.ddr_bytes_per_ipu()) / 1048576, 1, 0}};
}

QString signed_text(double value, int decimals) {
  const QString out = fixed_decimals(value, decimals);
  return value > 0 ? "+" + out : out;
}

int sign_of(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

}  // namespace

const std::vector<WhatIfPin>& whatif_pins() {
  static const std::vector<WhatIfPin> pins{{"pipeline_stages", "Pipeline stages p", {1, 2, 4, 8, 16, 32, 64}},
                                           {"tensor_parallel", "Tensor parallel t", {1, 2, 4, 8, 16}},
                                           {"replicas", "Replicas r", {1, 2, 4, 8, 16, 32, 64}},
                                           {"micro_batch", "Micro-batch m", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32}},
                                           {"schedule", "Schedule", {"sequential", "interleaved", "grouped"}},
                                           {"recompute", "Recompute", {"none", "layer", "stage"}}};
  return pins;
}

const std::vector<WhatIfNumber>& whatif_numbers() {
  static const std::vector<WhatIfNumber> numbers{
      {"/links/rate", "IPU-Link rate", "GB/s", nullptr},
      {"/streaming/ipu_rate", "Streaming per IPU", "GB/s", "/streaming/machine_rate"},
      {"/chip/tile_memory", "Tile memory", "KiB", nullptr}};
  return numbers;
}

QString pin_text(const QJsonValue& value) {
  return value.isDouble() ? QString::number(value.toInt()) : value.toString();
}

QString shown_pin(const report::Index& index, const char* field) {
  const LandscapePlan plan = landscape_plan(index.plan());
  const std::string name = field;
  if (name == "pipeline_stages") return plan.pipeline_stages;
  if (name == "tensor_parallel") return plan.tensor_parallel;
  if (name == "recompute") return plan.recompute;
  return pin_text(object_of(index.plan().plan_json())[field]);
}

double machine_number(const report::Index& index, const WhatIfNumber& number) {
  // The limit of a tile is its memory, also where no explanation quotes it.
  if (QLatin1String(number.pointer) == QLatin1String("/chip/tile_memory")) {
    return static_cast<double>(index.plan().tile_limit_bytes()) / 1024;
  }
  return leading_number(term_value(index, number.pointer), number.unit);
}

QJsonObject whatif_job_pins(const report::Index& index, const WhatIf& changes) {
  QJsonObject pins = object_of(index.job_json())["plan"].toObject();
  for (const auto& [field, value] : changes.pins) pins[field] = value;
  return pins;
}

QJsonObject whatif_request(const report::Index& index, const WhatIf& changes) {
  QJsonObject job = object_of(index.job_json());
  const QJsonObject plan = object_of(changes.plan.empty() ? index.plan().plan_json() : changes.plan);
  if (job.isEmpty() || (changes.pins.empty() && plan.isEmpty())) return {};
  job["machine"] = changed_machine(index, job["machine"], changes);
  if (changes.pins.empty()) {
    job["plan"] = plan;
    return {{"command", "estimate"}, {"job", job}};
  }
  job["plan"] = whatif_job_pins(index, changes);
  return {{"command", "plan"}, {"job", job}, {"top", 1}, {"time_limit", 20}, {"pareto", false}};
}

AnswerPointer whatif_answer(const QJsonObject& answer) {
  const QJsonObject best = (answer.contains("best") ? answer["best"] : answer["closest"]).toObject();
  if (!best.contains("step_time_s")) return nullptr;
  auto index = std::make_shared<report::Index>();
  report::PlanSummary& plan = *index->mutable_plan();
  const QJsonObject memory = best["memory"].toObject();
  const auto bytes = [&](const char* name) { return static_cast<std::int64_t>(memory[name].toInteger()); };
  plan.set_label(best["label"].toString().toStdString());
  plan.set_plan_json(QJsonDocument(best["plan"].toObject()).toJson(QJsonDocument::Compact).toStdString());
  plan.set_samples_per_second(best["samples_per_second"].toDouble());
  plan.set_step_time_s(best["step_time_s"].toDouble());
  plan.set_fits(best["fits"].toString().toStdString());
  plan.set_flop_utilisation(best["flop_utilisation"].toDouble());
  plan.set_global_batch(best["global_batch"].toInteger());
  plan.set_tile_peak_bytes(bytes("tile_peak_bytes"));
  plan.set_tile_limit_bytes(bytes("tile_limit_bytes"));
  plan.set_ipu_peak_bytes(bytes("ipu_peak_bytes"));
  plan.set_ddr_bytes_per_ipu(bytes("ddr_bytes_per_ipu"));
  for (const QJsonValue& value : best["waterfall"].toArray()) {
    const QJsonObject term = value.toObject();
    report::WaterfallTerm& out = *index->add_waterfall();
    out.set_name(term["name"].toString().toStdString());
    out.set_kind(term["kind"].toString().toStdString());
    out.set_seconds(term["seconds"].toDouble());
  }
  return index;
}

TableContents whatif_figures(const ReportPointer& report, const AnswerPointer& answer, Units units) {
  TableContents out;
  if (!report || !answer) return out;
  const auto rows = std::make_shared<const std::vector<Figure>>(figures(report->index().plan(), answer->plan(), units));
  const auto at = [rows](int row) -> const Figure& { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto number = [=](const ColumnTitle& title, double Figure::*member) {
    return TableColumn{title, true, [=](int row) { return fixed_decimals(at(row).*member, at(row).decimals); },
                       [=](int row) { return at(row).*member; }};
  };
  TableColumn difference{{"Difference", means::kChangedBy},
                         true,
                         [=](int row) { return signed_text(at(row).changed - at(row).shown, at(row).decimals); },
                         [=](int row) { return at(row).changed - at(row).shown; }};
  difference.better = [=](int row) { return at(row).better * sign_of(at(row).changed - at(row).shown); };
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"", means::kFigure}, false, [=](int row) { return at(row).name; }},
                 number({"Shown", means::kShown}, &Figure::shown),
                 number({"What-if", means::kChanged}, &Figure::changed),
                 difference};
  return out;
}

TableContents whatif_terms(const ReportPointer& report, const AnswerPointer& answer) {
  TableContents out;
  if (!report || !answer) return out;
  const auto rows = std::make_shared<const std::vector<TermRow>>(term_rows(report->index(), *answer));
  const auto at = [rows](int row) -> const TermRow& { return (*rows)[static_cast<std::size_t>(row)]; };
  const double whole = rows->back().shown;
  const auto ms = [=](const ColumnTitle& title, double TermRow::*member) {
    return TableColumn{title, true, [=](int row) { return milliseconds(at(row).*member, whole); },
                       [=](int row) { return at(row).*member * 1e3; }};
  };
  const auto change = [=](int row) { return at(row).changed - at(row).shown; };
  TableColumn difference{{"Difference, ms", means::kChangedByMs},
                         true,
                         [=](int row) { return (change(row) > 0 ? "+" : "") + milliseconds(change(row), whole); },
                         [=](int row) { return change(row) * 1e3; }};
  difference.better = [=](int row) { return -sign_of(change(row)); };
  TableColumn name{{"Cause", means::kTerm}, false, [=](int row) { return at(row).name; }};
  name.kind = [=](int row) { return at(row).kind; };
  out.rows = static_cast<int>(rows->size());
  out.columns = {name, ms({"Shown, ms", means::kTermMs}, &TermRow::shown),
                 ms({"What-if, ms", means::kChangedMs}, &TermRow::changed), difference};
  out.strong = [=](int row) { return row + 1 == static_cast<int>(rows->size()); };
  return out;
}

}  // namespace superstep::gui
