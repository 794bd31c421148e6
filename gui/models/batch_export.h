// SPDX-License-Identifier: Apache-2.0
// What the batch page found out, for other programs: Markdown for people, JSON for scripts, JUnit XML for build
// servers.
#pragma once

#include <QByteArray>
#include <QString>
#include <vector>

#include "gui/batch/item.h"

namespace superstep::gui {

QByteArray batch_markdown(const std::vector<BatchItem>& items);
QByteArray batch_json(const std::vector<BatchItem>& items);
// A test suite for the jobs and one for each sweep, a test case for each job and each item. What does not fit is a
// failure, what could not be planned an error, what did not run or was cancelled is skipped.
QByteArray batch_junit(const std::vector<BatchItem>& items);

// Writes one of these by the ending of `path`: md, json, xml. Throws Error when it cannot be written.
bool is_batch_format(const QString& path);
void write_batch(const std::vector<BatchItem>& items, const QString& path);

// Every job and item has a plan that fits.
bool batch_passed(const std::vector<BatchItem>& items);

}  // namespace superstep::gui
