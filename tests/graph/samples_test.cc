// SPDX-License-Identifier: Apache-2.0
// What find_samples says of every tensor, held against values: the graph of a whole batch and the graph of its
// micro-batches are both evaluated.
#include "model/graph/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "model/graph/autodiff.h"
#include "model/graph/builder.h"
#include "model/graph/op_def.h"
#include "model/graph/recurrent.h"
#include "model/onnx/import.h"
#include "model/zoo/zoo.h"
#include "numbers.h"

namespace superstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using Build = std::function<Graph(std::int64_t)>;  // the forward graph for so many samples

Graph trained(Graph graph) {
  count_samples_in_loss(graph);
  add_gradients(graph);
  return graph;
}

// Micro-batch `i` of `parts` of a tensor whose samples are where `own` says.
Array slice(const Array& whole, const TensorSamples& own, std::int64_t i, std::int64_t parts) {
  const auto d = static_cast<std::size_t>(own.dimension);
  TensorInfo info = whole.info;
  info.shape.at(d) /= parts;
  Array part(info);
  std::int64_t runs = own.outer;
  for (std::size_t e = 0; e < d; ++e) runs *= info.shape[e];
  const std::int64_t run = info.elements() / runs;
  for (std::int64_t e = 0; e < info.elements(); ++e) part.set(e, whole.at((e / run * parts + i) * run + e % run));
  return part;
}

void expect_near(const Array& found, const Array& expected, const std::string& what) {
  ASSERT_EQ(found.info, expected.info) << what;
  double largest = 1e-3;
  for (double v : expected.values()) largest = std::max(largest, std::abs(v));
  for (std::int64_t e = 0; e < found.info.elements(); ++e)
    ASSERT_NEAR(found.at(e), expected.at(e), 1e-5 * largest) << what << " element " << e;
}

void add(Array& total, const Array& part) {
  for (std::int64_t e = 0; e < part.info.elements(); ++e) total.set(e, total.at(e) + part.at(e));
}

// Runs a list of ops, all if it is empty; values that are `given` are not computed.
Values run(const Graph& graph, Values values, const std::vector<OpId>& ops, const Values& given,
           const KernelContext& context) {
  for (const auto& [t, value] : given) values[t] = value;
  const auto value_of = [&](TensorId t) -> const Array* {
    if (!t.valid()) return nullptr;
    const auto at = values.find(t);
    return at != values.end() ? &at->second : graph.tensors[t].data.get();
  };
  for (std::size_t i = 0; i < (ops.empty() ? graph.ops.size() : ops.size()); ++i) {
    const OpId id = ops.empty() ? OpId(i) : ops[i];
    const CallOf call(graph, id);
    std::vector<const Array*> inputs;
    for (TensorId t : graph.ops[id].inputs) inputs.push_back(value_of(t));
    std::vector<Array> results = evaluate_op(*call, inputs, context);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const TensorId t = graph.ops[id].outputs[k];
      if (!given.contains(t)) values.insert_or_assign(t, std::move(results[k]));
    }
  }
  return values;
}

struct MicroBatches {
  std::vector<Values> values;  // by micro-batch
};

// The micro-batches of a batch whose sources have the values `whole`, of a graph of the same sources.
MicroBatches run_micro_batches(const Graph& micro, const Graph& batch, const Values& whole, std::int64_t parts) {
  const Samples samples = find_samples(micro);
  const AheadOfBatch ahead = ahead_of_batch(micro, samples);
  std::map<std::string, TensorId> by_name;
  for (const auto& [t, value] : whole) by_name[batch.tensors[t].name] = t;
  std::vector<Values> sources(static_cast<std::size_t>(parts));
  for (std::size_t i = 0; i < micro.tensors.size(); ++i) {
    const TensorId t(i);
    const auto at = by_name.find(micro.tensors[t].name);
    if (micro.tensors[t].producer.valid() || at == by_name.end()) continue;
    const TensorSamples& own = samples.of(t);
    for (std::int64_t k = 0; k < parts; ++k) {
      const Array& value = whole.at(at->second);
      sources[static_cast<std::size_t>(k)][t] = own.role == SampleRole::along ? slice(value, own, k, parts) : value;
    }
  }
  const auto context = [&](std::size_t k) {
    return KernelContext{.seed = 3, .step = 1, .first_sample = static_cast<std::int64_t>(k) * micro.micro_batch};
  };
  Values given;
  for (TensorId t : ahead.counts) {
    Array count = *micro.tensors[t].data;
    count.set(0, count.at(0) * static_cast<double>(parts));
    given[t] = std::move(count);
  }
  for (std::size_t k = 0; k < sources.size() && !ahead.ops.empty(); ++k) {
    const Values values = run(micro, sources[k], ahead.ops, {}, context(k));
    for (TensorId t : ahead.sums) {
      const auto [at, fresh] = given.try_emplace(t, values.at(t));
      if (!fresh) add(at->second, values.at(t));
    }
  }
  MicroBatches all;
  for (std::size_t k = 0; k < sources.size(); ++k) all.values.push_back(run(micro, sources[k], {}, given, context(k)));
  return all;
}

// The tensor as the micro-batches give it for the whole batch.
void expect_as_told(const TensorSamples& told, TensorId t, const MicroBatches& parts, TensorId in_batch,
                    const Values& batch, const std::string& what) {
  const Array& whole = batch.at(in_batch);
  const auto count = static_cast<std::int64_t>(parts.values.size());
  if (told.role == SampleRole::sum) {
    Array total = parts.values[0].at(t);
    for (std::size_t k = 1; k < parts.values.size(); ++k) add(total, parts.values[k].at(t));
    return expect_near(total, whole, what);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const Array& part = parts.values[static_cast<std::size_t>(k)].at(t);
    if (told.role == SampleRole::along) {
      expect_near(part, slice(whole, told, k, count), what + " of micro-batch " + std::to_string(k));
    } else if (part.info == whole.info) {  // else it is one value, repeated for every sample
      expect_near(part, whole, what);
    }
  }
}

// Values of the whole batch's sources: small labels, some of which are not counted.
Values sources_of(const Graph& batch, std::int64_t limit) {
  Values feeds = random_feeds(batch, 11, limit);
  for (TensorId t : batch.inputs) {
    const bool labels = batch.tensors[t].name.find("labels") != std::string::npos;
    for (std::int64_t e = 0; labels && e < batch.info(t).elements(); e += 3) feeds[t].set(e, -100);
  }
  return feeds;
}

// Every tensor where both graphs have the same ops, which graphs of one sample need not; else loss and gradients.
void expect_micro_batches_make_the_batch(const Build& build, std::int64_t samples, std::int64_t parts,
                                         std::int64_t limit) {
  const Graph micro = trained(build(samples)), batch = trained(build(samples * parts));
  const Samples told = find_samples(micro);
  ASSERT_THAT(told.faults, IsEmpty()) << told.faults[0].why;
  const Values sources = sources_of(batch, limit);
  const Values whole = evaluate(batch, sources, {.seed = 3, .step = 1});
  const MicroBatches all = run_micro_batches(micro, batch, sources, parts);
  if (samples > 1) {
    ASSERT_EQ(micro.ops.size(), batch.ops.size());
    for (const Op& op : micro.ops) {
      for (TensorId t : op.outputs) {
        ASSERT_NE(told.of(t).role, SampleRole::unknown) << micro.tensors[t].name;
        expect_as_told(told.of(t), t, all, t, whole, micro.tensors[t].name);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
  EXPECT_EQ(told.of(micro.loss).role, SampleRole::sum);
  expect_as_told(told.of(micro.loss), micro.loss, all, batch.loss, whole, "loss");
  std::map<std::string, TensorId> gradients;
  const auto weight_of = [](const Graph& g, TensorId t) { return g.tensors[g.tensors[t].weight].name; };
  for (std::size_t i = 0; i < batch.tensors.size(); ++i) {
    const TensorId t(i);
    if (batch.tensors[t].kind == TensorKind::weight_gradient) gradients[weight_of(batch, t)] = t;
  }
  std::size_t compared = 0;
  for (std::size_t i = 0; i < micro.tensors.size(); ++i) {
    const TensorId t(i);
    if (micro.tensors[t].kind != TensorKind::weight_gradient) continue;
    const std::string weight = weight_of(micro, t);
    EXPECT_EQ(told.of(t).role, SampleRole::sum) << weight;
    expect_as_told(told.of(t), t, all, gradients.at(weight), whole, "gradient of " + weight);
    ++compared;
  }
  EXPECT_GT(compared, 0u);
  EXPECT_EQ(compared, gradients.size());
}

struct ZooCase {
  std::string name;
  bool packed;
  std::int64_t samples, parts;
};
std::ostream& operator<<(std::ostream& out, const ZooCase& c) {
  return out << c.name << (c.packed ? " packed " : " ") << c.parts << " x " << c.samples;
}

class ZooSamples : public testing::TestWithParam<ZooCase> {};

TEST_P(ZooSamples, MicroBatchesMakeTheBatch) {
  TransformerSpec spec = tiny(GetParam().name);
  spec.packed = GetParam().packed;
  spec.dropout = 0.2;
  const Build build = [&](std::int64_t n) { return superstep::build(spec, n, DType::fp32); };
  expect_micro_batches_make_the_batch(build, GetParam().samples, GetParam().parts, 3);
}

INSTANTIATE_TEST_SUITE_P(Networks, ZooSamples,
                         testing::Values(ZooCase{"bert-base", false, 1, 3}, ZooCase{"bert-base", false, 2, 2},
                                         ZooCase{"bert-base", true, 1, 2}, ZooCase{"bert-base", true, 3, 2},
                                         ZooCase{"gpt2-small", false, 1, 2}, ZooCase{"gpt2-small", false, 2, 3},
                                         ZooCase{"gptj-6b", false, 1, 2}, ZooCase{"gptj-6b", false, 2, 2}));

TEST(Samples, MicroBatchesOfSequencesAndSpeechMakeTheBatch) {
  T5Spec translator = t5_spec("t5-small");
  translator.layers = 1, translator.hidden = 12, translator.heads = 3, translator.head_size = 4, translator.ffn = 20;
  translator.vocabulary = 17, translator.sequence_length = 6, translator.target_length = 5, translator.dropout = 0.2;
  LstmSpec words = lstm_spec("lstm");
  words.hidden = 6, words.vocabulary = 17, words.steps = 3, words.dropout = 0.2;
  DeepVoiceSpec speech = deep_voice_spec("deepvoice3");
  speech.hidden = speech.encoder_channels = speech.decoder_channels = 4;
  speech.encoder_blocks = speech.converter_blocks = 1, speech.decoder_blocks = 2;
  speech.text = 5, speech.frames = 6, speech.dropout = 0.2;
  for (const ZooSpec& spec : {ZooSpec(translator), ZooSpec(words), ZooSpec(speech)}) {
    SCOPED_TRACE(name_of(spec));
    const Build build = [&](std::int64_t n) { return superstep::build(spec, n, DType::fp32); };
    expect_micro_batches_make_the_batch(build, 1, 2, 3);
    expect_micro_batches_make_the_batch(build, 2, 2, 3);
  }
}

// A classifier of rows: the rest is up to `make`, from x [n, 4, 6] to logits [n, classes].
Graph classifier(std::int64_t n, const std::function<TensorId(GraphBuilder&, TensorId)>& make) {
  Graph graph;
  graph.micro_batch = n;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {n, 4, 6}), labels = b.input("labels", DType::int32, {n});
  graph.loss = b.cross_entropy(make(b, x), labels);
  graph.outputs = {graph.loss};
  return graph;
}

TensorId flat(GraphBuilder& b, TensorId x) {
  const std::int64_t n = b.info(x).shape[0];
  return b.matmul(b.reshape(x, {n, -1}), b.weight("head", DType::fp32, {b.info(x).elements() / n, 3}));
}

TEST(Samples, MergedAndSplitDimensionsKeepSamplesOutermost) {
  const Build build = [](std::int64_t n) {
    return classifier(n, [](GraphBuilder& b, TensorId x) {
      const std::int64_t samples = b.info(x).shape[0];
      const TensorId rows = b.reshape(x, {-1, 6});
      const TensorId wide = b.matmul(rows, b.weight("w", DType::fp32, {6, 8}));
      const TensorId back = b.reshape(wide, {samples, 2, 2, 8});
      return flat(b, b.transpose(back, {0, 2, 3, 1}));
    });
  };
  for (std::int64_t n : {1, 2, 3}) expect_micro_batches_make_the_batch(build, n, 2, 3);
}

TEST(Samples, SumsOfOneSampleAreFoundWhereItsDimensionIsDropped) {
  // A weight per position, one per sample's position and feature with a leading 1, one read from a slice.
  const Build build = [](std::int64_t n) {
    return classifier(n, [](GraphBuilder& b, TensorId x) {
      x = b.binary("add", x, b.weight("position", DType::fp32, {4, 6}));
      x = b.binary("mul", x, b.weight("leading", DType::fp32, {1, 4, 6}));
      x = b.binary("add", x, b.slice(b.weight("longer", DType::fp32, {7, 6}), 0, 2, 6));
      const TensorId tied = b.weight("tied", DType::fp32, {6, 6});
      x = b.binary("add", b.matmul(x, tied), b.reduce("sum", tied, {0}, false));
      return flat(b, x);
    });
  };
  for (std::int64_t n : {1, 2}) expect_micro_batches_make_the_batch(build, n, 3, 3);
}

TEST(Samples, AConvolutionIsAlongItsFirstDimension) {
  const Build build = [](std::int64_t n) {
    Graph graph;
    graph.micro_batch = n;
    GraphBuilder b(graph);
    const TensorId x = b.input("x", DType::fp32, {n, 3, 5, 5}), labels = b.input("labels", DType::int32, {n});
    const TensorId y = b.one("conv", {x, b.weight("kernel", DType::fp32, {4, 3, 3, 3})});
    graph.loss = b.cross_entropy(flat(b, b.unary("relu", y)), labels);
    return graph;
  };
  for (std::int64_t n : {1, 2}) expect_micro_batches_make_the_batch(build, n, 2, 3);
}

// A regression: `make` gives errors [n, 4, k] from x [n, 4, 6].
Graph regression(std::int64_t n, const std::function<TensorId(GraphBuilder&, TensorId)>& make,
                 DType type = DType::fp32) {
  Graph graph;
  graph.name = "regression";
  graph.micro_batch = n;
  GraphBuilder b(graph);
  graph.loss = make(b, b.input("x", type, {n, 4, 6}));
  graph.outputs = {graph.loss};
  return graph;
}

TEST(LossCounts, MeansBecomeSumsDividedByACountOfTheWholeBatch) {
  const Build squares = [](std::int64_t n) {
    return regression(n, [](GraphBuilder& b, TensorId x) {
      const TensorId y = b.matmul(x, b.weight("w", DType::fp32, {6, 2}));
      const TensorId a = b.reduce("mean_square", y, {0, 1, 2}, false);
      const TensorId c = b.reduce("mean", b.unary("exp", b.reduce("mean", y, {1, 2}, false)), {0}, false);
      return b.binary("add", b.scale(a, 3), c);
    });
  };
  for (std::int64_t n : {1, 2, 3}) expect_micro_batches_make_the_batch(squares, n, 3, 1);
}

TEST(LossCounts, ASumOfHalvesIsKeptInFloat) {
  Graph graph = regression(
      2,
      [](GraphBuilder& b, TensorId x) {
        return b.reduce("mean", b.unary("abs", x), {0, 1, 2}, false);
      },
      DType::fp16);
  const TensorId x = graph.inputs[0];
  Array large(graph.info(x));
  for (std::int64_t e = 0; e < large.info.elements(); ++e) large.set(e, 6e4);
  const double before = evaluate(graph, {{x, large}}, {}).at(graph.loss).at(0);
  count_samples_in_loss(graph);
  check(graph);
  EXPECT_EQ(graph.info(graph.loss), (TensorInfo{DType::fp16, {}}));
  EXPECT_EQ(evaluate(graph, {{x, large}}, {}).at(graph.loss).at(0), before);
  const AheadOfBatch ahead = ahead_of_batch(graph, find_samples(graph));
  ASSERT_EQ(ahead.counts.size(), 1u);
  EXPECT_EQ(graph.tensors[ahead.counts[0]].data->at(0), 48);
}

TEST(LossCounts, AMeanThatSamplesReadIsLeftAlone) {
  Graph graph = regression(2, [](GraphBuilder& b, TensorId x) {
    const TensorId centred = b.binary("sub", x, b.reduce("mean", x, {0}, true));
    return b.reduce("sum", centred, {0, 1, 2}, false);
  });
  const std::size_t ops = graph.ops.size();
  count_samples_in_loss(graph);
  EXPECT_EQ(graph.ops.size(), ops);
  EXPECT_THAT(find_samples(graph).faults.at(0).why, HasSubstr("takes a mean over the samples of \"x\""));
}

OpId op_named(const Graph& graph, std::string_view def) {
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (graph.ops[OpId(i)].def->name == def) return OpId(i);
  }
  ADD_FAILURE() << "no op " << def;
  return {};
}

std::string fault_of(const Graph& graph) {
  const Samples samples = find_samples(graph);
  EXPECT_EQ(samples.faults.size(), 1u);
  return samples.faults.empty() ? "" : samples.faults[0].why;
}

TEST(Samples, ABatchWhoseSumIsReadBySamplesCannotBeCut) {
  for (std::int64_t n : {1, 2}) {
    const Graph graph = classifier(n, [](GraphBuilder& b, TensorId x) {
      const TensorId total = b.reduce("sum", b.matmul(x, b.weight("w", DType::fp32, {6, 6})), {0}, true);
      return flat(b, b.binary("sub", x, total));
    });
    EXPECT_THAT(fault_of(graph),
                testing::AllOf(HasSubstr("the batch cannot be cut into micro-batches because op \"sub."),
                               HasSubstr("reads \"reduce."), HasSubstr("before it is complete")));
  }
}

TEST(Samples, AnExtremumOverSamplesCannotBeCut) {
  const Graph graph = classifier(
      2, [](GraphBuilder& b, TensorId x) { return flat(b, b.binary("sub", x, b.reduce("max", x, {0}, true))); });
  EXPECT_THAT(fault_of(graph), HasSubstr("takes an extremum over the samples of \"x\""));
}

TEST(Samples, SamplesThatMixCannotBeCut) {
  const Graph graph = classifier(2, [](GraphBuilder& b, TensorId x) {
    const TensorId rows = b.reshape(x, {2, 24});
    return flat(b, b.matmul(b.matmul(rows, rows, false, true), rows));
  });
  EXPECT_THAT(fault_of(graph), HasSubstr("it cannot be told how the results of op \"matmul."));
}

TEST(Samples, ANonlinearOpOnASumCannotBeCut) {
  Graph graph = classifier(2, flat);
  GraphBuilder b(graph);
  graph.loss = b.unary("sqrt", graph.loss);
  EXPECT_THAT(fault_of(graph), HasSubstr("(sqrt) reads \"div."));
}

TEST(Samples, CountsOfLabelsAreKnownAheadOfTheBatch) {
  const Graph graph = trained(classifier(2, flat));
  const Samples samples = find_samples(graph);
  const AheadOfBatch ahead = ahead_of_batch(graph, samples);
  std::vector<std::string> names;
  for (OpId id : ahead.ops) names.emplace_back(graph.ops[id].def->name);
  EXPECT_THAT(names, testing::ElementsAre("not_equal", "cast", "reduce"));
  ASSERT_EQ(ahead.sums.size(), 1u);
  EXPECT_EQ(samples.of(ahead.sums[0]).role, SampleRole::ahead);
  EXPECT_EQ(samples.of(graph.ops[op_named(graph, "max")].outputs[0]).role, SampleRole::ahead);
}

TEST(Samples, StepsOfAMicroBatchAreContiguousWhereSamplesAreOutermost) {
  const auto reduction = [](bool outermost) {
    Graph graph;
    graph.micro_batch = 2;
    GraphBuilder b(graph);
    const TensorId x = b.input("x", DType::fp32, {2, 3, 5});
    const TensorId y = outermost ? x : b.transpose(x, {1, 0, 2});
    b.reduce("sum", b.binary("mul", y, b.weight("w", DType::fp32, {5})), {0, 1}, false);
    const Samples samples = find_samples(graph);
    return samples.ops[op_named(graph, "reduce")];
  };
  EXPECT_EQ(reduction(true), (OpSamples{.axis = 0, .reduces = true, .contiguous = true}));
  EXPECT_EQ(reduction(false), (OpSamples{.axis = 1, .reduces = true, .contiguous = false}));
}

TEST(Samples, BatchNormHasStatisticsOfItsGroup) {
  Graph graph;
  graph.micro_batch = 2;
  GraphBuilder b(graph);
  const TensorId x = b.input("x", DType::fp32, {2, 3, 4}), labels = b.input("labels", DType::int32, {2});
  const TensorId gamma = b.weight("gamma", DType::fp32, {3}), beta = b.weight("beta", DType::fp32, {3});
  graph.loss = b.cross_entropy(flat(b, b.batch_norm(x, gamma, beta, 1e-5)), labels);
  const Samples samples = find_samples(trained(graph));
  EXPECT_THAT(samples.faults, IsEmpty());
  std::int64_t statistics = 0;
  for (const TensorSamples& t : samples.tensors) statistics += t.role == SampleRole::statistics;
  EXPECT_GE(statistics, 4);
}

TEST(Samples, MayBeInTheSecondDimensionOfTheInputs) {
  const Build build = [](std::int64_t n) {
    Graph graph;
    graph.micro_batch = n;
    graph.sample_dimension = 1;
    GraphBuilder b(graph);
    constexpr std::int64_t kSteps = 4, kHidden = 5;
    const TensorId x = b.input("x", DType::fp32, {kSteps, n, 3});
    const TensorId labels = b.input("labels", DType::int32, {kSteps, n});
    const LstmWeights weights{b.weight("input", DType::fp32, {4 * kHidden, 3}),
                              b.weight("recurrent", DType::fp32, {4 * kHidden, kHidden}),
                              b.weight("bias", DType::fp32, {4 * kHidden})};
    const TensorId all = lstm(b, x, weights, {}, {}, false).all;
    const TensorId rows = b.matmul(b.reshape(all, {-1, kHidden}), b.weight("first", DType::fp32, {kHidden, 7}));
    const TensorId logits = b.matmul(b.reshape(rows, {kSteps, n, 7}), b.weight("second", DType::fp32, {7, 3}));
    graph.loss = b.cross_entropy(b.reshape(logits, {kSteps * n, 3}), b.reshape(labels, {kSteps * n}));
    return graph;
  };
  for (std::int64_t n : {1, 2, 3}) {
    expect_micro_batches_make_the_batch(build, n, 2, 3);
    const Graph graph = trained(build(n));
    const Samples samples = find_samples(graph);
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const OpSamples& op = samples.ops[OpId(i)];
      const bool product = op.reduces && graph.ops[OpId(i)].def->name == "matmul";
      EXPECT_TRUE(!product || op.contiguous) << graph.ops[OpId(i)].name;
    }
  }
}

TEST(Samples, ImportedNetworksGiveTheBatch) {
  for (const std::string name : {"encoder_h16", "lstm_h10"}) {
    const std::string file = std::string(SUPERSTEP_TEST_DATA) + "/../onnx/references/" + name + "/train.onnx";
    const Build build = [&](std::int64_t n) { return import_onnx(file, {.micro_batch = n}).graph; };
    for (std::int64_t n : {1, 2}) expect_micro_batches_make_the_batch(build, n, 2, 3);
  }
}

class ImportedSamples : public testing::TestWithParam<std::string> {};

TEST_P(ImportedSamples, NothingIsUnknown) {
  const std::string file = std::string(SUPERSTEP_TEST_DATA) + "/../onnx/references/" + GetParam() + "/train.onnx";
  for (std::int64_t n : {1, 2, 16}) {  // 16: two statistics groups
    Graph graph = import_onnx(file, {.micro_batch = n}).graph;
    add_optimizer(graph, add_gradients(graph), {.kind = "adam"});
    const Samples samples = find_samples(graph);
    EXPECT_THAT(samples.faults, IsEmpty()) << samples.faults[0].why;
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const TensorId t(i);
      EXPECT_NE(samples.of(t).role, SampleRole::unknown) << graph.tensors[t].name;
      if (graph.tensors[t].kind != TensorKind::weight_gradient) continue;
      EXPECT_EQ(samples.of(t).role, SampleRole::sum) << graph.tensors[t].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(References, ImportedSamples,
                         testing::Values("encoder_h16", "images_w8", "lstm_h10", "experts_h8", "graph_h8", "llama_h16",
                                         "shared_h6"));

}  // namespace
}  // namespace superstep
