// SPDX-License-Identifier: Apache-2.0
#include "tests/planner/page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace superstep::test {
namespace {

bool updates() { return std::getenv("SUPERSTEP_UPDATE") != nullptr; }

std::string contents_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

void expect_on_page(const std::string& path, const std::string& begin_mark, const std::string& end_mark,
                    const std::string& found) {
  const std::string page = contents_of(path);
  const std::size_t begin = page.find(begin_mark), end = page.find(end_mark);
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << path << " has no place for the tables";
  const std::size_t first = begin + begin_mark.size();
  if (updates())
    std::ofstream(path, std::ios::binary) << page.substr(0, first) << found << page.substr(end);
  else
    EXPECT_EQ(page.substr(first, end - first), found) << path << " is old: see the first lines of its test";
}

void expect_file(const std::string& path, const std::string& found) {
  if (updates()) std::ofstream(path, std::ios::binary) << found;
  EXPECT_EQ(contents_of(path), found) << path << " is old: see the first lines of its test";
}

const PublishedPoints& published() {
  static const PublishedPoints points = load_published({published_folder()});
  return points;
}

}  // namespace superstep::test
