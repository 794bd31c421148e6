// SPDX-License-Identifier: Apache-2.0
#include "planner/cuts.h"

#include <algorithm>
#include <map>

#include "model/error.h"

namespace superstep {
namespace {

// The state of a partial cut. For sequential schedules `forward` is a sum, else maxima.
struct Label {
  std::int64_t forward = 0, backward = 0, update = 0, copy = 0, weights = 0;
  std::int32_t end = 0;    // where this stage ends
  std::int32_t next = -1;  // label at `end`
  Recompute mode = Recompute::layer;
};

bool no_worse(const Label& a, const Label& b) {
  return a.forward <= b.forward && a.backward <= b.backward && a.update <= b.update && a.copy <= b.copy &&
         a.weights <= b.weights;
}

void offer(std::vector<Label>& labels, const Label& label) {
  for (const Label& l : labels) {
    if (no_worse(l, label)) return;
  }
  std::erase_if(labels, [&](const Label& l) { return no_worse(label, l); });
  labels.push_back(label);
}

class PipelineCut {
 public:
  PipelineCut(const Setting& s, const CutRules& rules, const CutLimits& limits)
      : s_(s), rules_(rules), limits_(limits), n_(s.units()) {
    groups_ = s.plan().pipeline_stages;
    stages_ = groups_ + (rules.wrap ? 1 : 0);
    const Plan& p = s.plan();
    grouped_ = p.schedule == Schedule::grouped;
    serial_ = p.schedule == Schedule::sequential || stages_ == 1;
    const bool training = s.table().training();
    cycles_ = p.gradient_accumulation + (serial_ ? 0 : (training ? 2 : 1) * (stages_ - 1));
    fixed_ = s.micro_batch_fixed() + (stages_ > 1 ? s.cycle_fixed() : 0);
    copies_ = training ? 2 : 1;
    best_ = limits.best;
  }

  std::optional<Cuts> run() {
    if (stages_ > n_ || !may_fit()) return std::nullopt;
    if (!rules_.wrap) return straight();
    std::optional<Cuts> best;
    // The returning stage: the head alone or with units before it, and the first stage it shares its IPU with.
    for (std::int64_t w = n_ - 1; w >= stages_ - 1; --w) {
      if (pinned_other(stages_ - 1, w)) continue;
      if (!wrapped(w, best)) break;
      if (best) best_ = std::min(best_, best->cycles);
    }
    return best;
  }

  // What all units hold together must fit on all IPUs beside the least code and the least peak.
  bool may_fit() const {
    std::int64_t held = 0, least = INT64_MAX;
    for (std::int64_t u = 0; u < n_; ++u) {
      held += s_.resident(u);
      least = std::min(least, s_.least_memory(u) - s_.resident(u));
    }
    return held <= groups_ * (limits_.tile - least - s_.code(0));
  }

 private:
  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  std::int64_t n_, groups_, stages_, cycles_, fixed_, copies_;
  bool grouped_, serial_;
  mutable std::int64_t best_ = INT64_MAX;  // cycles that a cut must beat

  bool pinned_other(std::int64_t stage, std::int64_t begin) const {
    return rules_.stages && (*rules_.stages)[static_cast<std::size_t>(stage)] != begin;
  }

  bool other_mode(std::int64_t stage, Recompute mode) const {
    return rules_.stage_modes && stage < static_cast<std::int64_t>(rules_.stage_modes->size()) &&
           (*rules_.stage_modes)[static_cast<std::size_t>(stage)] != mode;
  }

  std::int64_t objective(const Label& l) const {
    const std::int64_t work = serial_ || grouped_ ? l.forward : l.forward + l.backward;
    const std::int64_t copy = serial_ ? l.copy * copies_ : l.copy;
    return cycles_ * (work + copy + fixed_) + s_.whole_weights_cycles(l.weights) +
           (s_.table().training() ? l.update + s_.update_fixed() : 0);
  }

  // Joins a stage in front of a label.
  Label join(const Setting::Stage& x, std::int64_t boundary, const Label& rest, bool copies) const {
    Label l = rest;
    const std::int64_t copy = copies ? s_.copy_cycles(boundary) : 0;
    if (serial_) {
      l.forward += x.forward + x.backward;
      l.copy += copy;
    } else {
      l.forward = std::max(l.forward, grouped_ ? x.forward + x.backward : x.forward);
      l.backward = grouped_ ? 0 : std::max(l.backward, x.backward);
      l.copy = std::max(l.copy, copy);
    }
    l.update = std::max(l.update, x.update);
    l.weights = s_.plan().location.weights == Location::in_processor ? 0 : std::max(l.weights, x.weights);
    return l;
  }

  bool fits(const Setting::Stage& x, std::int64_t code) const {
    return code <= limits_.executable && x.always + x.transient + code <= limits_.tile && x.ddr <= limits_.ddr;
  }
  bool fits(const Setting::Stage& x) const { return fits(x, s_.code(x.rows)); }

  // Stages by last or not, mode, begin and length, computed when first asked for: only the stash
  // depends on the place in the pipeline.
  struct Known {
    Setting::Stage stage;
    std::int64_t code = 0;
  };
  mutable std::vector<std::vector<Known>> known_[2][3];
  const Known& known(std::int64_t u, std::int64_t v, bool last, Recompute mode) const {
    auto& rows = known_[last ? 1 : 0][static_cast<std::size_t>(mode)];
    if (rows.empty()) rows.resize(static_cast<std::size_t>(n_));
    auto& row = rows[static_cast<std::size_t>(u)];
    const auto at = static_cast<std::size_t>(v - u - 1);
    if (row.size() <= at) row.resize(at + 1, Known{{}, -1});
    Known& k = row[at];
    if (k.code < 0) {
      k.stage = s_.stage_without_stash(u, v, last, mode);
      k.code = s_.code(k.stage.rows);
    }
    return k;
  }

  // Modes come from the fastest; one that fits leaves the others nothing, for a stage has its IPU to
  // itself. Only the last stage may gain by `stage`, which recomputes nothing there.
  bool settles(Recompute mode, const Setting::Stage&, std::int64_t from_end) const {
    return mode == Recompute::none || from_end > 0;
  }

  // labels[k][u]: ways to run units [u, end) in k + 1 stages, `last` being the from_end of the last one.
  using Table = std::vector<std::vector<std::vector<Label>>>;
  Table fill(std::int64_t end, std::int64_t count, std::int64_t last, std::int64_t begin) const {
    Table labels(static_cast<std::size_t>(count), std::vector<std::vector<Label>>(static_cast<std::size_t>(n_) + 1));
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t from_end = k + last;
      for (std::int64_t u = end - 1; u >= begin; --u) {
        if (pinned_other(stages_ - 1 - from_end, u)) continue;
        auto& here = labels[static_cast<std::size_t>(k)][static_cast<std::size_t>(u)];
        extend(labels, here, k, u, end, from_end);
      }
    }
    return labels;
  }

  void extend(const Table& labels, std::vector<Label>& here, std::int64_t k, std::int64_t u, std::int64_t end,
              std::int64_t from_end) const {
    const bool copies = u > 0 && stages_ > 1;
    for (std::int64_t v = k == 0 ? end : u + 1; v <= end - k; ++v) {
      bool any = false;
      for (Recompute mode : rules_.modes) {
        if (other_mode(stages_ - 1 - from_end, mode)) continue;
        const Known& base = known(u, v, from_end == 0, mode);
        Setting::Stage x = base.stage;
        s_.add_stash(x, from_end);
        if (!fits(x, base.code)) continue;
        any = true;
        if (k == 0) {
          Label l = join(x, u, Label{}, copies);
          l.end = static_cast<std::int32_t>(v);
          l.mode = mode;
          if (objective(l) < best_) offer(here, l);
          if (settles(mode, x, from_end)) break;
          continue;
        }
        const auto& rest = labels[static_cast<std::size_t>(k) - 1][static_cast<std::size_t>(v)];
        for (std::size_t i = 0; i < rest.size(); ++i) {
          Label l = join(x, u, rest[i], copies);
          l.end = static_cast<std::int32_t>(v);
          l.next = static_cast<std::int32_t>(i);
          l.mode = mode;
          if (objective(l) < best_) offer(here, l);
        }
        if (settles(mode, x, from_end)) break;
      }
      if (!any && !rules_.stages) break;  // for a fixed start and place a longer stage needs no less
    }
  }

  std::optional<Cuts> straight() const {
    const Table labels = fill(n_, stages_, 0, 0);
    const auto& first = labels[static_cast<std::size_t>(stages_) - 1][0];
    if (first.empty()) return std::nullopt;
    std::size_t at = 0;
    for (std::size_t i = 1; i < first.size(); ++i) {
      if (objective(first[i]) < objective(first[at])) at = i;
    }
    Cuts cuts;
    trace(labels, stages_ - 1, 0, static_cast<std::int32_t>(at), cuts);
    finish(cuts);
    return cuts;
  }

  // Tries every first stage [0, v) beside the last one [w, n). False when the last stage alone no longer fits.
  bool wrapped(std::int64_t w, std::optional<Cuts>& best) const {
    if (cycles_ * (s_.work(w, n_) + fixed_) >= best_) return false;
    bool alone_fits = false;
    for (Recompute mode : rules_.modes) alone_fits = alone_fits || fits(s_.stage(w, n_, 0, mode, true, Range{0, w}));
    if (!alone_fits) return true;  // a longer one may still fit: boundaries inside a layer are wider
    const Table middle = stages_ > 2 ? fill(w, stages_ - 2, 1, 1) : Table{};
    for (std::int64_t v = 1; v <= w; ++v) {
      if (stages_ == 2 && v != w) continue;
      if (pinned_other(1, v) && stages_ > 2) continue;
      bool any = false;
      for (Recompute a : rules_.modes) {
        for (Recompute b : rules_.modes) {
          if (other_mode(0, a) || other_mode(stages_ - 1, b)) continue;
          Setting::Stage x = s_.stage(0, v, stages_ - 1, a, true, Range{w, n_});
          const Setting::Stage y = s_.stage(w, n_, 0, b, true, Range{0, v});
          x.forward += y.forward, x.backward += y.backward, x.always += y.always, x.update += y.update, x.ddr += y.ddr,
              x.weights += y.weights;
          x.transient = std::max(x.transient, y.transient);
          x.rows |= y.rows;
          if (!fits(x)) continue;
          any = true;
          Label base;
          base.copy = s_.copy_cycles(w);
          if (serial_ && stages_ > 2) base.copy = s_.copy_cycles(w);
          consider(middle, v, w, join(x, 0, base, false), a, b, best);
        }
      }
      if (!any) break;
    }
    return true;
  }

  void consider(const Table& middle, std::int64_t v, std::int64_t w, const Label& ends, Recompute a, Recompute b,
                std::optional<Cuts>& best) const {
    auto offer_cut = [&](std::int64_t cycles, std::int32_t label) {
      if (cycles >= (best ? best->cycles : best_)) return;
      Cuts cuts;
      cuts.cycles = cycles;
      cuts.stages = {0};
      cuts.recompute = {a};
      if (label >= 0) trace(middle, stages_ - 3, v, label, cuts);
      cuts.stages.push_back(w);
      cuts.recompute.push_back(b);
      finish(cuts);
      best = cuts;
    };
    if (stages_ == 2) {
      offer_cut(objective(ends), -1);
      return;
    }
    const auto& options = middle[static_cast<std::size_t>(stages_) - 3][static_cast<std::size_t>(v)];
    for (std::size_t i = 0; i < options.size(); ++i) {
      Label l = options[i];
      if (serial_)
        l.forward += ends.forward, l.copy += ends.copy;
      else
        l.forward = std::max(l.forward, ends.forward), l.backward = std::max(l.backward, ends.backward),
        l.copy = std::max(l.copy, ends.copy);
      l.update = std::max(l.update, ends.update);
      l.weights = std::max(l.weights, ends.weights);
      offer_cut(objective(l), static_cast<std::int32_t>(i));
    }
  }

  static void trace(const Table& labels, std::int64_t k, std::int64_t u, std::int32_t at, Cuts& cuts) {
    while (k >= 0) {
      const Label& l = labels[static_cast<std::size_t>(k)][static_cast<std::size_t>(u)][static_cast<std::size_t>(at)];
      cuts.stages.push_back(u);
      cuts.recompute.push_back(l.mode);
      u = l.end;
      at = l.next;
      --k;
    }
  }

  void finish(Cuts& cuts) const {
    cuts.phases = {0};
    cuts.stage_ipu.clear();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(cuts.stages.size()); ++i)
      cuts.stage_ipu.push_back(i % groups_);
    cuts.cycles = evaluate(s_, with_cuts(s_.plan(), cuts)).cycles;
  }
};

// ---- phases

class PhaseCut {
 public:
  PhaseCut(const Setting& s, const CutRules& rules, const CutLimits& limits)
      : s_(s),
        rules_(rules),
        limits_(limits),
        n_(s.units()),
        depth_(s.plan().pipeline_stages / s.plan().phase_groups),
        overlap_(s.plan().io_tiles > 0),
        training_(s.table().training()) {
    g_ = s.plan().phase_order == PhaseOrder::phase_outer ? s.plan().gradient_accumulation : 1;
    repeats_ = s.plan().phase_order == PhaseOrder::phase_outer ? 1 : s.plan().gradient_accumulation;
    // The least that units [v, n) can take: their work spread evenly over the stages of a phase.
    for (std::int64_t v = 0; v <= n_; ++v) {
      rest_.push_back(static_cast<double>(s.work(v, n_)) / static_cast<double>(depth_) *
                      static_cast<double>(g_ * repeats_) * 0.999999);
    }
  }

  // weight: 0 minimises time, 1 minimises Streaming Memory.
  std::optional<Cuts> run(bool least_ddr, std::int64_t* lower_bound) {
    tabulate();
    if (pairs() && !least_ddr) return run_pairs();
    const auto units = static_cast<std::size_t>(n_);
    const bool counted = rules_.phase_count > 0;
    const std::size_t counts = counted ? static_cast<std::size_t>(rules_.phase_count) : 1;
    // cost[c][u]: units [0, u) in c phases (in any number when the count is free).
    std::vector<std::vector<double>> cost(counts + 1, std::vector<double>(units + 1, kNone));
    std::vector<std::vector<Back>> back(counts + 1, std::vector<Back>(units + 1));
    cost[0][0] = 0;
    for (std::size_t c = 0; c < counts; ++c) {
      const std::size_t to = counted ? c + 1 : 0;
      for (std::int64_t u = 0; u < n_; ++u) {
        if (cost[c][static_cast<std::size_t>(u)] == kNone || pinned_out(u)) continue;
        extend_phases(u, cost[c][static_cast<std::size_t>(u)], least_ddr,
                      [&](std::int64_t v, double value, const auto& make_back) {
                        double& slot = cost[to][static_cast<std::size_t>(v)];
                        if (value >= slot) return;
                        slot = value;
                        back[to][static_cast<std::size_t>(v)] = make_back();
                      });
      }
    }
    const std::size_t last = counted ? counts : 0;
    if (cost[last][units] == kNone) return std::nullopt;
    if (lower_bound && !least_ddr) *lower_bound = static_cast<std::int64_t>(cost[last][units] * 0.999999);
    Cuts cuts;
    for (std::int64_t v = n_, c = static_cast<std::int64_t>(last); v > 0; c -= counted ? 1 : 0) {
      const Back& b = back[static_cast<std::size_t>(c)][static_cast<std::size_t>(v)];
      for (std::size_t i = b.stages.size(); i-- > 0;) {
        cuts.stages.insert(cuts.stages.begin(), b.stages[i].first);
        cuts.recompute.insert(cuts.recompute.begin(), b.stages[i].second);
      }
      starts_.insert(starts_.begin(), b.from);
      v = b.from;
    }
    number(cuts);
    return cuts;
  }

  // Loads hidden behind the neighbouring phase couple phases in pairs: with one stage per phase the
  // last phase is the state, and the programme is exact again.
  bool pairs() const { return s_.overlapped() && depth_ == 1 && training_ && repeats_ == 1 && rules_.phase_count == 0; }

 private:
  static constexpr double kNone = 1e300;

  struct Single {
    std::int64_t forward, backward, load, update;
    Recompute mode;
  };
  std::optional<Single> single(std::int64_t u, std::int64_t v) const {
    const auto& lengths = cells_[1][static_cast<std::size_t>(u)];
    const auto len = static_cast<std::size_t>(v - u - 1);
    if (len >= lengths.size() || lengths[len].empty() || pinned_phase(u) ||
        (v < n_ && (pinned_out(v) || pinned_phase(v))))
      return std::nullopt;
    const Cell& cell = lengths[len][0];
    Setting::Stage x = cell.stage;
    s_.leave_phase(x, v, v < n_);
    return Single{g_ * (x.busy_forward(overlap_) + s_.micro_batch_fixed()),
                  g_ * (x.busy_backward(overlap_) + s_.micro_batch_fixed()), s_.load_cycles(x.weights),
                  x.update + s_.update_fixed(), cell.mode};
  }

  std::optional<Cuts> run_pairs() {
    struct PairState {
      std::int64_t cost = INT64_MAX;
      std::int64_t from = -1;  // where the phase before began
    };
    const auto units = static_cast<std::size_t>(n_);
    std::vector<std::vector<std::optional<Single>>> phase(units);
    std::vector<std::vector<PairState>> best(units);  // by begin, length - 1
    for (std::int64_t u = 0; u < n_; ++u) {
      for (std::int64_t v = u + 1;
           v <= n_ && v - u <= static_cast<std::int64_t>(cells_[1][static_cast<std::size_t>(u)].size()); ++v) {
        phase[static_cast<std::size_t>(u)].push_back(u == 0 && v == n_ ? std::nullopt : single(u, v));
      }
      best[static_cast<std::size_t>(u)].resize(phase[static_cast<std::size_t>(u)].size());
    }
    std::int64_t end_cost = limits_.best, end_begin = -1;
    for (std::int64_t u = 0; u < n_; ++u) {
      for (std::size_t i = 0; i < phase[static_cast<std::size_t>(u)].size(); ++i) {
        const std::optional<Single>& a = phase[static_cast<std::size_t>(u)][i];
        if (!a) continue;
        PairState& here = best[static_cast<std::size_t>(u)][i];
        if (u == 0) here.cost = a->load + a->backward + a->update;
        if (here.cost == INT64_MAX) continue;
        const std::int64_t v = u + static_cast<std::int64_t>(i) + 1;
        if (v == n_) {
          if (here.cost + a->forward < end_cost) end_cost = here.cost + a->forward, end_begin = u;
          continue;
        }
        if (static_cast<double>(here.cost + a->forward) + rest_[static_cast<std::size_t>(v)] >=
            static_cast<double>(end_cost))
          continue;
        for (std::size_t k = 0; k < phase[static_cast<std::size_t>(v)].size(); ++k) {
          const std::optional<Single>& b = phase[static_cast<std::size_t>(v)][k];
          if (!b) continue;
          const std::int64_t total =
              here.cost + std::max(a->forward, b->load) + std::max(b->backward, a->load) + b->update;
          PairState& next = best[static_cast<std::size_t>(v)][k];
          if (total < next.cost) next = {total, u};
        }
      }
    }
    if (end_begin < 0) return std::nullopt;
    Cuts cuts;
    for (std::int64_t u = end_begin, v = n_; u >= 0;) {
      cuts.stages.insert(cuts.stages.begin(), u);
      cuts.recompute.insert(cuts.recompute.begin(),
                            phase[static_cast<std::size_t>(u)][static_cast<std::size_t>(v - u - 1)]->mode);
      const std::int64_t before = best[static_cast<std::size_t>(u)][static_cast<std::size_t>(v - u - 1)].from;
      v = u;
      u = before;
    }
    starts_ = cuts.stages;
    number(cuts);
    return cuts;
  }

  struct Back {
    std::int64_t from = 0;
    std::vector<std::pair<std::int64_t, Recompute>> stages;
  };
  struct Cell {
    Setting::Stage stage;
    Recompute mode;
  };
  struct PhaseLabel {
    std::int64_t forward = 0, backward = 0, load = 0, update = 0, copy = 0, ddr = 0;
    std::int32_t from = -1, label = -1;  // previous stage's end and label
    Recompute mode = Recompute::layer;
  };
  using Layers = std::vector<std::map<std::int64_t, std::vector<PhaseLabel>>>;
  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  std::int64_t n_, depth_, g_ = 1;
  bool overlap_, training_;
  std::vector<std::vector<std::vector<Cell>>> cells_[2];  // by first, begin, length - 1: feasible modes
  std::vector<std::int64_t> starts_;
  std::int64_t repeats_ = 1;
  std::vector<double> rest_;

  bool pinned_out(std::int64_t u) const {
    if (!rules_.stages) return false;
    return !std::binary_search(rules_.stages->begin(), rules_.stages->end(), u);
  }
  bool pinned_phase(std::int64_t u) const {  // with pinned phases, only their first stages begin one
    if (!rules_.stages || !rules_.phases) return false;
    for (std::int64_t p : *rules_.phases) {
      if (p < static_cast<std::int64_t>(rules_.stages->size()) && (*rules_.stages)[static_cast<std::size_t>(p)] == u)
        return false;
    }
    return true;
  }

  bool fits(const Setting::Stage& x) const {
    // Code stays for the whole step: an IPU runs every kind of unit in one phase or another.
    const std::int64_t code = s_.plan().location.code == Location::in_processor ? s_.code_of_all() : s_.code(x.rows);
    if (s_.overlapped() && s_.plan().io_tiles > 0) {  // what is preloaded waits on the IO tiles
      const std::int64_t room = s_.plan().io_tiles * s_.limit();
      if (x.weights / s_.plan().replicated_tensor_sharding.weights > room) return false;
    }
    return code <= limits_.executable && x.always + x.transient + code <= limits_.tile;
  }

  void tabulate() {
    for (int first = depth_ > 1 ? 0 : 1; first < 2; ++first) {  // without pipelining every stage begins its phase
      auto& rows = cells_[first];
      rows.assign(static_cast<std::size_t>(n_), {});
      for (std::int64_t u = 0; u < n_; ++u) {
        if (pinned_out(u)) continue;
        for (std::int64_t v = u + 1; v <= n_; ++v) {
          std::vector<Cell> ok;
          for (Recompute mode : rules_.modes) {
            if (mode == Recompute::none) continue;  // a phase's forward is long gone when its backward begins
            const Setting::Stage x = s_.stage(u, v, 0, mode, first == 1);
            if (!fits(x)) continue;
            ok.push_back({x, mode});
            break;  // in a phase the modes take the same time
          }
          if (ok.empty() && !rules_.stages) break;
          rows[static_cast<std::size_t>(u)].push_back(std::move(ok));
        }
      }
    }
  }

  double phase_cost(const PhaseLabel& l, std::int64_t u, std::int64_t v, std::int64_t stages) const {
    const std::int64_t per_cycle = l.copy + s_.micro_batch_fixed() + (stages > 1 ? s_.cycle_fixed() : 0);
    const std::int64_t slots = g_ + stages - 1;
    std::int64_t total = slots * (l.forward + per_cycle);
    if (training_) total += slots * (l.backward + per_cycle);
    const bool last = v == n_;
    // Hidden loads cost what they exceed their neighbours by, which this bound leaves out; the first is never hidden.
    if (s_.overlapped())
      total += u == 0 ? l.load : 0;
    else
      total += l.load * (training_ && !last ? 2 : 1);
    double t = static_cast<double>(total);
    if (s_.plan().phase_order == PhaseOrder::micro_batch_outer)
      t *= static_cast<double>(s_.plan().gradient_accumulation);
    return t + (training_ ? static_cast<double>(l.update + s_.update_fixed()) : 0);
  }

  template <class Offer>
  void extend_phases(std::int64_t u, double before, bool least_ddr, Offer offer_phase) {
    if (pinned_phase(u)) return;
    // By stages so far, then by the end of the last one.
    Layers layers(static_cast<std::size_t>(depth_) + 1);
    layers[0][u] = {PhaseLabel{}};
    for (std::int64_t i = 0; i < depth_; ++i) {
      for (const auto& [w, labels] : layers[static_cast<std::size_t>(i)]) {
        if (w >= n_ || (i > 0 && rules_.phases && !pinned_phase(w))) continue;
        const auto& lengths = cells_[i == 0 ? 1 : 0][static_cast<std::size_t>(w)];
        for (std::size_t len = 0; len < lengths.size(); ++len) {
          const std::int64_t v = w + static_cast<std::int64_t>(len) + 1;
          if (rules_.stages && v < n_ && pinned_out(v)) continue;
          for (const Cell& cell : lengths[len]) {
            join(layers[static_cast<std::size_t>(i) + 1], labels, cell, w, v, i, least_ddr ? -1 : before);
          }
          if (rules_.stages && !lengths[len].empty()) break;  // pinned: a stage ends at the next pinned cut
        }
      }
    }
    for (std::int64_t i = 0; i < depth_; ++i) {
      for (const auto& [w, labels] : layers[static_cast<std::size_t>(i)]) {
        if (w >= n_ || (i > 0 && rules_.phases && !pinned_phase(w))) continue;
        close_phases(layers, u, w, i, labels, before, least_ddr, offer_phase);
      }
    }
  }

  // Phases from `u` whose last stage, the (i + 1)-th, begins at `w`: only they know what leaves the phase.
  template <class Offer>
  void close_phases(const Layers& layers, std::int64_t u, std::int64_t w, std::int64_t i,
                    const std::vector<PhaseLabel>& labels, double before, bool least_ddr, Offer& offer_phase) const {
    const auto& lengths = cells_[i == 0 ? 1 : 0][static_cast<std::size_t>(w)];
    for (std::size_t len = 0; len < lengths.size(); ++len) {
      const std::int64_t v = w + static_cast<std::int64_t>(len) + 1;
      if (v < n_ && (pinned_phase(v) || pinned_out(v))) continue;
      if (u == 0 && v == n_) continue;  // one phase is a pipeline, not phased execution
      for (const Cell& cell : lengths[len]) {
        Setting::Stage x = cell.stage;
        s_.leave_phase(x, v, v < n_);
        for (std::size_t k = 0; k < labels.size(); ++k) {
          const PhaseLabel l = joined(labels[k], x, w, i);
          const double own = least_ddr ? static_cast<double>(l.ddr) : phase_cost(l, u, v, i + 1);
          if (before + own >= kNone ||
              (!least_ddr && before + own + rest_[static_cast<std::size_t>(v)] >= static_cast<double>(limits_.best)))
            continue;
          offer_phase(v, before + own, [&] {
            Back b;
            b.from = u;
            trace(layers, i, w, static_cast<std::int32_t>(k), b);
            b.stages.push_back({w, cell.mode});
            return b;
          });
        }
      }
      if (rules_.stages && !lengths[len].empty()) break;  // pinned: a stage ends at the next pinned cut
    }
  }

  PhaseLabel joined(PhaseLabel l, const Setting::Stage& x, std::int64_t w, std::int64_t i) const {
    l.forward = std::max(l.forward, x.busy_forward(overlap_));
    l.backward = std::max(l.backward, x.busy_backward(overlap_));
    l.load = std::max(l.load, s_.load_cycles(x.weights));
    l.update = std::max(l.update, x.update);
    l.ddr += x.ddr;
    if (i > 0) l.copy = std::max(l.copy, s_.copy_cycles(w));
    return l;
  }

  // Labels at `v` for a phase that starts after `before` cycles (negative: time does not matter). Dropped
  // when even an even spread of what is left could not make up for it.
  void join(std::map<std::int64_t, std::vector<PhaseLabel>>& ends, const std::vector<PhaseLabel>& from,
            const Cell& cell, std::int64_t w, std::int64_t v, std::int64_t i, double before) const {
    const double others = before < 0 ? 0 : before + rest_[static_cast<std::size_t>(v)];
    const auto slots = static_cast<double>((g_ + i) * repeats_);
    if (before >= 0 && others + slots * static_cast<double>(cell.stage.busy_forward(overlap_) +
                                                            (training_ ? cell.stage.busy_backward(overlap_) : 0)) >=
                           static_cast<double>(limits_.best))
      return;
    std::vector<PhaseLabel>& to = ends[v];
    for (std::size_t k = 0; k < from.size(); ++k) {
      PhaseLabel l = joined(from[k], cell.stage, w, i);
      if (before >= 0 && others + slots * static_cast<double>(l.forward + (training_ ? l.backward : 0)) >=
                             static_cast<double>(limits_.best))
        continue;
      l.from = static_cast<std::int32_t>(w);
      l.label = static_cast<std::int32_t>(k);
      l.mode = cell.mode;
      auto covers = [](const PhaseLabel& a, const PhaseLabel& b) {
        return a.forward <= b.forward && a.backward <= b.backward && a.load <= b.load && a.update <= b.update &&
               a.copy <= b.copy && a.ddr <= b.ddr;
      };
      if (std::any_of(to.begin(), to.end(), [&](const PhaseLabel& other) { return covers(other, l); })) continue;
      std::erase_if(to, [&](const PhaseLabel& other) { return covers(l, other); });
      to.push_back(l);
    }
  }

  static void trace(const Layers& layers, std::int64_t i, std::int64_t v, std::int32_t k, Back& b) {
    while (i > 0) {
      const PhaseLabel& l = layers[static_cast<std::size_t>(i)].at(v)[static_cast<std::size_t>(k)];
      b.stages.insert(b.stages.begin(), {l.from, l.mode});
      v = l.from;
      k = l.label;
      --i;
    }
  }

  // Numbers phases by their first stages and places stages on IPU groups; with two groups, phases alternate.
  void number(Cuts& cuts) const {
    std::size_t phase = 0, position = 0;
    for (std::size_t i = 0; i < cuts.stages.size(); ++i) {
      if (std::binary_search(starts_.begin(), starts_.end(), cuts.stages[i])) {
        cuts.phases.push_back(static_cast<std::int64_t>(i));
        phase = cuts.phases.size() - 1;
        position = 0;
      }
      const std::int64_t base = s_.plan().phase_groups == 2 && phase % 2 == 1 ? depth_ : 0;
      cuts.stage_ipu.push_back(base + static_cast<std::int64_t>(position++));
    }
    cuts.cycles = evaluate(s_, with_cuts(s_.plan(), cuts)).cycles;
  }
};

}  // namespace

Plan with_cuts(const Plan& plan, const Cuts& cuts) {
  Plan p = plan;
  p.stages = cuts.stages;
  p.stage_ipu = cuts.stage_ipu;
  p.phases = cuts.phases;
  p.recompute = cuts.recompute;
  return p;
}

std::optional<Cuts> cut_pipeline(const Setting& setting, const CutRules& rules, const CutLimits& limits) {
  return PipelineCut(setting, rules, limits).run();
}

std::optional<Cuts> cut_phases(const Setting& setting, const CutRules& rules, const CutLimits& limits,
                               std::int64_t* lower_bound) {
  std::optional<Cuts> cuts = PhaseCut(setting, rules, limits).run(false, lower_bound);
  if (!cuts) return std::nullopt;
  if (evaluate(setting, with_cuts(setting.plan(), *cuts)).ddr > limits.ddr)
    cuts = PhaseCut(setting, rules, limits).run(true, nullptr);
  if (cuts && evaluate(setting, with_cuts(setting.plan(), *cuts)).ddr > limits.ddr) return std::nullopt;
  return cuts;
}

}  // namespace superstep
