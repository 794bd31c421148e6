// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/ranks.h"

#include <mpi.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iostream>
#include <thread>

#include "model/error.h"

namespace superstep {
namespace {

// Bytes of a piece of a message. Open MPI copies messages below 4 KiB into the receiver's memory at once. A longer
// message is fetched from the sender on receipt; if the sender is dead by then, the receiver waits forever. So messages
// are sent in pieces.
constexpr std::size_t kPieceBytes = 2048;

}  // namespace

struct Ranks::Piece {
  std::array<std::uint8_t, kPieceBytes> bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

Ranks::Ranks() {
  int given = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given) != MPI_SUCCESS || given < MPI_THREAD_FUNNELED)
    throw Error("mpirun", "MPI does not start with threads; expected Open MPI 4");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_host_);
  MPI_Comm_free(&host);
}

Ranks::~Ranks() {
  if (ended_) return;
  std::cout << std::flush;
  _exit(1);
}

void Ranks::drop_sent() {
  std::erase_if(sent_, [](Piece& piece) {
    int gone = 0;
    return MPI_Test(&piece.request, &gone, MPI_STATUS_IGNORE) != MPI_SUCCESS || gone != 0;
  });
}

// Each piece begins with the number of bytes that follow after the piece.
void Ranks::send(int to, const nlohmann::json& content) {
  drop_sent();
  const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(content);
  std::uint64_t left = bytes.size();
  while (left > 0) {
    Piece& piece = sent_.emplace_back();
    const std::size_t now = std::min<std::size_t>(left, kPieceBytes - sizeof left);
    const std::size_t at = bytes.size() - left;
    left -= now;
    std::memcpy(piece.bytes.data(), &left, sizeof left);
    std::memcpy(piece.bytes.data() + sizeof left, bytes.data() + at, now);
    MPI_Isend(piece.bytes.data(), static_cast<int>(sizeof left + now), MPI_BYTE, to, 0, MPI_COMM_WORLD, &piece.request);
  }
}

std::optional<RankMessage> Ranks::receive() {
  drop_sent();
  for (;;) {
    int found = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, &status) != MPI_SUCCESS || found == 0) return {};
    std::array<std::uint8_t, kPieceBytes> piece{};
    int count = 0;
    const int from = status.MPI_SOURCE;
    if (MPI_Recv(piece.data(), kPieceBytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, &status) != MPI_SUCCESS) return {};
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::uint64_t left = 0;
    std::memcpy(&left, piece.data(), sizeof left);
    std::vector<std::uint8_t>& message = partial_[from];
    message.insert(message.end(), piece.begin() + sizeof left, piece.begin() + count);
    if (left > 0) continue;
    RankMessage whole{from, nlohmann::json::from_msgpack(message)};
    message.clear();
    return whole;
  }
}

void Ranks::end() {
  while (!sent_.empty()) drop_sent();
  ended_ = true;
  MPI_Finalize();
}

void Ranks::end_without_the_lost(int exit_code) {
  std::cout << std::flush;
  // Waits until the other ranks have received the order to leave alone. MPI_Abort of Open MPI 4 ends mpirun but does
  // not reach ranks that wait in MPI_Finalize. Messages to lost ranks are never delivered, hence the limit on tries.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !sent_.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    drop_sent();
  }
  if (rank_ == 0 || exit_code != 0) MPI_Abort(MPI_COMM_WORLD, exit_code);
  _exit(exit_code);
}

}  // namespace superstep
