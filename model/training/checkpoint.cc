// SPDX-License-Identifier: Apache-2.0
#include "model/training/checkpoint.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "model/error.h"
#include "model/training/draw.h"
#include "model/training/safetensors.h"

namespace superstep {

namespace {

constexpr const char* kFormat = "superstep training 1";

std::string hexadecimal(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// Exact, also in text.
std::string exact(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

class Metadata {
 public:
  Metadata(const std::string& path, const std::map<std::string, std::string>& texts) : path_(path), texts_(texts) {}

  const std::string& text(const std::string& key) const {
    const auto at = texts_.find(key);
    if (at == texts_.end()) throw Error(path_, "is no checkpoint: its metadata has no \"" + key + "\"");
    return at->second;
  }
  std::int64_t integer(const std::string& key) const {
    const std::string& found = text(key);
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (error != std::errc() || end != found.data() + found.size() || value < 0)
      throw Error(path_, "metadata \"" + key + "\": found \"" + found + "\", expected a count");
    return value;
  }
  double number(const std::string& key) const {
    const std::string& found = text(key);
    char* end = nullptr;
    const double value = std::strtod(found.c_str(), &end);
    if (found.empty() || *end != 0 || !(value > 0))
      throw Error(path_, "metadata \"" + key + "\": found \"" + found + "\", expected a number above 0");
    return value;
  }
  void expect(const std::string& key, const std::string& expected) const {
    if (text(key) == expected) return;
    throw Error(path_,
                "is a checkpoint of another " + key + ": found \"" + text(key) + "\", expected \"" + expected + "\"");
  }

 private:
  const std::string& path_;
  const std::map<std::string, std::string>& texts_;
};

}  // namespace

TrainingIdentity identity_of(const Graph& graph, const OptimizerSpec& optimizer) {
  std::map<std::string, TensorInfo> weights;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Tensor& tensor = graph.tensors[TensorId(i)];
    if (tensor.kind == TensorKind::weight) weights[tensor.name] = tensor.info;
  }
  std::uint64_t hash = hash_of("");
  for (const auto& [name, info] : weights)
    hash = hash_of(name + ' ' + std::string(name_of(info.type)) + to_text(info.shape), hash);
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::forward) continue;
    for (const auto& [name, value] : op.attrs.items()) {
      if (const double* number = std::get_if<double>(&value)) hash = hash_of(name + exact(*number), hash);
    }
  }
  std::string kind = optimizer.kind;
  if (optimizer.master_weights) kind += ", master weights";
  kind +=
      ", moments " + std::string(name_of(optimizer.first_moment)) + " " + std::string(name_of(optimizer.second_moment));
  return {hexadecimal(hash), kind};
}

void write_checkpoint(const std::string& path, const TrainingState& state, const TrainingIdentity& identity) {
  write_safetensors(path, {.tensors = state.tensors,
                           .metadata = {{"format", kFormat},
                                        {"model", identity.model},
                                        {"optimizer", identity.optimizer},
                                        {"step", std::to_string(state.step)},
                                        {"seed", std::to_string(state.seed)},
                                        {"loss_scale", exact(state.loss_scale.factor)},
                                        {"loss_scale_automatic", state.loss_scale.automatic ? "1" : "0"},
                                        {"loss_scale_good_steps", std::to_string(state.loss_scale.good_steps)}}});
}

TrainingState read_checkpoint(const std::string& path, const TrainingIdentity& identity, std::uint64_t seed) {
  TensorFile file = read_safetensors(path);
  const Metadata metadata(path, file.metadata);
  metadata.expect("format", kFormat);
  metadata.expect("model", identity.model);
  metadata.expect("optimizer", identity.optimizer);
  metadata.expect("seed", std::to_string(seed));
  TrainingState state;
  state.step = metadata.integer("step");
  state.seed = seed;
  state.loss_scale.factor = metadata.number("loss_scale");
  state.loss_scale.automatic = metadata.integer("loss_scale_automatic") > 0;
  state.loss_scale.good_steps = metadata.integer("loss_scale_good_steps");
  state.tensors = std::move(file.tensors);
  return state;
}

}  // namespace superstep
