// SPDX-License-Identifier: Apache-2.0
#include "model/data_folder.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "model/error.h"

namespace superstep {
namespace {

namespace fs = std::filesystem;

fs::path folder_of_executable() {
  static const fs::path folder = [] {
    std::error_code failed;
    return fs::read_symlink("/proc/self/exe", failed).parent_path();
  }();
  return folder;
}

std::vector<std::string> listed_order(const fs::path& folder) {
  std::ifstream in(folder / "order.txt");
  std::vector<std::string> order;
  for (std::string name; std::getline(in, name);) order.push_back(name);
  return order;
}

}  // namespace

std::vector<std::string> machine_names() {
  const fs::path folder = fs::path(data_folder()) / "machines";
  std::vector<std::string> found;
  std::error_code failed;
  for (const auto& file : fs::directory_iterator(folder, failed)) {
    if (file.path().extension() == ".json") found.push_back(file.path().stem().string());
  }
  const std::vector<std::string> order = listed_order(folder);
  const auto place = [&](const std::string& name) {
    return std::find(order.begin(), order.end(), name) - order.begin();
  };
  std::sort(found.begin(), found.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(place(a), a) < std::pair(place(b), b);
  });
  return found;
}

std::string data_folder() {
  if (const char* chosen = std::getenv("SUPERSTEP_DATA"); chosen != nullptr && *chosen != '\0') {
    if (!fs::is_directory(fs::path(chosen) / "machines")) {
      throw Error("SUPERSTEP_DATA", "\"" + std::string(chosen) + "\" has no folder machines");
    }
    return chosen;
  }
  const fs::path beside = folder_of_executable();
  for (const fs::path& folder : {beside / "data", beside.parent_path() / "share" / "superstep"}) {
    if (fs::is_directory(folder / "machines")) return folder.string();
  }
  return SUPERSTEP_SOURCE_DATA;
}

}  // namespace superstep
