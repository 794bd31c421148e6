// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "model/graph/op_def.h"
#include "model/onnx/arrange.h"

namespace superstep::onnx_import {

namespace {

// Consecutive ops of the path between two neighbouring places where a cut is possible.
struct Segment {
  std::size_t begin, end;  // positions in the path
  bool product = false, lookup = false;
};

enum class Place { last, after_activation, after_addition };

class Cutter {
 public:
  Cutter(const Graph& graph, const std::vector<OpId>& path, const Roles& roles)
      : g_(graph), path_(path), roles_(roles) {
    make_segments();
  }

  std::vector<std::vector<OpId>> best() const {
    std::vector<std::vector<OpId>> best;
    std::size_t fewest = path_.size() + 1;
    for (Place place : {Place::after_activation, Place::last, Place::after_addition}) {
      std::vector<std::vector<OpId>> units = group(place);
      const std::size_t kinds = different(units);
      if (kinds < fewest) best = std::move(units);
      fewest = std::min(fewest, kinds);
    }
    return best;
  }

 private:
  bool on_path(TensorId t) const {
    return t.valid() && g_.tensors[t].producer.valid() && roles_.path[at(g_.tensors[t].producer)];
  }

  void make_segments() {
    std::vector<std::size_t> last_read(g_.tensors.size(), 0);
    for (std::size_t i = 0; i < path_.size(); ++i) {
      for (TensorId t : g_.ops[path_[i]].inputs) {
        if (on_path(t)) last_read[at(t)] = i;
      }
    }
    std::size_t begin = 0;
    std::int64_t crossing = 0;
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const Op& op = g_.ops[path_[i]];
      for (TensorId t : op.outputs) crossing += last_read[at(t)] > i;
      std::vector<TensorId> ended;
      for (TensorId t : op.inputs) {
        const bool again = std::find(ended.begin(), ended.end(), t) != ended.end();
        if (on_path(t) && last_read[at(t)] == i && !again) ended.push_back(t);
      }
      crossing -= static_cast<std::int64_t>(ended.size());
      if (crossing > 1 && i + 1 < path_.size()) continue;
      segments_.push_back(describe(begin, i + 1));
      begin = i + 1;
    }
  }

  Segment describe(std::size_t begin, std::size_t end) const {
    Segment segment{begin, end};
    for (std::size_t i = begin; i < end; ++i) {
      const Op& op = g_.ops[path_[i]];
      segment.product = segment.product || op.def->product;
      const bool from_weights = op.def->lookup == Lookup::takes && g_.tensors[op.inputs[0]].kind == TensorKind::weight;
      segment.lookup = segment.lookup || from_weights;
    }
    return segment;
  }

  bool ends_with(const Segment& segment, Place place) const {
    const Op& op = g_.ops[path_[segment.end - 1]];
    if (place == Place::after_activation) return op.def->activation;
    return op.def->joins == Joins::sum && on_path(op.inputs[0]) && on_path(op.inputs[1]);
  }

  // The segment after which to cut, out of [first, last].
  std::size_t choose(std::size_t first, std::size_t last, Place place) const {
    for (std::size_t s = last + 1; place != Place::last && s-- > first;) {
      if (ends_with(segments_[s], place)) return s;
    }
    return last;
  }

  std::vector<std::vector<OpId>> group(Place place) const {
    std::vector<std::size_t> heavy, ends;
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      if (segments_[s].product || segments_[s].lookup) heavy.push_back(s);
    }
    for (std::size_t h = 1; h < heavy.size(); ++h) {
      const bool lookups = !segments_[heavy[h - 1]].product && !segments_[heavy[h]].product;
      if (!lookups) ends.push_back(segments_[choose(heavy[h - 1], heavy[h] - 1, place)].end);
    }
    ends.push_back(path_.size());
    std::vector<std::vector<OpId>> units;
    std::size_t begin = 0;
    for (std::size_t end : ends) {
      units.emplace_back(path_.begin() + static_cast<std::ptrdiff_t>(begin),
                         path_.begin() + static_cast<std::ptrdiff_t>(end));
      begin = end;
    }
    return units;
  }

  std::size_t different(const std::vector<std::vector<OpId>>& units) const {
    std::set<std::string> kinds;
    for (const auto& unit : units) {
      std::string kind;
      for (OpId id : unit) {
        const Op& op = g_.ops[id];
        kind += op.def->name;
        for (TensorId t : op.outputs) kind += to_text(g_.info(t).shape);
      }
      kinds.insert(std::move(kind));
    }
    return kinds.size();
  }

  const Graph& g_;
  const std::vector<OpId>& path_;
  const Roles& roles_;
  std::vector<Segment> segments_;
};

}  // namespace

Roles find_roles(const Graph& graph, const std::vector<TensorId>& roots) {
  constexpr unsigned kInput = 1, kWeight = 2;
  std::vector<unsigned> depends(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorKind kind = graph.tensors[TensorId(i)].kind;
    depends[i] = kind == TensorKind::input ? kInput : kind == TensorKind::weight ? kWeight : 0u;
  }
  Roles roles{std::vector<bool>(graph.ops.size()), std::vector<bool>(graph.ops.size())};
  bool any = false;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    unsigned all = 0;
    for (TensorId t : graph.ops[OpId(i)].inputs) all |= t.valid() ? depends[at(t)] : 0;
    for (TensorId t : graph.ops[OpId(i)].outputs) depends[at(t)] = all;
    roles.path[i] = all == (kInput | kWeight);
  }
  std::vector<bool> wanted(graph.tensors.size());
  for (TensorId t : roots) wanted[at(t)] = true;
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[OpId(i)];
    roles.live[i] = std::any_of(op.outputs.begin(), op.outputs.end(), [&](TensorId t) { return wanted[at(t)]; });
    for (TensorId t : op.inputs) {
      if (roles.live[i] && t.valid()) wanted[at(t)] = true;
    }
    any = any || (roles.live[i] && roles.path[i]);
  }
  if (!any) roles.path.assign(graph.ops.size(), true);
  return roles;
}

std::vector<std::vector<OpId>> cut_units(const Graph& graph, const std::vector<OpId>& path, const Roles& roles) {
  return Cutter(graph, path, roles).best();
}

}  // namespace superstep::onnx_import
