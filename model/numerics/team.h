// SPDX-License-Identifier: Apache-2.0
// Threads that work on the parts of one task, each with memory of its own that is kept from task to task.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace superstep::numerics {

// Memory that grows to the largest that was asked for; its content is not kept. Aligned to a cache line.
class Workspace {
 public:
  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t size_ = 0;

  void* take_bytes(std::size_t size);
};

// The caller is one of the team; a team of one starts no thread. One task at a time.
class Team {
 public:
  // Work that one member does in less than `worth_waking` nanoseconds is not worth waking the others for: whoever gives
  // them tasks asks.
  explicit Team(int size = 1, double worth_waking = 30e3);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(workspaces_.size()); }
  bool is_worth_waking(double nanoseconds) const { return size() > 1 && nanoseconds >= worth_waking_; }

  // Calls task(member, workspace) once for each member 0..size() - 1, at the same time, and returns when all are done.
  // The first exception, in time, is thrown here.
  using Task = std::function<void(int member, Workspace& workspace)>;
  void run(const Task& task);

 private:
  double worth_waking_;
  std::vector<Workspace> workspaces_;
  std::atomic<std::uint64_t> round_ = 0;  // counts tasks; odd where the team is told to end
  std::atomic<int> busy_ = 0;
  const Task* task_ = nullptr;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::vector<std::thread> threads_;

  void work(int member);
  void attempt(int member);
};

}  // namespace superstep::numerics
