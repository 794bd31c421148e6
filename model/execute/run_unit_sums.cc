// SPDX-License-Identifier: Apache-2.0
// Sums that the plan cuts: what each IPU has of them, and how replicas join theirs.
#include <algorithm>

#include "model/execute/gradients.h"
#include "model/execute/run_unit.h"
#include "model/execute/settle.h"
#include "model/execute/unfinished.h"

namespace superstep {

std::vector<Local> UnitRunner::exactly(const OpCall& call, OpId op, const Space& space, Share share,
                                       const std::vector<LocalPtr>& operands, const KernelContext& context) {
  const OpSamples& samples = batch_.samples().ops[op];
  const bool of_batch = samples.reduces && batch_.samples().of(graph_.ops[op].outputs[0]).role == SampleRole::sum;
  share.micro_batches = of_batch ? batch_.micro_batches() : 1;
  share.micro_batch = of_batch ? share.micro_batch : 0;
  share.contiguous = samples.contiguous;
  share.shares = share.micro_batches * partial_shares(share.lies[0]);
  if (pass_ == Pass::update && !space.axes.empty()) share.shares *= update_shards();  // some may have nothing
  if (samples.reduces && batch_.samples().of(graph_.ops[op].outputs[0]).role == SampleRole::statistics)
    share.shares *= graph_.ops[op].attrs.integer("across");
  share.own_shares = share.shares / partial_shares(share.lies[0]) * own_cuts(op, share);
  std::vector<Local> results = run_share(call, op, space, share, unfinished_partials(op, operands), context);
  if (call.def.summation == Summation::contraction) note_cut(op, space, share);
  return results;
}

// Operands that are partial sums are unfinished, those of lookups as well, which round nothing: what an op makes of
// each IPU's rows adds up to what it makes of all of them, but not to the same bits.
std::vector<LocalPtr> UnitRunner::unfinished_partials(OpId op, std::vector<LocalPtr> operands) const {
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const LocalPtr have = operands[k];
    if (!have || have->sums) continue;
    const std::int64_t shares = partial_shares(have->on);
    if (shares == 1) continue;
    const TensorId t = graph_.ops[op].inputs[k];
    const OpId producer = graph_.tensors[t].producer;
    const std::vector<TensorId>& made = graph_.ops[producer].outputs;
    std::vector<ResultPlace> places;
    for (TensorId result : made) places.push_back(place_of(graph_, result));
    const auto result = static_cast<std::size_t>(std::find(made.begin(), made.end(), t) - made.begin());
    auto sums = std::make_shared<const Unfinished>(
        Unfinished{producer, result, std::move(places), have->region, Unfinished::Loose{have->values}, 1, shares});
    operands[k] = std::make_shared<const Local>(Local{have->on, have->region, {}, std::move(sums)});
  }
  return operands;
}

// Of the mesh: IPUs that have a part each of sums that lie so.
std::int64_t UnitRunner::partial_shares(const Sharding& on) const {
  const TensorParallel mesh = cluster_.mesh();
  return (on.on[0] == Sharding::partial ? mesh.t1 : 1) * (on.on[1] == Sharding::partial ? mesh.t2 : 1);
}

// Of the mesh: over what the op itself is cut, not only an operand.
std::int64_t UnitRunner::own_cuts(OpId op, const Share& share) const {
  Sharding own = share.lies[0];
  for (std::size_t j = 0; j < 2; ++j) {
    if (sharding_.of(op).axis[j] < 0) own.on[j] = Sharding::replicated;
  }
  return partial_shares(own);
}

void UnitRunner::note_cut(OpId op, const Space& space, Share share) {
  share.shares = share.own_shares;
  if (share.shares == 1) return;
  const ContractionCut cut = cut_of(space, share, context_.chunk);
  Executed::Cut& noted = executed_.cuts[op];
  noted = {cut.tree.extent(), share.shares, noted.nodes && cut.nodes.size() == 1};
}

// A result that replicas have in parts becomes their sum on all of them.
void UnitRunner::join_replicas(OpId op, const Step& step, std::vector<Pieces>& of_replicas) {
  const CallOf call(graph_, op);
  const Reduction reduction = call->def.space(*call).reduction;
  const auto k = static_cast<std::size_t>(-1 - step.operands[0]);
  const std::vector<Pieces> parts = of_replicas;
  executed_.count(step, largest_bytes(parts[0][k], graph_.info(graph_.ops[op].outputs[k]).type));
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const std::vector<std::int64_t> members = replicas_with(plan_, step.group, static_cast<std::int64_t>(r));
    for (std::size_t rank = 0; rank < parts[r][k].size(); ++rank) {
      const auto part = [&](std::int64_t member) { return parts[static_cast<std::size_t>(member)][k][rank]; };
      Local sum = *part(members[0]);
      std::vector<UnfinishedPtr> sums;
      for (std::int64_t member : members) sums.push_back(part(member)->sums);
      const auto lost = std::find(sums.begin(), sums.end(), nullptr);
      if (lost != sums.end() &&
          std::count(sums.begin(), sums.end(), nullptr) < static_cast<std::ptrdiff_t>(sums.size())) {
        of_replicas[r][k][rank] =
            part(members[static_cast<std::size_t>(lost - sums.begin())]);  // what one lacks, all do
        continue;
      }
      for (std::size_t i = 1; !sum.sums && i < members.size(); ++i) combine_overlap(*part(members[i]), sum, reduction);
      if (sum.sums) {
        sum.sums = joined(sums);
        settle(graph_, context_, sum);
      }
      of_replicas[r][k][rank] = std::make_shared<const Local>(std::move(sum));
    }
  }
}

}  // namespace superstep
