// SPDX-License-Identifier: Apache-2.0
#include "planner/space/space.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "model/error.h"
#include "model/graph/statistics.h"
#include "model/lower/lower.h"
#include "planner/job/check_pins.h"
#include "planner/job/divisors.h"

namespace superstep {

namespace {

std::string pin_place(const Job& job, const std::string& field) { return job.source + "#/plan/" + field; }

// What tensor parallelism cuts evenly of a transformer.
struct Widths {
  std::int64_t heads = 0, hidden = 0;
};
// None: nothing of the model must be cut evenly.
std::optional<Widths> widths_of(const ModelChoice& model) {
  if (!model.zoo) return {};
  if (const auto* spec = std::get_if<TransformerSpec>(&*model.zoo)) return Widths{spec->heads, spec->hidden};
  if (const auto* spec = std::get_if<LlamaSpec>(&*model.zoo)) return Widths{spec->heads, spec->hidden};
  return {};
}

// Returns the meshes that the model can be split over: heads over t1, the hidden size over t1 x t2. Two-dimensional
// meshes that are not pinned have 16 IPUs or more. Throws Error if no pinned mesh is possible.
std::vector<TensorParallel> meshes(const Job& job) {
  const Machine& m = job.machine;
  const std::int64_t most = std::min({m.links.domain_ipus, m.control_domain_ipus, m.ipus});
  const std::optional<Widths> widths = widths_of(job.model);
  auto why_not = [&](const TensorParallel& t) -> std::string {
    if (t.size() > most)
      return "tensor_parallel " + std::to_string(t.size()) + " is more than the " + std::to_string(most) +
             " IPUs of one IPU-Link domain of " + m.name;
    if (m.ipus % t.size() != 0)
      return "tensor_parallel " + std::to_string(t.size()) + " does not divide the " + std::to_string(m.ipus) +
             " IPUs of " + m.name;
    if (widths && widths->heads % t.t1 != 0)
      return "tensor_parallel " + std::to_string(t.t1) + " does not divide the " + std::to_string(widths->heads) +
             " heads of " + job.model.name();
    if (widths && widths->hidden % (t.t1 * t.t2) != 0)
      return "tensor_parallel " + std::to_string(t.t1 * t.t2) + " does not divide the hidden size " +
             std::to_string(widths->hidden) + " of " + job.model.name();
    return "";
  };
  std::vector<TensorParallel> out;
  if (!job.pins.tensor_parallel.empty()) {
    std::string last;
    for (const TensorParallel& t : job.pins.tensor_parallel) {
      const std::string why = why_not(t);
      if (why.empty())
        out.push_back(t);
      else if (last.empty())
        last = why;
    }
    if (out.empty()) throw IllegalPins(pin_place(job, "tensor_parallel"), last);
    return out;
  }
  for (std::int64_t t : divisors(m.ipus)) {
    if (t <= most && why_not({t, 1}).empty()) out.push_back({t, 1});
  }
  for (std::int64_t t : kSquareMeshes) {
    if (why_not({t, t}).empty()) out.push_back({t, t});
  }
  return out;
}

// Returns the accumulations with a free global batch. A range stands for its low end, doublings of its low end, and its
// high end. All these are at most 1024 times the low end.
std::vector<std::int64_t> accumulations_of(const IntegerPin& pin) {
  if (!pin.values.empty()) return pin.values;
  std::vector<std::int64_t> out;
  const std::int64_t high = std::min<std::int64_t>(pin.high, pin.low * 1024);
  for (std::int64_t v = pin.low; v < high; v *= 2) out.push_back(v);
  out.push_back(high);
  return out;
}

// Returns the micro-batches with a free global batch: the powers of two up to kMostMicroBatch that a range allows. If
// the range allows none of these, returns its low end.
std::vector<std::int64_t> micro_batches_of(const std::optional<IntegerPin>& pin) {
  if (pin && !pin->values.empty()) return pin->values;
  std::vector<std::int64_t> out;
  for (std::int64_t m = 1; m <= kMostMicroBatch; m *= 2) {
    if (allows(pin, m)) out.push_back(m);
  }
  if (out.empty()) out.push_back(pin->low);
  return out;
}

// Returns the accumulations with a free global batch and no pin. Training has a free global batch only with defaults.
IntegerPin free_accumulations(const Job& job, const Cell& base, bool defaults) {
  if (job.task == Task::training) return {{std::max<std::int64_t>(1, 8 * base.stages)}};
  return defaults ? IntegerPin{{1}} : IntegerPin{};
}

// Appends `base` with each m and g. With a given global batch, m x g is the batch of a replica. With a free global
// batch, m and g decide the batch.
void micro_batches(const Job& job, const Cell& base, bool defaults, std::vector<Cell>& out) {
  const Pins& pins = job.pins;
  if (job.global_batch > 0) {
    if (job.global_batch % base.replicas != 0) return;
    const std::int64_t b = job.global_batch / base.replicas;
    for (std::int64_t m : divisors(b)) {
      if (m > kMostMicroBatch && !(pins.micro_batch && !pins.micro_batch->values.empty())) break;
      if (!allows(pins.micro_batch, m) || !allows(pins.gradient_accumulation, b / m)) continue;
      Cell c = base;
      c.micro_batch = m;
      c.accumulation = b / m;
      out.push_back(c);
    }
    return;
  }
  const IntegerPin accumulations = pins.gradient_accumulation.value_or(free_accumulations(job, base, defaults));
  for (std::int64_t m : micro_batches_of(pins.micro_batch)) {
    for (std::int64_t g : accumulations_of(accumulations)) {
      Cell c = base;
      c.micro_batch = m;
      c.accumulation = g;
      out.push_back(c);
    }
  }
}

// Leaves out cells whose micro-batches would split a statistics group.
struct GroupFilter {
  std::int64_t group = 0;                   // samples
  GroupFault first;                         // fault of the first cell that was left out
  std::map<std::int64_t, std::string> why;  // micro-batches without any legal cell, and why

  void apply(std::vector<Cell>& cells) {
    std::set<std::int64_t> legal;
    std::erase_if(cells, [&](const Cell& c) {
      const GroupFault fault = check_group(group, c.micro_batch, c.replicas);
      if (fault.field.empty()) legal.insert(c.micro_batch);
      if (first.field.empty()) first = fault;
      if (!fault.field.empty()) why.try_emplace(c.micro_batch, fault.why);
      return !fault.field.empty();
    });
    std::erase_if(why, [&](const auto& left_out) { return legal.count(left_out.first) > 0; });
  }
  std::string text() const {
    std::string left_out;
    for (const auto& [m, reason] : why)
      left_out += (left_out.empty() ? "; without micro_batch " : ", ") + std::to_string(m);
    return std::to_string(group) + " samples" + left_out + (why.empty() ? "" : ": " + why.begin()->second);
  }
};

// Returns the most IPUs that are within both one program and one IPU-Link domain.
std::int64_t together(const Machine& machine) {
  return std::min(machine.links.domain_ipus, machine.control_domain_ipus);
}

// Throws the Error of pins that leave no cell, at the place of the pin that is in the way where that is known.
[[noreturn]] void no_cells(const Job& job, const std::vector<TensorParallel>& mesh_list) {
  const Pins& pins = job.pins;
  const std::int64_t n = job.machine.ipus, batch = job.global_batch;
  const auto single = [](const std::optional<IntegerPin>& p) { return p && p->values.size() == 1 ? p->values[0] : 0; };
  const auto refuse = [&](const std::string& field, const std::string& message) {
    throw IllegalPins(job.source + (field.empty() ? "#/plan" : "#/plan/" + field), message);
  };
  const std::int64_t p = single(pins.pipeline_stages), r = single(pins.replicas), m = single(pins.micro_batch),
                     g = single(pins.gradient_accumulation);
  if (mesh_list.size() == 1 && p > 0 && r > 0) {
    Plan plan;
    plan.tensor_parallel = mesh_list[0], plan.pipeline_stages = p, plan.replicas = r;
    if (!pins.placement.empty()) plan.placement = pins.placement[0];
    if (const std::string why = check_degrees(plan, job.machine, job.task == Task::training); !why.empty())
      refuse("", why);
  }
  const std::string all = std::to_string(n) + " IPUs of " + job.machine.name;
  if (p > 0 && n % p != 0)
    refuse("pipeline_stages", "found " + std::to_string(p) + ", which does not divide the " + all);
  if (r > 0 && n % r != 0) refuse("replicas", "found " + std::to_string(r) + ", which does not divide the " + all);
  const std::string of_batch = "batch.global " + std::to_string(batch);
  if (batch > 0 && r > 0 && batch % r != 0)
    refuse("replicas", "found " + std::to_string(r) + ", which does not divide " + of_batch);
  if (batch > 0 && r > 0 && m > 0 && g > 0)
    refuse("", "replicas " + std::to_string(r) + " x micro_batch " + std::to_string(m) + " x gradient_accumulation " +
                   std::to_string(g) + " is not " + of_batch);
  if (batch > 0 && m > 0) {
    const std::string share =
        r > 0 ? "the " + std::to_string(batch / r) + " samples of a replica" : "a replica's share";
    refuse("micro_batch", "found " + std::to_string(m) + ", which does not divide " + share + " of " + of_batch +
                              (r > 0 ? "" : " with the other pins"));
  }
  if (pins.placement.size() == 1 && pins.placement[0] != Placement::t_p_r) {
    refuse("placement", "found " + std::string(name_of(pins.placement[0])) +
                            ", but with it no replica that the other pins leave lies within the " +
                            std::to_string(together(job.machine)) +
                            " IPUs of one program and one IPU-Link domain; expected t-p-r");
  }
  throw IllegalPins(
      job.source + "#/plan",
      "the pins leave no legal combination of tensor_parallel, pipeline_stages, replicas, micro_batch and "
      "gradient_accumulation for " +
          std::to_string(n) + " IPUs" + (batch > 0 ? " and " + of_batch : ""));
}

// Throws IllegalPins if no cell has as many stages as are pinned. For a job without plans in phases.
void check_stage_count(const Job& job, const std::vector<Cell>& cells) {
  const Pins& pins = job.pins;
  if (std::ranges::any_of(cells, [&](const Cell& c) { return pins.allow_pipeline(c.stages); })) return;
  std::set<std::int64_t> lengths;
  for (const Cell& c : cells) lengths.insert(c.stages);
  std::string all;
  for (const std::int64_t p : lengths) all += (all.empty() ? "" : ", ") + std::to_string(p);
  const bool modes = !pins.has_stages();
  throw IllegalPins(pin_place(job, modes                   ? "recompute"
                                   : pins.layers_per_stage ? "layers_per_stage"
                                                           : "stages"),
                    "found " + std::to_string(pins.stage_count()) + (modes ? " modes" : " stages") +
                        ", expected pipeline_stages (" + all + ") or one more, whose last returns to IPU 0" +
                        (modes ? "; or one mode for all" : ""));
}

// Returns the legal placements of these degrees. A pinned placement stands for the first placement with its strides.
std::vector<Placement> legal_placements(const Job& job, bool defaults, std::int64_t t, std::int64_t p, std::int64_t r) {
  const std::vector<Placement>& pinned = job.pins.placement;
  std::vector<Placement> out = placements(t, p, r);
  std::erase_if(out, [&](Placement placement) {
    const auto same = [&](Placement pin) { return strides(pin, t, p, r) == strides(placement, t, p, r); };
    const bool asked = pinned.empty() ? !defaults || placement == Placement::t_p_r : std::ranges::any_of(pinned, same);
    return !asked || !lies_within(together(job.machine), placement, t, p, r);
  });
  return out;
}

// Returns the shard groups that cells with r replicas draw from. Where both are searched, cells with orthogonal groups
// have only the settings that these groups change.
std::vector<ShardGroups> shard_groups(const Job& job, bool defaults, std::int64_t r) {
  using enum ShardGroups;
  if (divisors(r).size() <= 2) return {consecutive};
  std::vector<ShardGroups> out = {consecutive, orthogonal};
  const std::vector<ShardGroups>& pinned = job.pins.rts_groups;
  std::erase_if(out, [&](ShardGroups groups) {
    return pinned.empty() ? defaults && groups == orthogonal : std::ranges::count(pinned, groups) == 0;
  });
  return out;
}

// Calls f(cell) for all legal degrees, placements and shard groups. The cell has no micro-batch, accumulation or
// settings yet.
template <class F>
void for_degrees(const Job& job, const std::vector<TensorParallel>& mesh_list, bool defaults, const F& f) {
  for (const TensorParallel& t : mesh_list) {
    for (std::int64_t p : divisors(job.machine.ipus / t.size())) {
      const std::int64_t r = job.machine.ipus / t.size() / p;
      if (!allows(job.pins.pipeline_stages, p) || !allows(job.pins.replicas, r)) continue;
      if (t.size() * p > job.machine.control_domain_ipus) continue;
      if (job.machine.power_of_two_ipus && ((t.size() * p) & (t.size() * p - 1)) != 0) continue;
      const std::vector<ShardGroups> all_groups = shard_groups(job, defaults, r);
      for (const Placement placement : legal_placements(job, defaults, t.size(), p, r)) {
        for (const ShardGroups groups : all_groups) f(Cell{t, p, r, 1, 1, placement, groups, groups != all_groups[0]});
      }
    }
  }
}

std::vector<Cell> all_cells(const Job& job, bool defaults) {
  const std::vector<TensorParallel> mesh_list = meshes(job);
  std::vector<Cell> out;
  for_degrees(job, mesh_list, defaults, [&](Cell cell) {
    cell.settings = count_settings(job, cell, defaults);  // do not depend on m and g
    if (!cell.groups_matter || cell.all_settings() > 0) micro_batches(job, cell, defaults, out);
  });
  if (out.empty()) no_cells(job, mesh_list);
  const bool no_settings = std::ranges::all_of(out, [](const Cell& c) { return c.all_settings() == 0; });
  if (no_settings && !job.is_restricted() && (defaults || !may_be_phased(job))) check_stage_count(job, out);
  return out;
}

}  // namespace

Plan Cell::plan() const {
  Plan out;
  out.tensor_parallel = mesh;
  out.pipeline_stages = stages;
  out.replicas = replicas;
  out.placement = placement;
  out.replicated_tensor_sharding.groups = groups;
  out.micro_batch = micro_batch;
  out.gradient_accumulation = accumulation;
  return out;
}

std::vector<Cell> cells(const Job& job, std::int64_t statistics_group, bool defaults) {
  std::vector<Cell> out = all_cells(job, defaults);
  GroupFilter filter{statistics_group, {}, {}};
  filter.apply(out);
  if (out.empty()) throw IllegalPins(pin_place(job, filter.first.field), filter.first.why);
  return out;
}

std::vector<Cell> uncounted_cells(const Job& job, std::int64_t statistics_group) {
  std::vector<Cell> out;
  try {
    for_degrees(job, meshes(job), false, [&](const Cell& cell) {
      if (job.pins.allow_pipeline(cell.stages) || may_be_phased(job)) micro_batches(job, cell, false, out);
    });
  } catch (const Error&) {
    return {};  // no pinned mesh is possible
  }
  GroupFilter{statistics_group, {}, {}}.apply(out);
  return out;
}

std::string micro_batches_of_groups(const Job& job, std::int64_t statistics_group) {
  std::vector<Cell> all = all_cells(job, false);
  GroupFilter filter{statistics_group, {}, {}};
  filter.apply(all);
  return filter.text();
}

}  // namespace superstep
