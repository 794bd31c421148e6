// SPDX-License-Identifier: Apache-2.0
#include "model/machine/links.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <limits>
#include <map>
#include <mutex>

#include "model/error.h"
#include "model/growing_map.h"

namespace superstep {

// One direction of the links that join two IPUs.
struct Wire {
  double rate = 0;
  std::size_t index = 0;  // into the list of loads
};

namespace {

constexpr BytesPerSecond kNothingMoves(std::numeric_limits<double>::infinity());

using Ladder = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Wire>;
using Edge = boost::graph_traits<Ladder>::edge_descriptor;
using Loads = std::vector<std::int64_t>;  // flows per wire

// IPU i stands in row i / 2 and column i % 2 of the ladder.
void join(Ladder& graph, std::int64_t a, std::int64_t b, double rate) {
  boost::add_edge(a, b, Wire{rate, boost::num_edges(graph)}, graph);
}

// Out-edges are added rung first, then up, then down: routes prefer them in this order.
Ladder ladder(const IpuLinks& links, std::int64_t ipus, bool torus) {
  Ladder graph(ipus);
  const double rung = links.rate.value * links.efficiency * static_cast<double>(links.rung_links);
  const double rail = links.rate.value * links.efficiency * static_cast<double>(links.rail_links);
  const std::int64_t rows = ceil_div(ipus, 2);
  const bool looped = torus && rows > 2;  // with two rows the loop would join IPUs that are neighbours already
  for (std::int64_t i = 0; i < ipus; ++i) {
    const std::int64_t column = i % 2, row = i / 2, top = (rows - 1) * 2 + column;
    if (const std::int64_t pair = row * 2 + (1 - column); pair < ipus) join(graph, i, pair, rung);
    if (i + 2 < ipus) {
      join(graph, i, i + 2, rail);
    } else if (looped && i == top) {
      join(graph, i, column, rail);
    }
    if (i >= 2) {
      join(graph, i, i - 2, rail);
    } else if (looped && top < ipus) {
      join(graph, i, top, rail);
    }
  }
  return graph;
}

// A ring visits the members of a group in this order; two are tried.
using Order = std::vector<std::int64_t>;

Order in_turn(std::int64_t size) {
  Order order(size);
  for (std::int64_t k = 0; k < size; ++k) order[k] = k;
  return order;
}

// 0 2 4 ... 5 3 1: neighbours in the group are at most two places apart, so no step is one long way back. On a rail
// without a loop it goes there and back; with stride 1 it is the peripheral ring, up one column and down the other.
Order folded(std::int64_t size) {
  Order order;
  for (std::int64_t k = 0; k < size; k += 2) order.push_back(k);
  for (std::int64_t k = size - 1 - size % 2; k > 0; k -= 2) order.push_back(k);
  return order;
}

bool is_better(const CollectivePath& a, const CollectivePath& b) {
  const auto total = [](const CollectivePath& path) { return path.ring_rate.value * static_cast<double>(path.rings); };
  if (total(a) != total(b)) return total(a) > total(b);
  if (a.ring_rate != b.ring_rate) return a.ring_rate > b.ring_rate;
  return a.ring_hops < b.ring_hops;
}

}  // namespace

struct LinkGraph::State {
  explicit State(const Machine& machine)
      : ipus(machine.ipus),
        domain(std::min(machine.ipus, machine.links.domain_ipus)),
        graph(ladder(machine.links, domain, machine.links.torus && machine.ipus >= machine.links.domain_ipus)),
        gateway_per_ipu(machine.gateway.rate.value * machine.gateway.efficiency /
                        static_cast<double>(std::min(machine.ipus, machine.ipus_per_machine))) {}

  const std::vector<int>& hops_to(std::int64_t target);
  Edge next(std::int64_t from, const std::vector<int>& hops_left) const;
  // Adds one flow to every wire of the route; returns its hops.
  std::int64_t add_flow(std::int64_t from, std::int64_t to, Loads& loads);
  double rate_under(const Loads& loads) const;
  CollectivePath ring_in_order(const Order& order, std::int64_t stride, std::int64_t groups_in_block,
                               std::int64_t blocks);
  CollectivePath path_of(GroupShape group);
  BytesPerSecond pairs_at(std::int64_t stride);
  BytesPerSecond shifted(std::int64_t stride);
  // What is known, or else made, by one thread at a time.
  template <class Map, class Key, class Make>
  auto memo(Map& map, const Key& key, const Make& make) {
    if (const auto* known = map.find(key)) return *known;
    const std::lock_guard lock(mutex);
    if (const auto* known = map.find(key)) return *known;
    return map.insert(key, make());
  }

  std::int64_t ipus, domain;
  Ladder graph;  // of one domain
  double gateway_per_ipu;
  std::map<std::int64_t, std::vector<int>> hops;  // by target
  std::mutex mutex;                               // guards the hops, and what is made from them
  GrowingMap<GroupShape, CollectivePath, 64> paths;
  GrowingMap<std::int64_t, BytesPerSecond, 64> pair_rates, shifted_rates;  // by stride
};

// Links come in opposite pairs, so hops from the target are hops to it.
const std::vector<int>& LinkGraph::State::hops_to(std::int64_t target) {
  std::vector<int>& distance = hops[target];
  if (!distance.empty()) return distance;
  distance.assign(domain, 0);
  const auto record = boost::record_distances(distance.data(), boost::on_tree_edge());
  boost::breadth_first_search(graph, target, boost::visitor(boost::make_bfs_visitor(record)));
  return distance;
}

Edge LinkGraph::State::next(std::int64_t from, const std::vector<int>& hops_left) const {
  const auto [first, last] = boost::out_edges(from, graph);
  const auto nearer =
      std::find_if(first, last, [&](Edge e) { return hops_left[boost::target(e, graph)] == hops_left[from] - 1; });
  SUPERSTEP_CHECK(nearer != last, "no link leads towards the target");
  return *nearer;
}

std::int64_t LinkGraph::State::add_flow(std::int64_t from, std::int64_t to, Loads& loads) {
  const std::vector<int>& hops_left = hops_to(to);
  const std::int64_t count = hops_left[from];
  while (from != to) {
    const Edge wire = next(from, hops_left);
    ++loads[graph[wire].index];
    from = static_cast<std::int64_t>(boost::target(wire, graph));
  }
  return count;
}

// What each flow gets where most flows share a wire.
double LinkGraph::State::rate_under(const Loads& loads) const {
  double rate = kNothingMoves.value;
  for (auto [e, last] = boost::edges(graph); e != last; ++e) {
    const Wire& wire = graph[*e];
    if (loads[wire.index] > 0) rate = std::min(rate, wire.rate / static_cast<double>(loads[wire.index]));
  }
  return rate;
}

CollectivePath LinkGraph::State::ring_in_order(const Order& order, std::int64_t stride, std::int64_t groups_in_block,
                                               std::int64_t blocks) {
  CollectivePath path;
  const auto size = static_cast<std::int64_t>(order.size());
  Loads one_way(boost::num_edges(graph)), both_ways(boost::num_edges(graph));
  for (std::int64_t group = 0; group < groups_in_block * blocks; ++group) {
    const std::int64_t first = group / groups_in_block * size * stride + group % groups_in_block;
    for (std::int64_t step = 0; step < size; ++step) {
      const std::int64_t from = first + order[step] * stride, to = first + order[(step + 1) % size] * stride;
      path.ring_hops = std::max(path.ring_hops, add_flow(from, to, one_way));
      add_flow(from, to, both_ways);
      add_flow(to, from, both_ways);
    }
  }
  path.ring_rate = BytesPerSecond(rate_under(one_way));
  path.rings = rate_under(both_ways) >= path.ring_rate.value ? 2 : 1;
  return path;
}

CollectivePath LinkGraph::State::path_of(GroupShape group) {
  const std::int64_t inside = std::min(group.size, std::max<std::int64_t>(1, domain / group.stride));
  CollectivePath path;
  path.ring_rate = kNothingMoves;
  path.ring_hops = 0;
  if (inside > 1) {
    const std::int64_t blocks = domain / (inside * group.stride);
    path = ring_in_order(in_turn(inside), group.stride, group.stride, blocks);
    const CollectivePath other = ring_in_order(folded(inside), group.stride, group.stride, blocks);
    if (is_better(other, path)) path = other;
  }
  path.inside = inside;
  path.domains = ceil_div(group.size, inside);
  if (path.domains > 1) path.gateway_rate = BytesPerSecond(gateway_per_ipu);
  return path;
}

BytesPerSecond LinkGraph::State::pairs_at(std::int64_t stride) {
  if (stride >= ipus) return kNothingMoves;
  if (stride >= domain) return BytesPerSecond(gateway_per_ipu);
  Loads loads(boost::num_edges(graph));
  for (std::int64_t i = 0; i + stride < domain; ++i) add_flow(i, i + stride, loads);
  return BytesPerSecond(rate_under(loads));
}

// All domains are alike: what leaves one at its end enters the next.
BytesPerSecond LinkGraph::State::shifted(std::int64_t stride) {
  Loads loads(boost::num_edges(graph));
  double rate = kNothingMoves.value;
  for (std::int64_t i = 0; i < domain; ++i) {
    const std::int64_t to = domain == ipus ? (i + stride) % ipus : i + stride;
    if (to < domain)
      add_flow(i, to, loads);
    else
      rate = gateway_per_ipu;
  }
  return BytesPerSecond(std::min(rate, rate_under(loads)));
}

LinkGraph::LinkGraph(const Machine& machine) : state_(std::make_unique<State>(machine)) {}
LinkGraph::~LinkGraph() = default;
LinkGraph::LinkGraph(LinkGraph&&) noexcept = default;
LinkGraph& LinkGraph::operator=(LinkGraph&&) noexcept = default;

CollectivePath LinkGraph::collective_path(GroupShape group) const {
  SUPERSTEP_CHECK(group.size >= 1 && group.stride >= 1, "a group has members");
  SUPERSTEP_CHECK((group.size - 1) * group.stride < state_->ipus, "a group fits the machine");
  return state_->memo(state_->paths, group, [&] { return state_->path_of(group); });
}

std::vector<std::int64_t> LinkGraph::route(std::int64_t from, std::int64_t to) const {
  SUPERSTEP_CHECK(std::min(from, to) >= 0 && std::max(from, to) < state_->ipus, "both ends are IPUs of the machine");
  const std::int64_t domain = state_->domain, offset = from / domain * domain;
  if (from / domain != to / domain) return {from, to};
  const std::lock_guard lock(state_->mutex);
  const std::vector<int>& hops_left = state_->hops_to(to - offset);
  std::vector<std::int64_t> stops{from};
  while (stops.back() != to) {
    const Edge wire = state_->next(stops.back() - offset, hops_left);
    stops.push_back(offset + static_cast<std::int64_t>(boost::target(wire, state_->graph)));
  }
  return stops;
}

BytesPerSecond LinkGraph::neighbour_rate(std::int64_t stride) const {
  SUPERSTEP_CHECK(stride >= 1, "a stride is positive");
  return state_->memo(state_->pair_rates, stride, [&] { return state_->pairs_at(stride); });
}

BytesPerSecond LinkGraph::shifted_rate(std::int64_t stride) const {
  SUPERSTEP_CHECK(stride >= 1, "a stride is positive");
  if (stride >= state_->ipus) return kNothingMoves;
  return state_->memo(state_->shifted_rates, stride, [&] { return state_->shifted(stride); });
}

// On a ladder the least halving cut separates the first half of the rows, or the columns; tests compare with all cuts.
BytesPerSecond LinkGraph::bisection() const {
  const Ladder& graph = state_->graph;
  const std::int64_t domain = state_->domain;
  if (domain < 2) return BytesPerSecond(0);
  const auto cut = [&](auto in_half) {
    double rate = 0;
    for (auto [e, last] = boost::edges(graph); e != last; ++e) {
      const auto a = static_cast<std::int64_t>(boost::source(*e, graph));
      const auto b = static_cast<std::int64_t>(boost::target(*e, graph));
      if (in_half(a) && !in_half(b)) rate += graph[*e].rate;
    }
    return rate;
  };
  const std::int64_t half = domain / 2;
  const double rows = cut([&](std::int64_t i) { return i < half; });
  const double columns = cut([&](std::int64_t i) { return i % 2 == 1; });  // column 1 has half of the IPUs
  return BytesPerSecond(std::min(rows, columns));
}

}  // namespace superstep
