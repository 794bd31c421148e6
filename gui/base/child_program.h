// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>
#include <QString>

namespace superstep::gui {

// The command line that the viewer has work done by: the one beside this program.
inline QString child_program() { return QCoreApplication::applicationDirPath() + "/superstep"; }

}  // namespace superstep::gui
