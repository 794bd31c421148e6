// SPDX-License-Identifier: Apache-2.0
// The stages that a phase programme may use: which fit, in which mode, and what Streaming Memory they need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "planner/code_memo.h"
#include "planner/cuts.h"

namespace superstep {

// The code of all phases of an IPU stays there, on its tiles or in Streaming Memory, so that whether a stage fits
// depends on all others of its IPU. A promise says by IPU group which table rows are counted as present whether or not
// they are, and which must not be. Without promises a stage counts its own code only.
//
// So does what other IPUs keep for one, and it for them: a promise says between which bytes that is.
struct Promise {
  std::vector<std::uint64_t> present, absent;
  std::vector<std::int64_t> least_lent, most_lent;  // bytes per IPU
};

// What an IPU group keeps on its tiles through all phases: code of table rows where that stays, and as much as others
// keep for it on theirs.
struct Kept {
  std::uint64_t rows = 0;
  std::int64_t lent = 0;  // bytes per IPU, code excluded
};

// IPU groups are numbered as a plan does: with two phase groups the second's positions follow the first's.
class PhaseStages {
 public:
  PhaseStages(const Setting& setting, const CutRules& rules, const CutLimits& limits);

  // What equal runs of units have in common as a stage. In a phase all modes take the same time.
  struct Run {
    Setting::Stage first, behind;  // of its phase; the second only with pipelining, if any mode fits
    Setting::Loads loads;
    std::array<std::int64_t, 3> needs{};  // bytes per tile by mode, code excluded; 0: not yet known
    int mode = -1;                        // the first that fits with the stage's own code; -1: none
  };
  // Units [begin, end) as a stage.
  struct Cell {
    std::int64_t begin, end;
    Run& run;
    const Setting::Stage& stage;
  };
  bool none() const { return ends_.empty() || ends_[0].least > ends_[0].most; }
  Cell cell(std::int64_t ipu, std::int64_t begin, std::int64_t end) { return cell_of(begin, end, ipu % depth_ == 0); }
  Recompute mode(int k) const { return modes_[static_cast<std::size_t>(k)]; }
  // The first mode that fits beside what its IPU group keeps; -1: none.
  int mode_beside(const Cell& cell, const Kept& kept);
  // What the leanest mode needs: code that comes with the phase included, code that stays excluded.
  std::int64_t least_needs(const Cell& cell);
  // Whether a stage that needs so much fits beside what its IPU group keeps.
  bool fits_beside(std::int64_t needs, const Kept& kept) {
    return (s_.code_moves() || code_(kept.rows) <= limits_.executable) && needs <= room_beside(kept);
  }
  // Bytes per tile.
  std::int64_t room_beside(const Kept& kept);
  std::int64_t code(std::uint64_t rows) { return code_(rows); }
  // That stands beside a stage that needs so much.
  std::int64_t most_code(std::int64_t needs) const { return std::min(limits_.executable, limits_.tile - needs); }
  // Of all units from there on.
  std::uint64_t rows_from(std::int64_t begin) const { return tail_rows_[static_cast<std::size_t>(begin)]; }

  // What follows depends on the promise; it must outlive its use.
  void keep(const Promise& promise);
  // Calls f(cell, mode) for the stages that may begin at `begin` on an IPU group and end at `last` or before, shorter
  // ones first, while it returns true.
  template <class F>
  void for_stages(std::int64_t ipu, std::int64_t begin, std::int64_t last, F f) {
    const bool first = ipu % depth_ == 0;
    if (first ? !may_begin_phase(begin) : !may_continue_phase(begin)) return;
    const Ends& ends = ends_[static_cast<std::size_t>(begin)];
    for (std::int64_t end = ends.least; end <= std::min(last, ends.most); ++end) {
      const Cell stage = cell_of(begin, end, first);
      if (const int mode = mode_on(stage, ipu); mode >= 0 && !f(stage, mode)) return;
    }
  }

  // Streaming Memory of a stage, weights lent by another phase of the same IPU group counted there.
  std::int64_t ddr_on(const Cell& cell, std::int64_t ipu) const;
  // The same of other IPUs' tiles.
  std::int64_t lent_on(const Cell& cell, std::int64_t ipu) const;
  // Whether they keep anything.
  bool lends() const { return lends_; }
  // Beside the code that was promised.
  std::int64_t ddr_limit(std::int64_t ipu) const { return ddr_limits_[static_cast<std::size_t>(ipu)]; }
  // Beside this code as well.
  std::int64_t ddr_limit(std::int64_t ipu, std::uint64_t rows) const {
    return limits_.ddr - s_.stored_code(promise_->present[static_cast<std::size_t>(ipu)] | rows);
  }
  // Only the first unit is looked for as one that has weights before; what others share on one IPU group is counted
  // twice.
  bool counts_twice() const { return counts_twice_; }
  // What units [begin, end of the model) keep on other IPUs' tiles, however they are cut.
  std::int64_t least_lent(std::int64_t begin) const { return tail_least_lent_[static_cast<std::size_t>(begin)]; }
  // The most that units [begin, end of the model) can need.
  std::int64_t most_ddr(std::int64_t begin) const { return tail_ddr_[static_cast<std::size_t>(begin)]; }
  std::int64_t most_lent(std::int64_t begin) const { return tail_lent_[static_cast<std::size_t>(begin)]; }

  // By IPU group and unit: the least Streaming Memory of the stages from there to the end, IPU groups
  // weighted; kNoWay: no stages that fit lead there.
  using Ways = std::vector<std::vector<double>>;
  static constexpr double kNoWay = 1e300;
  Ways find_ways(const std::vector<double>& weights);
  // After a stage on an IPU group that ends at `end`: when a new phase begins there, or the same goes on.
  double least_behind(const Ways& ways, std::int64_t ipu, std::int64_t end) const {
    return end == n_ ? 0 : ways[static_cast<std::size_t>(first_behind(ipu))][static_cast<std::size_t>(end)];
  }
  double least_within(const Ways& ways, std::int64_t ipu, std::int64_t end) const {
    const bool none = end == n_ || (ipu + 1) % depth_ == 0;
    return none ? kNoWay : ways[static_cast<std::size_t>(ipu) + 1][static_cast<std::size_t>(end)];
  }
  // By IPU group, and unit in front of which a stage ends: whether its phase may go on, and whether another may follow.
  using WaysOn = std::vector<std::uint8_t>;
  static constexpr std::uint8_t kGoesOn = 1, kEnds = 2;
  std::vector<WaysOn> ways_on(const Ways& ways) const;
  // True only if no cut has enough Streaming Memory on each IPU group. `ways`: of equal weights.
  bool lacks_ddr(Ways ways);

 private:
  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  std::int64_t n_, groups_, ipus_, depth_;
  std::vector<Recompute> modes_;
  std::vector<Run> runs_;
  std::vector<std::int32_t> run_of_;  // by number
  // By first unit: where stages may end, between these two.
  struct Ends {
    std::int64_t least = 1, most = 0;
  };
  std::vector<Ends> ends_;
  std::vector<std::int64_t> tail_ddr_, tail_lent_, tail_least_lent_;
  std::vector<std::uint64_t> tail_rows_;
  const bool lends_;
  const std::int64_t least_lent_;  // by each IPU group; bytes per IPU
  bool shares_ = false;            // the first unit's weights are used by others
  bool counts_twice_ = false;
  CodeMemo code_;
  std::vector<std::int64_t> ddr_limits_;
  const Promise* promise_ = nullptr;
  bool promises_ = false;  // anything

  bool pinned_out(std::int64_t u) const;
  bool begins_phase(std::int64_t u) const;
  bool may_begin_phase(std::int64_t u) const { return !rules_.stages || !rules_.phases || u == n_ || begins_phase(u); }
  bool may_continue_phase(std::int64_t u) const { return !rules_.stages || !rules_.phases || !begins_phase(u); }
  bool other_mode(std::int64_t u, Recompute mode) const;
  // Which modes stages may have depends on where they are if they are pinned, of which each begins with another unit.
  std::size_t number(std::int64_t begin, std::int64_t end) const {
    return rules_.stages ? static_cast<std::size_t>(begin) : s_.table().runs().number(begin, end);
  }
  Cell cell_of(std::int64_t begin, std::int64_t end, bool first) {
    Run& run = runs_[static_cast<std::size_t>(run_of_[number(begin, end)])];
    return {begin, end, run, first ? run.first : run.behind};
  }
  void tabulate();
  Ends find_ends(std::int64_t begin);
  void add_run(std::int64_t begin, std::int64_t end);
  int mode_on(const Cell& cell, std::int64_t ipu);
  std::int64_t needs(const Cell& cell, std::size_t mode);
  std::int64_t moved_code(const Cell& cell) { return s_.code_moves() ? code_(cell.stage.rows) : 0; }
  template <class F>
  void for_shared(const Cell& cell, std::int64_t ipu, F f) const;
  std::int64_t first_behind(std::int64_t ipu) const { return (ipu / depth_ + 1) % groups_ * depth_; }
  void take_least(const Cell& cell, std::int64_t begin, std::int64_t end, const std::vector<double>& weights,
                  const double* behind, std::vector<double>& least);
  std::vector<std::int64_t> follow(const Ways& ways, const std::vector<double>& weights);
};

}  // namespace superstep
