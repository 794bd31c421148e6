// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/operators.h"

#include <cmath>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/lower/shard.h"
#include "model/lower/unit_table.h"
#include "model/ops/amp_vertex.h"
#include "model/quantity_text.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

// A graph with one op, and the op's useful FLOPs.
struct OneOp {
  Graph graph;
  double flops = 0;
};

OneOp graph_of(const ProductShape& s) {
  OneOp one;
  GraphBuilder b(one.graph);
  b.begin_unit("product");
  const TensorId left = b.input("left", s.operands, {s.batch, s.rows, s.contracted});
  const TensorId right = b.input("right", s.operands, {s.batch, s.contracted, s.columns});
  one.graph.outputs = {b.matmul(left, right)};
  one.flops = 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.rows) * static_cast<double>(s.columns) *
              static_cast<double>(s.contracted);
  return one;
}

OneOp graph_of(const ConvolutionWork& c) {
  OneOp one;
  GraphBuilder b(one.graph);
  b.begin_unit("convolution");
  const std::int64_t before = (c.window - 1) / 2, after = c.window - 1 - before;
  const TensorId x = b.input("x", DType::fp16, {c.samples, c.inputs, c.size, c.size});
  const TensorId w = b.weight("w", DType::fp16, {c.outputs, c.inputs, c.window, c.window});
  Attributes attrs;
  attrs.set("strides", std::vector<std::int64_t>{c.stride, c.stride});
  attrs.set("pads_begin", std::vector<std::int64_t>{before, before});
  attrs.set("pads_end", std::vector<std::int64_t>{after, after});
  const TensorId y = b.one("conv", {x, w}, attrs);
  one.graph.outputs = {y};
  one.flops =
      2.0 * static_cast<double>(one.graph.info(y).elements()) * static_cast<double>(c.inputs * c.window * c.window);
  return one;
}

// Returns the cycles of the forward supersteps that a plan would run for the op on one IPU.
Cycles forward_cycles(const Graph& graph, const CostModel& model, DType partials, double proportion) {
  const GraphFacts facts(graph);
  TableKey key;
  key.precision.partials = partials;
  key.proportion = proportion;
  const Chip& chip = model.machine().chip;
  const GraphSharding sharding = shard(graph, key.mesh, collective_time(model, key.mesh), work_time(graph, chip));
  SharedCosts shared(model, chip.tiles);
  return UnitTable(facts, sharding, model, shared, key, false).row(0).forward_cycles.total();
}

Step exchange_step(Bytes plain, Bytes paired, std::int64_t pieces, Term term) {
  Step step;
  step.kind = StepKind::exchange;
  step.term = term;
  step.tile_bytes = plain;
  step.paired_bytes = paired;
  step.pieces = pieces;
  return step;
}

// Cycles and useful FLOPs of a fact's work; 0 FLOPs for work without a rate.
struct Cost {
  Cycles cycles;
  double flops = 0;
};

struct Costing {
  const CostModel& model;
  const Chip& chip() const { return model.machine().chip; }

  Cost operator()(const AmpWork& w) const {
    const AmpVertex vertex(chip().amp, chip().workers, w.operands, w.partials);
    const std::int64_t block = chip().amp.block_channels;
    return {Cycles(vertex.cycles({w.groups, w.rows, ceil_div(w.columns, block), ceil_div(w.contracted, block)}))};
  }
  Cost operator()(const ReductionWork& w) const { return {add_partials(w.parts, w.elements, chip().workers)}; }
  Cost operator()(const ExchangeWork& w) const {
    const Term term = w.rearranges ? Term::relayout : Term::operand_exchange;
    return {model.step(exchange_step(w.plain, w.paired, w.pieces, term)).total()};
  }
  Cost operator()(const ProductExchangeWork& w) const {
    const ProductPlan p = product_plan(w.shape, w.split, chip().tiles, chip(), model.calibration());
    const Step step = w.phase == ProductPhase::operands
                          ? exchange_step(p.plain_bytes, p.paired_bytes, 0, Term::operand_exchange)
                          : exchange_step(p.partial_bytes, Bytes(0), p.pk - 1, Term::partials_exchange);
    return {model.step(step).total()};
  }
  Cost operator()(const ProductWork& w) const {
    const OneOp one = graph_of(w.shape);
    return {forward_cycles(one.graph, model, w.shape.partials, w.proportion), one.flops};
  }
  Cost operator()(const ConvolutionWork& w) const {
    const OneOp one = graph_of(w);
    return {forward_cycles(one.graph, model, DType::fp16, w.proportion), one.flops};
  }
};

double in_unit(const Cost& cost, OperatorUnit unit, const Chip& chip) {
  if (unit == OperatorUnit::cycles) return static_cast<double>(cost.cycles.value);
  const double per_second = cost.flops / at_clock(cost.cycles, chip.clock).value;
  if (unit == OperatorUnit::teraflops) return per_second / 1e12;
  return per_second / (2.0 * static_cast<double>(chip.tiles * chip.amp.fp16_16_macs_per_cycle) * chip.clock.value);
}

std::string type_text(DType operands, DType partials) {
  if (operands != DType::fp16) return " fp32";
  return partials == DType::fp16 ? " fp16.16" : " fp16.32";
}

std::string extents_text(std::int64_t batch, std::int64_t rows, std::int64_t contracted, std::int64_t columns) {
  return (batch > 1 ? std::to_string(batch) + " x " : "") + std::to_string(rows) + " x " + std::to_string(contracted) +
         " x " + std::to_string(columns);
}

struct Describing {
  std::string operator()(const AmpWork& w) const {
    return extents_text(w.groups, w.rows, w.contracted, w.columns) + type_text(w.operands, w.partials);
  }
  std::string operator()(const ReductionWork& w) const {
    return std::to_string(w.parts) + " parts of " + std::to_string(w.elements);
  }
  std::string operator()(const ExchangeWork& w) const {
    return std::to_string(w.plain.value) + " B" +
           (w.paired.value > 0 ? " and " + std::to_string(w.paired.value) + " B in pairs" : "") +
           (w.pieces > 0 ? " in " + std::to_string(w.pieces) + " pieces" : "") + (w.rearranges ? ", re-layout" : "");
  }
  std::string operator()(const ProductExchangeWork& w) const {
    return extents_text(w.shape.batch, w.shape.rows, w.shape.contracted, w.shape.columns) + " in " +
           extents_text(w.split.batch, w.split.rows, w.split.contracted, w.split.columns) +
           (w.phase == ProductPhase::operands ? " parts: operands" : " parts: partial sums");
  }
  std::string operator()(const ProductWork& w) const {
    return extents_text(w.shape.batch, w.shape.rows, w.shape.contracted, w.shape.columns) +
           type_text(w.shape.operands, w.shape.partials);
  }
  std::string operator()(const ConvolutionWork& w) const {
    const std::string window = std::to_string(w.window) + " x " + std::to_string(w.window);
    return window + (w.stride > 1 ? " stride " + std::to_string(w.stride) : "") + ", " + std::to_string(w.inputs) +
           " to " + std::to_string(w.outputs) + ", " + std::to_string(w.samples) + " x " + std::to_string(w.size) +
           " squared";
  }
};

}  // namespace

bool OperatorResult::within() const { return std::abs(error) <= fact.tolerance; }

OperatorResult evaluate(const OperatorFact& fact) {
  const CostModel model(fact.machine, load_calibration(fact.calibration));
  OperatorResult r{fact};
  r.ours = in_unit(std::visit(Costing{model}, fact.work), fact.unit, fact.machine.chip);
  r.error = fact.unit == OperatorUnit::share_of_peak ? r.ours - fact.stated : r.ours / fact.stated - 1;
  return r;
}

std::string work_text(const OperatorWork& work) { return std::visit(Describing{}, work); }

std::string unit_text(OperatorUnit unit) {
  return unit == OperatorUnit::cycles ? "cycles" : unit == OperatorUnit::teraflops ? "TFLOP/s" : "of peak";
}

std::string value_text(double value, OperatorUnit unit) {
  if (unit == OperatorUnit::share_of_peak) return percent(value);
  if (unit == OperatorUnit::cycles) return with_thousands(std::llround(value));
  return figure(value);
}

std::string error_text(const OperatorResult& r) {
  return signed_fixed(r.error * 100, 1) + (r.fact.unit == OperatorUnit::share_of_peak ? " points" : " %");
}

std::string tolerance_text(const OperatorFact& fact) {
  if (fact.tolerance == 0) return "exact";
  char text[32];
  std::snprintf(text, sizeof text, "%g", fact.tolerance * 100);
  return text + std::string(fact.unit == OperatorUnit::share_of_peak ? " points" : " %");
}

std::string verdict_text(const OperatorResult& r) {
  if (r.within()) return r.fact.gap.empty() ? "within" : "within, though a gap is noted";
  return r.fact.gap.empty() ? "outside" : "outside, known";
}

}  // namespace superstep
