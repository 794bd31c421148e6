// SPDX-License-Identifier: Apache-2.0
// Builds a Graph op by op. Shapes are inferred as ops are added; ops whose inputs are all constants
// and small are evaluated at once (so shape arithmetic disappears); reshape chains fold.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/graph/graph.h"
#include "model/graph/samples.h"

namespace superstep {

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }

  // Names: everything added until the scope ends is named "outer/inner/...".
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

  // Ops added from here on belong to a new unit.
  UnitId begin_unit(std::string name, std::int64_t layer = -1, UnitRole role = UnitRole::other);
  void set_unit(UnitId unit) { unit_ = unit; }
  void set_pass(Pass pass) { pass_ = pass; }

  TensorId input(std::string name, DType type, Shape shape);
  TensorId weight(std::string name, DType type, Shape shape);
  TensorId optimizer_state(std::string name, DType type, Shape shape, TensorId weight);
  TensorId constant(Array value, std::string name = "");
  TensorId constant(std::shared_ptr<const Array> value, std::string name = "");  // that other graphs may have too
  TensorId scalar(DType type, double value);

  // Adds an op; unnamed attributes take their defaults. Throws Error with the op's name when the
  // operands do not match. Returns its results.
  std::vector<TensorId> add(std::string_view op, std::vector<TensorId> inputs, Attributes attrs = {},
                            std::string_view name = "");
  // The same for ops with one result.
  TensorId one(std::string_view op, std::vector<TensorId> inputs, Attributes attrs = {}, std::string_view name = "");

  // From here on wants() is true only of the tensors marked; without a mark, of all.
  void set_wanted(const std::vector<bool>* wanted) { wanted_ = wanted; }
  // True when somebody asks for the gradient of `t`: gradient functions skip the others.
  bool wants(TensorId t) const;
  // From here on place_of_samples() knows the tensors that `samples` has; null: none.
  void set_samples(const Samples* samples) { samples_ = samples; }
  // Where the samples lie in `t`; none when that is not known, or it has none.
  std::optional<SamplePlace> place_of_samples(TensorId t) const;
  // The gradient of `result` flows to `operand` by `rule`, not through the ops in between.
  void set_gradient_rule(TensorId result, TensorId operand, const GradientRule& rule);

  // The vocabulary that the zoo, the gradients and the importer share. Elementwise operands
  // broadcast as in NumPy. Floating-point results take the type of the first floating operand.
  TensorId matmul(TensorId a, TensorId b, bool transpose_a = false, bool transpose_b = false,
                  std::string_view name = "");
  TensorId binary(std::string_view op, TensorId a, TensorId b) {
    return one(op, {a, b});
  }                                                                         // add sub mul div max min pow ...
  TensorId unary(std::string_view op, TensorId a) { return one(op, {a}); }  // exp log sqrt rsqrt tanh erf gelu neg ...
  TensorId scale(TensorId a, double factor);                                // a * factor
  TensorId shift(TensorId a, double term);                                  // a + term
  // kind: sum, mean, max, min, sum_square. axes negative from the end; keep: reduced dims stay as 1.
  // also mean_square, prod; the result may have another type (statistics of fp16 values in fp32).
  TensorId reduce(std::string_view kind, TensorId a, std::vector<std::int64_t> axes, bool keep);
  TensorId reduce(std::string_view kind, TensorId a, std::vector<std::int64_t> axes, bool keep, DType type);
  TensorId reshape(TensorId a, Shape shape);  // one extent may be -1
  TensorId transpose(TensorId a, std::vector<std::int64_t> permutation);
  TensorId cast(TensorId a, DType type);  // a itself when it has the type
  TensorId slice(TensorId a, std::int64_t axis, std::int64_t begin, std::int64_t end);
  TensorId concat(std::vector<TensorId> parts, std::int64_t axis);
  // Runs of `sizes` along an axis, which they sum to; one alone is the operand itself.
  std::vector<TensorId> split(TensorId a, std::int64_t axis, std::vector<std::int64_t> sizes);
  TensorId gather(TensorId table, TensorId indices);  // rows of dimension 0
  TensorId expand(TensorId a, Shape shape);           // broadcast as in NumPy; a itself when it has the shape
  TensorId stop_gradient(TensorId a);                 // a, of which no gradient is taken

  // Compound operations, expanded into core ops.
  TensorId softmax(TensorId a, std::int64_t axis = -1);
  TensorId log_softmax(TensorId a, std::int64_t axis = -1);
  // Mean 0, variance 1 over axes. across: 0, or `axes` has the samples of a statistics group (see group_statistic).
  TensorId normalize(TensorId a, std::vector<std::int64_t> axes, double epsilon, std::int64_t across = 0);
  // Marks the result of a reduction as a statistic of a group of samples that lies within the micro-batch (1) or
  // goes on over `across` consecutive replicas; 0: as it is. A mean then counts the whole group. Returns `t`.
  TensorId group_statistic(TensorId t, std::int64_t across);
  TensorId layer_norm(TensorId a, TensorId gamma, TensorId beta, double epsilon, std::int64_t axis = -1);
  // What batch norm in training mode takes statistics over: all dimensions but the channels', within a statistics
  // group.
  struct BatchGroups {
    TensorId values;                 // [n, channels, ...], or [groups, samples, channels, ...] where there are several
    std::vector<std::int64_t> axes;  // of one group
    std::int64_t across = 1;         // replicas that it goes on over
  };
  // Of a [n, channels, ...]. Throws Error when the micro-batch does not go with Graph::statistics_group.
  BatchGroups batch_groups(TensorId a);
  // Batch normalisation in training mode over all dimensions but 1; gamma and beta [channels].
  TensorId batch_norm(TensorId a, TensorId gamma, TensorId beta, double epsilon);
  TensorId linear(TensorId a, TensorId weight, TensorId bias);  // a W + bias; bias may be invalid
  TensorId dropout(TensorId a, double ratio);                   // ratio 0: a itself
  // Mean over rows whose label is not `ignore` of -log softmax(logits)[label]; logits [rows, classes].
  TensorId cross_entropy(TensorId logits, TensorId labels, std::int64_t ignore = -100);

  // Sums the operand over dimensions until it has `shape` (the adjoint of broadcasting). of_each_sample: each sample
  // has a sum of its own; else a micro-batch of one sample is summed over as one of several would be, but that a sum
  // over nothing else is left out where `may_be_view`: it is then a view, which whatever adds up micro-batches makes a
  // sum of.
  TensorId sum_to(TensorId a, const Shape& shape, bool of_each_sample = false, bool may_be_view = true);

  const TensorInfo& info(TensorId t) const { return graph_.info(t); }

 private:
  friend class Scope;
  std::string qualified(std::string_view name) const;
  std::string fresh_name(std::string_view op);
  TensorId source(std::string name, TensorInfo info, TensorKind kind);
  std::vector<TensorId> append(Op op, std::vector<TensorInfo> results);
  Graph& graph_;
  std::string scope_;
  UnitId unit_;
  Pass pass_ = Pass::forward;
  std::unordered_map<std::string, std::int64_t> counts_;  // of fresh names, by the name without its number
  const std::vector<bool>* wanted_ = nullptr;
  const Samples* samples_ = nullptr;
  std::map<std::pair<DType, double>, TensorId> scalars_;
};

}  // namespace superstep
