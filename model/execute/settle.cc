// SPDX-License-Identifier: Apache-2.0
#include "model/execute/settle.h"

#include "model/error.h"
#include "model/execute/local.h"
#include "model/execute/run_exact.h"
#include "model/execute/unfinished.h"
#include "model/ops/compute.h"

namespace superstep {

namespace {

// Finishes one result.
class Finish {
 public:
  Finish(const Graph& graph, const Unfinished& sums, const KernelContext& context)
      : graph_(graph), sums_(sums), call_(graph, sums.op), type_(call_->out[sums.result].type), context_(context) {
    context_.results = sums.places;
  }

  Array operator()(const Unfinished::Contraction& contraction) const {
    SUPERSTEP_CHECK(contraction.nodes.size() == 1 && contraction.nodes[0].node == contraction.tree.root(),
                    "all summands of " + graph_.ops[sums_.op].name);
    return narrowed(contraction.nodes[0].values);
  }
  Array operator()(const ExactSums& exact) const { return finish_sums(*call_, exact, context_); }
  Array operator()(const Unfinished::Loose& loose) const { return narrowed(loose.values); }
  Array operator()(const Unfinished::Part& part) const {
    const Local whole{{}, part.of->region, finished(graph_, *part.of, context_), nullptr};
    return cut(whole, sums_.region, {}).values;
  }
  Array operator()(const Unfinished::Pieces& pieces) const {
    Local all = poisoned(type_, sums_.region);
    for (const UnfinishedPtr& piece : pieces.of)
      copy_overlap({{}, piece->region, finished(graph_, *piece, context_), nullptr}, all);
    return std::move(all.values);
  }
  Array operator()(const Unfinished::Terms&) const {
    Local sum{{}, sums_.region, {}, std::make_shared<const Unfinished>(sums_)};
    settle(graph_, context_, sum);
    SUPERSTEP_CHECK(!sum.sums, "all summands of " + graph_.ops[sums_.op].name);
    return std::move(sum.values);
  }
  Array operator()(const Unfinished::Applied& applied) const {
    std::vector<Array> values(applied.operands.size());
    std::vector<ConstView> in(applied.operands.size());
    for (std::size_t k = 0; k < in.size(); ++k) {
      const LocalPtr& operand = applied.operands[k];
      if (!operand) continue;
      if (operand->sums) values[k] = finished(graph_, *operand->sums, context_);
      in[k] = view_of(operand->sums ? values[k] : operand->values, operand->region);
    }
    const Space space = call_->def.space(*call_);
    return compute_block(*call_, space, applied.block, in, context_)[sums_.result];
  }

 private:
  const Graph& graph_;
  const Unfinished& sums_;
  CallOf call_;
  DType type_;
  KernelContext context_;

  Array narrowed(const Array& wide) const {
    return wide.info.type == type_ ? wide : rounded(wide, type_, sums_.region, sums_.result, context_);
  }
};

Local summand_of(const Graph& graph, const KernelContext& base, const Unfinished& sums,
                 const Unfinished::Applied& applied) {
  std::vector<LocalPtr> operands = applied.operands;
  for (LocalPtr& operand : operands) {
    if (!operand || !operand->sums) continue;
    Local whole = *operand;
    settle(graph, base, whole);
    operand = std::make_shared<const Local>(std::move(whole));
  }
  const CallOf call(graph, sums.op);
  Share share = *applied.share;
  share.shares = share.own_shares;
  KernelContext context = base;
  context.results = sums.places;
  return run_share(*call, sums.op, call->def.space(*call), share, operands, context)[sums.result];
}

// Each by itself: those of different IPUs are all values then, or all are sums.
void settle_pieces(const Graph& graph, const KernelContext& context, Local& piece, const Unfinished::Pieces& pieces) {
  std::vector<Local> settled;
  std::vector<UnfinishedPtr> sums;
  for (const UnfinishedPtr& part : pieces.of) {
    settled.push_back({{}, part->region, {}, part});
    settle(graph, context, settled.back());
    if (settled.back().sums) sums.push_back(settled.back().sums);
  }
  if (sums.size() == settled.size()) piece.sums = put_together(sums, piece.region);
  if (!sums.empty()) return;
  Local all = poisoned(settled[0].values.info.type, piece.region);
  for (const Local& part : settled) copy_overlap(part, all);
  piece.values = std::move(all.values);
  piece.sums = nullptr;
}

}  // namespace

void settle(const Graph& graph, const KernelContext& context, Local& piece) {
  if (!piece.sums) return;
  const UnfinishedPtr sums = piece.sums;
  if (const auto* part = std::get_if<Unfinished::Part>(&sums->summands)) {
    Local whole{piece.on, part->of->region, {}, part->of};
    settle(graph, context, whole);
    piece = cut(whole, piece.region, piece.on);
    return;
  }
  if (const auto* pieces = std::get_if<Unfinished::Pieces>(&sums->summands))
    settle_pieces(graph, context, piece, *pieces);
  if (!piece.sums) return;
  std::vector<UnfinishedPtr> terms;
  if (const auto* several = std::get_if<Unfinished::Terms>(&sums->summands)) terms = several->of;
  if (const auto* applied = std::get_if<Unfinished::Applied>(&sums->summands); applied && applied->share)
    terms = {sums};
  if (!terms.empty()) {
    std::vector<UnfinishedPtr> summands;
    for (const UnfinishedPtr& term : terms) {
      const auto& applied = std::get<Unfinished::Applied>(term->summands);
      if (!whole_operands(applied)) return;
      summands.push_back(summand_of(graph, context, *term, applied).sums);
    }
    piece.sums = joined(summands);
  }
  if (!complete(*piece.sums)) return;
  piece.values = finished(graph, *piece.sums, context);
  piece.sums = nullptr;
}

Array finished(const Graph& graph, const Unfinished& sums, const KernelContext& context) {
  return std::visit(Finish(graph, sums, context), sums.summands);
}

}  // namespace superstep
