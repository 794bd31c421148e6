// SPDX-License-Identifier: Apache-2.0
// The stages that a phase programme may use: which fit, in which mode, and what Streaming Memory they need.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "planner/cost/code_memo.h"
#include "planner/cuts/cuts.h"

namespace superstep {

// The code of all phases of an IPU stays there, on its tiles or in Streaming Memory, so that whether a stage fits
// depends on all others of its IPU. An assumption says by IPU group which table rows are counted as present whether or
// not they are, and which must not be. Without assumptions a stage counts its own code only.
//
// So does what other IPUs keep for one, and it for them: an assumption says between which bytes that is.
struct Assumption {
  std::vector<std::uint64_t> present, absent;
  std::vector<std::int64_t> least_lent, most_lent;  // bytes per IPU
};

// What an IPU group keeps through all phases: on its tiles code of table rows where that stays, and as much as others
// keep for it on theirs.
struct GroupLoad {
  std::uint64_t rows = 0;
  std::int64_t lent = 0;     // bytes per IPU, code and shared weights excluded
  std::uint64_t shared = 0;  // weights that several of its stages use, each kept once: bits of PhaseStages
};
inline GroupLoad with(const GroupLoad& a, const GroupLoad& b) {
  return {a.rows | b.rows, a.lent + b.lent, a.shared | b.shared};
}

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
  int mode_beside(const Cell& cell, const GroupLoad& kept);
  // What the leanest mode needs: code that comes with the phase included, code that stays excluded.
  std::int64_t least_needs(const Cell& cell);
  // What a unit alone needs so at least, and its code.
  struct Need {
    std::int64_t bytes;
    std::uint64_t rows;
    bool covers(const Need& o) const { return bytes >= o.bytes && (o.rows & ~rows) == 0; }
  };
  // Of units [begin, end of the model), those left out that need no more than another one.
  const std::vector<Need>& needs_from(std::int64_t begin);
  // Whether a stage that needs so much fits beside what its IPU group keeps.
  bool fits_beside(std::int64_t needs, const GroupLoad& kept) {
    return (s_.code_moves() || code_(kept.rows) <= limits_.executable) && needs <= room_beside(kept);
  }
  // Bytes per tile.
  std::int64_t room_beside(const GroupLoad& kept);
  // The most of it beside one stage.
  std::int64_t most_room();
  std::int64_t code(std::uint64_t rows) { return code_(rows); }
  // That stands beside a stage that needs so much.
  std::int64_t most_code(std::int64_t needs) const { return std::min(limits_.executable, limits_.tile - needs); }
  // Of all units from there on.
  std::uint64_t rows_from(std::int64_t begin) const { return tail_rows_[static_cast<std::size_t>(begin)]; }

  // What follows depends on the assumption; it must outlive its use.
  void keep(const Assumption& assumption);
  // Calls f(cell) for the stages that may begin at `begin` on an IPU group and end at `last` or before, shorter ones
  // first, while it returns true. Whether they fit there is for mode_on() to say.
  template <class F>
  void for_stages(std::int64_t ipu, std::int64_t begin, std::int64_t last, F f) {
    const bool first = ipu % depth_ == 0;
    if (first ? !may_begin_phase(begin) : !may_continue_phase(begin)) return;
    const Ends& ends = ends_[static_cast<std::size_t>(begin)];
    for (std::int64_t end = ends.least; end <= std::min(last, ends.most); ++end) {
      if (!f(cell_of(begin, end, first))) return;
    }
  }
  // The first mode that fits; -1: none.
  int mode_on(const Cell& cell, std::int64_t ipu);

  // Bytes per IPU that the stages of an IPU group keep outside of its tiles, of which there is so much: of Streaming
  // Memory, an account for each IPU group; then, where they keep something there, of other IPUs' tiles.
  std::int64_t accounts() const { return lends_ ? 2 * ipus_ : ipus_; }
  std::int64_t account_of_lent(std::int64_t ipu) const { return ipus_ + ipu; }
  std::int64_t ipu_of(std::int64_t account) const { return account < ipus_ ? account : account - ipus_; }
  // Beside the code that is assumed present, or as assumed.
  std::int64_t limit(std::int64_t account) const { return limits_of_[static_cast<std::size_t>(account)]; }
  // Beside this code and these shared weights as well.
  std::int64_t limit(std::int64_t account, std::uint64_t rows, std::uint64_t shared);
  // Of a stage of a phase that begins with unit `phase` on the account's IPU group, shared weights excluded.
  std::int64_t taken(std::int64_t account, const Cell& cell, std::int64_t phase) const;
  // The least that it adds, whatever its IPU group keeps for other stages.
  std::int64_t least_taken(std::int64_t account, const Cell& cell) const;
  // The most that units [begin, end of the model) can need.
  std::int64_t most_taken(std::int64_t account, std::int64_t begin) const {
    return (account < ipus_ ? tail_ddr_ : tail_lent_)[static_cast<std::size_t>(begin)];
  }
  // What a stage adds to what its IPU group keeps.
  GroupLoad kept_on(const Cell& cell, std::int64_t ipu) const {
    return {cell.stage.rows, outside(cell, ipu).lent, shared_on(cell, ipu)};
  }
  // Bytes per IPU of shared weights that the account holds, or that are on other IPUs' tiles.
  std::int64_t shared_taken(std::int64_t account, std::uint64_t shared) const { return of(account, sum_of(shared)); }
  std::int64_t shared_lent(std::uint64_t shared) const { return sum_of(shared).lent; }
  // Whether stages may need more than is counted: units use different parts of what another one has.
  bool shares_unevenly() const { return shares_unevenly_; }
  // Whether one of these units has weights that are shared, unlike others with the same numbers.
  bool owns_shared(std::int64_t begin, std::int64_t end) const;
  // Whether they keep anything.
  bool lends() const { return lends_; }
  // What units [begin, end of the model) keep on other IPUs' tiles, however they are cut.
  std::int64_t least_lent(std::int64_t begin) const { return tail_least_lent_[static_cast<std::size_t>(begin)]; }
  // Shared weights that units [begin, end of the model) use.
  std::uint64_t shared_from(std::int64_t begin) const { return tail_shared_[static_cast<std::size_t>(begin)]; }
  std::int64_t most_lent(std::int64_t begin) const { return tail_lent_[static_cast<std::size_t>(begin)]; }

  // By IPU group and unit: the least of all accounts, weighted, that the stages from there to the end take; kNoWay: no
  // stages that fit lead there.
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
  // True only if no cut keeps to the limits.
  bool lacks();

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
  std::vector<std::uint64_t> tail_rows_, tail_shared_;
  std::vector<std::vector<Need>> tail_needs_;  // empty: not yet asked for
  const bool lends_;
  const std::int64_t least_lent_;  // by each IPU group; bytes per IPU
  // Per IPU.
  struct Bytes {
    std::int64_t ddr = 0, lent = 0;
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };
  // Weights of one unit that several stages of an IPU group may use. Those of the first unit are on the first IPU
  // group, whose stages need not be told; elsewhere nothing is shared unless two others use them.
  std::vector<Bytes> shared_;
  struct Sharer {
    std::int64_t unit, owner;
    Bytes bytes;
    std::uint64_t bit = 0;  // of `shared_`; 0: not among them
    bool is_first = false;  // no unit of another stage on its IPU group has them before
  };
  std::vector<Sharer> sharers_;              // in order
  std::vector<std::size_t> sharers_before_;  // each unit, and the end of the model: how many
  bool shares_unevenly_ = false;
  CodeMemo code_;
  std::vector<std::int64_t> limits_of_;  // accounts
  const Assumption* assumption_ = nullptr;
  bool assumes_ = false;  // anything

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
  std::int64_t needs(const Cell& cell, std::size_t mode);
  std::int64_t moved_code(const Cell& cell) { return s_.code_moves() ? code_(cell.stage.rows) : 0; }
  void find_sharers();
  void share(std::int64_t owner, const std::vector<std::int64_t>& borrowers);
  template <class F>
  void for_sharers(const Cell& cell, F f) const;
  Bytes outside(const Cell& cell, std::int64_t ipu) const;
  std::uint64_t shared_on(const Cell& cell, std::int64_t ipu) const;
  Bytes sum_of(std::uint64_t shared) const;
  std::int64_t first_behind(std::int64_t ipu) const { return (ipu / depth_ + 1) % groups_ * depth_; }
  std::int64_t of(std::int64_t account, const Bytes& bytes) const { return account < ipus_ ? bytes.ddr : bytes.lent; }
  double weighted(const Cell& cell, std::int64_t ipu, const std::vector<double>& weights) const;
  void take_least(const Cell& cell, std::int64_t begin, std::int64_t end, const std::vector<double>& weights,
                  const double* behind, std::vector<double>& least);
  bool lacks(std::int64_t first);
  std::vector<std::int64_t> follow(const Ways& ways, const std::vector<double>& weights);
};

}  // namespace superstep
