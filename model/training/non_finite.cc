// SPDX-License-Identifier: Apache-2.0
#include "model/training/non_finite.h"

#include <cmath>
#include <set>

#include "model/training/trainer.h"

namespace superstep {

namespace {

enum class Content : std::uint8_t { finite, infinite, nan };

class Search {
 public:
  Search(const Graph& graph, const Values& feeds, const KernelContext& context)
      : graph_(graph), values_(evaluate(graph, feeds, context)) {}

  NonFinite from(const std::vector<TensorId>& results) {
    for (TensorId t : results) visit(t);
    // Ops stand in an order in which they run: the lowest id is the first.
    for (OpId op : seen_) {
      if (operands(op) == Content::finite) return describe(op);
    }
    for (OpId op : seen_) {
      if (operands(op) != Content::nan && results_of(op) == Content::nan) return describe(op);
    }
    return seen_.empty() ? NonFinite{} : describe(*seen_.begin());
  }

 private:
  Content content(TensorId t) {
    if (!t.valid() || !is_float(graph_.info(t).type)) return Content::finite;
    const auto [at, fresh] = contents_.try_emplace(t, Content::finite);
    if (!fresh) return at->second;
    const auto fed = values_.find(t);
    const Array& array = fed != values_.end() ? fed->second : *graph_.tensors[t].data;
    for (std::int64_t i = first_not_finite(array); i >= 0 && i < array.info.elements(); ++i) {
      if (std::isnan(array.at(i))) return at->second = Content::nan;
      if (std::isinf(array.at(i))) at->second = Content::infinite;
    }
    return at->second;
  }
  Content worst(const std::vector<TensorId>& tensors) {
    Content all = Content::finite;
    for (TensorId t : tensors) all = std::max(all, content(t));
    return all;
  }
  Content operands(OpId op) { return worst(graph_.ops[op].inputs); }
  Content results_of(OpId op) { return worst(graph_.ops[op].outputs); }

  void visit(TensorId t) {
    if (content(t) == Content::finite || !graph_.tensors[t].producer.valid()) return;
    const OpId op = graph_.tensors[t].producer;
    if (!seen_.insert(op).second) return;
    for (TensorId input : graph_.ops[op].inputs) {
      if (input.valid()) visit(input);
    }
  }

  NonFinite describe(OpId id) {
    const Op& op = graph_.ops[id];
    for (TensorId t : op.outputs) {
      if (content(t) == Content::finite) continue;
      const Array& array = values_.at(t);
      return {op.name, std::string(op.def->name), graph_.tensors[t].name, array.at(first_not_finite(array))};
    }
    return {};
  }

  const Graph& graph_;
  const Values values_;
  std::map<TensorId, Content> contents_;
  std::set<OpId> seen_;  // made something that is not finite, and it reached a result
};

}  // namespace

NonFinite find_non_finite(const Graph& graph, const Values& feeds, const KernelContext& context,
                          const std::vector<TensorId>& results) {
  return Search(graph, feeds, context).from(results);
}

}  // namespace superstep
