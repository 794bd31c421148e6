// SPDX-License-Identifier: Apache-2.0
// The lowered program: supersteps grouped in functions that equal layers share, and a tree of repeats and calls. The
// cost model computes times and memory (Timeline) from a program. The executor computes tensors (Values) from a
// program.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "model/graph/graph.h"
#include "model/machine/links.h"
#include "model/program/cap_range.h"
#include "model/program/plan.h"
#include "model/program/sharding.h"
#include "model/program/terms.h"
#include "model/units.h"

namespace superstep {

enum class StepKind : std::uint8_t {
  compute,     // vertices on the tiles of one IPU
  exchange,    // between tiles of one IPU
  collective,  // between the IPUs of a group
  copy,        // from IPU to IPU, at a pipeline boundary
  load,        // to tiles, from Streaming Memory or another IPU
  store,       // from tiles, to Streaming Memory or another IPU
  host,        // between tiles and the host's stream
  fixed,       // fitted cost that no modelled step explains
};

// Data that a step moves. Inside a function, Step::operands name the tensors; outside, Step::units name the units whose
// data moves.
enum class Data : std::uint8_t {
  none,
  operands,              // operands or results of the step's op
  remade,                // operands of forward ops that run again to remake a tensor that the step's op reads
  update_sums,           // sums over the slices of a sharded update, of all replicas that share the update
  statistics,            // sums over the samples of a statistics group, of all replicas that hold the group
  inputs,                // host inputs of the micro-batch
  results,               // results of the micro-batch that the host reads
  activations,           // boundaries into the units, forward
  activation_gradients,  // gradients of the boundaries into the units, backward
  boundaries,            // activations one way and activation gradients the other way, at once
  stash,                 // tensors that a stage stores from its forward to its backward
  stash_shards,          // boundaries into the units, which are gathered from the shards that each IPU keeps
  gradient_shards,       // gradients of the boundaries into the units, gathered from shards
  weights,               // weights for the units' forward and backward
  new_weights,           // new values that the units' update made
  tied_weights,          // new values of weights that the units borrow, sent by the owners
  gradients,             // gradients of the units' weights: all that the phase's accumulators on the IPU hold
  tied_gradients,        // accumulators of weights that the units borrow, sent to the owners
  accumulators,          // accumulators of the units, on the way out of the processor or back
  optimizer_state,
  code,
};
std::string_view name_of(Data data);

// One superstep of one IPU. A step says what is done, not how long it takes (see cost()). A field whose comment names
// kinds of steps has no meaning for other kinds.
struct Step {
  StepKind kind = StepKind::compute;
  Term term = Term::vector;
  std::int32_t op = -1;    // position in the unit's op list of the function's pass; -1: none
  std::int64_t times = 1;  // serialisation: number of runs, one after the other
  Data data = Data::none;
  // Inputs (k) and outputs (-1 - k) of the op. exchange: tensors that are brought to the tiles. compute with a grid:
  // inputs that lie on their tiles already. collective: the tensor that is converted.
  std::vector<std::int32_t> operands;
  std::vector<UnitId> units;

  Cycles rows;         // compute, on the busiest tile: AMP cycles that multiply useful rows
  Cycles padding;      // compute, on the busiest tile: AMP cycles spent on padded rows and channels
  Cycles amp_fixed;    // compute, on the busiest tile: AMP cycles of weight loads and calls
  Cycles vector;       // compute, on the busiest tile: vertex cycles before the calibrated factor; fixed: the cycles
  Bytes tile_bytes;    // exchange: bytes the busiest tile receives at the plain rate; other transfers: per IPU
  Bytes paired_bytes;  // exchange: bytes the busiest tile receives at the paired rate
  std::int64_t pieces = 0;  // exchange: runs of partial sums that the busiest tile receives, each from another tile
  std::int64_t tiles = 0;   // tiles that take part
  CollectiveKind collective = CollectiveKind::all_reduce;
  bool along = false;  // collective: true if the bytes travel with another collective, whose hops and sync serve both
  GroupShape group;    // collective: members; copy, remote load and store: the stride to the other IPU
  GroupShape holders;  // copy: IPUs that hold the same bytes, and may each send a slice
  Location location = Location::streaming;  // load, store: the memory at the other end
  bool beside = false;                      // host: on IO tiles, beside the step's other work, whatever that is
  Bytes temporary;                          // temporary memory of the step, bytes per tile
  Bytes live;                               // bytes per tile of tensors live during the step, without `temporary`
  Bytes keeping;  // bytes per tile beside `live` in a call that keeps (Node::keeps): tensors that only backward reads
  // compute: number of parts, in the row-major order of tiles. A matrix product has parts of batch, rows, columns and
  // contraction. Any other op has parts of its parallel axes and parts of its reduce axes.
  std::vector<std::int64_t> grid;
  bool generic = false;  // true: costed as an opaque op
};

// A set of ops by position in all_ops(). All vertices of an op share their code.
using VertexSet = std::bitset<256>;

// Bytes that are live on a tile during a range of steps of a function. The memory of a step is the sum of all ranges
// that include the step, and of its temporary memory.
struct LiveRange {
  TensorId tensor;        // root of the tensor; `gathered`: the first output of the op
  bool gathered = false;  // true: operands gathered for an op, and results before they are scattered
  bool stays = false;     // true: in a call that keeps (Node::keeps), the range lasts beyond the end of the function
  Bytes bytes;
  std::int32_t first = 0, last = 0;  // steps, both included
};

// Memory that a function needs on a tile, in bytes per tile.
struct Footprint {
  Bytes peak;           // largest live + temporary, if results are freed after their last use in this pass
  Bytes standing;       // lower bound on `peak` for any bound on temporary memory, and for any smaller number of tiles
  Bytes peak_keeping;   // forward: `peak` if all tensors that the backward pass reads stay
  Bytes kept;           // forward: results that this unit's backward pass reads
  Bytes crossing;       // forward: results that only later units read
  Bytes incoming;       // live at the start: forward results of earlier units, or gradients from later units
  Bytes exchange_code;  // code of exchanges and collectives; for a range of bounds, of those that all bounds lead to
  VertexSet vertices;   // kinds of vertex that run
  CapRange caps;        // all bounds on temporary memory that give exactly these steps
};

// The supersteps of one unit in one pass on one IPU. Equal units call the same function.
struct Function : Footprint {
  std::string name;
  UnitId unit;  // a representative of the equal units; a call binds the tensors of its own unit by position
  Pass pass = Pass::forward;
  std::vector<Step> steps;
  std::vector<LiveRange> live;  // in the order of their first steps
};

using FunctionId = Id<struct FunctionTag>;

// A node of the program's tree. A repeat runs its children `count` times. In iteration i a call below the repeat works
// on micro-batch i - lag, and does nothing if the repeat has no such micro-batch. This rule gives pipelines their fill
// and drain. In the cost model every iteration takes as long as a full iteration.
struct Node {
  enum class Kind : std::uint8_t { sequence, repeat, parallel, call, step } kind = Kind::sequence;
  std::string name;
  std::int64_t count = 1;          // repeat: iterations
  std::int64_t micro_batches = 1;  // repeat: micro-batches, at most `count`
  std::vector<Node> children;
  std::int64_t ipu = -1;       // IPU group (0 .. p-1) that runs the node; -1: as the parent says
  std::int64_t phase = -1;     // phase whose residents are on the tiles meanwhile; -1: as the parent says
  FunctionId function;         // call: the function that is called
  UnitId unit;                 // call: the unit whose tensors the function works on
  std::int64_t lag = 0;        // call: iterations from the start of a micro-batch to this call
  bool recompute = false;      // call: true if a forward pass runs again
  bool keeps = false;          // call of a forward: true if tensors that backward reads stay until the backward call
  bool keeps_results = false;  // call that keeps: true if results that the next unit of its block reads stay too
  Step step;                   // step: the step

  // True for a parallel of two children on the same IPUs: work, and transfers beside the work. Children of any other
  // parallel run on different IPU groups.
  bool streams_beside() const { return children.size() == 2 && children[0].ipu == children[1].ipu; }
};

// Bytes per tile that one IPU of a group holds all through a phase; without phases, for the whole step.
struct Residents {
  Bytes weights, gradients, optimizer_state, stash, vertex_code, exchange_code, control_code, io;
  Bytes lent;  // held for another IPU whose plan location is remote_ipu
  Bytes total() const {
    return weights + gradients + optimizer_state + stash + vertex_code + exchange_code + control_code + io + lent;
  }
  Bytes executable() const { return vertex_code + exchange_code + control_code; }
  friend bool operator==(const Residents&, const Residents&) = default;
};

// Bytes of Streaming Memory used per IPU. Memory of location remote_machine counts too: an IPU borrows as much of
// another machine as its own machine lends.
struct StreamingUse {
  Bytes weights, gradients, optimizer_state, activations, host, code;
  Bytes total() const { return weights + gradients + optimizer_state + activations + host + code; }
};

// Bytes that wait on the IO tiles of an IPU, all tiles together, until the phase before is done. The phase with most
// such bytes counts.
struct Preloaded {
  Bytes weights, code;
  Bytes total() const { return weights + code; }
};

struct Program {
  IdVector<FunctionId, Function> functions;
  Node root;
  std::vector<std::vector<Residents>> residents;  // by IPU group, then by phase; one entry without phases
  std::vector<StreamingUse> ddr;                  // by IPU group
  std::vector<Preloaded> preloaded;               // by IPU group; empty: no phase is preloaded
  std::int64_t compute_tiles = 0;

  std::size_t ipus() const { return residents.size(); }  // number of IPU groups
  Bytes executable(std::size_t ipu) const;               // code bytes per tile, in the phase with most code
};

void print(std::ostream& out, const Program& program, const Graph& graph);

}  // namespace superstep
