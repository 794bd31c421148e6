// SPDX-License-Identifier: Apache-2.0
#include "model/execute/run_exact.h"

#include <algorithm>
#include <optional>

#include "model/error.h"
#include "model/execute/unfinished.h"
#include "model/ops/compute.h"

namespace superstep {

namespace {

using numerics::ContractionTree;
using numerics::StepRange;

bool given(const OpCall& call, std::size_t k) { return call.in[k].shape != Shape{0}; }

bool brought(const OpCall& call, const Space& space, const Block& block, const std::vector<LocalPtr>& operands) {
  for (std::size_t k = 0; k < call.in.size(); ++k) {
    if (!given(call, k)) continue;
    const Block region = project(space.in[k], call.in[k].shape, block);
    if (volume(region) > 0 && (!operands[k] || !contains(operands[k]->region, region))) return false;
  }
  return true;
}

// The steps of a contraction that a block has, in the row-major order of the reduce axes; none if they are not a run.
std::optional<StepRange> steps_of(const Space& space, const Block& block) {
  StepRange steps{0, 1};
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    if (space.axes[a].kind != AxisKind::reduce) continue;
    const std::int64_t extent = space.axes[a].extent;
    const bool whole = block[a].extent() == extent;
    if (!whole && steps.extent() != 1) return std::nullopt;  // an earlier axis has several steps
    steps = {steps.begin * extent + block[a].begin, (steps.end - 1) * extent + block[a].end};
  }
  return steps;
}

std::int64_t reduced_steps(const Space& space) {
  std::int64_t steps = 1;
  for (const Axis& axis : space.axes) steps *= axis.kind == AxisKind::reduce ? axis.extent : 1;
  return steps;
}

int reduce_axes(const Space& space) {
  return static_cast<int>(std::count_if(space.axes.begin(), space.axes.end(),
                                        [](const Axis& axis) { return axis.kind == AxisKind::reduce; }));
}

class Run {
 public:
  Run(const OpCall& call, OpId op, const Space& space, const Share& share, const std::vector<LocalPtr>& operands,
      const KernelContext& context)
      : call_(call), op_(op), space_(space), share_(share), operands_(operands), context_(context) {
    for (const LocalPtr& operand : operands)
      in_.push_back(operand ? view_of(operand->values, operand->region) : ConstView{});
  }

  std::vector<Local> run() const {
    if (!brought(call_, space_, share_.block, operands_)) return lost();
    const bool sums = std::any_of(operands_.begin(), operands_.end(), [](const LocalPtr& o) { return o && o->sums; });
    if (sums) return applied();
    if (space_.reduction == Reduction::sum && call_.def.summation != Summation::plain && cut())
      return {unfinished(call_.def.summation == Summation::exact ? Summands(exact()) : contraction())};
    std::vector<Local> results = values();
    if (share_.micro_batches > 1)
      for (Local& result : results) result = as_summand(result);
    return results;
  }

 private:
  using Summands = decltype(Unfinished::summands);

  const OpCall& call_;
  OpId op_;
  const Space& space_;
  const Share& share_;
  const std::vector<LocalPtr>& operands_;
  const KernelContext& context_;
  std::vector<ConstView> in_;

  bool sliced() const { return share_.parts.size() != 1 || share_.parts[0] != share_.block; }
  bool cut() const { return share_.shares > 1; }
  std::vector<ResultPlace> places() const { return {context_.results.begin(), context_.results.end()}; }
  Block region_of(std::size_t k) const { return project(space_.out[k], call_.out[k].shape, share_.block); }

  std::vector<Local> lost() const {
    std::vector<Local> results;
    for (std::size_t k = 0; k < call_.out.size(); ++k)
      results.push_back(poisoned(call_.out[k].type, region_of(k), share_.lies[k]));
    return results;
  }

  Local unfinished(Summands summands, std::size_t k = 0) const {
    auto sums = std::make_shared<const Unfinished>(
        Unfinished{op_, k, places(), region_of(k), std::move(summands), 1, share_.shares});
    return {share_.lies[k], region_of(k), {}, std::move(sums)};
  }

  // What the operands lack, the results lack.
  std::vector<Local> applied() const {
    const auto own = share_.own_shares > 1 ? std::make_shared<const Share>(share_) : nullptr;
    std::vector<Local> results;
    for (std::size_t k = 0; k < call_.out.size(); ++k) {
      auto sums = std::make_shared<const Unfinished>(
          Unfinished{op_, k, places(), region_of(k), Unfinished::Applied{share_.block, operands_, own}});
      results.push_back({share_.lies[k], region_of(k), {}, std::move(sums)});
    }
    return results;
  }

  ExactSums exact() const {
    ExactSums sums{region_of(0), {}, {}};
    for (const Block& part : share_.parts) call_.def.add_terms(call_, part, in_, sums);
    return sums;
  }

  Summands contraction() const {
    const ContractionCut cut = cut_of(space_, share_, context_.chunk);
    if (cut.nodes.empty() || sliced() || (cut.nodes.size() > 1 && reduce_axes(space_) > 1))
      return Unfinished::Loose{compute_node(call_, space_, share_.block, in_, context_)};
    Unfinished::Contraction sums{cut.tree, {}};
    for (const StepRange& node : cut.nodes) {
      KernelContext context = context_;
      context.contraction = ContractionPart{cut.tree, node};
      sums.nodes.push_back({node, compute_node(call_, space_, block_of(node, cut.nodes), in_, context)});
    }
    return sums;
  }

  // Of one reduce axis: the block with a node's steps of the share's.
  Block block_of(const StepRange& node, const std::vector<StepRange>& nodes) const {
    Block block = share_.block;
    if (nodes.size() == 1) return block;
    for (std::size_t a = 0; a < block.size(); ++a) {
      if (space_.axes[a].kind != AxisKind::reduce) continue;
      const std::int64_t first = block[a].begin - nodes[0].begin;
      block[a] = {first + node.begin, std::min(first + node.end, share_.block[a].end)};
    }
    return block;
  }

  std::vector<Local> values() const {
    if (!sliced()) {
      std::vector<Array> arrays = compute_block(call_, space_, share_.block, in_, context_);
      std::vector<Local> results;
      for (std::size_t k = 0; k < arrays.size(); ++k)
        results.push_back({share_.lies[k], region_of(k), std::move(arrays[k]), nullptr});
      return results;
    }
    std::vector<Local> results = lost();
    for (const Block& part : share_.parts) {
      std::vector<Array> arrays = compute_block(call_, space_, part, in_, context_);
      for (std::size_t k = 0; k < arrays.size(); ++k) {
        const Local piece{{}, project(space_.out[k], call_.out[k].shape, part), std::move(arrays[k]), nullptr};
        copy_overlap(piece, results[k]);
      }
    }
    return results;
  }

  // One sample's value, of which the whole batch has the sum.
  Local as_summand(const Local& value) const {
    const std::size_t n = static_cast<std::size_t>(value.values.info.elements());
    ExactSums sums{value.region, {}, {}};
    const bool wide = value.values.info.type == DType::fp64;
    sums.of_floats.resize(wide ? 0 : n);
    sums.of_doubles.resize(wide ? n : 0);
    for (std::size_t i = 0; i < n; ++i) {
      const double term = value.values.at(static_cast<std::int64_t>(i));
      wide ? sums.of_doubles[i].add(term) : sums.of_floats[i].add(static_cast<float>(term));
    }
    return unfinished(std::move(sums));
  }
};

}  // namespace

ContractionCut cut_of(const Space& space, const Share& share, std::int64_t chunk) {
  const std::int64_t own = reduced_steps(space);
  ContractionCut cut{ContractionTree(own * share.micro_batches, chunk), {}};
  const std::optional<StepRange> steps = steps_of(space, share.block);
  if (!steps || (share.micro_batches > 1 && !share.contiguous)) return cut;
  if (steps->extent() == own && share.shares > share.micro_batches)
    return cut;  // every share has summands of every step
  const std::int64_t first = share.micro_batch * own;
  cut.nodes = cut.tree.nodes_of({first + steps->begin, first + steps->end});
  return cut;
}

std::vector<Local> run_share(const OpCall& call, OpId op, const Space& space, const Share& share,
                             const std::vector<LocalPtr>& operands, const KernelContext& context) {
  return Run(call, op, space, share, operands, context).run();
}

}  // namespace superstep
