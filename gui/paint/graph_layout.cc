// SPDX-License-Identifier: Apache-2.0
#include "gui/paint/graph_layout.h"

#include <algorithm>
#include <cmath>

namespace superstep::gui {
namespace {

constexpr int kFewestRepeats = 4;
constexpr double kLeastBlock = 92, kMostBlock = 168, kBlockGap = 18;
constexpr double kLeastLine = 58, kMostLine = 96;  // a line of blocks, with its frame's title and the gap below
constexpr double kFrameTitle = 15, kBelow = 9;

std::string prefix_of(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? std::string() : name.substr(0, slash);
}

std::string kind_of(const std::string& name) { return name.substr(name.find('/') + 1); }

using LayoutUnits = std::vector<LayoutUnit>;

// One past the last unit of the layer that begins at `first`.
int layer_end(const LayoutUnits& units, int first) {
  int end = first;
  while (end < static_cast<int>(units.size()) &&
         units[static_cast<std::size_t>(end)].layer == units[static_cast<std::size_t>(first)].layer) {
    ++end;
  }
  return end;
}

bool equal_kinds(const LayoutUnits& units, int a, int b, int kinds) {
  for (int i = 0; i < kinds; ++i) {
    const auto& left = units[static_cast<std::size_t>(a + i)].name;
    const auto& right = units[static_cast<std::size_t>(b + i)].name;
    if (kind_of(left) != kind_of(right) || prefix_of(left).empty()) return false;
  }
  return true;
}

// Units [first, end) that stand in one row.
struct Group {
  int first = 0, end = 0;
  std::string title;
};

// By what stands before the slash; a unit without joins the row that follows, or the last.
std::vector<Group> groups_of(const LayoutUnits& units, int first, int end) {
  std::vector<Group> out;
  std::string prefix;
  for (int i = first; i < end; ++i) {
    const std::string& name = units[static_cast<std::size_t>(i)].name;
    const std::string own = prefix_of(name);
    const bool joins = !out.empty() && (own == prefix || prefix.empty() || own.empty());
    if (!joins) {
      out.push_back({i, i + 1, own.empty() ? name : own});
    } else {
      if (own != prefix || own.empty()) out.back().title += ", " + (own.empty() ? name : own);
      out.back().end = i + 1;
    }
    if (!own.empty() || !joins) prefix = own;
  }
  return out;
}

class GraphLayoutBuilder {
 public:
  GraphLayoutBuilder(const LayoutUnits& units, double width, double height) : units_(units), width_(width) {
    fold_ = repeated_layers(units);
    out_.blocks.resize(units.size());
    plan(height);
  }

  GraphLayout build() {
    if (fold_.first == fold_.end) {
      for (const Group& group : groups_of(units_, 0, static_cast<int>(units_.size()))) addGroup(group);
    } else {
      addFolded();
    }
    addFrames();
    out_.height = y_ + 4;
    return std::move(out_);
  }

 private:
  int perLine() const { return std::max(1, static_cast<int>((room() + kBlockGap) / (kLeastBlock + kBlockGap))); }
  double room() const { return std::max(60.0, width_ - GraphLayout::kLeft - 28); }
  int linesOf(int count) const { return (count + perLine() - 1) / perLine(); }

  // Lines are as high as there is room for.
  void plan(double height) {
    int lines = 0;
    if (fold_.first == fold_.end) {
      for (const Group& group : groups_of(units_, 0, static_cast<int>(units_.size()))) {
        lines += linesOf(group.end - group.first);
      }
    } else {
      lines = 1 + linesOf(fold_.first) - (fold_.first == 0 ? 0 : 1) + 2;
    }
    line_ = std::clamp((height - 8) / std::max(1, lines), kLeastLine, kMostLine);
    height_ = height;
  }

  // Places `count` rectangles side by side and returns them.
  std::vector<QRectF> line(int count) {
    const int places = std::max(1, count);
    const double width = std::min(kMostBlock, (room() + kBlockGap) / places - kBlockGap);
    std::vector<QRectF> out;
    for (int i = 0; i < count; ++i) {
      out.emplace_back(GraphLayout::kLeft + 6 + i * (width + kBlockGap), y_ + kFrameTitle, width,
                       line_ - kFrameTitle - kBelow);
    }
    y_ += line_;
    ++lineNumber_;
    return out;
  }

  void addGroup(const Group& group) {
    const double top = y_;
    const int count = group.end - group.first, lines = linesOf(count);
    int next = group.first;
    for (int i = 0; i < lines; ++i) {
      const int share = (group.end - next + lines - i - 1) / (lines - i);
      for (const QRectF& rect : line(share)) setBlock(next++, rect);
    }
    const auto detail = count == 1 ? QString("1 unit") : QString("%1 units").arg(count);
    out_.rows.push_back({QString::fromStdString(group.title), detail, QRectF(0, top, width_, y_ - top)});
  }

  void setBlock(int unit, const QRectF& rect) {
    const std::string& name = units_[static_cast<std::size_t>(unit)].name;
    out_.blocks[static_cast<std::size_t>(unit)] = {rect, QString::fromStdString(kind_of(name)), false, lineNumber_};
  }

  // What comes before, the kinds of the repeated layers, what comes after; then the map.
  void addFolded() {
    const int before = fold_.first, after = static_cast<int>(units_.size()) - fold_.end;
    const int layers = (fold_.end - fold_.first) / fold_.kinds;
    const double top = y_;
    int place = 0;
    const int in_line = before + fold_.kinds + after;
    const bool one_line = in_line <= perLine();
    std::vector<QRectF> rects = line(one_line ? in_line : std::min(perLine(), before + fold_.kinds));
    const auto next = [&]() -> QRectF {
      if (place == static_cast<int>(rects.size())) rects = line(std::min(perLine(), in_line)), place = 0;
      return rects[static_cast<std::size_t>(place++)];
    };
    for (int i = 0; i < before; ++i) setBlock(i, next());
    for (int kind = 0; kind < fold_.kinds; ++kind) {
      const QRectF rect = next();
      const auto& unit = units_[static_cast<std::size_t>(fold_.first + kind)];
      GraphLayout::Fold fold{rect, QString::fromStdString(kind_of(unit.name)), {}, lineNumber_};
      for (int layer = 0; layer < layers; ++layer) fold.units.push_back(fold_.first + layer * fold_.kinds + kind);
      out_.folds.push_back(std::move(fold));
    }
    for (int i = 0; i < after; ++i) setBlock(fold_.end + i, next());
    const auto& first = units_[static_cast<std::size_t>(fold_.first)];
    const auto& last = units_[static_cast<std::size_t>(fold_.end - 1)];
    out_.rows.push_back({"the model", QString("%1 layers alike").arg(layers), QRectF(0, top, width_, y_ - top)});
    addMap(layers, QString("layers %1 to %2").arg(first.layer).arg(last.layer));
  }

  void addMap(int layers, const QString& title) {
    constexpr double kLeastCell = 17, kLineTitle = 30;
    const int per_line = std::max(1, std::min(layers, static_cast<int>(room() / kLeastCell)));
    const int lines = (layers + per_line - 1) / per_line;
    const int columns = (layers + lines - 1) / lines;
    const double width = std::min(46.0, room() / columns);
    const double left_over = (height_ - y_ - 8) / lines - kLineTitle - 6;
    const double high = std::clamp(left_over / fold_.kinds, 15.0, 52.0);
    for (int l = 0; l < lines; ++l) {
      const double top = y_;
      ++lineNumber_;
      const int from = l * columns, to = std::min(layers, from + columns);
      for (int layer = from; layer < to; ++layer) {
        for (int kind = 0; kind < fold_.kinds; ++kind) {
          const int unit = fold_.first + layer * fold_.kinds + kind;
          const QRectF rect(GraphLayout::kLeft + 6 + (layer - from) * width, top + kLineTitle + kind * high, width,
                            high);
          const QString number = QString::number(units_[static_cast<std::size_t>(unit)].layer);
          out_.blocks[static_cast<std::size_t>(unit)] = {rect.adjusted(1.5, 1.5, -1.5, -1.5), number, true,
                                                         lineNumber_};
        }
      }
      y_ += kLineTitle + fold_.kinds * high + 6;
      out_.rows.push_back({l == 0 ? title : QString(), {}, QRectF(0, top, width_, y_ - top)});
    }
  }

  // Around the units of a group that stand together in a line.
  void addFrames() {
    for (std::size_t i = 0; i < units_.size();) {
      const GraphLayout::Block& block = out_.blocks[i];
      std::size_t end = i;
      QPainterPath path;
      QRectF bounds, top;  // top: of those in the upper row, under which no other group's name stands
      while (end < units_.size() && units_[end].group == units_[i].group && out_.blocks[end].line == block.line &&
             out_.blocks[end].cell == block.cell) {
        const QRectF rect = out_.blocks[end].rect;
        if (block.cell) {
          QPainterPath cell;
          cell.addRect(rect.adjusted(-1.75, -1.75, 1.75, 1.75));
          path = end == i ? cell : path.united(cell);
        }
        bounds |= rect;
        const bool upper = !block.cell || (static_cast<int>(end) - fold_.first) % fold_.kinds == 0;
        if (upper) top |= rect;
        ++end;
      }
      GraphLayout::Frame frame{units_[i].group, path, {}};
      if (block.cell) {
        frame.path = path.simplified();
        if (!top.isNull()) frame.label = QRectF(top.left(), top.top() - 17, top.width(), 15);
      } else {
        frame.path.addRect(bounds.adjusted(-6, -kFrameTitle, 6, 4));
        frame.label = QRectF(bounds.left() - 2, bounds.top() - kFrameTitle, bounds.width() + 4, kFrameTitle);
      }
      out_.frames.push_back(std::move(frame));
      i = end;
    }
  }

  const LayoutUnits& units_;
  double width_ = 0, height_ = 0, y_ = 4, line_ = kLeastLine;
  int lineNumber_ = 0;
  FoldRange fold_;
  GraphLayout out_;
};

}  // namespace

FoldRange repeated_layers(const std::vector<LayoutUnit>& units) {
  FoldRange best;
  const int n = static_cast<int>(units.size());
  for (int first = 0; first < n;) {
    const int end = layer_end(units, first), kinds = end - first;
    if (units[static_cast<std::size_t>(first)].layer < 0) {
      first = end;
      continue;
    }
    int last = end, repeats = 1;
    while (last + kinds <= n && units[static_cast<std::size_t>(last)].layer >= 0 &&
           layer_end(units, last) - last == kinds && equal_kinds(units, first, last, kinds)) {
      last += kinds;
      ++repeats;
    }
    if (repeats >= kFewestRepeats && last - first > best.end - best.first) best = {first, last, kinds};
    first = last;
  }
  return best;
}

GraphLayout GraphLayout::of(const std::vector<LayoutUnit>& units, double width, double height) {
  if (units.empty()) return {};
  return GraphLayoutBuilder(units, width, height).build();
}

int GraphLayout::unit_at(QPointF point) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].rect.adjusted(-1, -1, 1, 1).contains(point)) return static_cast<int>(i);
  }
  return -1;
}

int GraphLayout::fold_at(QPointF point) const {
  for (std::size_t i = 0; i < folds.size(); ++i) {
    if (folds[i].rect.contains(point)) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace superstep::gui
