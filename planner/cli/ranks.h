// SPDX-License-Identifier: Apache-2.0
// The ranks of an mpirun: the processes of this program, and messages between them.
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

// Communication with the other ranks. One object per process, used only by the thread that made the object. No call
// waits for another rank, because ranks may die at any moment. A message to a dead rank is kept and never delivered.
class Ranks {
 public:
  Ranks();
  ~Ranks();  // ends the process if end() was not called: other ranks might wait for it forever
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // Returns the number of ranks on this computer.
  int on_this_host() const { return on_host_; }
  void send(int to, const nlohmann::json& content);
  std::optional<RankMessage> receive();  // the next complete message; empty: none
  // Leaves MPI together with all ranks. Waits until all ranks leave.
  void end();
  // Ends this process without waiting for lost ranks. Ends mpirun too if this is rank 0 or the exit code is not 0.
  [[noreturn]] void end_without_the_lost(int exit_code);

 private:
  struct Piece;
  // Drops sent pieces that have been delivered.
  void drop_sent();
  int rank_ = 0, size_ = 1, on_host_ = 1;
  bool ended_ = false;
  std::deque<Piece> sent_;
  std::map<int, std::vector<std::uint8_t>> partial_;  // received pieces of incomplete messages, by sender
};

}  // namespace superstep
