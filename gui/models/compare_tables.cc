// SPDX-License-Identifier: Apache-2.0
#include "gui/models/compare_tables.h"

#include <QHash>
#include <algorithm>
#include <cmath>
#include "gui/models/meanings.h"
#include "gui/models/plan_meanings.h"
#include "gui/models/table_columns.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

const QString kDash = QStringLiteral("–");
const QString kEqual = QStringLiteral("=");

// "+31.2", "−4.0", and "=" for what rounds to no difference at all.
QString signed_number(double value, int decimals) {
  const QString number = fixed_decimals(value, decimals);
  const bool zero = std::abs(value) < 0.5 * std::pow(10, -decimals);
  return zero ? kEqual : value > 0 ? '+' + number : number;
}

int smaller_is_better(double difference) { return difference < 0 ? 1 : difference > 0 ? -1 : 0; }

// Rows of the comparison that are shown, and access to them.
using Places = std::shared_ptr<std::vector<int>>;

template <class Keep>
Places places(std::size_t rows, Keep keep) {
  auto out = std::make_shared<std::vector<int>>();
  for (std::size_t i = 0; i < rows; ++i) {
    if (keep(i)) out->push_back(static_cast<int>(i));
  }
  return out;
}

template <class Value>
bool all_equal(const std::vector<std::optional<Value>>& values) {
  return std::all_of(values.begin(), values.end(), [&](const auto& v) { return v == values[0]; });
}

QString side_title(const ComparedReports& c, int report, const QString& unit) { return c.side(report) + ", " + unit; }

QString difference_title(const ComparedReports& c, int target, const QString& unit) {
  return c.size() == 2 ? "Diff, " + unit : QString("Diff %1, %2").arg(target + 1).arg(unit);
}

// A column of numbers of one report and, for a target, its difference: texts and exact values from `value`.
using Value = std::function<std::optional<double>(int row, int report)>;
using Spell = std::function<QString(double)>;

void add_sides(TableContents& out, const ComparedPointer& c, const ColumnTitle& unit, const Value& value,
               const Spell& spell) {
  for (int r = 0; r < c->size(); ++r) {
    out.columns.push_back({{side_title(*c, r, unit.text), unit.meaning},
                           true,
                           [=](int row) {
                             const auto v = value(row, r);
                             return v ? spell(*v) : kDash;
                           },
                           [=](int row) {
                             const auto v = value(row, r);
                             return v ? QVariant(*v) : QVariant(QString());
                           }});
  }
}

void add_difference(TableContents& out, const ComparedPointer& c, int target, const ColumnTitle& unit,
                    const Value& value, const Spell& spell) {
  // As the command line has it: what a report lacks counts as nothing.
  const auto difference = [=](int row) { return value(row, target).value_or(0) - value(row, 0).value_or(0); };
  TableColumn column{{difference_title(*c, target, unit.text), unit.meaning},
                     true,
                     [=](int row) { return spell(difference(row)); },
                     difference};
  column.better = [=](int row) { return spell(difference(row)) == kEqual ? 0 : smaller_is_better(difference(row)); };
  out.columns.push_back(std::move(column));
}

// ": only in Source" of what not all reports have.
template <class Number>
QString in_which(const ComparedReports& c, const std::vector<std::optional<Number>>& values) {
  QStringList in;
  for (int r = 0; r < c.size(); ++r) {
    if (values[static_cast<std::size_t>(r)]) in << c.side(r);
  }
  return in.size() == c.size() ? QString() : ": only in " + in.join(", ");
}

std::optional<double> percent_of(std::optional<double> source, std::optional<double> target) {
  if (!source || !target || *source == 0) return std::nullopt;
  return (*target / *source - 1) * 100;
}

}  // namespace

QString ComparedReports::side(int report) const {
  if (report == 0) return QStringLiteral("Source");
  return size() == 2 ? QStringLiteral("Target") : QString("Target %1").arg(report + 1);
}

QString ComparedReports::label(int report) const { return text(comparison.labels[static_cast<std::size_t>(report)]); }

QString ComparedReports::bandText(int target) const {
  const auto band = step_difference_band(reports[static_cast<std::size_t>(target)]->index(), reports[0]->index());
  if (!band) return {};
  return QString("95 % band %1 to %2 ms").arg(signed_number(band->low * 1e3, 0), signed_number(band->high * 1e3, 0));
}

QString speed_band_text(const Band& band) {
  const auto word = [](double change) { return change < 0 ? QStringLiteral("slower") : QStringLiteral("faster"); };
  const auto size = [](double change) { return fixed_decimals(std::abs(change) * 100, 1); };
  const bool one_way = (band.low < 0) == (band.high < 0);
  if (!one_way) {
    return QString("95 % band %1 % %2 to %3 % %4.")
        .arg(size(band.low), word(band.low), size(band.high), word(band.high));
  }
  const double near = std::abs(band.low) < std::abs(band.high) ? band.low : band.high;
  const double far = near == band.low ? band.high : band.low;
  return QString("95 % band %1 to %2 % %3.").arg(size(near), size(far), word(far));
}

Sureness sureness(const ComparedReports& compared) {
  const auto speed = speed_change(compared.reports[1]->index(), compared.reports[0]->index());
  return speed ? sureness(speed->change, compared.comparison.probability_faster[1]) : Sureness{};
}

Sureness sureness(double change, std::optional<double> probability_faster) {
  if (!probability_faster) return {};
  const double sure = change >= 0 ? *probability_faster : 1 - *probability_faster;
  return {(change >= 0 ? "P(faster) = " : "P(slower) = ") + QString::number(sure, 'f', 2), sure < kSure};
}

std::optional<double> ComparedReports::phaseDifference(int phase, int target) const {
  const auto ms = [&](int report) -> std::optional<double> {
    const auto r = static_cast<std::size_t>(report);
    const auto& cycles = phases[static_cast<std::size_t>(phase)].cycles[r];
    if (!cycles || !(clock_hz[r] > 0)) return std::nullopt;
    return static_cast<double>(*cycles) / clock_hz[r] * 1e3;
  };
  const auto mine = ms(target), theirs = ms(0);
  return mine && theirs ? std::optional(*mine - *theirs) : std::nullopt;
}

namespace {

// "L3" and "attention forward" of "layer3/attention forward"; "head" and "forward" of "head forward".
std::pair<QString, QString> layer_and_phase(const std::string& name) {
  const std::size_t end = name.find_first_of("/ ");
  const std::string first = name.substr(0, end);
  const bool numbered = first.starts_with("layer") && first.size() > 5;
  return {text(numbered ? "L" + first.substr(5) : first),
          end == std::string::npos ? QString() : text(name.substr(end + 1))};
}

}  // namespace

PhaseGrid phase_grid(std::span<const std::string> names) {
  PhaseGrid out;
  std::vector<std::pair<qsizetype, qsizetype>> places;  // row, column
  QHash<QString, qsizetype> rows, columns;
  const auto place = [](QHash<QString, qsizetype>& known, QStringList& list, const QString& name) {
    const auto at = known.constFind(name);
    if (at != known.constEnd()) return *at;
    list << name;
    return *known.insert(name, list.size() - 1);
  };
  for (const std::string& name : names) {
    const auto [layer, part] = layer_and_phase(name);
    const qsizetype column = place(columns, out.columns, layer);
    places.emplace_back(place(rows, out.rows, part), column);
  }
  // Numbered layers by number, in the places that numbered ones have; what matched came first and what did not below.
  QStringList layers;
  const auto numbered = [](const QString& name) { return name.size() > 1 && name[0] == 'L' && name[1].isDigit(); };
  const QStringList before = out.columns;
  for (const QString& name : before) {
    if (numbered(name)) layers << name;
  }
  std::sort(layers.begin(), layers.end(),
            [](const QString& a, const QString& b) { return a.mid(1).toInt() < b.mid(1).toInt(); });
  qsizetype next = 0;
  for (qsizetype column = 0; column < before.size(); ++column) {
    if (numbered(before[column])) out.columns[column] = layers[next++];
    columns[out.columns[column]] = column;
  }
  out.phases.assign(static_cast<std::size_t>(out.rows.size()),
                    std::vector<int>(static_cast<std::size_t>(out.columns.size()), -1));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const qsizetype column = columns[before[places[i].second]];
    out.phases[static_cast<std::size_t>(places[i].first)][static_cast<std::size_t>(column)] = static_cast<int>(i);
  }
  return out;
}

PhaseGrid phase_grid(const ComparedReports& compared) {
  std::vector<std::string> names;
  for (const ComparedCycles& phase : compared.phases) names.push_back(phase.name);
  return phase_grid(names);
}

ComparedPointer compare_reports(std::vector<ReportPointer> reports,
                                const std::vector<std::shared_ptr<const HeatData>>& heat) {
  auto out = std::make_shared<ComparedReports>();
  out->reports = std::move(reports);
  if (out->reports.size() < 2) return out;
  std::vector<const report::Index*> indexes;
  std::vector<std::string> names;
  std::vector<std::vector<NamedCycles>> phases;
  for (std::size_t i = 0; i < out->reports.size(); ++i) {
    indexes.push_back(&out->reports[i]->index());
    names.push_back(out->reports[i]->path().stem().string());
    out->clock_hz.push_back(out->reports[i]->index().clock_hz());
    auto& here = phases.emplace_back();
    for (const HeatPhase& p : heat[i]->phases) here.push_back({p.name, p.cycles * p.repeats});
  }
  out->comparison = compare(indexes, names);
  out->phases = match_cycles(phases);
  return out;
}

TableContents terms_comparison(const ComparedPointer& c, bool hide_equal) {
  TableContents out;
  if (c->empty() || c->comparison.waterfall.empty()) return out;
  const auto& terms = c->comparison.waterfall;
  const auto moves = [&](std::size_t i) {
    const auto& s = terms[i].seconds;
    return std::any_of(s.begin(), s.end(),
                       [&](const auto& v) { return std::abs(v.value_or(0) - s[0].value_or(0)) >= 0.00005; });
  };
  const Places shown = places(terms.size(), [&](std::size_t i) { return !hide_equal || moves(i); });
  const int rows = static_cast<int>(shown->size());
  const auto term = [=](int row) -> const ComparedTerm& {
    return c->comparison.waterfall[static_cast<std::size_t>((*shown)[static_cast<std::size_t>(row)])];
  };
  const Value seconds = [=](int row, int report) -> std::optional<double> {
    const auto r = static_cast<std::size_t>(report);
    if (row < rows) return term(row).seconds[r];
    return c->comparison.step_time_s[r];
  };
  const Value ms = [=](int row, int report) -> std::optional<double> {
    const auto s = seconds(row, report);
    return s ? std::optional(*s * 1e3) : std::nullopt;
  };
  out.rows = rows + 1;
  out.columns.push_back({{"Term", means::kTerm},
                         false,
                         [=](int row) { return row < rows ? text(term(row).name) : QString("Predicted step time"); },
                         {},
                         {},
                         [=](int row) {
                           if (row == rows) return text(std::string(name_of(TermKind::total)));
                           const int bar = (*shown)[static_cast<std::size_t>(row)];
                           return text(std::string(kind_of_bar(bar, term(row).kind)));
                         }});
  add_sides(out, c, {"ms", means::kTermMs}, ms, [](double v) { return fixed_decimals(v, 1); });
  for (int t = 1; t < c->size(); ++t) {
    add_difference(out, c, t, {"ms", means::kTermDifferenceMs}, ms, [](double v) { return signed_number(v, 1); });
    const auto share = [=](int row) { return percent_of(ms(row, 0), ms(row, t)); };
    TableColumn percent{{difference_title(*c, t, "%"), means::kTermDifferenceShare},
                        true,
                        [=](int row) { return share(row) ? signed_number(*share(row), 1) : kDash; },
                        [=](int row) { return share(row) ? QVariant(*share(row)) : QVariant(QString()); }};
    percent.better = out.columns.back().better;
    out.columns.push_back(std::move(percent));
  }
  add_sides(out, c, {"s", means::kTermSeconds}, seconds, exact_seconds);
  out.strong = [=](int row) { return row == rows; };
  out.source = [=](int row) { return row < rows ? (*shown)[static_cast<std::size_t>(row)] : -1; };
  out.tip = [=](int row) {
    if (row == rows) return QString();
    return text(term(row).name) + in_which(*c, term(row).seconds);
  };
  return out;
}

TableContents figures_comparison(const ComparedPointer& c) {
  TableContents out;
  if (c->empty()) return out;
  const auto rows = static_cast<int>(c->comparison.key_figures.size());
  const auto figure = [=](int row) -> const KeyFigure& {
    return c->comparison.key_figures[static_cast<std::size_t>(row)];
  };
  out.rows = rows + 1;  // and the fit in words
  out.columns.push_back({{"", means::kKeyFigure}, false, [=](int row) {
                           if (row == rows) return QString("fit");
                           const auto& f = figure(row);
                           return text(f.name) + (f.unit.empty() ? QString() : ", " + text(f.unit));
                         }});
  for (int r = 0; r < c->size(); ++r) {
    const auto at = static_cast<std::size_t>(r);
    out.columns.push_back({{c->side(r), means::kKeyFigureValue},
                           true,
                           [=](int row) {
                             if (row == rows) return QString(fit_words(c->comparison.fits[at].fit));
                             return for_viewer(figure(row).texts[at]);
                           },
                           [=](int row) {
                             if (row == rows) return QVariant(QString(fit_word(c->comparison.fits[at].fit)));
                             const auto& v = figure(row).values[at];
                             return v ? QVariant(*v) : QVariant(QString());
                           }});
  }
  for (int t = 1; t < c->size(); ++t) {
    const auto at = static_cast<std::size_t>(t);
    TableColumn column{{c->size() == 2 ? QString("Diff") : QString("Diff %1").arg(t + 1), means::kKeyFigureDifference},
                       true,
                       [=](int row) { return row == rows ? QString() : for_viewer(figure(row).differences[at - 1]); }};
    column.better = [=](int row) {
      if (row == rows || figure(row).better == Better::neither) return 0;
      const double difference = figure(row).values[at].value_or(0) - figure(row).values[0].value_or(0);
      if (!figure(row).values[at] || !figure(row).values[0]) return 0;
      return figure(row).better == Better::smaller ? smaller_is_better(difference) : smaller_is_better(-difference);
    };
    out.columns.push_back(std::move(column));
  }
  out.tip = [=](int row) { return row == rows ? QString() : text(figure(row).name); };
  return out;
}

TableContents fits_comparison(const ComparedPointer& c, Units units) {
  TableContents out;
  if (c->empty()) return out;
  const auto fit = [=](int row) -> const ComparedFit& { return c->comparison.fits[static_cast<std::size_t>(row)]; };
  const auto column = [=](const ColumnTitle& title, std::optional<std::int64_t> ComparedFit::*field) {
    return TableColumn{title + ", " + unit_name(units), true,
                       [=](int row) {
                         const auto& bytes = fit(row).*field;
                         return bytes ? tile_bytes(*bytes, units) : kDash;
                       },
                       [=](int row) {
                         const auto& bytes = fit(row).*field;
                         return bytes ? QVariant::fromValue(static_cast<qlonglong>(*bytes)) : QVariant(QString());
                       }};
  };
  out.rows = c->size();
  out.columns = {{{"Report", means::kReport}, false, [=](int row) { return c->side(row) + "  " + c->label(row); }},
                 column({"Fullest tile", means::kTileBytes}, &ComparedFit::tile_peak_bytes),
                 column({"Limit", means::kLimitBytes}, &ComparedFit::tile_limit_bytes),
                 column({"To spare", means::kSpareBytes}, &ComparedFit::margin_bytes),
                 {{"Fit", means::kFit}, false, [=](int row) { return QString(fit_words(fit(row).fit)); }},
                 {{"P(faster than source)", means::kFaster}, true, [=](int row) {
                    const auto& p = c->comparison.probability_faster[static_cast<std::size_t>(row)];
                    return row > 0 && p ? QString::number(*p) : kDash;
                  }}};
  return out;
}

TableContents memory_comparison(const ComparedPointer& c, Units units, bool hide_equal) {
  TableContents out;
  if (c->empty()) return out;
  const auto& memory = c->comparison.memory;
  const Places shown = places(memory.size(), [&](std::size_t i) {
    return !hide_equal || memory[i].category.empty() || !all_equal(memory[i].bytes_per_tile);
  });
  const auto line = [=](int row) -> const ComparedMemory& {
    return c->comparison.memory[static_cast<std::size_t>((*shown)[static_cast<std::size_t>(row)])];
  };
  const Value bytes = [=](int row, int report) -> std::optional<double> {
    const auto& b = line(row).bytes_per_tile[static_cast<std::size_t>(report)];
    return b ? std::optional(static_cast<double>(*b)) : std::nullopt;
  };
  out.rows = static_cast<int>(shown->size());
  const auto category = [=](int row) { return text(line(row).category); };
  out.columns.push_back({.title = {"Category", means::kCategory},
                         .text =
                             [=](int row) {
                               const auto& m = line(row);
                               return m.category.empty() ? text(m.ipu_class) + ", fullest tile" : text(m.category);
                             },
                         .memory = category});
  out.columns.push_back({{"IPU", means::kIpu}, false, [=](int row) { return text(line(row).ipu_class); }});
  add_sides(out, c, {unit_name(units), means::kCategoryBytes}, bytes,
            [=](double v) { return tile_bytes(static_cast<std::int64_t>(v), units); });
  for (int t = 1; t < c->size(); ++t) {
    add_difference(out, c, t, {unit_name(units), means::kMemoryDifference}, bytes, [=](double v) {
      return signed_number(units == Units::kib ? v / 1024 : v, units == Units::kib ? 1 : 0);
    });
  }
  out.strong = [=](int row) { return line(row).category.empty(); };
  return out;
}

TableContents phases_comparison(const ComparedPointer& c, bool hide_equal) {
  TableContents out;
  if (c->empty()) return out;
  const Places shown =
      places(c->phases.size(), [&](std::size_t i) { return !hide_equal || !all_equal(c->phases[i].cycles); });
  const auto phase = [=](int row) -> const ComparedCycles& {
    return c->phases[static_cast<std::size_t>((*shown)[static_cast<std::size_t>(row)])];
  };
  const Value ms = [=](int row, int report) -> std::optional<double> {
    const auto r = static_cast<std::size_t>(report);
    const auto& cycles = phase(row).cycles[r];
    if (!cycles || !(c->clock_hz[r] > 0)) return std::nullopt;
    return static_cast<double>(*cycles) / c->clock_hz[r] * 1e3;
  };
  out.rows = static_cast<int>(shown->size());
  out.columns.push_back(
      {{"Layer and phase", means::kPhaseName}, false, [=](int row) { return text(phase(row).name); }});
  add_sides(out, c, {"ms", means::kPhaseMs}, ms, [](double v) { return fixed_decimals(v, 1); });
  for (int t = 1; t < c->size(); ++t) {
    add_difference(out, c, t, {"ms", means::kPhaseDifference}, ms, [](double v) { return signed_number(v, 1); });
  }
  for (int r = 0; r < c->size(); ++r) {
    const auto cycles = [=](int row) { return phase(row).cycles[static_cast<std::size_t>(r)]; };
    out.columns.push_back({{side_title(*c, r, "cycles"), means::kPhaseCycles},
                           true,
                           [=](int row) { return cycles(row) ? grouped(*cycles(row)) : kDash; },
                           [=](int row) {
                             return cycles(row) ? QVariant::fromValue(static_cast<qlonglong>(*cycles(row)))
                                                : QVariant(QString());
                           }});
  }
  out.tip = [=](int row) { return text(phase(row).name) + in_which(*c, phase(row).cycles); };
  out.source = [=](int row) { return (*shown)[static_cast<std::size_t>(row)]; };
  return out;
}

}  // namespace superstep::gui
