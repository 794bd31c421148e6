// SPDX-License-Identifier: Apache-2.0
// GPT-2 and GPT-3 (and Megatron's): normalisation ahead of each part, causal attention, learned
// positions, the output layer tied to the token table.
#include "model/zoo/heads.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

TensorId gpt_embedding(const Context& c, TensorId table) {
  GraphBuilder& b = c.b;
  const TensorId tokens = b.input("tokens", DType::int32, c.tokens());
  GraphBuilder::Scope scope(b, "embedding");
  const TensorId positions = b.weight("positions", c.type, {c.spec.positions, c.spec.hidden});
  const TensorId words = b.gather(table, tokens);
  const TensorId x = b.binary("add", words, b.slice(positions, 0, 0, c.spec.sequence_length));
  return b.dropout(x, c.spec.dropout);
}

}  // namespace

Graph build_gpt(const TransformerSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  const Context c{b, spec, micro_batch, precision, use};

  b.begin_unit("embedding", -1, UnitRole::embedding);
  const TensorId table = b.weight("embedding/tokens", precision, {spec.vocabulary, spec.hidden});
  const TensorId mask = b.constant(causal_mask(precision, spec.sequence_length), "causal_mask");
  TensorId x = gpt_embedding(c, table);
  for (std::int64_t i = 0; i < spec.layers; ++i) x = pre_norm_layer(c, i, x, [&] { return mask; });

  b.begin_unit("head", -1, UnitRole::head);
  const TensorId labels = label_input(b, use, "labels", c.tokens());
  GraphBuilder::Scope scope(b, "head");
  const TensorId logits = b.matmul(layer_norm(c, "norm", x), table, false, true, "logits");
  end_in_next_token(b, {logits, labels});
  return graph;
}

}  // namespace superstep::zoo
