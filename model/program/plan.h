// SPDX-License-Identifier: Apache-2.0
// A plan: how a model is spread over a machine. A job can pin every field; fields that are not pinned are searched.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/graph/tensor.h"
#include "model/program/cap_range.h"

namespace superstep {

enum class Schedule : std::uint8_t { sequential, interleaved, grouped };
// Extent of recompute, by the tensors that a stage stores from its forward to its backward pass.
enum class Recompute : std::uint8_t {
  none,   // all tensors that backward reads: nothing is recomputed
  layer,  // the input of each layer (recompute checkpoint)
  stage   // the input of the stage
};
// Memory that holds a tensor.
enum class Location : std::uint8_t {
  in_processor,    // the IPU's own tiles
  streaming,       // Streaming Memory of the IPU's machine
  remote_machine,  // Streaming Memory of another machine
  remote_ipu       // tiles of another IPU (remote tiles)
};
// Order of the loops of phased execution.
enum class PhaseOrder : std::uint8_t {
  phase_outer,       // each phase runs all micro-batches
  micro_batch_outer  // each micro-batch runs all phases
};
// Time at which data of a phase are loaded.
enum class LoadSchedule : std::uint8_t {
  preload,   // during the phase before
  on_demand  // when the phase begins
};

// Activations that the IPUs of a mesh hold in shards rather than whole on each IPU.
enum class ActivationSharding : std::uint8_t {
  none,
  stored,     // stored activations, which are gathered when fetched
  throughout  // all activations between the split products of a layer
};

// Order in which t, p and r number the IPUs, innermost first. In t_p_r the IPUs of a mesh are neighbours on the links,
// then come the stages of a pipeline, then replicas.
enum class Placement : std::uint8_t { t_p_r, p_t_r, t_r_p, p_r_t, r_t_p, r_p_t };
inline constexpr std::array kPlacements = {Placement::t_p_r, Placement::p_t_r, Placement::t_r_p,
                                           Placement::p_r_t, Placement::r_t_p, Placement::r_p_t};

// Number of IPUs from one member to the next: in a mesh (its inner dimension), in a pipeline, and among replicas.
struct Strides {
  std::int64_t rank = 1, stage = 1, replica = 1;
  friend bool operator==(const Strides&, const Strides&) = default;
};
// Returns the strides for meshes of `t` IPUs, `p` stages and `r` replicas. A dimension of size 1 has stride 1.
Strides strides(Placement placement, std::int64_t t, std::int64_t p, std::int64_t r);
// Returns the placements that differ in their strides, in the order of kPlacements. Every other placement has the
// strides of a returned placement.
std::vector<Placement> placements(std::int64_t t, std::int64_t p, std::int64_t r);
// True if the IPUs of each replica lie within `most` consecutive IPUs, as placements other than t_p_r must. Always true
// for t_p_r.
bool lies_within(std::int64_t most, Placement placement, std::int64_t t, std::int64_t p, std::int64_t r);

// The mesh of IPUs that share each layer's tensors, of one or two dimensions.
struct TensorParallel {
  std::int64_t t1 = 1, t2 = 1;
  std::int64_t size() const { return t1 * t2; }
  friend auto operator<=>(const TensorParallel&, const TensorParallel&) = default;
};

// Groups of d of r replicas that hold one shard each of a tensor: d consecutive replicas, or every (r / d)-th replica.
enum class ShardGroups : std::uint8_t { consecutive, orthogonal };

// Shard degrees over the replicas; 1: not sharded. Each degree divides the number of replicas.
struct ReplicatedTensorSharding {
  std::int64_t weights = 1, gradients = 1, optimizer_state = 1;
  ShardGroups groups = ShardGroups::consecutive;
  friend bool operator==(const ReplicatedTensorSharding&, const ReplicatedTensorSharding&) = default;
};

// Location of each class of data between its uses.
struct Locations {
  Location weights = Location::in_processor;
  Location gradients = Location::in_processor;
  Location optimizer_state = Location::in_processor;
  Location activations = Location::in_processor;
  Location code = Location::in_processor;
  friend bool operator==(const Locations&, const Locations&) = default;
};

// Load schedules of weights and code. The schedule of code has no effect while code stays on its tiles.
struct LoadSchedules {
  LoadSchedule weights = LoadSchedule::on_demand;
  LoadSchedule code = LoadSchedule::on_demand;
  friend bool operator==(const LoadSchedules&, const LoadSchedules&) = default;
};

// Number formats by class of data.
struct Precision {
  DType weights = DType::fp16, activations = DType::fp16, partials = DType::fp16, accumulators = DType::fp16;
  DType first_moment = DType::fp32, second_moment = DType::fp32;
  bool master = false;  // true: an fp32 copy of fp16 weights is kept beside the optimiser state
  friend bool operator==(const Precision&, const Precision&) = default;
};

// Numbers of parts in which large ops run, to bound their temporary memory. 0: the tile planner decides.
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
  // The first unit of each stage, ascending from 0. A plan without phases may have pipeline_stages + 1 stages: the last
  // stage then returns to IPU group 0. A plan with phases lists the stages of all phases in order.
  std::vector<std::int64_t> stages = {0};
  std::vector<std::int64_t> stage_ipu = {0};  // by stage: the IPU group that runs the stage
  Schedule schedule = Schedule::grouped;
  std::vector<Recompute> recompute = {Recompute::layer};  // by stage; a single entry serves for all stages
  // Phased execution: the first stage of each phase. One entry {0}: a single phase.
  std::vector<std::int64_t> phases = {0};
  PhaseOrder phase_order = PhaseOrder::phase_outer;
  std::int64_t phase_groups = 1;  // 2: phases alternate between two phase groups of IPUs
  ReplicatedTensorSharding replicated_tensor_sharding;
  ActivationSharding activation_sharding = ActivationSharding::none;
  Locations location;
  std::int64_t io_tiles = 0;
  LoadSchedules load;
  std::int64_t prefetch_depth = 1;
  Precision precision;
  Proportion available_memory_proportion = 0.6;
  // Bounds by stage, in place of available_memory_proportion. Empty: all stages have that bound.
  std::vector<Proportion> stage_proportions;
  Serialisation serialisation;

  std::int64_t ipus() const { return tensor_parallel.size() * pipeline_stages * replicas; }
  // Returns the loosest bound on temporary memory of its stages, in bytes per tile.
  Bytes temporary_cap(const Chip& chip) const;
  Strides strides() const;
  // True if the IPUs of each replica are consecutive.
  bool replicas_outermost() const;
  std::int64_t replica_batch() const { return micro_batch * gradient_accumulation; }  // samples per replica and step
  std::int64_t global_batch() const { return replica_batch() * replicas; }            // samples per step
  // True for phased execution: several phases, or phase order micro_batch_outer.
  bool phased() const { return phases.size() > 1 || phase_order == PhaseOrder::micro_batch_outer; }
  // True if boundaries between phases stay on the tiles: only in inference (check_plan()).
  bool boundaries_stay() const { return phased() && location.activations == Location::in_processor; }
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Returns a short text of the plan's main degrees for a table row: "t=8 p=8 r=4 m=1 g=128, 37 phases".
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
