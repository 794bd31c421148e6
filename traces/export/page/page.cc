// SPDX-License-Identifier: Apache-2.0
#include "traces/export/page/page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "model/quantity_text.h"
#include "traces/text_table.h"
#include "traces/verdict.h"

namespace superstep::exports {
namespace {

std::string milliseconds(double seconds) { return fixed(seconds * 1e3, seconds < 0.01 ? 4 : 2); }

void add_verdict(const report::Index& index, Page& page) {
  page.parts.emplace_back(Paragraph{verdict_sentence(index), true});
  for (const std::string& text : {losses_sentence(index), software_sentence(index), validation_sentence(index),
                                  index.plan().bet(), index.plan().first_overflow()}) {
    if (!text.empty()) page.parts.emplace_back(Paragraph{text});
  }
}

void add_plan(const report::Index& index, Page& page) {
  if (!index.has_plan()) return;
  const report::PlanSummary& plan = index.plan();
  page.parts.emplace_back(Heading{"Plan"});
  Table table{{"", ""}, {}, {1}};
  const auto row = [&](const std::string& name, const std::string& value) { table.rows.push_back({name, value}); };
  row("plan", plan.label());
  row("IPUs", with_thousands(plan.ipus()));
  row("throughput", figure(plan.samples_per_second()) + " samples/s");
  row("step time", to_text(Seconds(plan.step_time_s())));
  row("global batch", with_thousands(plan.global_batch()) + " samples");
  row("model FLOP utilisation", percent(plan.flop_utilisation()));
  row("fullest tile", kib_text(plan.tile_peak_bytes()) + " of " + kib_text(plan.tile_limit_bytes()) + ": " +
                          kib_text(margin_bytes(plan)) + " to spare, " + fit_words(fit_of(plan)));
  row("fullest IPU", to_text(Bytes(plan.ipu_peak_bytes())));
  row("Streaming Memory per IPU", to_text(Bytes(plan.ddr_bytes_per_ipu())));
  if (plan.rated_power_w() > 0) row("rated power", to_text(Watts(plan.rated_power_w())));
  if (plan.time_to_train_s() > 0) row("time to train", to_text(Seconds(plan.time_to_train_s())));
  for (const report::Fact& fact : index.facts()) row(fact.name(), fact.value());
  page.parts.emplace_back(std::move(table));
}

// Lists of a stage each are as long as the model is deep, so this is text and not a table.
void add_pins(const report::Index& index, Page& page) {
  const auto json = nlohmann::json::parse(index.plan().plan_json(), nullptr, false);
  if (!json.is_object() || json.empty()) return;
  std::string fields;
  for (const auto& [name, value] : json.items()) {
    fields += (fields.empty() ? "{" : ",") + std::string("\n  \"") + name + "\": " + value.dump();
  }
  page.parts.emplace_back(Heading{"The plan as a job pins it"});
  page.parts.emplace_back(Code{fields + "\n}"});
}

void add_waterfall(const report::Index& index, Page& page) {
  const double total = waterfall_seconds(index);
  if (index.waterfall().empty() || !(total > 0)) return;
  page.parts.emplace_back(Heading{"From ideal to predicted"});
  Table table{{"term", "ms", "share", "95 % band, ms", "what it is"}, {}, {4}};
  double from = 0;
  for (int i = 0; i < index.waterfall_size(); ++i) {
    const report::WaterfallTerm& term = index.waterfall(i);
    const std::string band =
        term.has_low_s() && term.has_high_s() ? milliseconds(term.low_s()) + " to " + milliseconds(term.high_s()) : "";
    table.rows.push_back(
        {term.name(), milliseconds(term.seconds()), percent(term.seconds() / total), band, term.explanation()});
    table.bars.push_back({from / total, (from + term.seconds()) / total, std::string(kind_of_bar(i, term.kind()))});
    from += term.seconds();
  }
  table.strong.push_back(static_cast<int>(table.rows.size()));
  table.rows.push_back({"predicted step time", milliseconds(total), percent(1), "", ""});
  table.bars.push_back({0, 1, std::string(name_of(TermKind::total))});
  page.parts.emplace_back(std::move(table));
}

void add_memory(const report::Index& index, Page& page) {
  if (index.ipu_classes().empty()) return;
  page.parts.emplace_back(Heading{"Memory"});
  page.parts.emplace_back(Paragraph{"KiB on the fullest tile of each kind of IPU, at its peak."});
  std::vector<std::string> categories;
  for (const report::IpuClass& c : index.ipu_classes()) {
    for (const report::MemoryCategory& m : c.memory()) {
      if (m.bytes_per_tile() > 0 && std::find(categories.begin(), categories.end(), m.name()) == categories.end())
        categories.push_back(m.name());
    }
  }
  Table table{{"IPU", "holds", "alike"}, {}, {1}};
  table.headings.insert(table.headings.end(), categories.begin(), categories.end());
  for (const char* name : {"in all", "limit", "to spare", "Streaming Memory"}) table.headings.emplace_back(name);
  for (const report::IpuClass& c : index.ipu_classes()) {
    std::vector<std::string> row = {c.name(), c.contents(), with_thousands(c.count())};
    for (const std::string& category : categories) {
      const std::int64_t bytes = std::accumulate(
          c.memory().begin(), c.memory().end(), std::int64_t{0},
          [&](std::int64_t sum, const auto& m) { return sum + (m.name() == category ? m.bytes_per_tile() : 0); });
      row.push_back(kib(bytes));
    }
    for (const std::int64_t bytes : {c.tile_peak_bytes(), c.tile_limit_bytes(), margin_bytes(c)})
      row.push_back(kib(bytes));
    row.push_back(to_text(Bytes(c.ddr_bytes())));
    table.rows.push_back(std::move(row));
  }
  page.parts.emplace_back(std::move(table));
}

void add_changes(const report::Index& index, Page& page) {
  if (index.helpful_changes().empty()) return;
  page.parts.emplace_back(Heading{"What would help"});
  page.parts.emplace_back(Paragraph{"Faster plans with one field changed, and what goes with it."});
  Table table{{"field", "from", "to", "step time", "more samples/s", "fit", "over"}, {}, {1, 2, 5, 6}};
  for (const report::PlanChange& change : index.helpful_changes()) {
    report::PlanSummary plan;
    plan.set_fits(change.fits());
    table.rows.push_back({change.field(), change.from(), change.to(), to_text(Seconds(change.step_time_s())),
                          percent(index.plan().step_time_s() / change.step_time_s() - 1), fit_words(fit_of(plan)),
                          change.overflow()});
  }
  page.parts.emplace_back(std::move(table));
}

void add_plans(const std::string& title, const google::protobuf::RepeatedPtrField<report::PlanSummary>& plans,
               const report::Index& index, Page& page) {
  if (plans.empty()) return;
  page.parts.emplace_back(Heading{title});
  Table table{{"plan", "samples/s", "against the plan", "step time", "IPUs", "KiB to spare", "fit"}, {}, {6}};
  const double shown = index.plan().samples_per_second();
  for (const report::PlanSummary& plan : plans) {
    table.rows.push_back({plan.label(), figure(plan.samples_per_second()),
                          shown > 0 ? percent(plan.samples_per_second() / shown - 1) : "",
                          to_text(Seconds(plan.step_time_s())), with_thousands(plan.ipus()), kib(margin_bytes(plan)),
                          fit_words(fit_of(plan))});
  }
  page.parts.emplace_back(std::move(table));
}

void add_explanations(const report::Index& index, Page& page) {
  if (index.explanations().empty()) return;
  page.parts.emplace_back(Heading{"Where numbers come from"});
  for (const report::Explanation& e : index.explanations()) {
    Table table{{"term", "value", "from"}, {}, {1, 2}};
    for (const auto& term : e.terms()) table.rows.push_back({term.name(), term.value(), term.source()});
    page.parts.emplace_back(Folded{e.name() + " = " + e.value(), e.formula(), std::move(table)});
  }
}

}  // namespace

Page page_of(const report::Index& index) {
  Page page;
  page.title = index.title().empty() ? "Report without a title" : index.title();
  page.foot =
      "Written by " + index.created_by() + (index.machine_title().empty() ? "" : "; " + index.machine_title()) + ".";
  add_verdict(index, page);
  add_plan(index, page);
  add_waterfall(index, page);
  add_memory(index, page);
  add_changes(index, page);
  const std::string search = search_sentence(index);
  if (!search.empty()) {
    page.parts.emplace_back(Heading{"Search"});
    page.parts.emplace_back(Paragraph{search});
  }
  add_plans("Runners-up", index.runners_up(), index, page);
  if (index.pareto_measures_size() == 2)
    add_plans("Front of " + index.pareto_measures(0) + " and " + index.pareto_measures(1), index.pareto(), index, page);
  add_pins(index, page);
  if (!index.notes().empty()) page.parts.emplace_back(Heading{"Notes"});
  for (const std::string& note : index.notes()) page.parts.emplace_back(Paragraph{note});
  add_explanations(index, page);
  return page;
}

}  // namespace superstep::exports
