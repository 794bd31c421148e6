// SPDX-License-Identifier: Apache-2.0
#include "gui/base/theme.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QPainter>
#include <QPixmap>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <QWidget>
#include <algorithm>
#include <array>
#include <cmath>

#include "model/error.h"

// The icons are in a static library, whose resources are there only when asked for; not in a namespace.
static void register_icons() { Q_INIT_RESOURCE(icons); }

namespace superstep::gui {
namespace {

QColor rgb(unsigned value) { return QColor::fromRgb(value); }

Theme make_light() {
  return {false,         rgb(0xF1F3F5), rgb(0xE9ECEF), rgb(0xFFFFFF), rgb(0xF7F8F9), rgb(0xF8F9FA),
          rgb(0xD3D8DD), rgb(0xE7EAED), rgb(0xE3E7EA), rgb(0x1B2127), rgb(0x55606B), rgb(0x69737D),
          rgb(0x0A6C74), rgb(0xDDEFF0), rgb(0x1B66A6), rgb(0xDFECF8), rgb(0x9A5B00), rgb(0xFCEFD6),
          rgb(0xB0005E), rgb(0xFBE0EE), rgb(0xD4007F), rgb(0x1F262D), rgb(0xF4F6F8), rgb(0xAEB8C2)};
}

Theme make_dark() {
  return {true,          rgb(0x1B1F24), rgb(0x15181C), rgb(0x23282E), rgb(0x2A3037), rgb(0x272D33),
          rgb(0x3A424B), rgb(0x30373F), rgb(0x39414A), rgb(0xE6EAEE), rgb(0xA5AFB9), rgb(0x8E99A4),
          rgb(0x4FC3CC), rgb(0x1F4347), rgb(0x7FB8F0), rgb(0x1D3650), rgb(0xF0B354), rgb(0x43351C),
          rgb(0xFF77B8), rgb(0x4A1F36), rgb(0xFF4FA8), rgb(0xF2F4F6), rgb(0x1B2127), rgb(0x55606B)};
}

Theme make_contrast() {
  return {true,          rgb(0x000000), rgb(0x000000), rgb(0x0A0A0A), rgb(0x1C1C1C), rgb(0x141414), rgb(0x9A9A9A),
          rgb(0x767676), rgb(0x6E6E6E), rgb(0xFFFFFF), rgb(0xE4E4E4), rgb(0xCCCCCC), rgb(0x5CE1FF), rgb(0x00323B),
          rgb(0x9CD4FF), rgb(0x00243F), rgb(0xFFC857), rgb(0x332200), rgb(0xFFA6D1), rgb(0x3F001E), rgb(0xFF5CB0),
          rgb(0xFFFFFF), rgb(0x000000), rgb(0x333333), true};
}

// Flat controls. %1 text, %2 secondary, %3 panel, %4 frame, %5 bars, %6 title row, %7 accent,
// %8 accent fill, %9 tool tip fill, %10 tool tip text, %11 window.
constexpr const char* kStyleSheet = R"(
QMainWindow, QDialog { background: %11; }
QMenuBar { background: %5; color: %1; border: none; padding: 0 6px; }
QMenuBar::item { padding: 5px 9px; background: transparent; }
QMenuBar::item:selected { background: %8; }
QMenu { background: %3; color: %1; border: 1px solid %4; padding: 4px 0; }
QMenu::item { padding: 4px 28px 4px 22px; }
QMenu::item:selected { background: %8; color: %1; }
QMenu::item:disabled { color: %2; }
QMenu::separator { height: 1px; background: %4; margin: 4px 0; }
QToolBar { background: %3; border: none; border-bottom: 1px solid %4; spacing: 8px; padding: 0; }
QStatusBar { background: %5; color: %2; border-top: 1px solid %4; }
QStatusBar::item { border: none; }
QPushButton, QToolButton { background: %3; color: %1; border: 1px solid %4; border-radius: 3px; padding: 0 10px;
  min-height: 22px; }
QPushButton:hover, QToolButton:hover { border-color: %7; }
QPushButton:checked, QToolButton:checked { background: %8; border-color: %7; color: %7; }
QPushButton:disabled, QToolButton:disabled { color: %4; }
QPushButton:focus, QToolButton:focus, QComboBox:focus, QLineEdit:focus { border-color: %7; }
QComboBox, QLineEdit { background: %3; color: %1; border: 1px solid %4; border-radius: 3px; padding: 0 8px;
  min-height: 22px; selection-background-color: %8; selection-color: %1; }
QComboBox::drop-down { border: none; width: 20px; }
QComboBox::down-arrow { image: url(:/icons/down.svg); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: %3; color: %1; border: 1px solid %4; selection-background-color: %8;
  selection-color: %1; outline: none; }
QTableView, QTreeView { background: %3; color: %1; border: none; outline: none; selection-background-color: %8;
  selection-color: %1; }
QStatusBar QLabel { color: %2; }
QListWidget { border: none; outline: none; }
QHeaderView::up-arrow, QHeaderView::down-arrow { subcontrol-position: top center; width: 8px; height: 6px; }
QHeaderView::up-arrow { image: url(:/icons/up.svg); }
QHeaderView::down-arrow { image: url(:/icons/down.svg); }
QHeaderView { background: %6; border: none; }
QHeaderView::section { background: %6; color: %2; border: none; border-bottom: 1px solid %4; padding: 0 0 0 8px; }
QTableCornerButton::section { background: %6; border: none; }
QScrollArea { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: %4; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QToolTip { background: %9; color: %10; border: none; padding: 5px 7px; }
)";

QString style_sheet(const Theme& t) {
  QString sheet = QString::fromLatin1(kStyleSheet);
  const std::array<QColor, 11> colors{t.text,   t.secondary,   t.panel,    t.frame,    t.bars,  t.title_row,
                                      t.accent, t.accent_fill, t.tip_fill, t.tip_text, t.window};
  for (std::size_t i = colors.size(); i > 0; --i) {  // %11 before %1
    sheet.replace('%' + QString::number(i), colors[i - 1].name());
  }
  return sheet;
}

bool has_inter() {
  static const bool found = QFontDatabase::families().contains(QStringLiteral("Inter"));
  return found;
}

struct MemoryColor {
  const char* category;
  unsigned color;
};

// In stack order from the base; always-live first.
constexpr std::array<MemoryColor, 10> kMemory{{{"weights", 0x2F5D8C},
                                               {"gradients", 0x6C9AC3},
                                               {"vertex code", 0x53585E},
                                               {"exchange code", 0x888E95},
                                               {"control code", 0xBFC3C8},
                                               {"IO", 0xF6F4EA},
                                               {"stash", 0xA8501A},
                                               {"optimizer state", 0xA5DDF2},
                                               {"activations", 0xE58A3C},
                                               {"temporaries", 0xF8CFA0}}};

}  // namespace

QColor text_ground(const Theme& theme) { return theme.high_contrast ? theme.title_row : theme.track; }

const Theme& light_theme() {
  static const Theme theme = make_light();
  return theme;
}

const Theme& dark_theme() {
  static const Theme theme = make_dark();
  return theme;
}

const Theme& contrast_theme() {
  static const Theme theme = make_contrast();
  return theme;
}

const Theme& theme_named(const QString& name) {
  if (name == "light") return light_theme();
  if (name == "dark") return dark_theme();
  if (name == "contrast") return contrast_theme();
  throw Error("--theme", "found \"" + name.toStdString() + "\", expected one of: light, dark, contrast");
}

QString name_of(const Theme& theme) {
  return theme.high_contrast ? QStringLiteral("contrast")
         : theme.dark        ? QStringLiteral("dark")
                             : QStringLiteral("light");
}

const Theme& theme_of(const QPalette& palette) {
  // Its grounds are neutral, which style sheets may put into a widget's palette; those of the dark theme are bluish.
  const QColor window = palette.color(QPalette::Window);
  if (window.saturation() == 0 && window.lightness() < 64) return contrast_theme();
  return palette.color(QPalette::Window).lightness() < 128 ? dark_theme() : light_theme();
}

const Theme& theme_of(const QWidget* widget) { return theme_of(widget->palette()); }

QPalette palette_of(const Theme& t) {
  QPalette p(t.window);
  p.setColor(QPalette::Window, t.window);
  p.setColor(QPalette::WindowText, t.text);
  p.setColor(QPalette::Base, t.panel);
  p.setColor(QPalette::AlternateBase, t.odd_row);
  p.setColor(QPalette::Text, t.text);
  p.setColor(QPalette::Button, t.panel);
  p.setColor(QPalette::ButtonText, t.text);
  p.setColor(QPalette::Highlight, t.accent_fill);
  p.setColor(QPalette::HighlightedText, t.text);
  p.setColor(QPalette::PlaceholderText, t.faint);
  p.setColor(QPalette::ToolTipBase, t.tip_fill);
  p.setColor(QPalette::ToolTipText, t.tip_text);
  p.setColor(QPalette::Link, t.accent);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    p.setColor(QPalette::Disabled, role, t.faint);
  }
  return p;
}

void apply_theme(QApplication& app, const Theme& theme) {
  register_icons();
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setFont(ui_font(12));
  QApplication::setPalette(palette_of(theme));
  app.setStyleSheet(style_sheet(theme));
}

namespace {

// Data colours are the same in all themes; where some of them are close to the ground, all have a bright edge.
Fill edged(Fill fill) {
  if (theme_of(QApplication::palette()).high_contrast) fill.outline = contrast_theme().secondary;
  return fill;
}

Fill term_fill(TermKind kind) {
  const TermKindDef& def = def_of(kind);
  return {rgb(def.fill), def.hatch, def.hatch == Hatch::none ? QColor() : rgb(def.line),
          def.outline ? rgb(*def.outline) : QColor(0, 0, 0, 110)};
}

// Steps and lanes that are drawn as a kind of terms.
constexpr std::array<std::pair<const char*, TermKind>, 5> kDrawnAs{{{"copy", TermKind::exchange},
                                                                    {"collective", TermKind::links},
                                                                    {"load", TermKind::ddr},
                                                                    {"store", TermKind::host},
                                                                    {"ramp-up", TermKind::waiting}}};

Fill kind_fill(const std::string& kind) {
  if (const TermKindDef* def = find_term_kind(kind)) return term_fill(def->id);
  for (const auto& [name, as] : kDrawnAs) {
    if (kind == name) return term_fill(as);
  }
  const Fill waiting = term_fill(TermKind::waiting);
  const QColor late = term_fill(TermKind::host).color, edge = term_fill(TermKind::compute).outline;
  if (kind == "ramp-down") return {waiting.color, Hatch::falling, waiting.line, waiting.outline};
  if (kind == "imbalance") return {waiting.color, Hatch::level, waiting.line, waiting.outline};
  if (kind == "DDR late") return {waiting.color, Hatch::rising, late, late};
  if (kind == "no part") return {waiting.color, Hatch::upright, waiting.outline, waiting.outline};
  if (kind == "forward") return {rgb(0xF4B8C0), Hatch::none, {}, edge};
  // Of the program: what holds others, and what runs a function.
  if (kind == "sequence") return {rgb(0xC9CED3), Hatch::none, {}, edge};
  if (kind == "repeat") return {rgb(0x5F8F6B), Hatch::none, {}, edge};
  if (kind == "parallel") return {rgb(0xC2B04E), Hatch::none, {}, edge};
  if (kind == "call") return {rgb(0x7A6A8F), Hatch::none, {}, edge};
  if (kind == "step") return {rgb(0x8A9299), Hatch::level, rgb(0xE7EAED), edge};
  return {rgb(0xB4BBC2), Hatch::none, {}, edge};
}

}  // namespace

Fill fill_of(TermKind kind) { return edged(term_fill(kind)); }
Fill fill_of_kind(const std::string& kind) { return edged(kind_fill(kind)); }

int memory_order(const std::string& category) {
  if (category == "code") return memory_order("vertex code");  // of all kinds, in Streaming Memory
  const auto* at = std::find_if(kMemory.begin(), kMemory.end(), [&](const auto& m) { return m.category == category; });
  return static_cast<int>(at - kMemory.begin());
}

Fill fill_of_memory(const std::string& category) {
  const auto at = static_cast<std::size_t>(memory_order(category));
  if (at == kMemory.size()) return edged({rgb(0xD9D3E3), Hatch::level, rgb(0x8E86A0), rgb(0x8E86A0)});
  const QColor color = rgb(kMemory[at].color);
  return edged({color, Hatch::none, {}, category == "IO" ? rgb(0xA9A48E) : QColor()});
}

// Okabe and Ito's hues, as light or as dark as the panel needs: 3 to 1 from it, and as far apart for colour-blind
// readers (dE 18) as the originals.
QColor ipu_color(const Theme& theme, int ipu_class) {
  constexpr std::array<unsigned, 8> kLight{0x1F5C9D, 0xC58700, 0x009E73, 0xCA78A5,
                                           0x259CD3, 0xB84800, 0x999647, 0x3A3F45};
  constexpr std::array<unsigned, 8> kDark{0x0F78BB, 0xE69F00, 0x009E73, 0xCC79A7,
                                          0x58BCF0, 0xD55E00, 0xF3E644, 0xD9DEE3};
  return rgb((theme.dark ? kDark : kLight)[static_cast<std::size_t>(std::max(0, ipu_class)) % kLight.size()]);
}

double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& c) {
    const auto linear = [](double x) { return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
  };
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

QColor ink_on(const QColor& fill) {
  const QColor dark = rgb(0x1B2127), white(Qt::white);
  return contrast(fill, dark) >= contrast(fill, white) ? dark : white;
}

QColor fit_color(const Theme& theme, Fit fit) {
  if (fit == Fit::fits) return theme.fits;
  if (fit == Fit::tight) return theme.tight;
  return fit == Fit::unknown ? theme.secondary : theme.over;
}

QColor fit_fill(const Theme& theme, Fit fit) {
  if (fit == Fit::fits) return theme.fits_fill;
  if (fit == Fit::tight) return theme.tight_fill;
  return fit == Fit::unknown ? theme.track : theme.over_fill;
}

QColor difference_color(const Theme& theme, int better) {
  return better > 0 ? theme.fits : better < 0 ? theme.tight : theme.text;
}

Fill difference_fill(const Theme& theme, int better) {
  if (better == 0) return {theme.faint, Hatch::none, {}, {}};
  const QColor color = better > 0 ? rgb(theme.dark ? 0x4E8FD0 : 0x2F6DB0) : rgb(theme.dark ? 0xE08A3C : 0xD9822B);
  return {color, Hatch::none, {}, {}};
}

QFont ui_font(double pixels, QFont::Weight weight) {
  QFont font(has_inter() ? QStringLiteral("Inter") : QStringLiteral("DejaVu Sans"));
  font.setPixelSize(std::max(9, static_cast<int>(std::lround(has_inter() ? pixels : pixels * 0.91))));
  // DejaVu Sans has no weights between regular and bold.
  font.setWeight(has_inter() || weight == QFont::Normal ? weight : weight >= QFont::Medium ? QFont::Bold : weight);
  return font;
}

QPixmap icon_pixmap(const QString& name, const QColor& color, int size, double ratio) {
  QFile file(":/icons/" + name + ".svg");
  if (!file.open(QIODevice::ReadOnly)) return {};
  QSvgRenderer renderer(file.readAll().replace("#69737D", color.name().toLatin1()));
  QPixmap pixmap(QSize(size, size) * ratio);
  pixmap.setDevicePixelRatio(ratio);
  pixmap.fill(Qt::transparent);
  QPainter painter(&pixmap);
  renderer.render(&painter, QRectF(0, 0, size, size));
  return pixmap;
}

}  // namespace superstep::gui
