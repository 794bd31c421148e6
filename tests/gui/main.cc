// SPDX-License-Identifier: Apache-2.0
// Every test binary of the viewer has one application, without a screen.
#include <gmock/gmock.h>

#include <QApplication>

#include "gui/base/theme.h"

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  testing::InitGoogleMock(&argc, argv);
  QApplication app(argc, argv);
  superstep::gui::apply_theme(app, superstep::gui::light_theme());
  return RUN_ALL_TESTS();
}
