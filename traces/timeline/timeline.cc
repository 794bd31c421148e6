// SPDX-License-Identifier: Apache-2.0
#include "traces/timeline/timeline.h"

#include <algorithm>

namespace superstep::trace {
namespace {

// A stream that pauses is no loss.
Work pause(const Lane& lane, Work ramp) { return lane.name.empty() ? ramp : Work::idle; }

// Where in the repeats a walk is.
struct Place {
  std::int64_t iteration = -1;  // of the innermost repeat; -1: in none
  std::int64_t micro_batches = 1;
  std::int64_t before = 0;  // micro-batches of outer iterations

  Place into(std::int64_t i, std::int64_t batches) const {
    const std::int64_t outer = iteration < 0 ? 0 : before + iteration;
    return {i, batches, outer * batches};
  }
  Work work(const Lane& lane, Work full, std::int64_t lag) const {
    if (lag < 0 || iteration < 0) return full;
    if (iteration < lag) return pause(lane, Work::ramp_up);
    return iteration - lag < micro_batches ? full : pause(lane, Work::ramp_down);
  }
  std::int64_t micro_batch(std::int64_t lag) const {
    if (lag < 0 || iteration < lag || iteration - lag >= micro_batches) return -1;
    return before + iteration - lag;
  }
};

// How many of the iterations [from, to) are before, among and after those that work at this lag.
struct Turns {
  std::int64_t up = 0, full = 0, down = 0;
};
Turns turns(std::int64_t from, std::int64_t to, std::int64_t lag, std::int64_t micro_batches) {
  if (lag < 0) return {0, to - from, 0};
  const std::int64_t first = std::clamp(lag, from, to), end = std::clamp(lag + micro_batches, first, to);
  return {first - from, end - first, to - end};
}

void add(const Lane& lane, WorkCycles& to, const WorkCycles& full, const Turns& t) {
  for (int i = 0; i < kWorks; ++i) to.by[static_cast<std::size_t>(i)] += full.by[static_cast<std::size_t>(i)] * t.full;
  to[pause(lane, Work::ramp_up)] += full.total() * t.up;
  to[pause(lane, Work::ramp_down)] += full.total() * t.down;
}

class Adder {
 public:
  Adder(const Lane& lane, std::int64_t from, std::int64_t to) : lane_(lane), from_(from), to_(to) {}

  void node(int at, std::int64_t start, const Place& place) {
    const LaneNode& n = lane_.node(at);
    const std::int64_t end = start + n.cycles;
    if (end <= from_ || start >= to_) return;
    if (start >= from_ && end <= to_) return whole(n, place);
    if (n.kind == LaneNode::Kind::leaf) {
      const std::int64_t first = std::max(start, from_), last = std::min(end, to_);
      const Work work = place.work(lane_, n.work, n.lag);
      if (lane_.steps && n.function >= 0 && work == n.work) {
        sums += lane_.steps->sums(n.function, first - start, last - start);
      } else {
        sums[work] += last - first;
      }
    } else if (n.kind == LaneNode::Kind::repeat) {
      repeat(n, start, place);
    } else {
      auto child = static_cast<std::size_t>(std::upper_bound(n.starts.begin(), n.starts.end(), from_ - start) -
                                            n.starts.begin());
      for (child = child > 0 ? child - 1 : 0; child < n.children.size() && start + n.starts[child] < to_; ++child) {
        node(n.children[child], start + n.starts[child], place);
      }
    }
  }
  WorkCycles sums;

 private:
  const Lane& lane_;
  std::int64_t from_, to_;

  void whole(const LaneNode& n, const Place& place) {
    for (const auto& [lag, cycles] : n.sums) {
      const std::int64_t i = std::max<std::int64_t>(place.iteration, 0);
      add(lane_, sums, cycles, place.iteration < 0 ? Turns{0, 1, 0} : turns(i, i + 1, lag, place.micro_batches));
    }
  }
  void repeat(const LaneNode& n, std::int64_t start, const Place& place) {
    const std::int64_t each = n.cycles / n.count;
    const std::int64_t first = std::max<std::int64_t>(0, from_ - start) / each;
    const std::int64_t last = std::min(n.count, (to_ - start + each - 1) / each);  // after the last that is met
    std::int64_t begin = first, end = last;
    const auto part = [&](std::int64_t i) {
      node(n.children[0], start + i * each, place.into(n.first + i, n.micro_batches));
    };
    if (start + begin * each < from_) part(begin++);
    if (end > begin && start + end * each > to_) part(--end);
    if (end <= begin) return;
    for (const auto& [lag, cycles] : lane_.node(n.children[0]).sums) {
      add(lane_, sums, cycles, turns(n.first + begin, n.first + end, lag, n.micro_batches));
    }
  }
};

class Walk {
 public:
  Walk(const Lane& lane, std::int64_t from, std::int64_t to, std::int64_t least, Lane::Depth depth,
       const std::function<void(const Slice&)>& take)
      : lane_(lane), from_(from), to_(to), least_(std::max<std::int64_t>(least, 1)), depth_(depth), take_(take) {}

  void node(int at, std::int64_t start, const Place& place) {
    const LaneNode& n = lane_.node(at);
    const std::int64_t end = start + n.cycles;
    if (end <= from_ || start >= to_) return;
    const bool repeats = n.kind == LaneNode::Kind::repeat;
    if ((repeats ? n.cycles / n.count : n.cycles) < least_) return join(start, end);
    if (n.kind == LaneNode::Kind::leaf && depth_ == Lane::Depth::steps && lane_.steps && n.function >= 0 &&
        place.work(lane_, n.work, n.lag) == n.work) {
      return steps(n, at, start, place);
    }
    if (n.kind == LaneNode::Kind::leaf || (n.kind == LaneNode::Kind::box && depth_ == Lane::Depth::boxes)) {
      flush();
      take_({start, end, place.work(lane_, n.work, n.lag), place.micro_batch(n.lag), place.iteration, at});
      return;
    }
    if (repeats) return repeat(n, start, place);
    auto child =
        static_cast<std::size_t>(std::upper_bound(n.starts.begin(), n.starts.end(), from_ - start) - n.starts.begin());
    for (child = child > 0 ? child - 1 : 0; child < n.children.size() && start + n.starts[child] < to_; ++child) {
      node(n.children[child], start + n.starts[child], place);
    }
  }
  void flush() {
    if (joined_to_ > joined_from_) take_({joined_from_, joined_to_});
    joined_from_ = joined_to_ = 0;
  }

 private:
  const Lane& lane_;
  std::int64_t from_, to_, least_;
  Lane::Depth depth_;
  const std::function<void(const Slice&)>& take_;
  std::int64_t joined_from_ = 0, joined_to_ = 0;

  void steps(const LaneNode& n, int at, std::int64_t start, const Place& place) {
    const StepTrace& trace = *lane_.steps;
    trace.visit(n.function, from_ - start, to_ - start, least_,
                [&](std::int64_t row, std::int64_t from, std::int64_t to) {
                  if (row < 0) return join(start + from, start + to);
                  flush();
                  take_({start + from, start + to, n.work, place.micro_batch(n.lag), place.iteration, at, row});
                });
  }
  void join(std::int64_t from, std::int64_t to) {
    if (joined_to_ != from || joined_to_ == joined_from_) {
      flush();
      joined_from_ = from;
    }
    joined_to_ = to;
  }
  void repeat(const LaneNode& n, std::int64_t start, const Place& place) {
    const std::int64_t each = n.cycles / n.count;
    const std::int64_t first = std::max<std::int64_t>(0, from_ - start) / each;
    for (std::int64_t i = first; i < n.count && start + i * each < to_; ++i) {
      node(n.children[0], start + i * each, place.into(n.first + i, n.micro_batches));
    }
  }
};

}  // namespace

WorkCycles Lane::sums(std::int64_t from, std::int64_t to) const {
  Adder adder(*this, from, to);
  if (root >= 0) adder.node(root, 0, {});
  return adder.sums;
}

void Lane::visit(std::int64_t from, std::int64_t to, std::int64_t least, Depth depth,
                 const std::function<void(const Slice&)>& take) const {
  if (root < 0) return;
  Walk walk(*this, from, to, least, depth, take);
  walk.node(root, 0, {});
  walk.flush();
}

Slice Lane::at(std::int64_t cycle, Depth depth) const {
  Slice found;
  if (cycle >= 0) visit(cycle, cycle + 1, 1, depth, [&](const Slice& s) { found = s; });
  return found;
}

int Timeline::lane_of(int ipu_class) const {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i].ipu_class == ipu_class && lanes[i].name.empty()) return static_cast<int>(i);
  }
  return -1;
}

const Section* Timeline::section_at(std::int64_t cycle) const {
  const auto after = std::upper_bound(sections.begin(), sections.end(), cycle,
                                      [](std::int64_t c, const Section& s) { return c < s.to; });
  return after == sections.end() || cycle < after->from ? nullptr : &*after;
}

std::pair<std::int64_t, std::int64_t> Timeline::round_at(std::int64_t cycle) const {
  const Section* s = section_at(cycle);
  if (!s) return {0, 0};
  const std::int64_t end = s->beat_from + s->beats * s->beat;
  if (s->beat == 0 || cycle < s->beat_from || cycle >= end) {
    return {s->beat > 0 && cycle >= end ? end : s->from, s->beat > 0 && cycle < s->beat_from ? s->beat_from : s->to};
  }
  const std::int64_t from = s->beat_from + (cycle - s->beat_from) / s->beat * s->beat;
  return {from, from + s->beat};
}

std::int64_t Timeline::typical_time() const {
  const Section* shown = nullptr;
  for (const Section& s : sections) {
    if (!shown || (s.equal && !shown->equal) || (s.equal == shown->equal && s.to - s.from > shown->to - shown->from)) {
      shown = &s;
    }
  }
  if (!shown) return 0;
  return shown->equal || shown->beat == 0 ? shown->from : shown->beat_from + shown->beats / 2 * shown->beat;
}

std::pair<std::int64_t, std::int64_t> Timeline::whole_rounds(std::int64_t from, std::int64_t to,
                                                             std::int64_t least) const {
  const Section* s = section_at(from);
  const std::int64_t end = s ? s->beat_from + s->beats * s->beat : 0;
  if (!s || s->beat <= 0 || s->beat >= least || from < s->beat_from || to > end) return {from, to};
  const std::int64_t first = (from - s->beat_from) / s->beat;
  const std::int64_t last = (to - s->beat_from + s->beat - 1) / s->beat;
  return {s->beat_from + first * s->beat, s->beat_from + last * s->beat};
}

std::string name_of_step(const Timeline& timeline, const Lane& lane, const Slice& slice) {
  const std::string& name = lane.steps->name[static_cast<std::size_t>(slice.step)];
  const LaneNode& node = lane.node(slice.node);
  const auto unit = [](const std::string& call) { return call.substr(0, call.rfind(' ')); };
  const std::string of = unit(timeline.report->index().functions(node.function).name()) + '/';
  return name.starts_with(of) ? unit(node.source->name()) + '/' + name.substr(of.size()) : name;
}

}  // namespace superstep::trace
