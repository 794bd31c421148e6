// SPDX-License-Identifier: Apache-2.0
#include "gui/models/streaming_memory.h"

#include <algorithm>

#include "gui/models/meanings.h"
#include "gui/models/table_columns.h"
#include "traces/damaged.h"

namespace superstep::gui {
namespace {

using Integers = std::vector<std::int64_t>;

// Columns of one length.
class Columns {
 public:
  Columns(const ReportFile& report, const char* of, std::size_t rows) : report_(report), of_(of), rows_(rows) {}
  Integers integers(const char* name) const {
    Integers column = report_.column_integers(name);
    check_rows(report_, of_, rows_, column);
    return column;
  }

 private:
  const ReportFile& report_;
  const char* of_;
  std::size_t rows_;
};

void load_held(const ReportFile& report, int ipu_class, StreamingMemory& out) {
  const TextColumn name = report.column_texts("ddr.name"), category = report.column_texts("ddr.category");
  check_rows(report, "ddr.*", name.size(), category);
  const Columns columns(report, "ddr.*", name.size());
  const Integers ipu = columns.integers("ddr.ipu_class"), bytes = columns.integers("ddr.bytes"),
                 first = columns.integers("ddr.first"), last = columns.integers("ddr.last");
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (ipu[i] == ipu_class)
      out.held.push_back({name[i], category[i], bytes[i], static_cast<int>(first[i]), static_cast<int>(last[i])});
  }
}

}  // namespace

std::int64_t StreamingMemory::held_at(int stretch) const {
  std::int64_t sum = 0;
  for (const HeldBytes& h : held) sum += h.first <= stretch && stretch <= h.last ? h.bytes : 0;
  return sum;
}

std::int64_t StreamingMemory::most_held() const {
  std::int64_t most = 0;
  for (int i = 0; i < std::ssize(stretches); ++i) most = std::max(most, held_at(i));
  return most;
}

double StreamingMemory::rate(std::int64_t bytes, std::int64_t in_cycles) const {
  return in_cycles > 0 ? static_cast<double>(bytes) * clock / static_cast<double>(in_cycles) : 0;
}

StreamingMemory load_streaming_memory(const ReportFile& report, int ipu_class) {
  StreamingMemory out;
  out.clock = report.index().clock_hz();
  out.roof = report.index().streaming_bytes_per_s();
  out.cycles = report.index().program().cycles();
  if (!report.has_column("stream.name") || ipu_class < 0) return out;
  const TextColumn name = report.column_texts("stream.name"), ahead = report.column_texts("stream.ahead");
  check_rows(report, "stream.*", name.size(), ahead);
  const Columns columns(report, "stream.*", name.size());
  const Integers ipu = columns.integers("stream.ipu_class"), begin = columns.integers("stream.begin"),
                 cycles = columns.integers("stream.cycles"), load = columns.integers("stream.load_bytes"),
                 load_cycles = columns.integers("stream.load_cycles"), store = columns.integers("stream.store_bytes"),
                 store_cycles = columns.integers("stream.store_cycles"),
                 ahead_bytes = columns.integers("stream.ahead_bytes"), repeats = columns.integers("stream.repeats");
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (ipu[i] != ipu_class) continue;
    out.stretches.push_back(
        {name[i], begin[i], cycles[i], load[i], load_cycles[i], store[i], store_cycles[i], ahead_bytes[i], ahead[i]});
    out.repeats = std::max(out.repeats, repeats[i]);
  }
  // Stretches that come several times are drawn once, as long as the first time lasts.
  if (out.repeats > 1 && !out.stretches.empty()) out.cycles = out.stretches.back().begin + out.stretches.back().cycles;
  load_held(report, ipu_class, out);
  return out;
}

namespace {

TableColumn real(const ColumnTitle& title, int decimals, std::function<double(int)> get) {
  return {title, true, [=](int row) { return fixed_decimals(get(row), decimals); },
          [=](int row) { return QVariant(get(row)); }};
}

}  // namespace

TableContents streaming_memory_table(std::shared_ptr<const StreamingMemory> memory) {
  const auto at = [=](int row) -> const StreamStretch& { return memory->stretches[static_cast<std::size_t>(row)]; };
  const auto ms = [=](std::int64_t cycles) {
    return memory->clock > 0 ? static_cast<double>(cycles) / memory->clock * 1e3 : 0.0;
  };
  TableContents out;
  out.rows = static_cast<int>(memory->stretches.size());
  out.columns = {
      {{"Stretch of the step", means::kStretch}, false, [=](int row) { return text(at(row).name); }},
      real({"From, ms", means::kFromMs}, 2, [=](int row) { return ms(at(row).begin); }),
      real({"Takes, ms", means::kTakesMs}, 2, [=](int row) { return ms(at(row).cycles); }),
      count_column({"Held, bytes", means::kHeldNow}, [=](int row) { return memory->held_at(row); }),
      count_column({"Loaded, bytes", means::kLoadedBytes}, [=](int row) { return at(row).load_bytes; }),
      count_column({"Stored, bytes", means::kStoredBytes}, [=](int row) { return at(row).store_bytes; }),
      real({"Mean, GB/s", means::kMeanRate}, 2,
           [=](int row) { return memory->rate(at(row).load_bytes + at(row).store_bytes, at(row).cycles) / 1e9; }),
      real({"% of roof", means::kRoofShare}, 1,
           [=](int row) {
             const double rate = memory->rate(at(row).load_bytes + at(row).store_bytes, at(row).cycles);
             return memory->roof > 0 ? rate / memory->roof * 100 : 0.0;
           }),
      {{"Loads ahead", means::kAhead}, false, [=](int row) { return text(at(row).ahead); }},
      count_column({"Ahead, bytes", means::kAheadBytes}, [=](int row) { return at(row).ahead_bytes; }),
      count_column({"Loading, cycles", means::kLoadingCycles}, [=](int row) { return at(row).load_cycles; }),
      count_column({"Storing, cycles", means::kStoringCycles}, [=](int row) { return at(row).store_cycles; }),
      count_column({"Takes, cycles", means::kTakesCycles}, [=](int row) { return at(row).cycles; })};
  return out;
}

TableContents held_table(std::shared_ptr<const StreamingMemory> memory) {
  const auto at = [=](int row) -> const HeldBytes& { return memory->held[static_cast<std::size_t>(row)]; };
  const auto stretch = [=](int number) {
    const bool known = number >= 0 && number < std::ssize(memory->stretches);
    return known ? text(memory->stretches[static_cast<std::size_t>(number)].name) : QString();
  };
  const auto category = [=](int row) { return text(at(row).category); };
  const double all = std::max<double>(1, static_cast<double>(memory->stretches.size()));
  TableContents out;
  out.rows = static_cast<int>(memory->held.size());
  out.columns = {
      {{"In Streaming Memory", means::kHeldName}, false, [=](int row) { return text(at(row).name); }},
      {.title = {"Category", means::kCategory}, .text = category, .memory = category},
      real({"MiB", means::kHeldMib}, 1, [=](int row) { return static_cast<double>(at(row).bytes) / (1 << 20); }),
      count_column({"Bytes", means::kHeldBytes}, [=](int row) { return at(row).bytes; }),
      {{"From", means::kHeldFrom}, false, [=](int row) { return stretch(at(row).first); }},
      {{"To", means::kHeldTo}, false, [=](int row) { return stretch(at(row).last); }}};
  TableColumn lane{.title = {"Held, stretches", means::kHeldStretches}, .memory = category};
  lane.exact = [=](int row) { return exact(at(row).last - at(row).first + 1); };
  lane.span = [=](int row) { return Span{at(row).first / all, (at(row).last + 1) / all, -1}; };
  out.columns.push_back(std::move(lane));
  return out;
}

}  // namespace superstep::gui
