// SPDX-License-Identifier: Apache-2.0
// How fast exact mode computes: two layers of BERT-base and ResNet-50, forward and with gradients. Prints
//   NETWORK PASS THREADS SECONDS OPENBLAS_SECONDS
// the best of some runs, the last with products by OpenBLAS ("-" where it is not installed),
// and writes what an independent program needs to do the same, and what came out:
//   execute_bench FOLDER [NETWORK ...]     then bench/execute_torch.py FOLDER (bench/run --execute starts both)
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "model/execute/evaluate.h"
#include "model/execute/memory.h"
#include "model/graph/autodiff.h"
#include "model/graph/builder.h"
#include "model/numerics/blas.h"
#include "model/numerics/team.h"

namespace {

using namespace superstep;
namespace fs = std::filesystem;

constexpr DType kType = DType::fp32;

// Layers after the paper of BERT (normalisation after the sum), without embedding, mask, dropout and head.
struct Bert {
  GraphBuilder& b;
  std::int64_t batch = 4, tokens = 128, hidden = 768, heads = 12;

  TensorId dense(const std::string& name, TensorId x, std::int64_t columns) {
    const std::int64_t rows = b.info(x).shape.back();
    return b.linear(x, b.weight(name + "_weight", kType, {rows, columns}), b.weight(name + "_bias", kType, {columns}));
  }
  TensorId norm(const std::string& name, TensorId x) {
    return b.layer_norm(x, b.weight(name + "_gamma", kType, {hidden}), b.weight(name + "_beta", kType, {hidden}), 1e-5);
  }
  TensorId head(const std::string& name, TensorId x) {
    return b.transpose(b.reshape(dense(name, x, hidden), {batch, tokens, heads, hidden / heads}), {0, 2, 1, 3});
  }
  TensorId layer(const std::string& name, TensorId x) {
    const GraphBuilder::Scope scope(b, name);
    const TensorId query = head("query", x), key = head("key", x), value = head("value", x);
    const double factor = 1 / std::sqrt(static_cast<double>(hidden / heads));
    const TensorId weights = b.softmax(b.scale(b.matmul(query, key, false, true), factor));
    const TensorId mixed = b.reshape(b.transpose(b.matmul(weights, value), {0, 2, 1, 3}), {batch, tokens, hidden});
    x = norm("norm1", b.binary("add", x, dense("out", mixed, hidden)));
    Attributes exact;
    exact.set("approximate", std::string("none"));
    const TensorId wide = b.one("gelu", {dense("up", x, 4 * hidden)}, exact);
    return norm("norm2", b.binary("add", x, dense("down", wide, hidden)));
  }
  TensorId build() {
    TensorId x = b.input("x", kType, {batch, tokens, hidden});
    for (const char* name : {"layer0", "layer1"}) x = layer(name, x);
    return x;
  }
};

// Version 1.5: the 3 x 3 convolution has the stride. Statistics of the batch where `training`.
struct ResNet {
  GraphBuilder& b;
  std::int64_t batch = 1;
  bool training = false;

  TensorId conv(const std::string& name, TensorId x, std::int64_t filters, std::int64_t window, std::int64_t stride) {
    const std::int64_t pad = window / 2;
    Attributes attrs;
    attrs.set("strides", std::vector<std::int64_t>{stride, stride});
    attrs.set("pads_begin", std::vector<std::int64_t>{pad, pad});
    attrs.set("pads_end", std::vector<std::int64_t>{pad, pad});
    const TensorId w = b.weight(name + "_weight", kType, {filters, b.info(x).shape[1], window, window});
    return norm(name, b.one("conv", {x, w}, std::move(attrs)), filters);
  }
  TensorId norm(const std::string& name, TensorId x, std::int64_t channels) {
    const TensorId gamma = b.weight(name + "_gamma", kType, {channels});
    const TensorId beta = b.weight(name + "_beta", kType, {channels});
    if (training) return b.batch_norm(x, gamma, beta, 1e-5);
    // Running statistics of mean 0 and variance 1.
    const TensorId factor = b.reshape(b.scale(gamma, 1 / std::sqrt(1 + 1e-5)), {channels, 1, 1});
    return b.binary("add", b.binary("mul", x, factor), b.reshape(beta, {channels, 1, 1}));
  }
  TensorId block(const std::string& name, TensorId x, std::int64_t width, std::int64_t stride, bool project) {
    const GraphBuilder::Scope scope(b, name);
    TensorId y = b.unary("relu", conv("conv1", x, width, 1, 1));
    y = b.unary("relu", conv("conv2", y, width, 3, stride));
    y = conv("conv3", y, 4 * width, 1, 1);
    return b.unary("relu", b.binary("add", y, project ? conv("project", x, 4 * width, 1, stride) : x));
  }
  TensorId build() {
    TensorId x = b.unary("relu", conv("stem", b.input("x", kType, {batch, 3, 224, 224}), 64, 7, 2));
    Attributes pool;
    pool.set("window", std::vector<std::int64_t>{3, 3});
    pool.set("strides", std::vector<std::int64_t>{2, 2});
    pool.set("pads_begin", std::vector<std::int64_t>{1, 1});
    pool.set("pads_end", std::vector<std::int64_t>{1, 1});
    x = b.one("max_pool", {x}, std::move(pool));
    const std::int64_t blocks[] = {3, 4, 6, 3};
    for (std::int64_t stage = 0; stage < 4; ++stage) {
      for (std::int64_t i = 0; i < blocks[stage]; ++i) {
        const std::string name = "stage" + std::to_string(stage) + "_block" + std::to_string(i);
        x = block(name, x, 64 << stage, i == 0 && stage > 0 ? 2 : 1, i == 0);
      }
    }
    x = b.reduce("mean", x, {2, 3}, false);
    return b.linear(x, b.weight("head_weight", kType, {2048, 1000}), b.weight("head_bias", kType, {1000}));
  }
};

struct Network {
  Graph graph;
  TensorId result;
  Values feeds;

  explicit Network(const std::function<TensorId(GraphBuilder&)>& build) {
    GraphBuilder b(graph);
    result = build(b);
    graph.outputs = {result};
    std::mt19937 random(7);
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const Tensor& tensor = graph.tensors[TensorId(i)];
      if (tensor.kind != TensorKind::weight && tensor.kind != TensorKind::input) continue;
      const Shape& shape = tensor.info.shape;
      const std::int64_t fan = shape.size() == 2 ? shape[0] : shape.size() == 4 ? volume(shape) / shape[0] : 1;
      std::normal_distribution<double> normal(tensor.name.ends_with("_gamma") ? 1 : 0,
                                              shape.size() == 1 ? 0.1
                                              : tensor.kind == TensorKind::input
                                                  ? 1
                                                  : std::sqrt(2.0 / static_cast<double>(fan)));
      Array values(tensor.info);
      for (std::int64_t e = 0; e < values.info.elements(); ++e) values.set(e, normal(random));
      feeds[TensorId(i)] = std::move(values);
    }
  }

  // The loss is the mean of the result's squares.
  void differentiate() {
    GraphBuilder b(graph);
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < b.info(result).shape.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    graph.loss = b.reduce("mean_square", result, axes, false);
    add_gradients(graph);
  }
};

void write(const fs::path& path, const Array& array) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(array.data.data()), static_cast<std::streamsize>(array.data.size()));
}

std::string file_name(std::string name) {
  for (char& c : name)
    if (c == '/') c = '.';
  return name + ".f32";
}

double best_seconds(const Network& network, std::span<const TensorId> wanted, int threads, const numerics::Blas* blas) {
  constexpr int runs = 5;
  numerics::Team team(threads);
  double best = 1e30;
  for (int run = 0; run <= runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    evaluate(network.graph, network.feeds, {.blas = blas, .team = &team}, wanted);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (run > 0) best = std::min(best, taken.count());
  }
  return best;
}

void measure(const fs::path& folder, const std::string& name, const std::function<TensorId(GraphBuilder&)>& build,
             bool forward, bool backward) {
  Network network(build);
  const numerics::Blas* const blas = numerics::Blas::installed();
  const fs::path place = folder / name;
  fs::create_directories(place);
  for (const auto& [t, values] : network.feeds) write(place / file_name(network.graph.tensors[t].name), values);
  const auto run = [&](const char* pass, const std::vector<TensorId>& wanted) {
    for (int threads : {1, 2}) {
      std::printf("%s %s %d %.6f ", name.c_str(), pass, threads, best_seconds(network, wanted, threads, nullptr));
      if (blas)
        std::printf("%.6f\n", best_seconds(network, wanted, threads, blas));
      else
        std::puts("-");
      std::fflush(stdout);
    }
    for (const auto& [t, values] : evaluate(network.graph, network.feeds, {}, wanted)) {
      const Tensor& tensor = network.graph.tensors[t];
      const bool gradient = tensor.kind == TensorKind::weight_gradient;
      write(place / ((gradient ? "gradient." : "") +
                     file_name(gradient ? network.graph.tensors[tensor.weight].name : "result")),
            values);
    }
  };
  if (forward) run("forward", {network.result});
  if (!backward) return;
  network.differentiate();
  std::vector<TensorId> gradients;
  for (TensorId t : outcomes(network.graph))
    if (network.graph.tensors[t].kind == TensorKind::weight_gradient) gradients.push_back(t);
  run("both", gradients);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("execute_bench FOLDER [bert | resnet-1 | resnet-4 ...]\n", stderr);
    return 2;
  }
  keep_freed_memory();
  const fs::path folder = argv[1];
  const std::vector<std::string> chosen(argv + 2, argv + argc);
  const auto wanted = [&](const std::string& name) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
  };
  if (wanted("bert"))
    measure(
        folder, "bert", [](GraphBuilder& b) { return Bert{b}.build(); }, true, true);
  if (wanted("resnet-1"))
    measure(
        folder, "resnet-1", [](GraphBuilder& b) { return ResNet{b}.build(); }, true, false);
  if (wanted("resnet-4"))
    measure(
        folder, "resnet-4",
        [](GraphBuilder& b) {
          return ResNet{b, 4, true}.build();
        },
        false, true);
}
