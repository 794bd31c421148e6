// SPDX-License-Identifier: Apache-2.0
#include "model/conformance/conformance.h"

#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "model/parallel.h"
#include "planner/cli/options.h"

namespace superstep {
namespace {

struct FolderCounts {
  int passed = 0, failed = 0, skipped = 0;
  void add(CaseStatus status) {
    ++(status == CaseStatus::passed ? passed : status == CaseStatus::failed ? failed : skipped);
  }
};

TextTable folder_table(const std::map<std::string, FolderCounts>& folders, const FolderCounts& all) {
  TextTable table;
  table.headings = {"folder", "passed", "failed", "skipped", "cases"};
  const auto row = [&](const std::string& name, const FolderCounts& c, bool last) {
    table.add({name, std::to_string(c.passed), std::to_string(c.failed), std::to_string(c.skipped),
               std::to_string(c.passed + c.failed + c.skipped)},
              last ? Ink::strong : Ink::plain, last);
  };
  for (const auto& [name, counts] : folders) row(name, counts, false);
  row("all", all, true);
  return table;
}

void print_results(const std::vector<ConformanceCase>& cases, const std::vector<CaseResult>& results,
                   const FolderCounts& all) {
  const TextStyle style = terminal_style();
  std::map<std::string, FolderCounts> folders;
  std::map<std::string, int> reasons;
  std::string failures;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    folders[group_of(cases[i])].add(results[i].status);
    if (results[i].status == CaseStatus::skipped) ++reasons[kind_of(results[i].why)];
    if (results[i].status == CaseStatus::failed) failures += "  " + cases[i].name + ": " + results[i].why + "\n";
  }
  std::cout << folder_table(folders, all).to_string(style);
  TextTable skips;
  skips.headings = {"skipped because", "cases"};
  for (const auto& [why, count] : reasons) skips.add({why, std::to_string(count)});
  if (!reasons.empty()) std::cout << "\n" << skips.to_string(style);
  if (!failures.empty()) std::cout << "\n  " << inked("failed", Ink::bad, style) << "\n" << failures;
}

std::vector<CaseResult> run_all(const std::vector<ConformanceCase>& cases, const CommonOptions& common) {
  std::vector<CaseResult> results(cases.size());
  const auto progress = progress_of(common);
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(cases.size(), common.threads, [&](std::size_t i) {
    results[i] = run_case(cases[i]);
    const std::lock_guard lock(mutex);
    ++done;
    if (progress) progress(static_cast<double>(done) / static_cast<double>(cases.size()), cases[i].name);
  });
  clear_progress(common);
  return results;
}

int run_conformance(const std::vector<std::string>& folders, const CommonOptions& common) {
  check_output(common.json);
  const std::vector<ConformanceCase> cases = find_cases(folders);
  const std::vector<CaseResult> results = run_all(cases, common);
  FolderCounts all;
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    all.add(results[i].status);
    list.push_back({{"name", cases[i].name}, {"status", name_of(results[i].status)}, {"why", results[i].why}});
  }
  if (prints_text(common)) print_results(cases, results, all);
  write_json(common, {{"passed", all.passed}, {"failed", all.failed}, {"skipped", all.skipped}, {"cases", list}});
  return all.failed == 0 ? kDone : kFailed;
}

}  // namespace

void add_conformance(CLI::App& app, CommonOptions& common, Run& run) {
  auto folders = std::make_shared<std::vector<std::string>>();
  CLI::App* sub = sub_command(app, common, "conformance",
                              "Run ONNX backend test cases and training references found below folders");
  sub->add_option("folders", *folders, "Folders to look in")->required()->type_name("DIR");
  sub->callback([folders, &common, &run] { run = [folders, &common] { return run_conformance(*folders, common); }; });
}

}  // namespace superstep
