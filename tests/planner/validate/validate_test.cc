// SPDX-License-Identifier: Apache-2.0
#include "planner/validate/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/infeasible/evaluate_pinned.h"
#include "planner/report/evaluated.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// A folder of its own for the files of one test.
class ValidateFiles : public ::testing::Test {
 protected:
  ValidateFiles() {
    folder_ = fs::temp_directory_path() /
              (std::string("superstep-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ValidateFiles() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const json& contents) const {
    std::ofstream(folder_ / name) << contents;
    return (folder_ / name).string();
  }
  std::string folder() const { return folder_.string(); }

 private:
  fs::path folder_;
};

json toy_job() {
  json job = test::small_gpt({{"pipeline_stages", 2}, {"micro_batch", 1}});
  job["plan"]["available_memory_proportion"] = 0.25;
  return job;
}

json point(const std::string& id) {
  return {
      {"id", id},
      {"use", "validation"},
      {"family", "gpt"},
      {"job", toy_job()},
      {"measured", {{"metric", "samples_per_second"}, {"value", 10}, {"unit", "sequences/s"}, {"source", "a test"}}}};
}

// What is wrong with a file of one point.
std::string load_error(const std::function<PublishedPoints()>& load) {
  try {
    load();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(ErrorStatistics, AreTakenOverAbsoluteErrorsButForTheBias) {
  const ErrorStatistics s = statistics_of({-0.04, 0.01, 0.02, -0.03, 0.1});
  EXPECT_EQ(s.runs, 5);
  EXPECT_DOUBLE_EQ(s.median_abs, 0.03);
  EXPECT_NEAR(s.p90_abs, 0.076, 1e-12);  // place 0.9 x 4 = 3.6: 0.04 + 0.6 x 0.06
  EXPECT_DOUBLE_EQ(s.max_abs, 0.1);
  EXPECT_NEAR(s.bias, 0.012, 1e-12);  // 0.06 / 5
}

TEST(ErrorStatistics, OfAnEvenNumberLieBetweenTwo) {
  EXPECT_DOUBLE_EQ(quantile({4, 1, 2, 8}, 0.5), 3);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_TRUE(std::isnan(statistics_of({}).median_abs));
  EXPECT_EQ(statistics_of({}).runs, 0);
}

Plan pipeline(std::int64_t g, std::vector<std::int64_t> stages, std::int64_t p) {
  Plan plan;
  plan.gradient_accumulation = g;
  plan.stages = std::move(stages);
  plan.pipeline_stages = p;
  return plan;
}

TEST(NullModel, CountsTheBubbleByForwardStages) {
  EXPECT_DOUBLE_EQ(busy_share(pipeline(16, {0, 1, 2, 3}, 4), true), 16.0 / 22);
  EXPECT_DOUBLE_EQ(busy_share(pipeline(16, {0, 1, 2, 3, 4}, 4), true), 16.0 / 24);  // ends on the first IPU
  EXPECT_DOUBLE_EQ(busy_share(pipeline(16, {0, 1, 2, 3}, 4), false), 16.0 / 19);
  EXPECT_DOUBLE_EQ(busy_share(pipeline(16, {0}, 1), true), 1);
  Plan serial = pipeline(16, {0, 1, 2, 3}, 4);
  serial.schedule = Schedule::sequential;
  EXPECT_DOUBLE_EQ(busy_share(serial, true), 0.25);
}

TEST(NullModel, IsFittedToTheMedianUtilisation) {
  // 1 s of ideal work in 10 s; in 10 s of which half is bubble; in 2.5 s: 10, 20 and 40 %.
  const std::vector<FittedRun> runs = {{1, 1, 10}, {1, 0.5, 10}, {1, 1, 2.5}};
  EXPECT_NEAR(fit_null_model(runs)->utilisation, 0.2, 1e-12);
  EXPECT_EQ(fit_null_model(runs)->runs, 3);
  EXPECT_NEAR(fit_null_model({runs[0], runs[2]})->utilisation, 0.2, 1e-12);  // sqrt(0.1 x 0.4)
  EXPECT_FALSE(fit_null_model({}).has_value());
}

TEST(NullModel, PredictsTheIdealOverUtilisationAndBubble) {
  Prediction p;
  p.global_batch = 30;
  p.ideal_seconds = 1;
  p.busy = 0.5;
  EXPECT_DOUBLE_EQ((NullModel{0.2, 1}.samples_per_second(p)), 3);  // 10 s a step
}

TEST(Measured, TimesAndRatesAreTheSame) {
  Measured time{.metric = Metric::step_time, .value = 500, .unit_seconds = 1e-3};
  EXPECT_DOUBLE_EQ(time.samples_per_second(8), 16);
  EXPECT_DOUBLE_EQ(time.in_unit(32, 8), 250);
  Measured rate{.value = 16};
  EXPECT_DOUBLE_EQ(rate.samples_per_second(8), 16);
  EXPECT_DOUBLE_EQ(rate.in_unit(32, 8), 32);
}

// What `estimate` predicts for toy_job().
struct ToyRate {
  double samples_per_second;
  std::int64_t global_batch;
};
ToyRate toy_rate() {
  test::World world(toy_job());
  const Evaluated e = evaluate_pinned(world.tables, 1);
  return {e.samples_per_second, e.plan.global_batch()};
}

TEST_F(ValidateFiles, ErrorsAreOfTheRateAndEachRunCountsOnce) {
  const ToyRate toy = toy_rate();
  json rate = point("a-thr"), time = point("a-step"), other = point("b");
  rate["run"] = time["run"] = "a";
  rate["measured"]["value"] = toy.samples_per_second / 1.1;
  time["measured"] = {{"metric", "step_time_s"},
                      {"value", 1200 * static_cast<double>(toy.global_batch) / toy.samples_per_second},
                      {"unit", "ms"},
                      {"source", "a test"}};
  other["measured"]["value"] = toy.samples_per_second * 1.25;
  other["use"] = "calibration";
  const auto published = load_published({write("points.json", {{"points", {rate, time, other}}})});
  const Validation v = validate(published.points, published.points, {.threads = 1, .progress = {}});
  ASSERT_EQ(v.points.size(), 3u);
  EXPECT_NEAR(v.points[0].error, 0.1, 1e-9);
  EXPECT_NEAR(v.points[0].predicted, toy.samples_per_second, 1e-9);
  EXPECT_NEAR(v.points[1].error, 0.2, 1e-9);  // faster than the measured time
  EXPECT_NEAR(v.points[1].predicted, 1000 * static_cast<double>(toy.global_batch) / toy.samples_per_second, 1e-6);
  EXPECT_NEAR(v.points[2].error, -0.2, 1e-9);
  const ErrorGroup& all = v.groups.at(0);
  EXPECT_EQ(all.model.runs, 2);
  EXPECT_NEAR(all.model.median_abs, 0.175, 1e-9);  // of 15 and 20 %
  EXPECT_NEAR(all.model.bias, -0.025, 1e-9);
  // Fitted to "b" alone it meets that one, and is 1.25 times too fast elsewhere too.
  ASSERT_TRUE(v.null_model.has_value());
  EXPECT_EQ(v.null_model->runs, 1);
  EXPECT_NEAR(*v.points[2].null_error, 0, 1e-9);
  EXPECT_NEAR(*v.points[0].null_error, 1.25 * 1.1 - 1, 1e-9);
}

TEST_F(ValidateFiles, GroupsAreUsesAndFamilies) {
  json a = point("a"), b = point("b"), c = point("c");
  b["use"] = "calibration";
  c["family"] = "bert";
  const auto published = load_published({write("points.json", {{"points", {a, b, c}}})});
  std::string names;
  for (const ErrorGroup& g : validate(published.points, {}, {}).groups)
    names += g.use + "/" + g.family + "=" + std::to_string(g.model.runs) + " ";
  EXPECT_EQ(names, "/=3 calibration/=1 validation/=2 /bert=1 /gpt=2 calibration/gpt=1 validation/gpt=1 ");
}

TEST_F(ValidateFiles, AJobThatCannotBeEstimatedIsAFailureOfItsPoint) {
  json unknown = point("unknown"), beside = point("beside"), illegal = point("illegal");
  unknown["job"]["model"]["zoo"] = "gpt2-smal";
  beside["job"] = "job.json";
  illegal["job"]["plan"]["replicas"] = 3;
  json bad_job = toy_job();
  bad_job["machine"] = "ipu-pod5";
  const std::string job = write("job.json", bad_job);
  const std::string file = write("points.json", {{"points", {point("good"), unknown, beside, illegal}}});
  const auto published = load_published({file});
  const Validation v = validate(published.points, {}, {});
  EXPECT_TRUE(v.points[0].prediction.has_value());
  EXPECT_THAT(v.points[0].failure, IsEmpty());
  EXPECT_THAT(v.points[1].failure, HasSubstr(file + "#/points/1/job/model/zoo: "));
  EXPECT_THAT(v.points[1].failure, HasSubstr("gpt2-small"));
  EXPECT_THAT(v.points[2].failure, HasSubstr(job + "#/machine: "));
  EXPECT_THAT(v.points[3].failure, HasSubstr(file + "#/points/3/job/plan"));
  EXPECT_EQ(v.groups[0].model.runs, 1);
}

TEST_F(ValidateFiles, FoldersAreReadWholeAndSayWhatIsLeftOut) {
  write("b.json", {{"points", {point("b")}}});
  write("a.json",
        {{"points", {point("a")}},
         {"left_out", {{{"id", "x"}, {"use", "context"}, {"model", "m"}, {"machine", "n"}, {"why", "none"}}}}});
  std::ofstream(fs::path(folder()) / "notes.txt") << "not read";
  const PublishedPoints p = load_published({folder()});
  ASSERT_EQ(p.points.size(), 2u);
  EXPECT_EQ(p.points[0].id, "a");
  EXPECT_EQ(p.points[1].run, "b");  // its own
  ASSERT_EQ(p.left_out.size(), 1u);
  EXPECT_EQ(p.left_out[0].why, "none");
}

struct BadPoint {
  const char* name;
  std::function<void(json&)> spoil;  // the second of two points
  std::vector<std::string> said;
};

TEST_F(ValidateFiles, BadPointsAreToldWithFileKeyFoundAndExpected) {
  const std::vector<BadPoint> cases = {
      {"unknown key", [](json& p) { p["familly"] = "x"; }, {"/familly: unknown key", "family"}},
      {"no use", [](json& p) { p.erase("use"); }, {": the key \"use\" is missing"}},
      {"empty family", [](json& p) { p["family"] = ""; }, {"/family: found an empty text, expected a name"}},
      {"same id",
       [](json& p) { p["id"] = "a"; },
       {"/id: found \"a\" as in ", "#/points/0, expected a name of its own"}},
      {"job is number", [](json& p) { p["job"] = 3; }, {"/job: found 3, expected a job or the path of its file"}},
      {"no such job", [](json& p) { p["job"] = "none.json"; }, {"/job: found \"none.json\"", "there is no "}},
      {"metric",
       [](json& p) { p["measured"]["metric"] = "energy"; },
       {"/measured/metric: found \"energy\", expected samples_per_second or step_time_s"}},
      {"rate in seconds",
       [](json& p) { p["measured"]["unit"] = "s"; },
       {"/measured/unit: found \"s\", expected samples of the job per second"}},
      {"time in hours",
       [](json& p) {
         p["measured"].update({{"metric", "step_time_s"}, {"unit", "h"}});
       },
       {"/measured/unit: ", "\"1 h\"", "ms"}},
      {"zero", [](json& p) { p["measured"]["value"] = 0; }, {"/measured/value: expected a number from ", "found 0"}},
      {"no source", [](json& p) { p["measured"]["source"] = ""; }, {"/measured/source: found an empty text"}},
      {"assumed", [](json& p) { p["assumed"] = "a"; }, {"/assumed: found \"a\", expected a list of texts"}},
      {"run of another use",
       [](json& p) {
         p.update({{"run", "a"}, {"use", "calibration"}});
       },
       {"/use: found another one than point \"a\" of the same run \"a\" has, expected the same"}},
      {"run of another job",
       [](json& p) {
         p["run"] = "a";
         p["job"]["batch"]["global"] = 64;
       },
       {"/job: found another one than point \"a\""}},
  };
  for (const BadPoint& bad : cases) {
    SCOPED_TRACE(bad.name);
    json second = point("b");
    bad.spoil(second);
    const std::string file = write("points.json", {{"points", {point("a"), second}}});
    const std::string error = load_error([&] { return load_published({file}); });
    EXPECT_THAT(error, HasSubstr(file + "#/points/1"));
    for (const std::string& said : bad.said) EXPECT_THAT(error, HasSubstr(said));
  }
}

TEST_F(ValidateFiles, BadFilesAreTold) {
  EXPECT_THAT(load_error([&] { return load_published({folder()}); }), HasSubstr("found no .json file in this folder"));
  const std::string list = write("a.json", json::array());
  EXPECT_THAT(load_error([&] { return load_published({list}); }), HasSubstr(list + "#: expected an object"));
  const std::string none = write("a.json", {{"point", json::array()}});
  EXPECT_THAT(load_error([&] { return load_published({none}); }),
              HasSubstr("the key \"points\" is missing (did you mean \"points\" by \"point\"?)"));
  const std::string text = write("a.json", {{"points", "x"}});
  EXPECT_THAT(load_error([&] { return load_published({text}); }),
              HasSubstr(text + "#/points: found \"x\", expected a list"));
}

// ByteMLPerf's ResNet-50 on a C600 card: 13,499 images a second (bytedance/ByteMLPerf@18dfa924,
// byte_mlperf/backends/IPU/README.md). Batches of 32 and 64 IO tiles are assumed: neither is published.
TEST(Validate, IoTilesBringACardsRateToWhatWasPublished) {
  PublishedPoint point;
  point.job_file = "test";
  const auto rate = [&](int io_tiles) {
    point.job = {{"model", {{"zoo", "resnet50"}}},
                 {"machine", "c600"},
                 {"task", "inference"},
                 {"plan",
                  {{"replicas", 1},
                   {"phases", 1},
                   {"micro_batch", 32},
                   {"gradient_accumulation", 128},
                   {"io_tiles", io_tiles}}}};
    return predict(point, nullptr).samples_per_second;
  };
  EXPECT_NEAR(rate(64) / 13499, 1, 0.05);
  EXPECT_LT(rate(0) / 13499, 0.85);
}

}  // namespace
}  // namespace superstep
