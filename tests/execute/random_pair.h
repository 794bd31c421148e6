// SPDX-License-Identifier: Apache-2.0
// Pairs of a small network and a legal plan: drawn from a seed, executed and compared, and made smaller when they fail.
//
// RapidCheck would draw and shrink, too. It is not used because most of a pair depends on the rest of it (what a node
// may read, how many units there are to cut, which degrees are legal): its own shrinking of numbers and lists leaves
// hardly any pair that can be made, so that the list of simplifications has to be written out anyway; what then is left
// to the library is the loop in smallest(). Without it a pair is one number, whatever was drawn before.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>

#include "random_plan.h"

namespace superstep {

struct Pair {
  std::uint64_t seed = 0;
  GraphSpec graph;
  Plan plan;
  std::int64_t chunk = 2;
};

// The pair of a seed: draws until one is legal. Counts the reasons why others were not.
Pair draw_pair(std::uint64_t seed, std::map<std::string, int>* illegal = nullptr);

struct Verdict {
  std::string wrong;  // empty: as promised
  int cuts = 0;       // contractions over a split axis
  bool nodes = true;  // all of them at nodes: the bits were compared
};
// Executes in exact mode (the same bits as the plain model where all cuts are nodes, in fp32 else within 1e-5) and in
// device mode (never NaN; fp32: within 1e-4, unless the plain model itself is off by 1e-5 with other chunks; live bytes
// and collectives are those of the program).
Verdict try_pair(const Pair& pair);

// The least pair, by the simplifications of graph, plan and chunk, that is legal and still fails: no single one of
// them leads to another that does.
Pair smallest(Pair pair, const std::function<bool(const Pair&)>& fails);

// The pair as a job: model, machine and plan.
nlohmann::json to_json(const Pair& pair);

}  // namespace superstep
