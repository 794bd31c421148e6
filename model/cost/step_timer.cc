// SPDX-License-Identifier: Apache-2.0
#include "model/cost/step_timer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace superstep {

// Finds what is alike.
class StepTimer::Builder {
 public:
  explicit Builder(StepTimer& timer) : timer_(timer) {}

  std::uint32_t step(const Step& step) {
    const auto [it, fresh] = steps_.try_emplace(&step, static_cast<std::uint32_t>(timer_.steps_.size()));
    if (fresh) timer_.steps_.push_back(&step);
    return place({Node::Kind::step, it->second});
  }

  void function(const Function& f) {
    Part part;
    for (const Step& s : f.steps) add(part, step(s));
    functions_.push_back(place(std::move(part)));
  }

  std::uint32_t node(const Node& node) {
    if (node.kind == Node::Kind::step) return step(node.step);
    if (node.kind == Node::Kind::call) return functions_[static_cast<std::size_t>(node.function.index)];
    Part part{node.kind};
    if (node.kind == Node::Kind::repeat) part.count = node.count, part.counted = node.micro_batches;
    for (const Node& child : node.children) add(part, this->node(child));
    return place(std::move(part));
  }

 private:
  struct PricedAlike {
    bool operator()(const Step* a, const Step* b) const {
      return CostModel::inputs_of_step(*a) < CostModel::inputs_of_step(*b);
    }
  };

  StepTimer& timer_;
  std::map<const Step*, std::uint32_t, PricedAlike> steps_;
  std::map<Part, std::uint32_t> known_;
  std::vector<std::uint32_t> functions_;

  static void add(Part& to, std::uint32_t child) {
    if (!to.children.empty() && to.children.back().part == child)
      ++to.children.back().times;
    else
      to.children.push_back({child});
  }
  std::uint32_t place(Part part) {
    const auto [it, fresh] = known_.try_emplace(std::move(part), static_cast<std::uint32_t>(timer_.parts_.size()));
    if (fresh) timer_.parts_.push_back(it->first);
    return it->second;
  }
};

StepTimer::StepTimer(const Program& program) : program_(program) {
  Builder builder(*this);
  for (const Function& f : program.functions) builder.function(f);
  root_ = builder.node(program.root);
}

StepTimer::Sum StepTimer::sum_of(const Part& part, const std::vector<Sum>& steps, const std::vector<Sum>& parts) {
  if (part.kind == Node::Kind::step) return steps[part.step];
  Sum sum;
  for (const Run& run : part.children) {
    const Sum& child = parts[run.part];
    if (part.kind == Node::Kind::parallel) {
      sum.cycles = std::max(sum.cycles, child.cycles);
      sum.hosted.add(child.hosted, run.times);
    } else {
      sum.add(child, run.times);
    }
  }
  if (part.kind != Node::Kind::repeat) return sum;
  Sum all{sum.cycles * part.count, {}};
  all.hosted.add(sum.hosted, part.counted);
  return all;
}

Cycles StepTimer::step(const CostModel& model) const {
  std::vector<Sum> steps, parts;
  steps.reserve(steps_.size()), parts.reserve(parts_.size());
  for (const Step* s : steps_) steps.push_back({model.step(*s).total().value, Hosted::of(*s)});
  for (const Part& part : parts_) parts.push_back(sum_of(part, steps, parts));
  const Sum& sum = parts[root_];
  return Cycles(sum.cycles) + sum.hosted.wait(Cycles(sum.cycles), static_cast<std::int64_t>(program_.ipus()), model);
}

}  // namespace superstep
