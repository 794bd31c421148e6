// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <QCheckBox>
#include <QComboBox>
#include <QTest>

#include "gui/widgets/panel.h"
#include "tests/gui/memory_view.h"

namespace superstep::gui {
namespace {

class LivenessView : public MemoryViewTest {
 protected:
  void SetUp() override { show(write_program_example(folder_.path)); }
  const QAbstractItemModel& table() const { return *view_->tables()[2].model; }
};

TEST_F(LivenessView, ThePeakIsNamedWithWhatIsLeft) {
  const std::int64_t peak = session_.report()->index().ipu_classes(0).tile_peak_bytes();
  EXPECT_TRUE(chart_->peakText().startsWith("Peak " + tile_bytes_text(peak, Units::kib) + " at step "));
  EXPECT_TRUE(chart_->peakDetail().endsWith(tile_bytes(624 * 1024 - peak, Units::kib) + " spare"));
}

TEST_F(LivenessView, AClickMovesTheCursorAndSelectsThePhase) {
  const LivenessLayout layout = chart_->layoutNow();
  const int point = 30;
  QTest::mouseClick(chart_, Qt::LeftButton, {}, QPointF(layout.x(point + 0.5), layout.plot.center().y()).toPoint());
  EXPECT_EQ(chart_->cursor(), point);
  const auto& phase = session_.heat()->phases[static_cast<std::size_t>(session_.selection().phase)];
  EXPECT_EQ(table().index(point, 1).data().toString().toStdString(), phase.name);
  EXPECT_EQ(session_.selection().op, table().index(point, 2).data().toString());
  EXPECT_TRUE(chart_->tipText(point).contains(grouped(table().index(point, 6).data(kExactRole).toLongLong())));
  session_.goBack();
  EXPECT_EQ(chart_->cursor(), -1) << "no phase is selected";
}

TEST_F(LivenessView, KeysMoveTheCursor) {
  QTest::keyClick(chart_, Qt::Key_Home);
  EXPECT_EQ(chart_->cursor(), 0);
  QTest::keyClick(chart_, Qt::Key_Right);
  QTest::keyClick(chart_, Qt::Key_Period);
  EXPECT_EQ(chart_->cursor(), 2);
  QTest::keyClick(chart_, Qt::Key_Comma);
  EXPECT_EQ(chart_->cursor(), 1);
  QTest::keyClick(chart_, Qt::Key_End);
  EXPECT_EQ(chart_->cursor(), table().rowCount() - 1);
  QTest::keyClick(chart_, Qt::Key_Right);
  EXPECT_EQ(chart_->cursor(), table().rowCount() - 1);
}

TEST_F(LivenessView, WithoutTheAlwaysLiveTheAxisHasWhatIsLeft) {
  const double full = chart_->layoutNow().bytes.full;
  view_->findChild<QCheckBox*>("alwaysLive")->click();
  EXPECT_LT(chart_->layoutNow().bytes.full, full / 2);
  EXPECT_FALSE(view_->grab().isNull());
}

TEST_F(LivenessView, TheIpuIsTheSessions) {
  auto* ipus = view_->findChild<QComboBox*>("memoryIpu");
  EXPECT_EQ(ipus->currentIndex(), 0);
  ipus->setFocus();
  QTest::keyClick(ipus, Qt::Key_Down);
  EXPECT_EQ(session_.selection().ipu_class, 1);
  session_.select({.ipu_class = 3});
  EXPECT_EQ(ipus->currentIndex(), 3);
}

TEST_F(LivenessView, ThePictureHasTheHighestStepUnderThePixel) {
  const LivenessLayout layout = chart_->layoutNow();
  const QImage picture = chart_->grab().toImage();
  const auto pixels = layout.pixels();
  int checked = 0;
  for (std::size_t px = 20; px + 20 < pixels.size(); px += 37) {
    std::int64_t highest = 0;
    // The outline of a neighbour that is higher runs down beside this pixel.
    for (int p = pixels[px - 1].first; p < pixels[px + 1].end; ++p)
      highest = std::max<std::int64_t>(highest, table().index(p, 6).data(kExactRole).toLongLong());
    const double top = layout.bytes.at(static_cast<double>(highest));
    const int x = static_cast<int>(layout.plot.left()) + static_cast<int>(px);
    if (top < layout.plot.top() + 60) continue;  // under the marks
    const QColor above = picture.pixelColor(x, static_cast<int>(top) - 4);
    EXPECT_GT(above.lightness(), 200) << "nothing stands above " << px;
    ++checked;
  }
  EXPECT_GT(checked, 3);
}

}  // namespace
}  // namespace superstep::gui
