// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/pictures.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <ostream>
#include <sstream>
#include <vector>

#include "model/error.h"

extern char** environ;

namespace superstep {
namespace {

// A temporary folder that is removed with the object.
struct OwnFolder {
  OwnFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "superstep-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error(name, "cannot be made");
    path = name;
  }
  ~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  std::filesystem::path path;
};

std::string contents_of(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// Runs a program and returns its exit code; -1 if a signal ended the program. Both outputs of the program go to the
// file `said`.
int run_program(std::vector<std::string> arguments, const std::filesystem::path& said) {
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw Error(arguments.front(), "cannot be started");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::filesystem::path viewer_program() {
  const std::filesystem::path viewer = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "superstep-view";
  if (!std::filesystem::exists(viewer))
    throw Error("view", "found no viewer beside this program; ./superstep view builds it");
  return viewer;
}

void write_picture(const std::filesystem::path& report, const std::string& view, const std::string& ending,
                   std::ostream& out) {
  const OwnFolder folder;
  const auto picture = folder.path / ("picture." + ending), said = folder.path / "said";
  const std::string viewer = viewer_program().string();
  const int code = run_program({viewer, report.string(), "--export", view, "-o", picture.string()}, said);
  if (code != 0 || !std::filesystem::exists(picture)) {
    std::string text = contents_of(said);
    const std::string name = "superstep-view: ";
    if (const std::size_t from = text.find(name); from != std::string::npos) text.erase(0, from + name.size());
    throw Error("", text.empty() ? viewer + " ended before the picture was written" : text);
  }
  out << std::ifstream(picture, std::ios::binary).rdbuf();
}

}  // namespace superstep
