// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/evaluate.h"

#include <algorithm>
#include <tuple>

#include "model/error.h"
#include "planner/cost/code_memo.h"
#include "planner/cost/phase_sum.h"
#include "planner/cost/stage_memo.h"

namespace superstep {
namespace {

Recompute mode_of(const Plan& plan, std::size_t stage) {
  return plan.recompute[std::min(stage, plan.recompute.size() - 1)];
}

std::int64_t stage_end(const Setting& s, const Plan& plan, std::size_t stage) {
  return stage + 1 < plan.stages.size() ? plan.stages[stage + 1] : s.units();
}

// Sums and maxima over the stages of a pipeline on one IPU group: the fields of Setting::Stage.
struct PipelineIpu {
  std::int64_t forward = 0, backward = 0, always = 0, transient = 0, update = 0, ddr = 0, weights = 0;
  std::uint64_t rows = 0;
};

// A source of stage numbers for evaluate_plan(), which computes all numbers from the setting, anew for each call.
class UnitByUnit {
 public:
  explicit UnitByUnit(const Setting& s) : setting(s) {}

  Setting::Stage stage(Range units, Recompute mode, bool is_last) const {
    return setting.stage_without_stash(units.begin, units.end, is_last, mode);
  }
  Setting::Places places(Range units, Recompute, bool) const { return setting.places(units.begin, units.end); }
  // Calls f(number of the stage, its PhaseStage) for each stage of phase j.
  template <class F>
  void for_phase(const Plan& plan, std::size_t j, F f) const {
    const bool more = j + 1 < plan.phases.size();
    const std::size_t first = at(plan.phases[j]), end = more ? at(plan.phases[j + 1]) : plan.stages.size();
    for (std::size_t i = first; i < end; ++i) {
      const Range units{plan.stages[i], stage_end(setting, plan, i)};
      f(i, phase_stage(setting, units, mode_of(plan, i), i == first, more && i + 1 == end));
    }
  }
  std::int64_t repeats(const Plan&, std::size_t) const { return 0; }  // phases are evaluated one by one
  std::int64_t code(std::uint64_t rows) const { return setting.code(rows); }
  std::int64_t tied_cycles(std::size_t, const Tie& tie) const { return setting.tied_cycles(tie); }
  std::int64_t host_bytes() const { return setting.host_bytes(); }
  template <class Ipu>
  std::vector<Ipu>& ipus(std::int64_t count) const {
    thread_local std::vector<Ipu> ipus;
    ipus.assign(at(count), {});
    return ipus;
  }

  const Setting& setting;
};

Range units_of(const Setting& s, const Plan& plan, std::size_t stage) {
  return {plan.stages[stage], stage_end(s, plan, stage)};
}

// Returns stage i with everything that depends on its place: another stage on its IPU group, and its stash.
template <class Stages>
Setting::Stage placed_stage(Stages& stages, const Plan& plan, std::size_t i) {
  const Setting& s = stages.setting;
  const std::size_t count = plan.stages.size();
  const auto places = [&](std::size_t k) {
    return stages.places(units_of(s, plan, k), mode_of(plan, k), k + 1 == count);
  };
  Setting::Stage x = stages.stage(units_of(s, plan, i), mode_of(plan, i), i + 1 == count);
  for (std::size_t k = count; k-- > 0 && count > at(plan.pipeline_stages);) {
    if (k == i || plan.stage_ipu[k] != plan.stage_ipu[i]) continue;
    s.stand_beside(x, units_of(s, plan, i), places(i), units_of(s, plan, k), places(k));
    break;
  }
  s.add_stash(x, static_cast<std::int64_t>(count - 1 - i));
  return x;
}

template <class Stages>
Estimate evaluate_pipeline(Stages& stages, const Plan& plan) {
  const Setting& s = stages.setting;
  auto& ipus = stages.template ipus<PipelineIpu>(plan.pipeline_stages);
  const std::int64_t last = static_cast<std::int64_t>(plan.stages.size()) - 1;
  std::int64_t serial = 0, widest = 0, copies = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    const Setting::Stage x = placed_stage(stages, plan, i);
    PipelineIpu& ipu = ipus[at(plan.stage_ipu[i])];
    ipu.forward += x.forward;
    ipu.backward += x.backward;
    ipu.always += x.always;
    ipu.transient = std::max(ipu.transient, x.transient);
    ipu.update += x.update;
    ipu.ddr += x.ddr;
    ipu.weights += x.weights;
    ipu.rows |= x.rows;
    serial += x.forward + x.backward;
    if (i > 0 && plan.stage_ipu[i] != plan.stage_ipu[i - 1]) {
      widest = std::max(widest, s.copy_cycles(plan.stages[i]));
      copies += s.copy_cycles(plan.stages[i]);
    }
  }
  const bool training = s.table().training(), serially = plan.schedule == Schedule::sequential || last == 0;
  Estimate e;
  std::int64_t forward = 0, backward = 0, both = 0, update = 0, weights = 0;
  for (const PipelineIpu& ipu : ipus) {
    forward = std::max(forward, ipu.forward);
    backward = std::max(backward, ipu.backward);
    both = std::max(both, ipu.forward + ipu.backward);
    update = std::max(update, ipu.update);
    weights = std::max(weights, ipu.weights);
    const std::int64_t code = stages.code(ipu.rows);
    e.executable = std::max(e.executable, code);
    e.tile_peak = std::max(e.tile_peak, ipu.always + ipu.transient + code);
    e.ddr = std::max(e.ddr, ipu.ddr);
  }
  const bool interleaved = plan.schedule == Schedule::interleaved;
  const std::int64_t g = plan.gradient_accumulation, cycles = g + (serially ? 0 : training ? 2 * last : last);
  const std::int64_t cycle = serially ? serial : interleaved ? forward + backward : both;
  const std::int64_t copy = serially ? copies * (training ? 2 : 1) : widest;
  e.cycles = cycles * (cycle + copy + s.micro_batch_fixed() + (last > 0 ? s.cycle_fixed() : 0)) +
             s.weight_load_cycles(weights) + (training ? update + s.update_fixed() : 0);
  return e;
}

// Returns the slowest stage of phase j in each number, and adds the stages' memory to `ipus`. This is the innermost
// loop of an evaluation. The template argument false leaves out numbers that are 0 for the setting.
template <bool spills_or_preloads_or_loads_code, class Stages>
PhaseSum::Phase sum_phase(Stages& stages, const Plan& plan, std::size_t j, PhaseIpu* ipus) {
  PhaseSum::Phase p;
  const std::int64_t* ipu_of = plan.stage_ipu.data();
  stages.for_phase(plan, j, [&](std::size_t i, const PhaseStage& x) {
    p.forward = std::max(x.forward, p.forward);
    p.backward = std::max(x.backward, p.backward);
    p.load = std::max(x.load, p.load);
    p.update = std::max(x.update, p.update);
    p.widest = std::max(x.copy, p.widest);
    PhaseIpu& ipu = ipus[ipu_of[i]];
    ipu.peak = std::max(ipu.peak, x.peak);
    ipu.ddr += x.ddr;
    ipu.remote_tile += x.remote_tile;
    ipu.rows |= x.rows;
    if constexpr (spills_or_preloads_or_loads_code) {
      p.code_load = std::max(p.code_load, x.code_load);
      p.spill = std::max(p.spill, x.spill);
      p.waiting = std::max(p.waiting, x.waiting);
      ipu.code = std::max(ipu.code, x.code);
    }
    ++p.depth;
  });
  return p;
}

template <class Stages>
Estimate evaluate_phases(Stages& stages, const Plan& plan) {
  const Setting& s = stages.setting;
  auto& ipus = stages.template ipus<PhaseIpu>(plan.pipeline_stages);
  PhaseSum sum(s, plan);
  const bool plain = plan.phase_order == PhaseOrder::phase_outer && !s.code_moves() && !s.preloads();
  Estimate e;
  for (std::size_t j = 0; j < plan.phases.size(); ++j) {
    const PhaseSum::Phase phase =
        plain ? sum_phase<false>(stages, plan, j, ipus.data()) : sum_phase<true>(stages, plan, j, ipus.data());
    sum.add(phase, 1, j == 0, j + 1 == plan.phases.size());
    e.waiting = std::max(e.waiting, phase.waiting);
    if (const std::int64_t repeats = stages.repeats(plan, j); repeats > 0) {
      sum.add(phase, repeats, false, false);
      stages.for_phase(plan, j, [&](std::size_t i, const PhaseStage& x) {  // memory outside the tiles
        ipus[at(plan.stage_ipu[i])].ddr += repeats * x.ddr;
        ipus[at(plan.stage_ipu[i])].remote_tile += repeats * x.remote_tile;
      });
      j += at(repeats);
    }
  }
  take_off_shared(s, plan, ipus);
  e.cycles = sum.cycles();
  for (const PhaseIpu& ipu : ipus) {
    const std::int64_t shared_code = s.code_moves() ? 0 : stages.code(ipu.rows);  // code that stays for all phases
    const std::int64_t remote_tile = ceil_div(ipu.remote_tile + s.remote_tile_code(ipu.rows), s.tiles());
    e.executable = std::max(e.executable, ipu.code + shared_code);
    e.tile_peak = std::max(e.tile_peak, ipu.peak + remote_tile + shared_code);
    e.ddr = std::max(e.ddr, ipu.ddr + s.stored_code(ipu.rows));
  }
  return e;
}

template <class Stages>
Estimate evaluate_plan(Stages& stages, const Plan& plan) {
  const Setting& s = stages.setting;
  Estimate e = plan.phased() ? evaluate_phases(stages, plan) : evaluate_pipeline(stages, plan);
  const GraphFacts& facts = s.table().facts();
  for (std::size_t k = 0; k < facts.tied.size(); ++k) e.cycles += stages.tied_cycles(k, place_tie(plan, facts, k));
  e.cycles = s.with_host(e.cycles, plan.gradient_accumulation, stages.host_bytes());
  return e;
}

}  // namespace

Estimate evaluate(const Setting& setting, const Plan& plan) {
  UnitByUnit stages(setting);
  return evaluate_plan(stages, plan);
}

// A source of stage numbers for evaluate_plan(), which keeps all numbers. Keys are the run of units
// (EqualRuns::number()), the mode, and the place in the phase or pipeline.
class Evaluator::Known {
 public:
  explicit Known(const Setting& s)
      : setting(s),
        runs_(s.table().runs()),
        phases_(s.phased() ? kModes * kPlaces * runs_.count() : 1),
        pipelines_(s.phased() ? 1 : kModes * 2 * runs_.count()),
        codes_(s),
        host_bytes_(s.host_bytes()) {
    phase_ipus_.reserve(at(s.plan().pipeline_stages));
    pipeline_ipus_.reserve(at(s.plan().pipeline_stages));
    for (const TiedUnit& t : s.table().facts().tied) {
      for (const bool same_phase : {false, true}) {
        for (const std::int64_t ipu : {0, 1})
          tied_.push_back(s.tied_cycles({t.owner, t.borrower, 0, ipu, same_phase, 0, same_phase ? 0 : 1}));
      }
    }
  }

  const Setting::Stage& stage(Range units, Recompute mode, bool is_last) {
    return pipeline(units, mode, is_last).stage;
  }
  const Setting::Places& places(Range units, Recompute mode, bool is_last) {
    return pipeline(units, mode, is_last).places;
  }
  // Calls f as UnitByUnit::for_phase() does. Handles the first and the last stage apart: the stages between are many,
  // and differ only in their units.
  template <class F>
  void for_phase(const Plan& plan, std::size_t j, F f) {
    const std::int64_t* stages = plan.stages.data();
    const std::size_t more = j + 1 < plan.phases.size() ? kLeaves : 0, first = at(plan.phases[j]);
    const std::size_t last = (more != 0 ? at(plan.phases[j + 1]) : plan.stages.size()) - 1;
    const std::int64_t end = more != 0 ? stages[last + 1] : setting.units();
    const Recompute mode = mode_of(plan, first);
    if (first == last) {
      f(first, phase(stages[first], end, mode, kBegins + more));
      return;
    }
    f(first, phase(stages[first], stages[first + 1], mode, kBegins));
    if (plan.recompute.size() == 1) {
      const std::size_t key = key_of(mode, 0);
      for (std::size_t i = first + 1; i < last; ++i) f(i, phase(stages[i], stages[i + 1], mode, 0, key));
    } else {
      for (std::size_t i = first + 1; i < last; ++i) f(i, phase(stages[i], stages[i + 1], mode_of(plan, i), 0));
    }
    f(last, phase(stages[last], end, mode_of(plan, last), more));
  }
  std::int64_t repeats(const Plan& plan, std::size_t j) const;
  std::int64_t code(std::uint64_t rows) { return codes_(rows); }
  std::int64_t tied_cycles(std::size_t k, const Tie& tie) const {
    if (tie.together) return 0;
    return tied_[4 * k + (tie.same_phase ? 2 : 0) + (tie.owner_ipu == tie.borrower_ipu ? 0 : 1)];
  }
  std::int64_t host_bytes() const { return host_bytes_; }
  template <class Ipu>
  std::vector<Ipu>& ipus(std::int64_t count);

  const Setting& setting;

 private:
  static constexpr std::size_t kModes = 3;

  // A stage of a pipeline, alone on its IPU group and without its stash, and its places.
  struct PipelineStage {
    Setting::Stage stage;
    Setting::Places places;
  };
  const PipelineStage& pipeline(Range units, Recompute mode, bool is_last) {
    const std::size_t variant = static_cast<std::size_t>(mode) * 2 + (is_last ? 1 : 0);
    const std::size_t key = variant * runs_.count() + runs_.number(units.begin, units.end);
    const PipelineStage* known = pipelines_.find(key);
    if (known != nullptr) return *known;
    return pipelines_.add(key, {setting.stage_without_stash(units.begin, units.end, is_last, mode),
                                setting.places(units.begin, units.end)});
  }
  // Bits for the place of a stage in its phase. kLeaves: ends a phase that another phase follows. kBegins: begins its
  // phase. kPlaces: number of combinations.
  static constexpr std::size_t kLeaves = 1, kBegins = 2, kPlaces = 4;

  std::size_t key_of(Recompute mode, std::size_t place) const {
    return (static_cast<std::size_t>(mode) * kPlaces + place) * runs_.count();
  }
  [[gnu::always_inline]] const PhaseStage& phase(std::int64_t begin, std::int64_t end, Recompute mode,
                                                 std::size_t place) {
    return phase(begin, end, mode, place, key_of(mode, place));
  }
  [[gnu::always_inline]] const PhaseStage& phase(std::int64_t begin, std::int64_t end, Recompute mode,
                                                 std::size_t place, std::size_t key) {
    const PhaseStage* known = phases_.find(key + runs_.number(begin, end));
    return known != nullptr ? *known : add_phase({begin, end}, mode, place);
  }
  [[gnu::noinline]] const PhaseStage& add_phase(Range units, Recompute mode, std::size_t place) {
    return phases_.add(key_of(mode, place) + runs_.number(units.begin, units.end),
                       phase_stage(setting, units, mode, (place & kBegins) != 0, (place & kLeaves) != 0));
  }
  bool repeat(const Plan& plan, std::size_t j, std::size_t from, std::size_t to) const;

  const EqualRuns& runs_;
  StageMemo<PhaseStage> phases_;
  StageMemo<PipelineStage> pipelines_;
  CodeMemo codes_;
  std::int64_t host_bytes_;
  std::vector<std::int64_t> tied_;  // cycles of each tied unit, by whether phase and IPU group are the same
  std::vector<PhaseIpu> phase_ipus_;
  std::vector<PipelineIpu> pipeline_ipus_;
};

// Returns how many phases right behind phase j equal phase j, the last phase of the plan excluded. Compares eight
// phases at a time, then one by one.
std::int64_t Evaluator::Known::repeats(const Plan& plan, std::size_t j) const {
  const auto& [phases, stages] = std::tie(plan.phases, plan.stages);
  if (j + 2 >= phases.size() || phases[j + 2] - phases[j + 1] != phases[j + 1] - phases[j]) return 0;
  const std::int64_t begin = stages[at(phases[j])], next = stages[at(phases[j + 1])];
  // Compares the first stages of the next phases too, before any phase is compared as a whole.
  if (stages[at(phases[j + 2])] - next != next - begin ||
      stages[at(phases[j + 1]) + 1] - stages[at(phases[j]) + 1] != next - begin || !repeat(plan, j, 0, 1))
    return 0;
  const std::size_t most = phases.size() - 2 - j;
  std::size_t count = 1;
  for (std::size_t step = 8; count < most && step > 0;) {
    const std::size_t to = std::min(count + step, most);
    if (repeat(plan, j, count, to))
      count = to;
    else
      step = step > 1 ? 1 : 0;
  }
  return static_cast<std::int64_t>(count);
}

// True if phases j + from + 1 to j + to equal phase j. The caller knows that phases j + 1 to j + from do.
bool Evaluator::Known::repeat(const Plan& plan, std::size_t j, std::size_t from, std::size_t to) const {
  const std::int64_t* phases = plan.phases.data() + j;
  const std::size_t depth = at(phases[1] - phases[0]);
  const std::int64_t* stages = plan.stages.data() + phases[0];
  const std::int64_t* ipus = plan.stage_ipu.data() + phases[0];
  const std::int64_t begin = stages[0], units = stages[depth] - begin;
  std::int64_t different = 0;
  for (std::size_t m = from + 1; m <= to; ++m) different |= (phases[m + 1] - phases[m]) ^ (phases[1] - phases[0]);
  if (different != 0) return false;
  for (std::size_t i = from * depth; i <= to * depth; ++i) different |= (stages[i + depth] - stages[i]) ^ units;
  for (std::size_t i = from * depth; i < to * depth; ++i) different |= ipus[i + depth] ^ ipus[i];
  for (std::size_t i = from * depth; i < to * depth && plan.recompute.size() > 1; ++i) {
    const std::size_t stage = at(phases[0]) + i;
    different |= mode_of(plan, stage + depth) != mode_of(plan, stage) ? 1 : 0;
  }
  const std::size_t number = runs_.number(begin, begin + units);
  for (std::size_t m = from + 1; m <= to && different == 0; ++m) {
    const std::int64_t there = begin + static_cast<std::int64_t>(m) * units;
    different |= runs_.number(there, there + units) != number ? 1 : 0;
  }
  return different == 0;
}

template <>
std::vector<PipelineIpu>& Evaluator::Known::ipus(std::int64_t count) {
  pipeline_ipus_.assign(at(count), {});
  return pipeline_ipus_;
}
template <>
std::vector<PhaseIpu>& Evaluator::Known::ipus(std::int64_t count) {
  phase_ipus_.assign(at(count), {});
  return phase_ipus_;
}

Evaluator::Evaluator(const Setting& setting) : known_(std::make_unique<Known>(setting)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Estimate Evaluator::operator()(const Plan& plan) {
  SUPERSTEP_CHECK(plan.phased() == known_->setting.phased(), "a setting is for plans with phases or for those without");
  return evaluate_plan(*known_, plan);
}

}  // namespace superstep
