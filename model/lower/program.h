// SPDX-License-Identifier: Apache-2.0
// The lowered program: supersteps grouped in functions that equal layers share, and a tree of
// repeats and calls. Read with the clock it gives a Timeline, read with tensors it gives Values.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/lower/cap_range.h"
#include "model/lower/plan.h"
#include "model/lower/shard.h"
#include "model/lower/terms.h"
#include "model/machine/links.h"
#include "model/units.h"

namespace superstep {

enum class StepKind : std::uint8_t {
  compute,     // vertices on tiles
  exchange,    // tiles of one IPU
  collective,  // IPUs of a group
  copy,        // IPU to IPU, pipeline boundary
  load,        // Streaming Memory to tiles
  store,       // tiles to Streaming Memory
  host,        // host stream
  fixed,       // fitted cost that no modelled step explains
};

// What a step moves. Of a step inside a function, `operands` say which tensors; of one outside, `units` say whose.
enum class Data : std::uint8_t {
  none,
  operands,              // of the step's op
  remade,                // operands of ops of the forward pass that make again what the step's op reads
  update_sums,           // sums over slices of a sharded update, of all replicas that share it
  statistics,            // sums over samples of one statistics group, of the replicas that share it
  inputs,                // of the micro-batch
  activations,           // what crosses into each of the units, forward
  activation_gradients,  // the same, backward
  boundaries,            // both, one each way
  stash,                 // what a stage stores from its forward to its backward
  stash_shards,          // activations that cross into the units, of which each IPU keeps a part: to be whole again
  gradient_shards,       // the same of their gradients
  weights,               // for the units' forward and backward
  new_weights,           // that the units' update made
  tied_weights,          // new values of weights that the units borrow, from their owners
  gradients,             // of the units' weights: all that the phase's accumulators on the IPU hold
  tied_gradients,        // accumulators of weights that the units borrow, to their owners
  accumulators,          // the units', out of the processor and back
  optimizer_state,
  code,
};
std::string_view name_of(Data data);

// One superstep of one IPU. What is done, not how long it takes: cost() says that.
struct Step {
  StepKind kind = StepKind::compute;
  Term term = Term::vector;
  std::int32_t op = -1;    // position in the unit's op list of the function's pass; -1: none
  std::int64_t times = 1;  // serialisation: runs this often, one after the other
  Data data = Data::none;
  // k: input k of the op, -1 - k: its output k. exchange: those it brings to the tiles; compute with a grid: inputs
  // that lie on its tiles already; collective: the one it converts.
  std::vector<std::int32_t> operands;
  std::vector<UnitId> units;

  // compute: the busiest tile. exchange: bytes its busiest tile receives, and whether pairs share the stream.
  Cycles rows;     // AMP cycles that multiply useful rows
  Cycles padding;  // AMP cycles spent on padded rows and channels
  Cycles amp_fixed;
  Cycles vector;            // vertex cycles by the vendor's formulas, before the calibrated factor
  Bytes tile_bytes;         // exchange: plain receive; collective, copy, load, store, host: of the IPU in total
  Bytes paired_bytes;       // exchange: received at the paired rate
  std::int64_t pieces = 0;  // exchange: runs of partial sums that it receives, each from another tile
  std::int64_t tiles = 0;   // tiles that take part
  CollectiveKind collective = CollectiveKind::all_reduce;
  bool along = false;                       // collective: its bytes travel with those of another one
  GroupShape group;                         // collective: who takes part; copy, remote load and store: the stride
  GroupShape holders;                       // copy: IPUs that hold the same, and may send slices of it
  Location location = Location::streaming;  // load, store: the other end
  Bytes temporary;                          // per tile, while the step runs
  Bytes live;                               // activations live on a tile while it runs, temporaries excluded
  Bytes keeping;                            // beside them in a call that keeps: what backward reads and nobody else
  std::vector<std::int64_t> grid;           // compute: parts per axis of the op's iteration space, tiles row-major
  bool generic = false;                     // costed as an opaque op
};

// Ops by their position in all_ops(): equal kinds of vertex share their code.
using VertexSet = std::bitset<256>;

// Bytes that stand on a tile during some steps of a function: of those that overlap, with the step's temporary, its
// live memory is the sum.
struct LiveRange {
  TensorId tensor;        // root; of what is gathered for an op: its first output
  bool gathered = false;  // operands gathered for an op, and results before they are scattered
  bool stays = false;     // in a call that keeps, until the function's end and beyond
  Bytes bytes;
  std::int32_t first = 0, last = 0;  // steps
};

// What running a function needs on a tile.
struct Footprint {
  Bytes peak;           // largest live + temporary per tile, results freed after their last use in this pass
  Bytes standing;       // no bound on temporary memory makes the peak smaller, nor do fewer tiles
  Bytes peak_keeping;   // forward: the same when all that the backward pass reads stays
  Bytes kept;           // forward: what this unit's backward pass reads of it, per tile
  Bytes crossing;       // forward: results beside those that later units read, per tile
  Bytes incoming;       // live from the start, per tile: forward results of earlier units, or their gradients
  Bytes exchange_code;  // of these steps, per tile; with several bounds on temporary memory of those that all make
  VertexSet vertices;   // the kinds of vertex it runs
  CapRange caps;        // bounds on temporary memory that give just these steps
};

// The supersteps of one unit in one pass on one IPU. Equal units call the same function.
struct Function : Footprint {
  std::string name;
  UnitId unit;  // a representative; the caller binds its own unit's tensors by position
  Pass pass = Pass::forward;
  std::vector<Step> steps;
  std::vector<LiveRange> live;  // by first step
};

using FunctionId = Id<struct FunctionTag>;

// The tree. A repeat runs its children `count` times; in iteration i a call below it works on micro-batch
// i - lag and does nothing unless that is one of the repeat's micro-batches. That one rule gives pipelines their fill
// and drain; on the clock every iteration takes as long as a full one.
struct Node {
  enum class Kind : std::uint8_t { sequence, repeat, parallel, call, step } kind = Kind::sequence;
  std::string name;
  std::int64_t count = 1;          // repeat: iterations
  std::int64_t micro_batches = 1;  // repeat: how many there are
  std::vector<Node> children;
  std::int64_t ipu = -1;       // child of a parallel: the IPU group (0 .. p-1) it runs on
  std::int64_t phase = -1;     // of phased execution: whose residents stand meanwhile; -1: as the parent says
  FunctionId function;         // call
  UnitId unit;                 // call: whose tensors
  std::int64_t lag = 0;        // call
  bool recompute = false;      // call: a forward run again
  bool keeps = false;          // call of a forward: what the backward pass reads stays until its backward call,
  bool keeps_results = false;  // and so do the results that the next unit of its block reads
  Step step;                   // kind step

  // Of a parallel: its children are work, and what the same IPUs stream meanwhile; else they are IPU groups.
  bool streams_beside() const { return children.size() == 2 && children[0].ipu == children[1].ipu; }
};

// What one IPU of a group holds all through a phase (without phases: for good), per tile.
struct Residents {
  Bytes weights, gradients, optimizer_state, stash, vertex_code, exchange_code, control_code, io;
  Bytes lent;  // held for another IPU, whose location says remote_ipu
  Bytes total() const {
    return weights + gradients + optimizer_state + stash + vertex_code + exchange_code + control_code + io + lent;
  }
  Bytes executable() const { return vertex_code + exchange_code + control_code; }
  friend bool operator==(const Residents&, const Residents&) = default;
};

// Streaming Memory held for one IPU: its own, or as much for the IPU that lends it remote_machine from here.
struct StreamingUse {
  Bytes weights, gradients, optimizer_state, activations, host, code;
  Bytes total() const { return weights + gradients + optimizer_state + activations + host + code; }
};

// What waits on the IO tiles of an IPU until the phase before is done: the most there is of it, on all of them.
struct Preloaded {
  Bytes weights, code;
  Bytes total() const { return weights + code; }
};

struct Program {
  IdVector<FunctionId, Function> functions;
  Node root;
  std::vector<std::vector<Residents>> residents;  // by IPU group, then phase; one entry without phases
  std::vector<StreamingUse> ddr;                  // by IPU group
  std::vector<Preloaded> preloaded;               // by IPU group; empty: nothing waits
  std::int64_t compute_tiles = 0;

  std::size_t ipus() const { return residents.size(); }  // IPU groups
  Bytes executable(std::size_t ipu) const;               // code, in the phase that has most
};

void print(std::ostream& out, const Program& program, const Graph& graph);

}  // namespace superstep
