// SPDX-License-Identifier: Apache-2.0
// Pages and pictures of docs/ that tests write and hold to what is found now: with SUPERSTEP_UPDATE set they are
// written, else compared.
#pragma once

#include <string>

#include "planner/validate/published.h"

namespace superstep::test {

// What stands between the marks of a page.
void expect_on_page(const std::string& path, const std::string& begin_mark, const std::string& end_mark,
                    const std::string& found);
// A whole file.
void expect_file(const std::string& path, const std::string& found);

const PublishedPoints& published();  // all that pages compare with, read once

}  // namespace superstep::test
