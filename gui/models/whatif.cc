// SPDX-License-Identifier: Apache-2.0
#include "gui/models/whatif.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/compare_tables.h"
#include "gui/models/landscape.h"
#include "gui/models/meanings.h"
#include "gui/models/plan_meanings.h"
#include "gui/models/table_columns.h"
#include "traces/compare.h"
#include "traces/compare_detail.h"

namespace superstep::gui {
namespace {

QJsonObject object_of(const std::string& json) {
  return QJsonDocument::fromJson(QByteArray::fromStdString(json)).object();
}

// "/links/rate" in an override's layout.
void set_at(QJsonObject& object, const QStringList& path, const QJsonValue& value) {
  if (path.size() == 1) {
    object[path[0]] = value;
    return;
  }
  QJsonObject inner = object[path[0]].toObject();
  set_at(inner, path.mid(1), value);
  object[path[0]] = inner;
}

// Pointer and text of the numbers that the report names.
std::vector<std::pair<QString, QString>> numbers_of(const report::Index& index) {
  std::vector<std::pair<QString, QString>> out;
  for (const report::Fact& number : index.machine_numbers())
    out.emplace_back(text(number.name()), text(number.value()));
  if (!out.empty()) return out;
  for (const auto& explanation : index.explanations()) {
    for (const auto& term : explanation.terms()) {
      const std::pair<QString, QString> quoted{text(term.name()), text(term.value())};
      if (quoted.first.startsWith('/') && std::find(out.begin(), out.end(), quoted) == out.end()) out.push_back(quoted);
    }
  }
  // No explanation quotes the limit of a tile as a row.
  const double limit = static_cast<double>(index.plan().tile_limit_bytes()) / 1024;
  if (limit > 0) out.emplace_back("/chip/tile_memory", QString::number(limit) + " KiB");
  return out;
}

int decimals_of(const QString& unit, double value) {
  if (unit.endsWith("cycles") || unit.endsWith("iB") || unit == "B") return 0;
  return value < 10 ? 3 : value < 100 ? 2 : 1;
}

// As a machine file has it: a count or a share as a number, all else with its unit.
QJsonValue written(double value, const QString& unit) {
  return unit.isEmpty() ? QJsonValue(value) : QJsonValue(QString("%1 %2").arg(value, 0, 'g', 9).arg(unit));
}

// Numbers that only together make a difference: an IPU's rate is its share of the machine's.
constexpr std::pair<const char*, const char*> kTogether[] = {{"/streaming/ipu_rate", "/streaming/machine_rate"}};

QJsonValue changed_machine(const report::Index& index, const QJsonValue& machine, const WhatIf& changes) {
  if (changes.machine.empty()) return machine;
  QJsonObject out = machine.isObject() ? machine.toObject() : QJsonObject{{"base", machine}};
  QJsonObject numbers = out["override"].toObject();
  const std::vector<WhatIfNumber> known = whatif_numbers(index);
  const auto number = [&](const QString& pointer) {
    return std::find_if(known.begin(), known.end(), [&](const WhatIfNumber& n) { return n.pointer == pointer; });
  };
  const auto put = [&](const QString& pointer, double factor) {
    const auto n = number(pointer);
    if (n != known.end()) set_at(numbers, pointer.mid(1).split('/'), written(n->value * factor, n->unit));
  };
  for (const auto& [pointer, value] : changes.machine) {
    const auto n = number(pointer);
    if (n == known.end() || !(n->value > 0)) continue;
    set_at(numbers, pointer.mid(1).split('/'), written(value, n->unit));
    for (const auto& [one, other] : kTogether) {
      if (pointer == QLatin1String(one) && !changes.machine.contains(other)) put(other, value / n->value);
    }
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
  int better;                     // 1: more is better, -1: less is, 0: neither
  std::optional<Band> band = {};  // of the difference
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
  static const std::vector<WhatIfPin> pins = [] {
    const std::map<QString, QString> main{{"pipeline_stages", "Pipeline stages p"},
                                          {"tensor_parallel", "Tensor parallel t"},
                                          {"replicas", "Replicas r"},
                                          {"placement", "Placement"},
                                          {"micro_batch", "Micro-batch m"},
                                          {"gradient_accumulation", "Accumulation g"},
                                          {"schedule", "Schedule"},
                                          {"recompute", "Recompute"}};
    // Of numbers what is tried most; any other can be typed.
    const std::map<QString, std::vector<QJsonValue>> tried{
        {"micro_batch", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32}},
        {"gradient_accumulation", {1, 2, 4, 8, 16, 32, 64, 128, 192, 256, 384, 512}},
        {"available_memory_proportion", {0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6}},
        {"io_tiles", {0, 16, 32, 64, 128}},
        {"phase_groups", {1, 2}},
        {"stages", {}},
        {"stage_ipu", {}},
        {"layers_per_stage", {}}};
    std::vector<WhatIfPin> out;
    for (const JobField& field : plan_fields()) {
      const auto title = main.find(field.path);
      const auto offered = tried.find(field.path);
      WhatIfPin pin{field.path,
                    title == main.end() ? field_title(field.path) : title->second,
                    {},
                    field.what,
                    field.choices,
                    field.choices.empty()};
      if (title == main.end())
        pin.group = field.path.contains('/') ? field_title(field.path.section('/', 0, 0)) : "Plan";
      if (pin.open)
        pin.values = offered == tried.end() ? std::vector<QJsonValue>{1, 2, 4, 8, 16, 32, 64} : offered->second;
      out.push_back(std::move(pin));
    }
    // The main ones, then those that stand alone, then the groups.
    std::stable_sort(out.begin(), out.end(), [](const WhatIfPin& a, const WhatIfPin& b) {
      const auto rank = [](const WhatIfPin& p) { return p.group.isEmpty() ? 0 : p.group == "Plan" ? 1 : 2; };
      return rank(a) < rank(b);
    });
    return out;
  }();
  return pins;
}

std::vector<WhatIfNumber> whatif_numbers(const report::Index& index) {
  static const std::map<QString, QString> main{{"/chip/clock", "Clock"},
                                               {"/chip/tile_memory", "Tile memory"},
                                               {"/links/rate", "IPU-Link rate"},
                                               {"/streaming/ipu_rate", "Streaming per IPU"}};
  std::vector<WhatIfNumber> out;
  for (const auto& [pointer, value] : numbers_of(index)) {
    const JobField* field = machine_field(pointer);
    if (!field) continue;
    WhatIfNumber n{pointer};
    n.value = value.section(' ', 0, 0).toDouble();
    n.unit = value.section(' ', 1);
    const auto title = main.find(pointer);
    n.main = title != main.end();
    const QString part = pointer.section('/', -2, -2);
    const QString group = part == "chip" ? QString() : part == "amp" ? "AMP" : field_title(part);
    const QString name = field_title(pointer);
    n.title = n.main ? title->second : group.isEmpty() ? name : group + ' ' + name.left(1).toLower() + name.mid(1);
    n.what = field->what;
    n.decimals = n.unit.isEmpty() && field->whole ? 0 : decimals_of(n.unit, n.value);
    n.least = n.value / 4;
    n.most = field->most > 0 ? std::min(n.value * 4, field->most) : n.value * 4;
    if (n.unit.isEmpty() && field->whole) n.least = std::max(1.0, std::ceil(n.least));
    out.push_back(std::move(n));
  }
  std::stable_partition(out.begin(), out.end(), [](const WhatIfNumber& n) { return n.main; });
  return out;
}

QString shown_pin(const report::Index& index, const QString& field) {
  const LandscapePlan plan = landscape_plan(index.plan());
  if (field == "pipeline_stages") return plan.pipeline_stages;
  if (field == "tensor_parallel") return plan.tensor_parallel;
  if (field == "recompute") return plan.recompute;
  QJsonValue value = object_of(index.plan().plan_json());
  for (const QString& part : field.split('/')) value = value.toObject()[part];
  return pin_text(value);
}

QJsonObject whatif_job_pins(const report::Index& index, const WhatIf& changes) {
  QJsonObject pins = object_of(index.job_json())["plan"].toObject();
  for (const auto& [field, value] : changes.pins) set_at(pins, field.split('/'), value);
  return pins;
}

QJsonObject whatif_request(const report::Index& index, const WhatIf& changes) {
  QJsonObject job = object_of(index.job_json());
  const QJsonObject plan = object_of(changes.plan.empty() ? index.plan().plan_json() : changes.plan);
  if (job.isEmpty() || (changes.pins.empty() && plan.isEmpty())) return {};
  job["machine"] = changed_machine(index, job["machine"], changes);
  if (changes.pins.empty()) {
    job["plan"] = plan;
    return {{"command", "estimate"}, {"job", job}, {"worlds", true}};
  }
  job["plan"] = whatif_job_pins(index, changes);
  return {{"command", "plan"}, {"job", job}, {"top", 1}, {"time_limit", 20}, {"pareto", false}, {"worlds", true}};
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
  for (const QJsonValue& seconds : best["step_time_in_worlds_s"].toArray())
    plan.add_step_time_in_worlds_s(seconds.toDouble());
  for (const QJsonValue& value : best["waterfall"].toArray()) {
    const QJsonObject term = value.toObject();
    report::WaterfallTerm& out = *index->add_waterfall();
    out.set_name(term["name"].toString().toStdString());
    out.set_kind(term["kind"].toString().toStdString());
    out.set_seconds(term["seconds"].toDouble());
  }
  return index;
}

WhatIfVerdict whatif_verdict(const report::Index& shown, const report::Index& changed) {
  WhatIfVerdict out;
  const double difference = changed.plan().samples_per_second() - shown.plan().samples_per_second();
  out.change = for_viewer((difference > 0 ? "+" : "") + figure(difference)) + " samples/s";
  const auto speed = speed_change(changed, shown);
  if (!speed) return out;
  out.change += QString(" (%1 %)").arg(signed_text(speed->change * 100, 1));
  if (speed->band) out.band = speed_band_text(*speed->band);
  const std::array<const report::Index*, 2> both{&shown, &changed};
  const std::array<std::string, 2> names{"shown", "what-if"};
  const Sureness sure = sureness(speed->change, compare(both, names).probability_faster[1]);
  out.tie = sure.tie;
  if (!sure.text.isEmpty()) out.certainty = sure.text + (sure.tie ? ": within the error" : "");
  return out;
}

TableContents whatif_inputs(const ReportPointer& report, const WhatIf& changes) {
  struct Input {
    QString name, shown, now;
  };
  TableContents out;
  if (!report) return out;
  auto rows = std::make_shared<std::vector<Input>>();
  for (const WhatIfPin& pin : whatif_pins()) {
    const QString shown = shown_pin(report->index(), pin.field);
    const auto changed = changes.pins.find(pin.field);
    const bool grouped_pin = !pin.group.isEmpty() && pin.group != "Plan";
    rows->push_back({grouped_pin ? pin.group + ", " + pin.title : pin.title, shown,
                     changed == changes.pins.end() ? shown : pin_text(changed->second)});
  }
  for (const WhatIfNumber& n : whatif_numbers(report->index())) {
    const auto text = [&](double value) {
      return QString::number(value, 'g', 9) + (n.unit.isEmpty() ? QString() : ' ' + n.unit);
    };
    const auto changed = changes.machine.find(n.pointer);
    rows->push_back({n.title, text(n.value), text(changed == changes.machine.end() ? n.value : changed->second)});
  }
  const auto at = [rows](int row) -> const Input& { return (*rows)[static_cast<std::size_t>(row)]; };
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"Field or number", means::kInput}, false, [=](int row) { return at(row).name; }},
                 {{"Report", means::kInputShown}, false, [=](int row) { return at(row).shown; }},
                 {{"What-if", means::kInputNow}, false, [=](int row) { return at(row).now; }}};
  return out;
}

TableContents whatif_figures(const ReportPointer& report, const AnswerPointer& answer, Units units) {
  TableContents out;
  if (!report || !answer) return out;
  auto list = figures(report->index().plan(), answer->plan(), units);
  const auto scaled = [](std::optional<Band> band, double by) {
    return band ? std::optional(Band{band->low * by, band->high * by}) : std::nullopt;
  };
  if (const auto speed = speed_change(*answer, report->index()))
    list[0].band = scaled(speed->band, report->index().plan().samples_per_second());
  list[1].band = scaled(step_difference_band(*answer, report->index()), 1e3);
  const auto rows = std::make_shared<const std::vector<Figure>>(std::move(list));
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
  const auto has_band = [](const Figure& f) { return f.band.has_value(); };
  if (std::none_of(rows->begin(), rows->end(), has_band)) return out;
  out.columns.push_back(
      {{"95 % band", means::kChangedBand}, true, [=](int row) {
         const Figure& f = at(row);
         if (!f.band) return QString();
         return QString("%1 to %2").arg(signed_text(f.band->low, f.decimals), signed_text(f.band->high, f.decimals));
       }});
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

TableContents whatif_together(const ReportPointer& report, const std::vector<int>& changes,
                              const AnswerPointer& answer) {
  TableContents out;
  if (!report || changes.empty()) return out;
  struct Row {
    QString name;
    std::optional<double> gain;
    QString fits;
  };
  auto rows = std::make_shared<std::vector<Row>>();
  const report::Index& index = report->index();
  double sum = 0;
  for (const int at : changes) {
    const report::PlanChange& change = index.helpful_changes(at);
    const double gain = (index.plan().step_time_s() / change.step_time_s() - 1) * 100;
    sum += gain;
    rows->push_back({text(change.field()) + " " + text(change.from()) + QString::fromUtf8(" → ") + text(change.to()),
                     gain, change.overflow().empty() ? QString("fits") : "does not fit"});
  }
  rows->push_back({QObject::tr("sum of the single gains"), sum, {}});
  Row together{QObject::tr("together"), std::nullopt, QObject::tr("asking…")};
  if (answer) {
    together.gain = (answer->plan().samples_per_second() / index.plan().samples_per_second() - 1) * 100;
    together.fits = fit_words(fit_of(answer->plan()));
  }
  rows->push_back(together);
  const auto at = [rows](int row) -> const Row& { return (*rows)[static_cast<std::size_t>(row)]; };
  out.rows = static_cast<int>(rows->size());
  out.columns = {{{"Change", means::kChange}, false, [=](int row) { return at(row).name; }},
                 {{"+%", means::kTogetherGain},
                  true,
                  [=](int row) { return at(row).gain ? signed_text(*at(row).gain, 1) : QString(); },
                  [=](int row) { return at(row).gain ? QVariant(*at(row).gain) : QVariant(); }},
                 {{"Fit", means::kFit}, false, [=](int row) { return at(row).fits; }}};
  out.strong = [last = out.rows - 1](int row) { return row == last; };
  return out;
}

}  // namespace superstep::gui
