// SPDX-License-Identifier: Apache-2.0
// A model as ops and tensors, for one micro-batch. Autodiff and optimisers extend the graph with ordinary ops. Plain
// data. Ops are listed in an order in which they can run.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/graph/tensor.h"
#include "model/id.h"

namespace superstep {

struct OpDef;  // op_def.h

using TensorId = Id<struct TensorTag>;
using OpId = Id<struct OpTag>;
using UnitId = Id<struct UnitTag>;

using AttrValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

// Attributes of one op, sorted by name. Every attribute that the OpDef declares is present.
class Attributes {
 public:
  const AttrValue* find(std::string_view name) const;  // null if absent
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  void set(std::string name, AttrValue value);
  const std::vector<std::pair<std::string, AttrValue>>& items() const { return items_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

enum class TensorKind : std::uint8_t {
  input,            // fed for each micro-batch; Graph::sample_dimension holds the samples
  constant,         // known when the graph is built
  weight,           // trained
  weight_gradient,  // gradient of a weight for one micro-batch; accumulated over micro-batches
  optimizer_state,  // moments and master copies; lives from update to update
  activation,       // any other result, forward, backward or update
};

struct Tensor {
  std::string name;
  TensorInfo info;
  TensorKind kind = TensorKind::activation;
  OpId producer;                      // invalid: input, constant, weight, optimizer state
  TensorId weight;                    // weight_gradient, optimizer_state: the weight the tensor belongs to
  TensorId gradient_of;               // backward result: the tensor whose gradient this is, or is a summand of
  std::shared_ptr<const Array> data;  // values of a constant, or of a weight or state where known; else null
  bool frozen = false;                // weight: not trained
  // True if the tensor is a constant in proportion to the number of samples in the micro-batch. For a batch of M
  // micro-batches the constant is M times as large.
  bool counts_samples = false;
};

enum class Pass : std::uint8_t { forward, backward, update };
inline constexpr Pass kPasses[] = {Pass::forward, Pass::backward, Pass::update};

class GraphBuilder;

// A gradient function for a chain of several ops, leaner than the ops' own gradients. (Softmax needs only its result,
// not the exponentials.) The gradient flows from the last op of the chain straight to `operand`.
struct GradientRule {
  std::string_view name;
  TensorId (*gradient)(GraphBuilder&, TensorId operand, TensorId result, TensorId result_gradient);
};

// The turn of a loop that an op belongs to. A graph has the steps of a recurrent layer written out. A program runs them
// as one loop, whose code is that of one turn.
struct Turn {
  std::int32_t loop = -1;  // -1: the op is in no loop
  std::int32_t number = 0;
  friend auto operator<=>(const Turn&, const Turn&) = default;
};

struct Op {
  const OpDef* def = nullptr;
  Attributes attrs;
  std::vector<TensorId> inputs, outputs;  // an invalid input id: an optional operand left out
  std::string name;                       // "layer3/attention/query/matmul"
  Pass pass = Pass::forward;
  UnitId unit;  // the unit the op belongs to; backward and update ops belong to their forward op's unit
  Turn turn;    // as well; of an op that makes a gradient, that of the forward op
  const GradientRule* gradient_rule = nullptr;  // used in place of def->gradient; null: def->gradient is used
  TensorId gradient_operand;                    // operand of gradient_rule
};

// The part of a transformer that a unit is. `other`: not known, or no such part.
enum class UnitRole : std::uint8_t { other, embedding, attention, feed_forward, head };
std::string_view name_of(UnitRole role);

// A run of forward ops between two cut points. Stages and phases are runs of units.
struct Unit {
  std::string name;  // "layer3/ffn_up", "embedding", "head"
  UnitRole role = UnitRole::other;
  std::int64_t layer = -1;  // -1: not part of a layer
  // Number of the recompute checkpoint, equal for neighbouring units that share the checkpoint. -1: the units of a
  // layer share a checkpoint.
  std::int64_t checkpoint = -1;
  std::vector<OpId> ops[3];  // by Pass, in the order they run
};

// Returns the number of the unit's recompute checkpoint. Units x and x + 1 share a checkpoint if their numbers are
// equal and not -1.
inline std::int64_t checkpoint_of(const Unit& unit) { return unit.checkpoint >= 0 ? unit.checkpoint : unit.layer; }

struct Graph {
  std::string name;
  IdVector<TensorId, Tensor> tensors;
  IdVector<OpId, Op> ops;
  IdVector<UnitId, Unit> units;   // in forward order
  std::vector<TensorId> inputs;   // kind input
  std::vector<TensorId> outputs;  // results of interest, the loss first in training
  TensorId loss;                  // invalid: inference
  // Pairs {old value, new value} of weights and optimiser states.
  std::vector<std::pair<TensorId, TensorId>> updates;
  std::int64_t micro_batch = 1;  // samples per run of this graph
  int sample_dimension = 0;      // dimension of the inputs that holds the samples
  // Number of samples that batch norm takes one mean and variance over (model/graph/statistics.h). 0: all samples of
  // the micro-batch, or no batch norm.
  std::int64_t statistics_group = 0;

  const TensorInfo& info(TensorId t) const { return tensors[t].info; }
  std::int64_t parameters() const;  // elements of all weights
};

void print(std::ostream& out, const Graph& graph);

// Returns a number that is equal for units that do the same work in these passes: same role, ops, attributes, types,
// shapes and wiring. Names and positions do not count.
std::uint64_t signature(const Graph& graph, UnitId unit, std::span<const Pass> passes = kPasses);
// Returns the same number for ops that are given in the order they run.
std::uint64_t signature(const Graph& graph, std::span<const OpId> ops);

// Throws InternalError with the place if an invariant of Graph does not hold.
void check(const Graph& graph);

}  // namespace superstep
