// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/sweep_ranks.h"

#include <sched.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "model/error.h"
#include "planner/cli/ranks.h"
#include "planner/sweep/sweep_board.h"
#include "planner/sweep/sweep_item.h"

namespace superstep {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll(2);  // MPI must be polled; polling without a pause would occupy a core
// Seconds that rank 0 may be silent while SQLite waits for a reader.
constexpr double kWriterPauses = 10;
constexpr double kBeats = 5;  // beats in the time after which a silent rank is given up

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

// Returns the cores that mpirun's binding allows this process.
int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
int share_of_host(const Ranks& ranks) {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks.on_this_host());
}
int threads_of(const Ranks& ranks, const CommonOptions& common) {
  return common.threads > 0 ? common.threads : std::min(share_of_host(ranks), allowed_cores());
}

// Plans items on its own threads, so that the thread that talks with other ranks never waits.
class Planner {
 public:
  ~Planner() {
    for (auto& [item, work] : works_) work->thread.join();
  }
  void start(const SweepItem& item) {
    std::lock_guard lock(mutex_);
    Work& w = *(works_[item.item] = std::make_unique<Work>());
    w.thread = std::thread([this, &w, item] { plan(w, item); });
  }
  // Returns messages about items that have ended since the last call.
  std::vector<json> ended() {
    std::lock_guard lock(mutex_);
    std::vector<json> out;
    std::erase_if(works_, [&](auto& entry) {
      Work& w = *entry.second;
      if (w.result.is_null()) return false;
      w.thread.join();
      out.push_back(std::move(w.result));
      return true;
    });
    return out;
  }
  json shares() {
    std::lock_guard lock(mutex_);
    json out = json::array();
    for (const auto& [item, w] : works_) out.push_back({item, w->share, w->what});
    return out;
  }
  bool busy() {
    std::lock_guard lock(mutex_);
    return !works_.empty();
  }

 private:
  struct Work {
    std::thread thread;
    double share = 0;
    std::string what;
    json result;  // null: not ended
  };

  void plan(Work& w, const SweepItem& item) {
    json result;
    try {
      const SweepRow row = plan_item(item, [&](double share, const std::string& what) {
        std::lock_guard lock(mutex_);
        w.share = share;
        w.what = what;
      });
      result = {{"kind", "row"}, {"row", to_json(row)}};
    } catch (const std::exception& e) {
      result = {{"kind", "error"}, {"message", host_name() + ": " + e.what()}};
    }
    std::lock_guard lock(mutex_);
    w.result = std::move(result);
  }

  std::mutex mutex_;
  std::map<std::int64_t, std::unique_ptr<Work>> works_;  // by item
};

// Returns the message that every rank but rank 0 sends repeatedly: the rank is alive, its progress, its threads.
json beat_of(const Ranks& ranks, const CommonOptions& common, Planner& planner) {
  return {{"kind", "beat"},
          {"threads", threads_of(ranks, common)},
          {"cores", allowed_cores()},
          {"share", share_of_host(ranks)},
          {"shares", planner.shares()}};
}

// A sweep that rank 0 has read.
struct Opened {
  Sweep sweep;
  std::unique_ptr<SweepStore> store;
  SweepWork work;
};

class RankZero {
 public:
  RankZero(Ranks& ranks, const GridArguments& a, const CommonOptions& common)
      : ranks_(ranks),
        a_(a),
        common_(common),
        options_{a.time_limit, common.threads, {}},
        others_(static_cast<std::size_t>(ranks.size())),
        progress_(progress_on_ranks(common)),
        row_(row_line(common)) {}

  int run() {
    check_output(a_.results);
    check_output(common_.json);
    note_recovery();
    open();
    work_off();
    clear_progress(common_);
    stop_others();
    return finish_grid(a_, common_, opened_.sweep, opened_.store->rows(), board_->given_up());
  }
  // Tells all ranks to stop. Returns true if all ranks have answered, none is planning, and all can leave together.
  bool stop_others() {
    for (int r = 1; r < ranks_.size(); ++r) ranks_.send(r, {{"kind", "stop"}});
    int answers = 1;
    const Clock::time_point start = Clock::now();
    stopped_ = !planner_.busy() && std::none_of(others_.begin(), others_.end(), [](const Other& o) { return o.lost; });
    while (stopped_ && answers < ranks_.size()) {
      const auto message = ranks_.receive();
      if (!message) std::this_thread::sleep_for(kPoll);
      const bool answer = message && message->content.at("kind") == "bye";
      if (answer) ++answers;
      stopped_ = answer ? !message->content.at("busy").get<bool>() : since(start) < a_.lost_after;
    }
    for (int r = 1; r < ranks_.size(); ++r) ranks_.send(r, {{"kind", "leave"}, {"together", stopped_}});
    return stopped_;
  }
  bool stopped() const { return stopped_; }

 private:
  struct Other {
    Clock::time_point heard = Clock::now();
    bool here = false, lost = false;
  };

  // Reads the sweep on another thread. Reading may take long, and the other ranks need beats meanwhile.
  void open() {
    auto opened = std::async(std::launch::async, [this] {
      Opened o;
      o.sweep = load_sweep(a_.sweep);
      o.store = std::make_unique<SweepStore>(a_.results);
      o.work = begin_sweep(o.sweep, *o.store, options_);
      return o;
    });
    while (opened.wait_for(kPoll) != std::future_status::ready) beat();
    opened_ = opened.get();
    board_ = std::make_unique<SweepBoard>(opened_.work.left, ranks_.size());
    board_->join(0, threads_of(ranks_, common_));
    note_binding(0, beat_of(ranks_, common_, planner_));
    for (Other& other : others_) other.heard = Clock::now();
    if (row_ && !opened_.work.left.empty()) {
      for (const SweepRow& row : opened_.store->rows()) row_(row);
    }
    started_ = Clock::now();
  }

  void work_off() {
    while (!board_->done()) {
      while (const auto message = ranks_.receive()) hear(message->from, message->content);
      for (const json& message : planner_.ended()) hear(0, message);
      lose_the_silent();
      hand_out();
      if (beat()) {
        keep_shares(planner_.shares());
        tell();
      }
      std::this_thread::sleep_for(kPoll);
    }
  }

  void hand_out() {
    for (const SweepOrder& order : board_->hand_out()) {
      SweepOptions options = options_;
      options.threads = order.threads;
      const SweepItem item = item_of(opened_.sweep, opened_.work, order.item, options);
      if (order.rank == 0)
        planner_.start(item);
      else
        ranks_.send(order.rank, {{"kind", "plan"}, {"item", to_json(item)}});
    }
  }

  void hear(int from, const json& message) {
    Other& other = others_[static_cast<std::size_t>(from)];
    other.heard = Clock::now();
    const std::string kind = message.at("kind");
    if (kind == "error") throw Error("rank " + std::to_string(from), message.at("message"));
    if (kind == "row") keep(from, row_from(message.at("row")));
    if (kind != "beat") return;
    if (other.here) keep_shares(message.at("shares"));
    if (other.here || !message.at("shares").empty()) return;
    // A new rank, or a rank that was given up too early and has finished its items.
    other.here = true;
    other.lost = false;
    board_->join(from, message.at("threads"));
    note_binding(from, message);
  }

  void keep(int from, const SweepRow& row) {
    shares_.erase(row.item);
    if (!board_->finish(from, static_cast<std::size_t>(row.item))) return;
    opened_.store->append(row);
    if (row_) row_(row);
    ++done_;
    if (row.status != PlanStatus::planned) ++without_plan_;
    what_ = row.status == PlanStatus::planned ? row.label : row.reason;
    tell();
  }

  void keep_shares(const json& shares) {
    for (const json& s : shares) {
      shares_[s.at(0)] = s.at(1);
      if (s.at(2) != "") what_ = s.at(2);
    }
  }

  void tell() {
    if (!progress_) return;
    ManyProgress p;
    p.done = opened_.work.done + done_;
    p.without_plan = opened_.work.without_plan + without_plan_;
    p.jobs = opened_.sweep.size();
    auto sum = static_cast<double>(done_);
    for (const auto& [item, share] : shares_) sum += share;
    p.share = std::min(1.0, sum / static_cast<double>(opened_.work.left.size()));
    p.seconds_left = p.share > 0 ? since(started_) * (1 / p.share - 1) : 0;
    p.what = what_;
    progress_(p);
  }

  void lose_the_silent() {
    for (int r = 1; r < ranks_.size(); ++r) {
      Other& other = others_[static_cast<std::size_t>(r)];
      if (other.lost || since(other.heard) < a_.lost_after) continue;
      other.here = false;
      other.lost = true;
      std::string text = "rank " + std::to_string(r) + " was lost";
      const char* before = ", with item ";
      for (const std::size_t item : board_->lose(r)) {
        text += before + std::to_string(item);
        before = ", ";
        shares_.erase(static_cast<std::int64_t>(item));
      }
      note(common_, text);
    }
  }

  // Sends a beat to all other ranks. Returns false if the last beat was a short time ago.
  bool beat() {
    if (since(last_beat_) < a_.lost_after / kBeats) return false;
    last_beat_ = Clock::now();
    for (int r = 1; r < ranks_.size(); ++r) {
      if (!others_[static_cast<std::size_t>(r)].lost) ranks_.send(r, {{"kind", "beat"}});
    }
    return true;
  }

  void note_recovery() const {
    const char* recovery = std::getenv("OMPI_MCA_orte_enable_recovery");
    if (ranks_.size() > 1 && (recovery == nullptr || std::string(recovery) != "1"))
      note(common_, "a rank that dies ends this sweep, because mpirun was started without --enable-recovery");
  }

  void note_binding(int rank, const json& said) {
    if (common_.threads > 0 || noted_binding_ || said.at("cores") >= said.at("share")) return;
    noted_binding_ = true;
    note(common_, "mpirun binds rank " + std::to_string(rank) + " to " + said.at("cores").dump() +
                      " of the cores of its host; mpirun --bind-to none gives it " + said.at("share").dump());
  }

  Ranks& ranks_;
  const GridArguments& a_;
  const CommonOptions& common_;
  const SweepOptions options_;
  Opened opened_;
  std::unique_ptr<SweepBoard> board_;
  Planner planner_;
  std::vector<Other> others_;              // by rank; the entry of rank 0 is unused
  std::map<std::int64_t, double> shares_;  // share done of each item that is being planned
  std::string what_;
  std::size_t done_ = 0, without_plan_ = 0;
  std::function<void(const ManyProgress&)> progress_;
  std::function<void(const SweepRow&)> row_;  // called with each stored row; may be empty
  Clock::time_point started_ = Clock::now(), last_beat_;
  bool stopped_ = false, noted_binding_ = false;
};

int run_rank_zero(Ranks& ranks, const GridArguments& a, const CommonOptions& common) {
  RankZero zero(ranks, a, common);
  int code = kDone;
  try {
    code = zero.run();
  } catch (const std::exception& e) {
    clear_progress(common);
    if (zero.stopped() || zero.stop_others()) {
      ranks.end();
      throw;
    }
    std::cerr << "superstep: " << e.what() << "\n" << std::flush;
    ranks.end_without_the_lost(kBadInput);
  }
  if (!zero.stopped()) ranks.end_without_the_lost(code);
  ranks.end();
  return code;
}

// Plans the items that rank 0 sends, until rank 0 tells all ranks to leave.
int run_other_rank(Ranks& ranks, const GridArguments& a, const CommonOptions& common) {
  Planner planner;
  Clock::time_point heard = Clock::now(), last_beat;
  for (;;) {
    while (const auto message = ranks.receive()) {
      heard = Clock::now();
      const std::string kind = message->content.at("kind");
      if (kind == "plan") planner.start(item_from(message->content.at("item")));
      if (kind == "stop") ranks.send(0, {{"kind", "bye"}, {"busy", planner.busy()}});
      if (kind != "leave") continue;
      if (!message->content.at("together").get<bool>()) ranks.end_without_the_lost(kDone);
      ranks.end();
      return kDone;
    }
    for (const json& ended : planner.ended()) ranks.send(0, ended);
    if (since(last_beat) >= a.lost_after / kBeats) {
      ranks.send(0, beat_of(ranks, common, planner));
      last_beat = Clock::now();
    }
    if (since(heard) > 2 * a.lost_after + kWriterPauses) {
      std::cerr << "superstep: rank " + std::to_string(ranks.rank()) + ": rank 0 is silent, nobody writes results\n";
      ranks.end_without_the_lost(kFailed);
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

int run_grid_on_ranks(const GridArguments& a, const CommonOptions& common) {
  Ranks ranks;
  return ranks.rank() == 0 ? run_rank_zero(ranks, a, common) : run_other_rank(ranks, a, common);
}

}  // namespace superstep
