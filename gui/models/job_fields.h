// SPDX-License-Identifier: Apache-2.0
// What a job can say of its plan and of its machine, as the schema of jobs has it: so that a new field of plans has a
// box without another list.
#pragma once

#include <QJsonValue>
#include <QString>
#include <vector>

namespace superstep::gui {

struct JobField {
  QString path;                     // "micro_batch", "location/weights"; of a machine "/links/rate"
  QString what;                     // one line
  std::vector<QJsonValue> choices;  // all there are; empty: numbers
  bool whole = false;               // a count
  double most = 0;                  // of a number; 0: no bound
};

// Fields of a plan, in the schema's order. Where tensors live, formats and the like by their members.
const std::vector<JobField>& plan_fields();
// Of a number of a machine; null: the schema has none of that pointer.
const JobField* machine_field(const QString& pointer);

// "location/optimizer_state" is "Optimizer state".
QString field_title(const QString& path);

// What a box shows of a pin, and what is typed into it: "7", "6 6 6 6", "4x4", "layer", "false". Null: nothing.
QString pin_text(const QJsonValue& value);
QJsonValue pin_value(const QString& text);

}  // namespace superstep::gui
