// SPDX-License-Identifier: Apache-2.0
// The stages that PhaseProgramme may use: which stages fit, in which recompute mode, and what memory they take outside
// of their tiles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "planner/cost/code_memo.h"
#include "planner/cuts/cuts.h"

namespace superstep {

// What a case of cuts takes for granted about the load of each IPU group. The code of all phases of an IPU stays there,
// on its tiles or in Streaming Memory. So whether a stage fits depends on the other stages of its IPU. Bytes that other
// IPUs' tiles hold for an IPU matter likewise: the IPU holds as many for other IPUs. Without assumptions a stage counts
// only its own load.
struct Assumption {
  // By IPU group, sets of table rows. Code of `present` rows counts on the IPU group even if no stage there runs it. No
  // stage there may run `absent` rows.
  std::vector<std::uint64_t> present, absent;
  // By IPU group: range of the bytes per IPU on remote tiles.
  std::vector<std::int64_t> least_remote_tile, most_remote_tile;
};

// Load of an IPU group: what it holds through all its phases.
struct GroupLoad {
  std::uint64_t rows = 0;        // table rows of its stages: their code, where code stays
  std::int64_t remote_tile = 0;  // bytes per IPU on remote tiles, code and shared weights excluded
  std::uint64_t shared = 0;      // shared weights (bits of PhaseStages) that its stages use, each kept once
};
// Joint load of two sets of stages on one IPU group.
inline GroupLoad combined(const GroupLoad& a, const GroupLoad& b) {
  return {a.rows | b.rows, a.remote_tile + b.remote_tile, a.shared | b.shared};
}

// IPU groups are numbered as in Plan::stage_ipu. With two phase groups, the IPU groups of the first phase group come
// first.
class PhaseStages {
 public:
  PhaseStages(const Setting& setting, const CutRules& rules, const CutLimits& limits);

  // Numbers of a stage that are common to equal runs of units. All modes of recompute take the same time in a phase.
  struct Run {
    // As the first stage of its phase, and as a later stage. `behind` is only set if phases may have several stages and
    // a mode fits.
    Setting::Stage first, behind;
    Setting::Loads loads;
    std::array<std::int64_t, 3> needs{};  // bytes per tile by index of the mode, code excluded; 0: not computed yet
    int mode = -1;                        // index of the first mode that fits beside the stage's own load; -1: none
  };
  // Units [begin, end) as a stage.
  struct StageOption {
    std::int64_t begin, end;
    Run& run;
    const Setting::Stage& stage;  // run.first or run.behind
  };
  // True if no stage may begin at the first unit, so that there is no cut.
  bool has_no_stages() const { return end_ranges_.empty() || end_ranges_[0].least > end_ranges_[0].most; }
  // Units [begin, end) as a stage on IPU group `ipu`: a stage of for_stages(), or a single unit if stages are free.
  StageOption option(std::int64_t ipu, std::int64_t begin, std::int64_t end) {
    return option_of(begin, end, ipu % depth_ == 0);
  }
  // The mode with index `k`. Indices count the allowed modes; Recompute::none is not allowed in phases.
  Recompute mode(int k) const { return modes_[static_cast<std::size_t>(k)]; }
  // Index of the first mode that fits beside the load `kept` of the stage's IPU group; -1: no mode fits.
  int mode_beside(const StageOption& option, const GroupLoad& kept);
  // Bytes per tile that the stage needs in its leanest mode. Includes code that comes with the phase, but not code that
  // stays on the tiles.
  std::int64_t least_needs(const StageOption& option);
  // What a single unit needs as a stage.
  struct Need {
    std::int64_t bytes;  // per tile, as least_needs()
    std::uint64_t rows;  // its code
    // True if a place with room for this need has room for `o` too.
    bool covers(const Need& o) const { return bytes >= o.bytes && (o.rows & ~rows) == 0; }
  };
  // Needs of the units [begin, end of the model), without needs that another need covers. Only with free stages.
  const std::vector<Need>& needs_from(std::int64_t begin);
  // True if a stage that needs `needs` bytes per tile fits beside the load `kept` of its IPU group.
  bool fits_beside(std::int64_t needs, const GroupLoad& kept) {
    return (s_.code_moves() || code_(kept.rows) <= limits_.executable) && needs <= room_beside(kept);
  }
  // Bytes per tile left for a stage beside the load `kept`, rounded down. Below 0 if the load alone is too much.
  std::int64_t room_beside(const GroupLoad& kept);
  // Most bytes per tile that an IPU group can have for other IPUs' data beside any of its stages.
  std::int64_t most_room();
  // Bytes per tile of the code of `rows`.
  std::int64_t code(std::uint64_t rows) { return code_(rows); }
  // Most bytes per tile of code that fit beside a stage that needs `needs` bytes per tile.
  std::int64_t most_code(std::int64_t needs) const { return std::min(limits_.executable, limits_.tile - needs); }
  // Table rows of the units [begin, end of the model).
  std::uint64_t rows_from(std::int64_t begin) const { return tail_rows_[static_cast<std::size_t>(begin)]; }

  // Sets the assumption for the functions below until the next call. `assumption` must stay alive meanwhile.
  void assume(const Assumption& assumption);
  // Calls f(option) for each stage that may begin at unit `begin` on IPU group `ipu` and end at `last` or before. Calls
  // come from the shortest stage to the longest and end when f returns false. The stages fit beside their own load;
  // mode_on() says if they fit under the assumption.
  template <class F>
  void for_stages(std::int64_t ipu, std::int64_t begin, std::int64_t last, F f) {
    const bool first = ipu % depth_ == 0;
    if (first ? !may_begin_phase(begin) : !may_continue_phase(begin)) return;
    const EndRange& ends = end_ranges_[static_cast<std::size_t>(begin)];
    for (std::int64_t end = ends.least; end <= std::min(last, ends.most); ++end) {
      if (!f(option_of(begin, end, first))) return;
    }
  }
  // Index of the first mode that fits on IPU group `ipu` under the assumption; -1: no mode fits.
  int mode_on(const StageOption& option, std::int64_t ipu);

  // An account counts bytes per IPU that the stages of one IPU group keep outside of its tiles, against a limit. The
  // first accounts are of Streaming Memory, one for each IPU group. Where remote tiles hold anything, one account of
  // remote-tile bytes for each IPU group follows.
  std::int64_t accounts() const { return uses_remote_tile_ ? 2 * ipus_ : ipus_; }
  std::int64_t remote_tile_account(std::int64_t ipu) const { return ipus_ + ipu; }
  std::int64_t ipu_of(std::int64_t account) const { return account < ipus_ ? account : account - ipus_; }
  // Bytes per IPU: of Streaming Memory the limit less the stored code that is assumed present, of remote tiles the most
  // that is assumed.
  std::int64_t limit(std::int64_t account) const { return limits_of_[static_cast<std::size_t>(account)]; }
  // As above, less the stored code of `rows` and the shared weights `shared`.
  std::int64_t limit(std::int64_t account, std::uint64_t rows, std::uint64_t shared);
  // Bytes per IPU that a stage on the account's IPU group takes, shared weights excluded. Its phase begins with unit
  // `phase`.
  std::int64_t taken(std::int64_t account, const StageOption& option, std::int64_t phase) const;
  // Least bytes per IPU that a stage adds to the account, whatever other stages its IPU group has and wherever its
  // phase begins.
  std::int64_t least_taken(std::int64_t account, const StageOption& option) const;
  // Most bytes per IPU that units [begin, end of the model) may add to the account.
  std::int64_t most_taken(std::int64_t account, std::int64_t begin) const {
    return (account < ipus_ ? tail_ddr_ : tail_remote_tile_)[static_cast<std::size_t>(begin)];
  }
  // Load that a stage adds to its IPU group `ipu`.
  GroupLoad kept_on(const StageOption& option, std::int64_t ipu) const {
    return {option.stage.rows, outside(option, ipu).remote_tile, shared_on(option, ipu)};
  }
  // Bytes per IPU of the shared weights `shared`: counted in `account`, and on remote tiles.
  std::int64_t shared_taken(std::int64_t account, std::uint64_t shared) const { return of(account, sum_of(shared)); }
  std::int64_t shared_remote_tile(std::uint64_t shared) const { return sum_of(shared).remote_tile; }
  // True if stages may take more bytes than are counted, as some tied weights have no bit. Either their users use parts
  // of different sizes, or there are more shared weights than bits.
  bool shares_unevenly() const { return shares_unevenly_; }
  // True if a unit of [begin, end) other than unit 0 owns tied weights. Phases with such a unit differ from phases of
  // an equal run, as other shared weights count. Unit 0 is left out, as no run from another unit is equal to its runs.
  bool owns_shared(std::int64_t begin, std::int64_t end) const;
  // True if other IPUs' tiles hold anything for these stages.
  bool uses_remote_tile() const { return uses_remote_tile_; }
  // Least bytes per IPU that units [begin, end of the model) keep on remote tiles, however they are cut.
  std::int64_t least_remote_tile(std::int64_t begin) const {
    return tail_least_remote_tile_[static_cast<std::size_t>(begin)];
  }
  // Shared weights that units [begin, end of the model) use.
  std::uint64_t shared_from(std::int64_t begin) const { return tail_shared_[static_cast<std::size_t>(begin)]; }
  // Most bytes per IPU that units [begin, end of the model) may keep on remote tiles.
  std::int64_t most_remote_tile(std::int64_t begin) const { return tail_remote_tile_[static_cast<std::size_t>(begin)]; }

  // Suffix bounds, by IPU group and unit: least weighted sum of all accounts over the stages from that unit on to the
  // model's end. The first of these stages is on that IPU group. kInfeasible: no feasible stages reach the model's end.
  using SuffixBounds = std::vector<std::vector<double>>;
  static constexpr double kInfeasible = 1e300;
  // Suffix bounds under the assumption, with a weight for each account.
  SuffixBounds find_suffix_bounds(const std::vector<double>& weights);
  // Suffix bound after a stage on IPU group `ipu` that ends at unit `end` and is the last of its phase. 0 at the
  // model's end.
  double least_behind(const SuffixBounds& bounds, std::int64_t ipu, std::int64_t end) const {
    return end == n_ ? 0 : bounds[static_cast<std::size_t>(first_behind(ipu))][static_cast<std::size_t>(end)];
  }
  // Suffix bound after such a stage if its phase goes on. kInfeasible at the model's end and on the last IPU group of a
  // phase group.
  double least_within(const SuffixBounds& bounds, std::int64_t ipu, std::int64_t end) const {
    const bool none = end == n_ || (ipu + 1) % depth_ == 0;
    return none ? kInfeasible : bounds[static_cast<std::size_t>(ipu) + 1][static_cast<std::size_t>(end)];
  }
  // What may follow a stage on one IPU group, by the unit where the stage ends. kGoesOn: its phase may go on. kEnds:
  // its phase may end there, at the model's end or before another phase.
  using Continuations = std::vector<std::uint8_t>;
  static constexpr std::uint8_t kGoesOn = 1, kEnds = 2;
  // By IPU group.
  std::vector<Continuations> continuations(const SuffixBounds& bounds) const;
  // True only if no cut fits within the limits of the accounts under the assumption. May be false though no cut fits.
  bool is_infeasible();

 private:
  const Setting& s_;
  const CutRules& rules_;
  const CutLimits& limits_;
  std::int64_t n_, groups_, ipus_, depth_;  // units, phase groups, IPU groups, IPU groups of a phase group
  std::vector<Recompute> modes_;            // in the order of CutRules::modes, without Recompute::none
  std::vector<Run> runs_;
  std::vector<std::int32_t> run_of_;  // position in runs_, by number(); -1: none
  // Units where a stage may end: from `least` to `most`, both included; `least` > `most`: nowhere.
  struct EndRange {
    std::int64_t least = 1, most = 0;
  };
  std::vector<EndRange> end_ranges_;  // by first unit of the stage
  // By unit, of units [unit, end of the model). Most bytes per IPU in Streaming Memory and on remote tiles, and least
  // bytes per IPU on remote tiles. Then table rows, shared weights and needs.
  std::vector<std::int64_t> tail_ddr_, tail_remote_tile_, tail_least_remote_tile_;
  std::vector<std::uint64_t> tail_rows_, tail_shared_;
  std::vector<std::vector<Need>> tail_needs_;  // empty: not computed yet
  const bool uses_remote_tile_;
  // Bytes per IPU on remote tiles that every cut keeps: of all units if there is one IPU group, else 0.
  const std::int64_t least_remote_tile_;
  // Bytes per IPU.
  struct Bytes {
    std::int64_t ddr = 0, remote_tile = 0;
    friend bool operator==(const Bytes&, const Bytes&) = default;
  };
  // Shared weights: tied weights of one owner that several stages of an IPU group may use, counted once there. The
  // first IPU group always has the weights of unit 0, so that its stages never count them. On other IPU groups weights
  // of unit 0 are shared only if two units borrow them.
  std::vector<Bytes> shared_;  // by position of the weights' bit
  // A unit that owns or borrows tied weights.
  struct Sharer {
    std::int64_t unit, owner;
    Bytes bytes;            // of the weights
    std::uint64_t bit = 0;  // bit of the shared weights; 0: the weights are not in shared_
    bool is_first = false;  // the first user of the weights on its IPU group: the owner, or unit 0's first borrower
  };
  std::vector<Sharer> sharers_;              // by growing unit
  std::vector<std::size_t> sharers_before_;  // by unit, and for the model's end: number of sharers before the unit
  bool shares_unevenly_ = false;
  CodeMemo code_;
  std::vector<std::int64_t> limits_of_;  // limit() by account
  const Assumption* assumption_ = nullptr;
  bool assumes_ = false;  // the assumption may make a stage infeasible that fits beside its own load

  // True if the pinned stages do not let a stage begin at unit `u`.
  bool pinned_out(std::int64_t u) const;
  // True if a pinned phase begins at unit `u`. Only with pinned phases and stages.
  bool begins_phase(std::int64_t u) const;
  // True if the pins let a phase's first stage, or a later stage, begin at unit `u`.
  bool may_begin_phase(std::int64_t u) const { return !rules_.stages || !rules_.phases || u == n_ || begins_phase(u); }
  bool may_continue_phase(std::int64_t u) const { return !rules_.stages || !rules_.phases || !begins_phase(u); }
  // True if the pinned stage that begins at unit `u` has a pinned mode other than `mode`.
  bool pinned_to_other_mode(std::int64_t u, Recompute mode) const;
  // Index in run_of_ of units [begin, end). Equal runs of free stages have equal numbers. A pinned stage has the number
  // of its first unit, as its pinned mode depends on its place.
  std::size_t number(std::int64_t begin, std::int64_t end) const {
    return rules_.stages ? static_cast<std::size_t>(begin) : s_.table().runs().number(begin, end);
  }
  StageOption option_of(std::int64_t begin, std::int64_t end, bool first) {
    Run& run = runs_[static_cast<std::size_t>(run_of_[number(begin, end)])];
    return {begin, end, run, first ? run.first : run.behind};
  }
  void tabulate();
  EndRange find_end_range(std::int64_t begin);
  void add_run(std::int64_t begin, std::int64_t end);
  std::int64_t needs(const StageOption& option, std::size_t mode);
  // Bytes per tile of a stage's code that comes with the phase; 0 if code stays.
  std::int64_t moved_code(const StageOption& option) { return s_.code_moves() ? code_(option.stage.rows) : 0; }
  void find_sharers();
  void share(std::int64_t owner, const std::vector<std::int64_t>& borrowers);
  template <class F>
  void for_sharers(const StageOption& option, F f) const;
  Bytes outside(const StageOption& option, std::int64_t ipu) const;
  std::uint64_t shared_on(const StageOption& option, std::int64_t ipu) const;
  Bytes sum_of(std::uint64_t shared) const;
  // First IPU group of the next phase, after a phase on the phase group of `ipu`.
  std::int64_t first_behind(std::int64_t ipu) const { return (ipu / depth_ + 1) % groups_ * depth_; }
  // The bytes that `account` counts.
  std::int64_t of(std::int64_t account, const Bytes& bytes) const {
    return account < ipus_ ? bytes.ddr : bytes.remote_tile;
  }
  double weighted(const StageOption& option, std::int64_t ipu, const std::vector<double>& weights) const;
  void take_least(const StageOption& option, std::int64_t begin, std::int64_t end, const std::vector<double>& weights,
                  const double* behind, std::vector<double>& least);
  bool is_infeasible(std::int64_t first);
  std::vector<std::int64_t> follow(const SuffixBounds& bounds, const std::vector<double>& weights);
};

}  // namespace superstep
