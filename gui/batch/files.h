// SPDX-License-Identifier: Apache-2.0
// Files of the batch page: which can be queued, and where results go.
#pragma once

#include <QString>
#include <QStringList>

#include "gui/batch/item.h"

namespace superstep::gui {

// By its keys: a job has a model and a machine, a sweep a base and a grid. Throws Error with what was found and what
// was expected.
BatchKind kind_of_file(const QString& path);

// Whether the window queues it instead of opening it as a report: by its ending, or because it is a folder.
bool can_be_queued(const QString& path);

// The JSON files among `paths` and directly in the folders among them, by name.
QStringList json_files(const QStringList& paths);

// Where results go when nobody chose: JOB.ssr, SWEEP-item-N.ssr or SWEEP.sqlite in `folder`, or when that is empty
// beside the file. Where there is something already, or in `taken`: JOB-2.ssr, JOB-3.ssr...
QString free_output(const BatchItem& item, const QString& folder, const QStringList& taken);

}  // namespace superstep::gui
