// SPDX-License-Identifier: Apache-2.0
#include "gui/models/landscape.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "gui/models/meanings.h"
#include "gui/models/plan_meanings.h"
#include "gui/models/table_columns.h"

namespace superstep::gui {
namespace {

using Plan = report::PlanSummary;

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
  if (fields.contains("placement")) plan.placement = field_text(fields["placement"]);
  const QJsonObject sharding = fields["replicated_tensor_sharding"].toObject();
  if (sharding.contains("groups")) plan.shard_groups = field_text(sharding["groups"]);
  plan.micro_batch = field_text(fields["micro_batch"]);
  plan.gradient_accumulation = field_text(fields["gradient_accumulation"]);
  plan.recompute = field_text(fields["recompute"]);
  const QJsonValue phases = fields["phases"];
  plan.phases = phases.isArray() ? QString::number(phases.toArray().size()) : field_text(phases);
}

// Of one of the plans that were found on the way only the tables' numbers are known.
double lowered(const LandscapePlan& plan, double value) {
  return plan.found ? std::numeric_limits<double>::quiet_NaN() : value;
}

// "8 x 2" is 16.
double number_of(const QString& field) {
  double product = 1;
  for (const QString& part : field.split(" x ")) {
    bool number = false;
    product *= part.toDouble(&number);
    if (!number) return std::numeric_limits<double>::quiet_NaN();
  }
  return product;
}

bool same_plan(const Plan& a, const Plan& b) {
  return a.plan_json() == b.plan_json() && a.label() == b.label() && a.step_time_s() == b.step_time_s() &&
         a.tile_peak_bytes() == b.tile_peak_bytes();
}

}  // namespace

LandscapePlan landscape_plan(const report::PlanSummary& summary) {
  LandscapePlan plan{.summary = &summary};
  read_fields(plan);
  return plan;
}

std::vector<LandscapePlan> landscape_plans(const report::Index& index) {
  std::vector<LandscapePlan> out;
  const auto entry = [&](const Plan& plan) -> LandscapePlan& {
    const auto known = std::find_if(out.begin(), out.end(), [&](const auto& p) { return same_plan(*p.summary, plan); });
    if (known != out.end()) return *known;
    out.push_back(landscape_plan(plan));
    return out.back();
  };
  if (index.has_plan()) entry(index.plan()).shown = true;
  for (const Plan& plan : index.runners_up()) entry(plan).runner_up = true;
  for (const Plan& plan : index.pareto()) entry(plan).pareto = true;
  return out;
}

const std::vector<LandscapeAxis>& landscape_axes() {
  using P = LandscapePlan;
  static const std::vector<LandscapeAxis> axes{
      {"fullest tile, KiB", 1, [](const P& p) { return static_cast<double>(p.summary->tile_peak_bytes()) / 1024; }},
      {"samples/s", 1, [](const P& p) { return p.summary->samples_per_second(); }},
      {"step time, ms", 1, [](const P& p) { return p.summary->step_time_s() * 1e3; }},
      {"fullest IPU, MiB", 1,
       [](const P& p) { return lowered(p, static_cast<double>(p.summary->ipu_peak_bytes()) / 1048576); }},
      {"Streaming Memory per IPU, MiB", 1,
       [](const P& p) { return static_cast<double>(p.summary->ddr_bytes_per_ipu()) / 1048576; }},
      {"% of peak FLOPs", 1, [](const P& p) { return lowered(p, p.summary->flop_utilisation() * 100); }},
      {"IPUs", 0, [](const P& p) { return static_cast<double>(p.summary->ipus()); }},
      {"rated power, W", 0, [](const P& p) { return lowered(p, p.summary->rated_power_w()); }},
      {"tensor parallel t", 0, [](const P& p) { return number_of(p.tensor_parallel); }},
      {"pipeline stages p", 0, [](const P& p) { return number_of(p.pipeline_stages); }},
      {"replicas r", 0, [](const P& p) { return number_of(p.replicas); }},
      {"micro-batch m", 0, [](const P& p) { return number_of(p.micro_batch); }},
      {"gradient accumulation g", 0, [](const P& p) { return number_of(p.gradient_accumulation); }},
      {"phases", 0, [](const P& p) { return number_of(p.phases); }}};
  return axes;
}

const std::vector<LandscapeColor>& landscape_colors() {
  static const std::vector<LandscapeColor> colors{{"pipeline stages p", &LandscapePlan::pipeline_stages},
                                                  {"tensor parallel t", &LandscapePlan::tensor_parallel},
                                                  {"replicas r", &LandscapePlan::replicas},
                                                  {"micro-batch m", &LandscapePlan::micro_batch},
                                                  {"gradient accumulation g", &LandscapePlan::gradient_accumulation},
                                                  {"phases", &LandscapePlan::phases},
                                                  {"recompute", &LandscapePlan::recompute},
                                                  {"IPUs", nullptr, 6},
                                                  {"samples/s", nullptr, kThroughputAxis},
                                                  {"step time, ms", nullptr, 2},
                                                  {"fullest tile, KiB", nullptr, kTileAxis},
                                                  {"Streaming Memory per IPU, MiB", nullptr, 4},
                                                  {"placement", &LandscapePlan::placement},
                                                  {"groups of shards", &LandscapePlan::shard_groups}};
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

namespace {

std::vector<double> axis_values(const std::vector<LandscapePlan>& plans, const LandscapeColor& color) {
  std::vector<double> out;
  for (const LandscapePlan& plan : plans) {
    out.push_back(color.field ? number_of(plan.*color.field)
                              : landscape_axes()[static_cast<std::size_t>(color.axis)].value(plan));
  }
  return out;
}

// The first value of each range after the first: equal values are never parted.
std::vector<double> range_starts(std::vector<double> values, int ranges) {
  std::sort(values.begin(), values.end());
  std::vector<double> starts;
  for (int i = 1; i < ranges; ++i) {
    const double start = values[values.size() * static_cast<std::size_t>(i) / static_cast<std::size_t>(ranges)];
    if (start > (starts.empty() ? values.front() : starts.back())) starts.push_back(start);
  }
  return starts;
}

}  // namespace

ColorClasses color_classes(const std::vector<LandscapePlan>& plans, const LandscapeColor& color) {
  ColorClasses out;
  const QStringList texts = color.field ? color_values(plans, color) : QStringList();
  const std::vector<double> values = axis_values(plans, color);
  std::vector<double> known;
  for (const double value : values) {
    if (std::isfinite(value)) known.push_back(value);
  }
  if (color.field && (texts.size() <= kMostColors || known.size() < values.size())) {
    out.names = texts.mid(0, kMostColors);
    if (texts.size() > kMostColors) out.names.back() = "others";
    for (const LandscapePlan& plan : plans) {
      out.of_plan.push_back(std::min(static_cast<int>(texts.indexOf(plan.*color.field)), kMostColors - 1));
    }
    return out;
  }
  if (known.empty()) return out;
  std::vector<double> distinct = known;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const bool few = distinct.size() <= 5;
  const std::vector<double> starts =
      few ? std::vector<double>(distinct.begin() + 1, distinct.end()) : range_starts(known, 5);
  const int decimals = color.field ? 0 : landscape_axes()[static_cast<std::size_t>(color.axis)].decimals;
  for (std::size_t i = 0; i <= starts.size(); ++i) {
    const QString from = fixed_decimals(i == 0 ? distinct.front() : starts[i - 1], decimals);
    const auto last =
        i < starts.size() ? std::lower_bound(distinct.begin(), distinct.end(), starts[i]) - 1 : distinct.end() - 1;
    const QString to = fixed_decimals(*last, decimals);
    out.names << (from == to ? from : from + QString::fromUtf8(" – ") + to);
  }
  for (const double value : values) {
    out.of_plan.push_back(static_cast<int>(std::upper_bound(starts.begin(), starts.end(), value) - starts.begin()));
  }
  return out;
}

TableContents landscape_table(const ReportPointer& report, std::shared_ptr<const std::vector<LandscapePlan>> plans,
                              Units units) {
  const auto at = [plans](int row) -> const LandscapePlan& { return (*plans)[static_cast<std::size_t>(row)]; };
  const auto plan = [=](int row) -> const Plan& { return *at(row).summary; };
  const auto field = [=](const ColumnTitle& title, QString LandscapePlan::*member) {
    return TableColumn{title, true, [=](int row) { return at(row).*member; },
                       [=](int row) -> QVariant {
                         bool number = false;
                         const double value = (at(row).*member).toDouble(&number);
                         return number ? QVariant(value) : QVariant(at(row).*member);
                       }};
  };
  const auto real = [=](const ColumnTitle& title, int decimals, double (*get)(const Plan&)) {
    return TableColumn{title, true, [=](int row) { return fixed_decimals(get(plan(row)), decimals); },
                       [=](int row) { return get(plan(row)); }};
  };
  const auto bytes = [=](const ColumnTitle& title, auto get) {
    return TableColumn{title + (", " + unit_name(units)), true,
                       [=](int row) { return tile_bytes(get(plan(row)), units); },
                       [=](int row) { return exact(get(plan(row))); }};
  };
  TableContents out;
  out.rows = static_cast<int>(plans->size());
  out.columns = {
      {{"", means::kFit},
       false,
       [=](int row) { return QString::fromUtf8(fit_sign(at(row).fit())); },
       [=](int row) { return QString(fit_words(at(row).fit())); }},
      {.title = {"Plan", means::kPlan},
       .text = [=, keep = report](int row) { return text(plan(row).label()); },
       .both_ends = true},
      {{"Is", means::kIs},
       false,
       [=](int row) {
         QStringList roles;
         if (at(row).shown) roles << "shown";
         if (at(row).runner_up && !at(row).shown) roles << "runner-up";
         if (at(row).pareto) roles << "Pareto";
         if (at(row).found) roles << "found";
         return roles.join(", ");
       }},
      {{"samples/s", means::kThroughput},
       true,
       [=](int row) {
         const double v = plan(row).samples_per_second();
         return fixed_decimals(v, v < 10 ? 3 : v < 100 ? 2 : 1);
       },
       [=](int row) { return plan(row).samples_per_second(); }},
      real({"Step, ms", means::kStepMs}, 1, [](const Plan& p) { return p.step_time_s() * 1e3; }),
      bytes({"Tile", means::kTileBytes}, [](const Plan& p) { return std::int64_t{p.tile_peak_bytes()}; }),
      bytes({"Spare", means::kSpareBytes}, [](const Plan& p) { return margin_bytes(p); }),
      real({"DDR, MiB", means::kDdrMib}, 1,
           [](const Plan& p) { return static_cast<double>(p.ddr_bytes_per_ipu()) / 1048576; }),
      {{"Recompute", means::kRecomputeMode}, false, [=](int row) { return at(row).recompute; }},
      field({"Phases", means::kPhases}, &LandscapePlan::phases),
      field({"t", means::kTensorParallel}, &LandscapePlan::tensor_parallel),
      field({"p", means::kPipelineStages}, &LandscapePlan::pipeline_stages),
      field({"r", means::kReplicas}, &LandscapePlan::replicas),
      field({"m", means::kMicroBatchSize}, &LandscapePlan::micro_batch),
      field({"g", means::kAccumulation}, &LandscapePlan::gradient_accumulation),
      {{"IPUs", means::kIpus},
       true,
       [=](int row) { return grouped(plan(row).ipus()); },
       [=](int row) { return exact(plan(row).ipus()); }},
      {{"Placement", means::kPlacement}, false, [=](int row) { return at(row).placement; }},
      {{"Groups of shards", means::kShardGroups}, false, [=](int row) { return at(row).shard_groups; }},
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
