// SPDX-License-Identifier: Apache-2.0
// A training reference: train.onnx (forward and loss), reference.json (loss, gradients, curves of losses per
// optimizer), inputs and target in test_data_set_0. Made by tests/onnx/make_references.py, which says what
// each number is.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "model/conformance/compare.h"
#include "model/conformance/run_case.h"
#include "model/error.h"
#include "model/execute/evaluate.h"
#include "model/graph/autodiff.h"
#include "model/graph/samples.h"
#include "model/json_reader.h"
#include "model/onnx/model_file.h"

namespace superstep::conformance {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// How far two honest fp32 programs may be apart. The reference carries its own distance between fp32 and fp64; where
// that is large the problem is ill-conditioned, and no program can be held to less.
constexpr double kRelative = 1e-5;
constexpr double kGradientGaps = 10, kCurveGaps = 5;
constexpr double kZeroGradient = 1e-6;  // of gradients that are zero but for rounding, against the model's largest
// Statistics over a small batch make training chaotic: curves diverge after some steps in any precision.
constexpr std::size_t kStepsWithBatchNorm = 5;

// Constants of the curves; the learning rate is in the reference.
OptimizerSpec optimizer(const std::string& kind, double learning_rate) {
  OptimizerSpec spec{.kind = kind, .learning_rate = learning_rate};
  if (kind == "sgd_momentum" || kind == "lars") spec.weight_decay = 1e-4;
  if (kind == "adamw" || kind == "lamb") spec.weight_decay = 0.01;
  if (kind == "lamb") spec.epsilon = 1e-6;
  return spec;
}

std::string digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.8g", value);
  return text;
}

double norm_of(const std::vector<double>& values) {
  double squares = 0;
  for (double v : values) squares += v * v;
  return std::sqrt(squares);
}

double distance(std::vector<double> a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return norm_of(a);
}

// A file's input with the value that is stored for it: input_0 ..., and last the target.
struct StoredInput {
  std::string name;
  fs::path path;
  Array value;
  bool open = false;  // the file leaves a dimension open
};

std::vector<StoredInput> stored_inputs(const ConformanceCase& c) {
  const onnx_import::ModelFile file = onnx_import::read_model(c.model.string());
  std::set<std::string> initializers;
  for (const auto& tensor : file.model.graph().initializer()) initializers.insert(tensor.name());
  std::vector<StoredInput> inputs;
  for (const auto& input : file.model.graph().input()) {
    if (initializers.contains(input.name())) continue;
    const auto& dims = input.type().tensor_type().shape().dim();
    inputs.push_back({input.name(),
                      "input_" + std::to_string(inputs.size()) + ".pb",
                      {},
                      std::ranges::any_of(dims, [](const auto& d) { return !d.has_dim_value(); })});
  }
  if (!inputs.empty()) inputs.back().path = "target.pb";
  for (StoredInput& input : inputs) {
    input.path = c.model.parent_path() / "test_data_set_0" / input.path;
    input.value = load_tensor(input.path);
  }
  return inputs;
}

// Types as in the file; shapes that it leaves open are those of the values.
ImportOptions options_of(const std::vector<StoredInput>& inputs) {
  ImportOptions options{.keep_types = true};
  for (const StoredInput& input : inputs) {
    if (input.open) options.input_shapes[input.name] = input.value.info.shape;
  }
  return options;
}

class Reference {
 public:
  explicit Reference(const ConformanceCase& c)
      : c_(c),
        json_(parse_json_file(c.data.string())),
        reader_(json_, c.data.string()),
        stored_(stored_inputs(c)),
        imported_(import_onnx(c.model.string(), options_of(stored_))) {}

  CaseResult run() {
    if (!imported_.unsupported.empty()) {
      const UnsupportedNode& node = imported_.unsupported.front();
      return {CaseStatus::skipped, node.why + ": " + node.op_type};
    }
    if (!imported_.graph.loss.valid()) throw Error(c_.model.string(), "no loss found, expected an output \"loss\"");
    count_samples_in_loss(imported_.graph);
    freeze_buffers();
    load_inputs();
    std::string why = check_gradients();
    JsonReader curves = reader_.object("curves");
    for (const std::string& kind : optimizer_kinds()) {
      if (why.empty() && curves.has(kind)) why = check_curve(kind, curves.object(kind));
    }
    return {why.empty() ? CaseStatus::passed : CaseStatus::failed, why};
  }

 private:
  // ONNX does not tell a buffer from a parameter; the reference has gradients of parameters alone.
  void freeze_buffers() {
    const JsonReader gradients = reader_.object("grads");
    std::set<TensorId> parameters;
    for (const auto& [name, t] : imported_.names) {
      if (gradients.value().contains(name)) parameters.insert(t);
    }
    for (std::size_t i = 0; i < imported_.graph.tensors.size(); ++i) {
      Tensor& tensor = imported_.graph.tensors[TensorId(i)];
      tensor.frozen = tensor.frozen || (tensor.kind == TensorKind::weight && !parameters.contains(TensorId(i)));
    }
  }

  void load_inputs() {
    for (const StoredInput& input : stored_) {
      const auto at = imported_.names.find(input.name);
      if (at == imported_.names.end()) continue;  // nobody reads it
      const TensorInfo& info = imported_.graph.info(at->second);
      if (input.value.info != info)
        throw Error(input.path.string(),
                    "is " + to_text(input.value.info) + ", input \"" + input.name + "\" expects " + to_text(info));
      inputs_[at->second] = input.value;
    }
  }

  double value(JsonReader& reader, std::string_view key) const { return reader.number(key, -1e30, 1e30); }

  std::string check_gradients() {
    Graph graph = imported_.graph;
    const std::map<TensorId, TensorId> gradients = add_gradients(graph);
    const Values values = evaluate(graph, inputs_, {});
    const double loss = values.at(graph.loss).at(0), expected = value(reader_, "loss0_fp32");
    if (std::abs(loss - expected) > kRelative * std::abs(expected)) {
      return "loss: is " + digits(loss) + ", expected " + digits(expected);
    }
    JsonReader all = reader_.object("grads");
    double largest = 0;
    for (const auto& [name, entry] : all.value().items()) {
      JsonReader gradient = all.object(name);
      largest = std::max(largest, value(gradient, "norm"));
    }
    for (const auto& [name, entry] : all.value().items()) {
      const auto weight = imported_.names.find(name);
      if (weight == imported_.names.end() || !gradients.contains(weight->second)) {
        return "gradient: there is none of \"" + name + "\"";
      }
      const std::string why = check_gradient(name, all.object(name), values.at(gradients.at(weight->second)), largest);
      if (!why.empty()) return why;
    }
    return "";
  }

  std::string check_gradient(const std::string& name, JsonReader entry, const Array& found, double largest) {
    const bool zero = entry.boolean_or("mathematically_zero", false);
    const double gap = zero ? 0 : entry.number_or("rel_err_vs_fp64", 0, 1e30, 0), norm = value(entry, "norm");
    const double allowed = zero ? kZeroGradient * largest : std::max(kRelative, kGradientGaps * gap) * norm;
    const std::vector<double> values = found.values();
    double apart = std::abs(norm_of(values) - norm);
    if (entry.has("file")) {
      const Array expected = load_tensor(c_.model.parent_path() / entry.text("file"));
      if (found.info != expected.info) return "gradient: \"" + name + "\" " + difference(found, expected);
      apart = std::max(apart, distance(values, expected.values()));
    } else {
      apart = std::max(apart, distance_of_samples(values, entry));
    }
    if (apart <= allowed) return "";
    return "gradient: of \"" + name + "\" is off by a norm of " + digits(apart) + " of " + digits(norm) + ", allowed " +
           digits(allowed);
  }

  // Every `sample_step`-th element, from the first on.
  double distance_of_samples(const std::vector<double>& values, JsonReader& entry) const {
    const auto step = static_cast<std::size_t>(entry.integer("sample_step", 1, 1 << 30));
    std::vector<double> found;
    for (std::size_t i = 0; i < values.size(); i += step) found.push_back(values[i]);
    const Json& samples = entry.raw("samples");
    if (samples.size() != found.size()) {
      entry.fail("samples", std::to_string(samples.size()) + " elements, expected " + std::to_string(found.size()));
    }
    return distance(found, samples.get<std::vector<double>>());
  }

  // Losses, each taken before its step.
  std::vector<double> losses(const OptimizerSpec& spec, std::size_t steps) const {
    Graph graph = imported_.graph;
    const std::map<TensorId, TensorId> gradients = add_gradients(graph);
    add_optimizer(graph, gradients, spec);
    Values state = inputs_;
    for (const auto& [old, next] : graph.updates) {
      if (!graph.tensors[old].data) state[old] = Array(graph.info(old));  // moments begin at zero
    }
    std::vector<double> found;
    for (std::size_t step = 0; step < steps; ++step) {
      Values values = evaluate(graph, state, {.step = static_cast<std::int64_t>(step)});
      found.push_back(values.at(graph.loss).at(0));
      for (const auto& [old, next] : graph.updates) state[old] = values.at(next);
    }
    return found;
  }

  std::string check_curve(const std::string& kind, JsonReader curve) {
    const Json &single = curve.raw("fp32"), &twice = curve.raw("fp64");
    std::size_t steps = single.size();
    if (imported_.op_counts.contains("BatchNormalization")) steps = std::min(steps, kStepsWithBatchNorm);
    double gap = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      const double a = single.at(i), b = twice.at(i);
      gap = std::max(gap, std::abs(a - b) / std::abs(b));
    }
    const double tolerance = std::max(kRelative, kCurveGaps * gap);
    const std::vector<double> found = losses(optimizer(kind, curve.number("lr", 0, 1e6)), steps);
    for (std::size_t i = 0; i < steps; ++i) {
      const double expected = single.at(i);
      if (std::abs(found[i] - expected) <= tolerance * std::abs(expected)) continue;
      return "curve: " + kind + " step " + std::to_string(i) + " is " + digits(found[i]) + ", expected " +
             digits(expected) + " within a relative " + digits(tolerance);
    }
    return "";
  }

  const ConformanceCase& c_;
  const Json json_;
  JsonReader reader_;
  std::vector<StoredInput> stored_;
  ImportResult imported_;
  Values inputs_;
};

}  // namespace

CaseResult run_reference_case(const ConformanceCase& c) { return Reference(c).run(); }

}  // namespace superstep::conformance
