// SPDX-License-Identifier: Apache-2.0
// A view as a file. The menu and "--export" come here, so both write the same.
#pragma once

#include <QSize>
#include <QString>

#include "gui/session/view.h"

namespace superstep::gui {

inline constexpr QSize kExportSize{1280, 800};

// Writes a PNG, SVG or CSV, by the ending of `path`. Pictures show the view alone under the report's
// title, with the session's selection, units and part of the heat map. CSV holds the view's tables,
// one after another, with exact values. Throws Error when the ending is another, when the session
// has no report, or when the file cannot be written. `page`: of View::pages(), -1 as the view opens.
void export_view(Session& session, const ViewDef& view, const QString& path, QSize size = kExportSize, int page = -1);
// The page of a view by its name. Throws Error with the names there are.
int find_page(Session& session, const ViewDef& view, const QString& name);

// The tables of a view as CSV (RFC 4180; a line "# name" before each).
QString tables_csv(const std::vector<NamedTable>& tables);

}  // namespace superstep::gui
