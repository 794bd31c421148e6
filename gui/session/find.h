// SPDX-License-Identifier: Apache-2.0
// One search over all that a report has, and the view in which each hit is seen.
#pragma once

#include <vector>

#include "gui/session/session.h"

namespace superstep::gui {

struct Found {
  QString kind;  // "phase", "operation", "variable"
  QString name;
  QString view;         // id
  Selection selection;  // what of the session's it sets
  QString filter = {};  // of tables; empty: stays as it is
};

// What has the text, or matches it as a regular expression, whatever the case; a number also finds the tile. Equal
// names of a kind once, at most `most`,
// a fifth of them of one kind.
std::vector<Found> find_everywhere(Session& session, const QString& text, std::size_t most = 200);
// Shows it: all but the view.
void go_to(Session& session, const Found& found);

}  // namespace superstep::gui
