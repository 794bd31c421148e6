// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <map>

#include "model/execute/evaluate.h"
#include "model/execute/fusion.h"
#include "model/ops/compute.h"
#include "model/ops/kernel.h"

namespace superstep {

namespace {

constexpr std::int64_t kSliceBytes = 128 << 10;  // of the largest tensor: some of them stay in the second-level cache

struct Link {
  Link(const Graph& graph, const FusedOp& op)
      : id(op.op), axis(op.axis), call(graph, op.op), space(call->def.space(*call)) {
    const Projection& out = space.out[0];
    while (out[cut].axis != static_cast<int>(axis)) ++cut;
  }
  const TensorInfo& info() const { return call->out[0]; }
  std::int64_t extent() const { return space.axes[axis].extent; }
  std::int64_t slice_bytes() const { return info().bytes().value / extent(); }  // of one step of the axis
  Block region(const Range& slice) const {
    Block region = whole_block(info().shape);
    if (slot >= 0) region[cut] = slice;
    return region;
  }

  OpId id;
  std::size_t axis;
  CallOf call;
  Space space;
  std::size_t cut = 0;             // dimension of the result
  std::vector<ConstView> in;       // whole operands
  std::vector<const Link*> maker;  // of an operand that is made here; null: it is not
  int slot = -1;                   // of a result that is not kept
  Array result;                    // of one that is
  std::vector<ResultPlace> places;
};

// What a result, or a slice of it in memory of its own, starts from.
void start(const Link& link, std::byte* data, std::int64_t elements) {
  if (link.space.reduction == Reduction::none) return;
  const double identity = identity_of(link.space.reduction);
  for (std::int64_t i = 0; i < elements; ++i) store_element(data, link.info().type, i, identity);
}

// Memory for results that are not kept; of one that no op reads any more the next takes it.
class Slots {
 public:
  int take() {
    if (free_.empty()) return count_++;
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(int slot) { free_.push_back(slot); }
  int count() const { return count_; }

 private:
  int count_ = 0;
  std::vector<int> free_;
};

class FusedRun {
 public:
  FusedRun(const Graph& graph, const Fusion& fusion, const KernelContext& context,
           const std::function<const Array*(TensorId)>& value_of, const std::function<bool(TensorId)>& kept)
      : graph_(graph), context_(context) {
    context_.team = nullptr;
    for (const FusedOp& op : fusion) links_.emplace_back(graph, op);
    for (Link& link : links_) {
      link.places = result_places(graph, link.id, context);
      connect(link, value_of);
      if (kept(output(link))) {
        link.result = Array::unfilled(link.info());
        start(link, link.result.data.data(), link.info().elements());
      } else {
        link.slot = slots_.take();
      }
      made_by_[output(link)] = &link;
      give_back_unread(link);
    }
  }

  // Of all results: about as many nanoseconds of one thread.
  double elements() const {
    double all = 0;
    for (const Link& link : links_) all += static_cast<double>(link.info().elements());
    return all;
  }

  void run(numerics::Team& team) {
    std::int64_t most = 1;
    for (const Link& link : links_) most = std::max(most, link.slice_bytes());
    const std::int64_t extent = links_.front().extent(), step = std::max<std::int64_t>(kSliceBytes / most, 1);
    const std::int64_t count = ceil_div(extent, step), slot_bytes = ceil_div(most * step, 64) * 64;
    team.run([&](int member, numerics::Workspace& workspace) {
      std::byte* slots = workspace.take<std::byte>(static_cast<std::size_t>(slots_.count() * slot_bytes));
      for (std::int64_t i = count * member / team.size(); i < count * (member + 1) / team.size(); ++i)
        for (Link& link : links_) run_slice(link, {i * step, std::min((i + 1) * step, extent)}, slots, slot_bytes);
    });
  }

  std::vector<std::pair<TensorId, Array>> results() {
    std::vector<std::pair<TensorId, Array>> all;
    for (Link& link : links_)
      if (link.slot < 0) all.emplace_back(output(link), std::move(link.result));
    return all;
  }

 private:
  const Graph& graph_;
  KernelContext context_;
  std::deque<Link> links_;
  std::map<TensorId, const Link*> made_by_;
  Slots slots_;

  TensorId output(const Link& link) const { return graph_.ops[link.id].outputs[0]; }

  void connect(Link& link, const std::function<const Array*(TensorId)>& value_of) {
    for (TensorId t : graph_.ops[link.id].inputs) {
      const auto at = made_by_.find(t);
      link.maker.push_back(at == made_by_.end() ? nullptr : at->second);
      const Array* value = link.maker.back() ? &link.maker.back()->result : value_of(t);
      link.in.push_back(value ? view_of(*value) : ConstView{});
    }
  }

  void give_back_unread(const Link& link) {
    std::vector<TensorId> done = graph_.ops[link.id].inputs;
    done.push_back(output(link));
    std::sort(done.begin(), done.end());
    done.erase(std::unique(done.begin(), done.end()), done.end());
    for (TensorId t : done) {
      const auto at = made_by_.find(t);
      if (at != made_by_.end() && at->second->slot >= 0 && !read_after(link, t)) slots_.give_back(at->second->slot);
    }
  }

  bool read_after(const Link& link, TensorId t) const {
    bool after = false;
    for (const Link& other : links_) {
      const std::vector<TensorId>& inputs = graph_.ops[other.id].inputs;
      if (after && std::find(inputs.begin(), inputs.end(), t) != inputs.end()) return true;
      after = after || &other == &link;
    }
    return false;
  }

  void run_slice(Link& link, const Range& slice, std::byte* slots, std::int64_t slot_bytes) const {
    std::vector<ConstView> in = link.in;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Link* maker = link.maker[i];
      if (maker && maker->slot >= 0)
        in[i] = {maker->info().type, maker->region(slice), slots + maker->slot * slot_bytes};
    }
    const View out{link.info().type, link.region(slice),
                   link.slot >= 0 ? slots + link.slot * slot_bytes : link.result.data.data()};
    if (link.slot >= 0) start(link, out.data, volume(out.region));
    Block block = whole_block(link.space);
    block[link.axis] = slice;
    KernelContext context = context_;
    context.results = link.places;
    link.call->def.kernel(*link.call, block, in, std::span(&out, 1), context);
  }
};

}  // namespace

std::vector<std::pair<TensorId, Array>> run_fused(const Graph& graph, const Fusion& fusion,
                                                  const KernelContext& context,
                                                  const std::function<const Array*(TensorId)>& value_of,
                                                  const std::function<bool(TensorId)>& kept) {
  FusedRun run(graph, fusion, context, value_of, kept);
  run.run(ops::team_of(context, run.elements()));
  return run.results();
}

}  // namespace superstep
