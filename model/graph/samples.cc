// SPDX-License-Identifier: Apache-2.0
// Passes over the ops in order until nothing changes: what an operand must be in one op is what it is in the others.
#include "model/graph/samples.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "model/error.h"
#include "model/graph/op_def.h"
#include "model/graph/sample_axes.h"

namespace superstep {

namespace {

constexpr std::string_view kCannot = "the batch cannot be cut into micro-batches because ";

// Of a tensor while dimensions are still being ruled out.
struct SampleState {
  SampleRole role = SampleRole::none;
  SamplePlaces places;  // along: dimensions that may hold the samples
  bool early = false;
};

// `to` is `from` without some of its dimensions of extent 1.
bool drops_one(const Shape& from, const Shape& to) {
  std::size_t e = 0;
  for (std::int64_t extent : from) {
    if (e < to.size() && to[e] == extent) {
      ++e;
    } else if (extent != 1) {
      return false;
    }
  }
  return e == to.size() && to.size() < from.size();
}

// Of the places that nothing has ruled out: a dimension of their own, or one with runs, or one shared with features.
SamplePlace likeliest(const Shape& shape, const SamplePlaces& places) {
  const auto doubt = [&](SamplePlace p) {
    return shape[static_cast<std::size_t>(p.at)] == 1 ? 0 : p.outer > 1 ? 1 : 2;
  };
  return *std::min_element(places.begin(), places.end(),
                           [&](SamplePlace a, SamplePlace b) { return doubt(a) < doubt(b); });
}

class Analysis {
 public:
  explicit Analysis(const Graph& graph)
      : g_(graph),
        states_(graph.tensors.size()),
        allowed_(graph.tensors.size()),
        one_sample_(graph.tensors.size(), false),
        spaces_(graph.ops.size()) {
    found_.tensors.resize(graph.tensors.size());
  }

  Samples run() {
    do {
      do pass();
      while (changed_);
      complete_gradients();
    } while (changed_);
    settle_ = true;
    pass();
    for (std::size_t t = 0; t < states_.size(); ++t) {
      const SampleState& s = states_[t];
      TensorSamples& found = found_.tensors[TensorId(t)];
      found = {.role = s.role, .early = s.early};
      if (s.role != SampleRole::along) continue;
      found.dimension = s.places.front().at;
      found.outer = s.places.front().outer;
    }
    return std::move(found_);
  }

 private:
  SampleState& state(TensorId t) { return states_[static_cast<std::size_t>(t.index)]; }
  bool is(TensorId t, SampleRole role) { return t.valid() && state(t).role == role; }
  bool any(const Op& op, SampleRole role) {
    return std::any_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return is(t, role); });
  }

  void pass() {
    changed_ = false;
    found_.faults.clear();
    found_.ops = {};
    found_.ops.resize(g_.ops.size());
    for (std::size_t t = 0; t < states_.size(); ++t) states_[t] = source(g_.tensors[TensorId(t)]);
    for (std::size_t i = 0; i < g_.ops.size(); ++i) visit(OpId(i));
    for (std::size_t i = g_.ops.size(); !settle_ && g_.micro_batch == 1 && i-- > 0;) return_to_operands(OpId(i));
    add_up_gradients();
  }

  SampleState source(const Tensor& tensor) const {
    if (tensor.kind == TensorKind::constant) return {.early = true};
    if (tensor.kind != TensorKind::input) return {};
    const auto d = static_cast<std::size_t>(g_.sample_dimension);
    const bool has = d < tensor.info.shape.size() && tensor.info.shape[d] % g_.micro_batch == 0;
    if (!has) return {.early = true};
    return {SampleRole::along, {{g_.sample_dimension}}, true};
  }

  void visit(OpId id) {
    const Op& op = g_.ops[id];
    if (op.pass == Pass::update) return;  // runs once, on what the whole batch gave
    if (any(op, SampleRole::unknown)) return set(op, {SampleRole::unknown});
    if (any(op, SampleRole::along)) return visit_samples(id);
    const bool sum = any(op, SampleRole::sum), statistics = any(op, SampleRole::statistics);
    if (sum && (statistics || !linear_in_sums(id))) return refuse_sum(id);
    set(op, {sum                          ? SampleRole::sum
             : statistics                 ? SampleRole::statistics
             : any(op, SampleRole::ahead) ? SampleRole::ahead
                                          : SampleRole::none,
             {},
             early(op)});
    for (TensorId t : op.outputs) add_up_one_sample(id, t);
  }

  bool early(const Op& op) {
    return !op.def->random &&
           std::all_of(op.inputs.begin(), op.inputs.end(), [&](TensorId t) { return !t.valid() || state(t).early; });
  }

  void set(const Op& op, SampleState s) {
    for (TensorId t : op.outputs) state(t) = s;
  }

  void fault(OpId id, TensorId t, const std::string& why) {
    found_.faults.push_back({id, t, std::string(kCannot) + why});
    set(g_.ops[id], {SampleRole::unknown});
  }

  std::string named(OpId id) const {
    return "op \"" + g_.ops[id].name + "\" (" + std::string(g_.ops[id].def->name) + ")";
  }
  std::string named(TensorId t) const { return "\"" + g_.tensors[t].name + "\""; }

  void refuse_sum(OpId id) {
    const auto& in = g_.ops[id].inputs;
    const TensorId t = *std::find_if(in.begin(), in.end(), [&](TensorId i) { return is(i, SampleRole::sum); });
    const bool adds = g_.ops[id].def->name == "add" || g_.ops[id].def->name == "sub";
    const auto term = std::find_if(in.begin(), in.end(), [&](TensorId i) { return is(i, SampleRole::none); });
    if (adds && term != in.end())
      return fault(id, t,
                   named(id) + " adds " + named(*term) + ", which no sample changes, to " + named(t) +
                       ", a sum over the samples: every micro-batch would add it again. A penalty on weights goes into "
                       "the optimizer (weight_decay)");
    fault(id, t,
          named(id) + " reads " + named(t) + ", a sum over the samples of the whole batch, before it is complete");
  }

  const Space& space(OpId id) {
    auto& space = spaces_[static_cast<std::size_t>(id.index)];
    if (!space) {
      const CallOf call(g_, id);
      space = (call->def.full_space ? call->def.full_space : call->def.space)(*call);
    }
    return *space;
  }

  // Zero whatever else happens, so that it may be added to sums once per micro-batch.
  bool is_zero(TensorId t) {
    const Tensor& tensor = g_.tensors[t];
    if (tensor.kind == TensorKind::constant) {
      for (std::int64_t i = 0; i < tensor.info.elements(); ++i) {
        if (tensor.data->at(i) != 0) return false;
      }
      return true;
    }
    if (!tensor.producer.valid()) return false;
    const Op& op = g_.ops[tensor.producer];
    const std::uint32_t linear = op.def->moves ? space(tensor.producer).linear : 0;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      if (k >= 32 || !(linear >> k & 1) || !is_zero(op.inputs[k])) return false;
    }
    return linear != 0;
  }

  // Linear in the operands for which `summed` holds, the others being factors and zeros. A narrower type
  // rounds, but the cast then runs on the whole batch's sum.
  template <class Summed>
  bool linear_in(OpId id, Summed&& summed) {
    const Op& op = g_.ops[id];
    if (op.def->linear_in) {
      std::uint32_t set = 0;
      for (std::size_t k = 0; k < op.inputs.size(); ++k) set |= summed(op.inputs[k]) ? 1u << k : 0u;
      return op.def->linear_in(*CallOf(g_, id), set);
    }
    const std::uint32_t linear = space(id).linear;
    const bool jointly = std::popcount(linear) > 1;
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const TensorId t = op.inputs[k];
      const bool bit = k < 32 && (linear >> k & 1);
      if (t.valid() && summed(t) != bit && !(jointly && bit && is_zero(t))) return false;
    }
    return std::ranges::any_of(op.inputs, [&](TensorId t) { return t.valid() && summed(t); });
  }
  bool linear_in_sums(OpId id) {
    return linear_in(id, [&](TensorId t) { return is(t, SampleRole::sum); });
  }

  void visit_samples(OpId id) {
    const Op& op = g_.ops[id];
    if (any(op, SampleRole::sum)) {
      const bool joins = linear_in(id, [&](TensorId t) { return is(t, SampleRole::sum) || is(t, SampleRole::along); });
      if (!joins || !sum_one_sample(id)) refuse_sum(id);
      return;
    }
    if (op.def->regroups) {
      visit_reshape(id);
    } else {
      follow_axes(id);
    }
    for (TensorId t : op.outputs) add_up_one_sample(id, t);
  }

  void visit_reshape(OpId id) {
    const Op& op = g_.ops[id];
    set_along(id, op.outputs[0],
              reshaped_dimensions(g_.info(op.inputs[0]).shape, g_.info(op.outputs[0]).shape, state(op.inputs[0]).places,
                                  g_.micro_batch));
  }

  void set_along(OpId id, TensorId t, SamplePlaces places) {
    const auto& allowed = allowed_[static_cast<std::size_t>(t.index)];
    if (allowed) places = common(places, *allowed);
    if (places.empty()) return refuse_unknown(id);
    if (settle_) places = {likeliest(g_.info(t).shape, places)};
    state(t) = {SampleRole::along, std::move(places), early(g_.ops[id])};
  }

  void refuse_unknown(OpId id) {
    const auto& in = g_.ops[id].inputs;
    const TensorId t = *std::find_if(in.begin(), in.end(), [&](TensorId i) { return is(i, SampleRole::along); });
    fault(id, t, "it cannot be told how the results of " + named(id) + " depend on the samples of " + named(t));
  }

  void narrow(TensorId t, SamplePlaces places) {
    if (state(t).places == places) return;
    state(t).places = places;
    auto& allowed = allowed_[static_cast<std::size_t>(t.index)];
    allowed = allowed ? common(*allowed, places) : std::move(places);
    changed_ = true;
  }

  // Rules out for the operands what the results' readers have ruled out.
  void return_to_operands(OpId id) {
    const Op& op = g_.ops[id];
    if (!is(op.outputs[0], SampleRole::along) || any(op, SampleRole::unknown)) return;
    if (op.def->regroups) {
      const TensorId x = op.inputs[0];
      SamplePlaces left;
      for (SamplePlace place : state(x).places) {
        const auto to = reshaped_dimensions(g_.info(x).shape, g_.info(op.outputs[0]).shape, {place}, g_.micro_batch);
        if (!common(to, state(op.outputs[0]).places).empty()) left.push_back(place);
      }
      if (!left.empty()) narrow(x, std::move(left));
      return;
    }
    const CallOf call(g_, id);
    SamplePlaces axes;
    for (SamplePlace axis : axes_of_operands(*call, id)) {
      if (space(id).axes[static_cast<std::size_t>(axis.at)].kind == AxisKind::reduce) return;  // undecided
      if (in_all_results(*call, id, axis)) axes.push_back(axis);
    }
    if (!axes.empty()) narrow_operands(*call, id, axes);
  }

  void narrow_operands(const OpCall& call, OpId id, const SamplePlaces& axes) {
    for (std::size_t k = 0; k < g_.ops[id].inputs.size(); ++k) {
      const TensorId t = g_.ops[id].inputs[k];
      if (is(t, SampleRole::along)) narrow(t, dimensions_of_operand(call, space(id), k, state(t).places, axes));
    }
  }

  SamplePlaces axes_of_operands(const OpCall& call, OpId id) {
    std::optional<SamplePlaces> axes;
    for (std::size_t k = 0; k < g_.ops[id].inputs.size(); ++k) {
      const TensorId t = g_.ops[id].inputs[k];
      if (!is(t, SampleRole::along)) continue;
      const SamplePlaces own = axes_of_operand(call, space(id), k, state(t).places);
      axes = axes ? common(*axes, own) : own;
    }
    return *axes;
  }

  void follow_axes(OpId id) {
    const CallOf call(g_, id);
    const Op& op = g_.ops[id];
    SamplePlaces kept, reduced;
    for (SamplePlace axis : axes_of_operands(*call, id)) {
      if (in_all_results(*call, id, axis)) kept.push_back(axis);
      if (space(id).axes[static_cast<std::size_t>(axis.at)].kind == AxisKind::reduce) reduced.push_back(axis);
    }
    if (kept.empty() && reduced.empty()) return refuse_unknown(id);
    // Where it is undecided whether the samples are reduced, the first axis stands for what others may decide.
    const bool decided = kept.empty() || reduced.empty();
    const bool stays = reduced.empty() || (!kept.empty() && kept.front() < reduced.front());
    const SamplePlaces& axes = stays ? kept : reduced;
    if (decided) narrow_operands(*call, id, axes);
    found_.ops[id].axis = axes.front().at;
    found_.ops[id].outer = axes.front().outer;
    if (!stays) return reduce_samples(id, axes.front());
    if (settle_ && op.def->random && !numbered_by_sample(op, axes.front()))
      return fault(id, op.inputs[0],
                   "the random numbers of " + named(id) + " are not numbered by the samples of " + named(op.inputs[0]));
    for (std::size_t k = 0; k < op.outputs.size(); ++k)
      set_along(id, op.outputs[k], dimensions_of_result(*call, space(id), k, axes));
  }

  bool numbered_by_sample(const Op& op, SamplePlace place) const {
    return place.at == 0 && place.outer == 1 && op.attrs.integer("samples") == g_.micro_batch;
  }

  bool in_all_results(const OpCall& call, OpId id, SamplePlace axis) {
    if (space(id).axes[static_cast<std::size_t>(axis.at)].kind != AxisKind::parallel) return false;
    for (std::size_t k = 0; k < g_.ops[id].outputs.size(); ++k) {
      const SampleState& result = state(g_.ops[id].outputs[k]);
      const SamplePlaces there = dimensions_of_result(call, space(id), k, {axis});
      if (there.empty() || (result.role == SampleRole::along && common(there, result.places).empty())) return false;
    }
    return true;
  }

  void reduce_samples(OpId id, SamplePlace axis) {
    const Op& op = g_.ops[id];
    OpSamples& found = found_.ops[id];
    if (space(id).reduction != Reduction::sum)
      return fault(id, op.inputs[0], named(id) + " takes an extremum over the samples of " + named(op.inputs[0]));
    found.reduces = true;
    found.contiguous = outermost_reduced(space(id), axis);
    const Statistic statistic = statistic_of(op);
    if (statistic.across > 0) return set(op, {SampleRole::statistics});
    if (statistic.mean)
      return fault(
          id, op.inputs[0],
          named(id) + " takes a mean over the samples of " + named(op.inputs[0]) + " in the micro-batch alone");
    const bool ahead = op.pass == Pass::forward && early(op) && op.outputs[0] != g_.loss;
    set(op, {ahead ? SampleRole::ahead : SampleRole::sum, {}, ahead});
  }

  // One sample leaves no sum over samples behind: its dimension of extent 1 is just dropped. What is added to sums,
  // or is a weight's gradient, must have been summed; the last reshape before that drops the dimension.

  void add_up_one_sample(OpId id, TensorId t) {
    if (!one_sample_[static_cast<std::size_t>(t.index)]) return;
    found_.ops[id] = {.axis = -1, .reduces = true, .contiguous = true};
    state(t) = {SampleRole::sum};
  }

  // Of an op that adds sums and values of one sample. True: another pass will find sums.
  bool sum_one_sample(OpId id) {
    if (g_.micro_batch != 1) return false;
    bool all = true;
    for (TensorId t : g_.ops[id].inputs) {
      if (is(t, SampleRole::along)) all = drop_sample(t) && all;
    }
    if (all) set(g_.ops[id], {SampleRole::sum});
    return all;
  }

  bool drop_sample(TensorId t) {
    const OpId id = g_.tensors[t].producer;
    if (!id.valid()) return false;
    const Op& op = g_.ops[id];
    if (op.def->regroups && is(op.inputs[0], SampleRole::along) &&
        drops_one(g_.info(op.inputs[0]).shape, g_.info(t).shape)) {
      return mark_one_sample(t);
    }
    const auto varies = [&](TensorId i) { return is(i, SampleRole::along) || is(i, SampleRole::unknown); };
    if (!linear_in(id, [&](TensorId i) { return varies(i) || is(i, SampleRole::sum); })) return false;
    bool all = true;
    for (TensorId i : op.inputs) {
      if (i.valid() && varies(i)) all = drop_sample(i) && all;
    }
    return all;
  }

  bool mark_one_sample(TensorId t) {
    std::vector<bool>::reference mark = one_sample_[static_cast<std::size_t>(t.index)];
    changed_ = changed_ || !mark;
    mark = true;
    return true;
  }

  void complete_gradients() {
    if (g_.micro_batch != 1) return;
    for (std::size_t i = 0; i < g_.tensors.size(); ++i) {
      const TensorId t(i);
      if (g_.tensors[t].kind != TensorKind::weight_gradient) continue;
      if (!is(t, SampleRole::along) && !is(t, SampleRole::unknown)) continue;
      if (!drop_sample(t) && is(t, SampleRole::along)) mark_one_sample(t);
    }
  }

  // Gradients that are the same for every sample (of what the loss is linear in) add up all the same.
  void add_up_gradients() {
    for (std::size_t i = 0; i < g_.tensors.size(); ++i) {
      const Tensor& tensor = g_.tensors[TensorId(i)];
      SampleState& s = states_[i];
      if (tensor.kind != TensorKind::weight_gradient) continue;
      if (s.role != SampleRole::none && s.role != SampleRole::ahead) continue;
      s = {SampleRole::sum};
      found_.ops[tensor.producer] = {.axis = -1, .reduces = true, .contiguous = true};
    }
  }

  const Graph& g_;
  std::vector<SampleState> states_;
  std::vector<std::optional<SamplePlaces>> allowed_;  // by tensor: what its readers leave; none: anything
  std::vector<bool> one_sample_;                      // by tensor: made where one sample's value becomes a summand
  std::vector<std::optional<Space>> spaces_;
  Samples found_;
  bool changed_ = false;
  bool settle_ = false;  // of several dimensions of extent 1, take the first
};

}  // namespace

std::string_view name_of(SampleRole role) {
  static constexpr std::string_view kNames[] = {"none", "along", "sum", "ahead", "statistics", "unknown"};
  return kNames[static_cast<std::size_t>(role)];
}

Samples find_samples(const Graph& graph) { return Analysis(graph).run(); }

AheadOfBatch ahead_of_batch(const Graph& graph, const Samples& samples) {
  AheadOfBatch ahead;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[TensorId(i)].counts_samples) ahead.counts.emplace_back(i);
  }
  std::vector<bool> needed(graph.ops.size());
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const OpId id(i);
    const Op& op = graph.ops[id];
    const bool sums = samples.ops[id].reduces && samples.of(op.outputs[0]).role == SampleRole::ahead;
    if (sums) ahead.sums.insert(ahead.sums.begin(), op.outputs[0]);
    needed[i] = needed[i] || sums;
    if (!needed[i]) continue;
    ahead.ops.insert(ahead.ops.begin(), id);
    for (TensorId t : op.inputs) {
      if (t.valid() && graph.tensors[t].producer.valid())
        needed[static_cast<std::size_t>(graph.tensors[t].producer.index)] = true;
    }
  }
  return ahead;
}

}  // namespace superstep
