// SPDX-License-Identifier: Apache-2.0
// "Explain this number", one way for all views: what is seen at a place is a cell of a table of the view, and cells
// explain themselves.
#pragma once

#include <QModelIndex>
#include <QString>
#include <vector>

#include "gui/models/table_model.h"
#include "gui/session/view.h"

namespace superstep::gui {

struct ExplainedCell {
  QString column, row;   // where it stands
  QString shown, exact;  // as it is written, and to the last digit; without units
  Explanation explanation;
};
ExplainedCell explained(const QModelIndex& cell);
// "1 698.4 ms": with the unit, unless the text says it.
QString exact_text(const ExplainedCell& cell);

// What is known of a place. Cells whose number is painted there, the best first: the cell of a table, what a chart says
// is there, or those that have the number which is written there; without cells, what else the number is.
struct ExplainedPlace {
  std::vector<QPersistentModelIndex> cells;
  ExplainedCell other;
  bool isEmpty() const { return cells.empty() && other.explanation.isEmpty(); }
};
// The same in short, for a tool tip: name, exact value, what it is; empty: nothing is known of it.
QString short_explanation(const ExplainedPlace& place);

// `more`: tables of the report that numbers of any view may stand in.
ExplainedPlace explained_at(View& view, const QPoint& at, const std::vector<NamedTable>& more = {});

// Those that have a number of the text, rounded as it is there, whatever the unit.
std::vector<QPersistentModelIndex> cells_of_text(const std::vector<NamedTable>& tables, const QString& text);

}  // namespace superstep::gui
