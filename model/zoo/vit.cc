// SPDX-License-Identifier: Apache-2.0
// Vision transformers: an image is cut into square patches, each of which one convolution makes a token; a learned
// token for the class comes ahead of them, and its last value is classified. Normalisation ahead of each part.
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/zoo/families.h"
#include "model/zoo/images.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr const char* kVit = "Dosovitskiy et al. 2020 (arXiv 2010.11929) table 1 and appendix B.1; head of fine-tuning";

// What attention and the feed-forward part read.
TransformerSpec encoder_of(const VitSpec& spec) {
  TransformerSpec encoder{.name = spec.name, .family = spec.family};
  encoder.layers = spec.layers, encoder.hidden = spec.hidden, encoder.heads = spec.heads, encoder.ffn = spec.ffn;
  encoder.sequence_length = encoder.positions = spec.tokens();
  encoder.dropout = encoder.ffn_dropout = spec.dropout;
  encoder.attention_dropout = spec.attention_dropout;
  return encoder;
}

TensorId vit_embedding(const Context& c, const VitSpec& spec) {
  GraphBuilder& b = c.b;
  const TensorId pixels = images(b, c.micro_batch, spec.image_size, spec.pixels, c.type);
  GraphBuilder::Scope scope(b, "embedding");
  const std::int64_t colours = b.info(pixels).shape[1], patches = spec.tokens() - 1;
  Attributes attrs;
  attrs.set("strides", std::vector<std::int64_t>{spec.patch, spec.patch});
  const TensorId weight = b.weight("patches", c.type, {spec.hidden, colours, spec.patch, spec.patch});
  const TensorId cut = b.one("conv", {pixels, weight}, std::move(attrs));
  const TensorId tokens = b.transpose(b.reshape(cut, {c.micro_batch, spec.hidden, patches}), {0, 2, 1});
  const TensorId bias = b.weight("patches_bias", c.type, {spec.hidden});
  const TensorId token = b.weight("class", c.type, {1, 1, spec.hidden});
  const TensorId classes = b.expand(token, {c.micro_batch, 1, spec.hidden});
  const TensorId all = b.concat({classes, b.binary("add", tokens, bias)}, 1);
  const TensorId positions = b.weight("positions", c.type, {spec.tokens(), spec.hidden});
  return b.dropout(b.binary("add", all, positions), spec.dropout);
}

void check_vit_spec(const VitSpec& spec) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("layers", spec.layers);
  positive("heads", spec.heads);
  positive("ffn", spec.ffn);
  positive("image_size", spec.image_size);
  positive("patch", spec.patch);
  positive("classes", spec.classes);
  if (spec.hidden < 1 || spec.hidden % spec.heads != 0)
    throw Error(spec.name,
                "hidden " + std::to_string(spec.hidden) + " is not a multiple of heads " + std::to_string(spec.heads));
  if (spec.image_size % spec.patch != 0)
    throw Error(spec.name, "image_size " + std::to_string(spec.image_size) + " is not a multiple of patch " +
                               std::to_string(spec.patch));
}

VitSpec vit(std::string name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  VitSpec spec;
  spec.name = std::move(name);
  spec.layers = layers, spec.hidden = hidden, spec.heads = heads, spec.ffn = 4 * hidden;
  spec.source = kVit;
  return spec;
}

}  // namespace

std::vector<VitSpec> vit_specs() { return {vit("vit-base", 12, 768, 12), vit("vit-large", 24, 1024, 16)}; }

nlohmann::json numbers_of(const VitSpec& s) {
  return {{"layers", s.layers},
          {"hidden", s.hidden},
          {"heads", s.heads},
          {"ffn", s.ffn},
          {"image_size", s.image_size},
          {"patch", s.patch},
          {"classes", s.classes},
          {"pixels", pixel_names()[static_cast<std::size_t>(s.pixels)]},
          {"representation", s.representation},
          {"dropout", s.dropout},
          {"attention_dropout", s.attention_dropout}};
}

void override_numbers(JsonReader& r, VitSpec& s) {
  s.layers = r.integer_or("layers", 1, 4096, s.layers);
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.heads = r.integer_or("heads", 1, 4096, s.heads);
  s.ffn = r.integer_or("ffn", 1, 1 << 22, s.ffn);
  s.image_size = r.integer_or("image_size", 1, kMostImage, s.image_size);
  s.patch = r.integer_or("patch", 1, kMostImage, s.patch);
  s.classes = r.integer_or("classes", 2, 1 << 24, s.classes);
  s.pixels = read_pixels(r, s.pixels);
  s.representation = r.integer_or("representation", 0, 1 << 20, s.representation);
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
  s.attention_dropout = r.number_or("attention_dropout", 0, 0.99, s.attention_dropout);
  if (s.hidden % s.heads != 0)
    throw Error(r.at("heads"),
                "found " + std::to_string(s.heads) + " heads, which do not divide hidden " + std::to_string(s.hidden));
  if (s.image_size % s.patch != 0)
    throw Error(r.at("patch"), "found patches of " + std::to_string(s.patch) +
                                   ", which do not divide an image_size of " + std::to_string(s.image_size));
}

Graph build(const VitSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  check_vit_spec(spec);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  GraphBuilder b(graph);
  const TransformerSpec encoder = encoder_of(spec);
  const Context c{b, encoder, micro_batch, precision, use};

  b.begin_unit("embedding");
  TensorId x = vit_embedding(c, spec);
  for (std::int64_t i = 0; i < spec.layers; ++i) x = pre_norm_layer(c, i, x, {});

  b.begin_unit("head", -1, UnitRole::head);
  GraphBuilder::Scope scope(b, "head");
  const TensorId token = b.reshape(b.slice(layer_norm(c, "norm", x), 1, 0, 1), {micro_batch, spec.hidden});
  const TensorId known =
      spec.representation > 0 ? b.unary("tanh", dense(c, "representation", token, spec.representation)) : token;
  const TensorId scores = dense(c, "classes", known, spec.classes);
  graph.outputs = {scores};
  if (use == GraphUse::inference) return graph;
  graph.loss = b.cross_entropy(scores, b.input("labels", DType::int32, {micro_batch}));
  graph.outputs = {graph.loss, scores};
  return graph;
}

}  // namespace superstep::zoo
