// SPDX-License-Identifier: Apache-2.0
// A map that only grows, for what is made once and looked up all the time by several threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "model/hash.h"

namespace superstep {

// A look takes no lock and writes nothing, so that it never takes a cache line from another thread. Of at most a few
// times kChains keys; std::hash<Key> must be there.
template <class Key, class Value, std::size_t kChains>
class GrowingMap {
 public:
  GrowingMap() = default;
  GrowingMap(const GrowingMap&) = delete;
  GrowingMap& operator=(const GrowingMap&) = delete;
  ~GrowingMap() {
    for (std::atomic<Node*>& chain : chains_) {
      for (Node* node = chain; node != nullptr;) delete std::exchange(node, node->next);
    }
  }

  // Null: not there. What is there stays where it is.
  const Value* find(const Key& key) const {
    return in_chain(chains_[chain_of(key)].load(std::memory_order_acquire), key);
  }

  // What is there afterwards: if another thread was first, its value.
  const Value& insert(const Key& key, Value value) {
    auto node = std::make_unique<Node>(key, std::move(value));
    std::atomic<Node*>& chain = chains_[chain_of(key)];
    node->next = chain.load(std::memory_order_acquire);
    do {
      if (const Value* first = in_chain(node->next, key)) return *first;
    } while (!chain.compare_exchange_weak(node->next, node.get(), std::memory_order_acq_rel));
    return node.release()->value;
  }

 private:
  struct Node {
    Node(const Key& k, Value v) : key(k), value(std::move(v)) {}
    const Key key;
    const Value value;
    Node* next = nullptr;
  };
  std::array<std::atomic<Node*>, kChains> chains_ = {};

  static std::size_t chain_of(const Key& key) { return mix(0, std::hash<Key>()(key)) % kChains; }
  static const Value* in_chain(const Node* node, const Key& key) {
    while (node != nullptr && node->key != key) node = node->next;
    return node ? &node->value : nullptr;
  }
};

}  // namespace superstep
