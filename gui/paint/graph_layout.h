// SPDX-License-Identifier: Apache-2.0
// Where the units of a model graph stand: rows by block group; layers that repeat fold into one row of blocks, over a
// map with a small cell for each unit. Depends on the units alone, so that nothing moves while time passes.
#pragma once

#include <QPainterPath>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <cstdint>
#include <string>
#include <vector>

namespace superstep::gui {

struct LayoutUnit {
  std::string name;         // "layer3/ffn_up"
  std::int64_t layer = -1;  // -1: of none
  int group = 0;            // phase or stage: what frames go around
};

struct GraphLayout {
  static constexpr double kLeft = 108;  // of row titles
  static constexpr double kHead = 16;   // of a block, in its IPU's colour

  struct Row {
    QString title, detail;
    QRectF rect;
  };
  struct Block {
    QRectF rect;
    QString name;       // what its head says
    bool cell = false;  // one of a folded map
    int line = 0;       // blocks of one line stand side by side
  };
  // A kind of unit that each of many layers has.
  struct Fold {
    QRectF rect;
    QString name;  // "attention"
    std::vector<int> units;
    int line = 0;
  };
  struct Frame {
    int group = 0;
    QPainterPath path;
    QRectF label;  // empty: no room for words
  };

  std::vector<Row> rows;
  std::vector<Block> blocks;  // one for each unit
  std::vector<Fold> folds;
  std::vector<Frame> frames;
  double height = 0;

  // In that width and, when it is enough, that height.
  static GraphLayout of(const std::vector<LayoutUnit>& units, double width, double height);
  int unit_at(QPointF point) const;  // -1: none
  int fold_at(QPointF point) const;
};

// The first and one after the last unit of the longest run of layers with the same kinds of units; equal: none.
struct FoldRange {
  int first = 0, end = 0;
  int kinds = 0;  // units of a layer
};
FoldRange repeated_layers(const std::vector<LayoutUnit>& units);

}  // namespace superstep::gui
