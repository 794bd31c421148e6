// SPDX-License-Identifier: Apache-2.0
// From the report's tree, in which IPUs run side by side, to lanes that each hold one of them.
#include <algorithm>

#include "model/error.h"
#include "traces/timeline/timeline.h"

namespace superstep::trace {
namespace {

using Program = report::ProgramNode;
using Kind = LaneNode::Kind;

std::int64_t whole(const Program& n) { return n.cycles() * std::max<std::int64_t>(n.count(), 1); }

// A lane shows what the first of several children of a parallel does; what streams beside it is on lanes of its own.
enum class Channel { own, activations, weights };

Work work_of(const Program& n) {
  const std::string& w = n.work();
  for (const auto& [text, work] :
       {std::pair{"forward", Work::forward}, std::pair{"recompute", Work::recompute},
        std::pair{"backward", Work::backward}, std::pair{"update", Work::update}, std::pair{"copy", Work::copy},
        std::pair{"collective", Work::collective}, std::pair{"load", Work::load}, std::pair{"store", Work::store},
        std::pair{"host", Work::host}, std::pair{"fixed", Work::fixed}}) {
    if (w == text) return work;
  }
  const auto ends = [&](std::string_view tail) { return std::string_view(n.name()).ends_with(tail); };
  if (n.kind() != "call") return n.name().starts_with("load") ? Work::load : Work::fixed;  // an old report
  return ends("recompute")  ? Work::recompute
         : ends("backward") ? Work::backward
         : ends("update")   ? Work::update
                            : Work::forward;
}

Work direction(Work work) { return work == Work::recompute ? Work::backward : work; }
// A ramp: of the drain, not of the fill.
bool drains(const Program& n) { return n.first() >= n.micro_batches(); }
bool computes(Work work) { return work <= Work::backward; }

class LaneBuilder {
 public:
  LaneBuilder(Lane& lane, Channel channel) : lane_(lane), channel_(channel) {}  // lane.steps is set

  void build(const Program& root) { lane_.root = node(root, {}); }
  bool found() const { return channel_ == Channel::own || found_; }

 private:
  struct Place {
    bool on_ipu = false;
    bool in_repeat = false;
    bool beside = false;           // below the child that this lane of streams shows
    Work waits = Work::imbalance;  // while other IPUs work
  };
  Lane& lane_;
  Channel channel_;
  bool found_ = false;

  int put(LaneNode n) {
    if (n.kind == Kind::leaf) {
      n.sums.emplace_back(n.lag, WorkCycles{});
      if (lane_.steps && n.function >= 0) {
        n.sums.back().second = lane_.steps->sums(n.function, 0, n.cycles);
      } else {
        n.sums.back().second[n.work] = n.cycles;
      }
    }
    lane_.nodes.push_back(std::move(n));
    return static_cast<int>(lane_.nodes.size()) - 1;
  }
  int gap(std::int64_t cycles, Work work) {
    LaneNode n;
    n.work = channel_ == Channel::own ? work : Work::idle;
    n.cycles = cycles;
    return put(std::move(n));
  }
  LaneNode& at(int i) { return lane_.nodes[static_cast<std::size_t>(i)]; }

  // Adds up the children, in order; two that do nothing on the streams' lane become one.
  int sequence(const Program* source, const std::vector<int>& children, Kind kind = Kind::sequence) {
    LaneNode n;
    n.kind = kind;
    n.source = source;
    n.starts.push_back(0);
    for (const int child : children) {
      if (child < 0 || at(child).cycles == 0) continue;
      n.children.push_back(child);
      n.cycles += at(child).cycles;
      n.starts.push_back(n.cycles);
      for (const auto& [lag, cycles] : at(child).sums) {
        auto same = std::find_if(n.sums.begin(), n.sums.end(), [&](const auto& s) { return s.first == lag; });
        if (same == n.sums.end()) same = n.sums.insert(n.sums.end(), {lag, {}});
        same->second += cycles;
      }
    }
    return put(std::move(n));
  }

  int node(const Program& n, Place place) {
    if (n.ipu_class() >= 0 && n.ipu_class() != lane_.ipu_class) return gap(whole(n), Work::no_part);
    place.on_ipu = place.on_ipu || n.ipu_class() >= 0;
    if (n.kind() == "call" || n.kind() == "step") return leaf(n, place);
    if (n.kind() == "parallel") return parallel(n, place);
    if (n.kind() == "repeat") return repeat(n, place);
    std::vector<int> children;
    for (const Program& c : n.children()) children.push_back(node(c, place));
    return sequence(&n, place.on_ipu ? boxes(children) : children);
  }

  int leaf(const Program& n, const Place& place) {
    LaneNode out;
    out.cycles = n.cycles();
    out.source = &n;
    if (channel_ != Channel::own && !place.beside) return gap(n.cycles(), Work::idle);
    out.work = work_of(n);
    if (n.kind() == "call") out.function = static_cast<int>(n.function());
    if (lane_.steps && out.function >= 0 && lane_.steps->cycles(out.function) != n.cycles()) {
      throw Error(n.name(), "damaged report: " + std::to_string(n.cycles()) + " cycles, but its steps take " +
                                std::to_string(lane_.steps->cycles(out.function)));
    }
    if (place.on_ipu && place.in_repeat) out.lag = n.lag();
    return put(std::move(out));
  }

  int repeat(const Program& n, Place place) {
    if (n.count() < 1) throw Error(n.name(), "damaged report: a repeat of " + std::to_string(n.count()));
    place.in_repeat = true;
    if (n.ramp()) place.waits = drains(n) ? Work::ramp_down : Work::ramp_up;
    std::vector<int> children;
    for (const Program& c : n.children()) children.push_back(node(c, place));
    const int body = sequence(&n, children);
    LaneNode out;
    out.kind = Kind::repeat;
    out.source = &n;
    out.count = n.count(), out.first = n.first();
    out.micro_batches = n.micro_batches() > 0 ? n.micro_batches() : n.count();
    out.cycles = at(body).cycles * out.count;
    out.children = {body};
    WorkCycles all;
    const std::int64_t end = out.first + out.count;
    for (const auto& [lag, cycles] : at(body).sums) {
      const std::int64_t from = lag < 0 ? out.first : std::clamp(lag, out.first, end);
      const std::int64_t to = lag < 0 ? end : std::clamp(lag + out.micro_batches, from, end);
      for (int i = 0; i < kWorks; ++i) all[static_cast<Work>(i)] += cycles[static_cast<Work>(i)] * (to - from);
      const bool own = channel_ == Channel::own;
      all[own ? Work::ramp_up : Work::idle] += cycles.total() * (from - out.first);
      all[own ? Work::ramp_down : Work::idle] += cycles.total() * (end - to);
    }
    out.sums.emplace_back(-1, all);
    return put(std::move(out));
  }

  int parallel(const Program& n, const Place& place) {
    std::vector<const Program*> mine;
    for (const Program& c : n.children()) {
      if (c.ipu_class() < 0 || c.ipu_class() == lane_.ipu_class) mine.push_back(&c);
    }
    if (mine.empty()) return gap(n.cycles(), Work::no_part);
    Place inside = place;
    const Program* shown = mine[0];
    if (mine.size() > 1 && channel_ == (place.on_ipu ? Channel::activations : Channel::weights)) {
      shown = mine[1];
      inside.beside = true;
      found_ = true;
    }
    std::vector<int> children{node(*shown, inside)};
    const std::int64_t rest = n.cycles() - at(children[0]).cycles;
    if (rest < 0) throw Error(n.name(), "damaged report: a part takes longer than the whole");
    children.push_back(gap(rest, mine.size() > 1 ? Work::memory : place.waits));
    return sequence(&n, children);
  }

  // Neighbours of the same pass on the same micro-batch, or of the same other work, make a box.
  std::vector<int> boxes(const std::vector<int>& children) {
    std::vector<int> out, run;
    Work work = Work::idle;
    std::int64_t lag = -1;
    const auto flush = [&] {
      if (run.empty()) return;
      const int box = sequence(nullptr, run, Kind::box);
      at(box).work = work;
      at(box).lag = lag;
      out.push_back(box);
      run.clear();
    };
    for (const int child : children) {
      const LaneNode n = at(child);
      if (n.kind != Kind::leaf || !n.source) {
        flush();
        out.push_back(child);
        continue;
      }
      const Work its = direction(n.work);
      // Moves between calls of a micro-batch belong to the box around them; so do those ahead of the first call.
      const bool joins =
          !run.empty() && n.lag == lag && (its == work || (lag >= 0 && !(computes(its) && computes(work))));
      if (!joins) flush();
      if (!joins || (computes(its) && !computes(work))) work = its;
      lag = n.lag;
      run.push_back(child);
    }
    flush();
    return out;
  }
};

Lane make_lane(const Program& root, int ipu_class, Channel channel, const StepTrace* steps, bool& found) {
  Lane lane;
  lane.steps = steps;
  lane.ipu_class = ipu_class;
  if (channel != Channel::own) {
    lane.name = channel == Channel::activations ? "activations" : "weights";
  }
  LaneBuilder builder(lane, channel);
  builder.build(root);
  found = builder.found();
  return lane;
}

// Waiting in iterations beyond one per micro-batch, along the slowest parts.
std::int64_t bubble_of(const Program& n) {
  std::int64_t sum = 0;
  if (n.kind() == "parallel") {
    const Program* slowest = nullptr;
    for (const Program& c : n.children()) {
      if (!slowest || whole(c) > whole(*slowest)) slowest = &c;
    }
    return slowest ? bubble_of(*slowest) : 0;
  }
  for (const Program& c : n.children()) sum += bubble_of(c);
  if (n.ramp()) return whole(n);
  if (n.kind() != "repeat" || n.micro_batches() == 0) return sum;
  return sum * n.micro_batches() + (n.count() - n.micro_batches()) * n.cycles();
}

class SectionList {
 public:
  void node(const Program& n) {
    const std::int64_t from = at_;
    if (n.kind() == "repeat") {
      repeat(n);
    } else if (n.kind() == "sequence" && n.phase() == 0 && n.ipu_class() < 0) {
      for (const Program& c : n.children()) node(c);
      return;
    } else if (whole(n) > 0) {
      sections.push_back({n.name(), from, from + whole(n)});
      find_beat(n, from);
    }
    at_ = from + whole(n);
  }
  std::vector<Section> sections;
  std::int64_t iterations = 0, bubbles = 0;
  bool dated = false;

 private:
  std::int64_t at_ = 0;

  bool find_beat(const Program& n, std::int64_t from) {
    if (n.kind() == "repeat") {
      sections.back().beat = n.cycles();
      sections.back().beat_from = from;
      sections.back().beats = n.count();
      return true;
    }
    for (const Program& c : n.children()) {
      if (find_beat(c, from)) return true;
      if (n.kind() != "parallel") from += whole(c);
    }
    return false;
  }
  void part(const std::string& name, const Program& n, std::int64_t first, std::int64_t count, bool equal) {
    if (count > 0 && n.cycles() > 0) {
      const std::int64_t from = at_ + first * n.cycles();
      sections.push_back(
          {name, from, from + count * n.cycles(), n.cycles(), first, count, equal, n.cycles(), from, count});
    }
  }
  void repeat(const Program& n) {
    const bool has_ramps = n.ramp() || n.first() > 0;  // by themselves
    iterations = has_ramps ? iterations + n.count() : n.count();
    dated = dated || n.micro_batches() == 0;
    const std::int64_t batches = n.micro_batches() > 0 ? n.micro_batches() : n.count();
    const std::int64_t lag = std::max<std::int64_t>(0, n.count() - batches);
    bubbles = iterations - batches;
    if (n.ramp()) {
      part(drains(n) ? "ramp-down" : "ramp-up", n, 0, 1, false);
      sections.back().first = n.first();
      return;
    }
    if (has_ramps) {
      part("full cycles", n, 0, n.count(), true);
      sections.back().first = n.first();
      return;
    }
    if (lag == 0 || lag >= batches) {  // never full: all are ramps
      part(n.name(), n, 0, n.count(), lag == 0);
      return;
    }
    part("ramp-up", n, 0, lag, false);
    part("full cycles", n, lag, batches - lag, true);
    part("ramp-down", n, batches, lag, false);
  }
};

}  // namespace

Timeline make_timeline(const std::shared_ptr<const ReportFile>& report, std::shared_ptr<const StepTrace> steps) {
  Timeline out;
  out.report = report;
  out.steps = std::move(steps);
  if (!report || report->index().program().cycles() <= 0) return out;
  const Program& root = report->index().program();
  out.cycles = whole(root);
  out.clock_hz = report->index().clock_hz();
  for (int ipu = 0; ipu < report->index().ipu_classes_size(); ++ipu) {
    for (const Channel channel : {Channel::own, Channel::activations, Channel::weights}) {
      bool found = false;
      Lane lane = make_lane(root, ipu, channel, out.steps.get(), found);
      if (lane.cycles() != out.cycles) {
        throw Error(report->path().string(), "damaged report: " + report->index().ipu_classes(ipu).name() + " takes " +
                                                 std::to_string(lane.cycles()) + " cycles of a step of " +
                                                 std::to_string(out.cycles));
      }
      if (found) out.lanes.push_back(std::move(lane));
    }
  }
  SectionList list;
  list.node(root);
  out.sections = std::move(list.sections);
  out.bubble_cycles = bubble_of(root);
  out.dated = list.dated && report->index().ipu_classes_size() > 1;  // one IPU has no ramps
  out.iterations = list.iterations;
  out.bubble_iterations = list.bubbles;
  out.phased = std::any_of(root.children().begin(), root.children().end(), [](const Program& c) {
    return std::any_of(c.children().begin(), c.children().end(), [](const Program& p) { return p.phase() > 0; });
  });
  return out;
}

}  // namespace superstep::trace
