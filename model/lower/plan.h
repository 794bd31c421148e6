// SPDX-License-Identifier: Apache-2.0
// How a model is spread over a machine: every field can be pinned in a job; what is not pinned is searched.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/graph/tensor.h"
#include "model/lower/cap_range.h"

namespace superstep {

enum class Schedule : std::uint8_t { sequential, interleaved, grouped };
// What is stored between a forward and its backward: everything, one checkpoint per layer, or the stage's inputs.
enum class Recompute : std::uint8_t { none, layer, stage };
enum class Location : std::uint8_t { in_processor, streaming, remote_machine, remote_ipu };
enum class PhaseOrder : std::uint8_t { phase_outer, micro_batch_outer };
enum class LoadSchedule : std::uint8_t { preload, on_demand };

// What t shares of the activations that each of its IPUs would hold whole: nothing, what is stored (gathered again
// when it is fetched), or all that lies between a layer's split products.
enum class ActivationSharding : std::uint8_t { none, stored, throughout };

// How t, p and r count the IPUs, innermost first: with t_p_r the IPUs of a mesh are neighbours on the links, then come
// the stages of a pipeline, then replicas.
enum class Placement : std::uint8_t { t_p_r, p_t_r, t_r_p, p_r_t, r_t_p, r_p_t };
inline constexpr std::array kPlacements = {Placement::t_p_r, Placement::p_t_r, Placement::t_r_p,
                                           Placement::p_r_t, Placement::r_t_p, Placement::r_p_t};

// IPUs from one to the next of a mesh (of its inner dimension), of a pipeline, and of the replicas.
struct Strides {
  std::int64_t rank = 1, stage = 1, replica = 1;
  friend bool operator==(const Strides&, const Strides&) = default;
};
// Of meshes of `t` IPUs, `p` stages and `r` replicas. The stride of what there is one of means nothing: 1.
Strides strides(Placement placement, std::int64_t t, std::int64_t p, std::int64_t r);
// The placements that differ in their strides, in the order of kPlacements: all others are one of these.
std::vector<Placement> placements(std::int64_t t, std::int64_t p, std::int64_t r);
// Whether the IPUs of each replica are among `most` that follow each other, as placements other than t_p_r have to be.
bool lies_within(std::int64_t most, Placement placement, std::int64_t t, std::int64_t p, std::int64_t r);

// IPUs that share each layer's tensors, as a mesh of one or two dimensions.
struct TensorParallel {
  std::int64_t t1 = 1, t2 = 1;
  std::int64_t size() const { return t1 * t2; }
  friend auto operator<=>(const TensorParallel&, const TensorParallel&) = default;
};

// Which replicas share a tensor, a shard each: d of r that follow each other, or every (r / d)-th one.
enum class ShardGroups : std::uint8_t { consecutive, orthogonal };

// Shard degrees: 1 is unsharded. Each divides the IPUs that hold equal copies.
struct ReplicatedTensorSharding {
  std::int64_t weights = 1, gradients = 1, optimizer_state = 1;
  ShardGroups groups = ShardGroups::consecutive;
  friend bool operator==(const ReplicatedTensorSharding&, const ReplicatedTensorSharding&) = default;
};

struct Locations {
  Location weights = Location::in_processor;
  Location gradients = Location::in_processor;
  Location optimizer_state = Location::in_processor;
  Location activations = Location::in_processor;
  Location code = Location::in_processor;
  friend bool operator==(const Locations&, const Locations&) = default;
};

// When what a phase needs comes in: beside the phase before it, or when the phase itself begins. Code that stays on its
// tiles does not come.
struct LoadSchedules {
  LoadSchedule weights = LoadSchedule::on_demand;
  LoadSchedule code = LoadSchedule::on_demand;
  friend bool operator==(const LoadSchedules&, const LoadSchedules&) = default;
};

struct Precision {
  DType weights = DType::fp16, activations = DType::fp16, partials = DType::fp16, accumulators = DType::fp16;
  DType first_moment = DType::fp32, second_moment = DType::fp32;
  bool master = false;  // an fp32 copy of fp16 weights beside the optimizer state
  friend bool operator==(const Precision&, const Precision&) = default;
};

// Factors by which a large op is run in parts, to bound its temporary memory. 0: the tile planner decides.
struct Serialisation {
  std::int64_t embedding = 0, head = 0, attention = 0, feed_forward = 0;
  friend auto operator<=>(const Serialisation&, const Serialisation&) = default;
};

struct Plan {
  TensorParallel tensor_parallel;
  std::int64_t pipeline_stages = 1;
  std::int64_t replicas = 1;
  Placement placement = Placement::t_p_r;
  std::int64_t micro_batch = 1;
  std::int64_t gradient_accumulation = 1;
  // Stages as runs of units: the first unit of each, ascending from 0. There may be one stage more
  // than pipeline_stages: the last one then returns to IPU 0. With phases: stages of all phases in order.
  std::vector<std::int64_t> stages = {0};
  std::vector<std::int64_t> stage_ipu = {0};  // which of the p IPU groups runs each stage
  Schedule schedule = Schedule::grouped;
  std::vector<Recompute> recompute = {Recompute::layer};  // per stage
  // Phased execution: the first stage of each phase. One entry {0}: not phased.
  std::vector<std::int64_t> phases = {0};
  PhaseOrder phase_order = PhaseOrder::phase_outer;
  std::int64_t phase_groups = 1;  // 2: ping-pong between two groups of IPUs
  ReplicatedTensorSharding replicated_tensor_sharding;
  ActivationSharding activation_sharding = ActivationSharding::none;
  Locations location;
  std::int64_t io_tiles = 0;
  LoadSchedules load;
  std::int64_t prefetch_depth = 1;
  Precision precision;
  Proportion available_memory_proportion = 0.6;
  std::vector<Proportion> stage_proportions;  // one for each stage in its place; empty: all stages have that
  Serialisation serialisation;

  std::int64_t ipus() const { return tensor_parallel.size() * pipeline_stages * replicas; }
  Strides strides() const;
  // Each replica's IPUs are next to each other.
  bool replicas_outermost() const;
  std::int64_t replica_batch() const { return micro_batch * gradient_accumulation; }
  std::int64_t global_batch() const { return replica_batch() * replicas; }
  bool phased() const { return phases.size() > 1 || phase_order == PhaseOrder::micro_batch_outer; }
  friend bool operator==(const Plan&, const Plan&) = default;
};

// "t=8 p=8 r=4 m=1 g=128, 37 phases": short and unique enough for a table row.
std::string label(const Plan& plan);

std::string_view name_of(Placement v);
std::string_view name_of(ShardGroups v);
std::string_view name_of(Schedule v);
std::string_view name_of(Recompute v);
std::string_view name_of(Location v);
std::string_view name_of(PhaseOrder v);
std::string_view name_of(LoadSchedule v);
std::string_view name_of(ActivationSharding v);

}  // namespace superstep
