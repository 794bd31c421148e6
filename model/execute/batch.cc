// SPDX-License-Identifier: Apache-2.0
#include "model/execute/batch.h"

#include <algorithm>
#include <cstring>

#include "model/error.h"
#include "model/execute/unfinished.h"
#include "model/ops/compute.h"
#include "model/ops/kernel.h"

namespace superstep {

Batch::Batch(const Graph& graph, const Values& feeds, std::int64_t micro_batches, const KernelContext& context)
    : graph_(graph), feeds_(feeds), micro_batches_(micro_batches), samples_(find_samples(graph)) {
  if (micro_batches == 1) return;
  if (!samples_.faults.empty()) {
    const SampleFault& fault = samples_.faults[0];
    throw Error("", fault.why + " (op \"" + graph.ops[fault.op].name + "\", tensor \"" +
                        graph.tensors[fault.tensor].name +
                        "\"); or run all samples at once: plan.replicas 1, plan.gradient_accumulation 1");
  }
  check_inputs();
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorId t(i);
    if (!graph.tensors[t].counts_samples) continue;
    Array count = *graph.tensors[t].data;
    for (std::int64_t e = 0; e < count.info.elements(); ++e)
      count.set(e, count.at(e) * static_cast<double>(micro_batches));
    counts_[t] = std::move(count);
  }
  add_up(ahead_of_batch(graph, samples_), context);
}

void Batch::check_inputs() const {
  for (TensorId t : graph_.inputs) {
    const TensorSamples& samples = samples_.of(t);
    const TensorInfo& info = graph_.info(t);
    if (samples.role != SampleRole::along) continue;
    Shape expected = info.shape;
    expected[static_cast<std::size_t>(samples.dimension)] *= micro_batches_;
    const TensorInfo& found = given(t).info;
    if (found.type != info.type || found.shape != expected)
      throw Error("", "input \"" + graph_.tensors[t].name + "\" is " + std::string(name_of(found.type)) +
                          to_text(found.shape) + ", expected " + std::string(name_of(info.type)) + to_text(expected) +
                          " for " + std::to_string(micro_batches_) + " micro-batches of " +
                          std::to_string(graph_.micro_batch));
  }
}

const Array& Batch::given(TensorId t) const {
  if (const auto at = counts_.find(t); at != counts_.end()) return at->second;
  if (const auto at = feeds_.find(t); at != feeds_.end()) return at->second;
  const Tensor& tensor = graph_.tensors[t];
  if (!tensor.data) throw Error("", "no values for tensor \"" + tensor.name + "\"");
  return *tensor.data;
}

Array Batch::input(TensorId t, std::int64_t micro_batch) const {
  const Array& all = given(t);
  const TensorSamples& samples = samples_.of(t);
  if (samples.role != SampleRole::along || micro_batches_ == 1) return all;
  Array own(graph_.info(t));
  const auto d = static_cast<std::size_t>(samples.dimension);
  std::int64_t before = 1, run = size_of(own.info.type);
  for (std::size_t i = 0; i < d; ++i) before *= own.info.shape[i];
  for (std::size_t i = d; i < own.info.shape.size(); ++i) run *= own.info.shape[i];
  for (std::int64_t i = 0; i < before; ++i) {
    std::memcpy(own.data.data() + i * run, all.data.data() + (i * micro_batches_ + micro_batch) * run,
                static_cast<std::size_t>(run));
  }
  return own;
}

const Array* Batch::ahead(TensorId t) const {
  const auto at = ahead_.find(t);
  return at == ahead_.end() ? nullptr : &at->second;
}

ResultPlace Batch::place_of(TensorId t, std::int64_t micro_batch) const {
  ResultPlace place = superstep::place_of(graph_, t);
  const TensorSamples& samples = samples_.of(t);
  if (samples.role != SampleRole::along || micro_batches_ == 1) return place;
  const auto d = static_cast<std::size_t>(samples.dimension);
  const Shape& shape = graph_.info(t).shape;
  for (std::size_t i = 0; i < d; ++i) place.step[i] *= micro_batches_;
  const std::int64_t run = shape[d] / samples.outer;
  place.offset = micro_batch * run * place.step[d];
  if (samples.outer > 1)
    place.dimension = static_cast<int>(d), place.run = run, place.apart = (micro_batches_ - 1) * run;
  return place;
}

void Batch::add_up(const AheadOfBatch& first, const KernelContext& context) {
  std::map<TensorId, ExactSums> sums;
  for (std::int64_t i = 0; i < micro_batches_; ++i) {
    Values made;
    for (OpId id : first.ops) {
      const TensorId result = graph_.ops[id].outputs[0];
      if (std::find(first.sums.begin(), first.sums.end(), result) == first.sums.end()) {
        std::vector<Array> results = run(id, i, made, context);
        for (std::size_t k = 0; k < results.size(); ++k) made[graph_.ops[id].outputs[k]] = std::move(results[k]);
      } else {
        add_terms(id, i, made, sums[result]);
      }
    }
  }
  for (const auto& [t, sum] : sums) {
    const ResultPlace place = superstep::place_of(graph_, t);
    KernelContext own = context;
    own.results = std::span(&place, 1);
    ahead_[t] = finish_sums(*CallOf(graph_, graph_.tensors[t].producer), sum, own);
  }
}

Batch::Operands Batch::operands(OpId id, std::int64_t micro_batch, const Values& made) const {
  Operands operands;
  const std::vector<TensorId>& inputs = graph_.ops[id].inputs;
  operands.fed.resize(inputs.size());
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const TensorId t = inputs[k];
    const auto at = t.valid() ? made.find(t) : made.end();
    if (t.valid() && at == made.end())
      operands.fed[k] = graph_.tensors[t].kind == TensorKind::input ? input(t, micro_batch) : given(t);
    operands.views.push_back(!t.valid() ? ConstView{} : view_of(at == made.end() ? operands.fed[k] : at->second));
  }
  return operands;
}

std::vector<Array> Batch::run(OpId id, std::int64_t micro_batch, const Values& made,
                              const KernelContext& context) const {
  const CallOf call(graph_, id);
  const Space space = call->def.space(*call);
  return compute_block(*call, space, whole_block(space), operands(id, micro_batch, made).views, context);
}

void Batch::add_terms(OpId id, std::int64_t micro_batch, const Values& made, ExactSums& sums) const {
  const CallOf call(graph_, id);
  const Space space = call->def.space(*call);
  SUPERSTEP_CHECK(call->def.add_terms != nullptr, "a sum over samples that is one of terms");
  sums.region = whole_block(call->out[0].shape);
  call->def.add_terms(*call, whole_block(space), operands(id, micro_batch, made).views, sums);
}

}  // namespace superstep
