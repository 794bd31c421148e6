// SPDX-License-Identifier: Apache-2.0
#include "model/xla/import_file.h"

#include <algorithm>

#include "model/error.h"
#include "model/onnx/messages.h"
#include "model/xla/sharding.h"
#include "model/xla/translate.h"

namespace superstep {

namespace {

// Refused instructions are nodes that no handler knows: the reason is the translator's.
void give_reasons(ImportResult& result, const std::map<std::string, std::string>& refusals) {
  for (UnsupportedNode& node : result.unsupported) {
    const auto at = refusals.find(node.name);
    if (node.domain == "xla" && at != refusals.end()) node.why = at->second;
    if (node.domain == "xla") node.domain.clear();
  }
}

// The shapes that operands give must be those that the program says.
void check_shapes(const std::string& path, const ImportResult& result, const std::map<std::string, Shape>& shapes) {
  for (const auto& [name, t] : result.names) {
    const auto said = shapes.find(name);
    const Shape& found = result.graph.info(t).shape;
    if (said != shapes.end() && said->second != found)
      throw Error(path, "instruction \"" + name + "\": its shape is " + to_text(said->second) + ", its operands give " +
                            to_text(found));
  }
}

}  // namespace

bool is_xla_program(const std::string& path) { return xla_import::is_program(path); }

ProgramFacts program_facts(const std::string& path, const ImportOptions& options) {
  const xla_import::Program program(path);
  ProgramFacts facts;
  for (const xla_import::Parameter& p : xla_import::find_parameters(program, options.weights)) {
    if (p.weight) facts.weights.push_back(p.name);
    if (!p.sharding) continue;
    try {
      facts.sharding.push_back({p.name, p.weight, xla_import::parts_of(*p.sharding, *p.shape)});
    } catch (const Error& error) {
      throw Error(path, "sharding of \"" + p.name + "\": " + error.what());
    }
  }
  xla_import::add_degrees(path, std::max(options.batch_dimension, 0), facts);
  return facts;
}

ImportResult import_file(const std::string& path, const ImportOptions& options) {
  if (!is_xla_program(path)) return import_onnx(path, options);
  const xla_import::Program program(path);
  xla_import::Translation t = xla_import::translate(path, program, options.weights);
  ImportResult result = onnx_import::import_messages(std::move(t.file), options);
  give_reasons(result, t.refusals);
  if (options.micro_batch == 0 && result.unsupported.empty()) check_shapes(path, result, t.shapes);
  return result;
}

std::string annotated_file(const std::string& path, const ImportOptions& options, const ImportResult& imported,
                           const Annotation& annotation) {
  if (!is_xla_program(path)) return annotated_onnx(path, imported, annotation);
  const xla_import::Program program(path);
  return onnx_import::annotated_messages(xla_import::translate(path, program, options.weights).file, imported,
                                         annotation);
}

}  // namespace superstep
