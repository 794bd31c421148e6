// SPDX-License-Identifier: Apache-2.0
// machines and models: what there is, and one of them in full.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

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

nlohmann::json model_json(const TransformerSpec& s) {
  return {{"name", s.name},
          {"family", s.family},
          {"layers", s.layers},
          {"hidden", s.hidden},
          {"heads", s.heads},
          {"ffn", s.ffn},
          {"vocabulary", s.vocabulary},
          {"sequence_length", s.sequence_length},
          {"source", s.source},
          {"parameters", build(s, 1, DType::fp16).parameters()}};
}

int run_models(const std::string& name, const CommonOptions& common) {
  std::vector<std::string> names = zoo_names();
  if (!name.empty()) names = {zoo_spec(name).name};
  TextTable table;
  table.headings = {"name", "parameters", "layers", "hidden", "heads", "vocabulary", "sequence", "source"};
  table.left_columns = {7};
  nlohmann::json all = nlohmann::json::array();
  for (const std::string& n : names) {
    const nlohmann::json j = model_json(zoo_spec(n));
    auto number = [&](const char* key) { return with_thousands(j[key].get<std::int64_t>()); };
    table.add({n, number("parameters"), number("layers"), number("hidden"), number("heads"), number("vocabulary"),
               number("sequence_length"), j["source"].get<std::string>()});
    all.push_back(j);
  }
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, 140);
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
