// SPDX-License-Identifier: Apache-2.0
#include "gui/session/export.h"

#include <gmock/gmock.h>

#include <QFile>
#include <QImage>
#include <QProcess>
#include <QSvgRenderer>
#include <set>

#include "gui/main_window.h"
#include "model/error.h"
#include "tests/traces/example_report.h"
#include "traces/verdict.h"

namespace superstep::gui {
namespace {

using ::testing::HasSubstr;

class Export : public ::testing::Test {
 protected:
  void SetUp() override {
    report_ = QString::fromStdString(write_example(Example::tight, folder_.path).string());
    ASSERT_TRUE(session_.open(report_));
  }
  QString file(const QString& name) { return QString::fromStdString(folder_.path.string()) + '/' + name; }
  static QByteArray bytes(const QString& path) {
    QFile in(path);
    return in.open(QIODevice::ReadOnly) ? in.readAll() : QByteArray();
  }
  // Runs the viewer without a display; what it writes to standard error.
  QString view(const QStringList& arguments, int expected_code) {
    QProcess process;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    for (const char* name : {"DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"}) environment.remove(name);
    environment.insert("XDG_RUNTIME_DIR", QString::fromStdString(folder_.path.string()));
    process.setProcessEnvironment(environment);
    process.start(SUPERSTEP_VIEW, arguments);
    EXPECT_TRUE(process.waitForFinished(60000));
    EXPECT_EQ(process.exitCode(), expected_code) << process.readAllStandardOutput().toStdString();
    return process.readAllStandardError();
  }

  TemporaryFolder folder_;
  QString report_;
  Session session_;
};

TEST_F(Export, PicturesHaveTheSizeAsked) {
  for (const ViewDef& def : all_views()) {
    export_view(session_, def, file("a.png"), {1000, 700});
    const QImage image(file("a.png"));
    EXPECT_EQ(image.size(), QSize(1000, 700));
    EXPECT_GT(image.convertToFormat(QImage::Format_Indexed8).colorCount(), 20) << def.id;
    export_view(session_, def, file("a.svg"));
    QSvgRenderer svg(file("a.svg"));
    EXPECT_TRUE(svg.isValid()) << def.id;
    EXPECT_EQ(svg.viewBox().size(), kExportSize);
  }
}

// The bars of the waterfall, in vectors and in pixels.
TEST_F(Export, TermsHaveTheColoursOfTheirKinds) {
  export_view(session_, *find_view("summary"), file("a.svg"));
  export_view(session_, *find_view("summary"), file("a.png"));
  const QString svg = bytes(file("a.svg"));
  const QImage image(file("a.png"));
  std::set<QRgb> pixels;
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) pixels.insert(image.pixel(x, y));
  }
  const auto& terms = session_.report()->index().waterfall();
  for (int i = 0; i < terms.size(); ++i) {
    const TermKindDef* kind = find_term_kind(kind_of_bar(i, terms[i].kind()));
    ASSERT_NE(kind, nullptr);
    const QColor color = QColor::fromRgb(kind->fill);
    EXPECT_TRUE(svg.contains(color.name(), Qt::CaseInsensitive)) << kind->name;
    EXPECT_TRUE(pixels.contains(color.rgb())) << kind->name;
  }
}

TEST_F(Export, CsvHasTheExactNumbers) {
  export_view(session_, *find_view("memory"), file("a.csv"));
  const QString csv = bytes(file("a.csv"));
  EXPECT_TRUE(csv.startsWith("# Memory\nIPU,Category,% of limit,Bytes\n"));
  EXPECT_TRUE(csv.contains("\nIPU 3,Fullest tile at its peak,") && csv.contains(",622740\n"));
  EXPECT_FALSE(csv.contains("KiB")) << "exact sizes are bytes, and headed so";
  export_view(session_, *find_view("summary"), file("b.csv"));
  EXPECT_TRUE(QString(bytes(file("b.csv"))).contains("operand exchange,exchange,211.5,"));
}

TEST_F(Export, TheCommandLineWritesWhatTheMenuWrites) {
  MainWindow window(session_);
  for (const char* ending : {"png", "svg", "csv"}) {
    const QString by_menu = file(QString("menu.") + ending);
    const QString by_command = file(QString("command.") + ending);
    window.showView(0);
    ASSERT_TRUE(window.exportTo(by_menu));
    EXPECT_EQ(view({report_, "--export", "summary", "-o", by_command}, 0).toStdString(), "");
    EXPECT_FALSE(bytes(by_menu).isEmpty());
    EXPECT_EQ(bytes(by_menu), bytes(by_command)) << ending;
  }
}

TEST_F(Export, APageIsTheSameByMenuAndByCommand) {
  MainWindow window(session_);
  window.showView(3);
  View* memory = nullptr;
  for (View* each : window.findChildren<View*>()) memory = each->pages().size() == 3 ? each : memory;
  ASSERT_TRUE(memory);
  ASSERT_EQ(memory->pages().size(), 3);
  QByteArray last;
  for (int page = 0; page < memory->pages().size(); ++page) {
    memory->showPage(page);
    ASSERT_EQ(memory->page(), page);
    ASSERT_TRUE(window.exportTo(file("menu.png")));
    EXPECT_EQ(view({report_, "--export", "memory", "--page", memory->pages()[page], "-o", file("command.png")}, 0)
                  .toStdString(),
              "");
    EXPECT_EQ(bytes(file("menu.png")), bytes(file("command.png"))) << page;
    EXPECT_NE(bytes(file("menu.png")), last) << page;
    last = bytes(file("menu.png"));
  }
  EXPECT_THAT(view({report_, "--export", "memory", "--page", "tiles", "-o", file("x.png")}, 2).toStdString(),
              HasSubstr("expected one of: liveness, totals, streaming"));
  EXPECT_THAT(view({report_, "--export", "program", "--page", "tiles", "-o", file("x.png")}, 2).toStdString(),
              HasSubstr("has one page only"));
}

TEST_F(Export, BadRequestsAreOneMessage) {
  const QString out = file("x.png");
  EXPECT_THAT(view({report_, "--export", "heatmpa", "-o", out}, 2).toStdString(),
              HasSubstr("did you mean \"heatmap\"?"));
  EXPECT_THAT(view({report_, "--export", "summary", "-o", file("x.gif")}, 2).toStdString(), HasSubstr("png, svg, csv"));
  EXPECT_THAT(view({report_, "--export", "summary"}, 2).toStdString(), HasSubstr("needs -o FILE"));
  EXPECT_THAT(view({report_, "--export", "summary", "-o", file("no/x.png")}, 2).toStdString(),
              HasSubstr("cannot be written"));
  EXPECT_THAT(view({file("none.ssr"), "--export", "summary", "-o", out}, 2).toStdString(),
              HasSubstr("cannot be opened"));
  EXPECT_THAT(view({"--export", "summary", "-o", out}, 2).toStdString(), HasSubstr("needs a report"));
  EXPECT_THAT(view({report_, "--export", "summary", "-o", out, "--size", "3x"}, 2).toStdString(),
              HasSubstr("WIDTHxHEIGHT"));
  EXPECT_THAT(view({report_}, 2).toStdString(), HasSubstr("there is no display"));
  EXPECT_FALSE(QFile::exists(out));
}

TEST_F(Export, TheViewsSelectionIsInThePicture) {
  export_view(session_, *find_view("summary"), file("a.png"));
  session_.select({.term = "operand exchange"});
  export_view(session_, *find_view("summary"), file("b.png"));
  EXPECT_NE(bytes(file("a.png")), bytes(file("b.png")));
}

}  // namespace
}  // namespace superstep::gui
