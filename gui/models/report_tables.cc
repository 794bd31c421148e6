// SPDX-License-Identifier: Apache-2.0
#include "gui/models/report_tables.h"

#include <algorithm>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"
#include "traces/compare_detail.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

QString lower_first(const QString& sentence) { return sentence.left(1).toLower() + sentence.mid(1); }

// Of a term; of the row after the last, of the step.
std::optional<Band> band_of_row(const report::Index& index, int row) {
  if (row >= index.waterfall_size()) return step_time_band(index);
  const report::WaterfallTerm& term = index.waterfall(row);
  if (!term.has_low_s() || !term.has_high_s()) return std::nullopt;
  return Band{term.low_s(), term.high_s()};
}

// Where the report says how sure its terms are.
void add_error_columns(TableContents& out, const report::Index& index) {
  const auto& terms = index.waterfall();
  if (std::none_of(terms.begin(), terms.end(), [](const auto& term) { return term.has_low_s(); })) return;
  const double total = waterfall_seconds(index);
  const auto add = [&](const ColumnTitle& title, double (*of)(const Band&)) {
    out.columns.push_back({title, true,
                           [=, &index](int row) {
                             const auto band = band_of_row(index, row);
                             return band ? milliseconds(of(*band), total) : QString();
                           },
                           [=, &index](int row) -> QVariant {
                             const auto band = band_of_row(index, row);
                             return band ? QVariant(of(*band) * 1e3) : QVariant();
                           }});
  };
  add({"± ms", means::kTermError}, [](const Band& band) { return (band.high - band.low) / 2; });
  add({"95 % from, ms", means::kTermBand}, [](const Band& band) { return band.low; });
  add({"95 % to, ms", means::kTermBand}, [](const Band& band) { return band.high; });
}

}  // namespace

TableContents waterfall_table(const ReportPointer& report) {
  const report::Index* index = &report->index();
  const double total = waterfall_seconds(*index);
  const int terms = index->waterfall_size();
  const auto seconds = [=](int row) { return row < terms ? index->waterfall(row).seconds() : total; };
  TableContents out;
  if (terms == 0) return out;
  out.rows = terms + 1;
  out.columns = {
      {{"Term", means::kTerm},
       false,
       [=, keep = report](int row) {
         return row < terms ? text(index->waterfall(row).name()) : QStringLiteral("Predicted step time");
       },
       {},
       {},
       [=](int row) {
         return text(
             std::string(row < terms ? kind_of_bar(row, index->waterfall(row).kind()) : name_of(TermKind::total)));
       }},
      {{"Kind", means::kTermKind},
       false,
       [=](int row) { return row < terms ? text(index->waterfall(row).kind()) : QString(); }},
      {{"ms", means::kTermMs},
       true,
       [=](int row) { return milliseconds(seconds(row), total); },
       [=](int row) { return seconds(row) * 1e3; }},
      {{"%", means::kTermShare},
       true,
       [=](int row) { return share_percent(seconds(row), total); },
       [=](int row) { return seconds(row) / total * 100; }},
      {{"Seconds", means::kTermSeconds}, true, [=](int row) { return exact_seconds(seconds(row)); }, seconds},
  };
  add_error_columns(out, *index);
  for (TableColumn& column : out.columns) {
    column.more = [=](int row, Explanation& more) {
      more.what = row < terms ? text(index->waterfall(row).name()) + ": " + lower_first(more.what)
                              : QStringLiteral("The predicted time of an optimizer step.");
      if (row < terms && !index->waterfall(row).explanation().empty())
        more.how = text(index->waterfall(row).explanation());
      add_reported(more, *index, row < terms ? "waterfall/" + index->waterfall(row).name() : "step_time_s");
    };
  }
  out.strong = [=](int row) { return row == terms; };
  out.source = [=](int row) { return row < terms ? row : -1; };
  out.tip = [=](int row) { return row < terms ? text(index->waterfall(row).explanation()) : QString(); };
  return out;
}

namespace {

struct MemoryRow {
  int ipu_class;
  int category;  // index into the class's memory; -1 for a sum
  QString name;
  std::int64_t bytes;
};

void add_memory_rows(std::vector<MemoryRow>& rows, const report::IpuClass& ipu, int ipu_class) {
  std::int64_t accounted = 0;
  for (const bool always : {true, false}) {
    std::int64_t sum = 0;
    const std::size_t head = rows.size();
    for (int i = 0; i < ipu.memory_size(); ++i) {
      if (ipu.memory(i).always_live() != always) continue;
      rows.push_back({ipu_class, i, text(ipu.memory(i).name()), ipu.memory(i).bytes_per_tile()});
      sum += ipu.memory(i).bytes_per_tile();
    }
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(head),
                {ipu_class, -1, always ? QStringLiteral("Always live") : QStringLiteral("Not always live"), sum});
    accounted += sum;
  }
  // A report whose categories leave something out says so.
  if (accounted != ipu.tile_peak_bytes()) {
    rows.push_back({ipu_class, -1, QStringLiteral("Not in a category"), ipu.tile_peak_bytes() - accounted});
  }
  rows.push_back({ipu_class, -1, QStringLiteral("Fullest tile at its peak"), ipu.tile_peak_bytes()});
}

// The always-live and the other categories below their sums, and both below the fullest tile.
void add_memory_parts(Explanation& out, const std::vector<MemoryRow>& rows, int row) {
  const auto at = [&](int i) -> const MemoryRow& { return rows[static_cast<std::size_t>(i)]; };
  if (at(row).category >= 0) return;
  const bool all = row + 1 == std::ssize(rows) || at(row + 1).ipu_class != at(row).ipu_class;
  const auto add = [&](const MemoryRow& r) { out.parts.push_back({r.name, grouped(r.bytes) + " bytes", {}}); };
  if (!all) {
    for (int i = row + 1; i < std::ssize(rows) && at(i).category >= 0; ++i) add(at(i));
    return;
  }
  int first = row;
  while (first > 0 && at(first - 1).ipu_class == at(row).ipu_class) --first;
  for (int i = first; i < row; ++i) {
    if (at(i).category < 0) add(at(i));
  }
}

}  // namespace

TableContents memory_table(const ReportPointer& report, int ipu_class, Units units) {
  const report::Index* index = &report->index();
  auto rows = std::make_shared<std::vector<MemoryRow>>();
  for (int i = 0; i < index->ipu_classes_size(); ++i) {
    if (ipu_class < 0 || i == ipu_class) add_memory_rows(*rows, index->ipu_classes(i), i);
  }
  const auto row_of = [rows](int row) -> const MemoryRow& { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto bytes = [=](int row) { return row_of(row).bytes; };
  const auto share = [=](int row) {
    const auto limit = static_cast<double>(index->ipu_classes(row_of(row).ipu_class).tile_limit_bytes());
    return limit > 0 ? static_cast<double>(bytes(row)) / limit : 0.0;
  };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  if (ipu_class < 0) {
    out.columns.push_back(
        {{"IPU", means::kIpu}, false, [=](int row) { return text(index->ipu_classes(row_of(row).ipu_class).name()); }});
  }
  const auto category = [=](int row) { return row_of(row).category < 0 ? QString() : row_of(row).name; };
  out.columns.push_back({.title = {"Category", means::kCategory},
                         .text = [=, keep = report](int row) { return row_of(row).name; },
                         .memory = category});
  if (ipu_class >= 0)
    out.columns.push_back({.title = {"", means::kLimitShare}, .exact = share, .memory = category, .share = share});
  const auto parts = [=](int row, Explanation& more) { add_memory_parts(more, *rows, row); };
  TableColumn shown = bytes_column({unit_name(units), means::kCategoryBytes}, units, bytes);
  TableColumn counted = count_column({"Bytes", means::kCategoryBytes}, bytes);
  shown.more = counted.more = parts;
  out.columns.push_back(shown);
  out.columns.push_back({{"% of limit", means::kLimitShare},
                         true,
                         [=](int row) { return fixed_decimals(share(row) * 100, 1); },
                         [=](int row) { return share(row) * 100; }});
  if (units == Units::kib) out.columns.push_back(counted);
  out.strong = [=](int row) { return row_of(row).category < 0; };
  out.source = [=](int row) { return row_of(row).category; };
  return out;
}

TableContents fit_table(const ReportPointer& report, Units units) {
  const auto ipu = [=](int row) -> const report::IpuClass& { return report->index().ipu_classes(row); };
  const auto bytes = [=](const ColumnTitle& title, std::int64_t (*get)(const report::IpuClass&)) {
    return bytes_column(title + ", " + unit_name(units), units, [=](int row) { return get(ipu(row)); });
  };
  TableContents out;
  out.rows = report->index().ipu_classes_size();
  out.columns = {
      {{"IPU", means::kIpu}, false, [=](int row) { return text(ipu(row).name()); }},
      {{"Holds", means::kHolds}, false, [=](int row) { return text(ipu(row).contents()); }},
      count_column({"Alike", means::kAlike}, [=](int row) { return ipu(row).count(); }),
      bytes({"Fullest tile", means::kTileBytes},
            [](const report::IpuClass& c) { return std::int64_t{c.tile_peak_bytes()}; }),
      bytes({"Limit", means::kLimitBytes},
            [](const report::IpuClass& c) { return std::int64_t{c.tile_limit_bytes()}; }),
      bytes({"Spare", means::kSpareBytes}, [](const report::IpuClass& c) { return margin_bytes(c); }),
      {{"Fit", means::kFit}, false, [=](int row) { return QString(fit_words(fit_of(ipu(row)))); }},
      bytes({"Code", means::kCodeBytes}, [](const report::IpuClass& c) { return std::int64_t{c.executable_bytes()}; }),
      bytes({"Code limit", means::kCodeLimit},
            [](const report::IpuClass& c) { return std::int64_t{c.executable_limit_bytes()}; }),
      count_column({"Streaming Memory, bytes", means::kDdrBytes}, [=](int row) { return ipu(row).ddr_bytes(); }),
  };
  const auto& ipus = report->index().ipu_classes();
  if (std::any_of(ipus.begin(), ipus.end(), [](const auto& c) { return c.has_tile_peak_error_bytes(); })) {
    out.columns.push_back(bytes({"± fullest tile", means::kTileError},
                                [](const report::IpuClass& c) { return std::int64_t{c.tile_peak_error_bytes()}; }));
  }
  return out;
}

TableContents plans_table(const ReportPointer& report, Units units) {
  const report::Index* index = &report->index();
  const int first = index->has_plan() ? 1 : 0;
  const auto plan = [=](int row) -> const report::PlanSummary& {
    return row < first ? index->plan() : index->runners_up(row - first);
  };
  const double best = index->plan().samples_per_second();
  TableContents out;
  out.rows = first + index->runners_up_size();
  out.columns = {
      {{"", means::kFit},
       false,
       [=](int row) { return QString::fromUtf8(fit_sign(fit_of(plan(row)))); },
       [=](int row) { return QString(fit_words(fit_of(plan(row)))); }},
      {.title = {"Plan", means::kPlan},
       .text = [=, keep = report](int row) { return text(plan(row).label()); },
       .both_ends = true},
      {{"samples/s", means::kThroughput},
       true,
       [=](int row) { return fixed_decimals(plan(row).samples_per_second(), 1); },
       [=](int row) { return plan(row).samples_per_second(); }},
      {{"±%", means::kAgainstPlan},
       true,
       [=](int row) {
         return row < first || best <= 0 ? QString()
                                         : fixed_decimals((plan(row).samples_per_second() / best - 1) * 100, 1);
       },
       [=](int row) { return best > 0 ? (plan(row).samples_per_second() / best - 1) * 100 : 0.0; }},
      {{"spare", means::kSpareBytes},
       true,
       [=](int row) { return tile_bytes(margin_bytes(plan(row)), units); },
       [=](int row) { return exact(margin_bytes(plan(row))); }},
      {{"step s", means::kStepSeconds},
       true,
       [=](int row) { return fixed_decimals(plan(row).step_time_s(), 3); },
       [=](int row) { return plan(row).step_time_s(); }},
  };
  out.strong = [=](int row) { return row < first; };
  out.source = [=](int row) { return row - first; };
  out.tip = [=](int row) { return text(plan(row).label()) + ": " + fit_words(fit_of(plan(row))); };
  return out;
}

namespace {

// The field's own name, where a table has little room: "optimizer_state", "sharding of optimizer_state".
QString short_field(const std::string& field) {
  const QString name = text(field).section('.', -1);
  return field.starts_with("replicated_tensor_sharding.") ? "sharding of " + name : name;
}

}  // namespace

TableContents changes_table(const ReportPointer& report) {
  const report::Index* index = &report->index();
  const auto change = [=, keep = report](int row) -> const report::PlanChange& { return index->helpful_changes(row); };
  const double step = index->plan().step_time_s();
  const auto gain = [=](int row) {
    return change(row).step_time_s() > 0 ? (step / change(row).step_time_s() - 1) * 100 : 0.0;
  };
  const auto fit_words_of = [=](int row) {
    return change(row).overflow().empty() ? QStringLiteral("fits") : "does not fit: " + text(change(row).overflow());
  };
  TableContents out;
  out.rows = index->helpful_changes_size();
  out.columns = {
      {{"", means::kFit},
       false,
       [=](int row) {
         return QString::fromUtf8(fit_sign(change(row).overflow().empty() ? Fit::fits : Fit::does_not_fit));
       },
       fit_words_of},
      {{"Change", means::kChange},
       false,
       [=](int row) {
         return short_field(change(row).field()) + " " + text(change(row).from()) + " → " + text(change(row).to());
       }},
      {{"+%", means::kChangeGain}, true, [=](int row) { return fixed_decimals(gain(row), 1); }, gain},
      {{"step s", means::kStepSeconds},
       true,
       [=](int row) { return fixed_decimals(change(row).step_time_s(), 3); },
       [=](int row) { return change(row).step_time_s(); }},
  };
  out.strong = [=](int row) { return change(row).overflow().empty(); };
  out.tip = [=](int row) { return text(change(row).field()) + ": " + fit_words_of(row); };
  return out;
}

}  // namespace superstep::gui
