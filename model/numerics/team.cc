// SPDX-License-Identifier: Apache-2.0
#include "model/numerics/team.h"

#include "model/error.h"

namespace superstep::numerics {

void* Workspace::take_bytes(std::size_t size) {
  if (size > size_) {
    memory_.reset();
    memory_.reset(::operator new(size, kAlignment));
    size_ = size;
  }
  return memory_.get();
}

Team::Team(int size, double worth_waking) : worth_waking_(worth_waking), workspaces_(static_cast<std::size_t>(size)) {
  SUPERSTEP_CHECK(size >= 1, "a team has at least one member");
  for (int member = 1; member < size; ++member) threads_.emplace_back([this, member] { work(member); });
}

Team::~Team() {
  ++round_;
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(const Task& task) {
  task_ = &task;
  busy_ = size() - 1;
  round_ += 2;
  if (size() > 1) round_.notify_all();
  attempt(0);
  for (int busy = busy_; busy != 0; busy = busy_) busy_.wait(busy);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Team::work(int member) {
  std::uint64_t seen = 0;
  for (;;) {
    round_.wait(seen);
    seen = round_;
    if (seen % 2 == 1) return;
    attempt(member);
    if (--busy_ == 0) busy_.notify_one();
  }
}

void Team::attempt(int member) {
  try {
    (*task_)(member, workspaces_[static_cast<std::size_t>(member)]);
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

}  // namespace superstep::numerics
