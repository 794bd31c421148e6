// SPDX-License-Identifier: Apache-2.0
#include "planner/report/streaming_columns.h"

#include <algorithm>
#include <map>
#include <utility>

namespace superstep {
namespace {

using Integers = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

// Traffic between an IPU and Streaming Memory in a stretch. `ahead_bytes` are loaded for the later stretch `ahead`.
struct Traffic {
  std::int64_t load_bytes = 0, store_bytes = 0, load_cycles = 0, store_cycles = 0, ahead_bytes = 0;
  std::string ahead;
};

// A part of the step; stretches follow one another. `begin` is in cycles from the start of the step.
struct Stretch {
  std::string name;
  std::int64_t phase = -1;
  std::int64_t begin = 0, cycles = 0, repeats = 1;
  std::vector<Traffic> ipus;
};

// Activations of a unit's micro-batches in Streaming Memory. `first` is the stretch of the first store, `last` the
// stretch of the last load.
struct Stored {
  std::int64_t bytes = 0, first = 0, last = 0;
};

bool has_phases(const Node& n) { return n.phase >= 0 || std::any_of(n.children.begin(), n.children.end(), has_phases); }

bool in_streaming_memory(const Step& s) {
  return (s.kind == StepKind::load || s.kind == StepKind::store) && s.location != Location::remote_ipu;
}

class StretchList {
 public:
  StretchList(const Program& program, const CostModel& model, std::int64_t begin)
      : program_(program), model_(model), now_(begin) {
    for (const Node& n : program.root.children) collect(n, 1);
  }

  std::vector<Stretch> stretches;
  std::map<UnitId, Stored> stored;  // by the unit that reads the activations

 private:
  const Program& program_;
  const CostModel& model_;
  std::int64_t now_;

  void collect(const Node& n, std::int64_t repeats) {
    if (n.phase < 0 && has_phases(n)) {
      if (n.kind == Node::Kind::repeat) repeats *= n.count;
      for (const Node& c : n.children) collect(c, repeats);
      return;
    }
    Stretch s{n.name, n.phase, now_, cost_of(n, program_, model_).total().value, repeats, {}};
    s.ipus.resize(program_.ipus());
    visit(n, s, -1, 1, "");
    now_ += s.cycles;
    stretches.push_back(std::move(s));
  }

  // Adds the traffic below node `n` to stretch `s`. `ipu` is the IPU group, -1: all. `times` counts the runs of the
  // node.
  void visit(const Node& n, Stretch& s, std::int64_t ipu, std::int64_t times, const std::string& ahead) {
    if (n.ipu >= 0) ipu = n.ipu;
    if (n.kind == Node::Kind::repeat) times *= n.micro_batches;
    if (n.kind == Node::Kind::step && in_streaming_memory(n.step)) move(n.step, s, ipu, times, ahead);
    const bool loads = n.name.starts_with("load phase ") && n.name != "load phase " + std::to_string(s.phase);
    for (const Node& c : n.children) visit(c, s, ipu, times, loads ? n.name.substr(5) : ahead);
  }

  void move(const Step& step, Stretch& s, std::int64_t ipu, std::int64_t times, const std::string& ahead) {
    const std::int64_t bytes = (step.tile_bytes * step.times).value * times;
    const std::int64_t cycles = model_.step(step).total().value * times;
    for (std::int64_t i = 0; i < std::ssize(s.ipus); ++i) {
      if (ipu >= 0 && i != ipu) continue;
      Traffic& t = s.ipus[static_cast<std::size_t>(i)];
      const bool loads = step.kind == StepKind::load;
      (loads ? t.load_bytes : t.store_bytes) += bytes;
      (loads ? t.load_cycles : t.store_cycles) += cycles;
      if (!ahead.empty()) t.ahead_bytes += bytes, t.ahead = ahead;
    }
    const bool activations =
        step.data == Data::stash || step.data == Data::activations || step.data == Data::activation_gradients;
    if (!activations || s.phase < 0 || step.units.empty()) return;
    const auto here = std::ssize(stretches);
    const auto [it, fresh] = stored.try_emplace(step.units[0], Stored{bytes, here, here});
    it->second.last = here;
  }
};

// Rows of the ddr.* columns. Entries of 0 bytes are left out.
class Held {
 public:
  void add(std::string name, std::string category, std::int64_t ipu, std::int64_t bytes, std::int64_t first,
           std::int64_t last) {
    if (bytes == 0) return;
    names_.push_back(std::move(name)), categories_.push_back(std::move(category)), ipus_.push_back(ipu);
    bytes_.push_back(bytes), first_.push_back(first), last_.push_back(last);
  }
  void write(ReportWriter& writer) const {
    writer.add_texts("ddr.name", names_);
    writer.add_texts("ddr.category", categories_);
    writer.add_integers("ddr.ipu_class", "index", ipus_);
    writer.add_integers("ddr.bytes", "bytes", bytes_);
    writer.add_integers("ddr.first", "index", first_);
    writer.add_integers("ddr.last", "index", last_);
  }

 private:
  Texts names_, categories_;
  Integers ipus_, bytes_, first_, last_;
};

void add_held(ReportWriter& writer, const Evaluated& e, const UnitTable& table, const StretchList& list) {
  const std::int64_t end = std::ssize(list.stretches) - 1;
  Held held;
  for (std::int64_t i = 0; i < std::ssize(e.program.ddr); ++i) {
    const StreamingUse& use = e.program.ddr[static_cast<std::size_t>(i)];
    held.add("weights", "weights", i, use.weights.value, 0, end);
    held.add("gradients", "gradients", i, use.gradients.value, 0, end);
    held.add("optimizer state", "optimizer state", i, use.optimizer_state.value, 0, end);
    held.add("host input, read ahead, and output", "IO", i, use.host.value, 0, end);
    held.add("code", "code", i, use.code.value, 0, end);
    if (!e.plan.phased()) held.add("stash", "stash", i, use.activations.value, 0, end);
  }
  const std::vector<StageSpan> spans = stage_spans(e.plan, static_cast<std::int64_t>(table.units()));
  for (const auto& [unit, stored] : list.stored) {
    const auto at = std::find_if(spans.begin(), spans.end(), [&](const StageSpan& s) { return s.begin == unit.index; });
    if (at == spans.end()) continue;
    held.add("into " + table.facts().graph.units[unit].name, "stash", at->ipu, stored.bytes, stored.first, stored.last);
  }
  held.write(writer);
}

}  // namespace

void add_streaming_columns(ReportWriter& writer, const Evaluated& e, const UnitTable& table) {
  const CostModel& model = table.model();
  const std::int64_t begin = (e.timeline.step.total() - cost_of(e.program.root, e.program, model).total())
                                 .value;  // host input and output, not hidden
  const StretchList list(e.program, model, begin);
  Texts names, ahead;
  Integers begins, cycles, ipus, load, store, load_cycles, store_cycles, ahead_bytes, repeats;
  for (const Stretch& s : list.stretches) {
    for (std::size_t i = 0; i < s.ipus.size(); ++i) {
      const Traffic& t = s.ipus[i];
      names.push_back(s.name), begins.push_back(s.begin), cycles.push_back(s.cycles), repeats.push_back(s.repeats);
      ipus.push_back(static_cast<std::int64_t>(i));
      load.push_back(t.load_bytes), load_cycles.push_back(t.load_cycles);
      store.push_back(t.store_bytes), store_cycles.push_back(t.store_cycles);
      ahead_bytes.push_back(t.ahead_bytes), ahead.push_back(t.ahead);
    }
  }
  writer.add_texts("stream.name", names);
  writer.add_integers("stream.begin", "cycles", begins);
  writer.add_integers("stream.cycles", "cycles", cycles);
  writer.add_integers("stream.repeats", "index", repeats);
  writer.add_integers("stream.ipu_class", "index", ipus);
  writer.add_integers("stream.load_bytes", "bytes", load);
  writer.add_integers("stream.load_cycles", "cycles", load_cycles);
  writer.add_integers("stream.store_bytes", "bytes", store);
  writer.add_integers("stream.store_cycles", "cycles", store_cycles);
  writer.add_integers("stream.ahead_bytes", "bytes", ahead_bytes);
  writer.add_texts("stream.ahead", ahead);
  add_held(writer, e, table, list);
}

}  // namespace superstep
