// SPDX-License-Identifier: Apache-2.0
// Summaries of a report in one sentence each. Command line and viewer use the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/term_kind.h"
#include "traces/report.pb.h"

namespace superstep {

// Fit of a plan in the memory of its machine. infeasible: no plan fits. unknown: the report has neither a plan nor a
// reason why no plan fits.
enum class Fit { fits, tight, does_not_fit, infeasible, unknown };

Fit fit_of(const report::PlanSummary& plan);    // from the plan's field `fits`
Fit fit_of(const report::IpuClass& ipu_class);  // from the bytes and limits of the IPU class
Fit fit_of(const report::Index& index);
Fit fit_in(std::int64_t tile_peak_bytes, std::int64_t tile_limit_bytes);  // tight: less than 5 % of the limit to spare
const char* fit_words(Fit fit);                                           // "fits, tight"
const char* fit_word(Fit fit);  // as in JSON results: "fits", "tight", "does_not_fit", "no_plan"
const char* fit_sign(Fit fit);  // "✓", "!", "✕", "?"

// Returns the bytes to spare on the fullest tile; negative: bytes over the limit.
std::int64_t margin_bytes(const report::PlanSummary& plan);
std::int64_t margin_bytes(const report::IpuClass& ipu_class);
std::int64_t always_live_bytes(const report::IpuClass& ipu_class);  // bytes per tile of all always-live categories

double waterfall_seconds(const report::Index& index);  // sum of the waterfall's terms
// Returns the name of the TermKind that bar `row` of a waterfall is drawn as. The first bar is drawn as the ideal, all
// others by the kind of their term.
std::string_view kind_of_bar(int row, std::string_view kind_of_term);

// Returns "782 samples/s at 19.9 % of peak. It fits, but tightly: 14.6 KiB to spare on the fullest tile."
std::string verdict_sentence(const report::Index& index);
// Returns "Largest losses: operand exchange 10.6 %, fixed cost per cycle 12.3 %." Empty: no waterfall, or no loss.
std::string losses_sentence(const report::Index& index);
// Returns "3,972 settings: 2,494 excluded by bounds, ... Proved optimal in 3.21 s (tables 1.10 s)." Empty: no search.
std::string search_sentence(const report::Index& index);
// Returns "Not validated by a measured point: phases, streamed weights." Empty: all mechanisms are validated.
std::string validation_sentence(const report::Index& index);
// Returns which software takes the plan, or why none does; empty: the report does not say.
std::string software_sentence(const report::Index& index);

}  // namespace superstep
