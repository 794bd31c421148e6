// SPDX-License-Identifier: Apache-2.0
// Small networks drawn at random, as descriptions that can be printed and made simpler.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <random>
#include <string>
#include <vector>

#include "setup.h"

namespace superstep {

// The same numbers wherever it runs (std::uniform_int_distribution may differ).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T of(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

// Makes one value of earlier ones. What `size` and `flag` say is up to the kind (random_graph.cc, the table of kinds).
struct NodeSpec {
  std::string kind;
  std::int64_t from = 0, with = 0;  // nodes whose values it reads
  std::int64_t size = 0;
  bool flag = false;
  bool unit = false;        // begins a unit
  bool same_layer = false;  // which belongs to the layer of the unit before
  UnitRole role = UnitRole::other;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

struct GraphSpec {
  DType type = DType::fp32;
  std::vector<NodeSpec> nodes;
  std::string loss = "mean_square";  // none (inference), mean_square, cross_entropy, both, sum
  std::string optimizer = "sgd";
  bool master_weights = false;
  Rounding rounding = Rounding::nearest;
  bool training() const { return loss != "none"; }
  friend bool operator==(const GraphSpec&, const GraphSpec&) = default;
};

OptimizerSpec optimizer_of(const GraphSpec& spec);
// Throws Error where a node does not fit its operands.
Graph make_graph(const GraphSpec& spec, std::int64_t samples);

// A description that make_graph takes.
GraphSpec draw_graph(Dice& dice);
// Descriptions with less in them; not all of them can be made.
std::vector<GraphSpec> simpler(const GraphSpec& spec);

nlohmann::json to_json(const GraphSpec& spec);

}  // namespace superstep
