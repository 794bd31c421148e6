// SPDX-License-Identifier: Apache-2.0
// `superstep machines` and `superstep models`: lists all, or shows a machine or model in full.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/data_folder.h"
#include "model/machine/load_machine.h"
#include "model/quantity_text.h"
#include "model/zoo/zoo.h"
#include "planner/cli/options.h"

namespace superstep {
namespace {

nlohmann::json machine_json(const Machine& m) {
  nlohmann::json rows = nlohmann::json::array();
  for (const SourcedRow& r : m.rows) {
    nlohmann::json row = {{"pointer", r.pointer}, {"value", r.text}, {"source", r.source}, {"file", r.file}};
    if (!r.conflict.empty()) row["conflict"] = r.conflict;
    rows.push_back(row);
  }
  return {{"name", m.name}, {"title", m.title}, {"plannable", m.plannable}, {"ipus", m.ipus}, {"rows", rows}};
}

int run_machines(const std::string& name, const CommonOptions& common) {
  if (!name.empty()) {
    const Machine m = load_machine(name);
    if (prints_text(common)) print(std::cout, m);
    write_json(common, machine_json(m));
    return kDone;
  }
  TextTable table;
  table.headings = {"name", "", "IPUs", "tile memory", "clock", "Streaming Memory"};
  table.left_columns = {1};
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& n : machine_names()) {
    const Machine m = load_machine(n);
    if (m.plannable) {
      const Bytes streaming(m.streaming.capacity.value * m.machines());
      table.add({m.name, m.title, with_thousands(m.ipus), to_text(m.chip.tile_memory), to_text(m.chip.clock),
                 streaming.value > 0 ? to_text(streaming) : "none"});
    } else {
      table.add({m.name, m.title + ", for comparison", "", "", "", ""});
    }
    all.push_back({{"name", m.name}, {"title", m.title}, {"plannable", m.plannable}, {"ipus", m.ipus}});
  }
  if (prints_text(common)) std::cout << table.to_string(terminal_style());
  write_json(common, {{"machines", all}});
  return kDone;
}

nlohmann::json model_json(const ZooSpec& spec) {
  nlohmann::json j = numbers_of(spec);
  j["name"] = name_of(spec);
  j["family"] = family_of(spec);
  j["source"] = source_of(spec);
  j["parameters"] = build(spec, 1, DType::fp16).parameters();
  return j;
}

// Returns a number of a model; empty if the model has no such number.
std::string number(const nlohmann::json& model, const char* key) {
  return model.contains(key) ? with_thousands(model[key].get<std::int64_t>()) : "";
}

int run_models(const std::string& name, const CommonOptions& common) {
  std::vector<std::string> names = zoo_names();
  if (!name.empty()) names = {name_of(zoo_spec(name))};
  const std::vector<std::pair<const char*, const char*>> numbers = {
      {"parameters", "parameters"}, {"layers", "layers"},         {"hidden", "hidden"},
      {"heads", "heads"},           {"vocabulary", "vocabulary"}, {"sequence", "sequence_length"},
      {"image", "image_size"},      {"classes", "classes"}};
  TextTable table;
  table.headings = {"name"};
  for (const auto& [heading, key] : numbers) table.headings.push_back(heading);
  table.left_columns = {static_cast<int>(table.headings.size())};
  table.headings.push_back("source");
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& n : names) {
    const nlohmann::json j = model_json(zoo_spec(n));
    std::vector<std::string> row = {n};
    for (const auto& [heading, key] : numbers) row.push_back(number(j, key));
    row.push_back(j["source"].get<std::string>());
    table.add(row);
    all.push_back(j);
  }
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, 210);
  if (prints_text(common)) std::cout << table.to_string(style);
  write_json(common, {{"models", all}});
  return kDone;
}

void add_list(CLI::App& app, CommonOptions& common, Run& run, const char* command, const char* help,
              int (*show)(const std::string&, const CommonOptions&)) {
  auto name = std::make_shared<std::string>();
  CLI::App* sub = sub_command(app, common, command, help);
  sub->add_option("name", *name, "One of them in full")->type_name("NAME");
  sub->callback([name, show, &common, &run] { run = [name, show, &common] { return show(*name, common); }; });
}

}  // namespace

void add_machines(CLI::App& app, CommonOptions& common, Run& run) {
  add_list(app, common, run, "machines", "List machines, or show one with the source of every number", run_machines);
}
void add_models(CLI::App& app, CommonOptions& common, Run& run) {
  add_list(app, common, run, "models", "List the models of the zoo", run_models);
}

}  // namespace superstep
