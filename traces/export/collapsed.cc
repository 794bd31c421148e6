// SPDX-License-Identifier: Apache-2.0
// Collapsed stacks: "IPU 0;forward;layer0/attention forward 123", cycles of a step. Repeats are counted, not walked
// through, so that a step of any length is a short file.
#include <algorithm>
#include <ostream>
#include <unordered_map>

#include "model/error.h"
#include "traces/export/walk.h"

namespace superstep::exports {
namespace {

using trace::Lane;
using trace::LaneNode;
using trace::Work;

class Stacks {
 public:
  Stacks(const Trace& trace, const Options& options) : trace_(trace), options_(options) {}

  void add(const Track& track) {
    lane_ = &trace_.timeline.lanes[static_cast<std::size_t>(track.lane)];
    root_ = frame(track.process + (track.name == "program" ? "" : " " + track.name));
    if (lane_->root >= 0) node(lane_->root, root_, {});
  }
  void write(std::ostream& out) const {
    for (const auto& [stack, cycles] : stacks_) out << stack << ' ' << cycles << '\n';
  }

 private:
  // The innermost repeat, and how often it comes in a step.
  struct Repeats {
    std::int64_t times = 1, first = 0, count = 1, micro_batches = 1;
    bool any = false;
  };
  const Trace& trace_;
  const Options& options_;
  const Lane* lane_ = nullptr;
  std::string root_;
  std::vector<std::pair<std::string, std::int64_t>> stacks_;
  std::unordered_map<std::string, std::size_t> row_of_;

  // What splits frames and ends a line cannot stand in a name.
  static std::string frame(std::string name) {
    std::replace(name.begin(), name.end(), ';', ',');
    std::replace(name.begin(), name.end(), '\n', ' ');
    return name;
  }
  void count(const std::string& stack, std::int64_t cycles) {
    if (cycles == 0) return;
    const auto [at, is_new] = row_of_.emplace(stack, stacks_.size());
    if (is_new) stacks_.emplace_back(stack, 0);
    stacks_[at->second].second += cycles;
  }
  void wait(Work work, std::int64_t cycles) {
    if (lane_->name.empty())
      count(root_ + ';' + std::string(name_of(work)), cycles);  // a stream that pauses is no loss
  }
  void node(int i, const std::string& stack, const Repeats& in) {
    const LaneNode& n = lane_->node(i);
    if (n.kind == LaneNode::Kind::leaf) return leaf(i, stack, in);
    if (n.kind == LaneNode::Kind::repeat) {
      return node(n.children[0], stack, {in.times * in.count, n.first, n.count, n.micro_batches, true});
    }
    const bool is_box = n.kind == LaneNode::Kind::box;
    const std::string inside = is_box ? stack + ';' + std::string(name_of(n.work)) : stack;
    if (is_box && options_.detail == Detail::passes) return turns(n, inside, in);
    for (const int child : n.children) node(child, inside, in);
  }
  // Counts the waiting of a leaf or box; returns how often it works.
  std::int64_t working(const LaneNode& n, const Repeats& in) {
    const std::int64_t end = in.first + in.count;
    if (n.lag < 0 || !in.any) return in.times * in.count;
    const std::int64_t first = std::clamp(n.lag, in.first, end);
    const std::int64_t last = std::clamp(n.lag + in.micro_batches, first, end);
    wait(Work::ramp_up, (first - in.first) * in.times * n.cycles);
    wait(Work::ramp_down, (end - last) * in.times * n.cycles);
    return (last - first) * in.times;
  }
  void turns(const LaneNode& n, const std::string& stack, const Repeats& in) {
    count(stack, working(n, in) * n.cycles);
  }
  void leaf(int i, const std::string& stack, const Repeats& in) {
    const LaneNode& n = lane_->node(i);
    if (!n.source) {
      if (waits(n.work)) return wait(n.work, in.times * in.count * n.cycles);
      return;  // of a stream: nothing to move
    }
    const std::int64_t times = working(n, in);
    const std::string call = stack + ';' + frame(n.source->name());
    if (options_.detail != Detail::steps || !lane_->steps || n.function < 0) return count(call, times * n.cycles);
    const trace::StepTrace& steps = *lane_->steps;
    const auto& f = steps.functions[static_cast<std::size_t>(n.function)];
    trace::Slice slice;
    slice.node = i;
    for (slice.step = f.first; slice.step < f.first + f.steps; ++slice.step) {
      count(call + ';' + frame(name_of_step(trace_.timeline, *lane_, slice)), times * steps.start.value(slice.step));
    }
  }
};

}  // namespace

void write_collapsed(const ReportPointer& report, const Options& options, std::ostream& out) {
  if (options.from != Options{}.from || options.to != Options{}.to) {
    throw Error("--cycles", "collapsed stacks are of whole steps; a stretch is shown by: perfetto, chrome, speedscope");
  }
  const Trace trace = make_trace(report, options);
  Stacks stacks(trace, options);
  for (const Track& track : trace.tracks) {
    if (track.lane >= 0) stacks.add(track);
  }
  stacks.write(out);
}

}  // namespace superstep::exports
