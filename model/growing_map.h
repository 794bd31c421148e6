// SPDX-License-Identifier: Apache-2.0
// A hash map that only grows, for values that are made once and looked up often by several threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "model/hash.h"

namespace superstep {

// Hash map with kChains chains, meant for at most a few times kChains keys. A look-up takes no lock and writes nothing,
// so threads never take cache lines from each other. std::hash<Key> must exist.
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

  // Returns the value of the key; null: the map does not contain the key. The pointer stays valid as long as the map.
  const Value* find(const Key& key) const {
    return in_chain(chains_[chain_of(key)].load(std::memory_order_acquire), key);
  }

  // Adds a value and returns a reference to the stored value. If the key is present already, the earlier value stays
  // and is returned.
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
