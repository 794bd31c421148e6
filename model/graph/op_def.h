// SPDX-License-Identifier: Apache-2.0
// An operator in one place: what it computes, which iteration space it has, what a block of that
// space reads and writes, what a block costs on a tile, and its gradient. Everything else (legal
// splits, tile mapping, exchange volume, tensor-parallel sharding, tiled execution, conformance
// tests) is derived from this table by generic code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"
#include "model/machine/machine.h"
#include "model/numerics/contraction_tree.h"
#include "model/numerics/exact_sum.h"
#include "model/numerics/half.h"
#include "model/numerics/kernels.h"

namespace superstep {

class GraphBuilder;
struct ProductDef;
namespace numerics {
class Blas;
class Team;
}  // namespace numerics

// What the functions of an OpDef may know of one use of the op.
struct OpCall {
  const OpDef& def;
  const Attributes& attrs;
  std::span<const TensorInfo> in;        // a left-out optional operand has shape {0}
  std::span<const TensorInfo> out;       // empty while infer runs
  std::span<const Array* const> values;  // per input: its values when they are constant, else nullptr
};

// parallel: blocks along it write disjoint results. reduce: blocks along it contribute to the same
// results, combined by the op's Reduction. whole: never split.
enum class AxisKind : std::uint8_t { parallel, reduce, whole };

struct Axis {
  std::string_view name;
  std::int64_t extent = 1;
  AxisKind kind = AxisKind::parallel;
};

// How one dimension of an operand follows a block [begin, end) of an axis:
//   low  = begin * stride + offset                      (+ window_begin * dilation)
//   high = (end - 1) * stride + span + offset           (+ (window_end - 1) * dilation)
// clamped to the dimension. axis -1: always the whole dimension. span > 1 serves reshapes, where one
// step of the axis is a run of `span` elements.
struct DimMap {
  int axis = -1;
  std::int64_t stride = 1;
  std::int64_t span = 1;
  std::int64_t offset = 0;
  int window_axis = -1;
  std::int64_t dilation = 1;
};
using Projection = std::vector<DimMap>;  // one per dimension of the operand

enum class Reduction : std::uint8_t { none, sum, max, min };

// How a sum over reduce axes comes to the same bits in whatever way the axes are cut (docs/explanation/numerics.md).
enum class Summation : std::uint8_t {
  plain,        // combined as they come: max, min, and sums where at most one block adds anything but zero (lookups)
  contraction,  // in the order of a ContractionTree over the reduce axes, row-major in the order of Space::axes
  exact,        // without error, by OpDef::add_terms
};

// The iteration space of one use of an op. `linear` has a bit per operand the result depends on
// linearly; if several bits are set it is jointly linear in them (add), so partial sums may pass
// through when all of them are partial sums.
struct Space {
  std::vector<Axis> axes;
  std::vector<Projection> in, out;
  Reduction reduction = Reduction::none;  // over the reduce axes
  std::uint32_t linear = 0;
};

// A block of an iteration space or a region of a tensor: [begin, end) per axis or dimension.
struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t extent() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};
using Block = std::vector<Range>;
std::int64_t volume(const Block& block);

// The region of an operand of shape `shape` that `block` touches.
Block project(const Projection& projection, const Shape& shape, const Block& block);

// The values of one region of a tensor, row-major within the region.
struct View {
  DType type = DType::fp32;
  Block region;               // in coordinates of the whole tensor
  std::byte* data = nullptr;  // null: a left-out optional operand
};
struct ConstView {
  DType type = DType::fp32;
  Block region;
  const std::byte* data = nullptr;
};

// Where the elements of a result lie in the tensor of the whole global batch, which random bits are keyed by.
struct ResultPlace {
  std::uint64_t tensor = 0;        // key_of(its name)
  std::int64_t offset = 0;         // of the result's first element
  std::vector<std::int64_t> step;  // per dimension of the result; empty: row-major in its own shape
  // Along `dimension` runs of so many elements lie `apart` elements of it further from each other than in the result:
  // the samples of other micro-batches come between. -1: along none.
  int dimension = -1;
  std::int64_t run = 1, apart = 0;
};
std::uint64_t key_of(std::string_view tensor_name);

// The node of a larger contraction that the steps of a block make up.
struct ContractionPart {
  numerics::ContractionTree tree;
  numerics::StepRange node;
};

enum class Rounding : std::uint8_t { nearest, stochastic };

// What is not in the operands: keys of the random numbers, and how sums and roundings are done.
struct KernelContext {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t first_sample = 0;              // of the micro-batch in the global batch: sample dimension offset
  std::span<const ResultPlace> results = {};  // empty: the results are whole tensors without names
  std::int64_t chunk = numerics::ContractionTree::kDefaultChunk;
  std::optional<ContractionPart> contraction = {};         // none: a block's steps are a contraction of their own
  numerics::Partials partials = numerics::Partials::full;  // of contractions, in device mode
  Rounding rounding = Rounding::nearest;                   // of fp16 results
  numerics::Overflow overflow = numerics::Overflow::infinity;
  const numerics::Blas* blas = nullptr;  // multiplies, in device mode; null: numerics::contract
  numerics::Team* team = nullptr;        // null: the caller alone
};

// Unrounded sums of the elements of one region of a result, row-major; one of the two is as long as the region.
struct ExactSums {
  Block region;
  std::vector<numerics::ExactSum<float>> of_floats;
  std::vector<numerics::ExactSum<double>> of_doubles;
};

// One tile as the cost functions see it.
struct TileCosts {
  std::int64_t workers = 6;
  Cycles launch;  // one MultiVertex
  Amp amp;
};

struct AttrSpec {
  std::string_view name;
  AttrValue fallback;   // its alternative is the attribute's type
  bool of_work = true;  // false: whatever its value, the work is the same
};

// What the integers of operand 1 name. takes: the elements of operand 0, a table, that make up the result. The table is
// walked through along the reduce axis, of which at most one step adds to an element of the result. adds: the elements
// of the result that those of operand 0 are added to; all others stay as they are.
enum class Lookup : std::uint8_t { none, takes, adds };

// What an element of the result is of the elements of the operands at its place, which broadcast.
enum class Joins : std::uint8_t { other, sum, product };

// What a weight at an operand is to the op. Values for a weight that has none are drawn by it (initial_values.h).
enum class WeightRole : std::uint8_t {
  summand,    // and all else for which zero is a value to start from
  factor,     // multiplies, divides, or is read where zero has no finite value or slope
  matrix,     // of a matrix product or of a table
  window,     // of a convolution
  passed_on,  // the result holds the same values, in other places or types or a little shifted
};

// What an op that sums makes of its sum over samples.
struct Statistic {
  bool mean = false;        // divided by how many were summed
  std::int64_t across = 0;  // 0: of no statistics group. 1: of a group within the micro-batch. More: of a group that so
                            // many consecutive replicas share, whose results are to be summed
};

struct OpDef {
  std::string_view name;
  std::vector<AttrSpec> attrs;
  int min_inputs = 1;
  int max_inputs = 1;

  // Types and shapes of the results. Throws Error("", message) on operands that do not match.
  std::vector<TensorInfo> (*infer)(const OpCall&) = nullptr;
  Space (*space)(const OpCall&) = nullptr;
  // Computes `block` and combines it into `out` by the op's reduction; results start as the
  // reduction's identity (0, -inf, +inf) or, without one, as garbage. `in` and `out` hold at least
  // the regions that project() gives; reading outside them is an error.
  // The type of an output view may be wider than the result's, fp32 for fp16: rounding is then the caller's.
  void (*kernel)(const OpCall&, const Block&, std::span<const ConstView> in, std::span<const View> out,
                 const KernelContext&) = nullptr;
  // Where the reduction is a sum. The kernel of a contraction stores its sum, that of context.contraction's node or of
  // a tree of its own, in place of what was there; the kernel of an exact sum stores finish() of it.
  Summation summation = Summation::plain;
  // Summation::exact: adds the terms of `block` to the sums of a region that holds what the block writes.
  void (*add_terms)(const OpCall&, const Block&, std::span<const ConstView> in, ExactSums& sums) = nullptr;
  // Summation::exact: a result from its sum (means: a factor). Null: the sum itself.
  double (*finish)(const OpCall&, double sum) = nullptr;
  // Tile cycles for one block whose extents are `extents`, all workers used. Never shrinks as the block grows.
  Cycles (*cycles)(const TileCosts&, const OpCall&, std::span<const std::int64_t> extents) = nullptr;
  // Gradients for the inputs, as ops added to the graph: one id per input, invalid where there is
  // none. out_grads may hold invalid ids (no gradient flows there). Null: not differentiable.
  std::vector<TensorId> (*gradient)(GraphBuilder&, OpId, std::span<const TensorId> out_grads) = nullptr;
  // True when out_grads may come in any shape that broadcasts to the result's, and in another
  // floating type: gradients of sums then stay small. False: they have the result's shape and type.
  bool broadcast_gradient = false;
  // What lowering asks of matrix products, whose tile split is searched (multiply, exchange and reduction together).
  // Null: the op does not use the AMP.
  const ProductDef* product = nullptr;
  // True when the result is the operand's bytes, or a part of them, under other indices (reshape,
  // squeeze, slice): no work on the device until someone reads it; neither costed nor given memory.
  bool view = false;
  // True when results are operands' bits at other places (transpose, concat): nothing is rounded.
  bool moves = false;
  // True when the elements of the operand come out in the same row-major order under another shape. Dimensions of the
  // result may begin and end in the midst of the operand's.
  bool regroups = false;
  // True when results depend on the keys of a KernelContext and on where elements lie in the global batch. Attribute
  // `samples` says how many samples there are; 0: elements are not numbered by sample.
  bool random = false;
  // False: stays in the graph where all operands are constants, as the op is there for a tensor of its own. Random ops
  // stay as well.
  bool folds = true;
  // True for non-linearities that end a layer of a network, and for pooling in place of one: imported models are cut
  // behind them.
  bool activation = false;
  Lookup lookup = Lookup::none;
  Joins joins = Joins::other;
  // Per operand, the last one for all that follow. Empty: passed_on where `moves`, else summand.
  std::vector<WeightRole> weight_roles;
  // Returns whether the result is linear in the operands of `set` together, a bit each, while the others are held.
  // Rounding of the result does not count, unlike in Space::linear, where sums of rounded parts must do. Null: the set
  // is to be that of Space::linear.
  bool (*linear_in)(const OpCall&, std::uint32_t set) = nullptr;
  // As `space`, with an axis also for each leading dimension of the result whose extent is 1: samples may lie along it.
  // Null: `space` has all that there are.
  Space (*full_space)(const OpCall&) = nullptr;
  Statistic (*statistic)(const Attributes&) = nullptr;  // null: the op takes none
  // Bytes of vertex code per tile that runs it; shared by all uses of the op with the same types.
  Bytes vertex_code{1024};
  // False: evaluated as a whole, never split; costed as all bytes moved and one vector slot per
  // element, and marked generic in reports.
  bool core = true;
};

// What a weight at operand `k` is to the op.
WeightRole weight_role(const OpDef& def, std::size_t k);
// True when no gradient flows to any operand: results are constant almost everywhere, or gradients are to end here.
bool stops_gradients(const OpDef& def);
Statistic statistic_of(const Op& op);

// All ops, by name; the hand-written list is model/ops/registry.cc.
std::span<const OpDef* const> all_ops();
const OpDef* find_op(std::string_view name);  // nullptr when unknown

inline const TensorInfo kLeftOut{DType::fp32, {0}};  // of an operand that a call leaves out

// Runs one op on whole tensors; in model/ops/compute.cc.
std::vector<Array> evaluate_op(const OpCall& call, std::span<const Array* const> inputs, const KernelContext& context);

// The pieces of an OpCall for an op of a graph, kept alive together.
class CallOf {
 public:
  CallOf(const Graph& graph, OpId op);
  CallOf(const CallOf&) = delete;
  CallOf& operator=(const CallOf&) = delete;
  const OpCall& operator*() const { return call_; }
  const OpCall* operator->() const { return &call_; }

 private:
  std::vector<TensorInfo> in_, out_;
  std::vector<const Array*> values_;
  OpCall call_;
};

}  // namespace superstep
