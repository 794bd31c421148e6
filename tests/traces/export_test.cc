// SPDX-License-Identifier: Apache-2.0
// What other programs would read: each format is taken apart by something that does not know how it was written.
#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "model/error.h"
#include "tests/traces/example_report.h"
#include "traces/export/csv_text.h"
#include "traces/export/formats.h"
#include "traces/export/walk.h"

namespace superstep::exports {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

report::ProgramNode node(const char* kind, const char* name, std::int64_t cycles, int ipu_class = -1) {
  report::ProgramNode n;
  n.set_kind(kind), n.set_name(name), n.set_cycles(cycles), n.set_count(1);
  n.set_function(-1), n.set_ipu_class(ipu_class);
  return n;
}

// Two IPUs, two micro-batches, three iterations of 20 cycles and an update of 5:
//   IPU 0  a(0) 20        a(1) 20        ramp-down 20       update 5
//   IPU 1  ramp-up 15 +5  b(0) 15 +5     b(1) 15 +5         update 5
ReportPointer toy(const std::filesystem::path& folder) {
  ReportWriter columns;
  columns.add_texts("step.name", std::vector<std::string>{"a/first", "a/second", "b/only"});
  columns.add_texts("step.kind", std::vector<std::string>{"compute", "exchange", "compute"});
  columns.add_texts("step.term", std::vector<std::string>{"vector ops", "operand exchange", "vector ops"});
  columns.add_integers("step.cycles", "cycles", std::vector<std::int64_t>{12, 8, 15});
  columns.add_integers("step.compute_cycles", "cycles", std::vector<std::int64_t>{12, 0, 10});
  columns.add_integers("step.exchange_cycles", "cycles", std::vector<std::int64_t>{0, 8, 5});
  columns.add_texts("heat.phase", std::vector<std::string>{"a forward", "b forward"});
  columns.add_integers("heat.phase_ipu_class", "index", std::vector<std::int64_t>{0, 1});
  columns.add_integers("tile.phase", "index", std::vector<std::int64_t>{0, 0, 1});
  columns.add_integers("tile.memory_bytes", "bytes", std::vector<std::int64_t>{90, 100, 200});
  columns.add_integers("stream.ipu_class", "index", std::vector<std::int64_t>{0, 1, 0, 1});
  columns.add_integers("stream.begin", "cycles", std::vector<std::int64_t>{0, 0, 60, 60});
  columns.add_integers("ddr.ipu_class", "index", std::vector<std::int64_t>{0, 0});
  columns.add_integers("ddr.bytes", "bytes", std::vector<std::int64_t>{1000, 24});
  columns.add_integers("ddr.first", "index", std::vector<std::int64_t>{0, 1});
  columns.add_integers("ddr.last", "index", std::vector<std::int64_t>{1, 1});
  columns.add_texts("unit.name", std::vector<std::string>{"a", "b \"quoted\""});
  for (const char* name : {"unit.stage", "unit.ipu_class"})
    columns.add_integers(name, "index", std::vector<std::int64_t>{0, 1});
  columns.add_integers("unit.phase", "index", std::vector<std::int64_t>{0, 0});
  columns.add_integers("unit.weight_bytes", "bytes", std::vector<std::int64_t>{1024, 2048});
  columns.add_integers("edge.from", "index", std::vector<std::int64_t>{0});
  columns.add_integers("edge.to", "index", std::vector<std::int64_t>{1});
  columns.add_integers("edge.bytes", "bytes", std::vector<std::int64_t>{512});

  report::Index index;
  index.set_title("toy"), index.set_clock_hz(1e9);
  for (const char* name : {"IPU 0", "IPU 1"}) index.add_ipu_classes()->set_name(name);
  const auto function = [&](const char* name, int first, int steps) {
    auto& f = *index.add_functions();
    f.set_name(name), f.set_first_step(first), f.set_steps(steps);
  };
  function("a forward", 0, 2), function("b forward", 2, 1);
  auto& root = *index.mutable_program() = node("sequence", "step", 65);
  auto& loop = *root.add_children() = node("repeat", "micro-batches", 20);
  loop.set_count(3), loop.set_micro_batches(2);
  auto& stages = *loop.add_children() = node("parallel", "stages", 20);
  const auto call = [&](const char* name, int ipu, std::int64_t cycles) {
    auto& on = *stages.add_children() = node("sequence", ipu == 0 ? "IPU 0" : "IPU 1", cycles, ipu);
    auto& c = *on.add_children() = node("call", name, cycles);
    c.set_work("forward"), c.set_lag(ipu), c.set_function(ipu);
  };
  call("a forward", 0, 20), call("b forward", 1, 15);
  *root.add_children() = node("step", "update", 5);
  const auto path = folder / "toy.ssr";
  columns.finish(index, path);
  return std::make_shared<const ReportFile>(ReportFile::open(path));
}

std::string written(const ReportPointer& report, const char* format, const Options& options = {}) {
  std::ostringstream out;
  find_format(format).write(report, options, out);
  return out.str();
}

Options steps() {
  Options o;
  o.detail = Detail::steps;
  return o;
}

class Export : public testing::Test {
 protected:
  TemporaryFolder folder_;
  ReportPointer toy_ = toy(folder_.path);
  ReportPointer example_ =
      std::make_shared<const ReportFile>(ReportFile::open(write_example(Example::tight, folder_.path)));
};

TEST_F(Export, CollapsedStacksByHand) {
  EXPECT_EQ(written(toy_, "collapsed"),
            "IPU 0;ramp-down 20\nIPU 0;forward;a forward 40\nIPU 0;update 5\n"
            "IPU 1;ramp-up 15\nIPU 1;forward;b forward 30\nIPU 1;imbalance 15\nIPU 1;update 5\n");
  EXPECT_THAT(written(toy_, "collapsed", steps()),
              HasSubstr("IPU 0;forward;a forward;a/first 24\nIPU 0;forward;a forward;a/second 16\n"));
}

TEST_F(Export, CollapsedStacksOfAnIpuSumToTheStep) {
  for (const Detail detail : {Detail::passes, Detail::calls, Detail::steps}) {
    Options options;
    options.detail = detail;
    std::map<std::string, std::int64_t> sums;
    std::istringstream lines(written(example_, "collapsed", options));
    for (std::string line; std::getline(lines, line);) {
      const std::string ipu = line.substr(0, line.find(';'));
      if (ipu.find(' ') == ipu.rfind(' ')) sums[ipu] += std::stoll(line.substr(line.rfind(' ')));  // no stream
    }
    EXPECT_EQ(sums.size(), 4);
    for (const auto& [ipu, sum] : sums) EXPECT_EQ(sum, example_->index().program().cycles()) << ipu;
  }
}

// pid and tid, ts and dur in nanoseconds.
struct Event {
  int pid = 0, tid = 0;
  std::int64_t from = 0, to = 0, cycles = 0;
  std::string name;
};

std::vector<Event> events_of(const json& trace) {
  std::vector<Event> out;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const std::int64_t from = std::llround(e["ts"].get<double>() * 1e3);
    out.push_back(
        {e["pid"], e["tid"], from, from + std::llround(e["dur"].get<double>() * 1e3), e["args"]["cycles"], e["name"]});
  }
  return out;
}

TEST_F(Export, ChromeByHand) {
  const json trace = json::parse(written(toy_, "chrome", steps()));
  std::vector<std::string> second;
  for (const Event& e : events_of(trace)) {
    if (e.pid == 3) second.push_back(e.name + " " + std::to_string(e.from) + "-" + std::to_string(e.to));
  }
  EXPECT_THAT(second, ElementsAre("ramp-up 0-15", "imbalance 15-20", "forward 20-35", "b forward 20-35", "b/only 20-35",
                                  "imbalance 35-40", "forward 40-55", "b forward 40-55", "b/only 40-55",
                                  "imbalance 55-60", "update 60-65"));
  std::vector<std::pair<double, std::int64_t>> counted;
  for (const json& e : trace["traceEvents"]) {
    if (e["ph"] == "C") counted.emplace_back(e["ts"], e["args"]["bytes"]);
  }
  EXPECT_THAT(counted, ElementsAre(std::pair(0.0, 1000), std::pair(0.06, 1024), std::pair(0.0, 100), std::pair(0.0, 0),
                                   std::pair(0.02, 200)));
}

TEST_F(Export, ChromeEventsNestAndSumToTheStep) {
  for (const bool real_time : {false, true}) {
    Options options;
    options.real_time = real_time;
    std::map<std::pair<int, int>, std::vector<Event>> open;
    std::map<std::pair<int, int>, std::int64_t> outermost;
    for (const Event& e : events_of(json::parse(written(example_, "chrome", options)))) {
      std::vector<Event>& stack = open[{e.pid, e.tid}];
      while (!stack.empty() && stack.back().to <= e.from && stack.back().to < e.to) stack.pop_back();
      if (stack.empty()) outermost[{e.pid, e.tid}] += e.cycles;
      ASSERT_TRUE(stack.empty() || (stack.back().from <= e.from && e.to <= stack.back().to)) << e.name;
      stack.push_back(e);
    }
    int programs = 0;
    for (const auto& [track, sum] : outermost) {
      if (track.second != 1 || real_time) continue;  // what streams beside has pauses; short events may have no length
      EXPECT_EQ(sum, example_->index().program().cycles());
      ++programs;
    }
    EXPECT_EQ(programs, real_time ? 0 : 5);  // four IPUs, and the parts of the step
  }
}

TEST_F(Export, SpeedscopeIsBalancedAndNeverGoesBack) {
  for (const ReportPointer& report : {toy_, example_}) {
    const json file = json::parse(written(report, "speedscope", report == toy_ ? steps() : Options{}));
    EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    for (const json& profile : file["profiles"]) {
      EXPECT_EQ(profile["type"], "evented");
      EXPECT_EQ(profile["endValue"], report->index().program().cycles());
      std::vector<int> open;
      std::int64_t at = 0, busy = 0;
      for (const json& e : profile["events"]) {
        ASSERT_GE(e["at"], at);
        if (open.size() == 1 && e["type"] == "C") busy += e["at"].get<std::int64_t>();
        if (open.empty()) busy -= e["at"].get<std::int64_t>();
        at = e["at"];
        ASSERT_LT(e["frame"].get<std::size_t>(), file["shared"]["frames"].size());
        if (e["type"] == "O") {
          open.push_back(e["frame"]);
        } else {
          ASSERT_FALSE(open.empty());
          ASSERT_EQ(open.back(), e["frame"]);
          open.pop_back();
        }
      }
      EXPECT_TRUE(open.empty());
      EXPECT_LE(at, report->index().program().cycles());
      if (profile["name"].get<std::string>().find(',') == std::string::npos) {
        EXPECT_EQ(busy, report->index().program().cycles()) << profile["name"];
      }
    }
  }
}

const UnknownField* field(const UnknownFieldSet& set, int number) {
  for (int i = 0; i < set.field_count(); ++i) {
    if (set.field(i).number() == number) return &set.field(i);
  }
  return nullptr;
}
std::int64_t number(const UnknownFieldSet& set, int tag) {
  const UnknownField* f = field(set, tag);
  return f ? static_cast<std::int64_t>(f->varint()) : -1;
}
std::unique_ptr<UnknownFieldSet> message(const UnknownField& f) {
  auto out = std::make_unique<UnknownFieldSet>();
  EXPECT_TRUE(out->ParseFromString(f.length_delimited()));
  return out;
}

// By field numbers of Perfetto's wire format: track, type, time, name or value.
struct Packets {
  std::map<std::int64_t, std::string> tracks;
  std::map<std::int64_t, std::int64_t> parents;
  struct Event {
    std::int64_t track, type, at, value;
    std::string name;
  };
  std::vector<Event> events;
};

Packets packets_of(const std::string& bytes) {
  Packets out;
  std::map<std::int64_t, std::string> names;
  UnknownFieldSet trace;
  EXPECT_TRUE(trace.ParseFromString(bytes));
  for (int i = 0; i < trace.field_count(); ++i) {
    EXPECT_EQ(trace.field(i).number(), 1);
    const auto packet = message(trace.field(i));
    EXPECT_EQ(number(*packet, 10), 1);                 // trusted_packet_sequence_id
    EXPECT_EQ(number(*packet, 13), i == 0 ? 1 : 2);    // sequence_flags
    if (const UnknownField* d = field(*packet, 60)) {  // track_descriptor
      const auto track = message(*d);
      out.tracks[number(*track, 1)] = field(*track, 2)->length_delimited();
      out.parents[number(*track, 1)] = number(*track, 5);
    }
    if (const UnknownField* told = field(*packet, 12)) {  // interned_data
      const auto data = message(*told);
      const auto name = message(*field(*data, 2));
      names[number(*name, 1)] = field(*name, 2)->length_delimited();
    }
    if (const UnknownField* e = field(*packet, 11)) {  // track_event
      const auto event = message(*e);
      out.events.push_back({number(*event, 11), number(*event, 9), number(*packet, 8), number(*event, 30),
                            field(*event, 10) ? names[number(*event, 10)] : ""});
    }
  }
  return out;
}

TEST_F(Export, PerfettoByHand) {
  const Packets packets = packets_of(written(toy_, "perfetto", steps()));
  std::vector<std::string> names;
  for (const auto& [uuid, name] : packets.tracks) {
    names.push_back(name);
    const std::int64_t parent = packets.parents.at(uuid);
    EXPECT_TRUE(parent == -1 ? uuid == 1 : packets.tracks.contains(parent)) << name;
  }
  EXPECT_THAT(names, ElementsAre("toy", "step", "parts", "IPU 0", "tile memory, fullest tile", "Streaming Memory",
                                 "program", "IPU 1", "tile memory, fullest tile", "Streaming Memory", "program"));
  std::map<std::int64_t, std::vector<std::string>> said;
  for (const auto& e : packets.events) {
    const std::string at = std::to_string(e.at);
    said[e.track].push_back(e.type == 4   ? at + "=" + std::to_string(e.value)
                            : e.type == 1 ? at + " " + e.name
                                          : at + " end");
  }
  EXPECT_THAT(said[5], ElementsAre("0=100"));
  EXPECT_THAT(said[6], ElementsAre("0=1000", "60=1024"));
  EXPECT_THAT(said[7], ElementsAre("0 forward", "0 a forward", "0 a/first", "12 end", "12 a/second", "20 end", "20 end",
                                   "20 end", "20 forward", "20 a forward", "20 a/first", "32 end", "32 a/second",
                                   "40 end", "40 end", "40 end", "40 ramp-down", "60 end", "60 update", "65 end"));
  EXPECT_THAT(said[9], ElementsAre("20=200"));
}

TEST_F(Export, PerfettoSlicesSumToTheStep) {
  const Packets packets = packets_of(written(example_, "perfetto"));
  std::map<std::int64_t, std::int64_t> depth, sums;
  for (const auto& e : packets.events) {
    if (e.type == 4) continue;
    std::int64_t& d = depth[e.track];
    if (d == (e.type == 1 ? 0 : 1)) sums[e.track] += e.type == 1 ? -e.at : e.at;
    d += e.type == 1 ? 1 : -1;
    ASSERT_GE(d, 0);
  }
  for (const auto& [track, d] : depth) EXPECT_EQ(d, 0) << packets.tracks.at(track);
  int programs = 0;
  for (const auto& [track, sum] : sums) {
    if (packets.tracks.at(track) != "program") continue;
    EXPECT_EQ(sum, example_->index().program().cycles());
    ++programs;
  }
  EXPECT_EQ(programs, 4);
}

TEST_F(Export, AStretchHasWhatMeetsIt) {
  Options options;
  options.from = 35, options.to = 41;
  std::vector<std::string> names;
  for (const Event& e : events_of(json::parse(written(toy_, "chrome", options)))) {
    if (e.pid == 3) names.push_back(e.name + " " + std::to_string(e.from));
  }
  EXPECT_THAT(names, ElementsAre("imbalance 35", "forward 40", "b forward 40"));
  EXPECT_THROW(written(toy_, "collapsed", options), Error);
}

TEST_F(Export, TooManySlicesAreAnErrorNotAGap) {
  Options options;
  options.most_slices = 5;
  EXPECT_THROW(written(toy_, "chrome", options), Error);
  const auto path = folder_.path / "out.json";
  std::ofstream(path) << "before";
  const auto write = [&](std::ostream& out) { find_format("chrome").write(toy_, options, out); };
  EXPECT_THROW(write_file(path.string(), write), Error);
  std::string kept;
  std::getline(std::ifstream(path), kept);
  EXPECT_EQ(kept, "before");
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
}

// RFC 4180, cell by cell.
std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool inside = false;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    std::string& cell = rows.back().back();
    if (inside ? csv[i] == '"' && csv.substr(i + 1, 1) == "\"" : false) {
      cell += csv[i++];
    } else if (csv[i] == '"') {
      inside = !inside;
    } else if (!inside && csv[i] == ',') {
      rows.back().emplace_back();
    } else if (!inside && csv.compare(i, 2, "\r\n") == 0) {
      rows.emplace_back(1), ++i;
    } else {
      cell += csv[i];
    }
  }
  rows.pop_back();
  return rows;
}

TEST_F(Export, CsvHasTheReportsNumbers) {
  Options options;
  options.table = "step";
  EXPECT_THAT(rows_of(written(toy_, "csv", options)),
              ElementsAre(ElementsAre("name", "kind", "term", "cycles", "compute_cycles", "exchange_cycles"),
                          ElementsAre("a/first", "compute", "vector ops", "12", "12", "0"),
                          ElementsAre("a/second", "exchange", "operand exchange", "8", "0", "8"),
                          ElementsAre("b/only", "compute", "vector ops", "15", "10", "5")));
  options.table = "unit";
  EXPECT_EQ(rows_of(written(toy_, "csv", options))[2][0], "b \"quoted\"");
  options.table = "waterfall";
  const auto rows = rows_of(written(example_, "csv", options));
  ASSERT_EQ(static_cast<int>(rows.size()), example_->index().waterfall_size() + 1);
  EXPECT_THAT(rows[0], ElementsAre("name", "kind", "seconds", "explanation", "low_s", "high_s"));
  EXPECT_EQ(rows[1][4], "") << "the example says nothing of it";
  for (int i = 0; i < example_->index().waterfall_size(); ++i) {
    EXPECT_EQ(std::stod(rows[static_cast<std::size_t>(i) + 1][2]), example_->index().waterfall(i).seconds());
  }
  options.table = "program";
  EXPECT_EQ(rows_of(written(toy_, "csv", options)).size(), 1 + 8);
  EXPECT_THAT(written(toy_, "csv"), HasSubstr("# step\r\nname,kind"));
  options.table = "stpe";
  EXPECT_THROW(written(toy_, "csv", options), Error);
}

TEST_F(Export, CellsAreQuotedWhereTheyMust) {
  EXPECT_EQ(csv_cell("a b"), "a b");
  EXPECT_EQ(csv_cell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
  EXPECT_EQ(csv_cell(0.1), "0.1");
}

TEST_F(Export, DotHasUnitsStagesAndEdges) {
  const std::string dot = written(toy_, "dot");
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_stage1"));
  EXPECT_THAT(dot, HasSubstr(R"(u1 [label="b \"quoted\"\n2 KiB of weights")"));
  EXPECT_THAT(dot, HasSubstr("u0 -> u1 [label=\"512 B\"]"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

TEST_F(Export, WhatAReportLacksIsSaid) {
  const auto empty = std::make_shared<const ReportFile>(ReportFile::open(write_example(Example::empty, folder_.path)));
  for (const Format& format : formats()) {
    const std::string name = format.name;
    if (!format.write) continue;
    if (name == "markdown" || name == "html")
      EXPECT_THAT(written(empty, format.name), HasSubstr("This report holds no plan."));
    else
      EXPECT_THROW(written(empty, format.name), Error) << name;
  }
}

TEST(ExportFormats, AreKnownByName) {
  EXPECT_EQ(format_names(),
            "perfetto, chrome, speedscope, collapsed, csv, dot, markdown, html, svg, png, onnx, poptorch, popart, "
            "tensorflow, popxl, poprun, vipu");
  for (const char* name : {"perfeto", "nothing like it"}) {
    try {
      find_format(name);
      FAIL();
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_THAT(text, HasSubstr("expected one of: " + format_names()));
      EXPECT_EQ(text.find("expected one of"), text.rfind("expected one of")) << "said twice: " << text;
    }
  }
}

}  // namespace
}  // namespace superstep::exports
