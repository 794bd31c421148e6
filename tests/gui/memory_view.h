// SPDX-License-Identifier: Apache-2.0
// The memory view of an example report, shown.
#pragma once

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <memory>

#include "gui/views/memory.h"
#include "gui/widgets/liveness_chart.h"
#include "tests/gui/program_example.h"

namespace superstep::gui {

class MemoryViewTest : public ::testing::Test {
 protected:
  void show(const std::filesystem::path& report) {
    ASSERT_TRUE(session_.open(QString::fromStdString(report.string())));
    session_.select({.ipu_class = 0});
    view_ = std::make_unique<MemoryView>(session_);
    view_->resize(1292, 809);
    view_->show();
    QCoreApplication::processEvents();
    chart_ = view_->findChild<LivenessChart*>();
  }

  TemporaryFolder folder_;
  Session session_;
  std::unique_ptr<MemoryView> view_;
  LivenessChart* chart_ = nullptr;
};

}  // namespace superstep::gui
