// SPDX-License-Identifier: Apache-2.0
// What a report says in one sentence. Command line and viewer use the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/term_kind.h"
#include "traces/report.pb.h"

namespace superstep {

// unknown: neither a plan nor a reason why there is none.
enum class Fit { fits, tight, does_not_fit, infeasible, unknown };

Fit fit_of(const report::PlanSummary& plan);    // by its word
Fit fit_of(const report::IpuClass& ipu_class);  // by its margin
Fit fit_of(const report::Index& index);
Fit fit_in(std::int64_t tile_peak_bytes, std::int64_t tile_limit_bytes);  // tight: less than 5 % of the limit to spare
const char* fit_words(Fit fit);                                           // "fits, tight"
const char* fit_word(Fit fit);  // of results: "fits", "tight", "does_not_fit"; "no_plan"
const char* fit_sign(Fit fit);  // "✓", "!", "✕", "?"

// Bytes to spare on the fullest tile; negative when over.
std::int64_t margin_bytes(const report::PlanSummary& plan);
std::int64_t margin_bytes(const report::IpuClass& ipu_class);
std::int64_t always_live_bytes(const report::IpuClass& ipu_class);  // its always-live categories

double waterfall_seconds(const report::Index& index);  // the sum of its terms
// The name of the TermKind that bar `row` of a waterfall is drawn as: the first one is the ideal, whatever its term's.
std::string_view kind_of_bar(int row, std::string_view kind_of_term);

// "782 samples/s at 19.9 % of peak. It fits, but tightly: 14.6 KiB to spare on the fullest tile."
std::string verdict_sentence(const report::Index& index);
// "Largest losses: operand exchange 10.6 %, fixed cost per cycle 12.3 %." Empty without a waterfall.
std::string losses_sentence(const report::Index& index);
// "3,972 settings: 2,494 excluded by bounds, ... Proved optimal in 3.21 s (tables 1.10 s)." Empty without a search.
std::string search_sentence(const report::Index& index);
// "Not validated by a measured point: phases, streamed weights." Empty when all is.
std::string validation_sentence(const report::Index& index);

}  // namespace superstep
