// SPDX-License-Identifier: Apache-2.0
// The open report's plan, changed: the question to `superstep serve`, and its answer beside the report.
#pragma once

#include <QJsonObject>
#include <map>

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
  const char* field;
  const char* title;
  std::vector<QJsonValue> values;
};
const std::vector<WhatIfPin>& whatif_pins();
QString pin_text(const QJsonValue& value);
// What the shown plan has of it; empty: it does not say.
QString shown_pin(const report::Index& index, const char* field);

// A number of the machine that can be changed.
struct WhatIfNumber {
  const char* pointer;  // in a machine file
  const char* title;
  const char* unit;
  const char* goes_with;  // pointer of a number that is changed by the same factor; may be null
};
const std::vector<WhatIfNumber>& whatif_numbers();
// As the report's explanations quote the machine file; 0: it does not.
double machine_number(const report::Index& index, const WhatIfNumber& number);

// A request of docs/serve.md. Empty where the report's job cannot be read.
QJsonObject whatif_request(const report::Index& index, const WhatIf& changes);
// The pins as a job's `plan` has them, with those that the job has already.
QJsonObject whatif_job_pins(const report::Index& index, const WhatIf& changes);

// The plan of an answer and its waterfall. Without a plan that fits: the one that came closest.
using AnswerPointer = std::shared_ptr<const report::Index>;
AnswerPointer whatif_answer(const QJsonObject& answer);  // null: it has no plan

// Step time, throughput, memory: shown, what-if, difference.
TableContents whatif_figures(const ReportPointer& report, const AnswerPointer& answer, Units units);
// Terms of both waterfalls in ms, those that differ; the last row is the step time.
inline constexpr int kWhatIfDifference = 3;  // column
TableContents whatif_terms(const ReportPointer& report, const AnswerPointer& answer);

}  // namespace superstep::gui
