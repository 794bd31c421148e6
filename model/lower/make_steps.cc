// SPDX-License-Identifier: Apache-2.0
#include "model/lower/make_steps.h"

#include <utility>

namespace superstep {

Step MakeSteps::exchange(Term term, std::vector<std::int32_t> operands, Bytes plain, Bytes paired) const {
  Step s;
  s.kind = StepKind::exchange;
  s.data = Data::operands;
  s.operands = std::move(operands);
  s.term = term;
  s.tile_bytes = plain;
  s.paired_bytes = paired;
  s.tiles = tiles;
  return s;
}

Step MakeSteps::vector(Term term, Cycles cycles) const {
  Step s;
  s.kind = StepKind::compute;
  s.term = term;
  s.vector = cycles;
  s.tiles = tiles;
  return s;
}

Step MakeSteps::collective(Term term, CollectiveKind kind, std::int32_t operand, Bytes bytes, GroupShape group) {
  Step s;
  s.kind = StepKind::collective;
  s.term = term;
  s.collective = kind;
  s.operands = {operand};
  s.tile_bytes = bytes;
  s.group = group;
  return s;
}

std::vector<Step> MakeSteps::product(const ProductPlan& p, std::int64_t slices,
                                     std::vector<std::int32_t> operands) const {
  std::vector<Step> steps;
  const auto add = [&](Step step) {
    step.times = p.times * slices;
    step.temporary = p.temporary;
    steps.push_back(std::move(step));
  };
  add(exchange(Term::operand_exchange, std::move(operands), p.plain_bytes, p.paired_bytes));
  if (p.arrange.value > 0) add(vector(Term::relayout, p.arrange));
  Step multiply;
  multiply.kind = StepKind::compute;
  multiply.term = Term::amp_rows;
  multiply.rows = p.rows_useful;
  multiply.padding = p.rows_padding;
  multiply.amp_fixed = p.fixed;
  multiply.tiles = p.pg * p.pm * p.pn * p.pk;
  multiply.grid = {p.pg, p.swapped ? p.pn : p.pm, p.swapped ? p.pm : p.pn, p.pk};
  add(std::move(multiply));
  if (p.pk > 1) {
    Step partials = exchange(Term::partials_exchange, {-1}, p.partial_bytes);
    partials.pieces = p.pk - 1;
    add(std::move(partials));
    add(vector(Term::reduction, p.reduce));
  }
  if (p.add.value > 0) {
    Step sum = vector(Term::reduction, p.add);  // to those of the runs before
    sum.times = (p.times - 1) * slices;
    steps.push_back(std::move(sum));
  }
  return steps;
}

}  // namespace superstep
