// SPDX-License-Identifier: Apache-2.0
// The report in other programs' formats, by the menu: the child process writes it, or says why not.
#include "gui/session/report_export.h"

#include <gmock/gmock.h>

#include <QAction>
#include <QFile>
#include <QMenu>
#include <QSignalSpy>
#include <QTest>
#include <set>

#include "gui/main_window.h"
#include "tests/traces/example_report.h"
#include "traces/export/formats.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class ReportExportTest : public ::testing::Test {
 protected:
  QString path(const char* name) const { return QString::fromStdString((folder_.path / name).string()); }
  static QByteArray bytes(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
  }
  void SetUp() override {
    window_.show();
    window_.reportExport().setProgram(SUPERSTEP);
    ASSERT_TRUE(session_.open(QString::fromStdString(write_example(Example::tight, folder_.path).string())));
  }
  TemporaryFolder folder_;
  Session session_;
  MainWindow window_{session_, Preferences(), QString::fromStdString(folder_.path.string())};
};

// The example has no graph of the model, nor a plan and a job in full.
bool lacks(const std::string& format) {
  static const std::set<std::string> kLacking = {"dot",        "onnx",  "poptorch", "popart",
                                                 "tensorflow", "popxl", "poprun",   "vipu"};
  return kLacking.contains(format);
}

TEST_F(ReportExportTest, EachFormatOfTheMenuIsWritten) {
  for (const exports::Format& format : exports::formats()) {
    const auto* action = window_.findChild<QAction*>(QString("exportAs_") + format.name);
    ASSERT_NE(action, nullptr) << format.name;
    EXPECT_TRUE(action->isEnabled());
    if (lacks(format.name)) continue;
    QSignalSpy written(&window_.reportExport(), &ReportExport::written);
    window_.exportAs(format.name, path(format.name));
    ASSERT_TRUE(written.wait(60'000)) << window_.message().toStdString();
    EXPECT_FALSE(bytes(path(format.name)).isEmpty()) << format.name;
  }
  EXPECT_TRUE(bytes(path("chrome")).startsWith("{\"displayTimeUnit\""));
}

TEST_F(ReportExportTest, WhatGoesWrongIsShown) {
  QSignalSpy failed(&window_.reportExport(), &ReportExport::failed);
  window_.exportAs("dot", path("graph.dot"));
  ASSERT_TRUE(failed.wait(60'000));
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("has no graph of the model"));
  window_.reportExport().setProgram(path("nowhere"));
  window_.exportAs("chrome", path("trace.json"));
  ASSERT_TRUE(failed.count() == 2 || failed.wait(60'000));
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("cannot be started"));
  window_.reportExport().setProgram("/bin/sh", {"-c", "kill -SEGV $$", "sh"});
  window_.exportAs("chrome", path("trace.json"));
  ASSERT_TRUE(failed.wait(60'000));
  EXPECT_THAT(window_.message().toStdString(), HasSubstr("ended before"));
  EXPECT_TRUE(window_.isVisible());
}

TEST_F(ReportExportTest, CancelIsAKill) {
  QFile old(path("trace.json"));
  ASSERT_TRUE(old.open(QIODevice::WriteOnly));
  old.write("before");
  old.close();
  auto* cancel = window_.findChild<QAction*>("cancelExport");
  EXPECT_FALSE(cancel->isEnabled());
  window_.reportExport().setProgram("/bin/sh", {"-c", "echo half >\"$6.part\"; exec sleep 60", "sh"});
  window_.exportAs("chrome", path("trace.json"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(path("trace.json.part")); }, 10'000));
  EXPECT_TRUE(cancel->isEnabled());
  QSignalSpy failed(&window_.reportExport(), &ReportExport::failed);
  cancel->trigger();
  ASSERT_TRUE(failed.wait(10'000));
  EXPECT_EQ(bytes(path("trace.json")), "before");
  EXPECT_FALSE(QFile::exists(path("trace.json.part")));
  EXPECT_EQ(window_.message(), "");
  EXPECT_FALSE(cancel->isEnabled());
}

}  // namespace
}  // namespace superstep::gui
