// SPDX-License-Identifier: Apache-2.0
#include "model/machine/load_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/data_folder.h"
#include "model/error.h"

namespace superstep {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;

Machine from_job(const std::string& spec) { return load_machine(json::parse(spec), "job.json#/machine"); }

std::string message_of_job(const std::string& spec) {
  try {
    from_job(spec);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

const SourcedRow& row_of(const Machine& machine, const std::string& pointer) {
  const auto found = std::find_if(machine.rows.begin(), machine.rows.end(),
                                  [&](const SourcedRow& row) { return row.pointer == pointer; });
  if (found == machine.rows.end()) throw std::out_of_range(pointer);
  return *found;
}

TEST(MachineFiles, AllLoadAndEachRowHasASource) {
  for (const std::string& name : machine_names()) {
    const Machine machine = load_machine(name);
    EXPECT_EQ(machine.name, name);
    EXPECT_FALSE(machine.title.empty()) << name;
    EXPECT_GT(machine.rated_power.value, 0) << name;
    EXPECT_GE(machine.rows.size(), machine.plannable ? 20U : 2U) << name;
    for (const SourcedRow& row : machine.rows) {
      EXPECT_FALSE(row.source.empty()) << name << row.pointer;
      EXPECT_FALSE(row.file.empty()) << name << row.pointer;
    }
  }
}

TEST(MachineFiles, TheAgreedNamesAreThere) {
  EXPECT_THAT(machine_names(),
              IsSupersetOf({"ipu-m2000", "ipu-pod4", "ipu-pod16", "ipu-pod64", "ipu-pod128", "ipu-pod256", "bow-2000",
                            "bow-pod4", "bow-pod16", "bow-pod64", "bow-pod128", "bow-pod256", "ipu-64000", "ipu-65536",
                            "c600", "toy", "dgx-a100"}));
  EXPECT_EQ(machine_names().front(), "ipu-m2000");
}

TEST(MachineFiles, SizesFollowTheirNames) {
  const std::vector<std::pair<std::string, std::int64_t>> sizes{
      {"ipu-m2000", 4},    {"ipu-pod4", 4},     {"ipu-pod16", 16},    {"ipu-pod64", 64},    {"ipu-pod128", 128},
      {"bow-2000", 4},     {"bow-pod4", 4},     {"bow-pod16", 16},    {"bow-pod64", 64},    {"ipu-pod256", 256},
      {"bow-pod128", 128}, {"bow-pod256", 256}, {"ipu-64000", 64000}, {"ipu-65536", 65536}, {"c600", 1}};
  for (const auto& [name, ipus] : sizes) EXPECT_EQ(load_machine(name).ipus, ipus) << name;
}

TEST(MachineFacts, Gc200MatchesItsDatasheet) {
  const Machine pod = load_machine("ipu-pod16");
  EXPECT_NEAR(peak(pod.chip, pod.chip.amp.fp16_16_macs_per_cycle).value, 249.65e12, 0.01e12);
  EXPECT_NEAR(peak(pod.chip, pod.chip.amp.fp32_macs_per_cycle).value, 62.4e12, 0.05e12);
  EXPECT_EQ(pod.chip_memory(), Bytes(897LL * 1024 * 1024));
  EXPECT_EQ(pod.chip.tiles * pod.chip.workers, 8832);
  EXPECT_EQ(pod.machines(), 4);
  EXPECT_EQ(pod.domains(), 1);
  EXPECT_EQ(pod.control_domain_ipus, 16);
  EXPECT_EQ(pod.streaming_per_ipu(), Bytes(64'000'000'000));
}

TEST(MachineFacts, BowDiffersFromGc200OnlyInNameAndClock) {
  Chip bow = load_machine("bow-pod256").chip;
  const Chip gc200 = load_machine("ipu-pod256").chip;
  EXPECT_NEAR(peak(bow, bow.amp.fp16_16_macs_per_cycle).value * 256, 89.23e15, 0.01e15);
  bow.name = gc200.name;
  bow.clock = gc200.clock;
  EXPECT_EQ(bow, gc200);
}

TEST(MachineFacts, JoinedRacksKeepOneRackPerControlDomain) {
  const Machine large = load_machine("ipu-64000");
  EXPECT_EQ(large.domains(), 1000);
  EXPECT_EQ(large.machines(), 16000);
  EXPECT_EQ(large.control_domain_ipus, 64);
}

TEST(MachineFacts, DgxIsForComparisonOnly) {
  const Machine dgx = load_machine("dgx-a100");
  EXPECT_FALSE(dgx.plannable);
  EXPECT_EQ(dgx.ipus, 8);
  EXPECT_GE(dgx.baselines.size(), 10U);
  for (const Baseline& baseline : dgx.baselines) EXPECT_FALSE(baseline.source.empty()) << baseline.id;
}

TEST(MachineFacts, ConflictsOfTheSourcesAreKept) {
  const Machine pod = load_machine("ipu-pod16");
  EXPECT_DOUBLE_EQ(pod.streaming.ipu_rate.value, 5e9);
  EXPECT_THAT(row_of(pod, "/streaming/ipu_rate").conflict, HasSubstr("8"));
  EXPECT_THAT(row_of(pod, "/host/rate").conflict, AllOf(HasSubstr("x8"), HasSubstr("x16")));
  EXPECT_EQ(row_of(pod, "/chip/clock").file, "chips/gc200");
  EXPECT_EQ(row_of(pod, "/ipus").file, "ipu-pod16");
}

TEST(JobMachine, OverridesTakePlainValuesAndSayTheyAreFromTheJob) {
  const Machine machine = from_job(R"({"base": "ipu-pod16", "override": {"chip": {"clock": "2 GHz", "workers": 8},
                   "links": {"rate": {"value": "32 GB/s", "source": "a guess"}}}})");
  EXPECT_DOUBLE_EQ(machine.chip.clock.value, 2e9);
  EXPECT_EQ(machine.chip.workers, 8);
  EXPECT_EQ(row_of(machine, "/chip/clock").source, "job");
  EXPECT_EQ(row_of(machine, "/chip/clock").file, "job");
  EXPECT_EQ(row_of(machine, "/chip/clock").conflict, "");
  EXPECT_EQ(row_of(machine, "/links/rate").source, "a guess");
  EXPECT_EQ(row_of(machine, "/links/rate").file, "job");
  EXPECT_EQ(row_of(machine, "/chip/tiles").file, "chips/gc200");
}

TEST(JobMachine, APartitionIsASmallerMachine) {
  const Machine part = from_job(R"({"base": "ipu-pod64", "partition": 16})");
  EXPECT_EQ(part.ipus, 16);
  EXPECT_EQ(part.name, "ipu-pod64:16");
  EXPECT_EQ(part.control_domain_ipus, 16);
  EXPECT_EQ(row_of(part, "/ipus").file, "job");
  EXPECT_DOUBLE_EQ(part.rated_power.value, load_machine("ipu-pod64").rated_power.value / 4);
  EXPECT_THAT(row_of(part, "/rated_power").source, HasSubstr("scaled from 64 to 16 IPUs"));
  for (const int size : {1, 2, 4, 8, 32, 64}) {
    EXPECT_EQ(from_job(R"({"base": "ipu-pod64", "partition": )" + std::to_string(size) + "}").ipus, size);
  }
  EXPECT_EQ(from_job(R"({"base": "ipu-pod256", "partition": 192})").domains(), 3);
}

TEST(JobMachine, MoreIpusNeedMorePowerUnlessTheJobSaysHowMuch) {
  const Machine twice = from_job(R"({"base": "toy", "override": {"ipus": 16}})");
  EXPECT_DOUBLE_EQ(twice.rated_power.value, 16);
  const Machine said = from_job(R"({"base": "toy", "override": {"ipus": 16, "rated_power": "9 W"}})");
  EXPECT_DOUBLE_EQ(said.rated_power.value, 9);
}

TEST(JobMachine, EqualSpecsGiveEqualMachines) {
  EXPECT_EQ(from_job(R"("toy")"), load_machine("toy"));
  EXPECT_NE(from_job(R"({"base": "toy", "override": {"chip": {"tiles": 8}}})"), load_machine("toy"));
}

struct BadJob {
  const char* spec;
  const char* message;
};

void expect_refused(std::initializer_list<BadJob> jobs) {
  for (const BadJob& job : jobs) EXPECT_THAT(message_of_job(job.spec), HasSubstr(job.message)) << job.spec;
}

TEST(BadJobMachine, UnknownNamesAndKeysAreRefused) {
  expect_refused(
      {BadJob{R"("ipu-pdo16")", "job.json#/machine: unknown machine \"ipu-pdo16\" (did you mean \"ipu-pod16\"?)"},
       BadJob{R"("gpu")", "expected one of: ipu-m2000, ipu-pod4"},
       BadJob{R"("mine.json")", "no machine file \"mine.json\""},
       BadJob{"7", "expected a machine name, a file, or an object with \"base\", found 7"},
       BadJob{"{}", "job.json#/machine: the key \"base\" is missing"},
       BadJob{R"({"base": "toy", "ipus": 4})", "job.json#/machine/ipus: unknown key"},
       BadJob{R"({"base": "toy", "override": []})", "job.json#/machine/override: expected an object, found an array"},
       BadJob{R"({"base": "toy", "override": {"chip": {"clok": "2 GHz"}}})",
              "job.json#/machine/override/chip/clok: unknown key (did you mean /chip/clock?)"},
       BadJob{R"({"base": "toy", "override": {"/chip/clock": "2 GHz"}})",
              R"(unknown key, values nest: {"chip":{"clock":"..."}})"},
       BadJob{R"({"base": "toy", "override": {"links": {"rate": {"source": "x"}}}})", "the key \"value\" is missing"},
       BadJob{R"({"base": "toy", "override": {"chip": 3}})",
              "job.json#/machine/override/chip: expected an object with values, found 3"}});
}

TEST(BadJobMachine, ValuesWithoutUnitOrOutOfRangeAreRefused) {
  expect_refused(
      {BadJob{
           R"({"base": "toy", "override": {"chip": {"clock": 2e9}}})",
           "job.json#/machine/override/chip/clock: expected a text with a number and its unit, such as \"1.85 GHz\""},
       BadJob{R"({"base": "toy", "override": {"chip": {"clock": "2"}}})", "expected a number and a unit, one of: Hz"},
       BadJob{R"({"base": "toy", "override": {"chip": {"clock": "2 GB"}}})",
              "expected a number and a unit, one of: Hz"},
       BadJob{R"({"base": "toy", "override": {"chip": {"clock": "0 GHz"}}})", "expected 1 kHz to 1000 GHz"},
       BadJob{R"({"base": "toy", "override": {"chip": {"clock": "-1 GHz"}}})", "which is negative"},
       BadJob{R"({"base": "toy", "override": {"chip": {"clock": "nan GHz"}}})", "expected a number and a unit"},
       BadJob{R"({"base": "toy", "override": {"links": {"rate": "1e30 GB/s"}}})", "out of range"},
       BadJob{R"({"base": "toy", "override": {"links": {"rate": "0 GB/s"}}})", "expected 1.0 B/s to"},
       BadJob{R"({"base": "toy", "override": {"links": {"efficiency": 1.5}}})", "above 0 and up to 1, found 1.5"},
       BadJob{R"({"base": "toy", "override": {"links": {"torus": 1}}})", "expected true or false, found 1"},
       BadJob{R"({"base": "toy", "override": {"chip": {"tiles": 0}}})", "expected an integer from 1 to"},
       BadJob{R"({"base": "toy", "override": {"chip": {"tiles": -4}}})", "found -4"},
       BadJob{R"({"base": "toy", "override": {"chip": {"tiles": 4.5}}})", "found 4.5"},
       BadJob{R"({"base": "toy", "override": {"chip": {"tiles": 1e30}}})", "found 1e+30"},
       BadJob{R"({"base": "toy", "override": {"chip": {"tiles": "4"}}})", "found \"4\""},
       BadJob{R"({"base": "toy", "override": {"chip": {"tile_memory": "0 KiB"}}})", "expected 1 KiB to"},
       BadJob{R"({"base": "toy", "override": {"chip": {"tile_memory": "8 KiB"}}})",
              "64 KiB are more than the tile memory of 8 KiB"},
       BadJob{R"({"base": "toy", "override": {"chip": {"control_code": "128 KiB"}}})",
              "128 KiB are more than the executable memory of 64 KiB"}});
}

TEST(BadJobMachine, SizesThatTheLinksCannotJoinAreRefused) {
  expect_refused(
      {BadJob{R"({"base": "toy", "override": {"ipus": 64}})",
              "job.json#/machine/override/ipus: 64 IPUs, but one IPU-Link domain joins 8 and the gateways join 4"},
       BadJob{R"({"base": "ipu-65536", "override": {"ipus": 131072}})", "the gateways join 1024 domains"},
       BadJob{R"({"base": "toy", "override": {"ipus": 12}})", "12 IPUs are not whole IPU-Link domains of 8"},
       BadJob{R"({"base": "toy", "override": {"ipus": 6}})", "6 IPUs are not whole machines of 4"},
       BadJob{R"({"base": "c600", "override": {"ipus": 2}})", "2 IPUs, but no links between them"},
       BadJob{R"({"base": "toy", "override": {"links": {"domain_ipus": 10}}})",
              "a domain of 10 IPUs is not made of whole machines of 4"},
       BadJob{R"({"base": "ipu-pod16", "partition": 64})", "a partition of 64 IPUs is larger than ipu-pod16 with 16"},
       BadJob{R"({"base": "ipu-pod256", "partition": 96})",
              "a partition of 96 IPUs is more than one IPU-Link domain of ipu-pod256, expected a multiple of its 64"},
       BadJob{R"({"base": "ipu-pod64", "partition": 0})", "job.json#/machine/partition: expected an integer from 1 to"},
       BadJob{R"({"base": "dgx-a100", "partition": 4})", "dgx-a100 is a comparison system"}});
}

// Machine files of the user, written to a folder of the test's own.
class MachineFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("machines_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static std::string message_of(const std::string& path) {
    try {
      load_machine(path);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }
  std::filesystem::path folder_;
};

TEST_F(MachineFile, InheritsAndOverrides) {
  write("half.json", R"({"base": "toy", "chip": {"clock": {"value": "500 kHz", "source": "a thought"}}})");
  const Machine machine = load_machine(write("mine.json", R"({"base": "half.json", "title": "mine"})"));
  EXPECT_EQ(machine.name, "mine");
  EXPECT_EQ(machine.title, "mine");
  EXPECT_DOUBLE_EQ(machine.chip.clock.value, 5e5);
  EXPECT_EQ(machine.chip.tiles, 4);
  EXPECT_EQ(row_of(machine, "/chip/clock").source, "a thought");
}

TEST_F(MachineFile, IsFoundBesideTheJobThatNamesIt) {
  write("mine.json", R"({"base": "toy"})");
  EXPECT_EQ(load_machine(json("mine.json"), (folder_ / "job.json").string() + "#/machine").name, "mine");
}

TEST_F(MachineFile, ANumberWithoutSourceDoesNotLoad) {
  const std::string path = write("a.json", R"({"base": "toy", "chip": {"tiles": {"value": 4}}})");
  EXPECT_EQ(message_of(path), path + "#/chip/tiles: the key \"source\" is missing");
  const std::string plain = write("b.json", R"({"base": "toy", "chip": {"tiles": 4}})");
  EXPECT_THAT(message_of(plain), HasSubstr("#/chip/tiles: expected {\"value\": ..., \"source\": \"...\"}, found 4"));
  const std::string empty = write("c.json", R"({"base": "toy", "chip": {"tiles": {"value": 4, "source": " "}}})");
  EXPECT_THAT(message_of(empty), HasSubstr("#/chip/tiles/source: is empty"));
}

TEST_F(MachineFile, AnUnknownKeyDoesNotLoad) {
  const std::string path = write("a.json", R"({"base": "toy", "chip": {"tils": {"value": 4, "source": "x"}}})");
  EXPECT_EQ(message_of(path), path + "#/chip/tils: unknown key (did you mean /chip/tiles?)");
  const std::string note =
      write("b.json", R"({"base": "toy", "chip": {"tiles": {"value": 4, "source": "x", "sorce": "y"}}})");
  EXPECT_THAT(message_of(note), HasSubstr("#/chip/tiles/sorce: unknown key (did you mean \"source\"?)"));
}

TEST_F(MachineFile, MissingValuesAreNamed) {
  const std::string path = write("a.json", R"({"base": "chips/bow", "title": "half a machine"})");
  EXPECT_EQ(message_of(path), path + ": the value /ipus is missing, here and in its bases");
}

TEST_F(MachineFile, AMistypedKeyOfACompleteFileIsNamed) {
  const std::string path = write("a.json", R"({"title": "x", "chip": {"nam": "x"}})");
  EXPECT_EQ(message_of(path), path + "#/chip/nam: unknown key (did you mean /chip/name?)");
}

TEST_F(MachineFile, BasesMustNotLeadBack) {
  write("a.json", R"({"base": "b.json"})");
  EXPECT_THAT(message_of(write("b.json", R"({"base": "a.json"})")), HasSubstr("lead back to this file"));
}

TEST_F(MachineFile, BadBasesAreRefused) {
  EXPECT_THAT(message_of(write("a.json", R"({"base": 3})")), HasSubstr("#/base: expected a machine name or a list"));
  EXPECT_THAT(message_of(write("b.json", R"({"base": "chips/bo"})")), HasSubstr("did you mean \"chips/bow\"?"));
  EXPECT_THAT(message_of(write("c.json", "[]")), HasSubstr("expected an object, found an array"));
}

TEST_F(MachineFile, BaselinesAreChecked) {
  const std::string path = write("a.json", R"({"base": "dgx-a100", "baselines": [{"id": "x", "model": "m"}]})");
  EXPECT_THAT(message_of(path), HasSubstr("a.json#/baselines/0: the key \"metric\" is missing"));
}

TEST(PrintMachine, ShowsSizeDerivedFactsAndSources) {
  std::ostringstream out;
  print(out, load_machine("ipu-pod16"));
  EXPECT_THAT(out.str(), HasSubstr("ipu-pod16: IPU-POD16 (GC200)\n  16 IPUs in 4 IPU-Machines and 1 IPU-Link domain"));
  EXPECT_THAT(out.str(), HasSubstr("897 MiB per IPU in 1,472 tiles of 624 KiB at 1.325 GHz"));
  EXPECT_THAT(out.str(), HasSubstr("249.65 TFLOP/s FP16.16"));
  EXPECT_THAT(out.str(), HasSubstr("/streaming/ipu_rate"));
  EXPECT_THAT(out.str(), HasSubstr("but: "));
}

TEST(DataFolder, AWrongSettingIsNamed) {
  setenv("SUPERSTEP_DATA", "/nowhere", 1);
  EXPECT_THROW(data_folder(), Error);
  unsetenv("SUPERSTEP_DATA");
  EXPECT_FALSE(machine_names().empty());
}

}  // namespace
}  // namespace superstep
