// SPDX-License-Identifier: Apache-2.0
// What the batch page found out, for other programs: Markdown for people, JSON for scripts, JUnit XML for build
// servers.
#pragma once

#include <QByteArray>
#include <vector>

#include "gui/batch/item.h"

namespace superstep::gui {

QByteArray batch_markdown(const std::vector<BatchItem>& items);
QByteArray batch_json(const std::vector<BatchItem>& items);
// A test suite for the jobs and one for each sweep, a test case for each job and each item. What does not fit is a
// failure, what could not be planned an error, what did not run or was cancelled is skipped.
QByteArray batch_junit(const std::vector<BatchItem>& items);

}  // namespace superstep::gui
