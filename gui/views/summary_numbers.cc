// SPDX-License-Identifier: Apache-2.0
#include "gui/views/summary_numbers.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QObject>
#include <algorithm>
#include <cmath>

#include "gui/base/theme.h"
#include "model/quantity_text.h"
#include "traces/compare_detail.h"
#include "traces/text_table.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

QString number_part(const std::string& text) { return for_viewer(text).section(' ', 0, 0); }
QString unit_part(const std::string& text) { return for_viewer(text).section(' ', 1); }

// Of the first three, which follow from the step time.
void add_bands(std::vector<KeyNumber>& numbers, const report::Index& index) {
  const std::optional<Band> step = step_time_band(index);
  if (!step || numbers.size() < 3) return;
  const auto& plan = index.plan();
  const auto set = [](KeyNumber& number, double low, double at, double high, auto text) {
    number.band = {low, at, high, text(low) + QString::fromUtf8(" … ") + text(high)};
  };
  const auto in_world = [&](double number, double seconds) { return number * plan.step_time_s() / seconds; };
  const double rate = plan.samples_per_second(), use = plan.flop_utilisation() * 100;
  set(numbers[0], in_world(rate, step->high), rate, in_world(rate, step->low),
      [](double value) { return for_viewer(figure(value)); });
  set(numbers[1], step->low, plan.step_time_s(), step->high,
      [&](double seconds) { return milliseconds(seconds, plan.step_time_s()); });
  set(numbers[2], in_world(use, step->high), use, in_world(use, step->low),
      [](double value) { return fixed_decimals(value, 1); });
  numbers[2].share = -1;
}

bool is_inference(const report::Index& index) {
  return std::ranges::any_of(index.facts(),
                             [](const auto& f) { return f.name() == "task" && f.value() == "inference"; });
}

}  // namespace

std::vector<KeyNumber> key_numbers(const report::Index& index, Units units) {
  if (!index.has_plan()) return {};
  const auto& plan = index.plan();
  const std::int64_t margin = margin_bytes(plan);
  const std::string ddr = to_text(Bytes(plan.ddr_bytes_per_ipu()));
  const QString power =
      plan.rated_power_w() > 0 ? QString(" · %1").arg(for_viewer(to_text(Watts(plan.rated_power_w())))) : QString();
  const double tile_share = plan.tile_limit_bytes() > 0 ? static_cast<double>(plan.tile_peak_bytes()) /
                                                              static_cast<double>(plan.tile_limit_bytes())
                                                        : -1;
  std::vector<KeyNumber> out{
      {"Throughput", for_viewer(figure(plan.samples_per_second())), "samples/s",
       for_viewer(with_thousands(plan.ipus())) + (plan.ipus() == 1 ? " IPU" : " IPUs") + power},
      {"Step time", milliseconds(plan.step_time_s(), plan.step_time_s()), "ms",
       "for " + grouped(plan.global_batch()) + " samples"},
      {"Model FLOP utilisation", fixed_decimals(plan.flop_utilisation() * 100, 1), "% of peak",
       "FP16.16 peak of the IPUs used", plan.flop_utilisation()},
      {"Fullest tile", tile_bytes(plan.tile_peak_bytes(), units),
       "of " + tile_bytes_text(plan.tile_limit_bytes(), units),
       tile_bytes_text(std::abs(margin), units) + (margin < 0 ? " over" : " to spare"), tile_share, margin < 0},
      {"Streaming Memory", number_part(ddr), unit_part(ddr) + " per IPU",
       for_viewer(with_thousands(plan.ddr_bytes_per_ipu())) + " bytes"},
      {"Global batch", grouped(plan.global_batch()), "samples",
       is_inference(index) ? "per step" : "per weight update"}};
  add_bands(out, index);
  return out;
}

// The largest use of each further limit over the IPU classes.
std::vector<KeyNumber> other_limits(const report::Index& index) {
  struct Use {
    std::int64_t used = 0, limit = 0;
    double share() const { return limit > 0 ? static_cast<double>(used) / static_cast<double>(limit) : 0; }
  };
  Use code;
  Use ddr;
  for (const auto& c : index.ipu_classes()) {
    const Use here{c.executable_bytes(), c.executable_limit_bytes()};
    const Use streaming{c.ddr_bytes(), c.ddr_limit_bytes()};
    if (here.limit > 0 && (code.limit == 0 || here.share() > code.share())) code = here;
    if (streaming.limit > 0 && (ddr.limit == 0 || streaming.share() > ddr.share())) ddr = streaming;
  }
  std::vector<KeyNumber> out;
  if (code.limit > 0) {
    out.push_back({"Code per tile",
                   for_viewer(kib(code.used)),
                   "of " + for_viewer(kib(code.limit)) + " KiB",
                   {},
                   code.share(),
                   code.share() > 1});
  }
  if (ddr.limit > 0) {
    out.push_back({"Streaming Memory per IPU",
                   for_viewer(to_text(Bytes(ddr.used))),
                   "of " + for_viewer(to_text(Bytes(ddr.limit))),
                   {},
                   ddr.share(),
                   ddr.share() > 1});
  }
  return out;
}

std::vector<LegendEntry> kinds_of(const report::Index& index) {
  std::vector<LegendEntry> out;
  std::vector<std::string> seen;
  for (const auto& term : index.waterfall()) {
    if (std::find(seen.begin(), seen.end(), term.kind()) != seen.end()) continue;
    seen.push_back(term.kind());
    out.push_back({fill_of_kind(term.kind()), QString::fromStdString(term.kind())});
  }
  return out;
}

namespace {

// "location.optimizer_state" too. False: the plan has no such field.
bool set_field(QJsonObject& in, const QString& path, const QJsonValue& value) {
  const QString first = path.section('.', 0, 0), rest = path.section('.', 1);
  if (!in.contains(first)) return false;
  QJsonValue to = value;
  if (!rest.isEmpty()) {
    QJsonObject inner = in[first].toObject();
    if (!set_field(inner, rest, value)) return false;
    to = inner;
  }
  in[first] = to;
  return true;
}

bool make_change(QJsonObject& plan, const report::PlanChange& change) {
  const QString field = QString::fromStdString(change.field()), to = QString::fromStdString(change.to());
  bool is_number = false;
  const double number = to.toDouble(&is_number);
  const double batch = plan.value("micro_batch").toDouble() * plan.value("gradient_accumulation").toDouble();
  if (!set_field(plan, field, is_number ? QJsonValue(number) : QJsonValue(to))) return false;
  // The batch stays what it is.
  if (field == "micro_batch" && batch > 0 && number > 0) plan["gradient_accumulation"] = std::floor(batch / number);
  return true;
}

}  // namespace

std::string changed_plan(const report::PlanSummary& plan, const report::PlanChange& change) {
  QJsonObject fields = QJsonDocument::fromJson(QByteArray::fromStdString(plan.plan_json())).object();
  if (!make_change(fields, change)) return {};
  return QJsonDocument(fields).toJson(QJsonDocument::Compact).toStdString();
}

std::string changed_plan(const report::Index& index, const std::vector<int>& changes) {
  report::PlanSummary plan = index.plan();
  for (const int change : changes) {
    plan.set_plan_json(changed_plan(plan, index.helpful_changes(change)));
    if (plan.plan_json().empty()) return {};
  }
  return plan.plan_json();
}

QString notes_text(const report::Index& index) {
  QStringList lines;
  const std::string searched = search_sentence(index);
  lines << (searched.empty() ? QObject::tr("The plan was given, not searched.") : for_viewer(searched)).toHtmlEscaped();
  for (const auto& fact : index.facts()) {
    lines << "<b>" + QString::fromStdString(fact.name()).toHtmlEscaped() + "</b> " +
                 for_viewer(fact.value()).toHtmlEscaped();
  }
  for (const auto& note : index.notes()) lines << for_viewer(note).toHtmlEscaped();
  return "<p style='margin:0 0 5px 0'>" + lines.join("</p><p style='margin:0 0 5px 0'>") + "</p>";
}

std::vector<LegendEntry> memory_legend(const report::Index& index) {
  std::vector<std::string> names;
  for (const auto& c : index.ipu_classes()) {
    for (const auto& m : c.memory()) {
      if (std::find(names.begin(), names.end(), m.name()) == names.end()) names.push_back(m.name());
    }
  }
  std::stable_sort(names.begin(), names.end(),
                   [](const auto& a, const auto& b) { return memory_order(a) < memory_order(b); });
  std::vector<LegendEntry> out;
  for (const auto& name : names) out.push_back({fill_of_memory(name), QString::fromStdString(name)});
  return out;
}

}  // namespace superstep::gui
