// SPDX-License-Identifier: Apache-2.0
// What columns about several plans mean: compared, changed, searched. See meanings.h.
#pragma once

#include "gui/models/meanings.h"

namespace superstep::gui::means {

// Comparison: of the two sides' own meanings, and the difference.
inline constexpr Meaning kTermDifferenceMs{"How much longer the term takes than in the source; negative: shorter.",
                                           "ms", "Target less source; what a report lacks counts as 0.", where::kSteps};
inline constexpr Meaning kTermDifferenceShare{"How much longer the term takes than in the source.", "%",
                                              "Target over source, less 1.", where::kSteps};
inline constexpr Meaning kKeyFigure{"A key figure of the reports; its name has the unit.", "", "", where::kViewer};
inline constexpr Meaning kUnitOfFigure{"The unit of the figure's value.", "", "", where::kViewer};
inline constexpr Meaning kReportFact{"A fact of the report, in words.", "", "As the report has it.", where::kViewer};
inline constexpr Meaning kGlobalBatch{"Samples of an optimizer step, over all replicas.", "samples",
                                      "Micro-batch x accumulation x replicas.", where::kSpace};
inline constexpr Meaning kRatedPower{"Rated power of the machine.", "W", "As the machine file has it.",
                                     where::kMachines};
inline constexpr Meaning kStepBand{"An end of the 95 % band of the step time.", "s",
                                   "Between the 2.5th and 97.5th percentile over worlds that differ by what is "
                                   "uncertain.",
                                   where::kSure};
inline constexpr Meaning kThroughputBand{"An end of the 95 % band of the throughput.", "samples/s",
                                         "Throughput times step time, over an end of the step time's band.",
                                         where::kSure};
inline constexpr Meaning kUtilisationBand{"An end of the 95 % band of the utilisation.", "%",
                                          "Utilisation times step time, over an end of the step time's band.",
                                          where::kSure};
inline constexpr Meaning kExplored{"Settings whose best cuts the search found.", "settings",
                                   "Counted by the search, with those excluded the whole space.", where::kSearch};
inline constexpr Meaning kPruned{"Settings that the search excluded by bounds.", "settings",
                                 "Their bound is below the best plan known.", where::kSearch};
inline constexpr Meaning kSpacePoints{"Settings of the space.", "settings", "Searched and excluded ones.",
                                      where::kSpace};
inline constexpr Meaning kEvaluations{"Plans whose time and memory were computed one by one.", "plans",
                                      "Counted by the search.", where::kSearch};
inline constexpr Meaning kSearchTime{"How long the search took.", "s", "By the clock.", where::kSearch};
inline constexpr Meaning kKeyFigureValue{"A key figure of the report; the row says which, and its unit.",
                                         "as the row says", "As the report has it.", where::kTime};
inline constexpr Meaning kKeyFigureDifference{"How the figure differs from the source's.", "as the row says",
                                              "Target less source; where it has a %, that over the source.",
                                              where::kTime};
inline constexpr Meaning kFaster{"How sure it is that the target is faster than the source.", "share",
                                 "The share of worlds in which it is; a world draws the fitted constants and the "
                                 "estimated machine numbers, the same for all plans.",
                                 where::kSure};
inline constexpr Meaning kMemoryDifference{"How many bytes more than in the source; negative: fewer.", "bytes",
                                           "Target less source; what a report lacks counts as 0.", where::kMemory};
inline constexpr Meaning kPhaseMs{"Time in a step of all calls that have this name.", "ms",
                                  "Cycles of one call times its repeats, over the clock.", where::kTime};
inline constexpr Meaning kPhaseCycles{"Cycles in a step of all calls that have this name.", "cycles",
                                      "Cycles of one call times its repeats.", where::kTime};
inline constexpr Meaning kPhaseDifference{"How much longer it takes than in the source; negative: shorter.", "ms",
                                          "Target less source.", where::kTime};

// What-if.
inline constexpr Meaning kShown{"Of the plan shown.", "as the row says", "As the open report has it.", where::kTime};
inline constexpr Meaning kChanged{"With what was changed.", "as the row says",
                                  "As the child program answers: pins search again, machine numbers cost the shown "
                                  "plan again.",
                                  where::kTime};
inline constexpr Meaning kChangedBy{"What the change does.", "as the row says", "What-if less shown.", where::kTime};
inline constexpr Meaning kInput{"What can be changed: a field of the plan, or a number of the machine.", "",
                                "Fields are those of a job's plan; numbers those that time or fit depend on.",
                                where::kSpace};
inline constexpr Meaning kInputShown{"What the report's plan or machine has.", "", "As the report says.",
                                     where::kSpace};
inline constexpr Meaning kInputNow{"What is asked about.", "", "The box or slider; unchanged, as the report has it.",
                                   where::kSpace};
inline constexpr Meaning kChangedBand{"How much the change does in 95 % of the worlds.", "as the row says",
                                      "World by world, what-if less shown: what is uncertain differs between worlds, "
                                      "for both plans alike.",
                                      where::kSure};
inline constexpr Meaning kTogetherGain{
    "How much faster the plan is with the change, or with all of them.", "%",
    "Samples per second with the change over those of the plan shown, less 1. Changes "
    "work on the same times, so that together they gain less, or more, than the sum.",
    where::kTime};
inline constexpr Meaning kChangedMs{"The time of the term with what was changed.", "ms",
                                    "As the child program answers.", where::kSteps};
inline constexpr Meaning kChangedByMs{"How much longer the term takes with the change; negative: shorter.", "ms",
                                      "What-if less shown.", where::kSteps};
inline constexpr Meaning kFigure{"A figure of the plan; its name has the unit.", "", "", where::kViewer};

// Search and landscape.
inline constexpr Meaning kTensorParallel{"t: IPUs that share each product (tensor parallel).", "IPUs",
                                         "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kPipelineStages{"p: IPU groups of the pipeline.", "IPU groups",
                                         "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kReplicas{"r: replicas, which share the batch.", "replicas",
                                   "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kMicroBatchSize{"m: samples of a micro-batch.", "samples",
                                         "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kAccumulation{
    "g: micro-batches whose gradients are summed in a step (gradient "
    "accumulation).",
    "micro-batches", "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kPhases{"Phases of phased execution; 1: none.", "phases",
                                 "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kRecomputeMode{"What forward passes are run again for: none, layer, stage.", "",
                                        "A pin of the job, or found by the search.", where::kSpace};
inline constexpr Meaning kPlacement{"The order in which t, p and r count the IPUs along the ladder, innermost first.",
                                    "", "A pin of the job, or found by the search; t-p-r where a report does not say.",
                                    where::kSpace};
inline constexpr Meaning kShardGroups{
    "Which replicas share a tensor: those that follow each other (consecutive), or every n-th (orthogonal).", "",
    "A pin of the job, or found by the search; consecutive where a report does not say.", where::kSpace};
inline constexpr Meaning kIpus{"IPUs that the plan uses.", "IPUs", "t x p x r.", where::kSpace};
inline constexpr Meaning kIs{"How the plan comes to the landscape.", "",
                             "shown, runner-up, on the Pareto line, or found on the way.", where::kSearch};
inline constexpr Meaning kSettings{"Settings of the cell: combinations of all other fields but the cuts.", "settings",
                                   "The product of the lists of values that may go together.", where::kSearch};
inline constexpr Meaning kBound{"What none of the cell's plans exceeds; 0: none fits.", "samples/s",
                                "Global batch over the least step time that its bound allows.", where::kSearch};
inline constexpr Meaning kFate{"What became of the cell.", "",
                               "opened: searched; excluded: by its bound; dominated: another placement is as good; "
                               "or nothing fits.",
                               where::kSearch};

}  // namespace superstep::gui::means
