// SPDX-License-Identifier: Apache-2.0
// What the columns of all tables mean, in the words of docs/explanation/cost-model.md: one row each, so that a term has
// the same words wherever it stands. A column names its row beside its title.
#pragma once

#include "gui/models/meaning.h"

namespace superstep::gui::means {

namespace where {
inline constexpr auto kSteps = "docs/explanation/cost-model.md: 1. Steps";
inline constexpr auto kProducts = "docs/explanation/cost-model.md: 2. Matrix products";
inline constexpr auto kTime = "docs/explanation/cost-model.md: 5. From steps to the step time";
inline constexpr auto kStreaming = "docs/explanation/cost-model.md: 6. Streaming Memory and host";
inline constexpr auto kMemory = "docs/explanation/cost-model.md: 7. Memory of a tile";
inline constexpr auto kSure = "docs/explanation/cost-model.md: 8. How good it is";
inline constexpr auto kSpace = "docs/explanation/space.md: The declared space";
inline constexpr auto kSearch = "docs/explanation/search.md: How the search goes";
inline constexpr auto kMachines = "docs/explanation/machines.md: Machines";
inline constexpr auto kSweeps = "docs/reference/sweeps.md: Sweeps";
inline constexpr auto kViewer = "docs/reference/viewer.md: What the numbers are";
inline constexpr auto kMarks = "docs/reference/viewer.md: Marks and layouts";
inline constexpr auto kBatch = "docs/reference/viewer.md: The batch page";
}  // namespace where

// Names.
inline constexpr Meaning kIpu{"The kind of IPU: all replicas and tensor-parallel ranks of a stage are alike.", "",
                              "Counted from 0 in the order of the pipeline.", where::kViewer};
inline constexpr Meaning kHolds{"What the plan places on the IPU: the units of its stages.", "",
                                "As the plan's cuts say.", where::kSpace};
inline constexpr Meaning kAlike{"IPUs of this kind.", "IPUs", "Replicas times tensor-parallel IPUs.", where::kViewer};
inline constexpr Meaning kPhaseName{"A phase of the program: one call in program order, equal calls once.", "",
                                    "Named after the unit and the pass that runs.", where::kViewer};
inline constexpr Meaning kStepName{"A superstep: the op it belongs to.", "", "As the lowered program lists it.",
                                   where::kSteps};
inline constexpr Meaning kStepKind{"The kind of superstep, which says how its cycles are counted.", "",
                                   "compute, exchange, collective, copy, load, store, host, sync or fixed.",
                                   where::kSteps};
inline constexpr Meaning kTerm{"A term of the waterfall, from ideal to predicted step time.", "",
                               "Each superstep counts to terms; the terms sum to the step time.", where::kSteps};
inline constexpr Meaning kTermKind{"The kind of time that the term is, which is its colour.", "",
                                   "compute, recompute, exchange, links, ddr, host, sync, waiting, update or fixed.",
                                   where::kSteps};
inline constexpr Meaning kCategory{"A category of memory on a tile.", "",
                                   "Always-live ones stand through the step, the others at its worst superstep.",
                                   where::kMemory};
inline constexpr Meaning kVariable{"A variable or a result that takes memory on tiles.", "",
                                   "Results have the name of their call.", where::kMemory};
inline constexpr Meaning kFunction{"The run of supersteps that equal calls share.", "",
                                   "Named after the first unit and pass that use it.", where::kViewer};
inline constexpr Meaning kPlan{
    "The plan's label: t tensor-parallel IPUs, p pipeline IPU groups, r replicas, "
    "m micro-batch, g gradient accumulation, and what differs from the usual.",
    "", "As the plan says.", where::kSpace};
inline constexpr Meaning kReportTitle{"What the report is about: the model, the machine, and training or inference.",
                                      "", "As the job says.", where::kMachines};
inline constexpr Meaning kFit{
    "Whether the plan fits in the memory of tiles, in executable memory and in Streaming "
    "Memory.",
    "", "fits; tight: under 5 % of a tile to spare; does not fit.", where::kMemory};
inline constexpr Meaning kReport{"One of the compared reports.", "", "The first is the source.", where::kViewer};

// Time of the step.
inline constexpr Meaning kTermSeconds{"The time of a term in an optimizer step.", "s",
                                      "Cycles on the critical path that count to the term, over the clock.",
                                      where::kSteps};
inline constexpr Meaning kTermMs{"The time of a term in an optimizer step.", "ms",
                                 "Cycles on the critical path that count to the term, over the clock, in milliseconds.",
                                 where::kSteps};
inline constexpr Meaning kTermError{"How unsure the time of a term is.", "ms",
                                    "Half of what 95 % of the worlds lie within, which differ by what is uncertain: "
                                    "fitted constants, estimated numbers of the machine, and what the model leaves "
                                    "unexplained, which goes over all terms by their time. The ideal is exact.",
                                    where::kSure};
inline constexpr Meaning kTermBand{"An end of the 95 % band of a term's time.", "ms",
                                   "The percentile 2.5 or 97.5 of the term's time in the worlds of the step time.",
                                   where::kSure};
inline constexpr Meaning kTermShare{"The share of a term in the step time.", "%",
                                    "Seconds of the term over the sum of all terms.", where::kSteps};
inline constexpr Meaning kStepSeconds{"The predicted time of an optimizer step.", "s", "The sum of the waterfall.",
                                      where::kTime};
inline constexpr Meaning kStepMs{"The predicted time of an optimizer step.", "ms",
                                 "The sum of the waterfall, in milliseconds.", where::kTime};
inline constexpr Meaning kThroughput{"Throughput: samples per second.", "samples/s", "Global batch over step time.",
                                     where::kTime};
inline constexpr Meaning kAgainstPlan{"How much faster than the plan shown.", "%",
                                      "Samples per second over those of the plan shown, less 1.", where::kTime};
inline constexpr Meaning kChangeGain{"What the change alone would gain.", "%",
                                     "Step time of the plan shown over that with the change, less 1.", where::kTime};
inline constexpr Meaning kChange{"A field of the plan, and what it would be instead; what goes with it changes too.",
                                 "", "Faster plans at the same global batch that differ in this field.", where::kSpace};
inline constexpr Meaning kUtilisation{"Model FLOPs against the FP16.16 peak of the IPUs used.", "%",
                                      "FLOPs of the model in a step over (peak FLOPs per second x step time).",
                                      where::kProducts};
inline constexpr Meaning kPart{
    "A part of the step: loads ahead, the pipeline's ramps and full cycles, a phase, or the "
    "update.",
    "", "Children of the program's root.", where::kTime};
inline constexpr Meaning kFromMs{"When it begins.", "ms", "Cycles since the start of the step, over the clock.",
                                 where::kViewer};
inline constexpr Meaning kFromCycles{"When it begins.", "cycles", "Cycles since the start of the step.",
                                     where::kViewer};
inline constexpr Meaning kTakesMs{"How long it takes.", "ms", "Its cycles over the clock, in milliseconds.",
                                  where::kTime};
inline constexpr Meaning kTakesUs{"How long it takes.", "µs", "Its cycles over the clock, in microseconds.",
                                  where::kTime};
inline constexpr Meaning kTakesCycles{"How long it takes.", "cycles", "Cycles of the chip's clock.", where::kTime};

// Supersteps.
inline constexpr Meaning kStepCycles{"Cycles of the superstep.", "cycles",
                                     "Compute, exchange and sync cycles; the slowest tile decides.", where::kSteps};
inline constexpr Meaning kStepCompute{"Of the cycles, what the slowest tile computes.", "cycles",
                                      "Compute supersteps: all but sync, launch and route. Others: 0.", where::kSteps};
inline constexpr Meaning kStepExchange{"Of the cycles, what moving data takes.", "cycles",
                                       "Supersteps other than compute: all but sync, launch and route.", where::kSteps};
inline constexpr Meaning kStepSync{"Of the cycles, what sync, launch and route take.", "cycles",
                                   "/chip/exchange/superstep for each superstep.", where::kSteps};
inline constexpr Meaning kStepBytes{"Bytes that the superstep moves, in total by one IPU.", "bytes",
                                    "Of an exchange: what the busiest tile receives, times the tiles that take part.",
                                    where::kSteps};
inline constexpr Meaning kStepLive{"Bytes live on the fullest tile while it runs, always-live ones excluded.", "bytes",
                                   "Results that still are needed, and what the superstep itself needs.",
                                   where::kMemory};
inline constexpr Meaning kSupersteps{"Supersteps.", "supersteps", "Rows of the program's list that belong to it.",
                                     where::kSteps};
inline constexpr Meaning kCountsTo{"The term of the waterfall that most of the superstep counts to.", "",
                                   "By its kind; padding, fixed cost and sync count to terms of their own.",
                                   where::kSteps};

// Memory.
inline constexpr Meaning kTileBytes{"Bytes on the fullest tile of the IPU at its peak.", "bytes",
                                    "Always-live bytes, and the peak of what is not always live.", where::kMemory};
inline constexpr Meaning kCategoryBytes{"Bytes of a category on the fullest tile of the IPU, at its peak.", "bytes",
                                        "As the table of categories says; sums are of the rows below them.",
                                        where::kMemory};
inline constexpr Meaning kLimitBytes{"What a tile holds.", "bytes", "/chip/tile_memory of the machine.",
                                     where::kMemory};
inline constexpr Meaning kLimitShare{"The share of what a tile holds.", "%", "Bytes over /chip/tile_memory.",
                                     where::kMemory};
inline constexpr Meaning kTileError{
    "How unsure the bytes of the fullest tile are, either side, at 95 %.", "bytes",
    "The calibration's memory_band, mostly code, and its temporary_band of the bound on "
    "temporary memory.",
    where::kSure};
inline constexpr Meaning kSpareBytes{"What is to spare on the fullest tile; negative: over.", "bytes",
                                     "Limit less the fullest tile.", where::kMemory};
inline constexpr Meaning kCodeBytes{"Code on a tile of the IPU.", "bytes",
                                    "Vertex, exchange and control code, in the phase that has most.", where::kMemory};
inline constexpr Meaning kCodeLimit{"Code that a tile may hold.", "bytes", "/chip/executable_memory of the machine.",
                                    where::kMemory};
inline constexpr Meaning kDdrBytes{"Bytes held in Streaming Memory for one IPU.", "bytes",
                                   "What lives there over its shard degrees, the stash of phases, and host data.",
                                   where::kMemory};
inline constexpr Meaning kDdrLimit{"Streaming Memory that an IPU may use.", "bytes",
                                   "/streaming/capacity over the IPUs of a machine.", where::kMemory};
inline constexpr Meaning kDdrMib{"Bytes held in Streaming Memory for the IPU that holds most.", "MiB",
                                 "What lives there over its shard degrees, the stash of phases, and host data.",
                                 where::kMemory};
inline constexpr Meaning kVariableBytes{"Bytes of the variable on the fullest tile.", "bytes",
                                        "Its bytes on the IPU over the tiles, rounded up to 8.", where::kMemory};
inline constexpr Meaning kVariableShare{"The variable beside the largest of the table.", "",
                                        "Its bytes over those of the largest, as a bar.", where::kViewer};
inline constexpr Meaning kFirstStep{"The first program step at which it stands.", "program step",
                                    "Calls in program order with each superstep once, from 0.", where::kViewer};
inline constexpr Meaning kLastStep{"The last program step at which it stands.", "program step",
                                   "Calls in program order with each superstep once, from 0.", where::kViewer};
inline constexpr Meaning kLifetime{"How many program steps it stands.", "program steps",
                                   "Last step less first step, and 1.", where::kViewer};
inline constexpr Meaning kAlways{"Whether it stands through the whole step.", "", "From the first to the last step.",
                                 where::kMemory};
inline constexpr Meaning kProgramStep{"A program step: calls in program order, each superstep once.", "program step",
                                      "Counted from 0.", where::kViewer};
inline constexpr Meaning kResident{"What stands on the tile all the while the phase runs.", "bytes",
                                   "Always-live bytes, and what earlier calls keep.", where::kMemory};
inline constexpr Meaning kLive{"What is live on the tile on top of what stands there.", "bytes",
                               "Results that still are needed, and what the superstep itself needs.", where::kMemory};
inline constexpr Meaning kLiveTotal{"All that is live on the tile at the program step.", "bytes",
                                    "What stands there and what is live in the step.", where::kMemory};
inline constexpr Meaning kAddress{"Where the variable may stand on the tile.", "bytes",
                                  "From 0: what always stands first, then largest first, each at the lowest addresses "
                                  "that are free as long as it stands. A compiler may place it elsewhere.",
                                  where::kViewer};
inline constexpr Meaning kTop{"Behind the highest address that is in use at the program step.", "bytes",
                              "Of all variables that stand there, each at its address.", where::kViewer};
inline constexpr Meaning kGaps{"Bytes below the highest address in use that hold nothing at the program step.", "bytes",
                               "Highest address less the total.", where::kViewer};
inline constexpr Meaning kPointBytes{"Bytes on the tile at the program step.", "bytes",
                                     "Total is what stands there and what is live in the step.", where::kMemory};

// Tiles.
inline constexpr Meaning kStepTiles{"Tiles that take part in the step.", "tiles",
                                    "As the lowered program spreads it, from the first tile; all: every tile that "
                                    "computes.",
                                    where::kSteps};
inline constexpr Meaning kActiveTiles{"Tiles that compute at all while the phase runs.", "tiles",
                                      "Tiles of its runs that have compute cycles.", where::kViewer};
inline constexpr Meaning kFirstTile{"The first of a run of tiles that are alike.", "tile",
                                    "Tiles are alike in a phase when the same supersteps use them.", where::kViewer};
inline constexpr Meaning kPhaseError{"How unsure the time of a phase is: 95 % of the worlds are within, either side.",
                                     "%",
                                     "Half of what 95 % of the worlds of the step time lie within, over the phase's "
                                     "time: the errors of what its supersteps are made of. All tiles of a phase have "
                                     "it, since it ends with the slowest one.",
                                     where::kSure};
inline constexpr Meaning kTileIdle{"Cycles of the phase in which each of the tiles does not compute.", "cycles",
                                   "Cycles of the phase, less the tile's compute cycles: exchange, sync, and waiting "
                                   "for the slowest tile.",
                                   where::kViewer};
inline constexpr Meaning kListedTile{
    "Bytes on the tile, at the step of the cursor or, without one, at the tile's own peak.", "bytes",
    "What stands there while the phase runs, and what supersteps that use the tile "
    "have live.",
    where::kMemory};
inline constexpr Meaning kFillFrom{"More than this is live on each of the tiles at its own peak.", "bytes",
                                   "Steps of one size, down from the limit of a tile.", where::kViewer};
inline constexpr Meaning kFillTo{"At most this is live on each of the tiles at its own peak.", "bytes",
                                 "Steps of one size, down from the limit of a tile.", where::kViewer};
inline constexpr Meaning kFillTiles{"Tiles of all IPUs whose peak lies in these bounds.", "tiles",
                                    "Tiles of each kind of IPU, times the IPUs that are alike.", where::kViewer};
inline constexpr Meaning kFillIpus{"The kinds of IPU that the tiles are of.", "", "In the order of the pipeline.",
                                   where::kViewer};
inline constexpr Meaning kFullTiles{"Neighbouring tiles with the same peak.", "", "Tiles are counted from 0.",
                                    where::kViewer};
inline constexpr Meaning kFullTilesPeak{"The most bytes live on each of the tiles in any phase.", "bytes",
                                        "The largest of its phases.", where::kMemory};
inline constexpr Meaning kFullTilesPhase{"The first phase in which the tiles are at their peak.", "",
                                         "In program order.", where::kViewer};
inline constexpr Meaning kFullTilesSpare{"What is to spare on each of the tiles; negative: over.", "bytes",
                                         "Limit less the tile's peak.", where::kMemory};
inline constexpr Meaning kTileCount{"Tiles in the run.", "tiles",
                                    "Tiles are alike in a phase when the same supersteps use them.", where::kViewer};
inline constexpr Meaning kTileLive{"The most bytes live on each of the tiles during the phase.", "bytes",
                                   "What stands there, and the most of any superstep that uses the tile.",
                                   where::kMemory};
inline constexpr Meaning kTileCompute{"Cycles that each of the tiles computes, each time the phase runs.", "cycles",
                                      "Sum over the phase's compute supersteps that use the tile, without sync.",
                                      where::kSteps};
inline constexpr Meaning kTileExchange{"Bytes that each of the tiles receives, each time the phase runs.", "bytes",
                                       "Sum over the phase's exchanges that the tile takes part in.", where::kSteps};
inline constexpr Meaning kPhaseStepCycles{"Cycles of a layer's phase in a step, all its runs.", "cycles",
                                          "Cycles of one run, times its repeats; of several calls of one name the sum.",
                                          where::kTime};
inline constexpr Meaning kLayerLive{"The most bytes live on any tile during the phase.", "bytes",
                                    "The largest over tiles; of several calls of one name, over those.",
                                    where::kMemory};
inline constexpr Meaning kLayerCompute{"The most cycles that a tile computes, each time the phase runs.", "cycles",
                                       "The largest over tiles; of several calls of one name, over those.",
                                       where::kSteps};
inline constexpr Meaning kLayerExchange{"The most bytes that a tile receives, each time the phase runs.", "bytes",
                                        "The largest over tiles; of several calls of one name, over those.",
                                        where::kSteps};
inline constexpr Meaning kLayerIdle{"The most cycles in which a tile of the phase does not compute.", "cycles",
                                    "The largest over tiles; of several calls of one name, over those.", where::kSteps};

// Program.
inline constexpr Meaning kDepth{"How deep it stands in the program tree.", "levels", "The root has 0.", where::kViewer};
inline constexpr Meaning kNode{"A node of the program tree, or a superstep below a call.", "",
                               "Repeats are not unrolled.", where::kTime};
inline constexpr Meaning kNodeKind{"The kind of node.", "", "sequence, repeat, parallel, call or step.", where::kTime};
inline constexpr Meaning kIterations{"How often it runs each time it is entered.", "times",
                                     "The count of a repeat; 1 of all else.", where::kTime};
inline constexpr Meaning kTimes{"How often it is entered in a step.", "times",
                                "The product of the iterations around it.", where::kTime};
inline constexpr Meaning kCyclesOfOne{"Cycles of one iteration.", "cycles",
                                      "Its children one after another; of a parallel, the longest.", where::kTime};
inline constexpr Meaning kCyclesInTotal{"Cycles in an optimizer step.", "cycles",
                                        "Times entered x iterations x cycles of one.", where::kTime};
inline constexpr Meaning kShareOfStep{"The share of the step.", "%", "Its cycles in total over those of the step.",
                                      where::kTime};
inline constexpr Meaning kFact{"What is known of what is selected: the name of a fact.", "", "", where::kViewer};
inline constexpr Meaning kFactValue{"What is known of what is selected.", "",
                                    "As the report has it; the fact's name says what it is and its unit follows it.",
                                    where::kViewer};

// Operations.
inline constexpr Meaning kOperation{"An operation of the model, or what calls or kinds are summed under.", "",
                                    "Supersteps of the same op belong together.", where::kSteps};
inline constexpr Meaning kCalls{"How often it runs in a step on the IPU shown.", "times",
                                "Calls of its function, by the repeats of their phases.", where::kTime};
inline constexpr Meaning kOpCycles{"Cycles in a step on the IPU shown.", "cycles",
                                   "Cycles of its supersteps times its calls.", where::kSteps};
inline constexpr Meaning kOpMs{"Time in a step on the IPU shown.", "ms", "Its cycles over the clock.", where::kSteps};
inline constexpr Meaning kOpShare{"The share of the step time.", "%", "Its time over the step time.", where::kTime};
inline constexpr Meaning kOfPeak{"The product against the peak of all tiles.", "%",
                                 "Its seconds at the rate of the operands' type on all tiles, over its seconds with "
                                 "operands, partial sums and supersteps.",
                                 where::kProducts};
inline constexpr Meaning kAmp{"How well the vertex uses the matrix unit (AMP).", "%",
                              "Cycles on useful rows over all of the vertex.", where::kProducts};
inline constexpr Meaning kProduct{"The matrix product: rows x contracted x columns.", "", "Of the whole IPU.",
                                  where::kProducts};
inline constexpr Meaning kOpCompute{"Of its cycles, computing.", "cycles", "Sum over its supersteps, times its calls.",
                                    where::kSteps};
inline constexpr Meaning kOpExchange{"Of its cycles, moving data.", "cycles",
                                     "Sum over its supersteps, times its calls.", where::kSteps};
inline constexpr Meaning kOpSync{"Of its cycles, sync, launch and route.", "cycles",
                                 "Sum over its supersteps, times its calls.", where::kSteps};
inline constexpr Meaning kOpBytes{"Bytes moved in a step by one IPU.", "bytes",
                                  "Sum over its supersteps, times its calls.", where::kSteps};
inline constexpr Meaning kOpLive{"The most bytes live on the fullest tile while it runs, always-live ones excluded.",
                                 "bytes", "The largest of its supersteps.", where::kMemory};

// Pipeline and trace.
inline constexpr Meaning kLane{"A lane: one IPU, or what streams beside it.", "", "As the program's tree says.",
                               where::kViewer};
inline constexpr Meaning kWork{"What is done, or what is waited for.", "",
                               "By the pass of a call or the kind of a step; gaps are charged to their cause.",
                               where::kViewer};
inline constexpr Meaning kWorkMs{"Time of all IPUs in a step.", "ms", "Its cycles over the clock, summed over IPUs.",
                                 where::kTime};
inline constexpr Meaning kWorkShare{"The share of all IPUs' step.", "%",
                                    "Its cycles over the step's cycles times the IPUs.", where::kTime};
inline constexpr Meaning kWorkCyclesOfAll{"Cycles of all IPUs in a step.", "cycles", "Sum over the IPUs.",
                                          where::kTime};
inline constexpr Meaning kWorkCycles{"Cycles of the lane in a step.", "cycles",
                                     "Sum of its stretches that are of this work.", where::kTime};
inline constexpr Meaning kMicroBatch{"The micro-batch it works on, from 0; of none: empty.", "micro-batch",
                                     "Iteration of the repeat less the call's lag.", where::kTime};
inline constexpr Meaning kCopyTo{"The IPU whose box works on the micro-batch next.", "",
                                 "The order in time of the boxes of one micro-batch.", where::kViewer};
inline constexpr Meaning kCopied{"What is copied: activations on the way forward, gradients on the way back.", "",
                                 "The pass of the box ahead of the copy.", where::kViewer};
inline constexpr Meaning kCopyBytes{"What one IPU moves in the copy, at the widest boundary between stages.", "bytes",
                                    "The step's bytes; IPUs copy at the same time, in both directions.", where::kSteps};
inline constexpr Meaning kCriticalLane{"The IPU that the others wait for.", "",
                                       "Backwards from the end: it stays the same until it waits for another, which "
                                       "then is.",
                                       where::kViewer};
inline constexpr Meaning kRecompute{"Of the cycles, forward passes that run again.", "cycles",
                                    "Sum of its recompute stretches.", where::kTime};
inline constexpr Meaning kTraceStep{"A superstep of the trace, or what is waited for.", "",
                                    "Steps too short for the window are joined.", where::kViewer};
inline constexpr Meaning kTraceCall{"The call that the superstep belongs to.", "", "As the program's tree says.",
                                    where::kViewer};
inline constexpr Meaning kProportion{"A proportion of an IPU's step.", "", "One row per kind of time, then counts.",
                                     where::kViewer};
inline constexpr Meaning kProportionValue{
    "A proportion of the IPU's step, or a count; the row says which, and its "
    "unit.",
    "as the row says", "Cycles of the kind over the cycles of the step.", where::kViewer};
inline constexpr Meaning kWorksMs{"Time of the IPU in a step that it computes or moves data.", "ms",
                                  "The step less waiting.", where::kTime};
inline constexpr Meaning kWaitsMs{"Time of the IPU in a step that it waits.", "ms",
                                  "Ramps of the pipeline, other IPUs, Streaming Memory, and parts it has none of.",
                                  where::kTime};
inline constexpr Meaning kWorksCycles{"Cycles of the IPU in a step that it computes or moves data.", "cycles",
                                      "The step less waiting.", where::kTime};
inline constexpr Meaning kWaitsCycles{"Cycles of the IPU in a step that it waits.", "cycles",
                                      "Ramps of the pipeline, other IPUs, Streaming Memory, and parts it has none of.",
                                      where::kTime};

// Phases and Streaming Memory.
inline constexpr Meaning kPhase{"A phase of phased execution, or the call of a stage.", "", "In program order.",
                                where::kTime};
inline constexpr Meaning kRuns{"The units that it runs, first and last.", "", "As the plan's cuts say.", where::kTime};
inline constexpr Meaning kPhaseNumber{"The phase, or in plans without phases the stage, whose units run.", "",
                                      "As the plan's cuts say; empty: none.", where::kTime};
inline constexpr Meaning kComputingMs{"Computing, on the busiest IPU group, collectives included.", "ms",
                                      "Cycles of its calls over the clock. Computing and streaming may overlap, and "
                                      "then sum to more than the phase takes.",
                                      where::kTime};
inline constexpr Meaning kLoadingMs{"Loading from Streaming Memory or the host, for itself and for what comes next.",
                                    "ms", "Bytes over the DDR rate of an IPU.", where::kStreaming};
inline constexpr Meaning kStoringMs{"Storing to Streaming Memory.", "ms", "Bytes over the DDR rate of an IPU.",
                                    where::kStreaming};
inline constexpr Meaning kComputingCycles{"Computing, on the busiest IPU group, collectives included.", "cycles",
                                          "Cycles of its calls. Computing and streaming may overlap, and then sum to "
                                          "more than the phase takes.",
                                          where::kTime};
inline constexpr Meaning kLoadingCycles{
    "Loading from Streaming Memory or the host, for itself and for what comes next.", "cycles",
    "Bytes over the DDR rate of an IPU.", where::kStreaming};
inline constexpr Meaning kStoringCycles{"Storing to Streaming Memory.", "cycles", "Bytes over the DDR rate of an IPU.",
                                        where::kStreaming};
inline constexpr Meaning kBoundBy{"What the phase waits for.", "",
                                  "Streaming Memory where loading and storing take longer than computing.",
                                  where::kStreaming};
inline constexpr Meaning kStretch{"A stretch of the step: a phase, or what comes before and after.", "",
                                  "Without phases all children of the program's root.", where::kStreaming};
inline constexpr Meaning kHeldNow{"Bytes in Streaming Memory for the IPU during the stretch.", "bytes",
                                  "Sum of what lies there then.", where::kStreaming};
inline constexpr Meaning kLoadedBytes{"Bytes that one IPU loads in the stretch, all its iterations.", "bytes",
                                      "Of the load steps in it.", where::kStreaming};
inline constexpr Meaning kStoredBytes{"Bytes that one IPU stores in the stretch, all its iterations.", "bytes",
                                      "Of the store steps in it.", where::kStreaming};
inline constexpr Meaning kMeanRate{"The mean rate to and from Streaming Memory over the stretch.", "GB/s",
                                   "Bytes loaded and stored over the time that the stretch takes.", where::kStreaming};
inline constexpr Meaning kRoofShare{"The mean rate against what one IPU gets while all stream.", "%",
                                    "Mean rate over the lesser of /streaming/ipu_rate and its share of "
                                    "/streaming/machine_rate, times streaming_factor.",
                                    where::kStreaming};
inline constexpr Meaning kAhead{"For which later stretch it loads beside its own calls.", "", "Empty: for none.",
                                where::kStreaming};
inline constexpr Meaning kAheadBytes{"Of the bytes loaded, those for a later stretch.", "bytes",
                                     "Of the load steps beside its calls.", where::kStreaming};
inline constexpr Meaning kHeldName{"What lies in Streaming Memory for the IPU.", "", "By unit and category.",
                                   where::kMemory};
inline constexpr Meaning kHeldMib{"Bytes that lie in Streaming Memory for one IPU.", "MiB",
                                  "Of one IPU, shards by their degree.", where::kMemory};
inline constexpr Meaning kHeldBytes{"Bytes that lie in Streaming Memory for one IPU.", "bytes",
                                    "Of one IPU, shards by their degree.", where::kMemory};
inline constexpr Meaning kHeldFrom{"The first stretch in which it lies there.", "", "As the program moves it.",
                                   where::kStreaming};
inline constexpr Meaning kHeldTo{"The last stretch in which it lies there.", "", "As the program moves it.",
                                 where::kStreaming};
inline constexpr Meaning kHeldStretches{"How many stretches it lies there.", "stretches", "Last less first, and 1.",
                                        where::kStreaming};

// The model graph.
inline constexpr Meaning kUnit{"A unit of the model graph: between units pipelines may be cut.", "",
                               "As the model is built.", where::kSpace};
inline constexpr Meaning kLayer{"The layer that the unit belongs to; empty: none.", "", "As the model is built.",
                                where::kSpace};
inline constexpr Meaning kStage{"The stage of the pipeline that runs the unit, from 0.", "", "As the plan's cuts say.",
                                where::kSpace};
inline constexpr Meaning kUnitPhase{"The phase of phased execution that runs the unit.", "", "As the plan's cuts say.",
                                    where::kSpace};
inline constexpr Meaning kState{"What becomes of the unit at the cursor.", "",
                                "idle, waiting, done, running, loading or storing.", where::kViewer};
inline constexpr Meaning kParameters{"Parameters of the unit.", "parameters", "Elements of its weights.",
                                     where::kMemory};
inline constexpr Meaning kWeightMb{"Weights of the unit on one IPU.", "MB", "Bytes of its weights, in 10^6 bytes.",
                                   where::kMemory};
inline constexpr Meaning kWeightBytes{"Weights of the unit on one IPU.", "bytes",
                                      "Parameters by the bytes of their type.", where::kMemory};
inline constexpr Meaning kEdge{"A unit of the model graph.", "",
                               "An edge is what a unit's forward pass takes from another's.", where::kSpace};
inline constexpr Meaning kEdgeMb{"What passes between the units for one micro-batch.", "MB",
                                 "Bytes of the tensors, in 10^6 bytes.", where::kTime};
inline constexpr Meaning kEdgeBytes{"What passes between the units for one micro-batch.", "bytes",
                                    "Bytes of the tensors.", where::kTime};
inline constexpr Meaning kRunsInPhase{"How often it runs in the phase.", "times", "Iterations of the phase's repeat.",
                                      where::kTime};

// Marks.
inline constexpr Meaning kMark{"What was marked: the selection when the mark was made, by name.", "", "",
                               where::kMarks};
inline constexpr Meaning kNote{"What was written about it.", "", "", where::kMarks};
inline constexpr Meaning kMarkView{"The view in which the mark was made.", "", "", where::kMarks};

// Numbers that no table has.
inline constexpr Meaning kRowCount{"How many rows a table of the view has.", "rows", "Counted.", where::kViewer};
inline constexpr Meaning kTick{"A tick of an axis or a scale, or the end of a slider: no number of the report.", "",
                               "Round numbers over the range that is seen.", where::kViewer};

// The batch page.
inline constexpr Meaning kPlace{"The place in the queue.", "", "Counted from 1.", where::kBatch};
inline constexpr Meaning kJob{"The job or sweep, by its file.", "", "", where::kBatch};
inline constexpr Meaning kBatchState{"Whether it waits, runs, is done, failed or was cancelled.", "",
                                     "As the child program says while it runs.", where::kBatch};
inline constexpr Meaning kProgress{"How much of it is done.", "share", "As the child program says; 1: all.",
                                   where::kBatch};
inline constexpr Meaning kBatchTime{"How long it has run.", "s", "By the clock.", where::kBatch};
inline constexpr Meaning kPlanOrWhy{"The plan's label, or why there is none.", "",
                                    "As the report says; while it runs, what is done just now.", where::kBatch};
inline constexpr Meaning kGap{"How much faster a plan may be that the search did not look at.", "%",
                              "The distance to the highest bound that was left; 0: the plan is the best of the space.",
                              where::kSearch};
inline constexpr Meaning kReportFile{"The file that has the report or the results.", "", "", where::kBatch};
inline constexpr Meaning kItem{"The item of the sweep.", "", "Counted from 0, the last pointer varying fastest.",
                               where::kSweeps};
inline constexpr Meaning kValues{"The values that the item gives to the fields of the sweep's grid.", "",
                                 "As the sweep's file lists them.", where::kSweeps};
// Written in the unit of the heading.
inline constexpr Meaning kBatchTile{"Bytes on the fullest tile at its peak.", "as the heading says",
                                    "Always-live bytes, and the peak of what is not always live.", where::kMemory};
inline constexpr Meaning kBatchSpare{"What is to spare on the fullest tile; negative: over.", "as the heading says",
                                     "Limit less the fullest tile.", where::kMemory};

}  // namespace superstep::gui::means
