// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "model/error.h"
#include "model/ops/op.h"

namespace superstep {
namespace {

constexpr std::int8_t kR = Sharding::replicated;
constexpr std::int8_t kP = Sharding::partial;
constexpr int kWhole = -1;    // candidate option: all IPUs do the same
constexpr int kThrough = -2;  // candidate option: partial sums pass through a linear op

// One way to run an op: an axis (or kWhole, kThrough) per mesh dimension.
struct Candidate {
  std::array<int, 2> axis;
  std::vector<Sharding> need, raw;
  std::array<bool, 2> creates = {true, true};  // per mesh dimension: no split, or of an axis no operand has
  double work = 0;
};

// Shares must be equal, or so large that rounding up the last one hardly counts: a vocabulary of 50257.
bool divides(std::int64_t extent, std::int64_t parts) { return extent % parts == 0 || extent >= 256 * parts; }

int dimension_of(const Projection& projection, int axis) {
  for (std::size_t d = 0; d < projection.size(); ++d) {
    if (projection[d].axis == axis) return static_cast<int>(d);
  }
  return -1;
}

bool in_window(const Space& space, int axis) {
  auto used = [axis](const std::vector<Projection>& operands) {
    for (const Projection& p : operands) {
      for (const DimMap& d : p) {
        if (d.window_axis == axis || (d.axis == axis && d.window_axis >= 0)) return true;
      }
    }
    return false;
  };
  return used(space.in) || used(space.out);
}

// Everything the programme needs to know of one graph.
struct Solver {
  const Graph& graph;
  TensorParallel mesh;
  const CollectiveTime& collective;
  const WorkTime& work;
  bool training;
  std::vector<std::vector<bool>> data;
  GraphSharding result;
  std::vector<bool> decided;              // by tensor: result.tensors holds its sharding
  std::vector<TensorId> summand_of = {};  // by tensor: gradient_summands()
  ShardRules rules = {};
  std::vector<std::int8_t> data_dimension = {};  // by tensor: where its activations are split; replicated: nowhere
  std::vector<bool> kept = {};                   // by tensor: forward result that a backward op reads
  std::map<TensorId, TensorId> replaces = {};    // new value -> the weight or state that it is the next value of
  std::map<TensorId, int> forced = {};           // weights of several blocks: the dimension they are split along

  std::int64_t size(int j) const { return j == 0 ? mesh.t1 : mesh.t2; }
  bool is_decided(TensorId t) const { return decided[static_cast<std::size_t>(t.index)]; }
  void decide(TensorId t, const Sharding& s) {
    result.tensors[static_cast<std::size_t>(t.index)] = s;
    decided[static_cast<std::size_t>(t.index)] = true;
  }

  Bytes bytes_on(TensorId t, const Sharding& s, int j) const {
    std::int64_t b = graph.info(t).bytes().value;
    const int other = 1 - j;
    if (s.on[static_cast<std::size_t>(other)] >= 0) b = ceil_div(b, size(other));
    return Bytes(b);
  }

  // Appends what turns `from` into `to`; false when nothing does.
  bool convert(TensorId t, Sharding from, const Sharding& to, int operand, std::vector<Conversion>* out,
               double* seconds) const {
    for (int j = 0; j < 2; ++j) {
      const auto ju = static_cast<std::size_t>(j);
      const std::int8_t a = from.on[ju], b = to.on[ju];
      if (a == b) continue;
      if (b == kP) return false;
      if (a == kR) {  // each IPU takes its slice of what it has
        from.on[ju] = b;
        continue;
      }
      // A reduce-scatter leaves a slice that must be gathered again: the bytes of one all-reduce in two
      // steps. It serves results that are wanted in slices (a split weight's gradient), not operands.
      if (a == kP && b != kR && operand >= 0) return false;
      const CollectiveKind kind = a == kP ? (b == kR ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter)
                                          : (b == kR ? CollectiveKind::all_gather : CollectiveKind::all_to_all);
      const Bytes bytes = bytes_on(t, from, j);
      if (seconds) *seconds += collective(kind, j, bytes).value;
      if (out) out->push_back({kind, j, bytes, operand});
      from.on[ju] = b;
    }
    return true;
  }

  // The time that the backward pass will need because this use of an input is as it is: the
  // gradient of a replicated operand of a split op is a partial sum; that of a slice is gathered.
  double adjoint(TensorId t, const Sharding& stored, const Sharding& need, const Candidate& c) const {
    const Tensor& tensor = graph.tensors[t];
    if (!training || !is_float(tensor.info.type) || tensor.kind == TensorKind::input ||
        tensor.kind == TensorKind::constant)
      return 0;
    double seconds = 0;
    for (int j = 0; j < 2; ++j) {
      const auto ju = static_cast<std::size_t>(j);
      if (size(j) == 1) continue;
      if (need.on[ju] == kR && c.axis[ju] >= 0) {
        const CollectiveKind kind = stored.on[ju] >= 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
        seconds += collective(kind, j, bytes_on(t, need, j)).value;
      }
      if (need.on[ju] == kR && stored.on[ju] >= 0)  // the other operand's gradient needs it whole again
        seconds += collective(CollectiveKind::all_gather, j, bytes_on(t, need, j)).value;
      if (need.on[ju] >= 0 && stored.on[ju] == kR)
        seconds += collective(CollectiveKind::all_gather, j, bytes_on(t, need, j)).value;
    }
    return seconds;
  }

  std::vector<int> options(const Space& space, const std::vector<bool>& is_data, int j) const {
    std::vector<int> result_options = {kWhole};
    if (size(j) == 1) return result_options;
    if (space.linear != 0) result_options.push_back(kThrough);
    for (std::size_t a = 0; a < space.axes.size(); ++a) {
      const Axis& axis = space.axes[a];
      if (axis.kind == AxisKind::whole || !divides(axis.extent, size(j))) continue;
      if (is_data[a] && !(rules.split_activations && j == 0 && axis.extent % size(j) == 0)) continue;
      if (axis.kind == AxisKind::reduce && space.reduction == Reduction::none) continue;
      if (in_window(space, static_cast<int>(a))) continue;
      result_options.push_back(static_cast<int>(a));
    }
    return result_options;
  }

  std::vector<bool> data_axes(const Space& space, const Op& op) const {
    std::vector<bool> is_data(space.axes.size(), false);
    auto mark = [&](const std::vector<Projection>& operands, const std::vector<TensorId>& ids) {
      for (std::size_t k = 0; k < operands.size() && k < ids.size(); ++k) {
        if (!ids[k].valid()) continue;
        const auto& flags = data[static_cast<std::size_t>(ids[k].index)];
        for (std::size_t d = 0; d < operands[k].size() && d < flags.size(); ++d) {
          if (operands[k][d].axis >= 0 && flags[d]) is_data[static_cast<std::size_t>(operands[k][d].axis)] = true;
        }
      }
    };
    mark(space.in, op.inputs);
    mark(space.out, op.outputs);
    return is_data;
  }

  void set_need(Candidate& c, const Space& space, int j, int option) const {
    const auto ju = static_cast<std::size_t>(j);
    c.axis[ju] = option >= 0 ? option : -1;
    for (std::size_t k = 0; k < space.in.size(); ++k) {
      std::int8_t need = kR;
      if (option >= 0) {
        const int d = dimension_of(space.in[k], option);
        if (d >= 0) {
          need = static_cast<std::int8_t>(d);
          c.creates[ju] = false;
        }
      } else if (option == kThrough && (space.linear >> k & 1U)) {
        need = kP;
      }
      c.need[k].on[ju] = need;
    }
    for (std::size_t k = 0; k < space.out.size(); ++k) {
      std::int8_t raw = kR;
      if (option == kThrough) raw = kP;
      if (option >= 0) {
        const bool contracted = space.axes[static_cast<std::size_t>(option)].kind == AxisKind::reduce;
        const int d = dimension_of(space.out[k], option);
        raw = contracted ? kP : (d >= 0 ? static_cast<std::int8_t>(d) : kR);
      }
      c.raw[k].on[ju] = raw;
    }
  }

  std::vector<Candidate> candidates(OpId id) const {
    const Op& op = graph.ops[id];
    const CallOf call(graph, id);
    const Space space = op.def->space(*call);
    const std::vector<bool> is_data =
        op.pass == Pass::update ? std::vector<bool>(space.axes.size(), false) : data_axes(space, op);
    std::vector<std::int64_t> extents;
    for (const Axis& a : space.axes) extents.push_back(a.extent);
    std::vector<Candidate> found;
    for (int first : options(space, is_data, 0)) {
      for (int second : options(space, is_data, 1)) {
        if (first >= 0 && first == second) continue;
        Candidate c{
            {-1, -1}, std::vector<Sharding>(space.in.size()), std::vector<Sharding>(space.out.size()), {true, true}, 0};
        set_need(c, space, 0, first);
        set_need(c, space, 1, second);
        OpSharding split;
        split.axis = c.axis;
        if (!op.def->view) c.work = work(id, local_extents(extents, split, mesh)).value;
        // A maximum of partial maxima cannot pass through a linear op: joined at once (see finals).
        found.push_back(std::move(c));
      }
    }
    return found;
  }

  // How tensors lie that cross blocks, or that are split like those.
  Sharding split_along_data(TensorId t) const { return {{data_dimension[static_cast<std::size_t>(t.index)], kR}}; }

  // The shardings a result may be left in.
  std::vector<Sharding> finals(TensorId t, const Sharding& raw, Reduction reduction, bool crosses) const {
    if (const std::optional<Sharding> wanted = wanted_for(t)) return {*wanted};
    const std::int8_t along_data = split_along_data(t).on[0];
    if (crosses) return {split_along_data(t)};
    std::vector<Sharding> out;
    auto add = [&](const Sharding& s) {
      if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
    };
    const bool may_stay_partial = reduction != Reduction::max && reduction != Reduction::min;
    std::array<std::vector<std::int8_t>, 2> choice;
    for (int j = 0; j < 2; ++j) {
      const auto ju = static_cast<std::size_t>(j);
      const std::int8_t r = raw.on[ju];
      const bool along = j == 0 && along_data >= 0;
      if (r == kP && !may_stay_partial) {
        choice[ju] = {kR};
      } else if (along && kept[static_cast<std::size_t>(t.index)]) {
        choice[ju] = {r >= 0 ? r : along_data};  // what the backward pass reads is split: that is the memory saved
      } else {
        choice[ju] = {r};
        if (r != kR) choice[ju].push_back(kR);
        if (r == kP && along) choice[ju].push_back(along_data);
      }
    }
    for (std::int8_t a : choice[0]) {
      for (std::int8_t b : choice[1]) {
        if (a >= 0 && a == b) continue;
        Sharding s;
        s.on = {a, b};
        add(s);
      }
    }
    return out;
  }

  // How a weight that an op needs as `need` is stored: once per group, split as it is used; whole
  // only when it is small or nothing divides.
  Sharding storage(TensorId w, const Sharding& need) const {
    const TensorInfo& info = graph.info(w);
    Sharding s = need;
    for (std::int8_t& on : s.on) on = std::max(on, kR);
    if (const auto it = forced.find(w); it != forced.end()) {
      s.on = {kR, kR};
      s.on[mesh.t1 > 1 ? 0 : 1] = static_cast<std::int8_t>(it->second);
      return s;
    }
    if (info.elements() < rules.small_weight) return s;
    for (int j = 0; j < 2; ++j) {
      const auto ju = static_cast<std::size_t>(j);
      if (size(j) == 1 || s.on[ju] >= 0) continue;
      for (std::size_t d = 0; d < info.shape.size(); ++d) {
        const std::int64_t other = s.on[1 - ju] == static_cast<std::int8_t>(d) ? size(1 - j) : 1;
        if (other == 1 && divides(info.shape[d], size(j))) s.on[ju] = static_cast<std::int8_t>(d);
        if (s.on[ju] >= 0) break;
      }
    }
    return s;
  }

  // A weight too large to gather is gathered only when there is no other way.
  double gather_penalty(TensorId t, const Sharding& stored, const Sharding& need) const {
    constexpr double kNever = 1e6;  // seconds
    bool gathers = false;
    for (std::size_t j = 0; j < 2; ++j) gathers |= stored.on[j] >= 0 && need.on[j] == kR;
    const bool large = graph.tensors[t].kind == TensorKind::weight && bytes_on(t, need, 0) > rules.gather_limit;
    return gathers && large ? kNever : 0;
  }

  double solve(const std::vector<OpId>& ops, const std::function<bool(TensorId)>& crosses, std::size_t beam);
  // A split starts at a tensor that is stored split or at an axis that the op makes, never at a slice of what every IPU
  // has: cutting up replicated activations buys little vector work for one more collective.
  bool starts_at_split(TensorId t, const Sharding& stored, const Sharding& need, int j) const {
    const auto ju = static_cast<std::size_t>(j);
    if (rules.split_activations && graph.tensors[t].kind == TensorKind::input && need.on[ju] >= 0) return true;
    if (stored.on[ju] < 0 || stored.on[ju] != need.on[ju]) return false;
    return graph.tensors[t].kind != TensorKind::weight || graph.info(t).elements() >= rules.small_weight ||
           is_decided(t);
  }
  void apply(const std::vector<OpId>& from, const std::vector<OpId>& to);

  // A weight's gradient, and what is added into it, lies as the weight does; a new value as the old one.
  std::optional<Sharding> wanted_for(TensorId t) const {
    if (const auto old = replaces.find(t); old != replaces.end() && is_decided(old->second))
      return result.of(old->second);
    const TensorId weight = summand_of[static_cast<std::size_t>(t.index)];
    if (!weight.valid() || !is_decided(weight) || graph.info(weight).shape != graph.info(t).shape) return std::nullopt;
    return result.of(weight);
  }

  void restart(const Solver& fresh, const std::map<TensorId, int>& forced_now) {
    result = fresh.result;
    decided = fresh.decided;
    forced = forced_now;
  }

  // Optimizer state lies as its weight does; nothing is left to choose.
  void place_states(const std::vector<OpId>& ops) {
    for (OpId id : ops) {
      for (TensorId t : graph.ops[id].inputs) {
        if (!t.valid() || is_decided(t) || graph.tensors[t].kind == TensorKind::activation) continue;
        const Tensor& tensor = graph.tensors[t];
        const bool same = tensor.weight.valid() && tensor.info.shape == graph.info(tensor.weight).shape;
        decide(t, same ? result.of(tensor.weight) : Sharding{});
      }
    }
  }
};

struct State {
  std::vector<Sharding> live;  // of Solver::solve's live list
  double seconds = 0;
  std::int32_t parent = -1;
  std::int32_t candidate = -1;
};

// The dynamic programme over `ops`. Tensors already decided are constants of it. Afterwards every op
// of `ops` and every tensor they produce or first use is decided.
double Solver::solve(const std::vector<OpId>& ops, const std::function<bool(TensorId)>& crosses, std::size_t beam) {
  std::map<TensorId, std::size_t> last_use;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (TensorId t : graph.ops[ops[i]].inputs) {
      if (t.valid()) last_use[t] = i;
    }
  }
  std::vector<std::vector<State>> stages = {{State{}}};
  std::vector<std::vector<TensorId>> lives = {{}};
  std::vector<std::vector<Candidate>> all;

  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = graph.ops[ops[i]];
    all.push_back(candidates(ops[i]));
    const Reduction reduction = [&] {
      const CallOf call(graph, ops[i]);
      return op.def->space(*call).reduction;
    }();
    const std::vector<TensorId>& before = lives.back();
    std::map<TensorId, std::size_t> slot;
    for (std::size_t s = 0; s < before.size(); ++s) slot[before[s]] = s;
    // The live list after this op: what is read later, old ones first.
    std::vector<TensorId> after;
    auto keep = [&](TensorId t) {
      const auto use = last_use.find(t);
      if (use != last_use.end() && use->second > i && std::find(after.begin(), after.end(), t) == after.end())
        after.push_back(t);
    };
    for (TensorId t : before) keep(t);
    for (TensorId t : op.inputs) {
      if (t.valid() && !is_decided(t)) keep(t);
    }
    for (TensorId t : op.outputs) keep(t);

    std::map<std::vector<Sharding>, State> best;
    for (std::size_t p = 0; p < stages.back().size(); ++p) {
      const State& state = stages.back()[p];
      for (std::size_t c = 0; c < all.back().size(); ++c) {
        const Candidate& candidate = all.back()[c];
        double seconds = state.seconds + candidate.work;
        std::map<TensorId, Sharding> now;
        bool possible = true;
        std::array<bool, 2> grounded = candidate.creates;
        for (std::size_t k = 0; k < op.inputs.size() && possible; ++k) {
          const TensorId t = op.inputs[k];
          if (!t.valid()) continue;
          Sharding stored;
          if (is_decided(t))
            stored = result.of(t);
          else if (slot.count(t))
            stored = state.live[slot[t]];
          else if (now.count(t))
            stored = now[t];
          else if (graph.tensors[t].kind == TensorKind::weight)
            stored = now[t] = storage(t, candidate.need[k]);  // never partial sums
          else
            now[t] = stored;  // inputs and constants: whole
          possible = convert(t, stored, candidate.need[k], static_cast<int>(k), nullptr, &seconds);
          seconds += gather_penalty(t, stored, candidate.need[k]);
          for (int j = 0; j < 2; ++j)
            grounded[static_cast<std::size_t>(j)] |= starts_at_split(t, stored, candidate.need[k], j);
          if (possible && op.pass == Pass::forward) seconds += adjoint(t, stored, candidate.need[k], candidate);
        }
        if (!possible || !(grounded[0] && grounded[1])) continue;
        // One result decides; further results of an op follow its rule.
        std::vector<std::vector<Sharding>> finals_of;
        for (std::size_t k = 0; k < op.outputs.size(); ++k) {
          const TensorId t = op.outputs[k];
          finals_of.push_back(finals(t, candidate.raw[k], reduction, crosses(t)));
        }
        const std::size_t variants = finals_of.empty() ? 1 : finals_of[0].size();
        for (std::size_t v = 0; v < variants; ++v) {
          double total = seconds;
          std::map<TensorId, Sharding> outs = now;
          bool ok = true;
          for (std::size_t k = 0; k < op.outputs.size() && ok; ++k) {
            const Sharding final_sharding = finals_of[k][std::min(v, finals_of[k].size() - 1)];
            ok = convert(op.outputs[k], candidate.raw[k], final_sharding, -1 - static_cast<int>(k), nullptr, &total);
            outs[op.outputs[k]] = final_sharding;
          }
          if (!ok) continue;
          State next;
          next.seconds = total;
          next.parent = static_cast<std::int32_t>(p);
          next.candidate = static_cast<std::int32_t>(c);
          for (TensorId t : after) next.live.push_back(slot.count(t) ? state.live[slot[t]] : outs[t]);
          // What is not read later still has to be known when the way is traced back.
          auto [it, fresh] = best.try_emplace(next.live, next);
          if (!fresh && total < it->second.seconds) it->second = next;
        }
      }
    }
    SUPERSTEP_CHECK(!best.empty(), "no sharding for op " + op.name);
    std::vector<State> next_stage;
    for (auto& [key, state] : best) next_stage.push_back(std::move(state));
    if (next_stage.size() > beam) {
      std::stable_sort(next_stage.begin(), next_stage.end(),
                       [](const State& a, const State& b) { return a.seconds < b.seconds; });
      next_stage.resize(beam);
    }
    stages.push_back(std::move(next_stage));
    lives.push_back(std::move(after));
  }

  // Trace back, then replay forwards to fix every tensor.
  std::size_t at = 0;
  for (std::size_t s = 1; s < stages.back().size(); ++s) {
    if (stages.back()[s].seconds < stages.back()[at].seconds) at = s;
  }
  std::vector<std::size_t> path(ops.size() + 1);
  path[ops.size()] = at;
  for (std::size_t i = ops.size(); i > 0; --i) path[i - 1] = static_cast<std::size_t>(stages[i][path[i]].parent);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = graph.ops[ops[i]];
    const State& state = stages[i + 1][path[i + 1]];
    const Candidate& candidate = all[i][static_cast<std::size_t>(state.candidate)];
    result.op_index[static_cast<std::size_t>(ops[i].index)] = static_cast<std::int32_t>(result.ops.size());
    OpSharding& out = result.ops.emplace_back();
    out.axis = candidate.axis;
    out.in = candidate.need;
    auto live_state = [&](TensorId t) -> std::optional<Sharding> {
      for (std::size_t s = 0; s < lives[i + 1].size(); ++s) {
        if (lives[i + 1][s] == t) return state.live[s];
      }
      return std::nullopt;
    };
    for (std::size_t k = 0; k < op.inputs.size(); ++k) {
      const TensorId t = op.inputs[k];
      if (!t.valid()) continue;
      if (!is_decided(t)) {
        const bool weight = graph.tensors[t].kind == TensorKind::weight;
        decide(t, live_state(t).value_or(weight ? storage(t, candidate.need[k]) : Sharding{}));
      }
      convert(t, result.of(t), candidate.need[k], static_cast<int>(k), &out.conversions, nullptr);
    }
    const Reduction reduction = [&] {
      const CallOf call(graph, ops[i]);
      return op.def->space(*call).reduction;
    }();
    out.out.resize(op.outputs.size());
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorId t = op.outputs[k];
      std::optional<Sharding> chosen = live_state(t);
      if (!chosen) {  // read by nobody in this pass of the block: as cheap as allowed
        chosen = finals(t, candidate.raw[k], reduction, crosses(t)).front();
      }
      decide(t, *chosen);
      out.out[k] = *chosen;
      convert(t, candidate.raw[k], *chosen, -1 - static_cast<int>(k), &out.conversions, nullptr);
    }
  }
  return stages.back()[at].seconds;
}

// Copies decisions to a block that does the same work, op by op.
void Solver::apply(const std::vector<OpId>& from, const std::vector<OpId>& to) {
  SUPERSTEP_CHECK(from.size() == to.size(), "blocks with one signature differ in length");
  for (std::size_t i = 0; i < from.size(); ++i) {
    result.op_index[static_cast<std::size_t>(to[i].index)] = result.op_index[static_cast<std::size_t>(from[i].index)];
    const Op& a = graph.ops[from[i]];
    const Op& b = graph.ops[to[i]];
    for (std::size_t k = 0; k < b.inputs.size(); ++k) {
      if (b.inputs[k].valid() && !is_decided(b.inputs[k])) decide(b.inputs[k], result.of(a.inputs[k]));
    }
    for (std::size_t k = 0; k < b.outputs.size(); ++k) decide(b.outputs[k], result.of(a.outputs[k]));
  }
}

struct BlockOfUnits {
  std::vector<UnitId> units;
  std::uint64_t signature = 0;
};

std::vector<BlockOfUnits> blocks_of(const Graph& graph, const std::vector<std::uint64_t>& signatures) {
  std::vector<BlockOfUnits> blocks;
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    const UnitId id(u);
    const std::int64_t layer = graph.units[id].layer;
    const bool joins = layer >= 0 && !blocks.empty() && graph.units[blocks.back().units.back()].layer == layer;
    if (!joins) blocks.emplace_back();
    blocks.back().units.push_back(id);
    blocks.back().signature = blocks.back().signature * 0x9E3779B97F4A7C15ULL + signatures[u];
  }
  return blocks;
}

std::vector<OpId> ops_of(const Graph& graph, const BlockOfUnits& block, Pass pass) {
  std::vector<OpId> ops;
  for (UnitId u : block.units) {
    const auto& list = graph.units[u].ops[static_cast<std::size_t>(pass)];
    ops.insert(ops.end(), list.begin(), list.end());
  }
  std::sort(ops.begin(), ops.end());  // graph order, which runs; backward ops come last unit first
  return ops;
}

// Solves every block once per signature, in the order the passes run. Returns the seconds of the
// distinct blocks.
double solve_blocks(Solver& solver, const std::vector<BlockOfUnits>& blocks, const std::vector<Pass>& passes,
                    const std::function<bool(TensorId)>& crosses) {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  double seconds = 0;
  struct Solved {
    std::size_t block;
    double seconds;
  };
  for (Pass pass : passes) {
    std::map<std::uint64_t, Solved> solved;
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      const std::size_t b = pass == Pass::backward ? blocks.size() - 1 - n : n;
      const std::vector<OpId> ops = ops_of(solver.graph, blocks[b], pass);
      if (ops.empty()) continue;
      const auto [it, fresh] = solved.try_emplace(blocks[b].signature, Solved{b, 0});
      if (pass == Pass::update) solver.place_states(ops);
      if (fresh || !solver.rules.collapse)
        it->second.seconds = solver.solve(ops, crosses, pass == Pass::update ? 1 : kAll);
      else
        solver.apply(ops_of(solver.graph, blocks[it->second.block], pass), ops);
      seconds += it->second.seconds;
    }
  }
  return seconds;
}

std::vector<TensorId> tied_weights(const Graph& graph, const std::vector<std::size_t>& block_of_unit,
                                   std::int64_t small_weight) {
  std::vector<std::int64_t> user(graph.tensors.size(), -1);
  std::vector<TensorId> tied;
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    const auto block = static_cast<std::int64_t>(block_of_unit[static_cast<std::size_t>(op.unit.index)]);
    for (TensorId t : op.inputs) {
      if (!t.valid() || graph.tensors[t].kind != TensorKind::weight || graph.info(t).elements() < small_weight)
        continue;
      std::int64_t& first = user[static_cast<std::size_t>(t.index)];
      if (first < 0)
        first = block;
      else if (first != block && std::find(tied.begin(), tied.end(), t) == tied.end())
        tied.push_back(t);
    }
  }
  return tied;
}

}  // namespace

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::all_to_all:
      return "all_to_all";
  }
  return "";
}

std::vector<std::uint64_t> unit_signatures(const Graph& graph) {
  std::vector<std::uint64_t> out;
  for (std::size_t u = 0; u < graph.units.size(); ++u) out.push_back(signature(graph, UnitId(u)));
  return out;
}

std::vector<std::int64_t> local_extents(const std::vector<std::int64_t>& extents, const OpSharding& sharding,
                                        TensorParallel mesh) {
  std::vector<std::int64_t> local = extents;
  for (std::size_t j = 0; j < 2; ++j) {
    const int a = sharding.axis[j];
    if (a >= 0)
      local[static_cast<std::size_t>(a)] = ceil_div(local[static_cast<std::size_t>(a)], j == 0 ? mesh.t1 : mesh.t2);
  }
  return local;
}

Shape local_shape(const Shape& shape, const Sharding& sharding, TensorParallel mesh) {
  Shape local = shape;
  for (std::size_t j = 0; j < 2; ++j) {
    const int d = sharding.on[j];
    if (d >= 0)
      local[static_cast<std::size_t>(d)] = ceil_div(local[static_cast<std::size_t>(d)], j == 0 ? mesh.t1 : mesh.t2);
  }
  return local;
}

std::vector<TensorId> gradient_summands(const Graph& graph) {
  std::vector<TensorId> weight_of(graph.tensors.size());
  std::vector<int> readers(graph.tensors.size(), 0);  // what others read as well is more than a summand
  for (const Op& op : graph.ops) {
    for (TensorId t : op.inputs) {
      if (t.valid()) ++readers[static_cast<std::size_t>(t.index)];
    }
  }
  std::vector<TensorId> open;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    if (tensor.kind != TensorKind::weight_gradient) continue;
    weight_of[t] = tensor.weight;
    open.push_back(TensorId(t));
  }
  while (!open.empty()) {
    const TensorId t = open.back();
    open.pop_back();
    const OpId producer = graph.tensors[t].producer;
    if (!producer.valid() || (graph.ops[producer].def->name != "add" && !graph.ops[producer].def->view)) continue;
    for (TensorId in : graph.ops[producer].inputs) {
      if (!in.valid() || !graph.tensors[in].producer.valid()) continue;
      const bool backward = graph.ops[graph.tensors[in].producer].pass == Pass::backward;
      if (!backward || graph.info(in).elements() != graph.info(t).elements() ||
          readers[static_cast<std::size_t>(in.index)] != 1)
        continue;
      weight_of[static_cast<std::size_t>(in.index)] = weight_of[static_cast<std::size_t>(t.index)];
      open.push_back(in);
    }
  }
  return weight_of;
}

std::vector<std::vector<bool>> data_dimensions(const Graph& graph) {
  std::vector<std::vector<bool>> data(graph.tensors.size());
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    data[t].assign(tensor.info.shape.size(), tensor.kind == TensorKind::input);
  }
  const std::vector<std::uint64_t> signatures = unit_signatures(graph);
  std::map<std::pair<std::uint64_t, int>, UnitId> solved;
  auto flags = [&](TensorId t) -> std::vector<bool>& { return data[static_cast<std::size_t>(t.index)]; };
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    if (op.pass == Pass::update) continue;  // weights and their states carry no samples
    const CallOf call(graph, OpId(i));
    const Space space = op.def->space(*call);
    std::vector<bool> axis_is_data(space.axes.size(), false);
    for (std::size_t k = 0; k < op.inputs.size() && k < space.in.size(); ++k) {
      if (!op.inputs[k].valid()) continue;
      for (std::size_t d = 0; d < space.in[k].size(); ++d) {
        if (space.in[k][d].axis >= 0 && flags(op.inputs[k])[d])
          axis_is_data[static_cast<std::size_t>(space.in[k][d].axis)] = true;
      }
    }
    for (std::size_t k = 0; k < op.outputs.size() && k < space.out.size(); ++k) {
      bool previous = false;
      for (std::size_t d = 0; d < space.out[k].size(); ++d) {
        const int a = space.out[k][d].axis;
        if (a >= 0) previous = axis_is_data[static_cast<std::size_t>(a)];
        // A dimension no axis follows (inside a reshape's run) is like the one it was cut from.
        flags(op.outputs[k])[d] = previous && (a >= 0 || op.def->view);
      }
    }
  }
  return data;
}

// The first data dimension that t1 divides: samples, which never meet, before positions, which do in attention.
std::vector<std::int8_t> data_dimensions_to_split(const Graph& graph, const std::vector<std::vector<bool>>& data,
                                                  std::int64_t parts) {
  std::vector<std::int8_t> out(graph.tensors.size(), kR);
  for (std::size_t t = 0; parts > 1 && t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[TensorId(t)];
    if (tensor.kind != TensorKind::activation) continue;
    for (std::size_t d = tensor.info.shape.size(); d-- > 0;) {
      const std::int64_t extent = tensor.info.shape[d];
      if (data[t][d] && extent > 1 && extent % parts == 0) out[t] = static_cast<std::int8_t>(d);
    }
  }
  return out;
}

std::vector<bool> read_in_backward(const Graph& graph) {
  std::vector<bool> out(graph.tensors.size(), false);
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::backward) continue;
    for (TensorId t : op.inputs) {
      if (t.valid() && graph.tensors[t].producer.valid() && graph.ops[graph.tensors[t].producer].pass == Pass::forward)
        out[static_cast<std::size_t>(t.index)] = true;
    }
  }
  return out;
}

bool gathers_weights(const Graph& graph, const GraphSharding& sharding) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    for (const Conversion& c : sharding.of(OpId(i)).conversions) {
      if (c.operand < 0 || c.kind != CollectiveKind::all_gather) continue;
      const TensorId t = graph.ops[OpId(i)].inputs[static_cast<std::size_t>(c.operand)];
      if (graph.tensors[t].kind == TensorKind::weight) return true;
    }
  }
  return false;
}

// Nothing to choose: no op is split, and no conversions.
GraphSharding all_whole(const Graph& graph, GraphSharding result) {
  std::map<std::pair<std::size_t, std::size_t>, std::int32_t> known;  // by inputs, outputs
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[OpId(i)];
    const auto [it, fresh] =
        known.try_emplace({op.inputs.size(), op.outputs.size()}, static_cast<std::int32_t>(result.ops.size()));
    if (fresh) {
      result.ops.emplace_back();
      result.ops.back().in.resize(op.inputs.size());
      result.ops.back().out.resize(op.outputs.size());
    }
    result.op_index[i] = it->second;
  }
  return result;
}

GraphSharding shard(const Graph& graph, TensorParallel mesh, const CollectiveTime& collective, const WorkTime& work,
                    const ShardRules& rules) {
  Solver solver{graph, mesh, collective, work, graph.loss.valid() && !graph.updates.empty(), {}, {}, {}};
  solver.result.mesh = mesh;
  solver.result.op_index.resize(graph.ops.size());
  solver.result.tensors.resize(graph.tensors.size());
  if (mesh.size() == 1) return all_whole(graph, std::move(solver.result));
  solver.data = data_dimensions(graph);
  solver.summand_of = gradient_summands(graph);
  solver.rules = rules;
  solver.kept = read_in_backward(graph);
  solver.data_dimension = data_dimensions_to_split(graph, solver.data, rules.split_activations ? mesh.t1 : 1);
  for (const auto& [old, made] : graph.updates) solver.replaces[made] = old;
  solver.decided.assign(graph.tensors.size(), false);

  const std::vector<BlockOfUnits> blocks = blocks_of(graph, unit_signatures(graph));
  std::vector<std::size_t> block_of_unit(graph.units.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (UnitId u : blocks[b].units) block_of_unit[static_cast<std::size_t>(u.index)] = b;
  }
  // A tensor crosses when an op of another block reads it in the same pass, or it is a result.
  std::vector<bool> crossing(graph.tensors.size(), false);
  for (TensorId t : graph.outputs) {
    if (!graph.loss.valid() || t == graph.loss) crossing[static_cast<std::size_t>(t.index)] = true;
  }
  for (const Op& op : graph.ops) {
    if (op.pass == Pass::update) continue;
    for (TensorId t : op.inputs) {
      if (!t.valid() || !graph.tensors[t].producer.valid()) continue;
      const Op& from = graph.ops[graph.tensors[t].producer];
      if (block_of_unit[static_cast<std::size_t>(from.unit.index)] !=
          block_of_unit[static_cast<std::size_t>(op.unit.index)]) {
        crossing[static_cast<std::size_t>(t.index)] = true;
      }
    }
  }
  auto crosses = [&](TensorId t) { return crossing[static_cast<std::size_t>(t.index)]; };

  // A weight that several blocks use (a tied embedding) is split the same way in all of them: each
  // dimension is tried, one weight after the other.
  const Solver fresh_solver = solver;
  auto solve_all = [&](Bytes gather_limit) {
    solver.rules.gather_limit = gather_limit;
    std::map<TensorId, int> chosen;
    for (TensorId w : tied_weights(graph, block_of_unit, rules.small_weight)) {
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t d = 0; d < graph.info(w).shape.size(); ++d) {
        const std::int64_t parts = mesh.t1 > 1 ? mesh.t1 : mesh.t2;
        if (!divides(graph.info(w).shape[d], parts)) continue;
        std::map<TensorId, int> trial = chosen;
        trial[w] = static_cast<int>(d);
        solver.restart(fresh_solver, trial);
        const double seconds = solve_blocks(solver, blocks, {Pass::forward}, crosses);
        if (seconds >= least) continue;
        least = seconds;
        chosen[w] = static_cast<int>(d);
      }
    }
    solver.restart(fresh_solver, chosen);
    return solve_blocks(solver, blocks, {Pass::forward, Pass::backward, Pass::update}, crosses);
  };
  // The forward programme only estimates what a choice costs the backward pass: both ways are compared in full.
  const double seconds = solve_all(rules.gather_limit);
  if (!gathers_weights(graph, solver.result)) return std::move(solver.result);
  GraphSharding with_gathers = std::move(solver.result);
  return solve_all(Bytes(0)) < seconds ? std::move(solver.result) : std::move(with_gathers);
}

}  // namespace superstep
