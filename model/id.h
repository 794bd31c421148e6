// SPDX-License-Identifier: Apache-2.0
// Ids that do not convert to integers, and vectors indexed only by their own kind of id.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace superstep {

// The index of an element in the IdVector of its kind. Each Tag is a type of its own.
template <class Tag>
struct Id {
  std::int32_t index = -1;  // -1: invalid, refers to no element
  constexpr Id() = default;
  constexpr explicit Id(std::int32_t i) : index(i) {}
  constexpr explicit Id(std::size_t i) : index(static_cast<std::int32_t>(i)) {}
  constexpr bool valid() const { return index >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

// The index of an id, for vectors that ids do not index.
template <class Tag>
constexpr std::size_t at(Id<Tag> id) {
  return static_cast<std::size_t>(id.index);
}

// A vector that only ids of type IdT index. push_back() and last() return the id of the last element.
template <class IdT, class T>
class IdVector {
 public:
  T& operator[](IdT id) { return items_[static_cast<std::size_t>(id.index)]; }
  const T& operator[](IdT id) const { return items_[static_cast<std::size_t>(id.index)]; }
  IdT push_back(T item) {
    items_.push_back(std::move(item));
    return IdT(items_.size() - 1);
  }
  void resize(std::size_t n, const T& value = T{}) { items_.resize(n, value); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  T& back() { return items_.back(); }
  const T& back() const { return items_.back(); }
  IdT last() const { return IdT(items_.size() - 1); }
  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace superstep

template <class Tag>
struct std::hash<superstep::Id<Tag>> {
  std::size_t operator()(superstep::Id<Tag> id) const noexcept { return std::hash<std::int32_t>{}(id.index); }
};
