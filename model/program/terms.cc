// SPDX-License-Identifier: Apache-2.0
#include "model/program/terms.h"

#include <array>

namespace superstep {
namespace {

const std::array<TermDef, kTerms>& table() {
  static const std::array<TermDef, kTerms> all = {{
      {Term::amp_rows,
       "AMP rows",
       TermKind::compute,
       "sum over matrix products of useful blocks x rows x cycles per row (256 / MACs per cycle)",
       {"/chip/amp/fp16_16_macs_per_cycle", "/chip/amp/fp32_macs_per_cycle", "/chip/tiles", "/chip/clock"},
       {}},
      {Term::amp_padding,
       "matmul padding",
       TermKind::compute,
       "shares rounded up to 16 channels and 6 rows, less the useful rows",
       {"/chip/amp/block_channels", "/chip/workers", "/chip/clock"},
       {}},
      {Term::amp_fixed,
       "AMP fixed cost",
       TermKind::compute,
       "half with half partials: block_fixed per 16 x 16 weight block + call_fixed per call; else vendor vertex "
       "formula",
       {"/chip/amp/block_fixed", "/chip/amp/call_fixed", "/chip/amp/weight_load", "/chip/clock"},
       {}},
      {Term::vector,
       "vector ops",
       TermKind::compute,
       "vendor vertex formulas x vector_factor",
       {"/chip/workers", "/chip/vertex_launch", "/chip/clock"},
       {"vector_factor"}},
      {Term::operand_exchange,
       "operand exchange",
       TermKind::exchange,
       "bytes the busiest tile receives / receive rate; pairs share a stream where they can",
       {"/chip/exchange/receive", "/chip/exchange/paired_receive", "/chip/clock"},
       {}},
      {Term::partials_exchange,
       "partials exchange",
       TermKind::exchange,
       "partial sums received / receive rate",
       {"/chip/exchange/receive", "/chip/clock"},
       {}},
      {Term::reduction,
       "reduction of partials",
       TermKind::compute,
       "33 + 6 (20 + (2 parts + 8) ceil(n / 48)) cycles x vector_factor",
       {"/chip/workers", "/chip/clock"},
       {"vector_factor"}},
      {Term::relayout,
       "re-layout",
       TermKind::exchange,
       "(bytes / receive rate + copy) x vector_factor",
       {"/chip/exchange/receive", "/chip/clock"},
       {"vector_factor"}},
      {Term::superstep,
       "supersteps and sync",
       TermKind::sync,
       "supersteps x cycles of sync, launch and route",
       {"/chip/exchange/superstep", "/chip/clock"},
       {}},
      {Term::accumulate,
       "gradient accumulate",
       TermKind::compute,
       "scaledAdd of each weight gradient into its accumulator x vector_factor",
       {"/chip/workers", "/chip/clock"},
       {"vector_factor"}},
      {Term::tensor_collective,
       "tensor-parallel collectives",
       TermKind::links,
       "ring: 2 (n-1)/n bytes / ring rate + 2 (n-1) hops; half for gather or scatter",
       {"/links/rate", "/links/efficiency", "/links/rail_links", "/links/rung_links", "/links/hop_latency",
        "/links/external_sync"},
       {"gateway_factor"}},
      {Term::recompute,
       "recompute",
       TermKind::recompute,
       "forward passes run again for the backward pass, all their parts",
       {"/chip/clock"},
       {"vector_factor"}},
      {Term::imbalance, "imbalance", TermKind::waiting, "slowest IPU beyond an even share", {"/chip/clock"}, {}},
      {Term::copy,
       "inter-IPU copies",
       TermKind::links,
       "widest stage boundary / link rate, both directions at once, + 2 hops + external sync",
       {"/links/rate", "/links/efficiency", "/links/rail_links", "/links/hop_latency", "/links/external_sync"},
       {}},
      {Term::gradient_collective,
       "replica collectives",
       TermKind::links,
       "ring over the replicas of one stage: reduce-scatter of gradients and all-gather of weights, of the fullest IPU",
       {"/links/rate", "/links/efficiency", "/links/rail_links", "/links/hop_latency", "/gateway/rate",
        "/gateway/efficiency"},
       {"gateway_factor"}},
      {Term::update,
       "weight update",
       TermKind::update,
       "optimiser ops on the shard x vector_factor",
       {"/chip/workers", "/chip/clock"},
       {"vector_factor"}},
      {Term::load,
       "streaming loads",
       TermKind::ddr,
       "bytes loaded / (DDR rate of one IPU x streaming_factor); beside work: what that does not hide",
       {"/streaming/ipu_rate", "/streaming/machine_rate"},
       {"streaming_factor"}},
      {Term::store,
       "streaming stores",
       TermKind::ddr,
       "bytes stored / (DDR rate of one IPU x streaming_factor); beside work: what that does not hide",
       {"/streaming/ipu_rate", "/streaming/machine_rate"},
       {"streaming_factor"}},
      {Term::host,
       "host input and output",
       TermKind::host,
       "bytes of one micro-batch / (DDR rate of one IPU x streaming_factor); where their way over the network takes "
       "longer "
       "than the step, the rest of that: bytes / network share; with copying_programs, a step's bytes of each / "
       "copy_rate",
       {"/host/rate", "/streaming/ipu_rate", "/streaming/machine_rate", "/host/copy_rate", "/host/copying_programs"},
       {"streaming_factor", "host_copy_factor"}},
      {Term::fixed,
       "fixed cost",
       TermKind::fixed,
       "micro_batch_fixed per micro-batch + pipeline_cycle_fixed per pipeline cycle, half of it per pass through a "
       "phase",
       {"/chip/clock"},
       {"micro_batch_fixed", "pipeline_cycle_fixed"}},
      {Term::bubble,
       "bubble: fill and drain",
       TermKind::waiting,
       "(2 stages - 2) x pipeline cycle",
       {"/chip/clock"},
       {}},
  }};
  return all;
}

}  // namespace

const TermDef& def_of(Term term) { return table()[static_cast<std::size_t>(term)]; }

const TermDef& ideal_bar() {
  static const TermDef bar = {
      Term::amp_rows, "ideal at FP16.16 peak", TermKind::compute, "model FLOPs of the step / peak of all IPUs", {}, {}};
  return bar;
}

const TermDef& stage_imbalance_bar() {
  static const TermDef bar = {
      Term::amp_rows,
      "stage imbalance",
      TermKind::waiting,
      "AMP rows on the slowest IPU beyond an even share, lower-rate types included; below 0 where it has fewer",
      {},
      {}};
  return bar;
}

}  // namespace superstep
