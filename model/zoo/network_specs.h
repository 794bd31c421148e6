// SPDX-License-Identifier: Apache-2.0
// The numbers of a network, one struct for each family.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace superstep {

// What a BERT ends in. Results of inference are the scores, or the vectors of `embeddings`.
enum class BertHead : std::uint8_t {
  masked_language,     // the words at the masked positions, and whether one sentence follows the other
  question_answering,  // where the answer begins and ends, of each token
  classification,      // a class of each sequence, from its first token
  embeddings,          // the mean of each sequence's tokens; has no loss
};

// The numbers of a transformer; a job may override any by its name.
struct TransformerSpec {
  std::string name;    // "bert-large"
  std::string family;  // "bert" or "gpt"
  std::int64_t layers = 0, hidden = 0, heads = 0, ffn = 0, vocabulary = 0;
  std::int64_t sequence_length = 0;           // of this job
  std::int64_t positions = 0;                 // rows of the position table, at least sequence_length
  BertHead head = BertHead::masked_language;  // bert
  std::int64_t masked_tokens = 0;             // bert: tokens per sample that the masked-language head predicts; 0: none
  std::int64_t classes = 2;                   // bert: of the head `classification`
  bool packed = false;             // bert: several sequences in one sample, attention mask per pair of positions
  double sequences_per_pack = 0;   // bert, packed: the mean, for rates per sequence; 0: not known
  double dropout = 0.1;            // after embeddings, attention output and feed-forward
  double attention_dropout = 0.0;  // of the attention's weights
  double ffn_dropout = 0.0;        // between the two products of the feed-forward part
  bool next_sentence = true;       // bert: pooler and two-way head
  std::string source;              // where the numbers come from
};

// How images come from the host.
enum class Pixels : std::uint8_t {
  normalised,  // in the type of the activations, of mean 0 and variance 1
  uint8,       // 0 to 255; cast and normalised on the IPU
};

// The numbers of a residual image network with bottleneck blocks, ResNet or ResNeXt; a job may override any by its
// name.
struct ResNetSpec {
  std::string name;  // "resnet50"
  std::string family = "resnet";
  std::vector<std::int64_t> blocks;  // of each of the four sizes
  std::int64_t width = 64;           // channels of the stem; a block's result has 4, 8, 16, 32 times as many
  std::int64_t widening = 1;         // channels within the blocks, as multiples of 1, 2, 4, 8 widths
  std::int64_t groups = 1;           // of the 3 x 3 convolutions (ResNeXt)
  std::int64_t image_size = 224, classes = 1000;
  Pixels pixels = Pixels::normalised;
  // Blocks that share a recompute checkpoint, in order; the stem goes with the first, the head with the last. Empty:
  // each block, the stem and the head have their own.
  std::vector<std::int64_t> blocks_per_checkpoint;
  std::int64_t statistics_group = 0;  // samples that batch norm takes one mean and variance over; 0: a micro-batch
  std::string source;                 // where the numbers come from
};

// What the activations of an image network are normalised over.
enum class Norm : std::uint8_t {
  batch,  // per channel, over the samples and positions; folded for inference
  group,  // per sample and group of channels, over their positions
};

// The numbers of an EfficientNet, scaled from the first of them by its coefficients; a job may override any by its
// name.
struct EfficientNetSpec {
  std::string name;  // "efficientnet-b0"
  std::string family = "efficientnet";
  double width_coefficient = 1, depth_coefficient = 1;  // of channels and of blocks
  std::int64_t image_size = 224, classes = 1000;
  Pixels pixels = Pixels::normalised;
  std::int64_t expansion = 6;   // channels within a block, by those it is given
  std::int64_t group_size = 1;  // channels of a group of the spatial convolutions; 1: depthwise
  Norm norm = Norm::batch;
  std::int64_t norm_groups = 4;       // of channels, for group norm
  double dropout = 0.2;               // ahead of the classes
  double stochastic_depth = 0.2;      // of dropping the last block's branch for a sample; rises from 0 at the first
  std::int64_t statistics_group = 0;  // as in ResNetSpec
  std::string source;                 // where the numbers come from
  std::int64_t blocks() const;        // of the scaled network
};

// The numbers of a vision transformer, whose tokens are square patches of an image and one for its class.
struct VitSpec {
  std::string name;  // "vit-base"
  std::string family = "vit";
  std::int64_t layers = 0, hidden = 0, heads = 0, ffn = 0;
  std::int64_t image_size = 224, patch = 16, classes = 1000;
  Pixels pixels = Pixels::normalised;
  std::int64_t representation = 0;  // width of a layer with tanh ahead of the classes, as pre-training has; 0: none
  double dropout = 0.1;             // after the embedding, attention output and both products of the feed-forward part
  double attention_dropout = 0.0;   // of the attention's weights
  std::string source;               // where the numbers come from
  std::int64_t tokens() const { return image_size / patch * (image_size / patch) + 1; }
};

// The numbers of a Conformer with a transformer decoder, which turns frames of speech into tokens of text.
struct ConformerSpec {
  std::string name;  // "conformer-m"
  std::string family = "conformer";
  std::int64_t layers = 12, decoder_layers = 6;
  std::int64_t hidden = 256, heads = 4, ffn = 2048;
  std::int64_t kernel = 15;  // frames that a convolution sees; odd
  std::int64_t vocabulary = 4233;
  std::int64_t frames = 1220, features = 80;  // of a sample; the encoder has a fourth of the frames
  std::int64_t target_length = 48;            // tokens of a sample
  double dropout = 0.1;
  double alignment_weight = 0.3;  // of the loss of the frames' tokens; of the decoder's: the rest
  std::string source;             // where the numbers come from
};

// The numbers of an encoder and decoder as T5 has them, each of `layers` layers.
struct T5Spec {
  std::string name;  // "t5-xxl"
  std::string family = "t5";
  std::int64_t layers = 0, hidden = 0, heads = 0, head_size = 0, ffn = 0;
  std::int64_t vocabulary = 32128;
  std::int64_t sequence_length = 512, target_length = 512;  // of the encoder and of the decoder
  bool gated = false;                                       // GELU of one product gates another; false: ReLU
  bool tied_head = true;
  double dropout = 0.1;  // after embeddings, in attention and feed-forward, after the last layers
  std::string source;    // where the numbers come from
};

// The numbers of a decoder as Llama, Mistral and Qwen have it.
struct LlamaSpec {
  std::string name;  // "llama2-7b"
  std::string family = "llama";
  std::int64_t layers = 0, hidden = 0, ffn = 0, vocabulary = 0;
  std::int64_t heads = 0, key_value_heads = 0, head_size = 0;  // of queries; of keys and of values; elements of each
  std::int64_t sequence_length = 2048;                         // of this job
  double rotary_base = 1e4, norm_epsilon = 1e-5;
  bool tied_head = false, qkv_bias = false;
  bool query_key_norm = false;  // queries and keys are scaled by their root mean square
  std::string source;           // where the numbers come from
};

// The numbers of a language model of recurrent layers.
struct LstmSpec {
  std::string name;  // "lstm"
  std::string family = "lstm";
  std::int64_t layers = 0, hidden = 0, vocabulary = 10000;
  std::int64_t steps = 35;  // words of a sample
  double dropout = 0;       // of each layer's operand and of the head's
  std::string source;       // where the numbers come from
};

// The numbers of Deep Voice 3.
struct DeepVoiceSpec {
  std::string name;  // "deepvoice3"
  std::string family = "deepvoice";
  std::int64_t symbols = 80, speakers = 108, speaker_size = 16;
  std::int64_t hidden = 256;  // of a symbol, of keys and values
  std::int64_t encoder_channels = 128, encoder_blocks = 7;
  std::int64_t decoder_channels = 256, decoder_blocks = 4, converter_blocks = 6;
  std::int64_t attention = 256;
  std::int64_t mel_bands = 80, linear_bands = 513;
  std::int64_t text = 80, frames = 106;  // symbols and spectrogram frames of a sample
  double dropout = 0.05;
  std::string source;  // where the numbers come from
};

// The numbers of a Hamiltonian Monte Carlo sampler of a small network's weights: a sample is one proposal of one chain.
struct HmcSpec {
  std::string name;  // "mcmc-hmc"
  std::string family = "mcmc";
  std::int64_t features = 22, hidden = 40;  // of the network: one hidden layer, one result
  std::int64_t items = 2048;                // data that each gradient is taken over
  std::int64_t leapfrog_steps = 10;         // gradients of a proposal; unrolled
  double step_size = 0.01;
  std::string source;  // where the numbers come from
  std::int64_t weights() const { return features * hidden + 2 * hidden + 3; }
};

using ZooSpec = std::variant<TransformerSpec, ResNetSpec, EfficientNetSpec, VitSpec, ConformerSpec, T5Spec, LlamaSpec,
                             LstmSpec, DeepVoiceSpec, HmcSpec>;

// A graph for training has labels and a loss. One for inference ends in the scores: of classes, or of the next token of
// a language model. There batch norm, which takes statistics of the batch in training, is folded into the convolution
// ahead.
enum class GraphUse : std::uint8_t { training, inference };

}  // namespace superstep
