// SPDX-License-Identifier: Apache-2.0
// Deep Voice 3: text to spectrograms with blocks of gated convolutions along time. An encoder of the text makes keys
// and values, a causal decoder with attention makes mel spectrograms, a converter linear ones. Channels first, time
// along the image's rows: [m, channels, steps, 1].
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "model/graph/builder.h"
#include "model/zoo/transformer.h"

namespace superstep::zoo {

namespace {

constexpr const char* kDeepVoice =
    "Ping et al. 2017 (arXiv 1710.07654); sizes of Graphcore's public VCTK configuration, 80 symbols assumed";
constexpr std::int64_t kConvWindow = 5;
constexpr double kQueryRate = 1.0, kKeyRate = 1.28;  // of the position encodings
constexpr double kGuide = 0.2;                       // how far from the diagonal attention may be

double half_power() { return 1 / std::numbers::sqrt2; }  // keeps the variance of a sum of two

// [channels, steps, 1]: sines on even channels, cosines on odd ones.
Array position_encoding(DType type, std::int64_t channels, std::int64_t steps, double rate) {
  Array values(TensorInfo{type, {channels, steps, 1}});
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t t = 0; t < steps; ++t) {
      const double angle = position_angle(rate * static_cast<double>(t), c, channels);
      values.set(c * steps + t, c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return values;
}

// [frames, text]: 0 on the diagonal, towards 1 away from it.
Array guide(DType type, std::int64_t frames, std::int64_t text) {
  Array values(TensorInfo{type, {frames, text}});
  for (std::int64_t t = 0; t < frames; ++t) {
    for (std::int64_t n = 0; n < text; ++n) {
      const double off =
          static_cast<double>(n) / static_cast<double>(text) - static_cast<double>(t) / static_cast<double>(frames);
      values.set(t * text + n, 1 - std::exp(-off * off / (2 * kGuide * kGuide)));
    }
  }
  return values;
}

class DeepVoiceBuilder {
 public:
  DeepVoiceBuilder(Graph& graph, const DeepVoiceSpec& spec, std::int64_t micro_batch, DType precision)
      : b_(graph), s_(spec), m_(micro_batch), type_(precision) {}

  void build(Graph& graph, GraphUse use) {
    encoder();
    const TensorId mel = b_.input("mel", type_, {m_, s_.mel_bands, s_.frames, 1});
    const TensorId hidden = decoder(mel);
    const TensorId made = converter(hidden);
    outputs(graph, use, hidden, made, mel);
  }

 private:
  GraphBuilder b_;
  const DeepVoiceSpec& s_;
  std::int64_t m_;
  DType type_;
  TensorId speaker_, keys_, values_;
  std::vector<TensorId> attention_;  // weights of each attention, [m, frames, text]
  std::int64_t layer_ = 0;

  std::int64_t channels(TensorId x) const { return b_.info(x).shape[1]; }

  TensorId conv(TensorId x, const std::string& name, std::int64_t filters, std::int64_t window, std::int64_t before,
                bool bias = true) {
    Attributes attrs;
    attrs.set("pads_begin", std::vector<std::int64_t>{before, 0});
    attrs.set("pads_end", std::vector<std::int64_t>{window - 1 - before, 0});
    const TensorId weight = b_.weight(name, type_, {filters, channels(x), window, 1});
    const TensorId y = b_.one("conv", {x, weight}, std::move(attrs));
    return bias ? b_.binary("add", y, b_.reshape(b_.weight(name + "_bias", type_, {filters}), {filters, 1, 1})) : y;
  }
  // The same at every step: a product over channels.
  TensorId dense(TensorId x, const std::string& name, std::int64_t filters, const char* activation = nullptr,
                 bool bias = true) {
    const TensorId y = conv(x, name, filters, 1, 0, bias);
    return activation ? b_.unary(activation, y) : y;
  }
  TensorId with_speaker(TensorId x, const std::string& name) {
    return b_.binary("add", x, dense(speaker_, name, channels(x), "tanh"));
  }
  // The halves of the channels: one gates the other.
  std::vector<TensorId> halves(TensorId x) { return b_.split(x, 1, {channels(x) / 2, channels(x) / 2}); }
  TensorId block(TensorId x, bool causal, bool spoken) {
    const std::vector<TensorId> parts = halves(conv(b_.dropout(x, s_.dropout), "conv", 2 * channels(x), kConvWindow,
                                                    causal ? kConvWindow - 1 : kConvWindow / 2));
    const TensorId value = spoken ? with_speaker(parts[0], "speaker") : parts[0];
    return b_.scale(b_.binary("add", x, b_.binary("mul", value, b_.unary("sigmoid", parts[1]))), half_power());
  }
  template <class Make>
  TensorId layer(const std::string& name, const Make& make) {
    b_.begin_unit(name, layer_++);
    GraphBuilder::Scope scope(b_, name);
    return make();
  }

  void encoder() {
    b_.begin_unit("encoder/embedding", -1, UnitRole::embedding);
    const TensorId speaker = b_.input("speaker", DType::int32, {m_, 1}),
                   symbols = b_.input("text", DType::int32, {m_, s_.text});
    TensorId x, embedded;
    {
      GraphBuilder::Scope scope(b_, "encoder");
      const TensorId speakers = b_.weight("speakers", type_, {s_.speakers, s_.speaker_size});
      speaker_ = b_.reshape(b_.gather(speakers, speaker), {m_, s_.speaker_size, 1, 1});
      const TensorId text = b_.gather(b_.weight("symbols", type_, {s_.symbols, s_.hidden}), symbols);
      embedded = with_speaker(b_.reshape(b_.transpose(text, {0, 2, 1}), {m_, s_.hidden, s_.text, 1}), "before_speaker");
      x = dense(embedded, "prenet", s_.encoder_channels, "relu");
    }
    for (std::int64_t i = 0; i < s_.encoder_blocks; ++i)
      x = layer("encoder/block" + std::to_string(i), [&] { return block(x, false, true); });
    b_.begin_unit("encoder/keys");
    GraphBuilder::Scope scope(b_, "encoder/keys");
    const TensorId made = with_speaker(dense(x, "postnet", s_.hidden, "relu"), "after_speaker");
    values_ = b_.scale(b_.binary("add", embedded, made), half_power());
    keys_ =
        b_.binary("add", made, b_.constant(position_encoding(type_, s_.hidden, s_.text, kKeyRate), "key_positions"));
  }

  // What the text has to say to each step of x, as its channels.
  TensorId attend(TensorId x) {
    const TensorId places =
        b_.constant(position_encoding(type_, channels(x), s_.frames, kQueryRate), "query_positions");
    const auto matrix = [&](TensorId t, std::int64_t steps) { return b_.reshape(t, {m_, s_.attention, steps}); };
    const TensorId key = matrix(dense(keys_, "key", s_.attention, nullptr, false), s_.text);
    const TensorId value = matrix(dense(values_, "value", s_.attention, nullptr, false), s_.text);
    const TensorId query = matrix(dense(b_.binary("add", x, places), "query", s_.attention, nullptr, false), s_.frames);
    const TensorId weights = b_.dropout(b_.softmax(b_.matmul(query, key, true, false, "scores")), s_.dropout);
    attention_.push_back(weights);
    const TensorId context =
        b_.scale(b_.matmul(value, weights, false, true, "context"), 1 / std::sqrt(static_cast<double>(s_.text)));
    return dense(b_.reshape(context, {m_, s_.attention, s_.frames, 1}), "out", channels(x), "relu", false);
  }
  TensorId decoder(TensorId mel) {
    b_.begin_unit("decoder/prenet");
    TensorId x = mel;
    {
      GraphBuilder::Scope scope(b_, "decoder/prenet");
      for (const std::int64_t width : {s_.decoder_channels / 2, s_.decoder_channels}) {
        const std::string name = "dense" + std::to_string(width);
        x = with_speaker(b_.dropout(x, s_.dropout), name + "_speaker");
        x = dense(x, name, width, "relu");
      }
    }
    for (std::int64_t i = 0; i < s_.decoder_blocks; ++i) {
      x = layer("decoder/block" + std::to_string(i), [&] {
        const TensorId y = block(x, true, true);
        if (i != 0 && i + 1 != s_.decoder_blocks) return y;  // the first and the last one attend
        return b_.scale(b_.binary("add", y, attend(y)), half_power());
      });
    }
    return x;
  }
  TensorId converter(TensorId x) {
    for (std::int64_t i = 0; i < s_.converter_blocks; ++i)
      x = layer("converter/block" + std::to_string(i), [&] { return block(x, false, false); });
    return x;
  }

  TensorId error(TensorId guess, TensorId truth) { return mean(b_.unary("abs", b_.binary("sub", guess, truth))); }
  TensorId mean(TensorId x) {
    std::vector<std::int64_t> axes;
    for (std::size_t d = 0; d < b_.info(x).shape.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
    return b_.reduce("mean", x, axes, false);
  }
  // Each step foretells the next one; steps behind the end count nothing.
  TensorId next_step_error(TensorId guess, TensorId truth, TensorId going_on) {
    const TensorId made = b_.slice(guess, 2, 0, s_.frames - 1), wanted = b_.slice(truth, 2, 1, s_.frames);
    return mean(b_.unary("abs", b_.binary("mul", b_.binary("sub", made, wanted), going_on)));
  }
  void outputs(Graph& graph, GraphUse use, TensorId hidden, TensorId made, TensorId mel) {
    b_.begin_unit("head", -1, UnitRole::head);
    TensorId linear_true, done_true;
    if (use == GraphUse::training) {
      linear_true = b_.input("linear", type_, {m_, s_.linear_bands, s_.frames, 1});
      done_true = b_.input("done", type_, {m_, 1, s_.frames, 1});
    }
    GraphBuilder::Scope scope(b_, "head");
    const std::vector<TensorId> gated = halves(dense(hidden, "mel", 2 * s_.mel_bands));
    const TensorId mel_made = b_.unary("sigmoid", b_.binary("mul", gated[0], b_.unary("sigmoid", gated[1])));
    const TensorId done = dense(hidden, "done", 1, "sigmoid");
    const TensorId linear =
        dense(dense(made, "linear0", s_.decoder_channels, "relu"), "linear1", s_.linear_bands, "sigmoid");
    graph.outputs = {mel_made, linear, done};
    if (use == GraphUse::inference) return;
    const TensorId going_on = b_.shift(b_.unary("neg", b_.slice(done_true, 2, 1, s_.frames)), 1);
    graph.loss =
        b_.binary("add", next_step_error(mel_made, mel, going_on), next_step_error(linear, linear_true, going_on));
    graph.loss = b_.binary("add", graph.loss, error(done, done_true));
    TensorId off;
    for (TensorId weights : attention_) {
      const TensorId one = b_.binary("mul", weights, b_.constant(guide(type_, s_.frames, s_.text)));
      off = off.valid() ? b_.binary("add", off, one) : one;
    }
    graph.loss = b_.binary("add", graph.loss, mean(off));
    graph.outputs.insert(graph.outputs.begin(), graph.loss);
  }
};

}  // namespace

std::vector<DeepVoiceSpec> deep_voice_specs() {
  DeepVoiceSpec spec;
  spec.name = "deepvoice3";
  spec.source = kDeepVoice;
  return {spec};
}

nlohmann::json numbers_of(const DeepVoiceSpec& s) {
  return {{"hidden", s.hidden},
          {"encoder_channels", s.encoder_channels},
          {"encoder_blocks", s.encoder_blocks},
          {"decoder_channels", s.decoder_channels},
          {"decoder_blocks", s.decoder_blocks},
          {"converter_blocks", s.converter_blocks},
          {"text_length", s.text},
          {"frames", s.frames},
          {"dropout", s.dropout}};
}

void override_numbers(JsonReader& r, DeepVoiceSpec& s) {
  s.hidden = r.integer_or("hidden", 1, 1 << 20, s.hidden);
  s.encoder_channels = r.integer_or("encoder_channels", 1, 1 << 20, s.encoder_channels);
  s.encoder_blocks = r.integer_or("encoder_blocks", 1, 4096, s.encoder_blocks);
  s.decoder_channels = r.integer_or("decoder_channels", 2, 1 << 20, s.decoder_channels);
  s.decoder_blocks = r.integer_or("decoder_blocks", 1, 4096, s.decoder_blocks);
  s.converter_blocks = r.integer_or("converter_blocks", 1, 4096, s.converter_blocks);
  s.text = r.integer_or("text_length", 1, 1 << 20, s.text);
  s.frames = r.integer_or("frames", 2, 1 << 20, s.frames);
  s.dropout = r.number_or("dropout", 0, 0.99, s.dropout);
}

Graph build(const DeepVoiceSpec& spec, std::int64_t micro_batch, DType precision, GraphUse use) {
  const auto positive = [&](const char* field, std::int64_t value) { check_positive(spec.name, field, value); };
  positive("hidden", spec.hidden);
  positive("encoder_channels", spec.encoder_channels);
  positive("decoder_channels", spec.decoder_channels);
  positive("decoder_blocks", spec.decoder_blocks);
  positive("text_length", spec.text);
  positive("frames", spec.frames - 1);
  Graph graph;
  graph.name = spec.name;
  graph.micro_batch = micro_batch;
  DeepVoiceBuilder(graph, spec, micro_batch, precision).build(graph, use);
  return graph;
}

}  // namespace superstep::zoo
