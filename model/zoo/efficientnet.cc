// SPDX-License-Identifier: Apache-2.0
// EfficientNet: blocks that widen their channels, convolve each group of them by itself, weigh the channels by what
// their positions mean to (squeeze and excite), and narrow them again. One coefficient scales the channels of all
// networks, one the blocks. Every convolution is followed by a norm and has no bias of its own, those of squeeze and
// excite the other way round.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/graph/builder.h"
#include "model/zoo/families.h"
#include "model/zoo/images.h"

namespace superstep::zoo {

namespace {

constexpr const char* kEfficientNet =
    "Tan and Le 2019 (arXiv 1905.11946) table 1; coefficients of their published code";
constexpr const char* kGrouped = "Masters et al. 2021 (arXiv 2106.03640); group norm as in Graphcore's examples";
constexpr double kEfficientNetEpsilon = 1e-3;
constexpr std::int64_t kChannels = 8;  // that widths are multiples of
constexpr std::int64_t kSqueeze = 4;   // channels given to a block, by those that squeeze and excite make of them
constexpr std::int64_t kStem = 32, kTop = 1280;

// Blocks of equal width, of the network with both coefficients 1.
struct Size {
  std::int64_t window, stride, given, made, blocks;
  bool expands;
};
constexpr std::array<Size, 7> kBlockSizes = {{{3, 1, 32, 16, 1, false},
                                              {3, 2, 16, 24, 2, true},
                                              {5, 2, 24, 40, 2, true},
                                              {3, 2, 40, 80, 3, true},
                                              {5, 1, 80, 112, 3, true},
                                              {5, 2, 112, 192, 4, true},
                                              {3, 1, 192, 320, 1, true}}};

// The nearest multiple of kChannels, or the next where that is more than a tenth too narrow.
std::int64_t scaled_width(const EfficientNetSpec& spec, std::int64_t channels) {
  const double wanted = static_cast<double>(channels) * spec.width_coefficient;
  const auto nearest = static_cast<std::int64_t>(wanted + static_cast<double>(kChannels) / 2) / kChannels * kChannels;
  const std::int64_t width = std::max(kChannels, nearest);
  return static_cast<double>(width) < 0.9 * wanted ? width + kChannels : width;
}

std::int64_t scaled_depth(const EfficientNetSpec& spec, std::int64_t blocks) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(blocks) * spec.depth_coefficient));
}

struct EfficientNet {
  GraphBuilder& b;
  const EfficientNetSpec& spec;
  std::int64_t micro_batch;
  DType type;
  GraphUse use;

  TensorId norm(const std::string& name, TensorId y, std::int64_t channels) const {
    const bool group = spec.norm == Norm::group;
    if (!group && use == GraphUse::inference)  // the factor is in the weights, and a bias is left
      return b.binary("add", y, b.reshape(b.weight(name + "_bias", type, {channels}), {channels, 1, 1}));
    GraphBuilder::Scope scope(b, name);
    const TensorId gamma = b.weight("gamma", type, {channels}), beta = b.weight("beta", type, {channels});
    if (!group) return b.batch_norm(y, gamma, beta, kEfficientNetEpsilon);
    const Shape shape = b.info(y).shape;
    const std::int64_t groups = std::min(spec.norm_groups, channels);
    y = b.reshape(y, {shape[0], groups, channels / groups, shape[2], shape[3]});
    y = b.reshape(b.normalize(y, {2, 3, 4}, kEfficientNetEpsilon), shape);
    return b.binary("add", b.binary("mul", y, b.reshape(gamma, {channels, 1, 1})), b.reshape(beta, {channels, 1, 1}));
  }

  TensorId conv(const std::string& name, TensorId x, std::int64_t filters, std::int64_t window = 1,
                std::int64_t stride = 1, std::int64_t groups = 1) const {
    const auto square = [](std::int64_t v) { return std::vector<std::int64_t>{v, v}; };
    Attributes attrs;
    attrs.set("strides", square(stride));
    attrs.set("pads_begin", square(window / 2));
    attrs.set("pads_end", square(window / 2));
    attrs.set("groups", groups);
    const TensorId weight = b.weight(name, type, {filters, b.info(x).shape[1] / groups, window, window});
    return norm(name, b.one("conv", {x, weight}, std::move(attrs), name + "/conv"), filters);
  }

  TensorId dense(const std::string& name, TensorId x, std::int64_t columns) const {
    const TensorId weight = b.weight(name, type, {b.info(x).shape[1], columns});
    return b.linear(x, weight, b.weight(name + "_bias", type, {columns}));
  }

  // A factor for each channel, of the means of all over their positions.
  TensorId squeeze_and_excite(TensorId x, std::int64_t squeezed) const {
    const std::int64_t channels = b.info(x).shape[1];
    const TensorId means = b.reduce("mean", x, {2, 3}, false);
    const TensorId narrow = b.unary("swish", dense("squeeze", means, squeezed));
    const TensorId factors = b.unary("sigmoid", dense("excite", narrow, channels));
    return b.binary("mul", x, b.reshape(factors, {micro_batch, channels, 1, 1}));
  }

  // Zero for some samples, and greater for the others, so that the mean stays.
  TensorId drop_samples(TensorId x, double ratio) const {
    if (use == GraphUse::inference || ratio == 0) return x;
    const TensorId any = b.slice(b.reshape(b.stop_gradient(x), {micro_batch, -1}), 1, 0, 1);  // of each sample
    const TensorId ones = b.cast(b.binary("equal", any, any), type);
    return b.binary("mul", x, b.reshape(b.dropout(ones, ratio), {micro_batch, 1, 1, 1}));
  }

  TensorId block(const std::string& name, std::int64_t number, TensorId x, const Size& size, std::int64_t made,
                 std::int64_t stride, double dropped) const {
    b.begin_unit(name, number);
    GraphBuilder::Scope scope(b, name);
    const std::int64_t given = b.info(x).shape[1], within = size.expands ? given * spec.expansion : given;
    TensorId y = x;
    if (within != given) y = b.unary("swish", conv("expand", y, within));
    const std::int64_t groups = std::max<std::int64_t>(within / spec.group_size, 1);
    if (within % groups != 0)
      throw Error(spec.name, name + " has " + std::to_string(within) + " channels, which are no groups of " +
                                 std::to_string(spec.group_size));
    y = b.unary("swish", conv("spatial", y, within, size.window, stride, groups));
    y = squeeze_and_excite(y, std::max<std::int64_t>(1, given / kSqueeze));
    y = conv("project", y, made);
    return stride == 1 && given == made ? b.binary("add", drop_samples(y, dropped), x) : y;
  }

  TensorId stem() const {
    b.begin_unit("stem");
    const TensorId x = images(b, micro_batch, spec.image_size, spec.pixels, type);
    GraphBuilder::Scope scope(b, "stem");
    return b.unary("swish", conv("conv", x, scaled_width(spec, kStem), 3, 2));
  }

  // Scores of the classes.
  TensorId head(TensorId x) const {
    b.begin_unit("head", -1, UnitRole::head);
    GraphBuilder::Scope scope(b, "head");
    x = b.unary("swish", conv("top", x, scaled_width(spec, kTop)));
    x = b.reduce("mean", x, {2, 3}, false);
    return dense("classes", use == GraphUse::training ? b.dropout(x, spec.dropout) : x, spec.classes);
  }

  TensorId blocks(TensorId x) const {
    std::int64_t number = 0;
    for (std::size_t s = 0; s < kBlockSizes.size(); ++s) {
      const Size& size = kBlockSizes[s];
      for (std::int64_t i = 0; i < scaled_depth(spec, size.blocks); ++i) {
        const double dropped = spec.stochastic_depth * static_cast<double>(number) / static_cast<double>(spec.blocks());
        const std::string name = "stage" + std::to_string(s + 1) + "/block" + std::to_string(i);
        x = block(name, number++, x, size, scaled_width(spec, size.made), i == 0 ? size.stride : 1, dropped);
      }
    }
    return x;
  }
};

void check_efficientnet_spec(const EfficientNetSpec& spec) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("image_size", spec.image_size);
  positive("classes", spec.classes);
  positive("expansion", spec.expansion);
  positive("group_size", spec.group_size);
  positive("norm_groups", spec.norm_groups);
  if (kChannels % std::min(spec.norm_groups, kChannels) != 0 || spec.norm_groups > kChannels)
    throw Error(spec.name, "norm_groups must divide " + std::to_string(kChannels) +
                               ", which widths are multiples of, found " + std::to_string(spec.norm_groups));
}

EfficientNetSpec efficientnet(std::string name, double width, double depth, std::int64_t image_size, double dropout) {
  EfficientNetSpec spec;
  spec.name = std::move(name);
  spec.width_coefficient = width, spec.depth_coefficient = depth;
  spec.image_size = image_size, spec.dropout = dropout;
  spec.source = kEfficientNet;
  return spec;
}

// Graphcore's: the groups fill the matrix unit, and fewer channels make up for it.
EfficientNetSpec grouped(EfficientNetSpec spec) {
  spec.name += "-g16";
  spec.group_size = 16, spec.expansion = 4;
  spec.norm = Norm::group;
  spec.source = kGrouped;
  return spec;
}

const std::vector<std::string>& norm_names() {  // by Norm
  static const std::vector<std::string> names = {"batch", "group"};
  return names;
}

}  // namespace

std::vector<EfficientNetSpec> efficientnet_specs() {
  std::vector<EfficientNetSpec> specs = {
      efficientnet("efficientnet-b0", 1.0, 1.0, 224, 0.2), efficientnet("efficientnet-b1", 1.0, 1.1, 240, 0.2),
      efficientnet("efficientnet-b2", 1.1, 1.2, 260, 0.3), efficientnet("efficientnet-b3", 1.2, 1.4, 300, 0.3),
      efficientnet("efficientnet-b4", 1.4, 1.8, 380, 0.4), efficientnet("efficientnet-b5", 1.6, 2.2, 456, 0.4),
      efficientnet("efficientnet-b6", 1.8, 2.6, 528, 0.5), efficientnet("efficientnet-b7", 2.0, 3.1, 600, 0.5)};
  specs.push_back(grouped(specs[4]));
  return specs;
}

nlohmann::json numbers_of(const EfficientNetSpec& s) {
  return {{"image_size", s.image_size},
          {"classes", s.classes},
          {"width_coefficient", s.width_coefficient},
          {"depth_coefficient", s.depth_coefficient},
          {"expansion", s.expansion},
          {"group_size", s.group_size},
          {"norm", norm_names()[static_cast<std::size_t>(s.norm)]},
          {"norm_groups", s.norm_groups},
          {"dropout", s.dropout},
          {"stochastic_depth", s.stochastic_depth},
          {"pixels", pixel_names()[static_cast<std::size_t>(s.pixels)]},
          {"statistics_group", s.statistics_group}};
}

void override_numbers(JsonReader& r, EfficientNetSpec& s) {
  s.image_size = r.integer_or("image_size", 1, kMostImage, s.image_size);
  s.classes = r.integer_or("classes", 2, 1 << 24, s.classes);
  s.width_coefficient = r.number_or("width_coefficient", 0.01, 100, s.width_coefficient);
  s.depth_coefficient = r.number_or("depth_coefficient", 0.01, 100, s.depth_coefficient);
  s.expansion = r.integer_or("expansion", 1, 1 << 10, s.expansion);
  s.group_size = r.integer_or("group_size", 1, 1 << 16, s.group_size);
  s.norm = r.name_or("norm", norm_names(), norm_names()[static_cast<std::size_t>(s.norm)]) == "group" ? Norm::group
                                                                                                      : Norm::batch;
  s.norm_groups = r.integer_or("norm_groups", 1, kChannels, s.norm_groups);
  if (kChannels % s.norm_groups != 0)
    throw Error(r.at("norm_groups"), "found " + std::to_string(s.norm_groups) + " groups, which do not divide " +
                                         std::to_string(kChannels) + ", which widths are multiples of");
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
  s.stochastic_depth = r.number_or("stochastic_depth", 0, 0.99, s.stochastic_depth);
  s.statistics_group = r.integer_or("statistics_group", 1, 1'000'000'000, s.statistics_group);
  s.pixels = read_pixels(r, s.pixels);
}

Graph build(const EfficientNetSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  check_efficientnet_spec(spec);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  if (use == GraphUse::training && spec.norm == Norm::batch) graph.statistics_group = spec.statistics_group;
  GraphBuilder b(graph);
  const EfficientNet network{b, spec, micro_batch, precision, use};
  const TensorId scores = network.head(network.blocks(network.stem()));
  graph.outputs = {scores};
  if (use == GraphUse::inference) return graph;
  graph.loss = b.cross_entropy(scores, b.input("labels", DType::int32, {micro_batch}));
  graph.outputs = {graph.loss, scores};
  return graph;
}

}  // namespace superstep::zoo

std::int64_t superstep::EfficientNetSpec::blocks() const {
  std::int64_t all = 0;
  for (const zoo::Size& size : zoo::kBlockSizes) all += zoo::scaled_depth(*this, size.blocks);
  return all;
}
