// SPDX-License-Identifier: Apache-2.0
// Marks on what is selected, with a line of text. They are kept in a file beside the report, REPORT.marks.json, and not
// among the window's settings: who gets the report with it gets the notes too, and a report that is written again keeps
// them, because they name what they are on.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "gui/session/session.h"

namespace superstep::gui {

// The parts of a selection by name; empty and -1: not part of it.
struct Mark {
  QString ipu, phase, term, category, op;
  std::int64_t tile = -1, time = -1, micro_batch = -1;
  QString view;  // in which it was made
  QString note;
  bool isEmpty() const;  // marks nothing
  friend bool operator==(const Mark&, const Mark&) = default;
};

Mark mark_of_selection(Session& session);
Selection selection_of(Session& session, const Mark& mark);  // what the report no longer has is left out
QString place_text(const Mark& mark);                        // "IPU 3 · tile 17 · layer9/ffn_up forward"

QString marks_file(const QString& report);
std::vector<Mark> load_marks(const QString& report);                        // throws Error; no file: none
void save_marks(const QString& report, const std::vector<Mark>& marks);     // throws Error; none: no file
TableContents marks_table(std::shared_ptr<const std::vector<Mark>> marks);  // place, note, view

}  // namespace superstep::gui
