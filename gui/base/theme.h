// SPDX-License-Identifier: Apache-2.0
// Colours by role, light and dark. The interface colours are also a QPalette; widgets find the theme
// of the palette they have (theme_of), so that a change of palette repaints everything right.
// Data colours mean the same in both themes and are never the only sign: hatches and words say it too.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>
#include <string>

#include "model/term_kind.h"
#include "traces/verdict.h"

class QApplication;
class QWidget;

namespace superstep::gui {

struct Theme {
  bool dark = false;
  QColor window, bars;  // behind panels; menu bar, view list, status bar
  QColor panel, title_row, odd_row;
  QColor frame, grid, track;  // track: the empty part of a bar
  QColor text, secondary, faint;
  QColor accent, accent_fill;  // interface state only, never data
  QColor fits, fits_fill, tight, tight_fill, over, over_fill;
  QColor limit;  // hardware limits, cells over them
  QColor tip_fill, tip_text, tip_label;
  bool high_contrast = false;  // 7 to 1 for all text, 3 to 1 for all that is drawn
};

// Of boxes that have text in them: the track, or what is dark enough for white text.
QColor text_ground(const Theme& theme);

const Theme& light_theme();
const Theme& dark_theme();
const Theme& contrast_theme();
const Theme& theme_named(const QString& name);  // "light", "dark", "contrast"; throws Error for another
QString name_of(const Theme& theme);
const Theme& theme_of(const QPalette& palette);
const Theme& theme_of(const QWidget* widget);
QPalette palette_of(const Theme& theme);
void apply_theme(QApplication& app, const Theme& theme);  // palette, style sheet, font

struct Fill {
  QColor color;
  Hatch hatch = Hatch::none;
  QColor line;     // of the hatch
  QColor outline;  // invalid: none
  Qt::PenStyle outline_style = Qt::SolidLine;
};

Fill fill_of(TermKind kind);
Fill fill_of_kind(const std::string& kind);           // a TermKind by name, a kind of step or of waiting; grey: unknown
Fill fill_of_memory(const std::string& category);     // unknown categories are grey
int memory_order(const std::string& category);        // place in a stack, from its base; unknown last
QColor ipu_color(const Theme& theme, int ipu_class);  // of one hue in each theme; repeats after eight
double contrast(const QColor& a, const QColor& b);    // of WCAG: 1 to 21
QColor ink_on(const QColor& fill);                    // for text: white or nearly black, whichever is read better

QColor fit_color(const Theme& theme, Fit fit);
QColor fit_fill(const Theme& theme, Fit fit);

// Of differences: `better` 1 for the better, -1 for the worse, 0 for neither. The first for text, the second for bars.
QColor difference_color(const Theme& theme, int better);
Fill difference_fill(const Theme& theme, int better);

// The interface font, Inter or DejaVu Sans, at a size in the scale of the first.
QFont ui_font(double pixels, QFont::Weight weight = QFont::Normal);

// One of our icons, in one colour.
QPixmap icon_pixmap(const QString& name, const QColor& color, int size, double device_pixel_ratio);

}  // namespace superstep::gui
