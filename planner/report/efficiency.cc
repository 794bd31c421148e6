// SPDX-License-Identifier: Apache-2.0
#include "planner/report/efficiency.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>

#include "model/error.h"
#include "model/lower/lower.h"
#include "model/lower/tile_plan.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

// Returns the functions that the IPU group `wanted` calls, with their runs in a step, in order of the first call.
std::vector<std::pair<FunctionId, std::int64_t>> calls_on(const Program& program, std::int64_t wanted) {
  std::vector<std::pair<FunctionId, std::int64_t>> calls;
  const std::function<void(const Node&, std::int64_t, std::int64_t)> visit = [&](const Node& n, std::int64_t ipu,
                                                                                 std::int64_t repeats) {
    if (n.ipu >= 0) ipu = n.ipu;
    if (n.kind == Node::Kind::repeat) repeats *= n.micro_batches;
    if (n.kind == Node::Kind::call && ipu == wanted) {
      const auto it =
          std::find_if(calls.begin(), calls.end(), [&](const auto& call) { return call.first == n.function; });
      if (it == calls.end())
        calls.push_back({n.function, repeats});
      else
        it->second += repeats;
    }
    for (const Node& c : n.children) visit(c, ipu, repeats);
  };
  visit(program.root, -1, 1);
  return calls;
}

std::string extents_text(std::int64_t batch, std::int64_t rows, std::int64_t contracted, std::int64_t columns) {
  const std::string one = std::to_string(rows) + " x " + std::to_string(contracted) + " x " + std::to_string(columns);
  return batch == 1 ? one : std::to_string(batch) + " of " + one;
}

class Rows {
 public:
  Rows(const Evaluated& e, Tables& tables) : table_(tables.table(table_key(e.plan))), plan_(e.plan) {}

  void add(const Function& f, std::int64_t calls, std::vector<EfficiencyRow>& rows) const {
    const auto& ops = graph().units[f.unit].ops[static_cast<std::size_t>(f.pass)];
    std::map<std::int32_t, std::vector<const Step*>> products;
    std::int64_t other = 0;
    for (const Step& s : f.steps) {
      if (s.op >= 0 && graph().ops[ops[static_cast<std::size_t>(s.op)]].def->product)
        products[s.op].push_back(&s);
      else
        other += model().step(s).total().value;
    }
    for (const auto& [op, steps] : products)
      rows.push_back(product(f, ops[static_cast<std::size_t>(op)], steps, calls));
    EfficiencyRow rest{.unit = f.name, .calls = calls, .tiles = table_.tiles()};
    rest.seconds = seconds(static_cast<double>(other) * static_cast<double>(calls));
    if (other > 0) rows.push_back(rest);
  }

 private:
  const UnitTable& table_;
  const Plan& plan_;

  const Graph& graph() const { return table_.facts().graph; }
  const CostModel& model() const { return table_.model(); }
  double seconds(double cycles) const { return cycles / model().machine().chip.clock.value; }

  EfficiencyRow product(const Function& f, OpId id, const std::vector<const Step*>& steps, std::int64_t calls) const {
    const CallOf call(graph(), id);
    std::vector<std::int64_t> extents;
    for (const Axis& a : graph().ops[id].def->space(*call).axes) extents.push_back(a.extent);
    const ProductShape s = product_shape(*call, local_extents(extents, table_.sharding().of(id), plan_.tensor_parallel),
                                         plan_.precision.partials);
    EfficiencyRow row{.unit = f.name, .op = graph().ops[id].name, .calls = calls};
    row.product = extents_text(s.batch, s.rows, s.contracted, s.columns);
    double useful = 0, vertex = 0, all = 0;
    for (const Step* step : steps) {
      const auto times = static_cast<double>(step->times);
      useful += times * static_cast<double>(step->rows.value);
      vertex += times * static_cast<double>((step->rows + step->padding + step->amp_fixed).value);
      all += static_cast<double>(model().step(*step).total().value);
      if (step->grid.size() != 4 || row.tiles > 0) continue;
      row.tiles = step->tiles;
      row.share = extents_text(ceil_div(s.batch, step->grid[0]), ceil_div(s.rows, step->grid[1]),
                               ceil_div(s.contracted, step->grid[3]), ceil_div(s.columns, step->grid[2]));
    }
    row.amp_efficiency = vertex > 0 ? useful / vertex : 0;
    row.useful_seconds = seconds(useful * static_cast<double>(calls));
    row.seconds = seconds(all * static_cast<double>(calls));
    return row;
  }
};

std::string compact(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

struct Neighbour {
  std::string field, from, to;
  Plan plan;
};

class Neighbours {
 public:
  explicit Neighbours(const Plan& plan) : plan_(plan) {}

  std::vector<Neighbour> take(bool training) {
    micro_batches();
    const Proportion& now = plan_.available_memory_proportion;
    const bool by_stage = !plan_.stage_proportions.empty();
    const Live live = by_stage ? Live::none : now.live;
    const std::string bound =
        live == Live::none ? "available_memory_proportion" : "available_memory_proportion.proportion";
    const std::string of_now = by_stage ? "by stage" : compact(now.share);
    for (double share : {0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0}) {
      Plan p = plan_;
      p.available_memory_proportion = {share, live};
      p.stage_proportions.clear();
      offer(bound, of_now, compact(share), p);
    }
    if (!training) return std::move(list_);
    for (Recompute r : {Recompute::none, Recompute::layer, Recompute::stage}) {
      Plan p = plan_;
      for (Recompute& each : p.recompute) each = r;
      offer("recompute", std::string(name_of(plan_.recompute[0])), std::string(name_of(r)), p);
    }
    for (Schedule s : {Schedule::sequential, Schedule::interleaved, Schedule::grouped}) {
      Plan p = plan_;
      p.schedule = s;
      offer("schedule", std::string(name_of(plan_.schedule)), std::string(name_of(s)), p);
    }
    places();
    return std::move(list_);
  }

 private:
  const Plan& plan_;
  std::vector<Neighbour> list_;

  void offer(const std::string& field, const std::string& from, const std::string& to, const Plan& plan) {
    if (!(plan == plan_)) list_.push_back({field, from, to, plan});
  }

  // Offers the next smaller and the next larger divisor of a replica's batch as micro-batch.
  void micro_batches() {
    const std::int64_t batch = plan_.replica_batch();
    for (int way : {-1, 1}) {
      std::int64_t m = plan_.micro_batch + way;
      while (m > 0 && m <= batch && batch % m != 0) m += way;
      if (m < 1 || m > batch) continue;
      Plan p = plan_;
      p.micro_batch = m;
      p.gradient_accumulation = batch / m;
      offer("micro_batch", std::to_string(plan_.micro_batch), std::to_string(m), p);
    }
  }

  void places() {
    for (Location place : {Location::in_processor, Location::streaming}) {
      Plan p = plan_;
      p.location.optimizer_state = place;
      offer("location.optimizer_state", std::string(name_of(plan_.location.optimizer_state)),
            std::string(name_of(place)), p);
      p = plan_;
      p.location.activations = place;
      offer("location.activations", std::string(name_of(plan_.location.activations)), std::string(name_of(place)), p);
    }
    for (std::int64_t degree : {std::int64_t{1}, plan_.replicas}) {
      Plan p = plan_;
      p.replicated_tensor_sharding.optimizer_state = degree;
      offer("replicated_tensor_sharding.optimizer_state",
            std::to_string(plan_.replicated_tensor_sharding.optimizer_state), std::to_string(degree), p);
    }
  }
};

// True if the plan is legal. Networks from files, and batch norm over groups of samples, may not exist for another
// micro-batch.
bool legal(const Plan& plan, Tables& tables) {
  try {
    return check_plan(plan, tables.facts(plan.micro_batch), tables.job().machine, tables.training()).empty();
  } catch (const Error&) {
    return false;
  }
}

// Smallest gain worth showing, as a share of the step time: less is printed as 0.0 %.
constexpr double kNoticeable = 0.0005;

bool better(const PlanChange& a, const PlanChange& b) {
  return std::pair(a.over, a.step_seconds) < std::pair(b.over, b.step_seconds);
}

}  // namespace

std::vector<EfficiencyRow> efficiency_rows(const Evaluated& e, Tables& tables) {
  const auto busiest = std::max_element(e.timeline.busy.begin(), e.timeline.busy.end()) - e.timeline.busy.begin();
  std::vector<EfficiencyRow> rows;
  const Rows maker(e, tables);
  for (const auto& [function, calls] : calls_on(e.program, busiest))
    maker.add(e.program.functions[function], calls, rows);
  EfficiencyRow rest{.unit = "waiting, links, host, fixed"};
  rest.seconds = e.step_seconds;
  for (const EfficiencyRow& row : rows) rest.seconds -= row.seconds;
  rows.push_back(rest);
  return rows;
}

std::vector<PlanChange> helpful_changes(const Evaluated& e, Tables& tables) {
  std::vector<PlanChange> best;
  for (const Neighbour& c : Neighbours(e.plan).take(tables.training())) {
    if (!legal(c.plan, tables)) continue;
    const Evaluated other = evaluate_in_full(tables, c.plan);
    if (other.step_seconds > (1 - kNoticeable) * e.step_seconds) continue;
    PlanChange change{c.field, c.from, c.to, other.step_seconds, other.fits, {}, {}};
    if (!other.overflows.empty()) {
      const Overflow& o = other.overflows.front();
      change.over = o.over;
      change.overflow = o.constraint + " on " + o.where + ": over by " + to_text(o.over);
    }
    const auto same = std::find_if(best.begin(), best.end(), [&](const PlanChange& b) { return b.field == c.field; });
    if (same == best.end())
      best.push_back(change);
    else if (better(change, *same))
      *same = change;
  }
  std::stable_sort(best.begin(), best.end(), better);
  return best;
}

}  // namespace superstep
