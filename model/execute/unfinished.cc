// SPDX-License-Identifier: Apache-2.0
#include "model/execute/unfinished.h"

#include <algorithm>

#include "model/error.h"
#include "model/numerics/contract.h"
#include "model/ops/compute.h"
#include "model/ops/kernel.h"

namespace superstep {

namespace {

using numerics::ContractionTree;

template <class Real>
void join_nodes(const ContractionTree& tree, std::vector<Unfinished::NodeSum>& nodes) {
  std::vector<numerics::PartialSum<Real>> sums;
  for (Unfinished::NodeSum& n : nodes) sums.push_back({n.node, reinterpret_cast<Real*>(n.values.data.data())});
  const auto left = numerics::join_partials(tree, sums, nodes[0].values.info.elements());
  std::vector<Unfinished::NodeSum> kept;
  for (const auto& sum : left) {
    for (Unfinished::NodeSum& n : nodes) {
      if (reinterpret_cast<Real*>(n.values.data.data()) == sum.data) kept.push_back({sum.node, std::move(n.values)});
    }
  }
  nodes = std::move(kept);
}

// The same kind of summands of every part.
template <class Summands>
std::vector<const Summands*> all(std::span<const UnfinishedPtr> parts) {
  std::vector<const Summands*> found;
  for (const UnfinishedPtr& part : parts) found.push_back(&std::get<Summands>(part->summands));
  return found;
}

Unfinished::Contraction join(const std::vector<const Unfinished::Contraction*>& parts) {
  Unfinished::Contraction sum{parts[0]->tree, {}};
  for (const auto* part : parts) sum.nodes.insert(sum.nodes.end(), part->nodes.begin(), part->nodes.end());
  if (sum.nodes.empty()) return sum;
  if (sum.nodes[0].values.info.type == DType::fp64)
    join_nodes<double>(sum.tree, sum.nodes);
  else
    join_nodes<float>(sum.tree, sum.nodes);
  return sum;
}

template <class Real>
void merge(const std::vector<numerics::ExactSum<Real>>& from, std::vector<numerics::ExactSum<Real>>& to) {
  if (to.empty()) to.resize(from.size());  // a share without terms
  for (std::size_t i = 0; i < from.size(); ++i) to[i].merge(from[i]);
}

ExactSums join(const std::vector<const ExactSums*>& parts) {
  ExactSums sum = *parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    merge(parts[i]->of_floats, sum.of_floats);
    merge(parts[i]->of_doubles, sum.of_doubles);
  }
  return sum;
}

Unfinished::Loose join(const std::vector<const Unfinished::Loose*>& parts) {
  Unfinished::Loose sum = *parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    for (std::int64_t e = 0; e < sum.values.info.elements(); ++e)
      sum.values.set(e, sum.values.at(e) + parts[i]->values.at(e));
  }
  return sum;
}

Unfinished::Applied join(const std::vector<const Unfinished::Applied*>& parts) {
  Unfinished::Applied sum = *parts[0];
  for (std::size_t k = 0; k < sum.operands.size(); ++k) {
    if (!sum.operands[k] || !sum.operands[k]->sums) continue;
    std::vector<UnfinishedPtr> of_operand;
    for (const auto* part : parts) of_operand.push_back(part->operands[k]->sums);
    Local operand = *sum.operands[k];
    operand.sums = joined(of_operand);
    sum.operands[k] = std::make_shared<const Local>(std::move(operand));
  }
  return sum;
}

// Each with those in its place of the other parts.
template <class Several>
std::vector<UnfinishedPtr> joined_each(const std::vector<const Several*>& parts) {
  std::vector<UnfinishedPtr> sums;
  for (std::size_t i = 0; i < parts[0]->of.size(); ++i) {
    std::vector<UnfinishedPtr> in_place;
    for (const auto* part : parts) in_place.push_back(part->of[i]);
    sums.push_back(joined(in_place));
  }
  return sums;
}

Unfinished::Terms join(const std::vector<const Unfinished::Terms*>& parts) { return {joined_each(parts)}; }

Unfinished::Part join(const std::vector<const Unfinished::Part*>& parts) {
  std::vector<UnfinishedPtr> wholes;
  for (const auto* part : parts) wholes.push_back(part->of);
  return {joined(wholes)};
}

Unfinished::Pieces join(const std::vector<const Unfinished::Pieces*>& parts) { return {joined_each(parts)}; }

// Of shares that are no nodes the sum is no node, whatever the others are.
std::vector<UnfinishedPtr> alike(std::span<const UnfinishedPtr> parts) {
  std::vector<UnfinishedPtr> out(parts.begin(), parts.end());
  const auto loose = [](const UnfinishedPtr& p) { return std::holds_alternative<Unfinished::Loose>(p->summands); };
  if (std::none_of(out.begin(), out.end(), loose)) return out;
  for (UnfinishedPtr& part : out) {
    const auto* contraction = std::get_if<Unfinished::Contraction>(&part->summands);
    if (!contraction) continue;
    std::vector<Unfinished::Loose> nodes;
    for (const Unfinished::NodeSum& sum : contraction->nodes) nodes.push_back({sum.values});
    std::vector<const Unfinished::Loose*> summands;
    for (const Unfinished::Loose& node : nodes) summands.push_back(&node);
    Unfinished loosened = *part;
    loosened.summands = join(summands);
    part = std::make_shared<const Unfinished>(std::move(loosened));
  }
  return out;
}

bool of_several_blocks(const std::vector<UnfinishedPtr>& parts) {
  const auto* first = std::get_if<Unfinished::Applied>(&parts[0]->summands);
  return first && std::any_of(parts.begin(), parts.end(), [&](const UnfinishedPtr& part) {
           return std::get<Unfinished::Applied>(part->summands).block != first->block;
         });
}

}  // namespace

UnfinishedPtr joined(std::span<const UnfinishedPtr> given) {
  if (given.size() == 1) return given[0];
  const std::vector<UnfinishedPtr> parts = alike(given);
  const Unfinished& first = *parts[0];
  if (of_several_blocks(parts))
    return std::make_shared<const Unfinished>(
        Unfinished{first.op, first.result, first.places, first.region, Unfinished::Terms{parts}});
  std::int64_t shares = 0;
  for (const UnfinishedPtr& part : parts) {
    shares += part->shares;
    SUPERSTEP_CHECK(part->op == first.op && part->result == first.result && part->region == first.region &&
                        part->summands.index() == first.summands.index(),
                    "sums of different results");
  }
  Unfinished sum = std::visit(
      [&](const auto& of_first) {
        using Summands = std::decay_t<decltype(of_first)>;
        return Unfinished{first.op, first.result,   first.places, first.region, join(all<Summands>(parts)),
                          shares,   first.of_shares};
      },
      first.summands);
  return std::make_shared<const Unfinished>(std::move(sum));
}

UnfinishedPtr part_of(const UnfinishedPtr& whole, const Block& region) {
  if (whole->region == region) return whole;
  return std::make_shared<const Unfinished>(
      Unfinished{whole->op, whole->result, whole->places, region, Unfinished::Part{whole}});
}

UnfinishedPtr put_together(const std::vector<UnfinishedPtr>& pieces, const Block& region) {
  const Unfinished& first = *pieces[0];
  return std::make_shared<const Unfinished>(
      Unfinished{first.op, first.result, first.places, region, Unfinished::Pieces{pieces}});
}

bool whole_operands(const Unfinished::Applied& applied) {
  return std::all_of(applied.operands.begin(), applied.operands.end(),
                     [](const LocalPtr& operand) { return !operand || !operand->sums || complete(*operand->sums); });
}

namespace {

// Of the shares of one op's sum: they can be summed up as far as they are there.
bool whole_operands(const Unfinished::Terms& terms) {
  return std::all_of(terms.of.begin(), terms.of.end(), [](const UnfinishedPtr& term) {
    return whole_operands(std::get<Unfinished::Applied>(term->summands));
  });
}

std::int64_t shares_of(const Unfinished::Terms& terms) {
  return std::get<Unfinished::Applied>(terms.of[0]->summands).share->own_shares;
}

}  // namespace

bool complete(const Unfinished& sums) {
  if (const auto* pieces = std::get_if<Unfinished::Pieces>(&sums.summands))
    return std::all_of(pieces->of.begin(), pieces->of.end(), [](const UnfinishedPtr& p) { return complete(*p); });
  if (const auto* part = std::get_if<Unfinished::Part>(&sums.summands)) return complete(*part->of);
  if (const auto* terms = std::get_if<Unfinished::Terms>(&sums.summands))
    return whole_operands(*terms) && static_cast<std::int64_t>(terms->of.size()) == shares_of(*terms);
  const auto* applied = std::get_if<Unfinished::Applied>(&sums.summands);
  return applied ? !applied->share && whole_operands(*applied) : sums.shares == sums.of_shares;
}

ResultPlace place_of(const Graph& graph, TensorId t) {
  return {key_of(graph.tensors[t].name), 0, ops::row_major(whole_block(graph.info(t).shape))};
}

}  // namespace superstep
