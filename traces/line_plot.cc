// SPDX-License-Identifier: Apache-2.0
#include "traces/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "model/quantity_text.h"
#include "traces/markup.h"

namespace superstep {
namespace {

// Colours that differ in hue and lightness, for solid lines in order. Dashed ones are dark and thin, to be seen on
// them.
constexpr std::array<const char*, 4> kColours = {"#1f5fa8", "#c2571a", "#2e7d32", "#6a3d9a"};
constexpr const char* kDashedColour = "#222222";
constexpr std::array<const char*, 2> kDashes = {"7 5", "2 4"};
constexpr std::array<char, 4> kMarks = {'o', 'x', '+', '*'};

struct Span {
  double low = 0, high = 0;
  // 0 at low, 1 at high, evenly by factors.
  double share(double value) const { return high > low ? std::log(value / low) / std::log(high / low) : 0.5; }
};

struct Axes {
  Span x, y;
  std::vector<double> y_ticks;
  bool empty() const { return y_ticks.empty(); }
};

Axes axes_of(const LinePlot& plot) {
  Axes a;
  a.x = {plot.x_ticks.front(), plot.x_ticks.back()};
  double low = INFINITY, high = 0;
  for (const PlotSeries& s : plot.series) {
    for (const PlotPoint& p : s.points) low = std::min(low, p.y), high = std::max(high, p.y);
  }
  if (high <= 0) return a;
  a.y_ticks = log_ticks(low, high);
  a.y = {a.y_ticks.front(), a.y_ticks.back()};
  return a;
}

// Among the solid series, or among the dashed ones.
std::size_t place_of(const LinePlot& plot, std::size_t series) {
  return static_cast<std::size_t>(
      std::count_if(plot.series.begin(), plot.series.begin() + static_cast<std::ptrdiff_t>(series),
                    [&](const PlotSeries& s) { return s.dashed == plot.series[series].dashed; }));
}

// IPUs are whole numbers, "4" and not "4.00".
std::string tick_text(double value) {
  return value >= 1 && value == std::floor(value) && value < 1e15 ? with_thousands(static_cast<std::int64_t>(value))
                                                                  : figure(value);
}

// To a tenth of a pixel.
std::string px(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

// The frame of the drawing, in pixels.
constexpr double kHeight = 460;
constexpr double kLeft = 90, kRight = 690, kTop = 50, kBottom = 390;

class Svg {
 public:
  Svg(const LinePlot& plot, const Axes& axes) : plot_(plot), axes_(axes) {}

  std::string draw() {
    out_ =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"460\" viewBox=\"0 0 720 460\" "
        "font-family=\"sans-serif\" font-size=\"13\" fill=\"#222222\">\n"
        "<rect width=\"720\" height=\"460\" fill=\"#ffffff\"/>\n";
    text(kLeft, 28, plot_.title, "start", " font-size=\"15\" font-weight=\"bold\"");
    if (axes_.empty()) {
      text((kLeft + kRight) / 2, (kTop + kBottom) / 2, "nothing to show", "middle");
    } else {
      grid();
      for (std::size_t i = 0; i < plot_.series.size(); ++i) line(i);
      legend();
    }
    return out_ + "</svg>\n";
  }

 private:
  double x(double value) const { return kLeft + 25 + (kRight - kLeft - 50) * axes_.x.share(value); }
  double y(double value) const { return kBottom - (kBottom - kTop) * axes_.y.share(value); }

  void text(double at_x, double at_y, const std::string& what, const char* anchor, const std::string& more = "") {
    out_ += "<text x=\"" + px(at_x) + "\" y=\"" + px(at_y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
            in_markup(what) + "</text>\n";
  }
  void segment(double x1, double y1, double x2, double y2, const std::string& stroke) {
    out_ += "<line x1=\"" + px(x1) + "\" y1=\"" + px(y1) + "\" x2=\"" + px(x2) + "\" y2=\"" + px(y2) + "\" stroke=\"" +
            stroke + "\"/>\n";
  }

  void grid() {
    for (double tick : axes_.y_ticks) {
      segment(kLeft, y(tick), kRight, y(tick), "#dddddd");
      text(kLeft - 8, y(tick) + 4.5, tick_text(tick), "end");
    }
    for (double tick : plot_.x_ticks) {
      segment(x(tick), kTop, x(tick), kBottom, "#dddddd");
      text(x(tick), kBottom + 20, tick_text(tick), "middle");
    }
    segment(kLeft, kBottom, kRight, kBottom, "#222222");
    segment(kLeft, kTop, kLeft, kBottom, "#222222");
    text((kLeft + kRight) / 2, kHeight - 22, plot_.x_label, "middle");
    const double middle = (kTop + kBottom) / 2;
    text(22, middle, plot_.y_label, "middle", " transform=\"rotate(-90 22 " + px(middle) + ")\"");
  }

  std::string colour(std::size_t series) const {
    return plot_.series[series].dashed ? kDashedColour : kColours[place_of(plot_, series) % kColours.size()];
  }
  // Colour, width and dashes of a line.
  std::string stroke(std::size_t series) const {
    const std::string colour_part = " stroke=\"" + colour(series) + "\" stroke-width=";
    if (!plot_.series[series].dashed) return colour_part + "\"2.2\"";
    return colour_part + "\"1.2\" stroke-dasharray=\"" + kDashes[place_of(plot_, series) % kDashes.size()] + "\"";
  }

  void mark(double at_x, double at_y, std::size_t series) {
    const std::string fill = "\" fill=\"" + colour(series) + "\"/>\n";
    if (place_of(plot_, series) % 2 == 0)
      out_ += "<circle cx=\"" + px(at_x) + "\" cy=\"" + px(at_y) + "\" r=\"4.5" + fill;
    else
      out_ += "<rect x=\"" + px(at_x - 4) + "\" y=\"" + px(at_y - 4) + "\" width=\"8\" height=\"8" + fill;
  }

  void line(std::size_t series) {
    const PlotSeries& s = plot_.series[series];
    if (s.points.empty()) return;
    out_ += "<polyline fill=\"none\"" + stroke(series) + " points=\"";
    for (const PlotPoint& p : s.points) out_ += px(x(p.x)) + "," + px(y(p.y)) + (&p == &s.points.back() ? "" : " ");
    out_ += "\"/>\n";
    if (s.dashed) return;
    for (const PlotPoint& p : s.points) mark(x(p.x), y(p.y), series);
  }

  // At the upper left, on white: what grows with the machine leaves that corner free.
  void legend() {
    const double height = 20.0 * static_cast<double>(plot_.series.size()) + 8;
    std::size_t longest = 0;
    for (const PlotSeries& s : plot_.series) longest = std::max(longest, s.name.size());
    out_ += "<rect x=\"" + px(kLeft + 8) + "\" y=\"" + px(kTop + 6) + "\" width=\"" +
            px(60 + 7.4 * static_cast<double>(longest)) + "\" height=\"" + px(height) +
            "\" fill=\"#ffffff\" stroke=\"#dddddd\"/>\n";
    double at = kTop + 20;
    for (std::size_t i = 0; i < plot_.series.size(); ++i, at += 20) {
      const PlotSeries& s = plot_.series[i];
      out_ += "<line x1=\"" + px(kLeft + 16) + "\" y1=\"" + px(at) + "\" x2=\"" + px(kLeft + 48) + "\" y2=\"" + px(at) +
              "\"" + stroke(i) + "/>\n";
      if (!s.dashed) mark(kLeft + 32, at, i);
      text(kLeft + 56, at + 4.5, s.name, "start");
    }
  }

  const LinePlot& plot_;
  const Axes& axes_;
  std::string out_;
};

constexpr int kRows = 15;

// The character grid of the terminal's plot: row 0 on top.
class Canvas {
 public:
  Canvas(const Axes& axes, int columns)
      : axes_(axes), columns_(columns), rows_(kRows, std::string(static_cast<std::size_t>(columns), ' ')) {}

  int column(double x) const { return static_cast<int>(std::lround(axes_.x.share(x) * (columns_ - 1))); }
  int row(double y) const { return static_cast<int>(std::lround((1 - axes_.y.share(y)) * (kRows - 1))); }
  void put(int row, int column, char c) { rows_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = c; }
  // Points between two ends, each second column; straight, as both axes are logarithmic.
  void dots(const PlotPoint& from, const PlotPoint& to) {
    for (int c = column(from.x); c <= column(to.x); c += 2) {
      const double share =
          to.x > from.x ? static_cast<double>(c - column(from.x)) / std::max(1, column(to.x) - column(from.x)) : 0;
      put(row(from.y * std::pow(to.y / from.y, share)), c, '.');
    }
  }
  const std::string& line(int row) const { return rows_[static_cast<std::size_t>(row)]; }

 private:
  const Axes& axes_;
  int columns_;
  std::vector<std::string> rows_;
};

// Lines first, so that marks stand on them; the first series' marks on top.
void draw(Canvas& canvas, const LinePlot& plot) {
  for (const PlotSeries& s : plot.series) {
    for (std::size_t i = 1; s.dashed && i < s.points.size(); ++i) canvas.dots(s.points[i - 1], s.points[i]);
  }
  for (std::size_t i = plot.series.size(); i-- > 0;) {
    if (plot.series[i].dashed) continue;
    for (const PlotPoint& p : plot.series[i].points)
      canvas.put(canvas.row(p.y), canvas.column(p.x), kMarks[place_of(plot, i) % kMarks.size()]);
  }
}

std::string x_axis(const LinePlot& plot, const Canvas& canvas, int columns) {
  std::string line(static_cast<std::size_t>(columns) + 8, ' ');
  for (double tick : plot.x_ticks) {
    const std::string text = tick_text(tick);
    const int at = std::max(0, canvas.column(tick) - static_cast<int>(text.size()) / 2);
    line.replace(static_cast<std::size_t>(at), text.size(), text);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string legend_line(const LinePlot& plot) {
  std::string legend;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const PlotSeries& s = plot.series[i];
    legend += (i == 0 ? "" : "   ") + std::string(1, s.dashed ? '.' : kMarks[place_of(plot, i) % kMarks.size()]) + " " +
              s.name;
  }
  return legend;
}

}  // namespace

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> all;
  for (double decade = std::pow(10.0, std::floor(std::log10(low))); all.empty() || all.back() < high; decade *= 10) {
    for (double step : {1.0, 2.0, 5.0}) {
      if (!all.empty() && all.back() >= high) break;
      all.push_back(decade * step);
    }
  }
  while (all.size() > 1 && all[1] <= low) all.erase(all.begin());
  if (all.size() <= 9) return all;
  const double first = std::pow(10.0, std::floor(std::log10(low)));
  std::vector<double> decades = {first};
  while (decades.back() < high) decades.push_back(decades.back() * 10);
  return decades;
}

std::string to_svg(const LinePlot& plot) {
  const Axes axes = axes_of(plot);
  return Svg(plot, axes).draw();
}

std::string to_text(const LinePlot& plot, const TextStyle& style) {
  const Axes axes = axes_of(plot);
  std::string out = "  " + inked(plot.title, Ink::strong, style) + "\n";
  if (axes.empty()) return out + "  nothing to show\n";
  int margin = 0;
  for (double tick : axes.y_ticks) margin = std::max(margin, text_width(tick_text(tick)));
  const int columns = std::min(style.columns, 100) - margin - 10;
  Canvas canvas(axes, columns);
  draw(canvas, plot);
  const std::string indent(static_cast<std::size_t>(margin) + 4, ' ');
  out += "  " + plot.y_label + "\n";
  for (int r = 0; r < kRows; ++r) {
    std::string label;
    for (double tick : axes.y_ticks) {
      if (canvas.row(tick) == r) label = tick_text(tick);
    }
    const std::string& line = canvas.line(r);
    const std::size_t end = line.find_last_not_of(' ') + 1;
    out += "  " + right_aligned(label, margin) + (style.unicode ? " │" : " |") + line.substr(0, end) + "\n";
  }
  out += indent + x_axis(plot, canvas, columns) + "  " + plot.x_label + "\n";
  return out + "  " + legend_line(plot) + "\n";
}

}  // namespace superstep
