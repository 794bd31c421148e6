// SPDX-License-Identifier: Apache-2.0
// The stages that a phase programme may use: which fit, in which mode, and what Streaming Memory they need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "planner/cuts.h"
#include "planner/equal_runs.h"

namespace superstep {

// The code of all phases of an IPU stays there, on its tiles or in Streaming Memory, so that whether a stage fits
// depends on all others of its IPU. A promise says by IPU group which table rows are counted as present whether or not
// they are, and which must not be. Without promises a stage counts its own code only.
struct CodePromise {
  std::vector<std::uint64_t> present, absent;
};

// IPU groups are numbered as a plan does: with two phase groups the second's positions follow the first's.
class PhaseStages {
 public:
  PhaseStages(const Setting& setting, const CutRules& rules, const CutLimits& limits);

  // Units [begin, end). In a phase all modes take the same time.
  struct Cell {
    std::int64_t begin = 0, end = 0;
    Setting::Stage stage;
    Setting::Loads loads;
    std::array<std::int64_t, 3> needs{};  // bytes per tile by mode, code excluded; 0: not yet known
    int mode = -1;                        // the first that fits with the stage's own code; -1: none
  };
  bool none() const { return cells_[1].empty() || cells_[1][0].empty(); }
  Cell& cell(std::int64_t ipu, std::int64_t begin, std::int64_t end) {
    return cells_[ipu % depth_ == 0 ? 1 : 0][static_cast<std::size_t>(begin)]
                 [static_cast<std::size_t>(end - begin - 1)];
  }
  Recompute mode(int k) const { return modes_[static_cast<std::size_t>(k)]; }
  // The first mode that fits beside the code of these rows; -1: none.
  int mode_beside(Cell& cell, std::uint64_t rows);
  std::uint64_t all_rows() const;

  // What follows depends on the promise; it must outlive its use.
  void keep(const CodePromise& promise);
  // Calls f(cell, mode) for the stages that may begin at `begin` on an IPU group and end at `last` or before.
  template <class F>
  void for_stages(std::int64_t ipu, std::int64_t begin, std::int64_t last, F f) {
    const bool first = ipu % depth_ == 0;
    if (first ? !may_begin_phase(begin) : !may_continue_phase(begin)) return;
    Cells& cells = cells_[first ? 1 : 0][static_cast<std::size_t>(begin)];
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(0, last - begin));
    for (std::size_t k = 0; k < std::min(most, cells.size()); ++k) {
      if (const int mode = mode_on(cells[k], ipu); mode >= 0) f(cells[k], mode);
    }
  }

  // Streaming Memory of a stage, weights lent by another phase of the same IPU group counted there.
  std::int64_t ddr_on(const Cell& cell, std::int64_t ipu) const;
  // Beside the code that was promised.
  std::int64_t ddr_limit(std::int64_t ipu) const { return ddr_limits_[static_cast<std::size_t>(ipu)]; }
  // Only the first unit is looked for as one that has weights before; what others share on one IPU group is counted
  // twice.
  bool counts_twice() const { return counts_twice_; }
  // The most that units [begin, end of the model) can need.
  std::int64_t most_ddr(std::int64_t begin) const { return tail_ddr_[static_cast<std::size_t>(begin)]; }

  // By IPU group and unit: the least Streaming Memory of the stages from there to the end, IPU groups
  // weighted; kNoWay: no stages that fit lead there.
  using Ways = std::vector<std::vector<double>>;
  static constexpr double kNoWay = 1e300;
  Ways find_ways(const std::vector<double>& weights);
  // After a stage on an IPU group that ends at `end`: when a new phase begins there, or the same goes on.
  double least_behind(const Ways& ways, std::int64_t ipu, std::int64_t end) const;
  double least_within(const Ways& ways, std::int64_t ipu, std::int64_t end) const;
  const EqualRuns& runs() const { return runs_; }
  // True only if no cut has enough Streaming Memory on each IPU group.
  bool lacks_ddr();

 private:
  using Cells = std::vector<Cell>;  // by length - 1
  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  EqualRuns runs_;
  std::int64_t n_, groups_, ipus_, depth_;
  std::vector<Recompute> modes_;
  std::vector<Cells> cells_[2];  // by first in its phase, begin
  std::vector<std::int64_t> tail_ddr_;
  bool lends_ = false;  // the first unit's weights are used by others
  bool counts_twice_ = false;
  std::map<std::uint64_t, std::int64_t> codes_;
  std::vector<std::int64_t> ddr_limits_;
  const CodePromise* promise_ = nullptr;

  std::int64_t code(std::uint64_t rows);
  bool pinned_out(std::int64_t u) const;
  bool begins_phase(std::int64_t u) const;
  bool may_begin_phase(std::int64_t u) const { return !rules_.stages || !rules_.phases || u == n_ || begins_phase(u); }
  bool may_continue_phase(std::int64_t u) const { return !rules_.stages || !rules_.phases || !begins_phase(u); }
  bool other_mode(std::int64_t u, Recompute mode) const;
  // What equal runs of units have in common: with the first stage of a phase, and with one behind it.
  struct Known {
    Cell cell;
    Setting::Stage behind;
  };
  void tabulate();
  Known known(std::int64_t u, std::int64_t v);
  void settle_mode(Cell& cell);
  int mode_on(Cell& cell, std::int64_t ipu);
  std::int64_t first_behind(std::int64_t ipu) const { return (ipu / depth_ + 1) % groups_ * depth_; }
  std::vector<std::int64_t> follow(const Ways& ways, const std::vector<double>& weights);
};

}  // namespace superstep
