// SPDX-License-Identifier: Apache-2.0
#include "gui/models/graph_tables.h"

#include <QObject>
#include <algorithm>

#include "gui/models/liveness.h"
#include "gui/models/meanings.h"

namespace superstep::gui {
namespace {

QString text_of(const std::string& text) { return QString::fromStdString(text); }

TableColumn text_column(const ColumnTitle& title, std::function<QString(int)> text) { return {title, false, text}; }

// -1 is written as nothing.
TableColumn number_column(const ColumnTitle& title, std::function<std::int64_t(int)> number) {
  return {title, true, [=](int row) { return number(row) < 0 ? QString() : grouped(number(row)); },
          [=](int row) { return number(row) < 0 ? QVariant("") : QVariant::fromValue<qlonglong>(number(row)); }};
}

TableColumn bytes_in_mb(const ColumnTitle& title, std::function<std::int64_t(int)> bytes) {
  return {title, true, [=](int row) { return megabytes(bytes(row)); },
          [=](int row) { return QVariant(static_cast<double>(bytes(row)) / 1e6); }};
}

TableColumn ms_column(const ColumnTitle& title, const GraphShown& shown, std::function<std::int64_t(int)> cycles) {
  return {title + ", ms", true, [=](int row) { return fixed_decimals(shown.ms(cycles(row)), 2); },
          [=](int row) { return QVariant(shown.ms(cycles(row))); }};
}

QString group_title(const Phases& phases) { return phases.calls ? QObject::tr("Stage") : QObject::tr("Phase"); }

}  // namespace

QString megabytes(std::int64_t bytes) {
  const double mb = static_cast<double>(bytes) / 1e6;
  return fixed_decimals(mb, mb < 10 ? 2 : mb < 100 ? 1 : 0);
}

QString GraphShown::ipuName(int ipu_class) const {
  if (!report || ipu_class < 0 || ipu_class >= report->index().ipu_classes_size()) return {};
  return text_of(report->index().ipu_classes(ipu_class).name());
}

double GraphShown::ms(std::int64_t cycles) const {
  const double clock = report ? report->index().clock_hz() : 0;
  return clock > 0 ? static_cast<double>(cycles) / clock * 1e3 : 0;
}

TableContents graph_units_table(const GraphShown& shown, std::shared_ptr<const GraphMoment> moment) {
  const auto at = [graph = shown.graph](int row) -> const GraphUnit& {
    return graph->units[static_cast<std::size_t>(row)];
  };
  TableContents out;
  out.rows = static_cast<int>(shown.graph->units.size());
  out.columns = {text_column({"Unit", means::kUnit}, [=](int row) { return text_of(at(row).name); }),
                 number_column({"Layer", means::kLayer}, [=](int row) { return at(row).layer; }),
                 number_column({"Stage", means::kStage}, [=](int row) { return std::int64_t{at(row).stage}; }),
                 text_column({"IPU", means::kIpu}, [=](int row) { return shown.ipuName(at(row).ipu_class); }),
                 number_column({"Phase", means::kUnitPhase}, [=](int row) { return std::int64_t{at(row).phase}; }),
                 text_column({"At the cursor", means::kState},
                             [=](int row) { return QString(word_of(moment->units[static_cast<std::size_t>(row)])); }),
                 number_column({"Parameters", means::kParameters}, [=](int row) { return at(row).parameters; }),
                 bytes_in_mb({"Weights, MB", means::kWeightMb}, [=](int row) { return at(row).weight_bytes; }),
                 number_column({"Weights, bytes", means::kWeightBytes}, [=](int row) { return at(row).weight_bytes; })};
  return out;
}

TableContents graph_edges_table(const GraphShown& shown) {
  const auto at = [graph = shown.graph](int row) -> const GraphEdge& {
    return graph->edges[static_cast<std::size_t>(row)];
  };
  const auto name = [graph = shown.graph](int unit) {
    return text_of(graph->units[static_cast<std::size_t>(unit)].name);
  };
  TableContents out;
  out.rows = static_cast<int>(shown.graph->edges.size());
  out.columns = {text_column({"From", means::kEdge}, [=](int row) { return name(at(row).from); }),
                 text_column({"To", means::kEdge}, [=](int row) { return name(at(row).to); }),
                 bytes_in_mb({"MB", means::kEdgeMb}, [=](int row) { return at(row).bytes; }),
                 number_column({"Bytes of a micro-batch", means::kEdgeBytes}, [=](int row) { return at(row).bytes; })};
  return out;
}

TableContents graph_phases_table(const GraphShown& shown) {
  const auto at = [phases = shown.phases](int row) -> const GraphPhase& {
    return phases->list[static_cast<std::size_t>(row)];
  };
  const auto cycles = [=](std::int64_t PhaseRow::*field) { return [=](int row) { return at(row).row.*field; }; };
  const auto begin = [=](int row) { return at(row).begin; };
  TableContents out;
  out.rows = static_cast<int>(shown.phases->list.size());
  out.columns = {text_column({shown.phases->calls ? "Call" : "Phase", means::kPhase},
                             [=](int row) { return text_of(at(row).row.name); }),
                 text_column({"Runs", means::kRuns}, [=](int row) { return text_of(at(row).row.contents); }),
                 number_column({group_title(*shown.phases), means::kPhaseNumber},
                               [=](int row) { return std::int64_t{at(row).number}; }),
                 ms_column({"Begins", means::kFromMs}, shown, begin),
                 ms_column({"Takes", means::kTakesMs}, shown, cycles(&PhaseRow::cycles)),
                 ms_column({"Computing", means::kComputingMs}, shown, cycles(&PhaseRow::compute_cycles)),
                 ms_column({"Loading", means::kLoadingMs}, shown, cycles(&PhaseRow::load_cycles)),
                 ms_column({"Storing", means::kStoringMs}, shown, cycles(&PhaseRow::store_cycles)),
                 number_column({"Takes, cycles", means::kTakesCycles}, cycles(&PhaseRow::cycles)),
                 number_column({"Begins, cycles", means::kFromCycles}, begin),
                 number_column({"Computing, cycles", means::kComputingCycles}, cycles(&PhaseRow::compute_cycles)),
                 number_column({"Loading, cycles", means::kLoadingCycles}, cycles(&PhaseRow::load_cycles)),
                 number_column({"Storing, cycles", means::kStoringCycles}, cycles(&PhaseRow::store_cycles))};
  return out;
}

namespace {

// Sums of the weights of a group's units.
std::int64_t weights_of(const GraphShown& shown, int group) {
  std::int64_t sum = 0;
  for (const GraphUnit& unit : shown.graph->units) {
    if (group_of(*shown.phases, unit) == group) sum += unit.weight_bytes;
  }
  return sum;
}

struct Fact {
  QString name, value;
};

QString time_text(const GraphShown& shown, std::int64_t cycles) {
  return QObject::tr("%1 ms   %2 cycles").arg(fixed_decimals(shown.ms(cycles), 2), grouped(cycles));
}

// "3.1 of 5.05 GB/s   61 %": the mean over a phase.
QString rate_text(const GraphShown& shown, std::int64_t bytes, std::int64_t cycles, double roof) {
  const double clock = shown.report->index().clock_hz();
  if (!(clock > 0) || cycles <= 0) return {};
  const double rate = static_cast<double>(bytes) * clock / static_cast<double>(cycles);
  const auto text = [](double of) { return fixed_decimals(of / 1e9, of < 1e11 ? 2 : 0); };
  return QObject::tr("%1 of %2 GB/s   %3 %").arg(text(rate), text(roof), share_percent(rate, roof));
}

void add_rates(std::vector<Fact>& facts, const GraphShown& shown, int phase) {
  if (phase >= std::ssize(shown.rates)) return;
  const PhaseRates& rates = shown.rates[static_cast<std::size_t>(phase)];
  const std::int64_t cycles = shown.phases->list[static_cast<std::size_t>(phase)].row.cycles;
  const report::Index& index = shown.report->index();
  if (rates.stream_bytes >= 0 && index.streaming_bytes_per_s() > 0)
    facts.push_back(
        {QObject::tr("Streaming Memory"), rate_text(shown, rates.stream_bytes, cycles, index.streaming_bytes_per_s())});
  if (rates.exchange_bytes >= 0 && index.exchange_bytes_per_s() > 0)
    facts.push_back(
        {QObject::tr("Exchange"), rate_text(shown, rates.exchange_bytes, cycles, index.exchange_bytes_per_s())});
}

QString ipus_of(const GraphShown& shown, const GraphPhase& phase) {
  std::vector<int> classes;
  for (const PhaseWork& work : phase.works) {
    if (work.unit >= 0 && std::find(classes.begin(), classes.end(), work.ipu_class) == classes.end()) {
      classes.push_back(work.ipu_class);
    }
  }
  std::sort(classes.begin(), classes.end());
  if (classes.empty()) return QObject::tr("no unit");
  const QString first = shown.ipuName(classes.front());
  if (classes.size() == 1) return first;
  const QString last = shown.ipuName(classes.back());
  return classes.size() == 2 ? first + ", " + last : QObject::tr("%1 to %2").arg(first, last);
}

QString runs_now(const GraphShown& shown, const GraphMoment& moment) {
  const GraphPhase& phase = shown.phases->list[static_cast<std::size_t>(moment.phase)];
  if (moment.running.empty()) return QObject::tr("no unit");
  const QString name = text_of(phase.works[static_cast<std::size_t>(moment.running.front())].name);
  const auto others = static_cast<std::int64_t>(moment.running.size()) - 1;
  return others == 0 ? name : QObject::tr("%1, %2 more").arg(name, grouped(others));
}

}  // namespace

TableContents graph_facts_table(const GraphShown& shown, const GraphMoment& moment, std::int64_t cursor) {
  std::vector<Fact> facts;
  if (moment.phase >= 0) {
    const GraphPhase& phase = shown.phases->list[static_cast<std::size_t>(moment.phase)];
    const PhaseRow& row = phase.row;
    const auto percent = [&](std::int64_t part, std::int64_t whole) {
      return share_percent(static_cast<double>(part), static_cast<double>(whole)) + " %";
    };
    facts.push_back({QObject::tr("Runs on"), ipus_of(shown, phase)});
    facts.push_back({QObject::tr("Time"), time_text(shown, row.cycles)});
    if (shown.phases->calls) {
      facts.push_back({QObject::tr("Runs in a step"), grouped(phase.works.front().runs)});
    } else {
      facts.push_back({QObject::tr("Share of the step"), percent(row.cycles, shown.phases->total())});
      facts.push_back({QObject::tr("Computing, collectives"), percent(row.compute_cycles, row.cycles)});
      facts.push_back({QObject::tr("Loading"), percent(row.load_cycles, row.cycles)});
      facts.push_back({QObject::tr("Storing"), percent(row.store_cycles, row.cycles)});
      facts.push_back({QObject::tr("Limited by"), row.load_cycles + row.store_cycles > row.compute_cycles
                                                      ? QObject::tr("Streaming Memory")
                                                      : QObject::tr("computing")});
    }
    add_rates(facts, shown, moment.phase);
    if (phase.number >= 0) {
      facts.push_back({QObject::tr("Weights of %1 %2").arg(group_title(*shown.phases).toLower()).arg(phase.number),
                       QObject::tr("%1 MB").arg(megabytes(weights_of(shown, phase.number)))});
    }
    facts.push_back({QObject::tr("Cursor at"), QObject::tr("%1 ms").arg(fixed_decimals(shown.ms(cursor), 2))});
    facts.push_back({QObject::tr("Runs now"), runs_now(shown, moment)});
    if (!shown.phases->calls) {
      const QString none = QString(QChar(0x2013));
      const auto whose = [&](int number) { return number < 0 ? none : QObject::tr("phase %1").arg(number); };
      facts.push_back({QObject::tr("Micro-batch"),
                       moment.iterations == 0
                           ? none
                           : QObject::tr("%1 of %2").arg(grouped(moment.iteration), grouped(moment.iterations))});
      facts.push_back({QObject::tr("Loads now"), whose(moment.loading)});
      facts.push_back({QObject::tr("Stores now"), whose(moment.storing)});
    }
  }
  TableContents out;
  out.rows = static_cast<int>(facts.size());
  const auto kept = std::make_shared<const std::vector<Fact>>(std::move(facts));
  out.columns = {
      text_column({"Fact", means::kFact}, [kept](int row) { return (*kept)[static_cast<std::size_t>(row)].name; }),
      {{"Value", means::kFactValue}, true, [kept](int row) { return (*kept)[static_cast<std::size_t>(row)].value; }}};
  return out;
}

TableContents graph_works_table(const GraphShown& shown, int phase) {
  TableContents out;
  const auto at = [phases = shown.phases, phase](int row) -> const PhaseWork& {
    return phases->list[static_cast<std::size_t>(phase)].works[static_cast<std::size_t>(row)];
  };
  if (phase >= 0) out.rows = static_cast<int>(shown.phases->list[static_cast<std::size_t>(phase)].works.size());
  TableColumn name = text_column({"Operation, in order", means::kOperation}, [=](int row) {
    const PhaseWork& work = at(row);
    const QString whose = work.of_phase >= 0 ? QObject::tr(" of phase %1").arg(work.of_phase) : QString();
    return text_of(work.name) + (work.unit < 0 ? whose : QString());
  });
  name.kind = [=](int row) {
    const PhaseWork& work = at(row);
    if (work.stream != Stream::none) return QString(work.stream == Stream::load ? "load" : "store");
    return work.unit < 0 ? QString("step") : work.pass == "backward" ? QString("compute") : text_of(work.pass);
  };
  out.columns = {
      name,
      text_column({"IPU", means::kIpu}, [=](int row) { return shown.ipuName(at(row).ipu_class).section(' ', -1); }),
      number_column({"Runs", means::kRunsInPhase}, [=](int row) { return at(row).runs; }),
      number_column({"Cycles", means::kTakesCycles}, [=](int row) { return at(row).cycles; }),
      {{QString(QChar(0x00B5)) + "s", means::kTakesUs},
       true,
       [=](int row) { return fixed_decimals(shown.ms(at(row).cycles) * 1e3, 1); },
       [=](int row) { return QVariant(shown.ms(at(row).cycles) * 1e3); }}};
  out.columns[1].numeric = true;
  return out;
}

TableContents graph_ops_table(const GraphShown& shown, const Steps& steps, int function) {
  struct OpRow {
    std::string name;
    std::int64_t supersteps = 0, cycles = 0, compute = 0, bytes = 0;
  };
  auto rows = std::make_shared<std::vector<OpRow>>();
  const auto [first, end] = steps_of_function(shown.report->index(), steps, function);
  for (std::int64_t s = first; s < end; ++s) {
    const auto at = static_cast<std::size_t>(s);
    if (rows->empty() || rows->back().name != steps.name[at]) rows->push_back({steps.name[at]});
    OpRow& op = rows->back();
    ++op.supersteps;
    op.cycles += steps.cycles[at];
    op.compute += steps.compute_cycles[at];
    if (steps.kind[at] != "compute") op.bytes += steps.bytes[at];
  }
  const auto at = [rows](int row) -> const OpRow& { return (*rows)[static_cast<std::size_t>(row)]; };
  TableContents out;
  out.rows = static_cast<int>(rows->size());
  TableColumn name = text_column({"Op, in order", means::kOperation},
                                 [=](int row) { return text_of(at(row).name.substr(at(row).name.rfind('/') + 1)); });
  name.exact = [=](int row) { return QVariant(text_of(at(row).name)); };
  name.kind = [=](int row) { return QString(2 * at(row).compute >= at(row).cycles ? "compute" : "exchange"); };
  out.columns = {name,
                 number_column({"Supersteps", means::kSupersteps}, [=](int row) { return at(row).supersteps; }),
                 {{QString(QChar(0x00B5)) + "s", means::kTakesUs},
                  true,
                  [=](int row) { return fixed_decimals(shown.ms(at(row).cycles) * 1e3, 1); },
                  [=](int row) { return QVariant(shown.ms(at(row).cycles) * 1e3); }},
                 number_column({"Cycles", means::kTakesCycles}, [=](int row) { return at(row).cycles; }),
                 number_column({"Bytes moved", means::kStepBytes}, [=](int row) { return at(row).bytes; })};
  return out;
}

}  // namespace superstep::gui
