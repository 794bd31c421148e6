// SPDX-License-Identifier: Apache-2.0
#include "tests/traces/example_report.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace superstep {
namespace {

constexpr std::int64_t kTiles = 1472;
constexpr std::int64_t kTileLimit = 624 * 1024;
constexpr std::int64_t kCodeLimit = 208 * 1024;
constexpr int kLayers = 24;

// Numbers that are the same on every machine.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  std::int64_t below(std::int64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t state_;
};

struct Setting {
  std::string label;
  int stages;
  std::string fits;
  double slower;               // factor on the term that differs
  std::int64_t last_over;      // bytes added to the activations of the last IPU
  std::int64_t less_per_tile;  // bytes taken from the weights of every IPU
};

Setting setting_of(Example which) {
  switch (which) {
    case Example::does_not_fit:
      return {"t=1 p=4 r=4 m=3 g=128", 4, "does_not_fit", 0.97, 36 * 1024 + 512, 0};
    case Example::deeper:
      return {"t=1 p=8 r=2 m=2 g=384", 8, "fits", 2.6, 0, 31 * 1024};
    default:
      return {"t=1 p=4 r=4 m=2 g=192", 4, "tight", 1.0, 0, 0};
  }
}

struct Category {
  const char* name;
  bool always_live;
  std::int64_t bytes;
};

constexpr std::array<Category, 10> kCategories{{{"weights", true, 117764},
                                                {"gradients", true, 117764},
                                                {"vertex code", true, 47206},
                                                {"exchange code", true, 61112},
                                                {"control code", true, 18420},
                                                {"IO", true, 4816},
                                                {"stash", true, 53864},
                                                {"optimizer state", false, 6048},
                                                {"activations", false, 40336},
                                                {"temporaries", false, 150210}}};

void add_waterfall(report::Index& index, const Setting& setting) {
  struct Term {
    const char* name;
    const char* kind;
    double ms;
  };
  static constexpr std::array<Term, 16> kTerms{{{"ideal at FP16.16 peak", "compute", 388.0},
                                                {"stage imbalance", "waiting", 35.5},
                                                {"recompute", "recompute", 137.25},
                                                {"matmul padding, odd shares", "compute", 44.75},
                                                {"AMP fixed cost per block", "compute", 151.5},
                                                {"vector ops", "compute", 143.0},
                                                {"reduction of partials", "compute", 141.25},
                                                {"gradient accumulation", "update", 11.0},
                                                {"operand exchange", "exchange", 211.5},
                                                {"partials exchange", "exchange", 124.0},
                                                {"re-layout", "exchange", 108.5},
                                                {"supersteps and sync", "sync", 54.0},
                                                {"inter-IPU copies", "links", 15.5},
                                                {"fixed cost per cycle", "fixed", 238.0},
                                                {"bubble: ramp up and down", "waiting", 76.0},
                                                {"weight update from DDR", "ddr", 82.25}}};
  for (const Term& term : kTerms) {
    auto& out = *index.add_waterfall();
    out.set_name(term.name);
    out.set_kind(term.kind);
    const bool differs = std::string(term.name) == "bubble: ramp up and down";
    out.set_seconds(term.ms * (differs ? setting.slower : 1.0) / 1e3);
    out.set_explanation("an example: " + out.name() + " of one step");
  }
}

int first_layer(int stage, int stages) { return stage * kLayers / stages; }

void add_ipu_classes(report::Index& index, const Setting& setting) {
  for (int stage = 0; stage < setting.stages; ++stage) {
    auto& ipu = *index.add_ipu_classes();
    ipu.set_name("IPU " + std::to_string(stage));
    ipu.set_count(16 / setting.stages);
    const int last = first_layer(stage + 1, setting.stages) - 1;
    ipu.set_contents("layers " + std::to_string(first_layer(stage, setting.stages)) + " to " + std::to_string(last) +
                     (stage == 0 ? ", embedding, head" : ""));
    std::int64_t peak = 0;
    for (const Category& category : kCategories) {
      std::int64_t bytes = category.bytes;
      const std::string name = category.name;
      if (name == "temporaries") bytes += stage == 0 ? -48000 : 5200 - 2600 * (stage % 3);
      if (name == "activations" && stage == setting.stages - 1) bytes += setting.last_over;
      if (name == "weights") bytes -= setting.less_per_tile;
      auto& memory = *ipu.add_memory();
      memory.set_name(name);
      memory.set_always_live(category.always_live);
      memory.set_bytes_per_tile(bytes);
      peak += bytes;
    }
    ipu.set_tile_peak_bytes(peak);
    ipu.set_tile_limit_bytes(kTileLimit);
    ipu.set_executable_bytes(47206 + 61112 + 18420);
    ipu.set_executable_limit_bytes(kCodeLimit);
    ipu.set_ddr_bytes(176'160'768);
    ipu.set_ddr_limit_bytes(std::int64_t{64} << 30);
    ipu.set_busy_s(1.4 + 0.05 * stage);
    ipu.set_peak_step(11 + 7 * stage);
  }
}

void fill_plan(report::PlanSummary& plan, const report::Index& index, const Setting& setting) {
  double seconds = 0;
  for (const auto& term : index.waterfall()) seconds += term.seconds();
  plan.set_label(setting.label);
  plan.set_plan_json("{}");
  plan.set_global_batch(1536);
  plan.set_step_time_s(seconds);
  plan.set_samples_per_second(1536 / seconds);
  plan.set_fits(setting.fits);
  for (const auto& ipu : index.ipu_classes()) {
    plan.set_tile_peak_bytes(std::max(plan.tile_peak_bytes(), ipu.tile_peak_bytes()));
  }
  plan.set_tile_limit_bytes(kTileLimit);
  plan.set_ipu_peak_bytes(plan.tile_peak_bytes() * kTiles - 91'000'000);
  plan.set_ddr_bytes_per_ipu(176'160'768);
  plan.set_flop_utilisation(0.388 / seconds);
  plan.set_ipus(16);
  plan.set_rated_power_w(4800);
  if (setting.fits == "does_not_fit") {
    plan.set_first_overflow("IPU 3, tiles 1100 to 1131, in L22/ffn backward");
    plan.add_not_validated("micro-batch above 2");
  }
}

void add_changes(report::Index& index) {
  report::PlanChange& fits = *index.add_helpful_changes();
  fits.set_field("micro_batch"), fits.set_from("2"), fits.set_to("3");
  fits.set_step_time_s(index.plan().step_time_s() / 1.04), fits.set_fits("tight");
  report::PlanChange& over = *index.add_helpful_changes();
  over.set_field("recompute"), over.set_from("layer"), over.set_to("none");
  over.set_step_time_s(index.plan().step_time_s() / 1.25), over.set_fits("does_not_fit");
  over.set_overflow("tile memory on IPU 0: over by 412.0 KiB");
}

void add_runners_up(report::Index& index) {
  constexpr std::array<const char*, 5> kLabels{"t=1 p=4 r=4 m=2 g=160", "t=1 p=8 r=2 m=4 g=192",
                                               "t=1 p=2 r=8 m=1 g=192", "t=2 p=4 r=2 m=4 g=192",
                                               "t=1 p=4 r=4 m=1 g=384"};
  for (std::size_t i = 0; i < kLabels.size(); ++i) {
    auto& plan = *index.add_runners_up();
    plan = index.plan();
    const double factor = 0.994 - 0.037 * static_cast<double>(i);
    plan.set_label(kLabels[i]);
    plan.set_samples_per_second(plan.samples_per_second() * factor);
    plan.set_step_time_s(plan.step_time_s() / factor);
    plan.set_tile_peak_bytes(kTileLimit - 9216 * static_cast<std::int64_t>(i) - 15000);
    plan.set_fits(i < 2 ? "tight" : "fits");
  }
}

// Runs of equal tiles of one phase: about forty, covering all tiles.
struct Runs {
  std::vector<std::int64_t> phase, first, count, compute, exchange, memory;
};

void add_runs(Runs& runs, std::int64_t phase, std::int64_t peak, bool fullest, Dice& dice) {
  constexpr std::int64_t kRuns = 40;
  for (std::int64_t i = 0; i < kRuns; ++i) {
    const std::int64_t begin = i * kTiles / kRuns;
    runs.phase.push_back(phase);
    runs.first.push_back(begin);
    runs.count.push_back((i + 1) * kTiles / kRuns - begin);
    const bool unused = i == kRuns - 1;  // IO tiles
    const std::int64_t dip = (i % 7) * 4000 + (i % 3) * 9000 + dice.below(18000) + (phase % 5) * 6000 + 14000;
    const bool is_peak = fullest && i == 30;
    runs.memory.push_back(unused ? 5200 : is_peak ? peak : peak - dip);
    runs.compute.push_back(unused ? 0 : 210'000 + (i % 6) * 9000 + dice.below(40000));
    runs.exchange.push_back(unused ? 1024 : 18'000 + (i % 9) * 1500 + dice.below(9000));
  }
}

struct Phases {
  std::vector<std::string> name, group;
  std::vector<std::int64_t> ipu_class, cycles, repeats;
  void add(const std::string& phase, const std::string& head, int ipu, std::int64_t cycle_count, std::int64_t times) {
    name.push_back(phase);
    group.push_back(head);
    ipu_class.push_back(ipu);
    cycles.push_back(cycle_count);
    repeats.push_back(times);
  }
};

void add_stage_phases(Phases& phases, int stage, int stages, Dice& dice) {
  const int begin = first_layer(stage, stages);
  const int end = first_layer(stage + 1, stages);
  const auto both = [&](int layer, const std::string& direction, std::int64_t cycles) {
    for (const char* part : {"attention", "ffn"}) {
      phases.add("L" + std::to_string(layer) + "/" + part + " " + direction, direction, stage,
                 cycles + dice.below(60000), 192);
    }
  };
  if (stage == 0) phases.add("embedding/lookup forward", "forward", stage, 91'000, 192);
  for (int layer = begin; layer < end; ++layer) both(layer, "forward", 280'000);
  if (stage == 0) phases.add("head/loss", "forward", stage, 240'000, 192);
  for (int layer = end - 1; layer >= begin; --layer) both(layer, "backward", 590'000);
  for (const char* part : {"all-reduce", "optimizer"}) {
    phases.add(std::string("update/") + part, "update", stage, 1'900'000, 1);
  }
}

void add_heat(ReportWriter& out, const report::Index& index) {
  Phases phases;
  Runs runs;
  Dice dice(7);
  for (int stage = 0; stage < index.ipu_classes_size(); ++stage) {
    const std::size_t begin = phases.name.size();
    add_stage_phases(phases, stage, index.ipu_classes_size(), dice);
    const std::int64_t peak = index.ipu_classes(stage).tile_peak_bytes();
    const std::size_t fullest = begin + (phases.name.size() - begin) * 6 / 10;
    for (std::size_t i = begin; i < phases.name.size(); ++i) {
      const std::int64_t lower = phases.group[i] == "forward" ? 110'000 : phases.group[i] == "update" ? 240'000 : 0;
      add_runs(runs, static_cast<std::int64_t>(i), peak - lower, i == fullest, dice);
    }
  }
  out.add_texts("heat.phase", phases.name);
  out.add_texts("heat.phase_group", phases.group);
  out.add_integers("heat.phase_ipu_class", "index", phases.ipu_class);
  out.add_integers("heat.phase_cycles", "cycles", phases.cycles);
  out.add_integers("heat.phase_repeats", "index", phases.repeats);
  out.add_integers("tile.phase", "index", runs.phase);
  out.add_integers("tile.first", "index", runs.first);
  out.add_integers("tile.count", "index", runs.count);
  out.add_integers("tile.compute_cycles", "cycles", runs.compute);
  out.add_integers("tile.exchange_bytes", "bytes", runs.exchange);
  out.add_integers("tile.memory_bytes", "bytes", runs.memory);
}

void add_steps(report::Index& index, ReportWriter& out) {
  constexpr std::array<const char*, 7> kSteps{"query", "key", "value", "scores", "softmax", "context", "projection"};
  constexpr std::array<const char*, 3> kKinds{"exchange", "compute", "sync"};
  constexpr std::array<const char*, 3> kTerms{"operand exchange", "ideal at FP16.16 peak", "supersteps and sync"};
  std::vector<std::string> name, kind, term;
  std::vector<std::int64_t> function, cycles, compute, exchange, sync, bytes, live;
  Dice dice(3);
  for (const std::string part : {"layer/attention forward", "layer/ffn forward", "layer/attention backward",
                                 "layer/ffn backward", "update/optimizer"}) {
    auto& f = *index.add_functions();
    f.set_name(part);
    f.set_first_step(static_cast<std::int64_t>(name.size()));
    for (const char* op : kSteps) {
      for (std::size_t k = 0; k < kKinds.size(); ++k) {
        name.push_back(part + "/" + op);
        kind.emplace_back(kKinds[k]);
        term.emplace_back(kTerms[k]);
        function.push_back(index.functions_size() - 1);
        compute.push_back(k == 1 ? 9000 + dice.below(20000) : 0);
        exchange.push_back(k == 0 ? 2500 + dice.below(6000) : 0);
        sync.push_back(k == 2 ? 160 : 0);
        cycles.push_back(compute.back() + exchange.back() + sync.back());
        bytes.push_back(k == 0 ? 1'000'000 + dice.below(9'000'000) : 0);
        live.push_back(20000 + dice.below(170000));
        f.set_cycles(f.cycles() + cycles.back());
      }
    }
    f.set_steps(static_cast<std::int64_t>(name.size()) - f.first_step());
  }
  out.add_texts("step.name", name);
  out.add_texts("step.kind", kind);
  out.add_texts("step.term", term);
  out.add_integers("step.function", "index", function);
  out.add_integers("step.cycles", "cycles", cycles);
  out.add_integers("step.compute_cycles", "cycles", compute);
  out.add_integers("step.exchange_cycles", "cycles", exchange);
  out.add_integers("step.sync_cycles", "cycles", sync);
  out.add_integers("step.bytes", "bytes", bytes);
  out.add_integers("step.live_bytes", "bytes", live);
}

report::ProgramNode node(const std::string& kind, const std::string& name, std::int64_t ipu = -1) {
  report::ProgramNode out;
  out.set_kind(kind), out.set_name(name), out.set_ipu_class(ipu);
  out.set_count(1), out.set_function(-1);
  return out;
}

report::ProgramNode leaf(const std::string& name, const std::string& work, std::int64_t cycles, std::int64_t lag = 0) {
  report::ProgramNode out = node("step", name);
  out.set_work(work), out.set_cycles(cycles), out.set_lag(lag);
  return out;
}

report::ProgramNode call(const report::Index& index, const std::string& name, const std::string& work, int function,
                         std::int64_t lag) {
  report::ProgramNode out = leaf(name + " " + work, work, index.functions(function).cycles(), lag);
  out.set_kind("call"), out.set_function(function);
  return out;
}

// Children one after another, or side by side.
void add_up(report::ProgramNode& n) {
  for (const report::ProgramNode& child : n.children()) {
    const std::int64_t each = child.cycles() * child.count();
    n.set_cycles(n.kind() == "parallel" ? std::max(n.cycles(), each) : n.cycles() + each);
  }
}

report::ProgramNode branch(const report::Index& index, int stage, int stages) {
  report::ProgramNode out = node("sequence", "IPU " + std::to_string(stage), stage);
  const int begin = first_layer(stage, stages), end = first_layer(stage + 1, stages);
  const std::int64_t lag = stage, back = 2 * (stages - 1) - stage;
  const auto both = [&](int layer, const char* work, int function, std::int64_t behind) {
    const std::string name = "layer" + std::to_string(layer);
    const bool backward = function >= 2;
    *out.add_children() = call(index, name + (backward ? "/ffn" : "/attention"), work, backward ? 3 : 0, behind);
    *out.add_children() = call(index, name + (backward ? "/attention" : "/ffn"), work, backward ? 2 : 1, behind);
  };
  if (stage == 0) *out.add_children() = leaf("host input", "host", 4299, lag);
  for (int layer = begin; layer < end; ++layer) both(layer, "forward", 0, lag);
  for (int layer = end - 1; layer >= begin; --layer) {
    if (layer + 1 < end || stage + 1 < stages) both(layer, "recompute", 0, back);
    both(layer, "backward", 2, back);
  }
  add_up(out);
  return out;
}

// A pipeline as the planner writes it. What the cycles of its parts leave of the step time is fixed cost.
void add_program(report::Index& index) {
  const int stages = index.ipu_classes_size();
  const std::int64_t micro_batches = index.plan().label().find("g=128") != std::string::npos ? 128
                                     : stages == 8                                           ? 384
                                                                                             : 192;
  report::ProgramNode update = node("parallel", "weight update");
  report::ProgramNode cycle = node("parallel", "pipeline cycle");
  for (int stage = 0; stage < stages; ++stage) {
    *cycle.add_children() = branch(index, stage, stages);
    report::ProgramNode on = node("sequence", "IPU " + std::to_string(stage), stage);
    *on.add_children() = leaf("all-reduce gradients", "collective", 24'556'140);
    *on.add_children() = leaf("load optimizer state", "load", 18'000'000);
    *on.add_children() = call(index, "layer" + std::to_string(first_layer(stage, stages)), "update", 4, 0);
    *on.add_children() = leaf("store optimizer state", "store", 31'000'000 + 1000 * stage);
    add_up(on);
    *update.add_children() = on;
  }
  add_up(cycle), add_up(update);
  report::ProgramNode loop = node("repeat", "micro-batches");
  loop.set_count(micro_batches + 2 * (stages - 1)), loop.set_micro_batches(micro_batches);
  *loop.add_children() = cycle;
  *loop.add_children() = leaf("stage boundaries", "copy", 515'371);
  const auto step = static_cast<std::int64_t>(std::llround(index.plan().step_time_s() * index.clock_hz()));
  const std::int64_t rest = step - update.cycles() - loop.count() * (cycle.cycles() + 515'371);
  *loop.add_children() = leaf("per pipeline cycle", "fixed", rest / loop.count());
  add_up(loop);
  report::ProgramNode& root = *index.mutable_program();
  root = node("sequence", "optimiser step");
  *root.add_children() = loop;
  *root.add_children() = leaf("before the update", "fixed", rest % loop.count());
  *root.add_children() = update;
  add_up(root);
}

void add_variables(const report::Index& index, ReportWriter& out) {
  std::vector<std::string> name, category;
  std::vector<std::int64_t> ipu_class, bytes;
  for (int ipu = 0; ipu < index.ipu_classes_size(); ++ipu) {
    for (const auto& memory : index.ipu_classes(ipu).memory()) {
      const bool per_layer = memory.name() != "IO" && memory.name() != "control code";
      const std::int64_t parts = per_layer ? 5 : 1;
      for (std::int64_t i = 0; i < parts; ++i) {
        name.push_back((per_layer ? "L" + std::to_string(ipu * 6 + i) + "/" : std::string("program/")) + memory.name());
        ipu_class.push_back(ipu);
        category.push_back(memory.name());
        const std::int64_t equal = memory.bytes_per_tile() / parts;
        bytes.push_back(i == 0 ? memory.bytes_per_tile() - equal * (parts - 1) : equal);
      }
    }
  }
  out.add_texts("variable.name", name);
  out.add_integers("variable.ipu_class", "index", ipu_class);
  out.add_texts("variable.category", category);
  out.add_integers("variable.bytes_per_tile", "bytes", bytes);
}

void fill_head(report::Index& index) {
  index.set_created_by("superstep 0.1.0");
  index.set_title("BERT-Large, IPU-POD16, training");
  index.set_machine_name("ipu-pod16");
  index.set_machine_title("IPU-POD16 (16 GC200)");
  index.set_model_name("bert-large");
  index.set_clock_hz(1.325e9);
  index.set_tiles_per_ipu(kTiles);
}

void fill_search(report::Index& index, double feasible) {
  auto& search = *index.mutable_search();
  search.set_explored(1e5);
  search.set_pruned(4.309e8);
  search.set_feasible(feasible);
  search.set_evaluations(412);
  search.set_programmes(18'204);
  search.set_seconds(3.42);
  search.set_table_seconds(1.07);
  search.set_proof_seconds(2.51);
  search.set_optimal(true);
}

void fill_infeasible(report::Index& index) {
  auto& why = *index.mutable_infeasible();
  why.set_constraint("tile memory");
  why.set_where("IPU 0 (embedding, layers 0 to 23)");
  why.set_bytes_over(114'688);
  why.set_nearest_fix("4 pipeline stages instead of 1");
  index.add_notes("pipeline_stages is pinned to 1 by the job.");
}

}  // namespace

ExampleReport example_report(Example which) {
  ExampleReport out;
  if (which == Example::empty) return out;
  fill_head(out.index);
  fill_search(out.index, which == Example::infeasible ? 0 : 5127);
  if (which == Example::infeasible) {
    fill_infeasible(out.index);
    return out;
  }
  const Setting setting = setting_of(which);
  add_waterfall(out.index, setting);
  add_ipu_classes(out.index, setting);
  fill_plan(*out.index.mutable_plan(), out.index, setting);
  add_runners_up(out.index);
  add_changes(out.index);
  auto& fact = *out.index.add_facts();
  fact.set_name("parameters");
  fact.set_value("336,226,108");
  out.index.add_notes("Times and sizes are estimated; four constants are fitted to 17 published points.");
  out.index.add_notes(
      "The embedding shares IPU 0 with the head, so its layers are fewer than those of the other IPUs.");
  add_heat(out.columns, out.index);
  add_steps(out.index, out.columns);
  add_program(out.index);
  add_variables(out.index, out.columns);
  return out;
}

std::filesystem::path write_example(Example which, const std::filesystem::path& folder) {
  constexpr std::array<const char*, 5> kNames{"tight", "does-not-fit", "deeper", "infeasible", "empty"};
  const auto path = folder / (std::string("bert-large-") + kNames[static_cast<std::size_t>(which)] + ".ssr");
  const ExampleReport example = example_report(which);
  example.columns.finish(example.index, path);
  return path;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "superstep-test-XXXXXX").string();
  path = ::mkdtemp(name.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace superstep
