// SPDX-License-Identifier: Apache-2.0
#include "gui/models/placement.h"

#include <algorithm>
#include <numeric>

#include "model/units.h"

namespace superstep::gui {
namespace {

constexpr std::int64_t kWord = 8;  // bytes that a tile loads at once
constexpr int kRun = 256;          // points whose variables are listed together; most stand within one

struct Block {
  int first = 0, last = 0;          // points
  std::int64_t begin = 0, end = 0;  // addresses
};

class Placer {
 public:
  explicit Placer(const Lifetimes& lifetimes) : all_(lifetimes), of_run_(at(lifetimes.points) / kRun + 1) {
    out_.address.resize(lifetimes.rows.size());
  }

  Placement run() {
    std::vector<int> order(all_.rows.size());
    std::iota(order.begin(), order.end(), 0);
    const auto always = [&](int i) { return row(i).first == 0 && row(i).last == all_.points - 1; };
    const auto rest = std::stable_partition(order.begin(), order.end(), always);
    for (auto i = order.begin(); i != rest; ++i) {
      out_.address[at(*i)] = floor_;
      floor_ += round_up(row(*i).bytes, kWord);
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
  std::int64_t floor_ = 0;                  // above what always stands
  std::vector<std::vector<Block>> of_run_;  // by run of points, those that are placed, by address
  std::vector<Block> gathered_;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  const Lifetime& row(int i) const { return all_.rows[at(i)]; }

  // At least those that stand when the block does, by address.
  const std::vector<Block>& around(const Block& it) {
    const int first = it.first / kRun, last = it.last / kRun;
    if (first == last) return of_run_[at(first)];
    gathered_.clear();
    for (int run = first; run <= last; ++run) {
      for (const Block& other : of_run_[at(run)]) {
        if (run == std::max(first, other.first / kRun)) gathered_.push_back(other);  // each once
      }
    }
    std::ranges::sort(gathered_, {}, &Block::begin);
    return gathered_;
  }

  void put(int i) {
    const std::int64_t bytes = round_up(row(i).bytes, kWord);
    Block it{row(i).first, row(i).last, floor_, 0};
    for (const Block& other : around(it)) {
      if (other.begin >= it.begin + bytes) break;
      if (other.first <= it.last && it.first <= other.last) it.begin = std::max(it.begin, other.end);
    }
    it.end = it.begin + bytes;
    out_.address[at(i)] = it.begin;
    for (int point = it.first; point <= it.last; ++point) out_.top[at(point)] = std::max(out_.top[at(point)], it.end);
    for (int run = it.first / kRun; run <= it.last / kRun; ++run) {
      auto& placed = of_run_[at(run)];
      placed.insert(std::ranges::upper_bound(placed, it.begin, {}, &Block::begin), it);
    }
  }
};

}  // namespace

std::int64_t Placement::total() const { return top.empty() ? 0 : *std::ranges::max_element(top); }

Placement place(const Lifetimes& lifetimes) { return Placer(lifetimes).run(); }

}  // namespace superstep::gui
