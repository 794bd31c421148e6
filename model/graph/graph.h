// SPDX-License-Identifier: Apache-2.0
// A model as ops and tensors, for one micro-batch. Autodiff and optimisers extend it with ordinary
// ops. Plain data: ops stand in an order in which they can run.
#pragma once

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

struct OpDef;  // model/ops/op.h

using TensorId = Id<struct TensorTag>;
using OpId = Id<struct OpTag>;
using UnitId = Id<struct UnitTag>;

using AttrValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

// Attributes of one op, sorted by name. Every attribute an OpDef declares is present.
class Attributes {
 public:
  const AttrValue* find(std::string_view name) const;  // nullptr when absent
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
  input,            // fed for each micro-batch; Graph::sample_dimension carries samples
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
  TensorId weight;                    // of weight_gradient and optimizer_state: the weight it belongs to
  TensorId gradient_of;               // of a backward result: the tensor whose gradient it is, or a summand of that
  std::shared_ptr<const Array> data;  // constants; weights and states when their values are known; else null
  // Of a constant: a number of samples in the micro-batch, or of something each has as many of. A batch of M
  // micro-batches has M times as many.
  bool counts_samples = false;
};

enum class Pass : std::uint8_t { forward, backward, update };
inline constexpr Pass kPasses[] = {Pass::forward, Pass::backward, Pass::update};

class GraphBuilder;

// The gradient of a value reached over several ops, in a leaner form than theirs (softmax needs only
// its result, not the exponentials). It flows from the last of these ops straight to `operand`.
struct GradientRule {
  std::string_view name;
  TensorId (*gradient)(GraphBuilder&, TensorId operand, TensorId result, TensorId result_gradient);
};

struct Op {
  const OpDef* def = nullptr;
  Attributes attrs;
  std::vector<TensorId> inputs, outputs;  // an invalid input id: an optional operand left out
  std::string name;                       // "layer3/attention/query/matmul"
  Pass pass = Pass::forward;
  UnitId unit;  // the cut unit the op belongs to; backward and update ops share their forward op's unit
  const GradientRule* gradient_rule = nullptr;  // if set, taken instead of def->gradient
  TensorId gradient_operand;                    // of gradient_rule
};

// What a unit is in a transformer, where its maker says so.
enum class UnitRole : std::uint8_t { other, embedding, attention, feed_forward, head };
std::string_view name_of(UnitRole role);

// A run of forward ops between two cut points. Stages and phases are runs of units.
struct Unit {
  std::string name;  // "layer3/ffn_up", "embedding", "head"
  UnitRole role = UnitRole::other;
  std::int64_t layer = -1;  // -1: not part of a layer
  // Neighbours that share a recompute checkpoint have the same; -1: those of one layer do.
  std::int64_t checkpoint = -1;
  std::vector<OpId> ops[3];  // by Pass, in order
};

// Units x and x + 1 share a checkpoint if this is equal and not -1.
inline std::int64_t checkpoint_of(const Unit& unit) { return unit.checkpoint >= 0 ? unit.checkpoint : unit.layer; }

struct Graph {
  std::string name;
  IdVector<TensorId, Tensor> tensors;
  IdVector<OpId, Op> ops;
  IdVector<UnitId, Unit> units;   // in forward order
  std::vector<TensorId> inputs;   // kind input
  std::vector<TensorId> outputs;  // results of interest, the loss first in training
  TensorId loss;                  // invalid for inference
  // Weight updates: {old value, new value} for weights and optimizer states.
  std::vector<std::pair<TensorId, TensorId>> updates;
  std::int64_t micro_batch = 1;  // samples per run of this graph
  int sample_dimension = 0;      // of the inputs: the dimension that holds the samples
  // Samples that batch norm takes one mean and variance over (model/graph/statistics.h); 0: the micro-batch's, or there
  // is no batch norm.
  std::int64_t statistics_group = 0;

  const TensorInfo& info(TensorId t) const { return tensors[t].info; }
  std::int64_t parameters() const;  // elements of all weights
};

void print(std::ostream& out, const Graph& graph);

// A number equal for units that do the same work in these passes: same role, ops, attributes, types, shapes and wiring.
// Names and positions do not count.
std::uint64_t signature(const Graph& graph, UnitId unit, std::span<const Pass> passes = kPasses);

// Throws InternalError with the place when an invariant of Graph does not hold.
void check(const Graph& graph);

}  // namespace superstep
