// SPDX-License-Identifier: Apache-2.0
#include "planner/configurations/import_configuration.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/lower/graph_facts.h"
#include "model/lower/serialise.h"
#include "model/machine/load_machine.h"
#include "planner/configurations/formats.h"
#include "planner/configurations/read_file.h"
#include "planner/job/job.h"
#include "planner/job/pinned_stages.h"

namespace superstep {
namespace {

using nlohmann::json;

// The configurations of a file by name; "" for a file that is one.
using Named = std::map<std::string, json>;

const ConfigurationFormat* format_of(const json& keys) {
  for (const ConfigurationFormat& format : configuration_formats()) {
    if (format.is(keys)) return &format;
  }
  return nullptr;
}

// Returns a configuration that may be a command with flags. Of a command's "{phase}" the value that is set is taken.
json with_flags(const json& value, const ConfigurationRequest& request) {
  if (!value.contains("cmd") || !value["cmd"].is_string()) return value;
  std::string command = value["cmd"];
  for (const auto& [key, text] : request.more) {
    const std::string place = "{" + key + "}";
    for (std::size_t at = command.find(place); at != std::string::npos; at = command.find(place, at + text.size()))
      command.replace(at, place.size(), text);
  }
  json out = parse_flags(command);
  const std::size_t end = command.find(".py");
  const std::size_t begin = command.find_last_of(" \n", end);
  if (end != std::string::npos)
    out["script"] = command.substr(begin == std::string::npos ? 0 : begin + 1, end + 3 - begin - 1);
  return out;
}

// Groups such as "release" of PopXL's files hold configurations, too.
Named configurations_of(const json& file, const std::string& path, const ConfigurationRequest& request) {
  if (!file.is_object()) throw Error(path, "found " + describe(file) + ", expected an object of keys");
  Named out;
  const bool all_objects = std::ranges::all_of(file, [](const json& v) { return v.is_object(); });
  if (!all_objects || format_of(file) != nullptr) return {{"", file}};
  for (const auto& [name, value] : file.items()) {
    const bool is_group = !value.empty() && std::ranges::all_of(value, [](const json& v) { return v.is_object(); }) &&
                          std::ranges::any_of(value, [](const json& v) { return v.contains("execution"); });
    if (!is_group) {
      out[name] = with_flags(value, request);
      continue;
    }
    for (const auto& [inner, keys] : value.items()) {
      out[inner] = keys;
      out[inner]["group"] = name;
    }
  }
  return out;
}

std::string names_of(const Named& all) {
  std::string out;
  for (const auto& [name, keys] : all) {
    if (format_of(keys) != nullptr) out += (out.empty() ? "" : ", ") + name;
  }
  return out;
}

// Returns the keys of all files together.
json keys_of(const ConfigurationRequest& request) {
  json out = json::object();
  std::vector<Named> files;
  bool found = request.name.empty();
  for (const std::string& path : request.files) {
    files.push_back(configurations_of(read_configuration_file(path), path, request));
    const Named& all = files.back();
    if (const auto one = all.find(""); one != all.end()) {
      out.update(one->second);
    } else if (const auto named = all.find(request.name); named != all.end()) {
      out.update(named->second);
      found = true;
    } else if (request.name.empty()) {
      const std::string names = names_of(all);
      if (names.empty()) continue;  // commands alone: another file has what they name
      throw Error(path, "found several configurations, expected --name with one of: " + names);
    }
  }
  if (!found) {
    std::vector<std::string> names;
    for (const Named& all : files) {
      for (const auto& [name, keys] : all) names.push_back(name);
    }
    throw Error("--name", "found \"" + request.name + "\"" + name_hint(request.name, names));
  }
  // A command of a benchmark names a configuration of another file, whose keys its flags replace.
  if (const auto base = out.find("config"); base != out.end() && base->is_string()) {
    const std::string name = *base;
    const auto file = std::ranges::find_if(files, [&](const Named& all) { return all.count(name) > 0; });
    if (file == files.end())
      throw Error(request.name, "found --config " + name + ", expected also the file that has this configuration");
    json keys = file->at(name);
    keys.update(out);
    out = std::move(keys);
  }
  return out;
}

// Sets a key that may be dotted; the value is JSON, or else a text.
void set_key(json& keys, const std::string& path, const std::string& text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) value = text;
  json* at = &keys;
  std::string above;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    if (!at->is_object() && !at->is_null())
      throw Error("--set", "found " + path + ", but " + above + " is " + describe(*at) + ", expected an object");
    above = path.substr(0, end);
    at = &(*at)[path.substr(begin, end - begin)];
    begin = end + 1;
  }
  *at = std::move(value);
}

// Returns the graph of the draft's model, for its micro-batch.
Graph graph_of(const Draft& draft, const std::string& place) {
  json without = draft.job;
  without["plan"] = json::object();
  return build_graph(read_job(without, place), draft.job["plan"]["micro_batch"]);
}

// Lowers numbers of parts that do not cut an op of the model into equal parts: other software cuts other axes.
void set_parts(const Graph& graph, Draft& draft) {
  json& parts = draft.plan()["serialisation"];
  const GraphFacts facts(graph);
  const json t = draft.plan()["tensor_parallel"];
  for (auto& [kind, number] : parts.items()) {
    const std::int64_t asked = number;
    const auto why_not = [&, name = kind](std::int64_t n) {
      const json plan = {{"tensor_parallel", t}, {"serialisation", {{name, n}}}};
      Plan of_parts;
      of_parts.tensor_parallel = read_pins(plan, "").tensor_parallel.at(0);
      of_parts.serialisation = read_pins(plan, "").serialisation;
      return check_serialisation(facts, of_parts);
    };
    std::int64_t n = asked;
    while (n > 1 && !why_not(n).empty()) --n;
    if (n == asked) continue;
    draft.note(kind + " in " + std::to_string(n) + " parts, not " + std::to_string(asked) + ": " + why_not(asked));
    number = n;
  }
}

// Sets the first unit of each layer, and of what is around layers, as stages of a phase each.
void set_phases(const Graph& graph, Draft& draft) {
  json stages = json::array(), phases = json::array();
  for (std::size_t u = 0; u < graph.units.size(); ++u) {
    if (u > 0 && graph.units[UnitId(u)].layer == graph.units[UnitId(u - 1)].layer) continue;
    phases.push_back(stages.size());
    stages.push_back(u);
  }
  draft.plan()["stages"] = std::move(stages);
  draft.plan()["phases"] = std::move(phases);
}

std::int64_t ipus_of(const json& plan) {
  std::int64_t out = plan.value("pipeline_stages", std::int64_t{1}) * plan.value("replicas", std::int64_t{1});
  const json t = plan.value("tensor_parallel", json(1));
  for (const json& degree : t.is_array() ? t : json::array({t})) out *= degree.get<std::int64_t>();
  return out;
}

void set_machine(const ConfigurationRequest& request, Draft& draft, const std::string& place) {
  if (!request.machine.empty()) {
    draft.job["machine"] = request.machine;
    return;
  }
  const std::int64_t ipus = ipus_of(draft.plan());
  std::optional<Machine> pod;
  for (const std::string& name : machine_names()) {
    if (!name.starts_with("ipu-pod")) continue;
    Machine machine = load_machine(name);
    if (machine.ipus >= ipus && (!pod || machine.ipus < pod->ipus)) pod = std::move(machine);
  }
  if (!pod)
    throw Error(place, "found a plan for " + std::to_string(ipus) +
                           " IPUs, more than an IPU-POD has; expected --machine with a machine that has them");
  draft.job["machine"] = pod->name;
  if (ipus < pod->ipus) draft.job["machine"] = {{"base", pod->name}, {"partition", ipus}};
  draft.note("machine: the smallest IPU-POD with " + std::to_string(ipus) + (ipus == 1 ? " IPU" : " IPUs") +
             ", of GC200; the configuration names none (--machine NAME)");
}

// Returns the job with its keys in the order in which people read them.
nlohmann::ordered_json in_order(const Draft& draft, const std::string& description) {
  nlohmann::ordered_json out;
  out["description"] = description;
  out["notes"] = draft.notes;
  for (const char* key : {"model", "machine", "task", "optimizer", "batch", "plan", "run"}) {
    if (draft.job.contains(key)) out[key] = draft.job[key];
  }
  return out;
}

}  // namespace

ImportedJob import_configuration(const ConfigurationRequest& request) {
  json keys = keys_of(request);
  for (const auto& [path, text] : request.more) set_key(keys, path, text);
  const std::string file = std::filesystem::path(request.files.at(0)).filename().string();
  std::string place = request.files.at(0);
  for (std::size_t i = 1; i < request.files.size(); ++i) place += " and " + request.files[i];
  if (!request.name.empty()) place += ", " + request.name;
  const ConfigurationFormat* format = format_of(keys);
  if (format == nullptr) {
    std::string known;
    for (const ConfigurationFormat& f : configuration_formats())
      known += std::string(known.empty() ? "" : "; ") + f.name + " (" + f.files + ")";
    throw Error(place, "found the keys of no known configuration, expected one of: " + known);
  }
  Settings settings(keys, place);
  Draft draft;
  format->read(settings, draft);
  if (!draft.job.contains("batch")) set_batch(draft);
  set_machine(request, draft, place);
  if (draft.one_phase_per_layer || draft.plan().contains("serialisation")) {
    const Graph graph = graph_of(draft, place);
    if (draft.one_phase_per_layer) set_phases(graph, draft);
    if (draft.plan().contains("serialisation")) set_parts(graph, draft);
  }
  for (const std::string& key : settings.unread()) draft.lacks(key + ": not known, left out");
  const std::string name = request.name.empty() ? file : request.name + " of " + file;
  ImportedJob out{in_order(draft, name + " (" + format->name + ")"), format->name, draft.no_equal};
  const Job job = read_job(json(out.job), place);  // what no job may have is told here
  if (job.pins.layers_per_stage) pinned_stages(job, build_graph(job, draft.plan()["micro_batch"]));
  return out;
}

}  // namespace superstep
