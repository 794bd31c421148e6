// SPDX-License-Identifier: Apache-2.0
// Builds a Graph op by op. Shapes are inferred as ops are added. Ops with small constant inputs only are evaluated at
// once, so shape arithmetic disappears. Chains of reshapes become one reshape.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/graph/graph.h"
#include "model/graph/sample_place.h"
#include "model/graph/samples.h"

namespace superstep {

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }

  // Prefix of names: everything added during the scope's lifetime is named "outer/inner/...".
  class Scope {
   public:
    Scope(GraphBuilder& b, std::string name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t length_;
  };

  // The turns of a loop that is written out (Op::turn): all ops added after next() belong to the next turn, until the
  // end of the object's lifetime. A loop within a loop is a part of the outer one's turns.
  class Loop {
   public:
    explicit Loop(GraphBuilder& b);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;
    void next();

   private:
    GraphBuilder& builder_;
    Turn turn_;
    bool inner_;
  };

  // Begins a new unit, which all ops added afterwards belong to. Returns the unit.
  UnitId begin_unit(std::string name, std::int64_t layer = -1, UnitRole role = UnitRole::other);
  void set_unit(UnitId unit) { unit_ = unit; }
  void set_turn(Turn turn) { turn_ = turn; }  // of all ops added afterwards
  void set_pass(Pass pass) { pass_ = pass; }

  TensorId input(std::string name, DType type, Shape shape);
  TensorId weight(std::string name, DType type, Shape shape);
  TensorId optimizer_state(std::string name, DType type, Shape shape, TensorId weight);
  TensorId constant(Array value, std::string name = "");
  TensorId constant(std::shared_ptr<const Array> value, std::string name = "");  // may be shared with other graphs
  TensorId scalar(DType type, double value);  // one constant for all equal scalars of the builder

  // Adds an op and returns its results. Attributes that are not given take their defaults. Throws Error with the op's
  // name when the operands do not match.
  std::vector<TensorId> add(std::string_view op, std::vector<TensorId> inputs, Attributes attrs = {},
                            std::string_view name = "");
  // Adds an op as add() does, and returns its first result. For ops with one result.
  TensorId one(std::string_view op, std::vector<TensorId> inputs, Attributes attrs = {}, std::string_view name = "");

  // Sets the tensors that wants() is true for, as flags by tensor. Null: all tensors.
  void set_wanted(const std::vector<bool>* wanted) { wanted_ = wanted; }
  // True if `t` is a floating-point tensor whose gradient is asked for. Gradient functions skip all other tensors.
  bool wants(TensorId t) const;
  // Sets the analysis that place_of_samples() reads. Null: place_of_samples() returns none for every tensor.
  void set_samples(const Samples* samples) { samples_ = samples; }
  // Returns the dimension of `t` that holds the samples. None: `t` has no such dimension, or the analysis lacks `t`.
  std::optional<SamplePlace> place_of_samples(TensorId t) const;
  // Sets that the gradient of `result` flows to `operand` by `rule`, not through the ops in between. No effect on a
  // constant.
  void set_gradient_rule(TensorId result, TensorId operand, const GradientRule& rule);

  // Core ops, shared by the zoo, the gradients and the importer. Elementwise operands broadcast as in NumPy.
  // Floating-point results take the type of the first floating-point operand.
  TensorId matmul(TensorId a, TensorId b, bool transpose_a = false, bool transpose_b = false,
                  std::string_view name = "");
  TensorId binary(std::string_view op, TensorId a, TensorId b) {
    return one(op, {a, b});
  }                                                                         // add sub mul div max min pow ...
  TensorId unary(std::string_view op, TensorId a) { return one(op, {a}); }  // exp log sqrt rsqrt tanh erf gelu neg ...
  TensorId scale(TensorId a, double factor);                                // a * factor
  TensorId shift(TensorId a, double term);                                  // a + term
  // Reduces `a` over `axes`; negative axes count from the end. Kinds: sum, mean, max, min, sum_square, mean_square,
  // prod. `keep`: reduced dimensions stay, with extent 1. The result has the type of `a`, or `type` where given
  // (statistics of fp16 values are kept in fp32).
  TensorId reduce(std::string_view kind, TensorId a, std::vector<std::int64_t> axes, bool keep);
  TensorId reduce(std::string_view kind, TensorId a, std::vector<std::int64_t> axes, bool keep, DType type);
  TensorId reshape(TensorId a, Shape shape);  // one extent may be -1
  TensorId transpose(TensorId a, std::vector<std::int64_t> permutation);
  TensorId cast(TensorId a, DType type);  // a itself if its type is `type` already
  TensorId slice(TensorId a, std::int64_t axis, std::int64_t begin, std::int64_t end);
  TensorId concat(std::vector<TensorId> parts, std::int64_t axis);
  // Cuts `a` along an axis into parts of the given sizes, which must sum to the extent. A single size returns `a`.
  std::vector<TensorId> split(TensorId a, std::int64_t axis, std::vector<std::int64_t> sizes);
  TensorId gather(TensorId table, TensorId indices);  // rows of dimension 0
  TensorId expand(TensorId a, Shape shape);           // broadcast as in NumPy; a itself if its shape is `shape`
  TensorId stop_gradient(TensorId a);                 // a as a constant for the backward pass: no gradient flows to a

  // Compound operations, expanded into core ops.
  TensorId softmax(TensorId a, std::int64_t axis = -1);
  TensorId log_softmax(TensorId a, std::int64_t axis = -1);
  // Normalises `a` to mean 0 and variance 1 over `axes`. `across`: as in group_statistic(), where `axes` hold the
  // samples of a statistics group; else 0.
  TensorId normalize(TensorId a, std::vector<std::int64_t> axes, double epsilon, std::int64_t across = 0);
  // Marks `t`, the result of a reduction, as a statistic of a group of samples, and returns `t`. `across` is the number
  // of consecutive replicas that hold the group: 1 if the group lies within the micro-batch. 0: no mark. A mean is
  // divided by the size of the whole group.
  TensorId group_statistic(TensorId t, std::int64_t across);
  TensorId layer_norm(TensorId a, TensorId gamma, TensorId beta, double epsilon, std::int64_t axis = -1);
  // Divides `a` by the root of its mean square over the dimensions from `axis` on, and multiplies by gamma, which may
  // be invalid.
  TensorId rms_norm(TensorId a, TensorId gamma, double epsilon, std::int64_t axis = -1);
  // Operand and axes of the statistics that batch norm takes in training mode: over all dimensions of a statistics
  // group but the channels.
  struct BatchGroups {
    TensorId values;                 // [n, channels, ...], or [groups, samples, channels, ...] for several groups
    std::vector<std::int64_t> axes;  // axes of `values` that one statistic reduces
    std::int64_t across = 1;         // replicas that hold one group
  };
  // Returns the groups of `a` [n, channels, ...]. Throws Error if the micro-batch and Graph::statistics_group are not
  // multiples of each other.
  BatchGroups batch_groups(TensorId a);
  // Batch normalisation in training mode over all dimensions but 1; gamma and beta [channels].
  TensorId batch_norm(TensorId a, TensorId gamma, TensorId beta, double epsilon);
  TensorId linear(TensorId a, TensorId weight, TensorId bias);  // a W + bias; bias may be invalid
  TensorId dropout(TensorId a, double ratio);                   // ratio 0: a itself
  // Mean of -log softmax(logits)[label] over the rows whose label is not `ignore`. `logits`: [rows, classes]. If all
  // labels are `ignore`: 0, or NaN, as PyTorch and ONNX have it, if `of_none_is_nan`.
  TensorId cross_entropy(TensorId logits, TensorId labels, std::int64_t ignore = -100, bool of_none_is_nan = false);

  // Sums `a` over dimensions until the result has `shape` (the adjoint of broadcasting).
  // `of_each_sample`: each sample has a sum of its own. Else the sample dimension is summed over even if the
  // micro-batch has one sample, so that the ops are as for several samples. `may_be_view`: a sum over nothing but
  // dimensions of extent 1 becomes a view. Adding up micro-batches completes such a sum.
  TensorId sum_to(TensorId a, const Shape& shape, bool of_each_sample = false, bool may_be_view = true);

  const TensorInfo& info(TensorId t) const { return graph_.info(t); }

 private:
  friend class Scope;
  friend class Loop;
  std::string qualified(std::string_view name) const;
  std::string fresh_name(std::string_view op);
  TensorId source(std::string name, TensorInfo info, TensorKind kind);
  std::vector<TensorId> append(Op op, std::vector<TensorInfo> results);
  Graph& graph_;
  std::string scope_;
  UnitId unit_;
  Turn turn_;
  std::int32_t loops_ = 0;
  Pass pass_ = Pass::forward;
  std::unordered_map<std::string, std::int64_t> counts_;  // number of fresh names, by the name without its number
  const std::vector<bool>* wanted_ = nullptr;
  const Samples* samples_ = nullptr;
  std::map<std::pair<DType, double>, TensorId> scalars_;
};

}  // namespace superstep
