// SPDX-License-Identifier: Apache-2.0
// The states of the dynamic programme, op by op.
#include <algorithm>
#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <limits>
#include <map>
#include <memory_resource>
#include <unordered_map>

#include "model/error.h"
#include "model/hash.h"
#include "model/lower/shard_solver.h"

namespace superstep {
namespace {

constexpr std::size_t kMostSelected = 64;  // states, once there were too many for the beam
constexpr double kRounding = 1e-9;         // of sums of seconds

// How the live tensors lie: of few, without an allocation, since there are thousands of states.
using Lies = boost::container::small_vector<Sharding, 12>;

struct HashOfLies {
  std::size_t operator()(const Lies& lies) const {
    std::size_t h = 0;
    for (const Sharding& s : lies) {
      for (std::int8_t on : s.on) h = mix(h, static_cast<std::size_t>(on));
    }
    return h;
  }
};

}  // namespace

// States after an op, by how the tensors of `live` lie.
struct ShardSolver::Stage {
  struct State {
    Lies lies;
    double seconds = 0;
    std::int32_t parent = -1, candidate = -1;
  };
  std::vector<TensorId> live;
  std::vector<int> reads;  // by live tensor: how many ops are still to read it
  std::vector<State> states;
  bool all = true;  // no state was left out, here or before

  std::optional<std::size_t> slot(TensorId t) const {
    const auto it = std::ranges::find(live, t);
    return it == live.end() ? std::nullopt : std::optional(static_cast<std::size_t>(it - live.begin()));
  }
};

// How an op finds its inputs, and what of the state after it comes from where.
struct ShardSolver::Step {
  // Where an op finds how an operand lies: decided before, in the state, or as the op itself first uses it.
  struct Source {
    enum Kind : std::uint8_t { none, decided, live, own } kind = none;
    std::size_t index = 0;  // of the live list; of own tensors
  };
  std::vector<Source> inputs, after;  // of the live list after it
  std::vector<TensorId> own;          // tensors that the op makes, or is the first to use
  std::vector<std::size_t> made;      // of results, in `own`
  // Of inputs that the state says of: the ways they lie, and by state which.
  std::vector<std::vector<Sharding>> lies;
  std::vector<std::vector<std::uint16_t>> lie;
};

// One way to split an op, with all that does not depend on the state before it.
struct ShardSolver::Candidate {
  double work = 0;
  std::array<bool, 2> creates = {};
  std::vector<std::vector<Read>> reads;  // by input; by how it lies, where that is the state's
  struct Leaves {                        // one way to leave the results
    std::vector<double> seconds;
    std::vector<Sharding> own;  // how the op's own tensors lie
  };
  std::vector<Leaves> leaves;
};

ShardSolver::Step ShardSolver::step(const Stage& before, const Op& op, const std::vector<TensorId>& after) const {
  Step step;
  const auto find = [&](TensorId t) -> Step::Source {
    if (!t.valid()) return {};
    if (is_decided(t)) return {Step::Source::decided};
    if (const auto slot = before.slot(t)) return {Step::Source::live, *slot};
    const auto it = std::ranges::find(step.own, t);
    const auto index = static_cast<std::size_t>(it - step.own.begin());
    if (it == step.own.end()) step.own.push_back(t);
    return {Step::Source::own, index};
  };
  for (TensorId t : op.inputs) step.inputs.push_back(find(t));
  for (TensorId t : op.outputs) {
    step.made.push_back(step.own.size());
    step.own.push_back(t);
  }
  for (TensorId t : after) step.after.push_back(find(t));
  for (const Step::Source& input : step.inputs) {
    std::vector<Sharding>& lies = step.lies.emplace_back();
    std::vector<std::uint16_t>& lie = step.lie.emplace_back();
    if (input.kind != Step::Source::live) continue;
    for (const Stage::State& state : before.states) {
      const auto it = std::ranges::find(lies, state.lies[input.index]);
      lie.push_back(static_cast<std::uint16_t>(it - lies.begin()));
      if (it == lies.end()) lies.push_back(state.lies[input.index]);
    }
  }
  return step;
}

ShardSolver::Candidate ShardSolver::candidate(const Step& step, const Op& op, const OpSplit& split,
                                              Reduction reduction) const {
  Candidate c{split.work, split.creates, {}, {}};
  std::vector<Sharding> own(step.own.size());  // inputs and constants: whole
  std::vector<bool> placed(own.size(), false);
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const TensorId t = op.inputs[k];
    const Step::Source& input = step.inputs[k];
    std::vector<Read>& reads = c.reads.emplace_back();
    if (input.kind == Step::Source::decided) reads.push_back(read(t, result_.of(t), k, op, split));
    for (const Sharding& s : step.lies[k]) reads.push_back(read(t, s, k, op, split));
    if (input.kind != Step::Source::own) continue;
    if (!placed[input.index] && p_.graph.tensors[t].kind == TensorKind::weight)
      own[input.index] = storage(t, split.need[k]);  // never partial sums
    placed[input.index] = true;
    reads.push_back(read(t, own[input.index], k, op, split));
  }
  // One result decides; further results of an op follow its rule.
  std::vector<std::vector<Sharding>> choices;
  for (std::size_t k = 0; k < step.made.size(); ++k) choices.push_back(finals(op.outputs[k], split.raw[k], reduction));
  for (std::size_t v = 0; v < (choices.empty() ? 1 : choices[0].size()); ++v) {
    Candidate::Leaves leaves{{}, own};
    bool possible = true;
    for (std::size_t k = 0; k < choices.size() && possible; ++k) {
      const Sharding& left = choices[k][std::min(v, choices[k].size() - 1)];
      std::array<double, 2> seconds{};
      possible = convert(op.outputs[k], split.raw[k], left, -1 - static_cast<int>(k), nullptr, &seconds);
      leaves.seconds.insert(leaves.seconds.end(), seconds.begin(), seconds.end());
      leaves.own[step.made[k]] = left;
    }
    if (possible) c.leaves.push_back(std::move(leaves));
  }
  return c;
}

// Keeps the fastest states, of those that are better than any faster one: than one in which all that lies otherwise is
// converted for each op which is still to read it. Where tensors wait side by side for an op far away, each doubles the
// states, and the fastest of them would differ in nothing else.
void ShardSolver::select(Stage& stage, std::size_t most) const {
  std::ranges::stable_sort(stage.states, {}, &Stage::State::seconds);
  if (most == 1) return stage.states.resize(1);
  // By live tensor: seconds from one of the ways in which it lies to another.
  struct Slot {
    std::vector<Sharding> ways;
    std::vector<std::size_t> way;  // by state
    std::vector<double> seconds;
  };
  std::vector<Slot> slots(stage.live.size());
  for (std::size_t s = 0; s < slots.size(); ++s) {
    Slot& slot = slots[s];
    for (const Stage::State& state : stage.states) {
      const auto it = std::ranges::find(slot.ways, state.lies[s]);
      slot.way.push_back(static_cast<std::size_t>(it - slot.ways.begin()));
      if (it == slot.ways.end()) slot.ways.push_back(state.lies[s]);
    }
    for (const Sharding& from : slot.ways) {
      for (const Sharding& to : slot.ways) {
        std::array<double, 2> conversions{};
        const bool possible = convert(stage.live[s], from, to, 0, nullptr, &conversions);
        slot.seconds.push_back(possible ? stage.reads[s] * (conversions[0] + conversions[1])
                                        : std::numeric_limits<double>::infinity());
      }
    }
  }
  std::erase_if(slots, [](const Slot& slot) { return slot.ways.size() == 1; });
  const auto converts = [&](std::size_t from, std::size_t to) {
    double left = stage.states[to].seconds * (1 + kRounding) - stage.states[from].seconds;
    for (std::size_t s = 0; s < slots.size() && left >= 0; ++s)
      left -= slots[s].seconds[slots[s].way[from] * slots[s].ways.size() + slots[s].way[to]];
    return left >= 0;
  };
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < stage.states.size() && kept.size() < most; ++i) {
    if (std::ranges::none_of(kept, [&](std::size_t k) { return converts(k, i); })) kept.push_back(i);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) std::swap(stage.states[i], stage.states[kept[i]]);
  stage.states.resize(kept.size());
}

ShardSolver::Stage ShardSolver::extend(const Stage& before, OpId id, Stage next, std::size_t beam) {
  const Op& op = p_.graph.ops[id];
  const Step step = this->step(before, op, next.live);
  const OpSplits& ways = splits(id);
  std::vector<Candidate> candidates;
  for (const OpSplit& split : ways.splits) candidates.push_back(candidate(step, op, split, ways.reduction));

  std::array<std::byte, 32768> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  std::pmr::unordered_map<Lies, Stage::State, HashOfLies> best(&memory);
  Lies lies(next.live.size());
  for (std::size_t p = 0; p < before.states.size(); ++p) {
    const Stage::State& state = before.states[p];
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const Candidate& candidate = candidates[c];
      double seconds = state.seconds + candidate.work;
      std::array<bool, 2> grounded = candidate.creates;
      bool possible = true;
      for (std::size_t k = 0; k < step.inputs.size() && possible; ++k) {
        if (step.inputs[k].kind == Step::Source::none) continue;
        const Read& r = candidate.reads[k][step.inputs[k].kind == Step::Source::live ? step.lie[k][p] : 0];
        possible = r.possible;
        for (double s : {r.conversions[0], r.conversions[1], r.penalty, r.adjoint}) seconds += s;
        for (std::size_t j = 0; j < 2; ++j) grounded[j] = grounded[j] || r.grounded[j];
      }
      if (!possible || !(grounded[0] && grounded[1])) continue;
      for (const Candidate::Leaves& leaves : candidate.leaves) {
        double total = seconds;
        for (double s : leaves.seconds) total += s;
        for (std::size_t s = 0; s < lies.size(); ++s) {
          const Step::Source& from = step.after[s];
          lies[s] = from.kind == Step::Source::live ? state.lies[from.index] : leaves.own[from.index];
        }
        auto [it, fresh] = best.try_emplace(lies);
        if (!fresh && total >= it->second.seconds) continue;
        it->second.seconds = total;
        it->second.parent = static_cast<std::int32_t>(p);
        it->second.candidate = static_cast<std::int32_t>(c);
      }
    }
  }
  SUPERSTEP_CHECK(!best.empty(), "no sharding for op " + op.name);
  for (auto& [key, state] : best) {
    next.states.push_back(std::move(state));
    next.states.back().lies = key;
  }
  std::ranges::sort(next.states, {}, &Stage::State::lies);
  next.all = before.all && next.states.size() <= beam;
  if (const std::size_t most = std::min(beam, kMostSelected); !next.all && next.states.size() > most)
    select(next, most);
  return next;
}

double ShardSolver::solve(const std::vector<OpId>& ops, std::size_t beam) {
  Surroundings around = surroundings(ops);
  std::vector<Solution>& known = known_[&ops];
  for (const Solution& s : known) {
    if (s.lies != around.lies || gather_limit_ < s.least_limit || gather_limit_ > s.most_limit) continue;
    take(ops, around, s);
    return s.seconds;
  }
  const std::vector<Stage> stages = stages_of(ops, beam);
  const std::size_t first = result_.ops.size();
  Solution s{std::move(around.lies), gather_limit_, gather_limit_, decide(ops, stages), {}, {}};
  s.ops.assign(result_.ops.begin() + static_cast<std::ptrdiff_t>(first), result_.ops.end());
  for (TensorId t : around.open) s.open.push_back(result_.of(t));
  if (found_with_any_limit(ops, s, stages)) s.least_limit = Bytes(0);
  known.push_back(std::move(s));
  return known.back().seconds;
}

// What no limit forbids costs the same with any, and a lower limit makes nothing else cheaper, so that what was best is
// best again, the first of equals too: but among the states of a beam, which others may have left.
bool ShardSolver::found_with_any_limit(const std::vector<OpId>& ops, const Solution& s,
                                       const std::vector<Stage>& stages) const {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (gathers_weight(p_.graph, p_.graph.ops[ops[i]], s.ops[i])) return false;
  }
  return std::ranges::all_of(stages, &Stage::all);
}

void ShardSolver::take(const std::vector<OpId>& ops, const Surroundings& around, const Solution& s) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    result_.op_index[static_cast<std::size_t>(ops[i].index)] = static_cast<std::int32_t>(result_.ops.size());
    result_.ops.push_back(s.ops[i]);
  }
  for (std::size_t i = 0; i < around.open.size(); ++i) decide(around.open[i], s.open[i]);
}

ShardSolver::Surroundings ShardSolver::surroundings(const std::vector<OpId>& ops) const {
  Surroundings around;
  constexpr std::int8_t kOpen = Sharding::partial - 1;  // no decided tensor lies so
  const auto add = [&](TensorId t) {
    if (!t.valid()) return false;
    if (is_decided(t)) {
      const Sharding& s = result_.of(t);
      around.lies.insert(around.lies.end(), s.on.begin(), s.on.end());
      return false;
    }
    const auto it = forced_.find(t);
    around.lies.push_back(kOpen);
    around.lies.push_back(it == forced_.end() ? Sharding::replicated : static_cast<std::int8_t>(it->second));
    return true;
  };
  for (OpId id : ops) {
    const Op& op = p_.graph.ops[id];
    for (TensorId t : op.inputs) {
      if (add(t)) around.open.push_back(t);
    }
    for (TensorId t : op.outputs) {
      add(t);
      around.open.push_back(t);
      add(p_.facts.replaces[static_cast<std::size_t>(t.index)]);
      add(p_.facts.summand_of[static_cast<std::size_t>(t.index)]);
    }
  }
  return around;
}

std::vector<ShardSolver::Stage> ShardSolver::stages_of(const std::vector<OpId>& ops, std::size_t beam) {
  std::map<TensorId, int> reads;  // that are still to come
  for (OpId id : ops) {
    for (TensorId t : p_.graph.ops[id].inputs) {
      if (t.valid()) ++reads[t];
    }
  }
  std::vector<Stage> stages(1);
  stages[0].states.emplace_back();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = p_.graph.ops[ops[i]];
    for (TensorId t : op.inputs) {
      if (t.valid()) --reads[t];
    }
    Stage next;  // with what is read later, old ones first
    auto keep = [&](TensorId t) {
      const auto it = reads.find(t);
      if (it == reads.end() || it->second == 0 || next.slot(t)) return;
      next.live.push_back(t);
      next.reads.push_back(it->second);
    };
    for (TensorId t : stages.back().live) keep(t);
    for (TensorId t : op.inputs) {
      if (t.valid() && !is_decided(t)) keep(t);
    }
    for (TensorId t : op.outputs) keep(t);
    stages.push_back(extend(stages.back(), ops[i], std::move(next), beam));
  }
  return stages;
}

// Traces the best state back, then replays forwards to fix every tensor.
double ShardSolver::decide(const std::vector<OpId>& ops, const std::vector<Stage>& stages) {
  const auto last = std::ranges::min_element(stages.back().states, {}, &Stage::State::seconds);
  std::vector<std::size_t> path(ops.size() + 1);
  path[ops.size()] = static_cast<std::size_t>(last - stages.back().states.begin());
  for (std::size_t i = ops.size(); i > 0; --i) path[i - 1] = static_cast<std::size_t>(stages[i].states[path[i]].parent);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = p_.graph.ops[ops[i]];
    const Stage::State& state = stages[i + 1].states[path[i + 1]];
    const OpSplits& ways = splits(ops[i]);
    const OpSplit& candidate = ways.splits[static_cast<std::size_t>(state.candidate)];
    result_.op_index[static_cast<std::size_t>(ops[i].index)] = static_cast<std::int32_t>(result_.ops.size());
    OpSharding& out = result_.ops.emplace_back();
    out.axis = candidate.axis;
    out.in = candidate.need;
    auto live_state = [&](TensorId t) -> std::optional<Sharding> {
      const auto slot = stages[i + 1].slot(t);
      return slot ? std::optional(state.lies[*slot]) : std::nullopt;
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
    out.out.resize(op.outputs.size());
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      const TensorId t = op.outputs[k];
      std::optional<Sharding> chosen = live_state(t);
      if (!chosen) {  // read by nobody in this pass of the block: as cheap as allowed
        chosen = finals(t, candidate.raw[k], ways.reduction).front();
      }
      decide(t, *chosen);
      out.out[k] = *chosen;
      convert(t, candidate.raw[k], *chosen, -1 - static_cast<int>(k), &out.conversions, nullptr);
    }
  }
  return last->seconds;
}

}  // namespace superstep
