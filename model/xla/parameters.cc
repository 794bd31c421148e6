// SPDX-License-Identifier: Apache-2.0
// Which inputs of a program are weights, and what they are called.
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "model/error.h"
#include "model/xla/translate.h"
#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

// A path of Python, such as params['dense']['kernel'] or state.params[0], with dots.
std::string dotted(const std::string& path) {
  std::string out;
  for (char c : path) {
    const bool ends = c == ']' || c == '\'' || c == '"';
    if (c == '[') c = '.';
    if (!ends && (c != '.' || (!out.empty() && out.back() != '.'))) out += c;
  }
  return out;
}

// Part of a path is "params", and none is of an optimizer.
bool called_params(const std::string& name) {
  bool params = false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.starts_with("opt")) return false;
    params = params || part == "params";
    begin = end + 1;
  }
  return params;
}

void add_leaves(const std::string& name, const hlo_file::ShapeProto& shape, const hlo_file::OpSharding* sharding,
                std::vector<Parameter>& to) {
  if (shape.element_type() != kTuple) {
    const bool apart = sharding && sharding->type() == hlo_file::OpSharding::TUPLE;
    to.push_back({name, &shape, apart ? nullptr : sharding, false});
    return;
  }
  const std::size_t first = to.size();
  for (int i = 0; i < shape.tuple_shapes_size(); ++i)
    add_leaves(name + "." + std::to_string(i), shape.tuple_shapes(i), nullptr, to);
  for (std::size_t i = first; sharding && i < to.size(); ++i) {
    const int leaf = static_cast<int>(i - first);
    if (leaf < sharding->tuple_shardings_size()) to[i].sharding = &sharding->tuple_shardings(leaf);
  }
}

bool matches(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

// The parameters that the program gives back changed, by number.
std::set<std::int64_t> given_back(const Program& program) {
  std::set<std::int64_t> out;
  for (const auto& entry : program.module().input_output_alias().entries()) out.insert(entry.parameter_number());
  return out;
}

void check_patterns(const Program& program, const std::vector<std::string>& patterns,
                    const std::set<std::string>& used) {
  for (const std::string& pattern : patterns) {
    const auto& all = program.entry().instructions();
    const bool constant = std::ranges::any_of(
        all, [&](const Instruction& in) { return in.opcode() == "constant" && matches(pattern, in.name()); });
    if (used.contains(pattern) || constant) continue;
    std::string names;
    for (const Instruction* in : program.parameters(program.entry())) {
      if (names.size() < 80)
        names += (names.empty() ? "\"" : ", \"") + dotted(in->metadata().op_name()) + "\" (" + in->name() + ")";
    }
    throw Error(program.path(), "weights \"" + pattern +
                                    "\" is the name of no floating parameter and of no constant; some are " + names);
  }
}

}  // namespace

std::vector<Parameter> find_parameters(const Program& program, const std::vector<std::string>& patterns) {
  const std::vector<const Instruction*> instructions = program.parameters(program.entry());
  std::map<std::string, int> times;
  for (const Instruction* in : instructions) ++times[dotted(in->metadata().op_name())];
  const bool marked = std::ranges::any_of(times, [](const auto& name) { return called_params(name.first); });
  const std::set<std::int64_t> changed = given_back(program);
  std::vector<Parameter> out;
  std::set<std::string> used;
  for (const Instruction* in : instructions) {
    const std::string path = dotted(in->metadata().op_name());
    const std::size_t first = out.size();
    add_leaves(path.empty() || times[path] > 1 ? in->name() : path, in->shape(),
               in->has_sharding() ? &in->sharding() : nullptr, out);
    for (std::size_t i = first; i < out.size(); ++i) {
      if (!is_floating(out[i].shape->element_type())) continue;
      if (patterns.empty()) out[i].weight = marked ? called_params(path) : changed.contains(in->parameter_number());
      for (const std::string& pattern : patterns) {
        if (!matches(pattern, out[i].name) && !matches(pattern, in->name())) continue;
        out[i].weight = true;
        used.insert(pattern);
      }
    }
  }
  check_patterns(program, patterns, used);
  return out;
}

}  // namespace superstep::xla_import
