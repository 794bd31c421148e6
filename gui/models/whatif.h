// SPDX-License-Identifier: Apache-2.0
// The open report's plan, changed: the question to `superstep serve`, and its answer beside the report.
#pragma once

#include <QJsonObject>
#include <map>

#include "gui/models/job_fields.h"
#include "gui/models/report_tables.h"

namespace superstep::gui {

// What is changed. Pins search again; machine numbers alone cost the shown plan again.
struct WhatIf {
  std::map<QString, QJsonValue> pins;  // of a job's plan, by field
  std::map<QString, double> machine;   // by WhatIfNumber::pointer, in its unit
  std::string plan;                    // JSON: costed in place of the shown one; empty: none
  bool empty() const { return pins.empty() && machine.empty() && plan.empty(); }
};

// A field of the plan that can be pinned, and the values offered.
struct WhatIfPin {
  QString field;         // "location/weights"
  QString title, group;  // "Weights" of "Location"; no group: one of the main ones, which come first
  QString what;
  std::vector<QJsonValue> values;
  bool open = false;  // others can be typed
};
const std::vector<WhatIfPin>& whatif_pins();
// What the shown plan has of it; empty: it does not say.
QString shown_pin(const report::Index& index, const QString& field);

// A number of the machine that can be changed.
struct WhatIfNumber {
  QString pointer;  // in a machine file
  QString title, what;
  QString unit;      // empty: a count or a share
  double value = 0;  // of the report's machine
  double least = 0, most = 0;
  int decimals = 0;
  bool main = false;  // those asked for most, which come first
};
// Those of the report's list, or of old reports those that their explanations quote. A quarter to four times is
// offered.
std::vector<WhatIfNumber> whatif_numbers(const report::Index& index);

// A request of docs/reference/serve.md. Empty where the report's job cannot be read.
QJsonObject whatif_request(const report::Index& index, const WhatIf& changes);
// The pins as a job's `plan` has them, with those that the job has already.
QJsonObject whatif_job_pins(const report::Index& index, const WhatIf& changes);

// The plan of an answer and its waterfall. Without a plan that fits: the one that came closest.
using AnswerPointer = std::shared_ptr<const report::Index>;
AnswerPointer whatif_answer(const QJsonObject& answer);  // null: it has no plan

// Which is faster and whether that is sure, in the words of the comparison.
struct WhatIfVerdict {
  QString change;     // "+24.0 samples/s (+3.1 %)"
  QString certainty;  // "P(faster) = 0.81: within the error", empty: the answer has no worlds
  QString band;       // "95 % band 1.2 % slower to 3.0 % faster."
  bool tie = false;
};
WhatIfVerdict whatif_verdict(const report::Index& shown, const report::Index& changed);

// What the boxes and sliders are at: fields of the plan, then numbers of the machine; of the report, and now.
TableContents whatif_inputs(const ReportPointer& report, const WhatIf& changes);
// Step time, throughput, memory: shown, what-if, difference, and its band where there is one.
TableContents whatif_figures(const ReportPointer& report, const AnswerPointer& answer, Units units);
// Helpful changes of the report that were made at once: what each gains alone, the sum of that, and what they gain
// together, by the answer.
TableContents whatif_together(const ReportPointer& report, const std::vector<int>& changes,
                              const AnswerPointer& answer);
// Terms of both waterfalls in ms, those that differ; the last row is the step time.
inline constexpr int kWhatIfDifference = 3;  // column
TableContents whatif_terms(const ReportPointer& report, const AnswerPointer& answer);

}  // namespace superstep::gui
