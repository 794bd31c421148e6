// SPDX-License-Identifier: Apache-2.0
#include "planner/report/weight_gathers.h"

#include <algorithm>
#include <set>
#include <vector>

#include "model/lower/shard_rules.h"
#include "model/parallel.h"
#include "model/quantity_text.h"
#include "planner/search/search.h"

namespace superstep {
namespace {

// The collectives of one micro-batch on one IPU.
struct Moved {
  Bytes all;                    // bytes of all collectives
  std::set<TensorId> gathered;  // weights
  Bytes largest;                // bytes of the largest gathered weight, whole

  Moved(const Graph& graph, const GraphSharding& sharding) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const Op& op = graph.ops[OpId(i)];
      if (op.pass == Pass::update) continue;
      for (const Conversion& c : sharding.of(OpId(i)).conversions) {
        all += c.bytes;
        if (c.operand < 0 || c.kind != CollectiveKind::all_gather) continue;
        const TensorId t = op.inputs[static_cast<std::size_t>(c.operand)];
        if (graph.tensors[t].kind != TensorKind::weight) continue;
        gathered.insert(t);
        largest = std::max(largest, c.bytes);
      }
    }
  }
};

std::string weights_text(const Moved& m) {
  const std::size_t n = m.gathered.size();
  return std::to_string(n) + (n == 1 ? " weight" : " weights") + " of up to " + to_text(m.largest);
}

// True if a weight exceeds the limit, so that other splits might be chosen without the limit.
bool limit_matters(const Graph& graph, Bytes limit) {
  return std::ranges::any_of(graph.tensors,
                             [&](const Tensor& t) { return t.kind == TensorKind::weight && t.info.bytes() > limit; });
}

}  // namespace

std::string weight_gathers_note(Tables& tables, const Plan& plan, int threads) {
  if (plan.tensor_parallel.size() == 1) return "";
  const TableKey key = table_key(plan);
  const Bytes limit = shard_rules(key, tables.model().machine().chip).gather_limit;
  const Graph& graph = tables.facts(key.micro_batch).graph;
  const Moved chosen(graph, tables.table(key).sharding());  // splits under the limit
  std::vector<Bytes> others;                                // gather limits that give other splits
  if (limit_matters(graph, limit)) others.push_back(ShardRules{}.gather_limit);
  if (!chosen.gathered.empty()) others.push_back(Bytes(0));
  parallel_for(others.size(), threads, [&](std::size_t i) { tables.sharding(key, others[i]); });
  const auto moved = [&](Bytes with) {
    return std::ranges::find(others, with) == others.end() ? chosen : Moved(graph, tables.sharding(key, with));
  };
  const Moved free = moved(ShardRules{}.gather_limit);
  std::string text;
  if (!chosen.gathered.empty()) {
    text = weights_text(chosen) +
           " are gathered for each use, which takes less time than joining activations: " + to_text(chosen.all) +
           " of collectives per micro-batch on each IPU instead of " + to_text(moved(Bytes(0)).all);
  }
  if (free.largest > limit) {
    text += (text.empty() ? "" : "; ") + std::string("gathering ") + weights_text(free) +
            " would take less time still (" + to_text(free.all) + " of collectives instead of " + to_text(chosen.all) +
            "), but beside the rest at most " + to_text(limit) + " of a gathered weight may stand on the tiles";
  }
  return text;
}

}  // namespace superstep
