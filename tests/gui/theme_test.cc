// SPDX-License-Identifier: Apache-2.0
#include "gui/base/theme.h"

#include <gtest/gtest.h>

#include <QApplication>

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

TEST(Theme, HighContrastIsSevenToOneForTextAndThreeForGraphics) {
  const Theme& t = contrast_theme();
  for (const QColor& ground : {t.window, t.bars, t.panel, t.title_row, t.odd_row, t.accent_fill, text_ground(t)}) {
    for (const QColor& text : {t.text, t.secondary, t.faint, t.accent, t.fits, t.tight, t.over})
      EXPECT_GE(contrast(text, ground), 7) << text.name().toStdString() << " on " << ground.name().toStdString();
  }
  for (const auto& [text, ground] : {std::pair{t.fits, t.fits_fill},
                                     {t.tight, t.tight_fill},
                                     {t.over, t.over_fill},
                                     {t.tip_text, t.tip_fill},
                                     {t.tip_label, t.tip_fill}})
    EXPECT_GE(contrast(text, ground), 7) << text.name().toStdString() << " on " << ground.name().toStdString();
  for (const QColor& ground : {t.window, t.panel, t.odd_row, t.title_row}) {
    for (const QColor& drawn : {t.frame, t.grid, t.track, t.limit})
      EXPECT_GE(contrast(drawn, ground), 3) << drawn.name().toStdString() << " on " << ground.name().toStdString();
    for (int ipu = 0; ipu < 8; ++ipu) EXPECT_GE(contrast(ipu_color(t, ipu), ground), 3) << "IPU " << ipu;
    for (const int better : {-1, 0, 1}) {
      EXPECT_GE(contrast(difference_color(t, better), ground), 7);
      EXPECT_GE(contrast(difference_fill(t, better).color, ground), 3);
    }
  }
}

TEST(Theme, HighContrastEdgesAllData) {
  apply_theme(*qApp, contrast_theme());
  for (const char* kind :
       {"compute",   "forward",  "recompute", "exchange", "links",    "ddr",    "store", "sync", "waiting", "ramp-down",
        "imbalance", "DDR late", "no part",   "update",   "sequence", "repeat", "call",  "step", "fixed",   "unknown"})
    EXPECT_GE(contrast(fill_of_kind(kind).outline, contrast_theme().panel), 3) << kind;
  for (const char* category : {"weights", "gradients", "vertex code", "exchange code", "control code", "IO", "stash",
                               "optimizer state", "activations", "temporaries", "unknown"})
    EXPECT_GE(contrast(fill_of_memory(category).outline, contrast_theme().panel), 3) << category;
  EXPECT_EQ(name_of(theme_of(QApplication::palette())), "contrast");
  apply_theme(*qApp, light_theme());
  EXPECT_FALSE(fill_of_memory("weights").outline.isValid());
  EXPECT_EQ(fill_of_memory("code").color, fill_of_memory("vertex code").color);
}

TEST(Theme, KindsOfTermsAreDrawnByTheirTable) {
  for (const TermKindDef& kind : term_kinds()) {
    const Fill fill = fill_of_kind(std::string(kind.name));
    EXPECT_EQ(fill.color, QColor::fromRgb(kind.fill)) << kind.name;
    EXPECT_EQ(fill.hatch, kind.hatch) << kind.name;
    if (kind.hatch != Hatch::none) {
      EXPECT_EQ(fill.line, QColor::fromRgb(kind.line)) << kind.name;
    }
    if (kind.outline) {
      EXPECT_EQ(fill.outline, QColor::fromRgb(*kind.outline)) << kind.name;
    }
    EXPECT_EQ(fill_of(kind.id).color, fill.color);
  }
  EXPECT_EQ(fill_of_kind("copy").color, fill_of(TermKind::exchange).color);
  EXPECT_EQ(fill_of_kind("collective").color, fill_of(TermKind::links).color);
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

TEST(ElidedMiddle, KeepsWholeWordsOfBothEnds) {
  const QFontMetricsF metrics(ui_font(12));
  const QString text = "t=1 p=4 r=4 m=2 g=192, 4 phases, stash streaming";
  for (double width = 80; width < text_width(ui_font(12), text); width += 7) {
    const QString cut = elided_middle(metrics, text, width);
    EXPECT_LE(metrics.horizontalAdvance(cut), width + 0.5) << cut.toStdString();
    const QStringList ends = cut.split(QString(QChar(' ')) + QChar(0x2026) + ' ');
    if (ends.size() < 2) continue;  // there is room for a single word only
    EXPECT_TRUE(text.startsWith(ends[0] + ' ') && text.endsWith(' ' + ends[1])) << cut.toStdString();
  }
  EXPECT_EQ(elided_middle(metrics, text, 1000), text);
}

}  // namespace
}  // namespace superstep::gui
