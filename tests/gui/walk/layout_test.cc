// SPDX-License-Identifier: Apache-2.0
// Text is never cut and never meets other text, in the smallest window, at the scale of QT_SCALE_FACTOR.
#include <gmock/gmock.h>

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QDialog>
#include <QDir>
#include <QDockWidget>

#include "gui/base/theme.h"
#include "gui/main_window.h"
#include "gui/session/view.h"
#include "gui/widgets/waterfall_chart.h"
#include "tests/gui/walk/painted_text.h"
#include "tests/gui/walk/reports.h"

namespace superstep::gui {
namespace {

class Layout : public ::testing::TestWithParam<std::string> {};

TEST_P(Layout, NoTextIsCutOrMeetsAnother) {
  Session session;
  session.setReadsAside(1 << 20);
  MainWindow window(session);
  for (const QString& path : walk_reports(GetParam())) ASSERT_TRUE(session.open(path)) << path.toStdString();
  const QSize size(1280, 720);
  window.resize(size);
  window.setAttribute(Qt::WA_DontShowOnScreen);  // laid out, and painted only into our device
  window.show();
  for (const Units units : {Units::bytes, Units::kib}) {  // bytes have more digits
    session.setUnits(units);
    for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
      window.showView(view);
      if (auto* gaps = window.findChild<QCheckBox*>("includeGaps")) gaps->setChecked(units == Units::bytes);
      QCoreApplication::processEvents();
      ASSERT_EQ(window.size(), size) << "the window is larger than asked";
      const std::string id = all_views()[static_cast<std::size_t>(view)].id;
      for (const QString& fault : text_faults(window)) ADD_FAILURE() << id << ": " << fault.toStdString();
      const bool looked_at = GetParam() != "bert" && GetParam() != "resnet" && GetParam() != "infeasible";
      if (units == Units::kib && looked_at) keep_picture(window, QString::fromStdString(id + "-" + GetParam()));
    }
  }
}

// With as much selected as can be: the card at the left, and what the views say about it.
class LayoutSelected : public Layout {};

TEST_P(LayoutSelected, NoTextIsCutOrMeetsAnother) {
  Session session;
  MainWindow window(session);
  for (const QString& path : walk_reports(GetParam())) ASSERT_TRUE(session.open(path)) << path.toStdString();
  const auto& index = session.report()->index();
  Selection all;
  if (index.ipu_classes_size() > 0) all.ipu_class = 0;
  if (!session.heat()->phases.empty()) all = {.ipu_class = 0, .tile = 3, .phase = 0};
  if (index.waterfall_size() > 0) all.term = QString::fromStdString(index.waterfall(index.waterfall_size() - 1).name());
  all.category = "activations";
  if (session.steps()->name.size() > 0) all.op = QString::fromStdString(session.steps()->name[0]);
  if (session.timeline()->cycles > 0) all.time = session.timeline()->typical_time(), all.micro_batch = 0;
  session.select(all);
  window.resize(1280, 720);
  window.setAttribute(Qt::WA_DontShowOnScreen);  // laid out, and painted only into our device
  window.show();
  for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
    window.showView(view);
    QCoreApplication::processEvents();
    const std::string id = all_views()[static_cast<std::size_t>(view)].id;
    for (const QString& fault : text_faults(window)) ADD_FAILURE() << id << ": " << fault.toStdString();
  }
}

// What stands beside the views: explanation, commands, keys, marks; and the views in high contrast.
class LayoutTools : public Layout {};

TEST_P(LayoutTools, NoTextIsCutOrMeetsAnother) {
  Session session;
  MainWindow window(session);
  for (const QString& path : walk_reports(GetParam())) ASSERT_TRUE(session.open(path)) << path.toStdString();
  window.resize(1280, 720);
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.show();
  const auto look = [&](QWidget& at, const std::string& name) {
    QCoreApplication::processEvents();
    for (const QString& fault : text_faults(at)) ADD_FAILURE() << name << ": " << fault.toStdString();
    keep_picture(at, QString::fromStdString("tools-" + name + "-" + GetParam()));
  };
  auto* chart = window.findChild<WaterfallChart*>();
  auto* explanation = window.findChild<QDockWidget*>("explainDock");
  explanation->setAttribute(Qt::WA_DontShowOnScreen);
  for (const int row : {0, 1, 5}) {
    QWidget* view = chart->parentWidget();
    while (!qobject_cast<View*>(view)) view = view->parentWidget();
    window.explainAt(chart->mapTo(view, chart->layoutNow().row(row).center().toPoint()));
    look(*explanation, "explain" + std::to_string(row));
  }
  explanation->hide();
  for (const char* name : {"keys", "palette"}) {
    window.findChild<QAction*>(name)->trigger();
    auto* sheet =
        window.findChild<QDialog*>(QLatin1String(name) == QLatin1String("keys") ? "keySheet" : "commandPalette");
    EXPECT_LE(sheet->height(), 720) << name;
    EXPECT_LE(sheet->width(), 1280) << name;
    look(*sheet, name);
    sheet->close();
  }
  session.select({.ipu_class = 0, .tile = 3, .phase = 0});
  auto* marks = window.findChild<QDockWidget*>("marksDock");
  marks->setFloating(true);
  marks->setAttribute(Qt::WA_DontShowOnScreen);
  marks->resize(marks->widget()->sizeHint());
  marks->show();
  look(*marks, "marks");
  apply_theme(*qApp, contrast_theme());
  for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
    window.showView(view);
    look(window, std::string("contrast-") + all_views()[static_cast<std::size_t>(view)].id);
  }
  apply_theme(*qApp, light_theme());
}

// The names of views are never shortened, also not that of the one shown.
TEST(Names, OfViewsAreWhole) {
  Session session;
  MainWindow window(session);
  window.resize(1280, 720);
  window.setAttribute(Qt::WA_DontShowOnScreen);
  window.show();
  for (int view = 0; view < static_cast<int>(all_views().size()); ++view) {
    window.showView(view);
    QStringList painted;
    for (const PaintedText& t : painted_texts(window)) painted << t.text;
    for (const ViewDef& def : all_views()) EXPECT_TRUE(painted.contains(def.title)) << def.title;
  }
}

INSTANTIATE_TEST_SUITE_P(Reports, Layout, ::testing::ValuesIn(walk_names()),
                         [](const auto& each) { return each.param; });
INSTANTIATE_TEST_SUITE_P(Reports, LayoutTools, ::testing::Values("gpt3"), [](const auto& each) { return each.param; });
INSTANTIATE_TEST_SUITE_P(Reports, LayoutSelected, ::testing::Values("bert", "gpt3", "over"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace superstep::gui
