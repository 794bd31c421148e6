// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard_solver.h"

#include <algorithm>

#include "model/error.h"

namespace superstep {
namespace {

constexpr std::int8_t kR = Sharding::replicated;
constexpr std::int8_t kP = Sharding::partial;

struct State {
  std::vector<Sharding> live;  // of solve()'s live list
  double seconds = 0;
  std::int32_t parent = -1;
  std::int32_t candidate = -1;
};

}  // namespace

ShardSolver::ShardSolver(const ShardProblem& problem) : p_(problem) { restart({}, problem.rules.gather_limit); }

void ShardSolver::restart(const std::map<TensorId, int>& forced, Bytes gather_limit) {
  result_ = {};
  result_.mesh = p_.mesh;
  result_.op_index.resize(p_.graph.ops.size());
  result_.tensors.resize(p_.graph.tensors.size());
  decided_.assign(p_.graph.tensors.size(), false);
  forced_ = forced;
  gather_limit_ = gather_limit;
}

void ShardSolver::decide(TensorId t, const Sharding& s) {
  result_.tensors[static_cast<std::size_t>(t.index)] = s;
  decided_[static_cast<std::size_t>(t.index)] = true;
}

Bytes ShardSolver::bytes_on(TensorId t, const Sharding& s, int j) const {
  std::int64_t b = p_.graph.info(t).bytes().value;
  const int other = 1 - j;
  if (s.on[static_cast<std::size_t>(other)] >= 0) b = ceil_div(b, p_.size(other));
  return Bytes(b);
}

// Appends what turns `from` into `to`; false when nothing does.
bool ShardSolver::convert(TensorId t, Sharding from, const Sharding& to, int operand, std::vector<Conversion>* out,
                          double* seconds) const {
  for (int j : conversion_order(from, to)) {
    const auto ju = static_cast<std::size_t>(j);
    const std::int8_t a = from.on[ju], b = to.on[ju];
    if (a == b) continue;
    if (b == kP) return false;
    if (b >= 0 && b == from.on[1 - ju]) return false;  // slices of slices: which ones depends on what was split first
    if (a == kR) {                                     // each IPU takes its slice of what it has
      from.on[ju] = b;
      continue;
    }
    // A reduce-scatter leaves a slice that must be gathered again: the bytes of one all-reduce in two
    // steps. It serves results that are wanted in slices (a split weight's gradient), not operands.
    if (a == kP && b != kR && operand >= 0) return false;
    const CollectiveKind kind = a == kP ? (b == kR ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter)
                                        : (b == kR ? CollectiveKind::all_gather : CollectiveKind::all_to_all);
    Bytes bytes = bytes_on(t, from, j);
    if (kind == CollectiveKind::all_to_all) bytes = share(bytes, p_.size(j));
    if (seconds) *seconds += p_.collective(kind, j, bytes).value;
    if (out) out->push_back({kind, j, bytes, operand});
    from.on[ju] = b;
  }
  return true;
}

// The time that the backward pass will need because this use of an input is as it is: the
// gradient of a replicated operand of a split op is a partial sum; that of a slice is gathered.
double ShardSolver::adjoint(TensorId t, const Sharding& stored, const Sharding& need, const OpSplit& c) const {
  const Tensor& tensor = p_.graph.tensors[t];
  if (!p_.training || !is_float(tensor.info.type) || tensor.kind == TensorKind::input ||
      tensor.kind == TensorKind::constant)
    return 0;
  double seconds = 0;
  for (int j = 0; j < 2; ++j) {
    const auto ju = static_cast<std::size_t>(j);
    if (p_.size(j) == 1) continue;
    if (need.on[ju] == kR && c.axis[ju] >= 0) {
      const CollectiveKind kind = stored.on[ju] >= 0 ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
      seconds += p_.collective(kind, j, bytes_on(t, need, j)).value;
    }
    if (need.on[ju] == kR && stored.on[ju] >= 0)  // the other operand's gradient needs it whole again
      seconds += p_.collective(CollectiveKind::all_gather, j, bytes_on(t, need, j)).value;
    if (need.on[ju] >= 0 && stored.on[ju] == kR)
      seconds += p_.collective(CollectiveKind::all_gather, j, bytes_on(t, need, j)).value;
  }
  return seconds;
}

// How tensors lie that cross blocks, or that are split like those.
Sharding ShardSolver::split_along_data(TensorId t) const {
  return {{p_.data_dimension[static_cast<std::size_t>(t.index)], kR}};
}

// The shardings a result may be left in.
std::vector<Sharding> ShardSolver::finals(TensorId t, const Sharding& raw, Reduction reduction, bool crosses) const {
  if (const std::optional<Sharding> wanted = wanted_for(t)) return {*wanted};
  const std::int8_t along_data = split_along_data(t).on[0];
  if (crosses) return {split_along_data(t)};
  std::vector<Sharding> out;
  auto add = [&](const Sharding& s) {
    if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  };
  // A maximum of partial maxima cannot pass through a linear op: joined at once.
  const bool may_stay_partial = reduction != Reduction::max && reduction != Reduction::min;
  std::array<std::vector<std::int8_t>, 2> choice;
  for (int j = 0; j < 2; ++j) {
    const auto ju = static_cast<std::size_t>(j);
    const std::int8_t r = raw.on[ju];
    const bool along = j == 0 && along_data >= 0;
    if (r == kP && !may_stay_partial) {
      choice[ju] = {kR};
    } else if (along && p_.kept[static_cast<std::size_t>(t.index)]) {
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
Sharding ShardSolver::storage(TensorId w, const Sharding& need) const {
  const TensorInfo& info = p_.graph.info(w);
  Sharding s = need;
  for (std::int8_t& on : s.on) on = std::max(on, kR);
  if (const auto it = forced_.find(w); it != forced_.end()) {
    s.on = {kR, kR};
    s.on[p_.mesh.t1 > 1 ? 0 : 1] = static_cast<std::int8_t>(it->second);
    return s;
  }
  if (info.elements() < p_.rules.small_weight) return s;
  for (int j = 0; j < 2; ++j) {
    const auto ju = static_cast<std::size_t>(j);
    if (p_.size(j) == 1 || s.on[ju] >= 0) continue;
    for (std::size_t d = 0; d < info.shape.size(); ++d) {
      const std::int64_t other = s.on[1 - ju] == static_cast<std::int8_t>(d) ? p_.size(1 - j) : 1;
      if (other == 1 && divides(info.shape[d], p_.size(j))) s.on[ju] = static_cast<std::int8_t>(d);
      if (s.on[ju] >= 0) break;
    }
  }
  return s;
}

// A weight too large to gather is gathered only when there is no other way.
double ShardSolver::gather_penalty(TensorId t, const Sharding& stored, const Sharding& need) const {
  constexpr double kNever = 1e6;  // seconds
  bool gathers = false;
  for (std::size_t j = 0; j < 2; ++j) gathers |= stored.on[j] >= 0 && need.on[j] == kR;
  const bool large = p_.graph.tensors[t].kind == TensorKind::weight && bytes_on(t, need, 0) > gather_limit_;
  return gathers && large ? kNever : 0;
}

// A split starts at a tensor that is stored split or at an axis that the op makes, never at a slice of what every IPU
// has: cutting up replicated activations buys little vector work for one more collective.
bool ShardSolver::starts_at_split(TensorId t, const Sharding& stored, const Sharding& need, int j) const {
  const auto ju = static_cast<std::size_t>(j);
  if (p_.rules.split_activations && p_.graph.tensors[t].kind == TensorKind::input && need.on[ju] >= 0) return true;
  if (stored.on[ju] < 0 || stored.on[ju] != need.on[ju]) return false;
  return p_.graph.tensors[t].kind != TensorKind::weight || p_.graph.info(t).elements() >= p_.rules.small_weight ||
         is_decided(t);
}

// A weight's gradient, and what is added into it, lies as the weight does; a new value as the old one.
std::optional<Sharding> ShardSolver::wanted_for(TensorId t) const {
  if (const auto old = p_.replaces.find(t); old != p_.replaces.end() && is_decided(old->second))
    return result_.of(old->second);
  const TensorId weight = p_.summand_of[static_cast<std::size_t>(t.index)];
  if (!weight.valid() || !is_decided(weight) || p_.graph.info(weight).shape != p_.graph.info(t).shape)
    return std::nullopt;
  return result_.of(weight);
}

void ShardSolver::place_states(const std::vector<OpId>& ops) {
  for (OpId id : ops) {
    for (TensorId t : p_.graph.ops[id].inputs) {
      if (!t.valid() || is_decided(t) || p_.graph.tensors[t].kind == TensorKind::activation) continue;
      const Tensor& tensor = p_.graph.tensors[t];
      const bool same = tensor.weight.valid() && tensor.info.shape == p_.graph.info(tensor.weight).shape;
      decide(t, same ? result_.of(tensor.weight) : Sharding{});
    }
  }
}

double ShardSolver::solve(const std::vector<OpId>& ops, const std::function<bool(TensorId)>& crosses,
                          std::size_t beam) {
  std::map<TensorId, std::size_t> last_use;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (TensorId t : p_.graph.ops[ops[i]].inputs) {
      if (t.valid()) last_use[t] = i;
    }
  }
  std::vector<std::vector<State>> stages = {{State{}}};
  std::vector<std::vector<TensorId>> lives = {{}};
  std::vector<std::vector<OpSplit>> all;

  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = p_.graph.ops[ops[i]];
    all.push_back(splits_of(p_, ops[i]));
    const Reduction reduction = [&] {
      const CallOf call(p_.graph, ops[i]);
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
        const OpSplit& candidate = all.back()[c];
        double seconds = state.seconds + candidate.work;
        std::map<TensorId, Sharding> now;
        bool possible = true;
        std::array<bool, 2> grounded = candidate.creates;
        for (std::size_t k = 0; k < op.inputs.size() && possible; ++k) {
          const TensorId t = op.inputs[k];
          if (!t.valid()) continue;
          Sharding stored;
          if (is_decided(t))
            stored = result_.of(t);
          else if (slot.count(t))
            stored = state.live[slot[t]];
          else if (now.count(t))
            stored = now[t];
          else if (p_.graph.tensors[t].kind == TensorKind::weight)
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
    const Op& op = p_.graph.ops[ops[i]];
    const State& state = stages[i + 1][path[i + 1]];
    const OpSplit& candidate = all[i][static_cast<std::size_t>(state.candidate)];
    result_.op_index[static_cast<std::size_t>(ops[i].index)] = static_cast<std::int32_t>(result_.ops.size());
    OpSharding& out = result_.ops.emplace_back();
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
        const bool weight = p_.graph.tensors[t].kind == TensorKind::weight;
        decide(t, live_state(t).value_or(weight ? storage(t, candidate.need[k]) : Sharding{}));
      }
      convert(t, result_.of(t), candidate.need[k], static_cast<int>(k), &out.conversions, nullptr);
    }
    const Reduction reduction = [&] {
      const CallOf call(p_.graph, ops[i]);
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

void ShardSolver::apply(const std::vector<OpId>& from, const std::vector<OpId>& to) {
  SUPERSTEP_CHECK(from.size() == to.size(), "blocks with one signature differ in length");
  for (std::size_t i = 0; i < from.size(); ++i) {
    result_.op_index[static_cast<std::size_t>(to[i].index)] = result_.op_index[static_cast<std::size_t>(from[i].index)];
    const Op& a = p_.graph.ops[from[i]];
    const Op& b = p_.graph.ops[to[i]];
    for (std::size_t k = 0; k < b.inputs.size(); ++k) {
      if (b.inputs[k].valid() && !is_decided(b.inputs[k])) decide(b.inputs[k], result_.of(a.inputs[k]));
    }
    for (std::size_t k = 0; k < b.outputs.size(); ++k) decide(b.outputs[k], result_.of(a.outputs[k]));
  }
}

}  // namespace superstep
