// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/heads.h"

#include <utility>

namespace superstep::zoo {

TensorId label_input(GraphBuilder& b, GraphUse use, const std::string& name, Shape shape) {
  return use == GraphUse::training ? b.input(name, DType::int32, std::move(shape)) : TensorId{};
}

void end_in_next_token(GraphBuilder& b, const Prediction& all) {
  Graph& graph = b.graph();
  const TensorId scores = all.scores;
  if (all.labels.valid()) {
    graph.loss = b.cross_entropy(scores, all.labels);
    graph.outputs = {graph.loss, scores};
    return;
  }
  const Shape shape = b.info(scores).shape;
  graph.outputs = {b.reshape(b.slice(scores, 1, shape[1] - 1, shape[1]), {shape[0], shape[2]})};
}

}  // namespace superstep::zoo
