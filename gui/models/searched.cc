// SPDX-License-Identifier: Apache-2.0
#include "gui/models/searched.h"

#include <cmath>

#include "gui/models/plan_meanings.h"
#include "gui/models/table_columns.h"
#include "traces/damaged.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

QString count(double value) { return grouped(std::llround(value)); }

}  // namespace

std::vector<LandscapePlan> found_plans(const ReportFile& report) {
  std::vector<LandscapePlan> out;
  if (!report.has_column("candidate.label")) return out;
  const TextColumn labels = report.column_texts("candidate.label"), plans = report.column_texts("candidate.plan");
  const auto rates = report.column_reals("candidate.samples_per_second");
  const auto seconds = report.column_reals("candidate.step_time");
  const auto peaks = report.column_integers("candidate.tile_peak"), ddr = report.column_integers("candidate.ddr");
  const auto ipus = report.column_integers("candidate.ipus");
  check_rows(report, "candidate.*", labels.size(), plans, rates, seconds, peaks, ddr, ipus);
  const std::int64_t limit = report.index().plan().tile_limit_bytes();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    auto summary = std::make_shared<report::PlanSummary>();
    summary->set_label(labels[i]);
    summary->set_plan_json(plans[i]);
    summary->set_samples_per_second(rates[i]);
    summary->set_step_time_s(seconds[i]);
    summary->set_tile_peak_bytes(peaks[i]);
    summary->set_tile_limit_bytes(limit);
    summary->set_ddr_bytes_per_ipu(ddr[i]);
    summary->set_ipus(ipus[i]);
    summary->set_fits(fit_word(fit_in(peaks[i], limit)));
    out.push_back(landscape_plan(*summary));
    out.back().own = summary;
    out.back().found = true;
  }
  return out;
}

QString sampling_sentence(const report::Index& index, std::size_t drawn) {
  if (drawn == 0) return "";
  const auto all = std::max(index.search().candidates(), static_cast<std::int64_t>(drawn));
  return QString("%1 of %2 found plans drawn").arg(grouped(static_cast<std::int64_t>(drawn)), grouped(all));
}

double SearchedCells::total(const char* of_fate) const {
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += fate[i] == of_fate ? settings[i] : 0;
  return sum;
}

SearchedCells load_cells(const ReportFile& report) {
  SearchedCells c;
  if (!report.has_column("cell.fate")) return c;
  c.tensor_parallel = report.column_texts("cell.tensor_parallel");
  c.fate = report.column_texts("cell.fate");
  c.pipeline_stages = report.column_integers("cell.pipeline_stages");
  c.replicas = report.column_integers("cell.replicas");
  c.micro_batch = report.column_integers("cell.micro_batch");
  c.gradient_accumulation = report.column_integers("cell.gradient_accumulation");
  c.settings = report.column_reals("cell.settings");
  c.bound = report.column_reals("cell.bound");
  const auto texts = [&](const char* name, const char* usual) {
    if (report.has_column(name)) return report.column_texts(name);
    return TextColumn{{std::string(usual)}, std::vector<std::uint32_t>(c.settings.size())};
  };
  c.placement = texts("cell.placement", kUsualPlacement);
  c.shard_groups = texts("cell.shard_groups", kUsualShardGroups);
  check_rows(report, "cell", c.settings.size(), c.tensor_parallel, c.placement, c.shard_groups, c.fate,
             c.pipeline_stages, c.replicas, c.micro_batch, c.gradient_accumulation, c.bound);
  return c;
}

QString account_sentence(const report::Index& index, const SearchedCells& cells) {
  if (cells.size() == 0) return "";
  const double opened = cells.total("opened"), excluded = cells.total("excluded");
  const double dominated = cells.total("dominated"), none = cells.total("does not fit");
  const double sum = opened + excluded + dominated + none;
  QString out = QString(
                    "%1 settings in %2 cells: %3 in cells that were opened, %4 in cells excluded by their bound, "
                    "%5 in cells whose placement cannot be faster than another, %6 in cells where nothing fits.")
                    .arg(count(sum), grouped(static_cast<std::int64_t>(cells.size())), count(opened), count(excluded),
                         count(dominated), count(none));
  const report::SearchSummary& search = index.search();
  out += QString(" %1 settings were cut in the best way, %2 excluded by bounds without it")
             .arg(count(search.explored()), count(search.pruned()));
  const double all = search.explored() + search.pruned();
  if (std::llround(all) == std::llround(sum)) return out + ".";
  return out + QString("; that is %1, so the cells do not account for all.").arg(count(all));
}

TableContents cells_table(std::shared_ptr<const SearchedCells> cells) {
  using Numbers = std::vector<std::int64_t>;
  const auto number = [=](const ColumnTitle& title, Numbers SearchedCells::*column) {
    const auto get = [=](int row) { return ((*cells).*column)[static_cast<std::size_t>(row)]; };
    return TableColumn{title, true, [=](int row) { return grouped(get(row)); },
                       [=](int row) { return QVariant::fromValue(static_cast<qlonglong>(get(row))); }};
  };
  const auto at = [](int row) { return static_cast<std::size_t>(row); };
  TableContents out;
  out.rows = static_cast<int>(cells->size());
  out.columns = {
      {{"t", means::kTensorParallel},
       true,
       [=](int row) { return text(cells->tensor_parallel[at(row)]).replace('x', " x "); }},
      number({"p", means::kPipelineStages}, &SearchedCells::pipeline_stages),
      number({"r", means::kReplicas}, &SearchedCells::replicas),
      {{"Placement", means::kPlacement}, false, [=](int row) { return text(cells->placement[at(row)]); }},
      {{"Groups of shards", means::kShardGroups}, false, [=](int row) { return text(cells->shard_groups[at(row)]); }},
      number({"m", means::kMicroBatchSize}, &SearchedCells::micro_batch),
      number({"g", means::kAccumulation}, &SearchedCells::gradient_accumulation),
      {{"Settings", means::kSettings},
       true,
       [=](int row) { return count(cells->settings[at(row)]); },
       [=](int row) { return cells->settings[at(row)]; }},
      {{"At most, samples/s", means::kBound},
       true,
       [=](int row) {
         const double bound = cells->bound[at(row)];
         return bound > 0 ? fixed_decimals(bound, bound < 10 ? 3 : 1) : QString::fromUtf8("–");
       },
       [=](int row) { return cells->bound[at(row)]; }},
      {{"Fate", means::kFate}, false, [=](int row) { return text(cells->fate[at(row)]); }}};
  out.tip = [=](int row) -> QString {
    const std::string& fate = cells->fate[at(row)];
    if (fate == "excluded") return "None of its plans can be faster than the best that was found.";
    if (fate == "dominated") return "None of its plans can be faster than with the same degrees in another placement.";
    return fate == "opened" ? "Its settings were searched one by one or excluded by their own bounds."
                            : "The bound on memory proves that none of its plans fits.";
  };
  return out;
}

int cell_of(const SearchedCells& cells, const LandscapePlan& plan) {
  const QString mesh = QString(plan.tensor_parallel).remove(' ');
  const auto same = [](std::int64_t number, const QString& field) { return QString::number(number) == field; };
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (same(cells.pipeline_stages[i], plan.pipeline_stages) && same(cells.replicas[i], plan.replicas) &&
        same(cells.micro_batch[i], plan.micro_batch) &&
        same(cells.gradient_accumulation[i], plan.gradient_accumulation) && text(cells.tensor_parallel[i]) == mesh &&
        text(cells.placement[i]) == plan.placement && text(cells.shard_groups[i]) == plan.shard_groups) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace superstep::gui
