// SPDX-License-Identifier: Apache-2.0
// The processes that mpirun started of this program, and messages between them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace superstep {

struct RankMessage {
  int from = 0;
  nlohmann::json content;
};

// One per process, used by the thread that made it. No call waits for another rank: ranks may die at any moment, and a
// message for one that is dead is kept and never missed.
class Ranks {
 public:
  Ranks();
  ~Ranks();  // ends the process where end() was not called: the other ranks might wait for it for ever
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int on_this_host() const { return on_host_; }
  void send(int to, const nlohmann::json& content);
  std::optional<RankMessage> receive();  // what has come whole
  // Leaves MPI, together with all ranks.
  void end();
  // Ends this process, where ranks were lost and leaving together would wait for them; and with it mpirun, where this
  // is rank 0 or the exit code is not 0.
  [[noreturn]] void end_without_the_lost(int exit_code);

 private:
  struct Piece;
  void drop_sent();
  int rank_ = 0, size_ = 1, on_host_ = 1;
  bool ended_ = false;
  std::deque<Piece> sent_;
  std::map<int, std::vector<std::uint8_t>> partial_;  // by sender
};

}  // namespace superstep
