// SPDX-License-Identifier: Apache-2.0
// Routes, rings and bisection, computed on the graph of the IPUs and links of one IPU-Link domain (Boost.Graph inside
// links.cc). All domains are alike. Any two machines of different domains meet through their gateways. Safe to use from
// several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "model/hash.h"
#include "model/machine/machine.h"

namespace superstep {

// Shape of the groups of a communicator. A group is the IPUs first, first + stride, ..., `size` in number. All groups
// of the shape that the machine has are active at once.
struct GroupShape {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  friend auto operator<=>(const GroupShape&, const GroupShape&) = default;
};

// Rates and hops of a ring collective over a group, while all groups of the same shape are active.
struct CollectivePath {
  std::int64_t inside = 1;   // members inside one IPU-Link domain
  std::int64_t domains = 1;  // IPU-Link domains the group spans
  // Rate of each step of one ring inside a domain, after efficiency and after sharing links with the rings of all other
  // groups. Infinite if inside == 1, since nothing moves.
  BytesPerSecond ring_rate;
  // 2 if a ring in the opposite direction can run at the same time without slowing the first ring. 1 if the first ring
  // uses both directions of some links already. The rate of a group would be ring_rate x rings.
  std::int64_t rings = 1;
  std::int64_t ring_hops = 1;   // IPU-Link hops of the longest step of the ring; 0 if inside == 1
  BytesPerSecond gateway_rate;  // per IPU and direction across domains; 0 if domains == 1
};

// The links of a machine. Results are computed when first asked for, and kept.
class LinkGraph {
 public:
  explicit LinkGraph(const Machine& machine);
  ~LinkGraph();
  LinkGraph(LinkGraph&&) noexcept;
  LinkGraph& operator=(LinkGraph&&) noexcept;

  // Returns the path of a collective. The group must fit the machine: (size - 1) * stride is less than its IPUs.
  CollectivePath collective_path(GroupShape group) const;
  // Returns the IPUs on a route with the fewest hops, rungs before rails, both ends included. A route between domains
  // goes through the gateways of the two machines, so only the ends are returned.
  std::vector<std::int64_t> route(std::int64_t from, std::int64_t to) const;
  // Returns the rate per direction of the slowest pair of IPU i and IPU i + stride, after efficiency and sharing. All
  // such pairs communicate at once (pipeline stage to stage). Only pairs inside a domain count, since a pipeline never
  // leaves a domain. If the stride spans a domain, pairs meet through gateways. Infinite: no such pair exists.
  BytesPerSecond neighbour_rate(std::int64_t stride) const;
  // Returns the rate per direction between IPU i and IPU i + stride while all IPUs do this, after efficiency and
  // sharing. The last IPUs communicate with the first. Pairs of different domains meet through gateways. Infinite: the
  // stride is not less than the number of IPUs.
  BytesPerSecond shifted_rate(std::int64_t stride) const;
  // Returns the rate per direction across the worst cut of one IPU-Link domain into halves; 0 for a single IPU.
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
