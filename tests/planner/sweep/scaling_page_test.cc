// SPDX-License-Identifier: Apache-2.0
// Scaling over sizes of machines. The tables of docs/results/scaling.md and its pictures are written from here:
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_long_test --gtest_filter=ScalingPage.*
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/data_folder.h"
#include "model/quantity_text.h"
#include "planner/sweep/scaling.h"
#include "planner/validate/validate.h"
#include "tests/planner/page.h"
#include "traces/text_table.h"

namespace superstep {
namespace {

constexpr const char* kJobs[] = {"scaling-resnet50", "scaling-vit-base", "scaling-gpt2-small"};

const Scaling& scaling_of(const std::string& job) {
  static std::map<std::string, Scaling> done;
  const auto [at, is_new] = done.try_emplace(job);
  if (is_new) at->second = scale(load_job(data_folder() + "/jobs/" + job + ".json"), {.time_limit = 0});
  return at->second;
}

void write_rows(std::ostream& out, const Scaling& scaling) {
  out << "| scaling | IPUs | batch | t p r | m | g | samples/s | 95 % band | speed-up | efficiency | rated power | "
         "samples/J | fit |\n|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n";
  for (const ScaledSize& s : scaling.sizes) {
    out << "| " << name_of(s.kind) << " | " << s.ipus << " | " << with_thousands(s.global_batch) << " | ";
    if (!s.failure.empty()) {
      out << "no plan: " << s.failure << " | | | | | | | " << to_text(s.rated_power) << " | | |\n";
      continue;
    }
    const auto rate = [&](double seconds) { return figure(static_cast<double>(s.global_batch) / seconds); };
    out << s.plan.tensor_parallel.size() << " " << s.plan.pipeline_stages << " " << s.plan.replicas << " | "
        << s.plan.micro_batch << " | " << with_thousands(s.plan.gradient_accumulation) << " | "
        << figure(s.samples_per_second) << " | " << rate(s.step_band.high) << " to " << rate(s.step_band.low) << " | "
        << figure(s.speed_up) << " | " << percent(s.efficiency) << " | " << to_text(s.rated_power) << " | "
        << figure(s.samples_per_joule()) << " | " << s.fits << (s.not_validated.empty() ? "" : ", not validated")
        << " |\n";
  }
}

bool on_a_whole_machine(const PublishedPoint& point, const Scaling& scaling) {
  const nlohmann::json& machine = point.job.at("machine");
  if (!machine.is_string() || point.measured.metric != Metric::throughput) return false;
  for (const ScaledSize& s : scaling.sizes) {
    if (s.machine == machine.get<std::string>()) return true;
  }
  return false;
}

void write_measured(std::ostream& out, const Scaling& scaling, const PublishedPoints& published) {
  out << "| measured | machine | batch | measured | predicted | error |\n|---|---|---:|---:|---:|---:|\n";
  for (const PublishedPoint& point : published.points) {
    if (!on_a_whole_machine(point, scaling) || point.job.at("model").value("zoo", "") != scaling.model) continue;
    const Prediction p = predict(point, nullptr);
    const double measured = point.measured.samples_per_second(p.global_batch);
    char error[16];
    std::snprintf(error, sizeof error, "%+.1f %%", 100 * (p.samples_per_second / measured - 1));
    out << "| " << point.id << " | " << p.machine << " | " << with_thousands(p.global_batch) << " | "
        << figure(measured) << " | " << figure(p.samples_per_second) << " | " << error << " |\n";
  }
}

std::string scaling_tables() {
  const PublishedPoints published = load_published({published_folder()});
  std::ostringstream out;
  for (const char* job : kJobs) {
    const Scaling& scaling = scaling_of(job);
    out << "## " << scaling.model << "\n\n`superstep sweep --scaling data/jobs/" << job << ".json`\n\n![Throughput of "
        << scaling.model << " over IPUs](../pictures/" << job << ".svg)\n\n";
    write_rows(out, scaling);
    out << "\n";
    write_measured(out, scaling, published);
    out << "\n";
  }
  out << "## Announced without a configuration\n\n| announced | | machine | | source |\n|---|---|---|---:|---|\n";
  for (const LeftOut& l : published.left_out) {
    if (!l.id.starts_with("press-rn50") || !l.stated) continue;
    out << "| " << l.id << " | " << l.model << ", " << l.stated->metric << " | " << l.machine << " | "
        << figure(l.stated->value) << " " << l.stated->unit << " | " << l.stated->source << " |\n";
  }
  return out.str();
}

TEST(ScalingPage, IsAsItIsPlanned) {
  test::expect_on_page(SUPERSTEP_SOURCE "/docs/results/scaling.md", "<!-- tables: begin -->\n",
                       "<!-- tables: end -->\n", scaling_tables());
}

TEST(ScalingPage, PicturesAreAsTheyArePlanned) {
  for (const std::string job : kJobs)
    test::expect_file(SUPERSTEP_SOURCE "/docs/pictures/" + job + ".svg", to_svg(plot_of(scaling_of(job))));
}

// More IPUs on one batch each do less; with the batch they keep most of their speed, as was announced of all of these.
TEST(ScalingPage, StrongScalingLosesWeakScalingDoesNot) {
  for (const std::string job : kJobs) {
    double before = 1.01;
    for (const ScaledSize& s : scaling_of(job).sizes) {
      ASSERT_EQ(s.failure, "") << job << " " << s.machine;
      if (s.kind == ScalingKind::weak) {
        EXPECT_GT(s.efficiency, 0.95) << job << " " << s.machine;
        EXPECT_LT(s.efficiency, 1.02) << job << " " << s.machine;
      } else {
        EXPECT_LT(s.efficiency, before) << job << " " << s.machine;
        before = s.efficiency;
      }
    }
  }
}

}  // namespace
}  // namespace superstep
