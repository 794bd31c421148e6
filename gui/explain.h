// SPDX-License-Identifier: Apache-2.0
// "Explain this number", one way for all views: what is seen at a place is a cell of a table of the view, and cells
// explain themselves.
#pragma once

#include <QModelIndex>
#include <QString>
#include <vector>

#include "gui/models/table_model.h"
#include "gui/view.h"

namespace superstep::gui {

struct ExplainedCell {
  QString column, row;   // where it stands
  QString shown, exact;  // as it is written, and to the last digit; without units
  Explanation explanation;
};
ExplainedCell explained(const QModelIndex& cell);

// Cells whose number is painted there, the best first: the cell of a table, what a chart says is there, or those of
// the view's tables that have the number which is written there.
std::vector<QPersistentModelIndex> cells_at(View& view, const QPoint& at);

// Those that have a number of the text, rounded as it is there, whatever the unit.
std::vector<QPersistentModelIndex> cells_of_text(const View& view, const QString& text);

}  // namespace superstep::gui
