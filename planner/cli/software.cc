// SPDX-License-Identifier: Apache-2.0
// `superstep software`: what real software accepts. Lists the software, or shows the rules of one, or says for jobs
// which software takes their plans.
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "model/software/rules.h"
#include "planner/cli/options.h"
#include "planner/cli/outcome.h"
#include "planner/space/software_facts.h"

namespace superstep {
namespace {

using nlohmann::json;

json rules_json(const Software& s) {
  json rules = json::array();
  for (const SoftwareRule& rule : s.rules)
    rules.push_back({{"id", rule.id}, {"why", rule.why}, {"silent", rule.is_silent}, {"source", rule.source}});
  return {{"name", s.name}, {"title", s.title}, {"version", s.version}, {"rules", rules}};
}

int list_software(const CommonOptions& common) {
  TextTable table;
  table.headings = {"name", "", "version", "rules"};
  table.left_columns = {1, 2};
  json all = json::array();
  for (const std::string& name : software_names()) {
    const Software& s = software(name);
    table.add({s.name, s.title, s.version, std::to_string(s.rules.size())});
    all.push_back(rules_json(s));
  }
  if (prints_text(common)) std::cout << table.to_string(terminal_style());
  write_json(common, {{"software", all}});
  return kDone;
}

int show_software(const Software& s, const CommonOptions& common) {
  TextTable table;
  table.headings = {"rule", "why", "source"};
  table.left_columns = {1, 2};
  for (const SoftwareRule& rule : s.rules) table.add({rule.id, rule.why, rule.source});
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, 240);
  if (prints_text(common)) std::cout << s.title << ' ' << s.version << "\n\n" << table.to_string(style);
  write_json(common, rules_json(s));
  return kDone;
}

json to_json(const BrokenRule& broken) {
  return {{"rule", broken.rule->id}, {"field", broken.field},   {"found", broken.found},
          {"why", broken.rule->why}, {"accept", broken.accept}, {"source", broken.rule->source}};
}

// Software that plans are written for, in the order of the columns.
std::vector<std::string> targets() {
  std::vector<std::string> names = software_names();
  std::erase(names, "any");
  return names;
}

// Returns the first of the broken rules, and how many more there are.
std::string verdict(const std::vector<std::string>& broken) {
  if (broken.empty()) return "takes it";
  return broken[0] + (broken.size() > 1 ? ", " + std::to_string(broken.size() - 1) + " more" : "");
}

int judge_jobs(const std::vector<std::string>& paths, const CommonOptions& common) {
  OutcomeOptions options;
  options.estimate = true;
  options.find_fix = false;
  TextTable table;
  table.headings = {"job"};
  json all = json::array();
  for (const std::string& name : targets()) {
    table.left_columns.push_back(static_cast<int>(table.headings.size()));
    table.headings.push_back(software(name).title);
  }
  for (const std::string& path : paths) {
    const Outcome o = solve(path, options, common);
    if (!o.shown()) {  // what is pinned leaves too much open for estimate
      std::vector<std::string> row(table.headings.size());
      row[0] = path, row[1] = "pins too little";
      table.add(row);
      all.push_back({{"job", path}, {"label", ""}, {"software", json::object()}});
      continue;
    }
    const Plan& plan = o.shown()->plan;
    const PlanFacts facts = plan_facts(o.job(), plan, o.tables->facts(plan.micro_batch));
    json by_software = json::object();
    std::vector<std::string> row = {path};
    for (const std::string& name : targets()) {
      json& broken = by_software[name] = json::array();
      std::vector<std::string> ids;
      for (const BrokenRule& rule : broken_rules(software(name), facts)) {
        broken.push_back(to_json(rule));
        if (ids.empty() || ids.back() != rule.rule->id) ids.push_back(rule.rule->id);
      }
      row.push_back(verdict(ids));
    }
    table.add(row);
    all.push_back({{"job", path}, {"label", o.shown()->label}, {"software", by_software}});
  }
  TextStyle style = terminal_style();
  style.columns = std::max(style.columns, 240);
  if (prints_text(common)) std::cout << table.to_string(style);
  write_json(common, {{"jobs", all}});
  return kDone;
}

int run_software(const std::vector<std::string>& asked, const CommonOptions& common) {
  if (asked.empty()) return list_software(common);
  const std::vector<std::string> names = software_names();
  if (asked.size() == 1 && std::ranges::find(names, asked[0]) != names.end())
    return show_software(software(asked[0]), common);
  return judge_jobs(asked, common);
}

}  // namespace

void add_software(CLI::App& app, CommonOptions& common, Run& run) {
  auto asked = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = sub_command(app, common, "software",
                              "List the software that plans are written for, show its rules, or say which takes a job");
  sub->add_option("asked", *asked,
                  "A name: its rules; jobs: for each which software takes its plan, completed as estimate does")
      ->type_name("NAME|JOB.json");
  sub->callback([asked, &common, &run] { run = [asked, &common] { return run_software(*asked, common); }; });
}

}  // namespace superstep
