// SPDX-License-Identifier: Apache-2.0
#include "model/lower/shard_solver.h"

#include <algorithm>

#include "model/error.h"

namespace superstep {
namespace {

constexpr std::int8_t kR = Sharding::replicated;
constexpr std::int8_t kP = Sharding::partial;

}  // namespace

ShardSolver::ShardSolver(const ShardProblem& problem) : p_(problem), splits_(problem.graph.ops.size()) {
  restart({}, problem.rules.gather_limit);
}

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

// Appends what turns `from` into `to`, and sets what each step takes; false when nothing does.
bool ShardSolver::convert(TensorId t, Sharding from, const Sharding& to, int operand, std::vector<Conversion>* out,
                          std::array<double, 2>* seconds) const {
  std::size_t step = 0;
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
    if (seconds) (*seconds)[step++] = p_.collective(kind, j, bytes).value;
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
std::vector<Sharding> ShardSolver::finals(TensorId t, const Sharding& raw, Reduction reduction) const {
  if (const std::optional<Sharding> wanted = wanted_for(t)) return {*wanted};
  const std::int8_t along_data = split_along_data(t).on[0];
  if (p_.facts.crosses[static_cast<std::size_t>(t.index)]) return {split_along_data(t)};
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
    } else if (along && p_.facts.kept[static_cast<std::size_t>(t.index)]) {
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
  if (const TensorId old = p_.facts.replaces[static_cast<std::size_t>(t.index)]; old.valid() && is_decided(old))
    return result_.of(old);
  const TensorId weight = p_.facts.summand_of[static_cast<std::size_t>(t.index)];
  if (!weight.valid() || !is_decided(weight) || p_.graph.info(weight).shape != p_.graph.info(t).shape)
    return std::nullopt;
  return result_.of(weight);
}

void ShardSolver::place_states(const ShardFacts::Block& block) {
  for (const auto& [state, weight] : block.states) {
    if (!is_decided(state)) decide(state, weight.valid() ? result_.of(weight) : Sharding{});
  }
}

const OpSplits& ShardSolver::splits(OpId op) {
  std::optional<OpSplits>& known = splits_[static_cast<std::size_t>(op.index)];
  if (!known) known = splits_of(p_, op);
  return *known;
}

ShardSolver::Read ShardSolver::read(TensorId t, const Sharding& lies, std::size_t k, const Op& op,
                                    const OpSplit& split) const {
  const Sharding& need = split.need[k];
  Read r;
  r.possible = convert(t, lies, need, static_cast<int>(k), nullptr, &r.conversions);
  r.penalty = gather_penalty(t, lies, need);
  if (r.possible && op.pass == Pass::forward) r.adjoint = adjoint(t, lies, need, split);
  for (int j = 0; j < 2; ++j) r.grounded[static_cast<std::size_t>(j)] = starts_at_split(t, lies, need, j);
  return r;
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

bool gathers_weight(const Graph& graph, const Op& op, const OpSharding& sharding) {
  return std::ranges::any_of(sharding.conversions, [&](const Conversion& c) {
    return c.operand >= 0 && c.kind == CollectiveKind::all_gather &&
           graph.tensors[op.inputs[static_cast<std::size_t>(c.operand)]].kind == TensorKind::weight;
  });
}

}  // namespace superstep
