// SPDX-License-Identifier: Apache-2.0
#include "model/conformance/conformance.h"

#include <algorithm>
#include <map>

#include "model/conformance/run_case.h"
#include "model/error.h"

namespace superstep {

namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = "model.onnx";
constexpr const char* kTraining = "train.onnx";
constexpr const char* kReference = "reference.json";
constexpr const char* kDataSet = "test_data_set_";

using Cases = std::map<std::string, ConformanceCase>;  // by name

void add(Cases& cases, const fs::path& model, const fs::path& data, const std::string& last) {
  const fs::path folder = model.parent_path();
  const std::string name = (folder.parent_path().filename() / folder.filename() / last).string();
  // Two folders of one name in different places keep both cases.
  std::string unique = name;
  for (int i = 2; cases.contains(unique) && cases[unique].model != model; ++i) unique = name + "#" + std::to_string(i);
  cases[unique] = {unique, model, data};
}

// True when the folder has a case.
bool add_folder(Cases& cases, const fs::path& folder) {
  const fs::path model = folder / kModel, training = folder / kTraining, reference = folder / kReference;
  bool found = fs::is_regular_file(training) && fs::is_regular_file(reference);
  if (found) add(cases, training, reference, kTraining);
  if (!fs::is_regular_file(model)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || !name.starts_with(kDataSet)) continue;
    add(cases, model, entry.path(), name);
    found = true;
  }
  return found;
}

}  // namespace

std::string_view name_of(CaseStatus status) {
  switch (status) {
    case CaseStatus::passed:
      return "passed";
    case CaseStatus::failed:
      return "failed";
    case CaseStatus::skipped:
      return "skipped";
  }
  return "";
}

std::vector<ConformanceCase> find_cases(const std::vector<std::string>& folders) {
  Cases cases;
  for (const std::string& given : folders) {
    if (!fs::is_directory(given)) throw Error(given, "no such folder");
    const fs::path root = fs::canonical(given);
    std::vector<fs::path> below{root};
    for (const auto& entry : fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied)) {
      if (entry.is_directory()) below.push_back(entry.path());
    }
    std::sort(below.begin(), below.end());
    bool found = false;
    for (const fs::path& folder : below) found = add_folder(cases, folder) || found;
    if (found) continue;
    throw Error(given,
                "no case found at or below this folder, expected a model.onnx with folders test_data_set_N beside it "
                "(Debian: libonnx-testdata), or a train.onnx with a reference.json");
  }
  std::vector<ConformanceCase> all;
  for (auto& [name, c] : cases) all.push_back(std::move(c));
  return all;
}

CaseResult run_case(const ConformanceCase& c) {
  try {
    return c.model.filename() == kTraining ? conformance::run_reference_case(c) : conformance::run_suite_case(c);
  } catch (const Error& error) {
    return {CaseStatus::failed, error.what()};
  }
}

std::string group_of(const ConformanceCase& c) { return c.name.substr(0, c.name.find('/')); }

std::string kind_of(const std::string& why) { return why.substr(0, why.find(": ")); }

}  // namespace superstep
