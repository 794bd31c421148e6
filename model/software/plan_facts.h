// SPDX-License-Identifier: Apache-2.0
// The facts of a plan and its job that rules of software ask about.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "model/software/rules.h"

namespace superstep {

// What rules ask about the units of a model.
struct UnitFacts {
  // A weight that two units use: the first of all its users, and another one.
  struct Tie {
    std::int64_t owner = 0, borrower = 0;
  };
  std::vector<std::int64_t> layers;  // by unit; -1: in no layer
  std::vector<Tie> ties;
};

// Returns the facts of a plan (written in full, as plan_json of a report) and its job. Throws nlohmann::json::exception
// or std::out_of_range if the two are not as Superstep writes them.
//
// Facts with the names of the plan's fields: numbers and names as they are, "location.weights" for members, the counts
// of `stages` and `phases`, the product of `tensor_parallel`, the way of loading weights for `load`, "mixed" for a
// `recompute` that differs between stages. "task", "model" (the name in the zoo, or "onnx"), "model_family" (the name
// up to the first "-"), "optimizer.*" and "run.*" are the job's, with the defaults of what it leaves out. Further
// facts:
// * tensor_parallel_2: the second dimension of the mesh
// * ipus, ipus_per_replica, ipus_per_instance, local_replicas: an instance is one of run.instances processes, which
//   has the local replicas. A job that does not say run.instances has a process for each IPU-Link domain
// * is_phased, is_pipelined: pipelined is several stages that work at a time
// * pipeline_depth: stages forward, and in training backward without the last; stages that follow each other on one IPU
//   count once
// * pipeline_depth_from_ipu_0: the same, with one stage forward more if the first stage is on another IPU than IPU 0
// * stage_passes: stages forward, and in training as many backward
// * stage_passes_beside_io: and one pass that loads, and one that stores
// * tied_ipus: the most IPUs on which one weight is used
// * shard_degree: the largest degree of replicated tensor sharding
// * is_partly_sharded: whether some tensor is shared by several replicas, but not by all
// * streams: whether a tensor is in Streaming Memory
// * recomputation: PopART's RecomputationType (NoRecompute, Pipeline, RecomputeAll); "mixed" if it has none for this
// * stages_per_phase: the most stages of a phase
// * launch.replicas, launch.ipus_per_replica: as PopRun and V-IPU count them. Without a pipeline, or if a pipeline's
//   IPUs follow each other, each IPU of a tensor-parallel group is a replica, as in PopXL. Else a replica is a whole
//   replica of the model, whose IPUs the program places.
// * link_domains: the IPU-Link domains (of 64 IPUs) that the plan fills
// * compilation_domains: the larger of link_domains and run.instances
// * is_mesh_of_pipelines: whether a replica has several tensor-parallel IPUs and several stages
// * is_phase_per_layer: whether each layer is one phase, as is what comes before and after the layers
PlanFacts plan_facts(const nlohmann::json& plan, const nlohmann::json& job, const UnitFacts& units);

// Returns those of the facts that are the same wherever the model is cut: all but stages, phases, recompute,
// is_pipelined, pipeline_depth, stages_per_phase, tied_ipus, is_phase_per_layer and recomputation. Fields of the plan
// that say where it is cut are not read.
PlanFacts setting_facts(const nlohmann::json& plan, const nlohmann::json& job, bool is_phased);

}  // namespace superstep
