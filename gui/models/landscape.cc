// SPDX-License-Identifier: Apache-2.0
#include "gui/models/landscape.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <tuple>

namespace superstep::gui {
namespace {

using Plan = report::PlanSummary;

QString text(const std::string& s) { return QString::fromStdString(s); }
QVariant exact(std::int64_t value) { return QVariant::fromValue(static_cast<qlonglong>(value)); }

// "4", "8 x 8", "layer", "layer, none" of a field that may have one value for each stage.
QString field_text(const QJsonValue& value) {
  if (value.isDouble()) return QString::number(value.toInt());
  if (!value.isArray()) return value.toString();
  QStringList parts;
  for (const QJsonValue& part : value.toArray()) {
    const QString one = field_text(part);
    if (part.isDouble() || !parts.contains(one)) parts << one;
  }
  return parts.join(value.toArray().first().isDouble() ? " x " : ", ");
}

void read_fields(LandscapePlan& plan) {
  const QByteArray json = QByteArray::fromStdString(plan.summary->plan_json());
  const QJsonObject fields = QJsonDocument::fromJson(json).object();
  plan.tensor_parallel = field_text(fields["tensor_parallel"]);
  plan.pipeline_stages = field_text(fields["pipeline_stages"]);
  plan.replicas = field_text(fields["replicas"]);
  plan.micro_batch = field_text(fields["micro_batch"]);
  plan.recompute = field_text(fields["recompute"]);
  const QJsonValue phases = fields["phases"];
  plan.phases = phases.isArray() ? QString::number(phases.toArray().size()) : field_text(phases);
}

bool same_plan(const Plan& a, const Plan& b) {
  return a.plan_json() == b.plan_json() && a.label() == b.label() && a.step_time_s() == b.step_time_s() &&
         a.tile_peak_bytes() == b.tile_peak_bytes();
}

}  // namespace

std::vector<LandscapePlan> landscape_plans(const report::Index& index) {
  std::vector<LandscapePlan> out;
  const auto entry = [&](const Plan& plan) -> LandscapePlan& {
    const auto known = std::find_if(out.begin(), out.end(), [&](const auto& p) { return same_plan(*p.summary, plan); });
    if (known != out.end()) return *known;
    out.push_back({.summary = &plan});
    read_fields(out.back());
    return out.back();
  };
  if (index.has_plan()) entry(index.plan()).shown = true;
  for (const Plan& plan : index.runners_up()) entry(plan).runner_up = true;
  for (const Plan& plan : index.pareto()) entry(plan).pareto = true;
  return out;
}

const std::vector<LandscapeAxis>& landscape_axes() {
  static const std::vector<LandscapeAxis> axes{
      {"fullest tile, KiB", 1, [](const Plan& p) { return static_cast<double>(p.tile_peak_bytes()) / 1024; }},
      {"samples/s", 1, [](const Plan& p) { return p.samples_per_second(); }},
      {"step time, ms", 1, [](const Plan& p) { return p.step_time_s() * 1e3; }},
      {"fullest IPU, MiB", 1, [](const Plan& p) { return static_cast<double>(p.ipu_peak_bytes()) / 1048576; }},
      {"Streaming Memory per IPU, MiB", 1,
       [](const Plan& p) { return static_cast<double>(p.ddr_bytes_per_ipu()) / 1048576; }},
      {"% of peak FLOPs", 1, [](const Plan& p) { return p.flop_utilisation() * 100; }},
      {"IPUs", 0, [](const Plan& p) { return static_cast<double>(p.ipus()); }},
      {"rated power, W", 0, [](const Plan& p) { return p.rated_power_w(); }}};
  return axes;
}

const std::vector<LandscapeColor>& landscape_colors() {
  static const std::vector<LandscapeColor> colors{{"pipeline stages p", &LandscapePlan::pipeline_stages},
                                                  {"tensor parallel t", &LandscapePlan::tensor_parallel},
                                                  {"replicas r", &LandscapePlan::replicas},
                                                  {"micro-batch m", &LandscapePlan::micro_batch},
                                                  {"phases", &LandscapePlan::phases},
                                                  {"recompute", &LandscapePlan::recompute}};
  return colors;
}

QStringList color_values(const std::vector<LandscapePlan>& plans, const LandscapeColor& color) {
  QStringList values;
  for (const LandscapePlan& plan : plans) {
    if (!values.contains(plan.*color.field)) values << plan.*color.field;
  }
  // Numbers as numbers, then texts; a product of two numbers ("8 x 2") by its first.
  std::sort(values.begin(), values.end(), [](const QString& a, const QString& b) {
    const auto key = [](const QString& text) {
      bool number = false;
      const int value = text.section(' ', 0, 0).toInt(&number);
      return std::tuple(number ? 0 : 1, value, text);
    };
    return key(a) < key(b);
  });
  return values;
}

TableContents landscape_table(const ReportPointer& report, std::shared_ptr<const std::vector<LandscapePlan>> plans,
                              Units units) {
  const auto at = [plans](int row) -> const LandscapePlan& { return (*plans)[static_cast<std::size_t>(row)]; };
  const auto plan = [=](int row) -> const Plan& { return *at(row).summary; };
  const auto field = [=](const QString& title, QString LandscapePlan::*member) {
    return TableColumn{title, true, [=](int row) { return at(row).*member; },
                       [=](int row) -> QVariant {
                         bool number = false;
                         const double value = (at(row).*member).toDouble(&number);
                         return number ? QVariant(value) : QVariant(at(row).*member);
                       }};
  };
  const auto real = [=](const QString& title, int decimals, double (*get)(const Plan&)) {
    return TableColumn{title, true, [=](int row) { return fixed_decimals(get(plan(row)), decimals); },
                       [=](int row) { return get(plan(row)); }};
  };
  const auto bytes = [=](const QString& title, auto get) {
    return TableColumn{title + ", " + unit_name(units), true,
                       [=](int row) { return tile_bytes(get(plan(row)), units); },
                       [=](int row) { return exact(get(plan(row))); }};
  };
  TableContents out;
  out.rows = static_cast<int>(plans->size());
  out.columns = {
      {"", false, [=](int row) { return QString::fromUtf8(fit_sign(at(row).fit())); },
       [=](int row) { return QString(fit_words(at(row).fit())); }},
      {"Plan", false, [=, keep = report](int row) { return text(plan(row).label()); }},
      {"Is", false,
       [=](int row) {
         QStringList roles;
         if (at(row).shown) roles << "shown";
         if (at(row).runner_up && !at(row).shown) roles << "runner-up";
         if (at(row).pareto) roles << "Pareto";
         return roles.join(", ");
       }},
      {"samples/s", true,
       [=](int row) {
         const double v = plan(row).samples_per_second();
         return fixed_decimals(v, v < 10 ? 3 : v < 100 ? 2 : 1);
       },
       [=](int row) { return plan(row).samples_per_second(); }},
      real("Step, ms", 1, [](const Plan& p) { return p.step_time_s() * 1e3; }),
      bytes("Tile", [](const Plan& p) { return std::int64_t{p.tile_peak_bytes()}; }),
      bytes("Spare", [](const Plan& p) { return margin_bytes(p); }),
      real("DDR, MiB", 1, [](const Plan& p) { return static_cast<double>(p.ddr_bytes_per_ipu()) / 1048576; }),
      {"Recompute", false, [=](int row) { return at(row).recompute; }},
      field("Phases", &LandscapePlan::phases),
      field("t", &LandscapePlan::tensor_parallel),
      field("p", &LandscapePlan::pipeline_stages),
      field("r", &LandscapePlan::replicas),
      field("m", &LandscapePlan::micro_batch),
  };
  out.strong = [=](int row) { return at(row).shown; };
  out.tip = [=](int row) {
    QString tip = text(plan(row).label()) + ": " + fit_words(at(row).fit());
    if (!plan(row).first_overflow().empty()) tip += "\n" + text(plan(row).first_overflow());
    return tip;
  };
  return out;
}

}  // namespace superstep::gui
