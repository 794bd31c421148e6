// SPDX-License-Identifier: Apache-2.0
// One file with a report, its marks, the view and the layouts.
#include "gui/session/share.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>

#include "gui/main_window.h"
#include "gui/session/view.h"
#include "model/error.h"
#include "tests/traces/example_report.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class Share : public ::testing::Test {
 protected:
  QString path(const char* name) const { return QString::fromStdString((folder_.path / name).string()); }
  static QByteArray bytes(const QString& file) {
    QFile in(file);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
  }
  static std::string refused(const QString& file) {
    try {
      read_share(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  void put(const char* name, const QByteArray& contents) const {
    QFile out(path(name));
    ASSERT_TRUE(out.open(QIODevice::WriteOnly));
    out.write(contents);
  }

  TemporaryFolder folder_;
};

TEST_F(Share, HasAllThatWasPutIn) {
  const Shared shared{"plan.ssr",          QByteArray("report\n\0bytes", 13), "[\"a mark\"]", "memory", "docks",
                      {{"wide é", "\x01"}}};
  write_share(path("a.superstep"), shared);
  const Shared read = read_share(path("a.superstep"));
  EXPECT_EQ(read.name, shared.name);
  EXPECT_EQ(read.report, shared.report);
  EXPECT_EQ(read.marks, shared.marks);
  EXPECT_EQ(read.view, shared.view);
  EXPECT_EQ(read.docks, shared.docks);
  EXPECT_EQ(read.layouts, shared.layouts);
}

TEST_F(Share, WhatIsNoneIsSaid) {
  put("text.superstep", "hello");
  EXPECT_THAT(refused(path("text.superstep")), HasSubstr("found no shared report"));
  put("newer.superstep", "superstep shared 9\n{}\n");
  EXPECT_THAT(refused(path("newer.superstep")), HasSubstr("newer version"));
  write_share(path("cut.superstep"), {"plan.ssr", "all of it", {}, {}, {}, {}});
  put("cut.superstep", bytes(path("cut.superstep")).chopped(3));
  EXPECT_THAT(refused(path("cut.superstep")), HasSubstr("damaged"));
  EXPECT_FALSE(refused(path("none.superstep")).empty());
}

TEST_F(Share, ANameCannotLeaveItsFolder) {
  write_share(path("a.superstep"), {"../../outside.ssr", "x", {}, {}, {}, {}});
  EXPECT_EQ(read_share(path("a.superstep")).name, "outside.ssr");
}

TEST_F(Share, OtherFilesOfTheNameStay) {
  put("plan.ssr", "mine");
  const Shared shared{"plan.ssr", "theirs", "marks", {}, {}, {}};
  const QString first = unpack_share(shared, QString::fromStdString(folder_.path.string()));
  EXPECT_EQ(first, path("plan-2.ssr"));
  EXPECT_EQ(bytes(path("plan.ssr")), "mine");
  EXPECT_EQ(bytes(first), "theirs");
  EXPECT_EQ(unpack_share(shared, QString::fromStdString(folder_.path.string())), first) << "it is there already";
}

TEST_F(Share, AnotherWindowShowsWhatThisOneDid) {
  const QString report = QString::fromStdString(write_example(Example::tight, folder_.path).string());
  const QString there = path("there");
  ASSERT_TRUE(QDir().mkpath(there));
  {
    Session session;
    Preferences preferences(path("one.ini"));
    preferences.setLayout("wide", "state");
    MainWindow window(session, preferences);
    window.openFiles({report});
    save_marks(report, {{.term = "recompute", .view = "summary", .note = "too much"}});
    window.showView(static_cast<int>(find_view("memory") - all_views().data()));
    ASSERT_TRUE(window.shareTo(there + "/a.superstep")) << window.message().toStdString();
  }
  Session session;
  MainWindow window(session, Preferences(path("two.ini")));
  window.openFiles({there + "/a.superstep"});
  ASSERT_EQ(window.message(), "");
  ASSERT_EQ(session.paths().size(), 1);
  EXPECT_STREQ(all_views()[static_cast<std::size_t>(window.currentView())].id, "memory");
  const auto marks = load_marks(session.paths()[0]);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].note, "too much");
  EXPECT_EQ(Preferences(path("two.ini")).layout("wide"), "state");
  window.openFiles({path("none.superstep")});
  EXPECT_THAT(window.message().toStdString(), HasSubstr("none.superstep"));
}

}  // namespace
}  // namespace superstep::gui
