// SPDX-License-Identifier: Apache-2.0
#include "gui/theme.h"

#include <gtest/gtest.h>

#include "gui/paint/draw.h"

namespace superstep::gui {
namespace {

TEST(Theme, EveryIpuStandsOutFromThePanel) {
  for (const Theme* theme : {&light_theme(), &dark_theme()}) {
    for (int ipu = 0; ipu < 8; ++ipu) {
      const QColor color = ipu_color(*theme, ipu);
      EXPECT_GE(contrast(color, theme->panel), 3) << (theme->dark ? "dark, IPU " : "light, IPU ") << ipu;
      EXPECT_GE(contrast(color, theme->track), 2) << (theme->dark ? "dark, IPU " : "light, IPU ") << ipu;
      EXPECT_GE(contrast(ink_on(color), color), 4) << "text on IPU " << ipu;
    }
  }
}

TEST(Theme, IpusKeepTheirHueInTheOtherTheme) {
  for (int ipu = 0; ipu < 7; ++ipu) {  // the last is grey
    const int light = ipu_color(light_theme(), ipu).hsvHue(), dark = ipu_color(dark_theme(), ipu).hsvHue();
    EXPECT_LE(std::abs(light - dark), 10) << ipu;
  }
}

TEST(Theme, TextIsReadableOnEveryGround) {
  for (const Theme* t : {&light_theme(), &dark_theme()}) {
    for (const QColor& ground : {t->window, t->bars, t->panel, t->title_row, t->odd_row}) {
      EXPECT_GE(contrast(t->text, ground), 7);
      EXPECT_GE(contrast(t->secondary, ground), 4.5);
    }
    EXPECT_GE(contrast(t->fits, t->fits_fill), 4.5);
    EXPECT_GE(contrast(t->tight, t->tight_fill), 4.5);
    EXPECT_GE(contrast(t->over, t->over_fill), 4.5);
    EXPECT_GE(contrast(t->tip_text, t->tip_fill), 7);
    EXPECT_GE(contrast(t->tip_label, t->tip_fill), 4.5);
  }
}

TEST(Elided, NeverShowsHalfANumber) {
  const QFontMetricsF metrics(ui_font(12));
  const QString text = QString::fromUtf8("sums to 141\u202F027.7 ms");
  for (double width = 30; width < text_width(ui_font(12), text); width += 3) {
    const QString cut = elided(metrics, text, width);
    EXPECT_FALSE(cut.contains("1") && !cut.contains("027.7")) << cut.toStdString();
  }
  EXPECT_EQ(elided(metrics, text, 1000), text);
}

}  // namespace
}  // namespace superstep::gui
