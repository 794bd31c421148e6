// SPDX-License-Identifier: Apache-2.0
// Random numbers. They are keyed as those of dropout: by the seed, the name of the node's result, the step, and the
// element's place in the global batch. A "seed" in the file is not looked at.
#include "model/graph/op_def.h"
#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// Random numbers in the shape of `like`.
TensorId random_like(Node& n, TensorId like) {
  GraphBuilder& b = n.b;
  n.number_attribute("seed", 0);
  const Graph& graph = b.graph();
  const Shape& shape = b.info(like).shape;
  const bool by_sample = graph.sample_dimension == 0 && !shape.empty() && shape[0] % graph.micro_batch == 0 &&
                         graph.tensors[like].kind != TensorKind::constant;
  Attributes attrs;
  attrs.set("samples", by_sample ? graph.micro_batch : std::int64_t{0});
  attrs.set("key", static_cast<std::int64_t>(key_of(n.result_name(0))));
  return b.one(n.core, {like}, std::move(attrs));
}

// from + size * x.
Results moved(Node& n, TensorId x, double from, double size) { return {n.b.shift(n.b.scale(x, size), from)}; }

Results between(Node& n, TensorId like) {
  const double low = n.number_attribute("low", 0), high = n.number_attribute("high", 1);
  return moved(n, random_like(n, like), low, high - low);
}

Results around(Node& n, TensorId like) {
  const double mean = n.number_attribute("mean", 0), scale = n.number_attribute("scale", 1);
  return moved(n, random_like(n, like), mean, scale);
}

// A constant of the attributes "shape" and "dtype".
TensorId shaped(Node& n) {
  const Shape shape = checked_shape(n.integers_attribute("shape"), "shape");
  return n.b.constant(Array(TensorInfo{type_named(n, "dtype", n.context.float_type(DType::fp32)), shape}));
}
// Operand 0 in the type of "dtype".
TensorId given(Node& n) { return n.b.cast(n.in(0), type_named(n, "dtype", n.type(0))); }

template <Results (*F)(Node&, TensorId), TensorId (*Like)(Node&)>
Results random(Node& n) {
  return F(n, Like(n));
}

// True with the probability that the operand says.
Results bernoulli(Node& n) {
  GraphBuilder& b = n.b;
  const DType type = type_named(n, "dtype", n.type(0));
  const TensorId hit = b.binary("less", random_like(n, n.in(0)), n.in(0));
  return {b.cast(hit, type)};
}

constexpr Handler kRandomHandlers[] = {
    {"Bernoulli", 15, 1, bernoulli, "random_uniform"},
    {"RandomNormal", 1, 0, random<around, shaped>, "random_normal"},
    {"RandomNormalLike", 1, 1, random<around, given>, "random_normal"},
    {"RandomUniform", 1, 0, random<between, shaped>, "random_uniform"},
    {"RandomUniformLike", 1, 1, random<between, given>, "random_uniform"},
};

}  // namespace

std::span<const Handler> random_handlers() { return kRandomHandlers; }

}  // namespace superstep::onnx_import
