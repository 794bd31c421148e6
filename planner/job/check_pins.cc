// SPDX-License-Identifier: Apache-2.0
#include "planner/job/check_pins.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace superstep {
namespace {

class PinCheck {
 public:
  PinCheck(const Job& job, std::int64_t units) : job_(job), pins_(job.pins), units_(units) {}

  void run() const {
    check_numbers();
    check_locations();
    check_sharding();
    check_stages();
    check_phases();
  }

 private:
  const Job& job_;
  const Pins& pins_;
  std::int64_t units_;

  [[noreturn]] void fail(const std::string& field, const std::string& message) const {
    throw IllegalPins(job_.source + "#/plan/" + field, message);
  }

  // Returns the only value of a pin; 0 if the pin is absent, a range or a list of several values.
  static std::int64_t single(const std::optional<IntegerPin>& pin) {
    return pin && pin->values.size() == 1 ? pin->values[0] : 0;
  }

  bool must_be_phased() const {
    if (pins_.one_phase()) return false;
    const std::vector<PhaseOrder>& orders = pins_.phase_order;
    return !pins_.may_be_one_phase() ||
           (!pins_.weights.empty() && std::ranges::count(pins_.weights, Location::in_processor) == 0) ||
           (!orders.empty() && std::ranges::count(orders, PhaseOrder::phase_outer) == 0);
  }

  void check_numbers() const {
    const std::int64_t tiles = job_.machine.chip.tiles;
    if (pins_.io_tiles) {
      for (std::int64_t v : pins_.io_tiles->values) {
        if (v >= tiles)
          fail("io_tiles", "found " + std::to_string(v) + ", expected fewer than the " + std::to_string(tiles) +
                               " tiles of " + job_.machine.chip.name);
      }
    }
    const std::int64_t p = single(pins_.pipeline_stages);
    if (p > units_ && !may_be_phased(job_))  // phases need not use all IPU groups
      fail("pipeline_stages", "found " + std::to_string(p) + ", but " + job_.model.name() + " has only " +
                                  std::to_string(units_) + " units between cut points");
  }

  void check_locations() const {
    if (job_.machine.has_streaming()) return;
    for (const auto* places :
         {&pins_.weights, &pins_.gradients, &pins_.optimizer_state, &pins_.activations, &pins_.code}) {
      for (Location l : *places) {
        if (l != Location::in_processor)
          fail("location",
               "found " + std::string(name_of(l)) + ", but " + job_.machine.name + " has no Streaming Memory");
      }
    }
  }

  void check_sharding() const {
    const std::int64_t r = single(pins_.replicas);
    if (r == 0) return;
    for (const auto& [name, pin] : {std::pair{"weights", pins_.rts_weights},
                                    {"gradients", pins_.rts_gradients},
                                    {"optimizer_state", pins_.rts_optimizer_state}}) {
      if (!pin || pin->values.empty()) continue;
      if (std::any_of(pin->values.begin(), pin->values.end(), [&](std::int64_t v) { return r % v == 0; })) continue;
      fail(
          "replicated_tensor_sharding/" + std::string(name),
          "found " + std::to_string(pin->values[0]) + ", which does not divide the " + std::to_string(r) + " replicas");
    }
  }

  void check_stages() const {
    if (pins_.stages && pins_.stages->back() >= units_) {
      fail("stages", "found unit " + std::to_string(pins_.stages->back()) + ", but the last unit of " +
                         job_.model.name() + " is " + std::to_string(units_ - 1));
    }
    const std::int64_t stages = pins_.has_stages() ? pins_.stage_count() : 0;
    if (pins_.stage_ipu) {
      if (stages == 0) fail("stage_ipu", "found without stages, expected both");
      if (static_cast<std::int64_t>(pins_.stage_ipu->size()) != stages) {
        fail("stage_ipu", "found " + std::to_string(static_cast<std::int64_t>(pins_.stage_ipu->size())) +
                              " IPU groups for " + std::to_string(stages) + " stages, expected one each");
      }
      const std::int64_t p = single(pins_.pipeline_stages);
      const std::int64_t highest = *std::max_element(pins_.stage_ipu->begin(), pins_.stage_ipu->end());
      if (p > 0 && highest >= p)
        fail("stage_ipu", "found IPU group " + std::to_string(highest) + ", but the " + std::to_string(p) +
                              " pipeline_stages are groups 0 to " + std::to_string(p - 1));
      if (!must_be_phased()) check_order_of_groups(p > 0 ? p : highest + 1);
    }
    if (const auto bounds = std::ssize(pins_.stage_proportions); bounds > 0) {
      const std::string field = "available_memory_proportion/stages";
      if (!pins_.stages) fail(field, "found without stages or layers_per_stage, expected the stages that they are for");
      if (bounds != stages)
        fail(field, "found " + std::to_string(bounds) + " bounds for " + std::to_string(stages) +
                        " stages, expected one for each stage or for each IPU of the pipeline");
    }
    if (!pins_.has_stage_modes()) return;
    const auto modes = std::ssize(pins_.recompute);
    if (stages > 0 && modes != stages)
      fail("recompute", "found " + std::to_string(modes) + " modes for " + std::to_string(stages) +
                            " stages, expected one each or one for all");
    if (stages == 0 && must_be_phased())
      fail("recompute", "found one mode per stage without stages, expected both with phases, or one mode for all");
  }

  // Each of the first p stages of a pipeline has an IPU group of its own, and one stage more the first one's.
  void check_order_of_groups(std::int64_t p) const {
    const std::vector<std::int64_t>& groups = *pins_.stage_ipu;
    const auto own = static_cast<std::size_t>(std::min(p, std::ssize(groups)));
    const std::set<std::int64_t> different(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(own));
    if (different.size() == own && (own == groups.size() || groups[own] == groups[0])) return;
    fail("stage_ipu",
         "found " + nlohmann::json(groups).dump() +
             ", expected an IPU group of its own for each stage of the pipeline, and the first one's again " +
             "for one stage more");
  }

  // What is done between phases has no effect with one.
  void check_fields_of_phases() const {
    if (!pins_.phase_order.empty() && std::ranges::count(pins_.phase_order, PhaseOrder::phase_outer) == 0)
      fail("phase_order", "found " + std::string(name_of(pins_.phase_order[0])) +
                              " with one phase, expected several phases, or phase_outer");
    if (pins_.phase_groups && !allows(pins_.phase_groups, 1))
      fail("phase_groups", "found " + std::to_string(pins_.phase_groups->least()) +
                               " with one phase, expected several phases, or 1 group");
  }

  void check_phases() const {
    const auto stages = static_cast<std::int64_t>(pins_.stages ? pins_.stages->size() : 0);
    if (pins_.phases && pins_.phases->size() > 1) {
      if (stages == 0)
        fail("phases", "found first stages of phases without stages, expected both, or a number of phases");
      if (pins_.phases->back() >= stages)
        fail("phases", "found stage " + std::to_string(pins_.phases->back()) + ", but the last stage is " +
                           std::to_string(stages - 1));
    }
    const std::int64_t all_stages = pins_.has_stages() ? pins_.stage_count() : 0;
    if (pins_.phase_count && all_stages > 0 && pins_.phase_count->least() > all_stages)
      fail("phases", "found " + std::to_string(pins_.phase_count->least()) + " phases of " +
                         std::to_string(all_stages) + (all_stages == 1 ? " stage" : " stages") +
                         ", expected at least a stage in each");
    if (pins_.phase_count && pins_.phase_count->least() > units_)
      fail("phases", "found " + std::to_string(pins_.phase_count->least()) + ", but " + job_.model.name() +
                         " has only " + std::to_string(units_) + " units between cut points");
    if (pins_.one_phase()) check_fields_of_phases();
    if (pins_.may_be_one_phase()) return;
    auto only_inside = [](const std::vector<Location>& places) {
      return !places.empty() &&
             std::all_of(places.begin(), places.end(), [](Location l) { return l == Location::in_processor; });
    };
    if (only_inside(pins_.weights))
      fail("location/weights",
           "found in_processor with several phases, whose weights come from outside the processor; expected streaming");
    if (job_.task == Task::training && only_inside(pins_.activations))
      fail("location/activations",
           "found in_processor with several phases, whose boundaries wait for backward passes outside the processor; "
           "expected streaming");
    if (only_inside(pins_.activations) && !allows(pins_.pipeline_stages, 1))
      fail("location/activations",
           "found in_processor with several phases on several IPU groups, which hand boundaries on outside the "
           "processor; expected streaming, or pipeline_stages 1");
    if (job_.task == Task::training && only_inside(pins_.optimizer_state))
      fail("location/optimizer_state", "found in_processor with several phases, expected streaming");
    if (!job_.machine.has_streaming())
      fail("phases", "found several, but " + job_.machine.name + " has no Streaming Memory to load them from");
  }
};

}  // namespace

void check_pins(const Job& job, std::int64_t units) { PinCheck(job, units).run(); }

}  // namespace superstep
