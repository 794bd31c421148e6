// SPDX-License-Identifier: Apache-2.0
#include "model/xla/import_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/lower/op_uses.h"
#include "model/machine/load_machine.h"
#include "model/quantity_text.h"
#include "planner/cli/dimensions.h"
#include "planner/cli/options.h"
#include "planner/configurations/import_configuration.h"
#include "planner/job/partitions.h"
#include "planner/space/space.h"

namespace superstep {
namespace {

std::string opset_text(const ImportResult& r) {
  std::string s;
  for (const auto& [domain, version] : r.opsets)
    s += (s.empty() ? "" : ", ") + (domain.empty() ? "ai.onnx" : domain) + " " + std::to_string(version);
  return s;
}

// Returns the number of parameters that are not trained.
std::int64_t frozen_parameters(const Graph& graph) {
  std::int64_t total = 0;
  for (const Tensor& t : graph.tensors) total += t.kind == TensorKind::weight && t.frozen ? t.info.elements() : 0;
  return total;
}

// Returns the floating-point operations of the matrix products and convolutions of one run, those by known matrices
// aside: a resized image is one.
double product_flops(const Graph& graph) {
  double total = 0;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const std::vector<TensorId>& operands = graph.ops[OpId(op)].inputs;
    const bool by_known =
        operands.size() > 1 && operands[1].valid() && graph.tensors[operands[1]].kind == TensorKind::constant;
    if (!by_known) total += product_flops(OpUse(graph, OpId(op)));
  }
  return total;
}

void print_result(const ImportResult& r, const TextStyle& style) {
  TextTable facts;
  facts.left_columns = {1};
  facts.add({"producer", r.producer});
  facts.add({"opsets", opset_text(r)});
  if (r.unsupported.empty()) {
    facts.add(
        {"ops", with_thousands(static_cast<std::int64_t>(r.graph.ops.size())) + " after shape arithmetic is folded"});
    facts.add({"parameters", with_thousands(r.graph.parameters())});
    if (const std::int64_t frozen = frozen_parameters(r.graph); frozen > 0)
      facts.add({"of these frozen", with_thousands(frozen)});
    facts.add({"products and convolutions", with_thousands(std::llround(product_flops(r.graph) / 1e6)) + " MFLOPs"});
    facts.add({"cut units", std::to_string(r.graph.units.size())});
    facts.add({"loss", r.graph.loss.valid() ? r.graph.tensors[r.graph.loss].name : "none: inference only"});
    for (TensorId t : r.graph.inputs)
      facts.add({"input", r.graph.tensors[t].name + " " + std::string(name_of(r.graph.info(t).type)) +
                              to_text(r.graph.info(t).shape)});
  }
  if (r.weights_without_data > 0)
    facts.add({"weights without data", std::to_string(r.weights_without_data) + ", usable for planning only"});
  if (r.external_weights > 0) facts.add({"external weights", std::to_string(r.external_weights)});
  std::cout << facts.to_string(style) << "\n";
  TextTable ops;
  ops.headings = {"op type", "nodes"};
  for (const auto& [name, count] : r.op_counts) ops.add({name, std::to_string(count)});
  std::cout << ops.to_string(style);
  if (r.unsupported.empty()) return;
  std::cout << "\n" << r.unsupported.size() << " nodes are not supported:\n";
  TextTable nodes;
  nodes.headings = {"node", "op type", "why"};
  nodes.left_columns = {1, 2};
  for (const UnsupportedNode& n : r.unsupported)
    nodes.add({n.name, n.domain.empty() ? n.op_type : n.domain + "." + n.op_type, n.why});
  std::cout << nodes.to_string(style);
}

// What an XLA program says of weights and of devices.
void print_facts(const ProgramFacts& facts, const TextStyle& style) {
  TextTable table;
  table.left_columns = {1};
  std::string names;
  for (const std::string& name : facts.weights) names += (names.empty() ? "" : ", ") + name;
  table.add({"weights", names.empty() ? "none: all parameters are inputs; --weights PATTERN names some" : names});
  for (const TensorSharding& s : facts.sharding)
    table.add({"sharding", s.name + (s.parts.empty() ? " whole" : " in parts " + to_text(s.parts))});
  if (!facts.sharding.empty())
    table.add({"as a plan", "tensor_parallel " + std::to_string(facts.tensor_parallel) + ", replicas " +
                                std::to_string(facts.replicas)});
  std::cout << "\n" << table.to_string(style);
}

nlohmann::json to_json(const ProgramFacts& facts) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const TensorSharding& s : facts.sharding)
    tensors.push_back({{"name", s.name}, {"weight", s.weight}, {"parts", s.parts}});
  return {{"tensors", tensors}, {"replicas", facts.replicas}, {"tensor_parallel", facts.tensor_parallel}};
}

int import_model(const std::string& path, ImportOptions options, const CommonOptions& common) {
  options.keep_types = true;
  const ImportResult r = import_file(path, options);
  nlohmann::json j = {{"producer", r.producer},
                      {"opsets", r.opsets},
                      {"op_counts", r.op_counts},
                      {"weights_without_data", r.weights_without_data},
                      {"external_weights", r.external_weights},
                      {"supported", r.unsupported.empty()},
                      {"unsupported", nlohmann::json::array()}};
  for (const UnsupportedNode& n : r.unsupported)
    j["unsupported"].push_back({{"name", n.name}, {"op_type", n.op_type}, {"domain", n.domain}, {"why", n.why}});
  if (r.unsupported.empty()) {
    j["parameters"] = r.graph.parameters();
    j["frozen_parameters"] = frozen_parameters(r.graph);
    j["flops"] = product_flops(r.graph);
    j["ops"] = r.graph.ops.size();
    j["units"] = r.graph.units.size();
    j["has_loss"] = r.graph.loss.valid();
  }
  if (prints_text(common)) print_result(r, terminal_style());
  if (is_xla_program(path)) {
    const ProgramFacts facts = program_facts(path, options);
    j["weights"] = facts.weights;
    j["sharding"] = to_json(facts);
    if (prints_text(common)) print_facts(facts, terminal_style());
  }
  write_json(common, j);
  return r.unsupported.empty() ? kDone : kFailed;
}

bool is_configuration(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".json" || ending == ".yml" || ending == ".yaml";
}

// Throws Error if no machine of its kind can run the job's plan as it is.
void check_legal(const ImportedJob& imported, const ConfigurationRequest& request) {
  Job job = read_job(nlohmann::json(imported.job), request.files.at(0));
  job.software = {kAnySoftware};
  const std::int64_t used = pinned_ipus(job).value_or(job.machine.ipus);
  cells(is_usable(job.machine, used) ? on_partition(job, used) : job, statistics_group(job), true);
}

int import_job(const ConfigurationRequest& request, const std::string& output, const CommonOptions& common) {
  check_output(output);
  const ImportedJob r = import_configuration(request);
  check_legal(r, request);
  if (output.empty() || output == "-") {
    if (prints_text(common)) std::cout << r.job.dump(2) << "\n";
  } else {
    write_text(output, r.job.dump(2) + "\n");
    if (prints_text(common)) {
      std::cout << "Wrote " << output << ", a job of " << r.format << ".\n";
      print_notes(r.job["notes"].get<std::vector<std::string>>(), terminal_style());
    }
  }
  write_json(common, {{"job", nlohmann::json(r.job)}, {"format", r.format}, {"no_equal", r.no_equal}});
  return kDone;
}

struct ImportArguments {
  std::vector<std::string> files, set, weights;
  ConfigurationRequest request;
  Dimensions dimensions;
  std::string output;
};

int run_import(const ImportArguments& a, const CommonOptions& common) {
  if (a.files.size() == 1 && !is_configuration(a.files[0])) {
    if (!a.output.empty())
      throw Error(
          "--output",
          "found with a file that is no .json or .yml: of a network's file a job says {\"model\": {\"onnx\": FILE}}, "
          "or {\"model\": {\"hlo\": FILE}}");
    return import_model(a.files[0], {.dimensions = a.dimensions, .weights = a.weights}, common);
  }
  ConfigurationRequest request = a.request;
  request.files = a.files;
  for (const std::string& text : a.set) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw Error("--set", "found \"" + text + "\", expected KEY=VALUE");
    request.more.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return import_job(request, a.output, common);
}

}  // namespace

void add_import(CLI::App& app, CommonOptions& common, Run& run) {
  auto a = std::make_shared<ImportArguments>();
  CLI::App* sub =
      sub_command(app, common, "import",
                  "What an ONNX file or an XLA program contains; or the job of another program's configuration");
  sub->add_option("files", a->files,
                  "ONNX file; XLA program (HloProto); or YAML and JSON of Graphcore's examples, Hugging Face Optimum "
                  "or Calculon, whose keys are "
                  "taken together")
      ->required()
      ->type_name("FILE...");
  add_dimensions(*sub, a->dimensions);
  sub->add_option("--weights", a->weights,
                  "Names of an XLA program's inputs that are weights, or patterns; may be given several times")
      ->type_name("PATTERN")
      ->allow_extra_args(false);
  sub->add_option("--name", a->request.name, "Which of a file's configurations")->type_name("NAME");
  sub->add_option("-o,--output", a->output, "The job to write; - for standard output, as without it")
      ->type_name("JOB.json");
  sub->add_option("--machine", a->request.machine,
                  "The job's machine; by default the smallest IPU-POD with enough IPUs")
      ->type_name("NAME");
  sub->add_option("--set", a->set, "Sets a key of the configuration first; may be given several times")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  sub->callback([a, &common, &run] { run = [a, &common] { return run_import(*a, common); }; });
}

}  // namespace superstep
