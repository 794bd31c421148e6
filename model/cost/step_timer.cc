// SPDX-License-Identifier: Apache-2.0
#include "model/cost/step_timer.h"

#include <algorithm>
#include <map>

namespace superstep {
namespace {

struct PricedAlike {
  bool operator()(const Step* a, const Step* b) const {
    return CostModel::inputs_of_step(*a) < CostModel::inputs_of_step(*b);
  }
};

}  // namespace

StepTimer::StepTimer(const Program& program) : program_(program) {
  std::map<const Step*, std::uint32_t, PricedAlike> known;
  const auto index = [&](const Step& step) {
    const auto [it, fresh] = known.try_emplace(&step, static_cast<std::uint32_t>(steps_.size()));
    if (fresh) steps_.push_back(&step);
    return it->second;
  };
  for (const Function& f : program.functions) {
    std::vector<std::uint32_t>& steps = functions_.emplace_back();
    for (const Step& s : f.steps) steps.push_back(index(s));
  }
  add(program.root, index);
}

template <class Index>
void StepTimer::add(const Node& node, Index& index) {
  const std::size_t place = parts_.size();
  Part part{node.kind};
  if (node.kind == Node::Kind::step) part.what = index(node.step);
  if (node.kind == Node::Kind::call) part.what = static_cast<std::uint32_t>(node.function.index);
  if (node.kind == Node::Kind::repeat) part.count = node.count, part.counted = node.ramp ? 0 : node.micro_batches;
  parts_.push_back(part);
  for (const Node& child : node.children) add(child, index);
  parts_[place].end = static_cast<std::uint32_t>(parts_.size());
}

StepTimer::Sum StepTimer::sum_of(std::uint32_t i, const Sums& sums) const {
  const Part& part = parts_[i];
  if (part.kind == Node::Kind::step) return sums.steps[part.what];
  if (part.kind == Node::Kind::call) return sums.functions[part.what];
  Sum sum;
  for (std::uint32_t child = i + 1; child < part.end; child = parts_[child].end) {
    const Sum of_child = sum_of(child, sums);
    if (part.kind != Node::Kind::parallel) {
      sum.add(of_child, 1);
    } else {
      sum.cycles = std::max(sum.cycles, of_child.cycles);
      sum.fed += of_child.fed;
    }
  }
  if (part.kind == Node::Kind::repeat) sum = {sum.cycles * part.count, sum.fed * part.counted};
  return sum;
}

Cycles StepTimer::step(const CostModel& model) const {
  Sums sums;
  for (const Step* s : steps_)
    sums.steps.push_back(
        {model.step(*s).total().value, s->kind == StepKind::host ? (s->tile_bytes * s->times).value : 0});
  for (const std::vector<std::uint32_t>& steps : functions_) {
    Sum& sum = sums.functions.emplace_back();
    for (std::uint32_t s : steps) sum.add(sums.steps[s], 1);
  }
  const Sum sum = sum_of(0, sums);
  return Cycles(sum.cycles) + host_wait(Bytes(sum.fed), Cycles(sum.cycles), program_, model);
}

}  // namespace superstep
