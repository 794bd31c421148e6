// SPDX-License-Identifier: Apache-2.0
// The cost model of single operators against what is known of them. The tables of docs/explanation/operators.md are
// written here:
//   SUPERSTEP_UPDATE=1 build/dev/tests/planner_test --gtest_filter=Operators.*
#include "planner/validate/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/error.h"
#include "model/machine/load_machine.h"
#include "tests/lower/toy.h"

namespace superstep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<OperatorResult>& results() {
  static const std::vector<OperatorResult> all = [] {
    std::vector<OperatorResult> r;
    for (const OperatorFact& fact : load_operator_facts({operators_folder()})) r.push_back(evaluate(fact));
    return r;
  }();
  return all;
}

const OperatorResult& result(const std::string& id) {
  for (const OperatorResult& r : results()) {
    if (r.fact.id == id) return r;
  }
  throw Error("", "no fact " + id);
}

// A gap that is closed, or one that opens, is news: both fail here.
TEST(Operators, AreWithinTheirTolerancesUnlessAGapIsNoted) {
  EXPECT_GE(results().size(), 70u);
  for (const OperatorResult& r : results()) {
    EXPECT_EQ(r.within(), r.fact.gap.empty()) << r.fact.id << ": stated " << r.fact.stated << ", ours " << r.ours;
  }
}

TEST(Operators, MeetTheVendorsFormulasToTheCycle) {
  int formulas = 0;
  for (const OperatorResult& r : results()) {
    if (r.fact.group != "AMP vertex, vendor's formula") continue;
    ++formulas;
    EXPECT_EQ(r.ours, r.fact.stated) << r.fact.id;
    EXPECT_EQ(r.fact.tolerance, 0) << r.fact.id;
  }
  EXPECT_GE(formulas, 20);
}

TEST(Operators, MeetTheMeasuredProductWithinFivePercent) {
  const OperatorResult& gemm = result("heidelberg-gemm-fp32");
  EXPECT_EQ(gemm.fact.unit, OperatorUnit::teraflops);
  EXPECT_NEAR(gemm.ours, 44.2, 0.05 * 44.2);
}

TEST(Operators, MeetMeasuredBlocksWithinTenPercent) {
  int measured = 0;
  for (const OperatorResult& r : results()) {
    if (r.fact.group != "AMP vertex, measured" || r.fact.basis != "measured") continue;
    ++measured;
    EXPECT_LT(std::abs(r.error), 0.1) << r.fact.id;
  }
  EXPECT_GE(measured, 7);
}

// [8 x 16] by [16 x 64] in 4 parts of the columns: 192 B in pairs and a superstep of 10 (tests/lower/toy_test.cc).
TEST(Operators, AreTimedAsPlansAre) {
  OperatorFact fact;
  fact.machine = test::toy(1);
  fact.calibration = "none";
  fact.stated = 1;
  const ProductShape shape{.rows = 8, .columns = 64, .contracted = 16};
  fact.work = ProductExchangeWork{shape, {.columns = 4}, ProductPhase::operands};
  EXPECT_EQ(evaluate(fact).ours, 192 + 10);
  fact.work = ProductWork{shape, 0.6};
  EXPECT_EQ(evaluate(fact).ours, 254);
  fact.unit = OperatorUnit::share_of_peak;  // 8 x 16 x 64 multiply-adds of 4 tiles x 64 in each of 254 cycles
  EXPECT_NEAR(evaluate(fact).ours, 8.0 * 16 * 64 / (4 * 64 * 254), 1e-12);
  fact.unit = OperatorUnit::cycles;
  // [2 x 64] by [64 x 16], contraction in 4: 3 x 8 x 2 B of partial sums beside the tile's own.
  fact.work =
      ProductExchangeWork{{.rows = 2, .columns = 16, .contracted = 64}, {.contracted = 4}, ProductPhase::partials};
  EXPECT_EQ(evaluate(fact).ours, 48 + 10);
  // Where each piece costs 5 cycles more: of a plan, one from each of the other 3 tiles; else as stated.
  fact.machine.chip.exchange.piece = Cycles(5);
  EXPECT_EQ(evaluate(fact).ours, 48 + 3 * 5 + 10);
  fact.work = ExchangeWork{.plain = Bytes(64), .paired = Bytes(32), .pieces = 3};
  EXPECT_EQ(evaluate(fact).ours, 64 + 32 + 3 * 5 + 10);
  fact.machine = test::toy(1);
  fact.work = AmpWork{.groups = 2, .rows = 3, .contracted = 17, .columns = 16};  // 4 blocks: 4 (4 x 4 + 10)
  EXPECT_EQ(evaluate(fact).ours, 104);
  fact.work = ReductionWork{4, 8};
  EXPECT_EQ(evaluate(fact).ours, 105);
}

TEST(Operators, CountUsefulWorkOfConvolutions) {
  OperatorFact fact;
  fact.machine = test::toy(1);
  fact.calibration = "none";
  fact.stated = 1;
  fact.work = ConvolutionWork{.samples = 2, .size = 8, .inputs = 16, .outputs = 16, .window = 3, .stride = 2};
  const double cycles = evaluate(fact).ours;
  fact.unit = OperatorUnit::teraflops;
  // 2 samples of 4 x 4 results of 16 channels, each of 9 x 16 multiply-adds; a cycle is a microsecond.
  EXPECT_NEAR(evaluate(fact).ours, 2.0 * 2 * 16 * 16 * 9 * 16 / (cycles * 1e-6) / 1e12, 1e-15);
}

// What the message of a file says; empty: it loads.
std::string message_of(const std::string& text) {
  // Tests run side by side: each has a file of its own.
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const fs::path file = fs::path(testing::TempDir()) / ("operators_test_" + test + ".json");
  std::ofstream(file) << text;
  try {
    load_operator_facts({file.string()});
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string one(const std::string& work, const std::string& stated = R"("value": 1, "unit": "cycles")") {
  return R"({"facts": [{"id": "a", "group": "g", "machine": "toy", "tolerance": 0.1, )" + work + R"(, "stated": {)" +
         stated + R"(, "basis": "measured", "source": "a test"}}]})";
}

TEST(Operators, FilesAreReadStrictly) {
  const std::string adding = R"("kind": "reduction", "parts": 2, "elements": 8)";
  EXPECT_EQ(message_of(one(adding)), "");
  EXPECT_THAT(message_of(one(R"("kind": "reductoin")")), AllOf(HasSubstr("/facts/0/kind"), HasSubstr("reduction")));
  EXPECT_THAT(message_of(one(adding + R"(, "rows": 3)")), AllOf(HasSubstr("/facts/0"), HasSubstr("rows")));
  EXPECT_THAT(message_of(one(R"("kind": "reduction", "parts": 1, "elements": 8)")), HasSubstr("/facts/0/parts"));
  EXPECT_THAT(message_of(one(adding, R"("value": 1, "unit": "TFLOP/s")")),
              AllOf(HasSubstr("/facts/0/stated/unit"), HasSubstr("expected cycles")));
  EXPECT_THAT(message_of(one(R"("kind": "product", "rows": 8, "contracted": 8, "columns": 8)",
                             R"("value": 49, "unit": "of peak")")),
              AllOf(HasSubstr("/facts/0/stated/value"), HasSubstr("at most 1")));
  EXPECT_THAT(message_of(one(R"("kind": "product_exchange", "rows": 8, "contracted": 8, "columns": 8,
                                "parts": {"rows": 5}, "phase": "operands")")),
              AllOf(HasSubstr("/facts/0/parts"), HasSubstr("4 tiles")));
  EXPECT_THAT(message_of(R"({"facts": 3})"), AllOf(HasSubstr("/facts"), HasSubstr("a list")));
  EXPECT_THAT(message_of(R"({"facts": []})"), "");
}

TEST(Operators, FactsHaveNamesOfTheirOwn) {
  const std::string text = one(R"("kind": "reduction", "parts": 2, "elements": 8)");
  const std::string fact = text.substr(text.find('['), text.rfind(']') - text.find('['));
  EXPECT_THAT(message_of(R"({"facts": )" + fact + ", " + fact.substr(1) + "]}"),
              AllOf(HasSubstr("/facts/1/id"), HasSubstr("a name of its own")));
}

TEST(Operators, FoldersWithoutFactsAreRefused) {
  const fs::path folder = fs::path(testing::TempDir()) / "operators_test_empty";
  fs::create_directories(folder);
  EXPECT_THROW(load_operator_facts({folder.string()}), Error);
}

std::string tables() {
  std::ostringstream out;
  std::string group;
  for (const OperatorResult& r : results()) {
    const OperatorFact& f = r.fact;
    if (f.group != group) {
      out << (group.empty() ? "" : "\n") << "**" << f.group << "**\n\n"
          << "| fact | | basis | stated | ours | error | tolerance | |\n|---|---|---|---:|---:|---:|---:|---|\n";
      group = f.group;
    }
    const std::string unit = f.unit == OperatorUnit::share_of_peak ? "" : " " + unit_text(f.unit);
    out << "| " << f.id << " | " << work_text(f.work) << " | " << f.basis << " | " << value_text(f.stated, f.unit)
        << unit << " | " << value_text(r.ours, f.unit) << unit << " | " << error_text(r) << " | " << tolerance_text(f)
        << " | " << verdict_text(r) << " |\n";
  }
  out << "\nOutside, and why:\n\n";
  for (const OperatorResult& r : results()) {
    if (!r.fact.gap.empty()) out << "* " << r.fact.id << ": " << r.fact.gap << ".\n";
  }
  return out.str();
}

TEST(Operators, PageShowsWhatIsComputed) {
  const std::string page = SUPERSTEP_SOURCE "/docs/explanation/operators.md";
  const std::string begin = "<!-- tables: begin -->\n", end = "<!-- tables: end -->\n";
  std::stringstream read;
  read << std::ifstream(page, std::ios::binary).rdbuf();
  const std::string text = read.str();
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::string expected = text.substr(0, from + begin.size()) + tables() + text.substr(to);
  if (std::getenv("SUPERSTEP_UPDATE") != nullptr)
    std::ofstream(page, std::ios::binary) << expected;
  else
    EXPECT_EQ(text, expected) << "to update: SUPERSTEP_UPDATE=1 planner_test --gtest_filter=Operators.*";
}

}  // namespace
}  // namespace superstep
