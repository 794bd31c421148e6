// SPDX-License-Identifier: Apache-2.0
// The reports that the walk opens: made by the program (make_reports.sh, a fixture of the tests), and an empty one.
#pragma once

#include <QStringList>
#include <QWidget>
#include <memory>
#include <string>
#include <vector>

#include "gui/session/view.h"

namespace superstep::gui {

// bert, gpt3, resnet, over, infeasible, searched, empty, and two: two plans side by side.
std::vector<std::string> walk_names();
QStringList walk_reports(const std::string& name);
// What the program printed with --json when it wrote the report; empty for the empty one.
std::string walk_json(const QString& report);

// The view as it stands in a window of 1280 x 720, seen by nobody.
std::unique_ptr<View> shown(const ViewDef& def, Session& session);

// Writes a picture of the widget into the folder of pictures, by its size and scale: for looking at.
void keep_picture(QWidget& widget, const QString& name);

}  // namespace superstep::gui
