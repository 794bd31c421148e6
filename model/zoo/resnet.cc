// SPDX-License-Identifier: Apache-2.0
// ResNet with bottleneck blocks, and ResNeXt, version 1.5: the 3 x 3 convolution of a block has the stride (version 1:
// the 1 x 1 ahead of it). Every convolution is followed by batch norm and has no bias of its own.
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/zoo/families.h"
#include "model/zoo/images.h"

namespace superstep::zoo {

namespace {

constexpr const char* kResNet = "He et al. 2015 (arXiv 1512.03385) table 1; stride as in torchvision and MLPerf";
constexpr const char* kResNext = "Xie et al. 2016 (arXiv 1611.05431) table 1, 32 x 4d";
constexpr double kResNetEpsilon = 1e-5;
constexpr std::int64_t kExpansion = 4;  // channels out of a block, by channels within
constexpr std::size_t kImageSizes = 4;  // of images within the network

struct ResNet {
  GraphBuilder& b;
  const ResNetSpec& spec;
  std::int64_t micro_batch;
  DType type;
  GraphUse use;

  std::vector<std::int64_t> square(std::int64_t v) const { return {v, v}; }

  TensorId per_channel(const std::string& name, std::int64_t channels, TensorId x, const char* op) const {
    return b.binary(op, x, b.reshape(b.weight(name, type, {channels}), {channels, 1, 1}));
  }

  // Convolution with batch norm. For inference the factor is in the weights, and a bias is left.
  TensorId conv(const std::string& name, TensorId x, std::int64_t filters, std::int64_t window, std::int64_t stride,
                std::int64_t groups = 1) const {
    const std::int64_t pad = window / 2;
    Attributes attrs;
    attrs.set("strides", square(stride));
    attrs.set("pads_begin", square(pad));
    attrs.set("pads_end", square(pad));
    attrs.set("groups", groups);
    const TensorId weight = b.weight(name, type, {filters, b.info(x).shape[1] / groups, window, window});
    const TensorId y = b.one("conv", {x, weight}, std::move(attrs), name + "/conv");
    if (use == GraphUse::inference) return per_channel(name + "_bias", filters, y, "add");
    GraphBuilder::Scope scope(b, name);
    const TensorId gamma = b.weight("gamma", type, {filters}), beta = b.weight("beta", type, {filters});
    return b.batch_norm(y, gamma, beta, kResNetEpsilon);
  }

  TensorId stem() const {
    b.begin_unit("stem");
    const TensorId x = images(b, micro_batch, spec.image_size, spec.pixels, type);
    GraphBuilder::Scope scope(b, "stem");
    const TensorId y = b.unary("relu", conv("conv", x, spec.width, 7, 2));
    Attributes pool;
    pool.set("window", square(3));
    pool.set("strides", square(2));
    pool.set("pads_begin", square(1));
    pool.set("pads_end", square(1));
    return b.one("max_pool", {y}, std::move(pool));
  }

  TensorId block(const std::string& name, std::int64_t number, TensorId x, std::int64_t width,
                 std::int64_t stride) const {
    b.begin_unit(name, number);
    GraphBuilder::Scope scope(b, name);
    const std::int64_t within = spec.widening * width, out = kExpansion * width;
    TensorId y = b.unary("relu", conv("conv1", x, within, 1, 1));
    y = b.unary("relu", conv("conv2", y, within, 3, stride, spec.groups));
    y = conv("conv3", y, out, 1, 1);
    const bool same = stride == 1 && b.info(x).shape[1] == out;
    return b.unary("relu", b.binary("add", y, same ? x : conv("project", x, out, 1, stride)));
  }

  // Scores of the classes.
  TensorId head(TensorId x) const {
    b.begin_unit("head", -1, UnitRole::head);
    GraphBuilder::Scope scope(b, "head");
    x = b.reduce("mean", x, {2, 3}, false);
    const TensorId weight = b.weight("classes", type, {b.info(x).shape[1], spec.classes});
    return b.linear(x, weight, b.weight("classes_bias", type, {spec.classes}));
  }
};

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

// The stem goes with the first blocks, the head with the last.
void share_checkpoints(const ResNetSpec& spec, Graph& graph) {
  std::size_t unit = 1;
  for (std::size_t c = 0; c < spec.blocks_per_checkpoint.size(); ++c) {
    for (std::int64_t i = 0; i < spec.blocks_per_checkpoint[c]; ++i)
      graph.units[UnitId(unit++)].checkpoint = static_cast<std::int64_t>(c);
  }
  if (unit == 1) return;
  graph.units[UnitId(0)].checkpoint = 0;
  graph.units[UnitId(unit)].checkpoint = graph.units[UnitId(unit - 1)].checkpoint;
}

void check_resnet_spec(const ResNetSpec& spec) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  if (spec.blocks.size() != kImageSizes)
    throw Error(spec.name, "blocks must be " + std::to_string(kImageSizes) + " numbers, found " +
                               std::to_string(spec.blocks.size()));
  for (std::int64_t blocks : spec.blocks) positive("blocks", blocks);
  for (std::int64_t count : spec.blocks_per_checkpoint) positive("blocks_per_checkpoint", count);
  if (!spec.blocks_per_checkpoint.empty() && sum(spec.blocks_per_checkpoint) != sum(spec.blocks))
    throw Error(spec.name, "blocks_per_checkpoint has " + std::to_string(sum(spec.blocks_per_checkpoint)) +
                               " blocks in all, expected the " + std::to_string(sum(spec.blocks)) + " of the network");
  positive("width", spec.width);
  positive("widening", spec.widening);
  positive("groups", spec.groups);
  if (spec.width * spec.widening % spec.groups != 0)
    throw Error(spec.name, "groups " + std::to_string(spec.groups) + " does not divide the " +
                               std::to_string(spec.width * spec.widening) + " channels within the first blocks");
  positive("image_size", spec.image_size);
  positive("classes", spec.classes);
}

ResNetSpec resnet(std::string name, std::vector<std::int64_t> blocks) {
  ResNetSpec spec;
  spec.name = std::move(name);
  spec.blocks = std::move(blocks);
  spec.source = kResNet;
  return spec;
}

// 32 groups of 4 channels.
ResNetSpec resnext(std::string name, std::vector<std::int64_t> blocks) {
  ResNetSpec spec = resnet(std::move(name), std::move(blocks));
  spec.widening = 2;
  spec.groups = 32;
  spec.source = kResNext;
  return spec;
}

std::vector<std::int64_t> counts(JsonReader& r, const char* key) {
  constexpr std::int64_t kMost = 4096;
  const nlohmann::json& list = r.raw(key);
  if (!list.is_array() || list.empty())
    throw Error(r.at(key), "found " + describe(list) + ", expected a list of numbers of blocks");
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::optional<std::int64_t> n = whole_number(list[i]);
    if (!n || *n < 1 || *n > kMost)
      throw Error(r.at(key) + "/" + std::to_string(i),
                  "found " + describe(list[i]) + ", expected an integer from 1 to " + std::to_string(kMost));
    out.push_back(*n);
  }
  return out;
}

}  // namespace

std::vector<ResNetSpec> resnet_specs() {
  return {resnet("resnet50", {3, 4, 6, 3}), resnet("resnet101", {3, 4, 23, 3}), resnet("resnet152", {3, 8, 36, 3}),
          resnext("resnext50", {3, 4, 6, 3}), resnext("resnext101", {3, 4, 23, 3})};
}

nlohmann::json numbers_of(const ResNetSpec& s) {
  return {{"image_size", s.image_size},
          {"classes", s.classes},
          {"width", s.width},
          {"widening", s.widening},
          {"groups", s.groups},
          {"blocks", s.blocks},
          {"blocks_per_checkpoint", s.blocks_per_checkpoint},
          {"pixels", pixel_names()[static_cast<std::size_t>(s.pixels)]},
          {"statistics_group", s.statistics_group}};
}

void override_numbers(JsonReader& r, ResNetSpec& s) {
  s.image_size = r.integer_or("image_size", 1, kMostImage, s.image_size);
  s.classes = r.integer_or("classes", 2, 1 << 24, s.classes);
  s.width = r.integer_or("width", 1, 1 << 16, s.width);
  s.widening = r.integer_or("widening", 1, 1 << 10, s.widening);
  s.groups = r.integer_or("groups", 1, 1 << 16, s.groups);
  if (s.width * s.widening % s.groups != 0)
    throw Error(r.at("groups"), "found " + std::to_string(s.groups) + " groups, which do not divide the " +
                                    std::to_string(s.width * s.widening) +
                                    " channels (width x widening) within the first blocks");
  s.statistics_group = r.integer_or("statistics_group", 1, 1'000'000'000, s.statistics_group);
  s.pixels = read_pixels(r, s.pixels);
  if (r.has("blocks")) s.blocks = counts(r, "blocks");
  if (s.blocks.size() != kImageSizes)
    throw Error(r.at("blocks"), "found " + std::to_string(s.blocks.size()) +
                                    " numbers, expected the blocks of each of " + std::to_string(kImageSizes) +
                                    " sizes");
  if (!r.has("blocks_per_checkpoint")) return;
  s.blocks_per_checkpoint = counts(r, "blocks_per_checkpoint");
  if (sum(s.blocks_per_checkpoint) != sum(s.blocks))
    throw Error(r.at("blocks_per_checkpoint"), "found " + std::to_string(sum(s.blocks_per_checkpoint)) +
                                                   " blocks in all, expected the " + std::to_string(sum(s.blocks)) +
                                                   " of the network");
}

Graph build(const ResNetSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  check_resnet_spec(spec);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  if (use == GraphUse::training) graph.statistics_group = spec.statistics_group;
  GraphBuilder b(graph);
  const ResNet network{b, spec, micro_batch, precision, use};

  TensorId x = network.stem();
  std::int64_t number = 0, width = spec.width;
  for (std::size_t size = 0; size < kImageSizes; ++size, width *= 2) {
    for (std::int64_t i = 0; i < spec.blocks[size]; ++i) {
      const std::string name = "stage" + std::to_string(size + 1) + "/block" + std::to_string(i);
      x = network.block(name, number++, x, width, size > 0 && i == 0 ? 2 : 1);
    }
  }
  const TensorId scores = network.head(x);
  share_checkpoints(spec, graph);
  graph.outputs = {scores};
  if (use == GraphUse::inference) return graph;
  graph.loss = b.cross_entropy(scores, b.input("labels", DType::int32, {micro_batch}));
  graph.outputs = {graph.loss, scores};
  return graph;
}

}  // namespace superstep::zoo
