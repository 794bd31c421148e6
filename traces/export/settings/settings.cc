// SPDX-License-Identifier: Apache-2.0
#include "traces/export/settings/settings.h"

#include <algorithm>
#include <stdexcept>

#include "model/error.h"
#include "model/quantity_text.h"
#include "model/software/plan_facts.h"
#include "traces/text_table.h"
#include "traces/verdict.h"

namespace superstep::exports {
namespace {

using nlohmann::json;

std::map<std::string, std::string> texts_of(const json& object) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) out[key] = value;
  }
  return out;
}

std::map<std::string, std::int64_t> numbers_of(const json& object) {
  std::map<std::string, std::int64_t> out;
  for (const auto& [key, value] : object.items()) {
    if (value.is_number_integer()) out[key] = value;
  }
  return out;
}

std::vector<StageSettings> stages_of(const json& plan, const ReportFile& report) {
  const auto begins = plan.at("stages").get<std::vector<std::int64_t>>();
  const auto ipus = plan.at("stage_ipu").get<std::vector<std::int64_t>>();
  const auto phases = plan.at("phases").get<std::vector<std::int64_t>>();
  const json& recompute = plan.at("recompute");
  const TextColumn name = report.column_texts("unit.name");
  const auto layer = report.column_integers("unit.layer");
  const auto run = report.has_column("unit.checkpoint") ? report.column_integers("unit.checkpoint") : layer;
  if (layer.size() != name.size() || run.size() != name.size()) throw std::out_of_range("unit.layer");
  std::vector<StageSettings> out(begins.size());
  for (std::size_t s = 0; s < out.size(); ++s) {
    const auto end = s + 1 < begins.size() ? begins[s + 1] : static_cast<std::int64_t>(name.size());
    out[s].ipu = ipus.at(s);
    out[s].recompute = recompute.is_string() ? recompute : recompute.at(s);
    if (phases.size() > 1)
      out[s].phase = std::upper_bound(phases.begin(), phases.end(), static_cast<std::int64_t>(s)) - phases.begin();
    for (std::int64_t u = begins[s]; u < end; ++u) {
      out[s].layers.push_back(layer.at(static_cast<std::size_t>(u)));
      out[s].runs.push_back(run[static_cast<std::size_t>(u)]);
      out[s].units.push_back(name[static_cast<std::size_t>(u)]);
    }
    if (out[s].units.empty()) throw std::out_of_range("stages");
  }
  return out;
}

UnitFacts unit_facts(const ReportFile& report) {
  UnitFacts out{.layers = report.column_integers("unit.layer"), .ties = {}};
  if (!report.has_column("tie.owner")) return out;
  const auto owners = report.column_integers("tie.owner"), borrowers = report.column_integers("tie.borrower");
  for (std::size_t i = 0; i < owners.size(); ++i) out.ties.push_back({owners[i], borrowers.at(i)});
  return out;
}

std::vector<std::string> headline_of(const report::Index& index) {
  const report::PlanSummary& plan = index.plan();
  std::vector<std::string> out = {index.title() + ": " + plan.label(),
                                  "Predicted by " + index.created_by() + ": " + figure(plan.samples_per_second()) +
                                      " samples/s, " + to_text(Seconds(plan.step_time_s())) + " a step of " +
                                      with_thousands(plan.global_batch()) + " samples."};
  if (plan.fits() != "fits") {
    out.push_back(plan.fits() == "tight" ? "It fits, but tightly: " + kib_text(margin_bytes(plan)) + " to spare."
                                         : "It does not fit: " + plan.first_overflow() + ".");
  }
  for (std::string& line : out) {
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  }
  return out;
}

// Of several the tightest, so that what fits in the plan does so here.
double least_share(const json& bound) {
  constexpr double kLeast = 0.05;  // kLeastProportion of the model, which reports do without
  if (!bound.is_object()) return bound.get<double>();
  if (bound.contains("live")) return std::min(bound.at("proportion").get<double>(), kLeast);
  double least = 1;
  for (const auto& [work, share] : bound.items()) {
    if (work != "update") least = std::min(least, share.get<double>());  // no product has a part in one
  }
  return least;
}

// What is said of a bound that is more than the number here.
void explain_bound(const json& bound, PlanSettings& out) {
  if (!bound.is_object()) return;
  if (bound.contains("live")) {
    out.headline.push_back("In the plan an op may take " + bound.at("proportion").dump() + " of a tile together with " +
                           (bound.at("live") == "weights"
                                ? "what is live in its unit, and the unit's weights and gradients"
                                : "what is live in its " + bound.at("live").get<std::string>()) +
                           "; here the least that any has.");
    out.headline.push_back(
        R"(One number describes plans of "plan": {"available_memory_proportion": {"live": "none"}}.)");
    return;
  }
  std::string each;
  for (const auto& [work, share] : bound.items()) {
    if (work != "update") each += (each.empty() ? "" : ", ") + work + " " + share.dump();
  }
  out.headline.push_back("Available memory proportion of the plan: " + each + "; here the least for all.");
}

void read_proportions(const json& plan, PlanSettings& out) {
  const json& bound = plan.at("available_memory_proportion");
  if (!bound.is_object() || !bound.contains("stages")) {
    out.available_memory_proportion = least_share(bound);
    return explain_bound(bound, out);
  }
  out.available_memory_proportion = 1;
  for (std::size_t s = 0; s < bound.at("stages").size(); ++s) {
    const double share = least_share(bound.at("stages").at(s));
    double& of_ipu = out.ipu_proportions.try_emplace(plan.at("stage_ipu").at(s), share).first->second;
    of_ipu = std::min(of_ipu, share);
    out.available_memory_proportion = std::min(out.available_memory_proportion, share);
  }
  out.headline.push_back(
      "Each stage of the plan has an available memory proportion of its own; here the least of an IPU's,");
  out.headline.push_back("where it counts live tensors the least that an op may have.");
}

void read_plan(const json& plan, PlanSettings& out) {
  const json& t = plan.at("tensor_parallel");
  out.t1 = t.is_array() ? t.at(0).get<std::int64_t>() : t.get<std::int64_t>();
  out.t2 = t.is_array() ? t.at(1).get<std::int64_t>() : 1;
  plan.at("pipeline_stages").get_to(out.pipeline_stages);
  plan.at("replicas").get_to(out.replicas);
  plan.at("micro_batch").get_to(out.micro_batch);
  plan.at("gradient_accumulation").get_to(out.gradient_accumulation);
  plan.at("schedule").get_to(out.schedule);
  plan.at("phase_order").get_to(out.phase_order);
  plan.at("phase_groups").get_to(out.phase_groups);
  plan.at("activation_sharding").get_to(out.activation_sharding);
  const json& load = plan.at("load");
  (load.is_object() ? load.at("weights") : load).get_to(out.load);
  plan.at("io_tiles").get_to(out.io_tiles);
  plan.at("prefetch_depth").get_to(out.prefetch_depth);
  read_proportions(plan, out);
  out.phases = static_cast<std::int64_t>(plan.at("phases").size());
  out.shards = numbers_of(plan.at("replicated_tensor_sharding"));
  out.location = texts_of(plan.at("location"));
  out.precision = texts_of(plan.at("precision"));
  out.serialisation = numbers_of(plan.at("serialisation"));
}

void read_job(const json& job, PlanSettings& out) {
  out.training = job.value("task", "training") == "training";
  out.model = job.value("/model/zoo"_json_pointer, "");
  out.optimizer = job.value("optimizer", json::object());
  const json run = job.value("run", json::object());
  out.instances = run.value("instances", 1);  // of a job that does not say, read_settings() knows more
  out.stochastic_rounding = run.value("rounding", "") == "stochastic";
  const json scale = run.value("loss_scale", json());
  out.automatic_loss_scaling = scale == "auto";
  if (scale.is_number()) out.loss_scaling = scale;
}

// What writers take for granted is there, and of its type; throws what read_settings() catches.
void check_fields(const PlanSettings& plan) {
  for (const char* what : {"weights", "gradients", "optimizer_state"}) static_cast<void>(plan.shards.at(what));
  for (const char* what : {"weights", "gradients", "optimizer_state", "activations", "code"})
    static_cast<void>(plan.location.at(what));
  for (const char* what : {"weights", "activations", "partials", "accumulators", "first_moment", "second_moment"})
    static_cast<void>(plan.precision.at(what));
  static_cast<void>(plan.serialisation.at("attention"));
  static_cast<void>(plan.optimizer.value("kind", ""));
  static_cast<void>(plan.optimizer.value("bias_correction", true));
  static_cast<void>(plan.optimizer.value("clip_norm", 0.0));
}

// Of files that nobody wrote: counts that are none, and products of them that no machine has.
void check_counts(const PlanSettings& plan) {
  double ipus = 1, batch = 1;
  for (const std::int64_t n : {plan.t1, plan.t2, plan.pipeline_stages, plan.replicas}) ipus *= static_cast<double>(n);
  for (const std::int64_t n : {plan.micro_batch, plan.gradient_accumulation, plan.replicas})
    batch *= static_cast<double>(n);
  bool sound = ipus < 1e9 && batch < 1e15 && plan.pipeline_stages <= static_cast<std::int64_t>(plan.stages.size());
  for (const std::int64_t n : {plan.t1, plan.t2, plan.pipeline_stages, plan.replicas, plan.micro_batch,
                               plan.gradient_accumulation, plan.instances})
    sound = sound && n >= 1;
  if (!sound) throw std::out_of_range("counts");
}

}  // namespace

std::vector<std::string> StageSettings::checkpoints() const {
  std::vector<std::string> out;
  if (recompute != "layer") return out;
  for (std::size_t i = 0; i + 1 < units.size(); ++i) {
    if (runs[i] >= 0 && runs[i + 1] != runs[i]) out.push_back(units[i]);
  }
  return out;
}

json read_object(const std::string& text, const std::string& where, const char* what) {
  json out = json::parse(text, nullptr, false);
  if (!out.is_object()) throw Error(where, std::string("does not say its ") + what + "; write the report again");
  return out;
}

PlanSettings read_settings(const ReportFile& report) {
  const report::Index& index = report.index();
  PlanSettings out;
  out.where = report.path().string();
  if (!index.has_plan() || index.plan().plan_json().empty())
    throw Error(out.where, "has no plan, so there are no settings to write; `plan` and `estimate` write one");
  const json plan = read_object(index.plan().plan_json(), out.where, "plan");
  const json job = read_object(index.job_json(), out.where, "job");
  out.headline = headline_of(index);
  out.streaming_bytes_per_ipu = index.plan().ddr_bytes_per_ipu();
  try {
    read_plan(plan, out);
    read_job(job, out);
    out.stages = stages_of(plan, report);
    check_fields(out);
    check_counts(out);
    out.facts = plan_facts(plan, job, unit_facts(report));
    out.instances = out.count("run.instances");
  } catch (const std::out_of_range&) {
    throw Error(out.where, "its plan and its units do not agree; write the report again");
  } catch (const json::exception& e) {
    throw Error(out.where, std::string("its plan or job cannot be read (") + e.what() + "); write the report again");
  }
  return out;
}

std::string recomputation_type(const PlanSettings& plan) { return plan.facts.at("recomputation"); }

void check_rules(const PlanSettings& plan, const char* software_name) {
  const Software& rules = software(software_name);
  std::string all;
  for (const BrokenRule& broken : broken_rules(rules, plan.facts)) all += (all.empty() ? "" : "; ") + to_text(broken);
  if (!all.empty()) throw Unsupported(plan.where, rules.title + " cannot express the plan: " + all);
}

std::string comment_lines(const PlanSettings& plan, const char* software_name) {
  const Software& target = software(software_name);
  std::string out;
  for (const std::string& line : plan.headline) out += "# " + line + "\n";
  return out + "# Written for " + target.title + " " + target.version + ".\n";
}

std::int64_t batches_per_call(const PlanSettings& plan) {
  return plan.facts.at("is_pipelined") == true
             ? std::max(plan.gradient_accumulation, plan.count("pipeline_depth_from_ipu_0"))  // PopTorch's, or more
             : plan.gradient_accumulation;
}

}  // namespace superstep::exports
