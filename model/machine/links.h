// SPDX-License-Identifier: Apache-2.0
// Routes, rings and bisection, computed on the graph of the IPUs and links of one IPU-Link domain
// (Boost.Graph inside links.cc); all domains are alike, and any two machines of different domains
// meet through their gateways. Safe to use from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "model/hash.h"
#include "model/machine/machine.h"

namespace superstep {

// The members of a communicator are first, first + stride, ... (size of them); all such groups of a
// machine are active at once.
struct GroupShape {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};

// What a ring collective over a group gets, all groups of that shape being active at once.
struct CollectivePath {
  std::int64_t inside = 1;   // members inside one IPU-Link domain
  std::int64_t domains = 1;  // IPU-Link domains the group spans
  // What each step of one ring gets inside a domain, after efficiency and after sharing links with the rings of all
  // other groups; infinite when inside == 1 (nothing moves).
  BytesPerSecond ring_rate;
  // 2 when the opposite ring can run at the same time without slowing the first (it uses the other direction of the
  // links); 1 when the ring's way back already takes that direction. The rate of a group is ring_rate x rings.
  std::int64_t rings = 1;
  std::int64_t ring_hops = 1;   // IPU-Link hops of the longest step of the ring; 0 when inside == 1
  BytesPerSecond gateway_rate;  // per IPU and direction across domains; 0 when domains == 1
};

class LinkGraph {
 public:
  explicit LinkGraph(const Machine& machine);
  ~LinkGraph();
  LinkGraph(LinkGraph&&) noexcept;
  LinkGraph& operator=(LinkGraph&&) noexcept;

  // `group.size * group.stride` is at most the number of IPUs.
  CollectivePath collective_path(GroupShape group) const;
  // IPU indices on a route with the fewest hops, rung first then rail; ends included. Between domains: through the
  // gateways of the two machines, so only the ends.
  std::vector<std::int64_t> route(std::int64_t from, std::int64_t to) const;
  // Rate per direction of the slowest pair of IPU i and IPU i + stride when all such pairs talk at once (pipeline
  // stage to stage), after efficiency and sharing. Pairs inside a domain, since a pipeline never leaves it, or, when
  // stride spans a domain, pairs that meet through gateways. Infinite when there is no such pair.
  BytesPerSecond neighbour_rate(std::int64_t stride) const;
  // Rate per direction that every IPU i gets to and from IPU i + stride when all talk at once, the last ones to the
  // first: after efficiency and sharing; pairs of different domains through gateways.
  // Infinite when there is no other.
  BytesPerSecond shifted_rate(std::int64_t stride) const;
  // Rate across the worst halving cut of one IPU-Link domain, per direction; 0 for a single IPU.
  BytesPerSecond bisection() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace superstep

template <>
struct std::hash<superstep::GroupShape> {
  std::size_t operator()(const superstep::GroupShape& group) const noexcept {
    return superstep::mix(static_cast<std::uint64_t>(group.size), static_cast<std::uint64_t>(group.stride));
  }
};
