// SPDX-License-Identifier: Apache-2.0
#include "gui/models/placement.h"

#include <algorithm>
#include <numeric>

namespace superstep::gui {
namespace {

constexpr std::int64_t kWord = 8;  // bytes that a tile loads at once
constexpr int kRun = 32;           // points whose variables are listed together
std::int64_t in_words(std::int64_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

struct Room {
  std::int64_t begin = 0, end = 0;  // addresses
};

class Placer {
 public:
  explicit Placer(const Lifetimes& lifetimes)
      : all_(lifetimes), of_run_(at(lifetimes.points) / kRun + 1), seen_(lifetimes.rows.size(), -1) {
    out_.address.resize(lifetimes.rows.size());
  }

  Placement run() {
    std::vector<int> order(all_.rows.size());
    std::iota(order.begin(), order.end(), 0);
    const auto always = [&](int i) { return row(i).first == 0 && row(i).last == all_.points - 1; };
    const auto rest = std::stable_partition(order.begin(), order.end(), always);
    for (auto i = order.begin(); i != rest; ++i) {
      out_.address[at(*i)] = floor_;
      floor_ += in_words(row(*i).bytes);
    }
    std::stable_sort(rest, order.end(), [&](int a, int b) {
      const Lifetime &x = row(a), &y = row(b);
      return x.bytes != y.bytes ? x.bytes > y.bytes : x.last - x.first > y.last - y.first;
    });
    out_.top.assign(at(all_.points), floor_);
    for (auto i = rest; i != order.end(); ++i) put(*i);
    return std::move(out_);
  }

 private:
  const Lifetimes& all_;
  Placement out_;
  std::int64_t floor_ = 0;                // above what always stands
  std::vector<std::vector<int>> of_run_;  // lifetimes that are placed, by run of points
  std::vector<int> seen_;                 // by lifetime: for which other one last
  std::vector<Room> taken_;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const Lifetime& row(int i) const { return all_.rows[at(i)]; }

  void put(int i) {
    const Lifetime& it = row(i);
    taken_.clear();
    for (int run = it.first / kRun; run <= it.last / kRun; ++run) {
      for (const int other : of_run_[at(run)]) {
        if (seen_[at(other)] == i || row(other).first > it.last || row(other).last < it.first) continue;
        seen_[at(other)] = i;
        taken_.push_back({out_.address[at(other)], out_.address[at(other)] + in_words(row(other).bytes)});
      }
      of_run_[at(run)].push_back(i);
    }
    std::ranges::sort(taken_, {}, &Room::begin);
    const std::int64_t bytes = in_words(it.bytes);
    std::int64_t address = floor_;
    for (const Room& room : taken_) {
      if (room.begin >= address + bytes) break;
      address = std::max(address, room.end);
    }
    out_.address[at(i)] = address;
    for (int point = it.first; point <= it.last; ++point)
      out_.top[at(point)] = std::max(out_.top[at(point)], address + bytes);
  }
};

}  // namespace

std::int64_t Placement::total() const { return top.empty() ? 0 : *std::ranges::max_element(top); }

Placement place(const Lifetimes& lifetimes) { return Placer(lifetimes).run(); }

}  // namespace superstep::gui
