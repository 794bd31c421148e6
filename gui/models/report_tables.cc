// SPDX-License-Identifier: Apache-2.0
#include "gui/models/report_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/key_numbers.h"
#include "gui/models/meanings.h"
#include "gui/models/timeline.h"
#include "model/error.h"
#include "traces/compare_detail.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }

QVariant exact(std::int64_t value) { return QVariant::fromValue(static_cast<qlonglong>(value)); }

// A column of whole numbers with thin groups.
TableColumn count_column(const ColumnTitle& title, std::function<std::int64_t(int)> value) {
  return {title, true, [value](int row) { return grouped(value(row)); },
          [value](int row) { return exact(value(row)); }};
}

TableColumn bytes_column(const ColumnTitle& title, Units units, std::function<std::int64_t(int)> value) {
  return {title, true, [value, units](int row) { return tile_bytes(value(row), units); },
          [value](int row) { return exact(value(row)); }};
}

void check_lengths(const ReportFile& report, const char* what, std::size_t rows,
                   std::initializer_list<std::size_t> all) {
  for (const std::size_t n : all) {
    if (n != rows)
      throw Error(report.path().string(), std::string("damaged report: the ") + what + " columns differ in length");
  }
}

QString lower_first(const QString& sentence) { return sentence.left(1).toLower() + sentence.mid(1); }

}  // namespace

namespace {

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
       [=](int row) { return row == 0      ? "ideal"
                             : row < terms ? text(index->waterfall(row).kind())
                                           : "total"; }},
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

TableContents tiles_table(const ReportPointer& report, std::shared_ptr<const HeatData> heat, std::vector<int> phases) {
  if (phases.empty()) phases = heat->phases_of(-1);
  struct Rows {
    std::vector<int> phases, begin;  // the first row of each phase, and the end
    std::size_t place(int row) const {
      return static_cast<std::size_t>(std::upper_bound(begin.begin(), begin.end(), row) - begin.begin()) - 1;
    }
  };
  auto rows = std::make_shared<Rows>();
  rows->begin = {0};
  for (const int phase : phases) {
    const auto runs = static_cast<int>(heat->phases[static_cast<std::size_t>(phase)].runs);
    if (runs == 0) continue;
    rows->phases.push_back(phase);
    rows->begin.push_back(rows->begin.back() + runs);
  }
  const auto phase = [=](int row) -> const HeatPhase& {
    return heat->phases[static_cast<std::size_t>(rows->phases[rows->place(row)])];
  };
  const auto run = [=](int row) -> const TileRun& {
    const std::size_t place = rows->place(row);
    const HeatPhase& its = heat->phases[static_cast<std::size_t>(rows->phases[place])];
    return heat->runs[its.first_run + static_cast<std::size_t>(row - rows->begin[place])];
  };
  TableContents out;
  out.rows = rows->begin.back();
  out.columns = {
      {{"IPU", means::kIpu},
       false,
       [=, keep = report](int row) { return text(keep->index().ipu_classes(phase(row).ipu_class).name()); }},
      {{"Phase", means::kPhaseName}, false, [=](int row) { return text(phase(row).name); }},
      count_column({"First tile", means::kFirstTile}, [=](int row) { return run(row).first; }),
      count_column({"Tiles", means::kTileCount}, [=](int row) { return run(row).count; }),
      count_column({"Live bytes", means::kTileLive}, [=](int row) { return run(row).memory_bytes; }),
      count_column({"Compute cycles", means::kTileCompute}, [=](int row) { return run(row).compute_cycles; }),
      count_column({"Exchange bytes", means::kTileExchange}, [=](int row) { return run(row).exchange_bytes; }),
      count_column({"Idle cycles", means::kTileIdle}, [=](int row) { return run(row).idle_cycles; }),
      count_column({"Active tiles", means::kActiveTiles},
                   [=](int row) { return active_tiles(*heat, rows->phases[rows->place(row)]); }),
  };
  if (heat->has_errors()) {
    out.columns.push_back(
        {{"Error, ± %", means::kPhaseError},
         true,
         [=](int row) {
           const double error = phase(row).error;
           return error < 0 ? QString() : error_percent(std::llround(error * 1e6));
         },
         [=](int row) { return phase(row).error < 0 ? QVariant() : QVariant(phase(row).error * 100); }});
  }
  out.source = [=](int row) { return rows->phases[rows->place(row)]; };
  return out;
}

TableContents phase_table(std::shared_ptr<const HeatData> heat, int phase, Units units) {
  const HeatPhase* p = &heat->phases[static_cast<std::size_t>(phase)];
  const auto run = [=](int row) -> const TileRun& { return heat->runs[p->first_run + static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(p->runs);
  const TableColumn live = bytes_column({"Live, " + unit_name(units), means::kTileLive}, units,
                                        [=](int row) { return run(row).memory_bytes; });
  out.columns = {
      {{"Tiles", means::kFirstTile},
       true,
       [=](int row) {
         return grouped(run(row).first) + QStringLiteral("–") + grouped(run(row).first + run(row).count - 1);
       },
       [=](int row) { return exact(run(row).first); }},
      live,
      count_column({"Cycles", means::kTileCompute}, [=](int row) { return run(row).compute_cycles; }),
      count_column({"Bytes", means::kTileExchange}, [=](int row) { return run(row).exchange_bytes; }),
  };
  return out;
}

Variables load_variables(const ReportFile& report) {
  Variables out;
  if (!report.has_column("variable.name")) return out;
  out.name = report.column_texts("variable.name");
  out.category = report.column_texts("variable.category");
  out.ipu_class = report.column_integers("variable.ipu_class");
  out.bytes_per_tile = report.column_integers("variable.bytes_per_tile");
  check_lengths(report, "variable.*", out.name.size(),
                {out.category.size(), out.ipu_class.size(), out.bytes_per_tile.size()});
  if (report.has_column("variable.first_phase")) {
    out.first_phase = report.column_integers("variable.first_phase");
    out.last_phase = report.column_integers("variable.last_phase");
    check_lengths(report, "variable.*", out.name.size(), {out.first_phase.size(), out.last_phase.size()});
  }
  for (const std::int64_t c : out.ipu_class) {
    if (c < 0 || c >= report.index().ipu_classes_size()) {
      throw Error(report.path().string(), "damaged report: a variable on IPU class " + std::to_string(c));
    }
  }
  return out;
}

TableContents variables_table(const ReportPointer& report, std::shared_ptr<const Variables> variables, int ipu_class,
                              Units units) {
  auto rows = std::make_shared<std::vector<std::size_t>>();
  for (std::size_t i = 0; i < variables->name.size(); ++i) {
    if (ipu_class < 0 || variables->ipu_class[i] == ipu_class) rows->push_back(i);
  }
  const auto at = [rows](int row) { return (*rows)[static_cast<std::size_t>(row)]; };
  const auto bytes = [=](int row) { return variables->bytes_per_tile[at(row)]; };
  std::int64_t largest = 1;
  for (const std::size_t i : *rows) largest = std::max(largest, variables->bytes_per_tile[i]);
  const auto category = [=](int row) { return text(variables->category[at(row)]); };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  out.columns = {
      {{"Variable", means::kVariable}, false, [=](int row) { return text(variables->name[at(row)]); }},
      {.title = {"Category", means::kCategory}, .text = category, .memory = category},
      {"IPU", false,
       [=, keep = report](int row) {
         return text(keep->index().ipu_classes(static_cast<int>(variables->ipu_class[at(row)])).name());
       }},
      bytes_column({unit_name(units), means::kVariableBytes}, units, bytes),
  };
  if (units == Units::kib) out.columns.push_back(count_column({"Bytes", means::kVariableBytes}, bytes));
  const auto share = [=](int row) { return static_cast<double>(bytes(row)) / static_cast<double>(largest); };
  out.columns.push_back(
      {.title = {"Beside the largest", means::kVariableShare}, .exact = share, .memory = category, .share = share});
  out.source = [=](int row) { return static_cast<int>(at(row)); };
  return out;
}

Steps load_steps(const ReportFile& report, const StepTrace* known) {
  Steps s;
  if (!report.has_column("step.name")) return s;
  if (known && known->rows() == 0) known = nullptr;  // it could not be read
  s.name = known ? known->name : read_texts(report, "step.name");
  s.kind = known ? known->kind : read_texts(report, "step.kind");
  s.term = known ? known->term : read_texts(report, "step.term");
  if (known) {
    s.cycles = known->start.values();
    s.compute_cycles = known->compute.values();
    if (known->collective.empty()) s.exchange_cycles = known->exchange.values();
  }
  const std::array<std::pair<const char*, PackedIntegers*>, 7> integers{{{"step.function", &s.function},
                                                                         {"step.cycles", &s.cycles},
                                                                         {"step.compute_cycles", &s.compute_cycles},
                                                                         {"step.exchange_cycles", &s.exchange_cycles},
                                                                         {"step.sync_cycles", &s.sync_cycles},
                                                                         {"step.bytes", &s.bytes},
                                                                         {"step.live_bytes", &s.live_bytes}}};
  for (const auto& [name, column] : integers) {
    if (column->empty()) *column = read_integers(report, name);
    check_lengths(report, "step.*", s.name.size(), {column->size(), s.kind.size(), s.term.size()});
  }
  if (report.has_column("step.temporary_bytes")) {
    s.temporary_bytes = read_integers(report, "step.temporary_bytes");
    s.keeping_bytes = read_integers(report, "step.keeping_bytes");
    s.tiles = known ? known->tiles : read_integers(report, "step.tiles");
    check_lengths(report, "step.*", s.name.size(), {s.temporary_bytes.size(), s.keeping_bytes.size(), s.tiles.size()});
  }
  return s;
}

QString tiles_text(std::int64_t tiles) { return tiles == 0 ? QStringLiteral("all") : grouped(tiles); }

namespace {

TableColumn tiles_column(std::shared_ptr<const Steps> steps) {
  const auto tiles = [steps](int row) { return steps->tiles[static_cast<std::size_t>(row)]; };
  return {{"Active tiles", means::kStepTiles},
          true,
          [tiles](int row) { return tiles_text(tiles(row)); },
          [tiles](int row) { return QVariant::fromValue(static_cast<qlonglong>(tiles(row))); }};
}

}  // namespace

TableContents steps_table(const ReportPointer& report, std::shared_ptr<const Steps> steps) {
  const auto integer = [steps](const ColumnTitle& title, const PackedIntegers& column) {
    return count_column(title, [steps, values = &column](int row) { return (*values)[static_cast<std::size_t>(row)]; });
  };
  const auto function = [=](int row) {
    const std::int64_t f = steps->function[static_cast<std::size_t>(row)];
    const auto& index = report->index();
    return f >= 0 && f < index.functions_size() ? text(index.functions(static_cast<int>(f)).name()) : QString();
  };
  TableContents out;
  out.rows = static_cast<int>(steps->name.size());
  out.columns = {
      {{"Step", means::kStepName}, false, [=](int row) { return text(steps->name[static_cast<std::size_t>(row)]); }},
      {{"Kind", means::kStepKind},
       false,
       [=](int row) { return text(steps->kind[static_cast<std::size_t>(row)]); },
       {},
       {},
       [=](int row) { return text(steps->kind[static_cast<std::size_t>(row)]); }},
      {{"Counts to", means::kCountsTo},
       false,
       [=](int row) { return text(steps->term[static_cast<std::size_t>(row)]); }},
      {{"Function", means::kFunction}, false, function},
      integer({"Cycles", means::kStepCycles}, steps->cycles),
      integer({"Compute cycles", means::kStepCompute}, steps->compute_cycles),
      integer({"Exchange cycles", means::kStepExchange}, steps->exchange_cycles),
      integer({"Sync cycles", means::kStepSync}, steps->sync_cycles),
      integer({"Bytes moved", means::kStepBytes}, steps->bytes),
      integer({"Live bytes per tile", means::kStepLive}, steps->live_bytes),
  };
  if (!steps->tiles.empty()) out.columns.push_back(tiles_column(steps));
  return out;
}

}  // namespace superstep::gui
