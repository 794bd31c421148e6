// SPDX-License-Identifier: Apache-2.0
// Why a plan lost against another one: time by cause, and the fields in which they differ.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "planner/job/tell_apart.h"
#include "planner/report/make_report.h"

namespace superstep {

// A job with further pins in its plan: each takes the place of the job's pin of that field; locations, sharding
// degrees, precisions and serialisation member by member. Cuts said in another form go.
nlohmann::json with_pins(nlohmann::json job, const nlohmann::json& pins);

// The pins of `pins` that a plan does not have, as "/location/weights"; forms that only a model can tell (layers per
// stage) count as not had, what has no effect (a schedule with phases) as had.
std::vector<std::string> pins_not_had(const Plan& plan, const nlohmann::json& pins);

// A waterfall term in two plans, seconds per step; of a term that one does not have, 0.
struct LostTime {
  std::string name, kind;
  double first = 0, second = 0;
  double lost() const { return second - first; }
};
// By loss, the largest first. The losses sum to the difference of the step times exactly but for rounding. `scale`
// multiplies the second one's times: for another global batch, to that of the first.
std::vector<LostTime> time_lost(const std::vector<WaterfallRow>& first, const std::vector<WaterfallRow>& second,
                                double scale);

}  // namespace superstep
