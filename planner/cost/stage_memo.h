// SPDX-License-Identifier: Apache-2.0
// A memo of numbers by key, with a lookup of a few instructions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace superstep {

// A memo for keys below a given count. Allocates only during construction. A full memo forgets everything.
template <class Numbers>
class StageMemo {
 public:
  explicit StageMemo(std::size_t keys) : places_(keys), room_(std::min(keys, kMostNumbers)) {
    numbers_.reserve(room_ + 1);
    numbers_.emplace_back();
  }

  // Returns the numbers of a key, valid until the next add(); null: not there.
  const Numbers* find(std::size_t key) const {
    const std::uint16_t place = places_[key];
    return place == 0 ? nullptr : &numbers_[place];
  }
  // Keeps the numbers of a key that is not there. The result is valid until the next add().
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

  std::vector<std::uint16_t> places_;  // by key: index in numbers_; 0: not there
  std::size_t room_;                   // most keys at a time
  std::vector<Numbers> numbers_;       // the first entry belongs to no key
};

}  // namespace superstep
