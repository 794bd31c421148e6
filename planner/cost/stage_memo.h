// SPDX-License-Identifier: Apache-2.0
// Numbers by key, found again in a few instructions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace superstep {

// Allocates when it is made and never after: it forgets numbers that it has no room for.
template <class Numbers>
class StageMemo {
 public:
  explicit StageMemo(std::size_t keys) : places_(keys), room_(std::min(keys, kMostNumbers)) {
    numbers_.reserve(room_ + 1);
    numbers_.emplace_back();
  }

  // Those of a key; null: not there. They stay until the next add().
  const Numbers* find(std::size_t key) const {
    const std::uint16_t place = places_[key];
    return place == 0 ? nullptr : &numbers_[place];
  }
  const Numbers& add(std::size_t key, const Numbers& numbers) {
    if (numbers_.size() > room_) {
      std::fill(places_.begin(), places_.end(), std::uint16_t{0});
      numbers_.resize(1);
    }
    places_[key] = static_cast<std::uint16_t>(numbers_.size());
    numbers_.push_back(numbers);
    return numbers_.back();
  }

 private:
  static constexpr std::size_t kMostNumbers = std::numeric_limits<std::uint16_t>::max();

  std::vector<std::uint16_t> places_;  // by key; 0: not there
  std::size_t room_;
  std::vector<Numbers> numbers_;  // the first is nobody's
};

}  // namespace superstep
