// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/import.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/quantity_text.h"
#include "planner/cli/options.h"

namespace superstep {
namespace {

std::string opset_text(const ImportResult& r) {
  std::string s;
  for (const auto& [domain, version] : r.opsets)
    s += (s.empty() ? "" : ", ") + (domain.empty() ? "ai.onnx" : domain) + " " + std::to_string(version);
  return s;
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

int run_import(const std::string& path, const CommonOptions& common) {
  ImportOptions options;
  options.keep_types = true;
  const ImportResult r = import_onnx(path, options);
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
    j["ops"] = r.graph.ops.size();
    j["units"] = r.graph.units.size();
    j["has_loss"] = r.graph.loss.valid();
  }
  if (prints_text(common)) print_result(r, terminal_style());
  write_json(common, j);
  return r.unsupported.empty() ? kDone : kFailed;
}

}  // namespace

void add_import(CLI::App& app, CommonOptions& common, Run& run) {
  auto path = std::make_shared<std::string>();
  CLI::App* sub =
      sub_command(app, common, "import", "What an ONNX file contains, and which of its nodes are not supported");
  sub->add_option("model", *path, "ONNX file")->required()->type_name("MODEL.onnx");
  sub->callback([path, &common, &run] { run = [path, &common] { return run_import(*path, common); }; });
}

}  // namespace superstep
