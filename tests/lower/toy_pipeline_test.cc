// SPDX-License-Identifier: Apache-2.0
// Whole steps on the toy machine: one by hand, others against a simulation that unrolls every iteration.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/cost/step_timer.h"
#include "model/zoo/zoo.h"
#include "tests/lower/toy.h"

namespace superstep {
namespace {

using test::Lowered;
using test::nothing_fitted;

// Two layers of one product each, [8 x 16] by [16 x 64] and [8 x 64] by [64 x 16], and a sum as loss; SGD.
Graph two_layers() {
  Graph graph;
  GraphBuilder b(graph);
  b.begin_unit("first", 0);
  const TensorId h = b.matmul(b.input("x", DType::fp16, {8, 16}), b.weight("w0", DType::fp16, {16, 64}));
  b.begin_unit("second", 1);
  graph.loss = b.reduce("sum", b.matmul(h, b.weight("w1", DType::fp16, {64, 16})), {0, 1}, false);
  graph.outputs = {graph.loss};
  add_optimizer(graph, add_gradients(graph), OptimizerSpec{});
  return graph;
}

TEST(ToyStep, UnitsOfTwoLayersByHand) {
  const Lowered l(two_layers(), 2, {1, 1}, true);
  // First, forward: the product of ToyUnit.Matmul.
  EXPECT_EQ(l.table.row(0).forward_cycles.total(), Cycles(254));
  // First, backward: the weight's gradient, x^T (16 x 8) by dh (8 x 64).
  //   turn x:  8 x 16 x 2 B / 4 tiles = 64 B: 64 + 10 to move, 64 / 2 x 1 + 10 to copy             116
  //   turn dh: 8 x 64 x 2 B / 4 = 256 B: 256 + 10, 128 + 10                                        404
  //   product, pn = 4: 4 x 2 x ceil(16 / 2) = 64 rows, half of them padding (8 of 16 contracted);
  //     inputs 16 x 16 x 2 - 8 x 16 x 2 / 4 = 448 B; weights 512 - 8 x 64 x 2 / 4 = 256 B
  //     448 + 256 + 10, 64 + 10 + 10                                                                798
  //   to the accumulator: 16 x 64 x 2 B / 4 = 512 B + 10; add 60 + 2 (24 + 3 x ceil(512 / 16)) + 10  832
  EXPECT_EQ(l.table.row(0).backward_cycles.total(), Cycles(116 + 404 + 798 + 832));
  EXPECT_EQ(l.table.row(0).backward_cycles[Term::amp_padding], 32);
  EXPECT_EQ(l.table.row(0).backward_cycles[Term::accumulate], 300);
  // Second, forward: the contraction split over the tiles, pk = 4; sums of 4 x 32 elements in two passes.
  //   0 + 10; 4 x 2 x 4 = 32 rows + 10 + 10; partials 3 x 32 x 2 = 192 + 10; 33 + 2 (20 + 16 x 2) + 10   411
  //   sum of 128: 2 (17 + 12 + 128 / 4) + 10                                                            132
  EXPECT_EQ(l.table.row(1).forward_cycles.total(), Cycles(411 + 132));
  // Second, backward: dh = dy w1^T, w1 turned (512 + 10, 256 + 10), then as ToyUnit.Matmul       788 + 254
  //   dw1 = h^T dy: turn h 404, turn dy 116, product 798 as above, accumulate 832
  EXPECT_EQ(l.table.row(1).backward_cycles.total(), Cycles(788 + 254 + 404 + 116 + 798 + 832));
  // Update of 1024 weights, 128 per worker: three casts 2 (37 + 128 / 2) + 10 and one axpby of floats 2 (27 + 64 x 3)
  // + 10.
  EXPECT_EQ(l.table.update(0, {}).cycles, Cycles(3 * 212 + 448));
  EXPECT_EQ(l.table.update(1, {}).cycles, Cycles(1084));
}

// Two stages of one relu each, inference: [64 x 4] halves come from the host to the first and go to it from the second.
Graph two_relus() {
  Graph graph;
  GraphBuilder b(graph);
  b.begin_unit("first", 0);
  const TensorId h = b.unary("relu", b.input("x", DType::fp16, {64, 4}));
  b.begin_unit("second", 1);
  graph.outputs = {b.unary("relu", h)};
  return graph;
}

TEST(ToyStep, ResultsToTheHostCostWhatInputsDo) {
  const Lowered l(two_relus(), 2, {1, 1}, false);
  EXPECT_EQ(l.table.row(0).feed_bytes, Bytes(512));
  EXPECT_EQ(l.table.row(0).result_bytes, Bytes(0));
  EXPECT_EQ(l.table.row(1).feed_bytes, Bytes(0));
  EXPECT_EQ(l.table.row(1).result_bytes, Bytes(512));
  Plan plan;
  plan.stages = plan.stage_ipu = {0};
  plan.gradient_accumulation = 3;
  plan.prefetch_depth = 2;
  const Program one = lower(l.table, plan, {});
  // A quarter or half of the machine's memory for each of its IPUs: as CostModel::host() says, in and out, for each of
  // three micro-batches. All of the network's time is hidden.
  EXPECT_EQ(cost(one, l.model).step[Term::host], 3 * 2 * l.model.host(Bytes(512)).value);
  // 512 bytes over 4 tiles in two buffers each way.
  EXPECT_EQ(one.residents[0].back().io, Bytes(2 * 2 * 128));
  EXPECT_EQ(one.ddr[0].host, Bytes(2 * 2 * 512));
  // In a pipeline each IPU has one of them: the same buffers on both.
  plan.pipeline_stages = 2;
  plan.stages = plan.stage_ipu = {0, 1};
  const Program two = lower(l.table, plan, {});
  for (std::size_t ipu = 0; ipu < 2; ++ipu) {
    EXPECT_EQ(two.residents[ipu].back().io, Bytes(2 * 128));
    EXPECT_EQ(two.ddr[ipu].host, Bytes(2 * 512));
  }
}

// With IO tiles no micro-batch waits for them. 3 x 1024 bytes at a quarter of a byte per cycle are 12,288 cycles, far
// more than two relus: what is beyond the relus' own time is waited for at the end.
TEST(ToyStep, IoTilesMoveInputsAndResultsBesideTheWork) {
  const Lowered l(two_relus(), 2, {1, 1}, false);
  Plan plan;
  plan.stages = plan.stage_ipu = {0};
  plan.gradient_accumulation = 3;
  TableKey key;
  key.io_tiles = plan.io_tiles = 1;
  SharedCosts shared(l.model, 3);
  const UnitTable table(l.facts, l.sharding, l.model, shared, key, false);
  const TermCycles step = cost(lower(table, plan, {}), l.model).step;
  EXPECT_EQ(step.total(), Cycles(12'288));
  EXPECT_EQ(l.model.host(Bytes(3 * 1024)), Cycles(12'288));
  EXPECT_GT(step[Term::vector], 0);
}

Plan two_stages(std::int64_t g) {
  Plan plan;
  plan.pipeline_stages = 2;
  plan.gradient_accumulation = g;
  plan.stages = plan.stage_ipu = {0, 1};
  return plan;
}

TEST(ToyStep, PipelineOfTwoStagesByHand) {
  const Lowered l(two_layers(), 2, {1, 1}, true);
  const Program program = lower(l.table, two_stages(5), OptimizerSpec{});
  const Timeline timeline = cost(program, l.model);
  // IPU 0: forward 254, again 254, backward 2150, and 256 B of input at a quarter of a byte per cycle, 1024: 3682.
  // IPU 1: forward 543 and backward 3192, nothing run again since it turns at once: 3735, the slower.
  // Copy: 8 x 64 x 2 B over the rung, 512 + 20 + 20 = 552.
  // (g + 2 S - 2) = 7 cycles of 4287, and the update.
  EXPECT_EQ(timeline.step.total(), Cycles(7 * (3735 + 552) + 1084));
  EXPECT_EQ(StepTimer(program).step(l.model), timeline.step.total());
  EXPECT_EQ(timeline.step[Term::bubble], 2 * 4287);
  EXPECT_EQ(timeline.step[Term::copy], 5 * 552);
  EXPECT_EQ(timeline.busy[0], Cycles(5 * 3682 + 1084));
  EXPECT_EQ(timeline.busy[1], Cycles(5 * 3735 + 1084));
}

TEST(ToyStep, MemoryOfTwoStagesByHand) {
  const Lowered l(two_layers(), 2, {1, 1}, true);
  const Program program = lower(l.table, two_stages(5), OptimizerSpec{});
  const Timeline timeline = cost(program, l.model);
  const Residents &a = program.residents[0][0], &b = program.residents[1][0];
  // 1024 weights of 2 B on 4 tiles, as many accumulators; SGD keeps no state.
  EXPECT_EQ(a.weights, Bytes(512));
  EXPECT_EQ(a.gradients, Bytes(512));
  EXPECT_EQ(a.optimizer_state, Bytes(0));
  EXPECT_EQ(b.weights, Bytes(512));
  // Stash: 3 inputs of 256 B on 4 tiles; one boundary of 1024 B.
  EXPECT_EQ(a.stash, Bytes(3 * 64));
  EXPECT_EQ(b.stash, Bytes(256));
  // Exchange code: 4 B and 4 fragments of 8 B for each of 5 exchanges, of 8.
  EXPECT_EQ(a.exchange_code, Bytes(5 * 36));
  EXPECT_EQ(b.exchange_code, Bytes(8 * 36));
  EXPECT_EQ(a.control_code, Bytes(1024));
  EXPECT_EQ(a.io, Bytes(64));
  EXPECT_EQ(program.ddr[0].total(), Bytes(256));
  // The peak is the update: a weight and its gradient in fp32, 2 x 1024 x 4 B on 4 tiles.
  EXPECT_EQ(timeline.transient[0].total(), Bytes(2048));
}

// LAMB on two replicas that share the update: two norms per weight, each over both slices.
TEST(ToyStep, NormsOfAShardedUpdateByHand) {
  Graph graph;
  GraphBuilder b(graph);
  b.begin_unit("only");
  graph.loss = b.reduce("sum", b.matmul(b.input("x", DType::fp16, {8, 16}), b.weight("w", DType::fp16, {16, 64})),
                        {0, 1}, false);
  graph.outputs = {graph.loss};
  const OptimizerSpec lamb{.kind = "lamb"};
  add_optimizer(graph, add_gradients(graph), lamb);
  const Lowered l(std::move(graph), 2, {1, 1}, true);
  Plan plan;
  plan.replicas = 2;
  const auto joins = [&](std::int64_t shards) {
    plan.replicated_tensor_sharding.optimizer_state = shards;
    const Program program = lower(l.table, plan, lamb);
    Cycles total;
    for (const Function& f : program.functions) {
      for (const Step& s : f.steps) {
        if (s.data == Data::update_sums) total += l.model.step(s).total();
      }
    }
    const Timeline timeline = cost(program, l.model);
    return std::pair{total, timeline.collectives};
  };
  EXPECT_EQ(joins(1).first, Cycles(0));
  // A sum of 4 B in fp32: a ring of two on the rung of 2 B per cycle, twice (1/2 x 4 / 2 + 10), and sync 20.
  const auto [cycles, collectives] = joins(2);
  EXPECT_EQ(cycles, Cycles(2 * (22 + 20)));
  EXPECT_EQ(collectives.at({CollectiveKind::all_reduce, Term::gradient_collective}).count, 2);
  EXPECT_EQ(collectives.at({CollectiveKind::all_reduce, Term::gradient_collective}).bytes, Bytes(8));
}

// Copies of a sequential schedule stand between the stages that they join.
TEST(ToyStep, SerialCopiesStandBetweenTheStages) {
  const Lowered l(two_layers(), 2, {1, 1}, true);
  Plan plan = two_stages(1);
  plan.schedule = Schedule::sequential;
  const Program program = lower(l.table, plan, OptimizerSpec{});
  std::string order;
  for (const Node& n : program.root.children.at(0).children) order += n.name + "; ";
  EXPECT_EQ(order,
            "stage 0; stage boundaries; stage 1; stage 1; stage boundaries; stage 0; per micro-batch; per pipeline "
            "cycle; ");
  EXPECT_EQ(cost(program, l.model).step[Term::copy], 2 * 552);
}

// By the time of the updates, weights and accumulators of all phases are in Streaming Memory.
TEST(ToyStep, MicroBatchOuterLoadsWhatItUpdates) {
  const Lowered l(two_layers(), 2, {1, 1}, true);
  Plan plan = two_stages(4);
  plan.pipeline_stages = 1, plan.replicas = 2;
  plan.stage_ipu = {0, 0}, plan.phases = {0, 1};
  plan.phase_order = PhaseOrder::micro_batch_outer;
  plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
  const Program program = lower(l.table, plan, OptimizerSpec{});
  std::vector<Data> loaded;
  for (const Node& phase : program.root.children) {
    if (phase.name.rfind("update phase", 0) != 0) continue;
    for (const Node& n : phase.children.at(0).children) {
      if (n.step.kind != StepKind::load) continue;
      loaded.push_back(n.step.data);
      EXPECT_EQ(n.step.tile_bytes, Bytes(2048));
    }
  }
  EXPECT_EQ(loaded, (std::vector<Data>{Data::accumulators, Data::weights, Data::accumulators, Data::weights}));
}

// Optimizer state on another IPU's tiles: 1024 parameters x 8 B of Adam on 4 tiles, lent and borrowed alike, and moved
// over the links; on another machine it stands in Streaming Memory, of which each lends as much.
TEST(ToyStep, RemoteStateByHand) {
  const OptimizerSpec adam{.kind = "adam"};
  Graph forward;
  GraphBuilder b(forward);
  b.begin_unit("only");
  forward.loss = b.reduce("sum", b.matmul(b.input("x", DType::fp16, {8, 16}), b.weight("w", DType::fp16, {16, 64})),
                          {0, 1}, false);
  forward.outputs = {forward.loss};
  add_optimizer(forward, add_gradients(forward), adam);
  const Lowered l(std::move(forward), 8, {1, 1}, true);
  Plan plan;
  plan.replicas = 8;
  const auto step = [&](Location where) {
    plan.location.optimizer_state = where;
    EXPECT_EQ(check_plan(plan, l.facts, l.model.machine(), true), "");
    const Program program = lower(l.table, plan, adam);
    return std::tuple{cost(program, l.model).step[Term::load], program.residents[0][0].optimizer_state,
                      program.residents[0][0].lent, program.ddr[0].optimizer_state};
  };
  EXPECT_EQ(step(Location::in_processor), (std::tuple{0, Bytes(2048), Bytes(0), Bytes(0)}));
  EXPECT_EQ(step(Location::streaming), (std::tuple{4 * 8192, Bytes(0), Bytes(0), Bytes(8192)}));
  // The next machine is 4 IPUs further: DDR at a quarter of a byte per cycle is slower than half a rail.
  EXPECT_EQ(step(Location::remote_machine), (std::tuple{4 * 8192, Bytes(0), Bytes(0), Bytes(8192)}));
  // The next IPU: see LinkGraph for the rate of all at once.
  const auto [cycles, own, lent, ddr] = step(Location::remote_ipu);
  EXPECT_EQ(Cycles(cycles), l.model.streaming(Bytes(8192), Location::remote_ipu, 1));
  EXPECT_EQ(own, Bytes(0));
  EXPECT_EQ(lent, Bytes(2048));
  EXPECT_EQ(ddr, Bytes(0));
}

// The largest of three weights has 1024 parameters: 8 B of Adam each, on 4 tiles, are 2048 B that the update loads at
// once. Of two replicas that share the update each loads half; of a weight in four slices a slice is loaded.
TEST(ToyStep, AnUpdateLoadsTheStateOfOneWeightWhole) {
  const OptimizerSpec adam{.kind = "adam"};
  const auto update = [&](Location where, std::int64_t shards, std::int64_t slices) {
    Graph graph;
    GraphBuilder b(graph);
    b.begin_unit("head", -1, UnitRole::head);
    TensorId x = b.matmul(b.input("x", DType::fp16, {8, 16}), b.weight("w", DType::fp16, {16, 64}));
    x = b.binary("add", x, b.weight("bias", DType::fp16, {64}));
    graph.loss = b.reduce("sum", b.binary("mul", x, b.weight("scale", DType::fp16, {64})), {0, 1}, false);
    graph.outputs = {graph.loss};
    add_optimizer(graph, add_gradients(graph), adam);
    const Lowered l(std::move(graph), 2, {1, 1}, true);
    TableKey key;
    key.serialisation.head = slices;
    SharedCosts shared(l.model, l.table.tiles());
    const UnitTable table(l.facts, l.sharding, l.model, shared, key, true);
    Plan plan;
    plan.replicas = 2;
    plan.serialisation.head = slices;
    plan.location.optimizer_state = where;
    plan.replicated_tensor_sharding.optimizer_state = shards;
    const Program program = lower(table, plan, adam);
    Bytes peak;
    for (const Function& f : program.functions) {
      if (f.pass == Pass::update) peak = f.peak;
    }
    return peak;
  };
  for (const auto& [shards, slices, loaded] : {std::tuple{1, 0, 2048}, {2, 0, 1024}, {1, 4, 512}, {2, 4, 256}}) {
    EXPECT_EQ(update(Location::streaming, shards, slices) - update(Location::in_processor, shards, slices),
              Bytes(loaded))
        << shards << " " << slices;
  }
}

TEST(ToyStep, InferenceFillsOnce) {
  Graph graph;
  GraphBuilder b(graph);
  b.begin_unit("first", 0);
  const TensorId h = b.matmul(b.input("x", DType::fp16, {8, 16}), b.weight("w0", DType::fp16, {16, 64}));
  b.begin_unit("second", 1);
  graph.outputs = {b.matmul(h, b.weight("w1", DType::fp16, {64, 16}))};
  const Lowered l(std::move(graph), 2, {1, 1}, false);
  // IPU 0: 254 + 1024 of input. IPU 1: 411 and 8 x 16 x 2 B of results at a quarter of a byte per cycle, 1024: 1435,
  // the slower. (5 + 1) cycles of 1435 + 552.
  EXPECT_EQ(cost(lower(l.table, two_stages(5), OptimizerSpec{}), l.model).step.total(), Cycles(6 * (1435 + 552)));
}

// ---- unrolled

// Every iteration one after the other. `uneven`: a call takes time only when its micro-batch is one of the repeat's,
// and so does what comes ahead of it on its IPU.
class Unrolled {
 public:
  Unrolled(const Program& program, const CostModel& model, bool uneven)
      : program_(program), model_(model), uneven_(uneven) {}
  std::int64_t run(const Node& n, std::int64_t iteration, std::int64_t micro_batches) const {
    std::int64_t total = 0;
    switch (n.kind) {
      case Node::Kind::step:
        return steps({n.step});
      case Node::Kind::call:
        return works(n, iteration, micro_batches) ? steps(program_.functions[n.function].steps) : 0;
      case Node::Kind::sequence:
        for (std::size_t i = 0; i < n.children.size(); ++i) {
          const auto call = std::find_if(n.children.begin() + static_cast<std::ptrdiff_t>(i), n.children.end(),
                                         [](const Node& c) { return c.kind == Node::Kind::call; });
          const bool ahead = n.ipu >= 0 && n.children[i].kind == Node::Kind::step && call != n.children.end();
          if (!ahead || works(*call, iteration, micro_batches)) total += run(n.children[i], iteration, micro_batches);
        }
        return total;
      case Node::Kind::parallel:
        for (const Node& c : n.children) total = std::max(total, run(c, iteration, micro_batches));
        return total;
      case Node::Kind::repeat:
        for (std::int64_t i = 0; i < n.count; ++i) {
          for (const Node& c : n.children) total += run(c, i, n.micro_batches);
        }
        return total;
    }
    return total;
  }

 private:
  bool works(const Node& call, std::int64_t iteration, std::int64_t micro_batches) const {
    return !uneven_ || iteration < 0 || (iteration >= call.lag && iteration - call.lag < micro_batches);
  }
  std::int64_t steps(const std::vector<Step>& list) const {
    std::int64_t total = 0;
    for (const Step& s : list) total += model_.step(s).total().value;
    return total;
  }
  const Program& program_;
  const CostModel& model_;
  bool uneven_;
};

Graph small_gpt() {
  TransformerSpec spec = transformer_spec("gpt2-small");
  spec.layers = 2, spec.hidden = 16, spec.heads = 2, spec.ffn = 32, spec.vocabulary = 32,
  spec.sequence_length = spec.positions = 8;
  Graph graph = build(spec, 1, DType::fp16);
  add_optimizer(graph, add_gradients(graph), OptimizerSpec{.kind = "adam"});
  return graph;
}

Plan draw(std::mt19937_64& engine, bool phased) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(n));
  };
  Plan plan;
  plan.pipeline_stages = 1 + below(4);
  plan.replicas = 2;
  plan.gradient_accumulation = 9 + below(12);
  plan.schedule = static_cast<Schedule>(below(3));
  plan.stages.clear(), plan.stage_ipu.clear(), plan.recompute.clear();
  if (phased) plan.phases.clear();
  std::int64_t stages = 0;
  for (std::int64_t u = 0; u < 8; u += 1 + below(2), ++stages) {
    if (!phased && stages == plan.pipeline_stages + (plan.pipeline_stages > 1 ? 1 : 0)) break;
    if (phased && stages % plan.pipeline_stages == 0) plan.phases.push_back(stages);
    plan.stages.push_back(u);
    plan.stage_ipu.push_back(stages % plan.pipeline_stages);
    plan.recompute.push_back(phased || below(2) == 0 ? Recompute::layer : Recompute::stage);
  }
  if (!phased) return plan;
  plan.location.weights = plan.location.optimizer_state = plan.location.activations = Location::streaming;
  plan.phase_order = below(3) == 0 ? PhaseOrder::micro_batch_outer : PhaseOrder::phase_outer;
  return plan;
}

TEST(Timeline, CollapsedEqualsUnrolled) {
  const Lowered l(small_gpt(), 8, {1, 1}, true);
  std::mt19937_64 engine(7);
  for (int i = 0; i < 80; ++i) {
    const Plan plan = draw(engine, i % 2 == 1);
    const Program program = lower(l.table, plan, OptimizerSpec{.kind = "adam"});
    const std::int64_t unrolled = Unrolled(program, l.model, false).run(program.root, -1, 1);
    EXPECT_EQ(cost(program, l.model).step.total(), Cycles(unrolled)) << label(plan) << " " << name_of(plan.schedule);
    EXPECT_EQ(cost_of(program.root, program, l.model).total(), Cycles(unrolled));
  }
}

TEST(Timeline, FillAndDrainTakeAsLongAsFullCycles) {
  const Lowered l(small_gpt(), 8, {1, 1}, true);
  std::mt19937_64 engine(8);
  for (int i = 0; i < 40; ++i) {
    const Plan plan = draw(engine, i % 2 == 1);
    const Program program = lower(l.table, plan, OptimizerSpec{.kind = "adam"});
    const std::int64_t uneven = Unrolled(program, l.model, true).run(program.root, -1, 1);
    const TermCycles step = cost(program, l.model).step;
    EXPECT_GE(step.total(), Cycles(uneven));
    EXPECT_LE(step.total() - Cycles(step[Term::bubble]), Cycles(uneven));
  }
}

}  // namespace
}  // namespace superstep
