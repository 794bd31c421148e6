// SPDX-License-Identifier: Apache-2.0
// Programs that are not imported, or not sound, are refused by the name of the instruction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "model/error.h"
#include "tests/onnx/onnx_file_maker.h"
#include "tests/xla/hlo_maker.h"

namespace superstep::test {
namespace {

using namespace xla_import;
using ::testing::HasSubstr;

std::string error_of(const ProgramMaker& p) {
  try {
    p.import();
  } catch (const Error& error) {
    return error.what();
  }
  return "imported";
}

// Names, opcodes and reasons of what is not imported.
std::string refusals(const ProgramMaker& p) {
  std::string out;
  for (const UnsupportedNode& node : p.import().unsupported)
    out += node.name + " (" + node.op_type + "): " + node.why + "\n";
  return out;
}

TEST(XlaRefusal, NamesTheInstructionAndWhatToDo) {
  ProgramMaker p;
  const Made x = p.parameter({2, 2}, "x"), s = p.add("custom-call", {2, 2}, {x});
  s->set_custom_call_target("__cublas$gemm");
  const Made r = p.add("rng", {2, 2}, {p.number(0), p.number(1)});
  r->mutable_metadata()->set_op_name("jit(f)/dropout/uniform");
  p.add("add", {2, 2}, {p.add("multiply", {2, 2}, {s, r}), p.add("sort", {2, 2}, {x})});
  const std::string text = refusals(p);
  EXPECT_THAT(text, HasSubstr(s->name() + " (custom-call): calls \"__cublas$gemm\""));
  EXPECT_THAT(text, HasSubstr("dropout/" + r->name() + " (rng): random numbers are not imported; dump the program"));
  EXPECT_THAT(text, HasSubstr("(sort): opcode \"sort\" is not imported"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);  // not those that read their results
}

TEST(XlaRefusal, RandomBitsAndPaddingBetweenElements) {
  ProgramMaker p;
  const Made x = p.parameter({2}, "x", kU32);
  const Made y = p.add("pad", {3}, {p.parameter({2}, "y"), p.number(0)});
  y->mutable_padding_config()->add_dimensions()->set_interior_padding(1);
  p.tuple({p.add("add", {2}, {x, x}, kU32), y});
  EXPECT_THAT(refusals(p), HasSubstr("(add): arithmetic of type u32, which wraps around"));
  EXPECT_THAT(refusals(p), HasSubstr("(pad): puts padding between elements"));
}

TEST(XlaRefusal, InstructionsWithoutUseAreLeftOut) {
  ProgramMaker p;
  const Made x = p.parameter({2}, "x");
  p.add("rng", {2}, {x});
  p.add("negate", {2}, {x});
  EXPECT_EQ(refusals(p), "");
}

TEST(XlaError, OperandsThatNobodyMakesAndCycles) {
  ProgramMaker p;
  const Made a = p.add("negate", {2}, {}), b = p.add("negate", {2}, {a});
  a->add_operand_ids(b->id());
  EXPECT_THAT(error_of(p), HasSubstr("instruction \"" + a->name() + "\" (negate): its operands depend on its result"));
  a->set_operand_ids(0, 77);
  EXPECT_THAT(error_of(p), HasSubstr("instruction \"" + a->name() + "\" reads instruction 77"));
}

TEST(XlaError, ComputationsThatAreMissingOrCallThemselves) {
  ProgramMaker p;
  const Made call = p.add("call", {2}, {p.parameter({2}, "x")});
  call->add_called_computation_ids(99);
  EXPECT_THAT(error_of(p), HasSubstr("(call): calls computation 99, which is not in the program"));
  call->set_called_computation_ids(0, p.module.entry_computation_id());
  EXPECT_THAT(error_of(p), HasSubstr("computation \"main\" calls itself"));
  p.module.set_entry_computation_id(5000);
  EXPECT_THAT(error_of(p), HasSubstr("found no computation with the id 5000"));
}

TEST(XlaError, ShapesThatLie) {
  ProgramMaker p;
  const Made x = p.parameter({2, 3}, "x"), y = p.parameter({3, 4}, "y");
  const Made m = p.matmul(x, y);
  m->mutable_shape()->set_dimensions(1, 5);
  EXPECT_THAT(error_of(p),
              HasSubstr("instruction \"" + m->name() + "\": its shape is [2, 5], its operands give [2, 4]"));
  m->mutable_shape()->set_dimensions(1, 4);
  m->mutable_dot_dimension_numbers()->set_lhs_contracting_dimensions(0, 9);
  EXPECT_THAT(error_of(p), HasSubstr("do not go together"));
  m->mutable_shape()->set_dimensions(1, std::int64_t{1} << 60);
  EXPECT_THAT(error_of(p), HasSubstr("absurd shape"));
}

TEST(XlaError, AFewWordsOnForeignFiles) {
  const auto folder = fresh_folder();
  const auto error = [&](const std::string& bytes) {
    try {
      import_file(write_file(folder / "p.hlo.pb", bytes), {});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("imported");
  };
  EXPECT_THAT(error("HloModule jit_f, entry_computation_layout={}"), HasSubstr("as text, expected its binary form"));
  EXPECT_THAT(error("\x0a\x05"
                    "hello"),
              HasSubstr("truncated, or not an XLA program"));
}

ProgramMaker sample() {
  ProgramMaker p;
  const Made x = p.parameter({2, 3}, "x"), w = p.parameter({3, 4}, "params['w']");
  const Made y = p.add("add", {2, 4}, {p.matmul(x, w), p.broadcast(p.floats({4}, {1, 2, 3, 4}), {2, 4}, {1})});
  const Made e = p.add("exponential", {2, 4}, {y});
  p.add("divide", {2, 4}, {e, p.broadcast(p.reduce("add", e, 0, {1}), {2, 4}, {0})});
  return p;
}

bool refused(const std::string& path) {
  try {
    return !import_file(path, {.micro_batch = 4}).unsupported.empty();
  } catch (const Error&) {
    return true;
  }
}

TEST(XlaDamage, TruncationFlippedBitsAndReplacedBytesNeverCrash) {
  const std::string bytes = sample().bytes();
  const auto folder = fresh_folder();
  std::mt19937 random(7);
  int refusals = 0;
  for (std::size_t length = 0; length < bytes.size(); length += 11)
    refusals += refused(write_file(folder / "p.pb", bytes.substr(0, length)));
  for (int i = 0; i < 600; ++i) {
    std::string damaged = bytes;
    if (i % 2 == 0) damaged[random() % damaged.size()] ^= static_cast<char>(1 << (random() % 8));
    if (i % 2 == 1) damaged[random() % damaged.size()] = static_cast<char>(random() % 20);
    refusals += refused(write_file(folder / "p.pb", damaged));
  }
  EXPECT_GT(refusals, 100);
}

TEST(XlaSharding, OfInputsAndWeightsIsDegreesOfThePlan) {
  ProgramMaker p;
  const Made x = p.parameter({8, 4}, "x"), w = p.parameter({4, 6}, "params['w']");
  p.matmul(x, w);
  auto& samples = *x->mutable_sharding();  // {devices=[4,1,2]<=[8] last_tile_dim_replicate}
  samples.set_type(hlo_file::OpSharding::OTHER);
  for (std::int64_t parts : {4, 1, 2}) samples.add_tile_assignment_dimensions(parts);
  samples.set_replicate_on_last_tile_dim(true);
  auto& axis = *w->mutable_sharding()->mutable_named_sharding()->mutable_mesh()->add_axes();
  axis.set_name("model");
  axis.set_size(2);
  w->mutable_sharding()->mutable_named_sharding()->add_dim_shardings();
  w->mutable_sharding()->mutable_named_sharding()->add_dim_shardings()->add_axes()->set_mesh_axis_index(0);
  const ProgramFacts facts = program_facts(p.write(), {});
  EXPECT_EQ(facts.replicas, 4);
  EXPECT_EQ(facts.tensor_parallel, 2);
  ASSERT_EQ(facts.sharding.size(), 2U);
  EXPECT_EQ(facts.sharding[0].parts, (Shape{4, 1}));
  EXPECT_EQ(facts.sharding[1].parts, (Shape{1, 2}));
  EXPECT_EQ(facts.weights, std::vector<std::string>{"params.w"});
}

TEST(XlaSharding, OfTuplesIsThatOfTheirLeaves) {
  ProgramMaker p;
  const Made both = p.add("parameter", {}, {}, kTuple);
  for (int i = 0; i < 2; ++i) {
    auto& part = *both->mutable_shape()->add_tuple_shapes();
    part.set_element_type(kF32);
    part.add_dimensions(4);
    auto& sharding = *both->mutable_sharding()->add_tuple_shardings();
    if (i == 0) continue;
    sharding.set_type(hlo_file::OpSharding::OTHER);
    sharding.add_tile_assignment_dimensions(2);
  }
  both->mutable_sharding()->set_type(hlo_file::OpSharding::TUPLE);
  p.add("add", {4}, {p.element(both, 0), p.element(both, 1)});
  const ProgramFacts facts = program_facts(p.write(), {});
  ASSERT_EQ(facts.sharding.size(), 2U);
  EXPECT_TRUE(facts.sharding[0].parts.empty());
  EXPECT_EQ(facts.sharding[1].parts, Shape{2});
  EXPECT_EQ(facts.replicas, 2);
}

}  // namespace
}  // namespace superstep::test
