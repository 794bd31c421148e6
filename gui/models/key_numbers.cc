// SPDX-License-Identifier: Apache-2.0
#include "gui/models/key_numbers.h"

#include "gui/models/meanings.h"
#include "gui/models/plan_meanings.h"
#include "gui/models/table_columns.h"
#include "model/quantity_text.h"
#include "traces/compare_detail.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

struct Row {
  QString name;
  QVariant value;
  QString shown;
  Meaning meaning;
  const char* reported = "";  // name of the report's explanation
};

void add_plan(std::vector<Row>& rows, const report::PlanSummary& plan) {
  const auto real = [](double value, int decimals) { return fixed_decimals(value, decimals); };
  const auto count = [&](const QString& name, std::int64_t value, const Meaning& meaning, const char* reported = "") {
    rows.push_back({name, exact(value), grouped(value), meaning, reported});
  };
  rows.push_back({"Throughput", plan.samples_per_second(), real(plan.samples_per_second(), 1), means::kThroughput,
                  "samples_per_second"});
  rows.push_back(
      {"Step time", plan.step_time_s(), exact_seconds(plan.step_time_s()), means::kStepSeconds, "step_time_s"});
  rows.push_back({"Model FLOP utilisation", plan.flop_utilisation() * 100, real(plan.flop_utilisation() * 100, 1),
                  means::kUtilisation});
  count("Fullest tile", plan.tile_peak_bytes(), means::kTileBytes);
  count("Limit of a tile", plan.tile_limit_bytes(), means::kLimitBytes);
  count("To spare", margin_bytes(plan), means::kSpareBytes);
  count("Streaming Memory per IPU", plan.ddr_bytes_per_ipu(), means::kDdrBytes, "ddr_bytes_per_ipu");
  count("Global batch", plan.global_batch(), means::kGlobalBatch);
  count("IPUs", plan.ipus(), means::kIpus);
  rows.push_back({"Rated power", plan.rated_power_w(), real(plan.rated_power_w(), 0), means::kRatedPower});
}

// Where 95 % of the worlds lie, of what follows from the step time.
void add_bands(std::vector<Row>& rows, const report::Index& index) {
  const std::optional<Band> step = step_time_band(index);
  if (!step) return;
  const auto& plan = index.plan();
  const auto add = [&](const char* name, double low, double high, const Meaning& meaning, QString (*shown)(double)) {
    rows.push_back({QString(name) + ", 95 % from", low, shown(low), meaning});
    rows.push_back({QString(name) + ", 95 % to", high, shown(high), meaning});
  };
  const auto in_world = [&](double number, double seconds) { return number * plan.step_time_s() / seconds; };
  const auto one_decimal = [](double value) { return fixed_decimals(value, 1); };
  add("Throughput", in_world(plan.samples_per_second(), step->high), in_world(plan.samples_per_second(), step->low),
      means::kThroughputBand, one_decimal);
  add("Step time", step->low, step->high, means::kStepBand, exact_seconds);
  add("Model FLOP utilisation", in_world(plan.flop_utilisation() * 100, step->high),
      in_world(plan.flop_utilisation() * 100, step->low), means::kUtilisationBand, one_decimal);
}

void add_search(std::vector<Row>& rows, const report::SearchSummary& search) {
  const auto number = [&](const char* name, double value, const Meaning& meaning) {
    rows.push_back(
        {name, value, fixed_decimals(value, value < 10 && value != static_cast<int>(value) ? 3 : 0), meaning});
  };
  number("Settings searched", search.explored(), means::kExplored);
  number("Settings excluded", search.pruned(), means::kPruned);
  number("Settings of the space", search.explored() + search.pruned(), means::kSpacePoints);
  number("Plans evaluated", static_cast<double>(search.evaluations()), means::kEvaluations);
  number("Time of the search", search.seconds(), means::kSearchTime);
  number("Gap", search.gap() * 100, means::kGap);
}

}  // namespace

TableContents key_numbers_table(const ReportPointer& report) {
  const report::Index* index = &report->index();
  auto rows = std::make_shared<std::vector<Row>>();
  if (index->has_plan()) add_plan(*rows, index->plan());
  if (index->has_plan()) add_bands(*rows, *index);
  if (index->has_search()) add_search(*rows, index->search());
  std::int64_t ddr_limit = 0;
  for (const auto& ipu : index->ipu_classes()) ddr_limit = std::max(ddr_limit, ipu.ddr_limit_bytes());
  if (ddr_limit > 0)
    rows->push_back({"Limit of Streaming Memory per IPU", exact(ddr_limit), grouped(ddr_limit), means::kDdrLimit});
  const auto words = [&](const QString& name, const std::string& value) {
    if (!value.empty()) rows->push_back({name, for_viewer(value), for_viewer(value), means::kReportFact});
  };
  words("Search", search_sentence(*index));
  words("Verdict", verdict_sentence(*index));
  words("First overflow", index->plan().first_overflow());
  for (const auto& fact : index->facts()) words(text(fact.name()), fact.value());
  for (const auto& note : index->notes()) words("Note", note);
  const auto at = [rows](int row) -> const Row& { return (*rows)[static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  TableColumn value{{"Value", means::kKeyFigureValue},
                    true,
                    [=](int row) { return at(row).shown; },
                    [=](int row) { return at(row).value; }};
  value.more = [=, keep = report](int row, Explanation& to) {
    to = explanation_of(at(row).meaning);
    add_reported(to, *index, at(row).reported);
  };
  out.columns = {{{"Figure", means::kKeyFigure}, false, [=](int row) { return at(row).name; }},
                 value,
                 {{"Unit", means::kUnitOfFigure}, false, [=](int row) { return QString(at(row).meaning.unit); }}};
  return out;
}

}  // namespace superstep::gui
